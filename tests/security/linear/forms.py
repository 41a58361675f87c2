"""Vectors of linear forms, and a bench that does on them what `peos.shuffle.vectors.Workbench` does on numbers.

Row i of a vector is an integer combination of formal unknowns, one column each:

- `Share(j)`: share j of each user, in the order in which the users were frozen;
- `Change(j, a)`: what is added to share j of each user before attempt a, the second or a later one. Honest shufflers
  start again from the frozen shares. Members may not, so there is a change for every share, and coalitions know all;
- a `StreamKey`: the words of its stream. The same key is the same unknowns wherever it appears, so a stream that is
  used twice, within an attempt or across two, is seen as what it is;
- `Coin(name)`: the randomness of a ciphertext. Decryption is taken to yield plaintext *and* coins, for that is all
  that a ciphertext is. The users' coins come in with the ciphertexts; a pass that re-randomises adds fresh ones.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peos.crypto.kdf import StreamKey
from peos.shuffle.attempt import ENCRYPTED_SHARE
from peos.shuffle.effects import CIPHERTEXTS, SHARES, Handle, Mix, Pass, Split, Task
from tests.security.linear.recording import Arrival, Recording, attempt_of

Integers = NDArray[np.int64]
Index = NDArray[np.intp]
Permutations = Callable[[StreamKey], Index]


@dataclass(frozen=True)
class Share:
    """The users' shares that one shuffler was given; share 1 is the encrypted one."""

    shuffler: int


@dataclass(frozen=True)
class Change:
    """By how much the shares that one shuffler starts an attempt from differ from those of the attempt before."""

    shuffler: int
    attempt: int


@dataclass(frozen=True)
class Coin:
    """The randomness of the ciphertexts that one pass made, or of those that the users made."""

    made_by: str


USERS_COIN = Coin("users")
NOTHING = "nothing"  # a handle that every bench of these tests holds: a vector of zeros
Unknown = Share | Change | StreamKey | Coin


@dataclass(frozen=True)
class Sealed:
    """A ciphertext vector, as the holder of the decryption key sees it."""

    words: Integers
    coins: Integers


Forms = Integers | Sealed


class Layout:
    """Which columns stand for which unknown: one column a row of the vectors."""

    def __init__(self, recording: Recording, rows: int) -> None:
        self.rows = rows
        self.inputs: tuple[Unknown, ...] = (
            *(Share(who) for who in range(1, recording.schedule.shufflers + 1)),
            *(
                Change(who, attempt)
                for attempt in range(2, recording.attempts + 1)
                for who in range(1, recording.schedule.shufflers + 1)
            ),
            USERS_COIN,
        )
        self.unknowns: dict[Unknown, int] = dict.fromkeys(self.inputs, 0)
        for _, task in recording.asked:
            match task:
                case Split():
                    self.unknowns.update(dict.fromkeys(task.streams, 0))
                case Mix():
                    self.unknowns.update(dict.fromkeys((*task.streams, *task.plus, *task.minus), 0))
                case Pass():
                    self.unknowns[Coin(task.out)] = 0
        for place, unknown in enumerate(self.unknowns):
            self.unknowns[unknown] = place * rows
        self.width = rows * len(self.unknowns)

    def columns(self, unknown: Unknown) -> slice:
        """Where an unknown's columns are, one for each row."""
        first = self.unknowns[unknown]
        return slice(first, first + self.rows)

    def zero(self) -> Integers:
        """A vector of zeros."""
        return np.zeros((self.rows, self.width), np.int64)

    def one(self, unknown: Unknown) -> Integers:
        """The unknown itself, row by row."""
        vector = self.zero()
        vector[:, self.columns(unknown)] = np.eye(self.rows, dtype=np.int64)
        return vector


