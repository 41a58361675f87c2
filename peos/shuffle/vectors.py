"""The arithmetic that effects ask for, on plain arrays, and a bench that holds one shuffler's arrays in memory.

Plaintext vectors are (rows, words) uint64, added in Z_{2^64}; ciphertext vectors are (rows, words · size) uint8.
Permutations move whole rows: out[i] = in[π[i]].
"""

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from peos.crypto.kdf import StreamKey
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.base import Packed, PublicKey, ZeroSource
from peos.shuffle import merkle
from peos.shuffle.effects import Handle, Mix, Pass, Split, Task

Vector = U64 | Packed


def add(vector: U64, streams: Iterable[StreamKey]) -> None:
    """Add streams to a vector, in place."""
    for key in streams:
        vector += key.stream().uint64(vector.shape)


def subtract(vector: U64, streams: Iterable[StreamKey]) -> None:
    """Subtract streams from a vector, in place."""
    for key in streams:
        vector -= key.stream().uint64(vector.shape)


def composed(permutations: Iterable[StreamKey], rows: int) -> NDArray[np.intp]:
    """One index that applies the permutations in their order."""
    index = np.arange(rows)
    for key in permutations:
        index = index[key.stream().permutation(rows)]
    return index


def as_rows(vector: Vector) -> NDArray[np.uint8]:
    """A vector as the bytes that travel and that roots commit to: row-major, little-endian words."""
    if vector.dtype == np.uint8:
        return np.ascontiguousarray(vector).view(np.uint8)
    return np.ascontiguousarray(vector, dtype="<u8").view(np.uint8)


def as_words(rows: NDArray[np.uint8]) -> U64:
    """The plaintext vector behind its bytes."""
    return np.ascontiguousarray(rows).view("<u8").astype(np.uint64)


class Workbench:
    """One shuffler's vectors by handle, and the work on them.

    `statistical` is for a shuffler that will not assume an honestly made key (see `PublicKey.zero_source`).
    """

    def __init__(self, rows: int, words: int, public: PublicKey, rng: Randomness, *, statistical: bool = False) -> None:
        self.vectors: dict[Handle, Vector] = {}
        self.public = public
        self._shape = (rows, words)
        self._rng = rng
        self._statistical = statistical

    @cached_property
    def zeros(self) -> ZeroSource:
        """This shuffler's own supply of zeros, made when it is first needed."""
        rows, words = self._shape
        return self.public.zero_source(self._rng, expected=rows * words, statistical=self._statistical)

    def plain(self, handle: Handle) -> U64:
        """A plaintext vector."""
        vector = self.vectors[handle]
        assert vector.dtype == np.uint64, "the machine keeps plaintexts and ciphertexts apart"
        return vector.view(np.uint64)

    def ciphertexts(self, handle: Handle) -> Packed:
        """A ciphertext vector."""
        vector = self.vectors[handle]
        assert vector.dtype == np.uint8, "the machine keeps plaintexts and ciphertexts apart"
        return vector.view(np.uint8)

    def work(self, task: Task) -> bytes:
        """Do what an effect asks; returns the root of the result (nothing for a split, which nobody commits to)."""
        match task:
            case Split():
                remainder = self.plain(task.source).copy()
                subtract(remainder, task.streams)
                self.vectors[task.out] = remainder
                return b""
            case Mix():
                self.vectors[task.out] = self._mix(task)
            case Pass():
                self.vectors[task.out] = self._pass(task)
        return merkle.root(as_rows(self.vectors[task.out]), task.salt)

    def _mix(self, task: Mix) -> U64:
        taken = np.zeros(self._shape, np.uint64) if task.source is None else self.plain(task.source).copy()
        for handle in task.vectors:
            taken += self.plain(handle)
        add(taken, task.streams)
        mixed: U64 = taken[task.permutation.stream().permutation(len(taken))]
        add(mixed, task.plus)
        subtract(mixed, task.minus)
        return mixed

    def _pass(self, task: Pass) -> Packed:
        rows, words = self._shape
        index = composed(task.permutations, rows)
        moved = self.ciphertexts(task.ciphertexts)[index].reshape(rows * words, self.public.ciphertext_bytes)
        masks = self.plain(task.accumulator).reshape(rows * words)
        return self.remask(moved, masks, task.hop).reshape(rows, -1)

    def remask(self, ciphertexts: Packed, masks: U64, hop: int) -> Packed:
        """Add masks and re-randomise; a process that has more cores than one does this elsewhere."""
        return self.public.remask(ciphertexts, masks, self.zeros.zeros(len(masks)), hop=hop, rng=self._rng)
