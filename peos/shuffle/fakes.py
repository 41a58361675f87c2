"""Fake reports: each shuffler holds one uniform share of each, so their sum is uniform if one shuffler is honest.

They are drawn once per collection from a secret, durable seed: the only stream that is ever derived twice, since the
next attempt must shuffle the same fakes. Two outputs with different fakes would let the analyzer intersect them away.
"""

from peos.crypto.kdf import Context, derive
from peos.crypto.randomness import U64, Randomness


def fake_shares(seed: bytes, frozen: Context, count: int, words: int) -> U64:
    """This shuffler's (count, words) shares of the fakes of one frozen collection."""
    label = Context(frozen.collection, frozen.frozen)  # whatever the attempt
    return derive(seed, "fakes", label).stream().uint64((count, words))


def own_fakes(total: int, shufflers: int, number: int) -> int:
    """How many fakes shuffler `number` draws whole in a sequential shuffle; what is left over is the first ones'."""
    return total // shufflers + (number <= total % shufflers)


def wrapping(seed: bytes, frozen: Context) -> Randomness:
    """The randomness under which those are wrapped: the same in every attempt, or what is new would be fakes."""
    return derive(seed, "fake onions", Context(frozen.collection, frozen.frozen)).stream()
