"""What a pass re-randomised with, seen from outside."""

import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from peos.crypto.schemes import packing, scheme
from peos.crypto.schemes.base import PrivateKey
from peos.crypto.schemes.freshness import is_fresh, zeros_used

COUNT = 8


@pytest.fixture(scope="module", params=["paillier", "jl", "dgk"])
def key(request: pytest.FixtureRequest) -> PrivateKey:
    bits = 2048 if request.param == "dgk" else 512
    return scheme(request.param).generate(Randomness(b"\x21" * 32), bits=bits)


def test_fresh_zeros_are_seen_and_missing_or_repeated_ones_too(key: PrivateKey, rng: Randomness) -> None:
    public = key.public
    source = public.zero_source(rng)
    before = public.encrypt(rng.uint64(COUNT), source.zeros(COUNT))
    masks = rng.uint64(COUNT)
    fresh = source.zeros(COUNT)
    none = packing.pack([1] * COUNT, public.ciphertext_bytes)
    one = np.repeat(fresh[:1], COUNT, axis=0)
    once_missing = np.concatenate((fresh[:-1], none[:1]))

    def after(zeros: object) -> bool:
        return is_fresh(public, before, public.remask(before, masks, zeros, hop=1, rng=rng), masks)  # type: ignore[arg-type]  # packed rows

    assert after(fresh)
    assert not after(none)
    assert not after(one)
    assert not after(once_missing)


def test_the_zero_is_the_one_that_was_used(key: PrivateKey, rng: Randomness) -> None:
    public = key.public
    source = public.zero_source(rng)
    before, masks, zeros = (
        public.encrypt(rng.uint64(COUNT), source.zeros(COUNT)),
        rng.uint64(COUNT),
        source.zeros(COUNT),
    )
    found = zeros_used(public, before, public.remask(before, masks, zeros, hop=2, rng=rng), masks)
    assert found == [int(zero % public.modulus) for zero in packing.integers(zeros)]
