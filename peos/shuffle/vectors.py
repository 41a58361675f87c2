"""The arithmetic that effects ask for, on plain arrays, and a bench that holds one shuffler's arrays in memory.

Plaintext vectors are (rows, words) uint64, added in Z_{2^64}; ciphertext vectors are (rows, words · size) uint8.
Permutations move whole rows: out[i] = in[π[i]].
"""

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from peos.chunks import chunks, rows_of
from peos.crypto.kdf import StreamKey
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.base import Packed, PublicKey, ZeroSource
from peos.shuffle import merkle
from peos.shuffle.attempt import ENCRYPTED_SHARE
from peos.shuffle.bench import AbstractBench, fault_of
from peos.shuffle.effects import CIPHERTEXTS, SHARES, Handle, Mix, Pass, Split, Task
from peos.shuffle.messages import Kind, VectorHeader
from peos.shuffle.streaming import Rows

Vector = U64 | Packed
"""An array; or ciphertexts that a bench of many rows keeps elsewhere, with as much of an array as `Rows` has."""


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


def in_rows(vector: Vector) -> Rows:
    """The same bytes, left where they are."""
    return as_rows(vector) if isinstance(vector, np.ndarray) else vector


def as_words(rows: NDArray[np.uint8]) -> U64:
    """The plaintext vector behind its bytes."""
    return np.ascontiguousarray(rows).view("<u8").astype(np.uint64)


class Workbench(AbstractBench):
    """Shares, and the ciphertexts of the first of them.

    `statistical` is for a shuffler that will not assume an honestly made key (see `PublicKey.zero_source`).
    """

    def __init__(self, rows: int, words: int, public: PublicKey, rng: Randomness, *, statistical: bool = False) -> None:
        super().__init__()
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

    def lay_out(self, number: int, shares: Packed, own_fakes: U64) -> None:
        """The frozen vector of shuffler `number`: the users' shares as rows of bytes, then its shares of the fakes."""
        frozen = self.frozen_room(number)
        frozen[: len(shares)] = shares
        self.complete(number, frozen, own_fakes)

    def frozen_room(self, number: int) -> Packed:
        """Rows for the users' shares, in their order, and after them for this shuffler's shares of the fakes."""
        return np.empty((self._shape[0], self._row_bytes(encrypted=number == ENCRYPTED_SHARE)), np.uint8)

    def begin(self, number: int, frozen: Packed, fakes: U64, secret: bytes) -> None:  # noqa: ARG002 - nothing is wrapped
        """See `AbstractBench`."""
        self.complete(number, frozen, fakes)

    def complete(self, number: int, frozen: Packed, own_fakes: U64) -> None:
        """Add the fakes to the rows of the users, which are there: that is the frozen vector."""
        users = len(frozen) - len(own_fakes)
        if number == ENCRYPTED_SHARE:
            frozen[users:] = self.encrypt(own_fakes.reshape(-1)).reshape(len(own_fakes), frozen.shape[1])
            self.vectors[CIPHERTEXTS] = frozen
        else:
            frozen[users:] = as_rows(own_fakes)
            self.vectors[SHARES] = as_words(frozen)

    def check_shape(self, header: VectorHeader) -> None:
        """RemoteFault if a vector is announced that has not the shape of its step."""
        row = self._row_bytes(encrypted=header.header.step.kind is Kind.HANDOVER)
        if (header.rows, header.row_bytes) != (self._shape[0], row):
            raise fault_of("shuffle.shape", header.header, "sent a vector of another shape")

    def take_in(self, handle: Handle, header: VectorHeader, rows: Packed) -> None:
        """Keep a vector that came whole; what claims to be ciphertexts must be."""
        if header.header.step.kind is Kind.HANDOVER:
            for where in chunks(len(rows), rows_of(rows.shape[1])):
                if not bool(np.all(self.public.check(rows[where].reshape(-1, self.public.ciphertext_bytes)))):
                    raise fault_of("shuffle.not_ciphertexts", header.header, "handed over what is no ciphertext")
        super().take_in(handle, header, rows)
        if header.header.step.kind is not Kind.HANDOVER:
            self.vectors[handle] = as_words(rows[:])

    def work(self, task: Task) -> bytes:
        """Do what an effect asks; returns the root of the result (empty for a split, which has no root)."""
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
        return merkle.root(in_rows(self.vectors[task.out]), task.salt)

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

    def _row_bytes(self, *, encrypted: bool) -> int:
        return self._shape[1] * (self.public.ciphertext_bytes if encrypted else 8)

    def encrypt(self, words: U64) -> Packed:
        """Encrypt this shuffler's shares of the fakes, as users encrypt theirs."""
        return self.public.encrypt(words, self.zeros.zeros(len(words)))

    def remask(self, ciphertexts: Packed, masks: U64, hop: int) -> Packed:
        """Add masks and re-randomise; a process that has more cores than one does this elsewhere."""
        return self.public.remask(ciphertexts, masks, self.zeros.zeros(len(masks)), hop=hop, rng=self._rng)
