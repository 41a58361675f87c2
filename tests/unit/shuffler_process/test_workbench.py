"""The setting `statistical` reaches the zeros of fakes and of passes: powers, where there would be tables."""

from dataclasses import dataclass

import pytest

from peos.compute.inline import Inline
from peos.crypto.randomness import Randomness
from peos.crypto.schemes.base import ZeroSource
from peos.crypto.schemes.paillier import PaillierPublicKey
from peos.crypto.schemes.paillier_zeros import PowerZeros, WindowZeros, tables_pay_from
from shuffler.workbench import Bench
from tests.keys import small_key


@dataclass(frozen=True, repr=False)
class Noted(PaillierPublicKey):
    """A key that notes which zeros were asked of it."""

    def zero_source(self, rng: Randomness, *, expected: int = 1, statistical: bool = False) -> ZeroSource:
        source = super().zero_source(rng, expected=expected, statistical=statistical)
        SOURCES.append(type(source))
        return source


SOURCES: list[type[ZeroSource]] = []


@pytest.mark.parametrize(("statistical", "kind"), [(False, WindowZeros), (True, PowerZeros)])
def test_fakes_and_passes_take_the_zeros_of_the_setting(
    statistical: bool, kind: type[ZeroSource], rng: Randomness
) -> None:
    public = small_key().public
    assert isinstance(public, PaillierPublicKey)
    rows = tables_pay_from(public.modulus.bit_length()) + 5
    SOURCES.clear()
    bench = Bench(rows, 1, Noted(public.modulus), Inline(rng), statistical=statistical)
    words = rng.uint64(rows)
    ciphertexts = bench.encrypt(words)
    bench.remask(ciphertexts, words, 1)
    assert SOURCES
    assert set(SOURCES) == {kind}
