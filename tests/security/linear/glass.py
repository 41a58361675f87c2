"""A transparent encryption, for tests that look with the decryption key: a ciphertext is its word and its coin.

It re-randomises as an ideal scheme would, by a fresh coin, so who sees a vector sees all that a key holder could.
"""

from typing import ClassVar

import numpy as np
from gmpy2 import mpz
from numpy.typing import NDArray

from peos.crypto import sharing
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.base import Packed, PublicKey, ZeroSource
from peos.shuffle.attempt import ENCRYPTED_SHARE
from peos.shuffle.effects import CIPHERTEXTS, SHARES
from peos.shuffle.vectors import Vector, Workbench
from tests.security.linear.forms import NOTHING
from tests.security.linear.recording import ANALYZER, Arrival, Recording

_BYTES = 16


class Coins(ZeroSource):
    """Encryptions of zero: nothing but a coin."""

    def __init__(self, rng: Randomness) -> None:
        self._rng = rng

    def zeros(self, count: int) -> Packed:
        """`count` fresh coins."""
        return _packed(np.zeros(count, np.uint64), self._rng.uint64(count))


class GlassKey(PublicKey):
    """The key that hides nothing."""

    scheme: ClassVar[str] = "glass"
    bits = 0
    ciphertext_bytes = _BYTES

    def encode(self) -> bytes:
        """There is nothing to encode."""
        return b""

    def zero_source(self, rng: Randomness, *, expected: int = 1, statistical: bool = False) -> ZeroSource:  # noqa: ARG002 - PublicKey's signature
        """Fresh coins."""
        return Coins(rng)

    def encrypt(self, plain: U64, zeros: Packed) -> Packed:
        """The word without its coin."""
        return _packed(plain + words_of(zeros), coins_of(zeros))

    def remask(self, ciphertexts: Packed, masks: U64, zeros: Packed, *, hop: int, rng: Randomness) -> Packed:  # noqa: ARG002 - PublicKey's signature
        """Add the mask to the word and a fresh coin to the coin."""
        return _packed(words_of(ciphertexts) + masks, coins_of(ciphertexts) + coins_of(zeros))

    def check(self, ciphertexts: Packed) -> NDArray[np.bool_]:
        """Every row is a ciphertext."""
        return np.ones(len(ciphertexts), dtype=bool)

    def is_fresh(self, before: Packed, after: Packed, masks: U64) -> bool:  # noqa: ARG002 - coins do not depend on them
        """Every row got a coin of its own."""
        added = coins_of(after) - coins_of(before)
        return bool(np.all(added)) and len(np.unique(added)) == len(added)


def words_of(ciphertexts: Packed) -> U64:
    """The plaintexts."""
    return ciphertexts.reshape(-1, _BYTES)[:, :8].copy().view(np.uint64).reshape(-1)


def coins_of(ciphertexts: Packed) -> U64:
    """What re-randomisation changes."""
    return ciphertexts.reshape(-1, _BYTES)[:, 8:].copy().view(np.uint64).reshape(-1)


def _packed(words: U64, coins: U64) -> Packed:
    return np.stack((words, coins), axis=1).view(np.uint8).reshape(-1, _BYTES)


def plain_words(vector: Vector) -> U64:
    """A vector of one-word rows as the holder of the key reads it."""
    return words_of(vector.view(np.uint8)) if vector.dtype == np.uint8 else vector.view(np.uint64).reshape(-1)


def replay_on_numbers(recording: Recording, shares: list[U64], rng: Randomness) -> list[Arrival[Vector]]:
    """Replay a recording on the shares of one-word reports, share 1 first, by the arithmetic of production."""
    benches = {}
    for who, share in enumerate(shares, start=1):
        bench = Workbench(len(share), 1, GlassKey(mpz(1)), rng)
        bench.vectors[NOTHING] = np.zeros((len(share), 1), np.uint64)
        if who == ENCRYPTED_SHARE:
            bench.vectors[CIPHERTEXTS] = bench.public.encrypt(share, bench.zeros.zeros(len(share)))
        else:
            bench.vectors[SHARES] = share.reshape(-1, 1)
        benches[who] = bench
    return recording.replay(benches)


def shared(words: U64, shufflers: int, rng: Randomness) -> list[U64]:
    """Shares of one-word reports."""
    return sharing.split(words, shufflers, rng)


def output(arrivals: list[Arrival[Vector]]) -> U64:
    """What the analyzer adds up."""
    delivered = [plain_words(arrival.vector) for arrival in arrivals if arrival.receiver == ANALYZER]
    return sharing.combine(delivered)
