"""Keys of DGK and Joye-Libert for attacks, and what a coalition with the private key sees of a shuffle under them.

The keys are honest but for their size, and chosen so that 13 divides the cofactor of p − 1 (DGK) or q − 1
(Joye-Libert): a key holder who looks for cosets that ciphertexts might keep has small ones to look at.
"""

from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from typing import Any, Final, TypeVar

import gmpy2
import numpy as np
from gmpy2 import mpz
from numpy.typing import NDArray

from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes import packing
from peos.crypto.schemes.base import Packed, PrivateKey, PublicKey
from peos.crypto.schemes.dgk import DGK, DGKPrivateKey
from peos.crypto.schemes.joye_libert import JoyeLibert, JoyeLibertPrivateKey
from peos.crypto.schemes.word_keys import WordPublicKey
from tests.security.laid import Laid, WatchedNode

SMALL: Final = 13
BITS: Final = 512
TWO_64: Final = mpz(1) << 64
NAMES: Final = ("dgk", "jl")
Key = DGKPrivateKey | JoyeLibertPrivateKey
Public = TypeVar("Public", bound=WordPublicKey)


@cache
def key_of(name: str) -> Key:
    """The key of that scheme."""
    rng = Randomness(b"\x0d" * 32)
    while True:
        key: Key = DGK().generate(rng, bits=BITS) if name == "dgk" else JoyeLibert().generate(rng, bits=BITS)
        order = prime_of(key) - 1
        if order % SMALL == 0 and order % SMALL**2 != 0:
            return key


def prime_of(key: Key) -> mpz:
    """The factor of N modulo which there are cosets of index 13."""
    return key.p if isinstance(key, DGKPrivateKey) else key.q


def weakened(kind: type[Public], public: PublicKey) -> Public:
    """The same key as another class."""
    assert isinstance(public, WordPublicKey), "only these have a base"
    return kind(**{one.name: getattr(public, one.name) for one in fields(public)})


def run(key: PrivateKey, count: int, *, weak: type[Any] | None = None, nodes: type[WatchedNode] = WatchedNode) -> Laid:
    """A collection of `count` users and as many fakes, r = 3; all shufflers may work with a weakened key."""

    class InUse(nodes):  # type: ignore[misc, valid-type] # the class is an argument
        def key_in_use(self, public: PublicKey) -> PublicKey:
            return public if weak is None else weakened(weak, public)

    rng = Randomness(b"\x0e" * 32)
    laid = Laid(key, rng, nodes=InUse, fakes=count)
    laid.lay(rng.uint64((count, 1)))
    laid.shuffle()
    laid.assert_conserved()
    return laid


@dataclass(frozen=True, eq=False)
class View:
    """What a coalition saw on both sides of honest passes; `origin` and `fake` are the referee's."""

    key: Key = field(repr=False)
    before: Packed
    after: Packed
    origin: NDArray[np.intp]  # after[i] was before[origin[i]]
    fake: NDArray[np.bool_]  # whether after[i] is a fake
    passes: int

    @cached_property
    def words(self) -> tuple[U64, U64]:
        """The decryptions before and after."""
        return self.key.decrypt(self.before), self.key.decrypt(self.after)

    @cached_property
    def bare(self) -> tuple[list[mpz], list[mpz]]:
        """What hides the words, before and after: c·b^-m, an encryption of zero."""
        return bare(self.key, self.before, self.words[0]), bare(self.key, self.after, self.words[1])

    @cached_property
    def classes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The cosets of the thirteenth powers in which those are, before and after, as 0 to 12."""
        return classes(self.key, self.bare[0]), classes(self.key, self.bare[1])

    @cached_property
    def carried(self) -> set[int]:
        """The classes by which a row may have moved because sums passed 2^64 in `passes` passes."""
        step = int(classes(self.key, [gmpy2.powmod(self.key.public.base, TWO_64, self.key.public.modulus)])[0])
        return {step * carries % SMALL for carries in range(self.passes + 1)}


def views(laid: Laid, key: Key) -> dict[str, View]:
    """What the first holder, the later one, and users who know what they sent see, each with the key holder."""
    first, last = laid.passes()
    through = first.origin[last.origin]
    fakes_from = len(through) - laid.document.fakes
    return {
        "first holder": View(key, last.before, last.after, last.origin, through >= fakes_from, 1),
        "later holder": View(key, first.before, first.after, first.origin, first.origin >= fakes_from, 1),
        "users": View(key, first.before, last.after, through, through >= fakes_from, 2),
    }


def bare(key: Key, ciphertexts: Packed, words: U64) -> list[mpz]:
    """c·b^-m mod N."""
    n = key.public.modulus
    powers = gmpy2.powmod_exp_list(gmpy2.invert(key.public.base, n), words.tolist(), n)
    return [c * power % n for c, power in zip(packing.integers(ciphertexts), powers, strict=True)]


def classes(key: Key, units: list[mpz]) -> NDArray[np.int64]:
    """The coset of the thirteenth powers, modulo the prime that has any, of each unit."""
    prime = prime_of(key)
    exponent = (prime - 1) // SMALL
    root = mpz(2)
    while gmpy2.powmod(root, exponent, prime) == 1:
        root += 1
    names = {gmpy2.powmod(root, exponent * i, prime): i for i in range(SMALL)}
    return np.array([names[gmpy2.powmod(u, exponent, prime)] for u in units])