class FormBench:
    """One shuffler's vectors as linear forms."""

    def __init__(self, me: int, layout: Layout, permutations: Permutations) -> None:
        self.layout = layout
        self._me = me
        self._attempt = 1
        self.vectors: dict[Handle, Forms] = {NOTHING: layout.zero()}
        if me == ENCRYPTED_SHARE:
            self.vectors[CIPHERTEXTS] = Sealed(layout.one(Share(me)), layout.one(USERS_COIN))
        else:
            self.vectors[SHARES] = layout.one(Share(me))
        self._permutations = permutations

    def plain(self, handle: Handle) -> Integers:
        """A plaintext vector."""
        vector = self.vectors[handle]
        assert not isinstance(vector, Sealed), "the machine keeps plaintexts and ciphertexts apart"
        return vector

    def work(self, task: Task) -> None:
        """Do what an effect asks."""
        while self._attempt < attempt_of(task):
            self._attempt += 1
            self._change(Change(self._me, self._attempt))
        match task:
            case Split():
                self.vectors[task.out] = self._add(self.plain(task.source), task.streams, -1)
            case Mix():
                taken = self.layout.zero() if task.source is None else self.plain(task.source)
                for handle in task.vectors:
                    taken = taken + self.plain(handle)
                taken = self._add(taken, task.streams, 1)
                mixed = taken[self._permutations(task.permutation)]
                self.vectors[task.out] = self._add(self._add(mixed, task.plus, 1), task.minus, -1)
            case Pass():
                self.vectors[task.out] = self.passed(task)

    def passed(self, task: Pass) -> Sealed:
        """A holder's pass over the ciphertexts: permute, add what it has of the accumulator, re-randomise."""
        moved = self.permuted(task)
        coins = moved.coins + self.layout.one(Coin(task.out))
        return Sealed(moved.words + self.plain(task.accumulator), coins)

    def permuted(self, task: Pass) -> Sealed:
        """The ciphertexts in their new order."""
        held = self.vectors[task.ciphertexts]
        assert isinstance(held, Sealed), "the machine keeps plaintexts and ciphertexts apart"
        index = composed(task.permutations, self._permutations, self.layout.rows)
        return Sealed(held.words[index], held.coins[index])

    def _change(self, change: Change) -> None:
        if self._me == ENCRYPTED_SHARE:
            held = self.vectors[CIPHERTEXTS]
            assert isinstance(held, Sealed), "share 1 is encrypted"
            self.vectors[CIPHERTEXTS] = Sealed(held.words + self.layout.one(change), held.coins)
        else:
            self.vectors[SHARES] = self.plain(SHARES) + self.layout.one(change)

    def _add(self, vector: Integers, streams: tuple[StreamKey, ...], sign: int) -> Integers:
        out = vector.copy()
        here = np.arange(self.layout.rows)
        for key in streams:
            out[here, self.layout.unknowns[key] + here] += sign
        return out


def composed(keys: tuple[StreamKey, ...], permutations: Permutations, rows: int) -> Index:
    """One index that applies the permutations in their order."""
    index = np.arange(rows)
    for key in keys:
        index = index[permutations(key)]
    return index


@dataclass(frozen=True)
class World:
    """All that reached anyone, under one choice of the permutations."""

    recording: Recording
    layout: Layout
    arrivals: list[Arrival[Forms]]
    order: Index  # output row i is user order[i]

    @property
    def output(self) -> Integers:
        """What the analyzer adds up: the words of all deliveries."""
        delivered = [arrival.vector for arrival in self.arrivals if arrival.receiver == 0]
        return sum((one.words if isinstance(one, Sealed) else one for one in delivered), self.layout.zero())


def world(
    recording: Recording, layout: Layout, permutations: Permutations, *, bench_type: type[FormBench] = FormBench
) -> World:
    """Replay a recording on linear forms."""
    parties = range(1, recording.schedule.shufflers + 1)
    arrivals = recording.replay({who: bench_type(who, layout, permutations) for who in parties})
    order = composed(recording.output_permutations, permutations, layout.rows)
    return World(recording, layout, arrivals, order)
