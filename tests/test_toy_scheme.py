"""An encryption scheme that no other file knows goes through everything once it is registered, and is refused before.

Words in the exponent modulo one prime p = 2^64·p' + 1, under zeros of order p': everybody could decrypt.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpz
from numpy.typing import NDArray

from analyzer.report import page
from analyzer.result import Found, result_json
from peos.cli import main
from peos.compute import Processes
from peos.compute.engine import Decrypt, Encrypt
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes import packing
from peos.crypto.schemes import scheme as scheme_named
from peos.crypto.schemes.base import KEY_BITS_FLOOR, Costs, Packed, PrivateKey, Scheme, ZeroSource
from peos.crypto.schemes.encoding import KeyReader, encode_key
from peos.crypto.schemes.moduli import random_unit
from peos.crypto.schemes.pohlig_hellman import word_logarithm
from peos.crypto.schemes.structured_primes import TWOS, word_prime
from peos.crypto.schemes.word_keys import WordPublicKey
from peos.ldp import GRR
from peos.privacy import plan
from peos.registry import SCHEMES
from peos.simulate import Simulation
from peos.wire.documents import decode_document, encode_document
from tests.keys import small_key
from tests.raising import raises, require_said
from tests.registered import registered

BITS = 256


class ToyZeros(ZeroSource):
    """x^(2^64) for uniform x."""

    def __init__(self, p: mpz, rng: Randomness) -> None:
        self._p, self._rng = p, rng

    def zeros(self, count: int) -> Packed:
        units = [random_unit(self._p, self._rng) for _ in range(count)]
        return packing.pack([gmpy2.powmod(unit, 1 << TWOS, self._p) for unit in units], self._p.bit_length() // 8)


@dataclass(frozen=True, repr=False)
class ToyPublicKey(WordPublicKey):
    """p and g."""

    g: mpz
    scheme: ClassVar[str] = "toy"

    @property
    def base(self) -> mpz:
        return self.g

    def encode(self) -> bytes:
        width = self.bits // 8
        return encode_key(1, self.bits, (self.modulus, width), (self.g, width))

    def zero_source(self, rng: Randomness, *, expected: int = 1, statistical: bool = False) -> ZeroSource:  # noqa: ARG002 - all the same here
        return ToyZeros(self.modulus, rng)

    def check(self, ciphertexts: Packed) -> NDArray[np.bool_]:
        return np.array([0 < c < self.modulus for c in packing.integers(ciphertexts)], dtype=np.bool_)


@dataclass(frozen=True, repr=False)
class ToyPrivateKey(PrivateKey):
    """The same: nothing is private here."""

    p: mpz
    g: mpz

    @property
    def public(self) -> ToyPublicKey:
        return ToyPublicKey(self.p, self.g)

    def encode(self) -> bytes:
        return self.public.encode()

    def decrypt(self, ciphertexts: Packed) -> U64:
        odd = self.p >> TWOS
        logarithm = word_logarithm(gmpy2.powmod(self.g, odd, self.p), self.p)
        powers = [gmpy2.powmod(c, odd, self.p) for c in packing.integers(ciphertexts)]
        return np.array(logarithm.of(powers), dtype=np.uint64)


class Toy(Scheme):
    """Costs that no other scheme has."""

    name: ClassVar[str] = "toy"
    title: ClassVar[str] = "a toy"
    costs: ClassVar[Costs] = Costs(
        ciphertext_bytes=100,
        encrypt_ms=7.0,
        pass_ms=3.0,
        decrypt_ms=2.0,
        chunk_decrypt_ms=2.0,
        zero_ms=4.0,
        power_ms=6.0,
        use_ms=1.0,
    )

    def generate(self, rng: Randomness, *, bits: int = KEY_BITS_FLOOR) -> ToyPrivateKey:
        p = word_prime(bits, rng)
        g = random_unit(p, rng)
        while gmpy2.legendre(g, p) != -1:
            g = random_unit(p, rng)
        return ToyPrivateKey(p, g)

    def public_key(self, data: bytes, *, floor: int = KEY_BITS_FLOOR) -> ToyPublicKey:
        return self.private_key(data, floor=floor).public

    def private_key(self, data: bytes, *, floor: int = KEY_BITS_FLOOR) -> ToyPrivateKey:
        reader = KeyReader(data, "toy key")
        bits = reader.header(1, floor)
        p, g = reader.integer(bits // 8), reader.integer(bits // 8)
        reader.end()
        return ToyPrivateKey(p, g)


@pytest.fixture
def known() -> Iterator[None]:
    with registered(SCHEMES, Toy):
        yield


ASKED: dict[str, Any] = {"users": 1000, "domain": 8, "delta": 1e-6, "eps_local": 3.0, "scheme": "toy"}


@pytest.mark.usefixtures("known")
def test_a_plan_has_its_costs(capsys: pytest.CaptureFixture[str]) -> None:
    cost = plan(**ASKED).cost
    assert (cost.scheme, cost.user_ms, cost.analyzer_s) == ("toy", 7.0, 2.0)
    alike = plan(**{**ASKED, "scheme": "jl"}).cost
    assert alike.analyzer_mb - cost.analyzer_mb == pytest.approx(1000 * (384 - 100) / 1e6)
    options = ["--users", "1000", "--domain", "8", "--delta", "1e-6", "--eps-local", "3", "--scheme"]
    assert main(["plan", *options, "toy"]) == 0
    assert "computes 7 ms" in capsys.readouterr().out
    assert main(["plan", *options, "other"]) == 2
    require_said(capsys.readouterr().err, "jl, toy")


@pytest.mark.usefixtures("known")
def test_an_engine_weighs_workers_by_its_costs_and_not_by_anothers(rng: Randomness) -> None:
    key = Toy().generate(rng, bits=BITS)
    scale = (KEY_BITS_FLOOR / BITS) ** 3  # rows whose work at this length is that of one at 3072 bits
    with Processes(2) as workers:
        # 0.6 s of work have to be saved, half of all: 1.2 s. At 3072 bits a row takes 2 ms, and a zero 6 + 1 or 4 + 1.
        assert not workers.pays(Decrypt(key, 2), int(590 * scale))
        assert workers.pays(Decrypt(key, 2), int(610 * scale))
        few, many = (Encrypt(key.public, int(count * scale), statistical=True) for count in (160, 180))
        assert not workers.pays(few, int(160 * scale))
        assert workers.pays(many, int(180 * scale))


@pytest.mark.usefixtures("known")
def test_a_collection_result_and_page_have_it(rng: Randomness) -> None:
    key = Toy().generate(rng, bits=BITS)
    simulation = Simulation(GRR(8, 4.0), shufflers=5, fakes=10, key=key, rng=rng)
    document = simulation.document
    assert document.scheme == "toy"
    read = decode_document(encode_document(document), floor=BITS)
    assert read.encryption_key(floor=BITS) == key.public
    collected = simulation.run([1] * 150 + [2] * 50)
    assert collected.users == 200
    assert collected.estimate.frequency[1] > 0.5 > collected.estimate.frequency[2] > 0.1
    result = result_json(
        *(collected.digest, document, Found.of_values(document, collected.estimate), collected.guarantees),
        name="made",
        seconds=1.0,
        sent=0,
        received=0,
        published_at=1_700_000_000,
        inspected=None,
        lists=None,
        together=None,
    )
    assert result["parameters"]["scheme"] == "toy"
    assert "a toy; a shuffle of encrypted shares" in page(result)


def test_unknown_it_is_refused_everywhere(rng: Randomness) -> None:
    for refused in (lambda: plan(**ASKED), lambda: scheme_named("toy")):
        with raises("input.scheme", "'toy'"):
            refused()
    key = Toy().generate(rng, bits=BITS)
    with Processes(2) as workers, raises("input.scheme", "'toy'"):
        workers.pays(Decrypt(key, 2), 1)
    known = Simulation(GRR(8, 4.0), key=small_key(), rng=rng).document
    with raises("document.unusable", "'toy'"):
        decode_document(encode_document(replace(known, scheme="toy", public_key=key.public.encode())), floor=BITS)
    with raises("document.unusable", "'toy'"):
        Simulation(GRR(8, 4.0), key=key, rng=rng)
