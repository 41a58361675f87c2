"""The family of hash functions of local hashing, H_{a,b}(x) = ((a·π(x) + b) mod P) mod d' (protocol.md §2).

P is the smallest prime that is at least d and d'. The answers {x : H(x) = y} form an arithmetic progression mod P of
stride a⁻¹·d', so a report's support is walked in P/d' steps in place of d evaluations. π, a fixed public permutation,
breaks up the progressions: otherwise the errors of neighbouring values correlate and a range query adds them up.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.chunks import chunks
from peos.crypto.randomness import U64

_CHUNK: Final = 1 << 16  # reports worked at a time: about ten vectors of half a megabyte
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)


def splitmix64(states: U64, output: int) -> U64:
    """The `output`-th word (1, 2, …) of the generator SplitMix64 (Steele, Lea, Flood 2014) from each state."""
    z = states + np.uint64(output * int(_GOLDEN) % 2**64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@lru_cache(maxsize=64)
def prime_from(number: int) -> int:
    """The smallest prime that is at least `number`, which is at least 2."""
    while any(number % factor == 0 for factor in range(2, math.isqrt(number) + 1)):
        number += 1
    return number


def permutation(domain: int) -> U64:
    """π: the rank of each x by SplitMix64(x), a bijection of 64-bit words, so that no two keys tie."""
    order = np.argsort(splitmix64(np.arange(domain, dtype=np.uint64), 1))
    ranks = np.empty(domain, dtype=np.uint64)
    ranks[order] = np.arange(domain, dtype=np.uint64)
    return ranks


def inverses(a: U64, prime: int) -> U64:
    """a⁻¹ mod P as a^(P−2) (Fermat), 0 for 0; P is public, so the exponent may steer the branches."""
    result = np.ones_like(a)
    power = a % np.uint64(prime)
    exponent = prime - 2
    while exponent:
        if exponent & 1:
            result = result * power % np.uint64(prime)
        power = power * power % np.uint64(prime)
        exponent >>= 1
    return result


@dataclass(frozen=True)
class HashFamily:
    """The functions from [0, domain) to [0, cells), one for each seed; `salt` sets one collection's apart."""

    domain: int
    cells: int
    salt: int  # LE64 of the mechanism digest's first 8 bytes

    @cached_property
    def prime(self) -> int:
        """P, the smallest prime ≥ max(d, d')."""
        return prime_from(max(self.domain, self.cells))

    @cached_property
    def ranks(self) -> U64:
        """π of each value."""
        return permutation(self.domain)

    @property
    def collision_probability(self) -> Fraction:
        """c_P: two given values meet under uniform (a, b): Σ_j n_j(n_j−1) / (P(P−1)), n_j = #{t<P: t mod d' = j}."""
        few, longer = divmod(self.prime, self.cells)
        pairs = longer * (few + 1) * few + (self.cells - longer) * few * (few - 1)
        return Fraction(pairs, self.prime * (self.prime - 1))

    def match_probability(self, bits: int) -> Fraction:
        """u: H(x) = ⌊z·d' / 2^b⌋ for uniform (a, b) and uniform z of `bits` bits: Σ_j (n_j/P)·(m_j/2^b).

        n_j is ⌈P/d'⌉ for j < P mod d' and ⌊P/d'⌋ for the others; the preimages m_j of the former add up to the
        first number of cell P mod d'. For d' a power of two this is 1/d' exactly.
        """
        few, longer = divmod(self.prime, self.cells)
        extra = -(-longer * 2**bits // self.cells)
        return Fraction(2**bits * few + extra, 2**bits * self.prime)

    def coefficients(self, seeds: U64) -> tuple[U64, U64]:
        """(a, b) of each seed: a = 1 + out_1 mod (P−1), b = out_2 mod P of SplitMix64 from salt + seed."""
        states = seeds.reshape(-1) + np.uint64(
            self.salt
        )  # flat, since only in arrays does numpy wrap without a warning
        a = splitmix64(states, 1) % np.uint64(self.prime - 1) + np.uint64(1)
        b = splitmix64(states, 2) % np.uint64(self.prime)
        return a.reshape(seeds.shape), b.reshape(seeds.shape)

    def evaluate(self, a: U64, b: U64, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """H_{a,b}(x), its arguments broadcast. No product overflows: P < 2^32."""
        image = (a * self.ranks[values] + b) % np.uint64(self.prime)
        return (image % np.uint64(self.cells)).astype(np.int64)

    def hash(self, seeds: U64, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """H of each seed at each value, broadcast together."""
        a, b = self.coefficients(seeds)
        return self.evaluate(a, b, values)

    def support_counts(self, seeds: U64, answers: NDArray[np.int64]) -> NDArray[np.int64]:
        """(domain,): for how many reports (seed, y) is H(x) = y.

        Takes P/d' steps a report. The vectors in hand stay below 16 MB, without the counters and, where there are more
        reports than P, a table of all inverses: 8·P bytes each.
        """
        counters = np.zeros(self.prime, dtype=np.int64)
        table = None
        if self.prime <= len(seeds):
            table = inverses(np.arange(self.prime, dtype=np.uint64), self.prime)
        for chunk in chunks(len(seeds), _CHUNK):
            a, b = self.coefficients(seeds[chunk])
            inverse = inverses(a, self.prime) if table is None else table[a]
            self._walk(counters, inverse, b, answers[chunk].astype(np.uint64))
        return counters[self.ranks]

    def _walk(self, counters: NDArray[np.int64], inverse: U64, b: U64, answers: U64) -> None:
        """Count each π(x) = a⁻¹(y + j·d' − b) mod P, for y + j·d' = y, y + d', … below P."""
        prime, cells = np.uint64(self.prime), np.uint64(self.cells)
        few, longer = divmod(self.prime, self.cells)
        place = (answers + (prime - b)) % prime * inverse % prime
        stride = cells % prime * inverse % prime
        wrapped = np.empty_like(place)
        for _ in range(few):
            np.add.at(counters, place.view(np.int64), 1)
            place += stride
            # place < 2P, and place − P wraps beyond every place when it is negative: the smaller one is place mod P.
            np.subtract(place, prime, out=wrapped)
            np.minimum(place, wrapped, out=place)
        np.add.at(counters, place[answers < np.uint64(longer)].view(np.int64), 1)
