"""What a coalition of shufflers, the analyzer and all users hold of a collection, row by row.

The users told it their parts. The analyzer brings the key. So it knows shares, ciphertexts and the frozen order, every
message that a member sent or received in any attempt, and the permutation of every round in which a member hides. One
round is left, whose hiders are all honest. A vector from before that round is known user by user; one from after it is
known row by row of the output. The wires in between are the adversary's bet.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, TypeVar

import gmpy2
import numpy as np

from peos.crypto.kdf import Context, derive
from peos.crypto.randomness import U64
from peos.crypto.schemes import packing
from peos.crypto.schemes.base import Packed
from peos.crypto.schemes.paillier import PaillierPrivateKey
from peos.shuffle import agreement
from peos.shuffle.messages import Kind, Statement
from peos.shuffle.schedule import Schedule
from tests.security.linking.collection import Carried, Index, PairedCollection

ANALYZER = 0
T = TypeVar("T")
Coalition = frozenset[int]


@dataclass(frozen=True, eq=False)
class Ciphertexts:
    """A vector of ciphertexts, opened with the key: integers, and what hides them."""

    key: PaillierPrivateKey
    packed: Packed

    @cached_property
    def integers(self) -> list[int]:
        """The plaintexts, not reduced mod 2^64."""
        return [int(m) for m in self.key.decrypt_integers(self.packed)]

    @cached_property
    def raw(self) -> list[int]:
        """The ciphertexts."""
        return [int(c) for c in packing.integers(self.packed)]

    @cached_property
    def units(self) -> list[int]:
        """c mod N: what hides the plaintext, for (1 + N)^m is 1 mod N."""
        n = int(self.key.public.modulus)
        return [c % n for c in self.raw]

    @cached_property
    def inverses(self) -> list[int]:
        """1/c mod N."""
        n = self.key.public.modulus
        return [int(gmpy2.invert(unit, n)) for unit in self.units]

    @cached_property
    def words(self) -> U64:
        """The plaintexts mod 2^64."""
        return np.array([m % (1 << 64) for m in self.integers], np.uint64)


Content = Ciphertexts | U64


def known_seeds(coalition: Coalition, schedule: Schedule, words: Iterable[Statement]) -> dict[tuple[int, int], bytes]:
    """(attempt, round) → seed, of the rounds in which a member hides."""
    contributions: defaultdict[tuple[Context, int], dict[int, bytes]] = defaultdict(dict)
    for word in words:
        header = word.header
        if header.step.kind is Kind.REVEAL and not coalition.isdisjoint((header.sender, header.receiver)):
            contributions[header.context, header.step.round][header.sender] = word.body
    return {
        (context.attempt, round_): agreement.seed(context, round_, revealed)
        for (context, round_), revealed in contributions.items()
        if len(revealed) == len(schedule.hiders(round_))
    }


@dataclass(frozen=True, eq=False)
class Known:
    """A vector that the coalition knows; `moment` counts the rounds whose permutations are in its order."""

    name: str
    attempt: int
    moment: int
    content: Content
    carried: Carried | None = None


class Orders:
    """The permutations that a coalition knows."""

    def __init__(self, collection: PairedCollection, coalition: Coalition) -> None:
        self.collection = collection
        self.coalition = coalition
        self.schedule = collection.document.schedule
        self.seeds = known_seeds(coalition, self.schedule, collection.words)
        self.rounds = range(1, len(self.schedule.rounds) + 1)
        self.attempts = max(attempt for attempt, _ in self.seeds)
        self.rows = len(collection.parts) + collection.document.fakes
        self.context = collection.words[0].header.context

    def permutation(self, attempt: int, round_: int, seed: bytes) -> Index:
        """What a seed makes of the rows."""
        here = replace(self.context, attempt=attempt)
        return derive(seed, "permutation", here, round_=round_).stream().permutation(self.rows)

    def composed(self, attempt: int, first: int, last: int, also: Mapping[int, bytes] | None = None) -> Index:
        """One index for the rounds from `first` to `last`; the seeds of rounds in `also` are guessed."""
        seeds = {round_: seed for (of, round_), seed in self.seeds.items() if of == attempt} | dict(also or {})
        index = np.arange(self.rows)
        for round_ in range(first, last + 1):
            index = index[self.permutation(attempt, round_, seeds[round_])]
        return index


def origin(collection: PairedCollection) -> Index:
    """The referee's: row i of the output was row origin[i] of the frozen list."""
    everybody = Orders(collection, frozenset(range(1, collection.document.schedule.shufflers + 1)))
    return everybody.composed(everybody.attempts, 1, len(everybody.rounds))


class Seen(Orders):
    """What one coalition holds of one collection. What several coalitions would work out is worked out once."""

    def __init__(self, collection: PairedCollection, coalition: Coalition, shared: dict[object, Any]) -> None:
        super().__init__(collection, coalition)
        self._shared = shared
        (self.unknown,) = set(self.rounds) - {round_ for _, round_ in self.seeds}

    def by_user(self, known: Known) -> Index:
        """Where the frozen rows are in a vector from before the unknown round."""
        return np.argsort(self.composed(known.attempt, 1, known.moment))

    def by_output(self, known: Known) -> Index:
        """Where the output's rows are in a vector from after it; a lost attempt's is read as if it were the last's."""
        return self.composed(self.attempts, known.moment + 1, len(self.rounds))

    @cached_property
    def submitted(self) -> list[Known]:
        """The users' shares in the frozen order; share 1 is encrypted. What the coalition does not know is zero."""
        parts = {part.id: parts for parts in self.collection.parts for part in parts}
        frozen = [parts[id_] for id_ in sorted(parts)]
        found = []
        for number in range(self.schedule.shufflers):
            shares = np.stack([np.frombuffer(parts[number].share, np.uint8) for parts in frozen])
            fakes = self.rows - len(shares)
            if number == 0:
                padding = np.tile(shares[:1], (fakes, 1))  # it is not looked at: fakes are in no pair
                content: Content = self._open(-1, np.concatenate((shares, padding)))
            else:
                words = shares.view("<u8")[:, 0].astype(np.uint64)
                content = np.concatenate((words, np.zeros(fakes, np.uint64)))
            found.append(Known(f"share {number + 1}", self.attempts, 0, content))
        return found

    @cached_property
    def reached(self) -> list[Known]:
        """Every vector that a member or the analyzer received, or a member sent."""
        found = []
        for number, carried in enumerate(self.collection.vectors):
            header = carried.header.header
            if header.receiver == ANALYZER or not self.coalition.isdisjoint((header.sender, header.receiver)):
                step = header.step
                moment = step.round - 1 if step.kind is Kind.PIECE else step.round
                name = f"{step} from {header.sender} to {header.receiver}"
                is_words = carried.rows.shape[1] == 8
                words = np.ascontiguousarray(carried.rows).view("<u8")[:, 0] if is_words else None
                content = self._open(number, carried.rows) if words is None else words.astype(np.uint64)
                found.append(Known(name, header.context.attempt, moment, content, carried))
        return found

    @cached_property
    def streams(self) -> list[Known]:
        """The parts that were sent as seeds, to or from a member."""
        found = []
        for word in self.collection.words:
            header = word.header
            if header.step.kind is not Kind.SEED or self.coalition.isdisjoint((header.sender, header.receiver)):
                continue
            round_ = header.step.round
            key = derive(
                word.body, "part", header.context, round_=round_, sender=header.sender, receiver=header.receiver
            )
            name = f"{header.step} from {header.sender} to {header.receiver}"
            found.append(Known(name, header.context.attempt, round_ - 1, key.stream().uint64(self.rows)))
        return found

    @property
    def before(self) -> list[Known]:
        """What is known user by user."""
        return [*self.submitted, *(one for one in (*self.reached, *self.streams) if one.moment < self.unknown)]

    @property
    def after(self) -> list[Known]:
        """What is known row by row of the output, if the attempt is the last one."""
        return [one for one in (*self.reached, *self.streams) if one.moment >= self.unknown]

    def once(self, what: object, work: Callable[[], T]) -> T:
        """The same for all coalitions that ask for it by the same name."""
        if what not in self._shared:
            self._shared[what] = work()
        found: T = self._shared[what]
        return found

    def permutation(self, attempt: int, round_: int, seed: bytes) -> Index:
        """What a seed makes of the rows."""
        return self.once((attempt, round_, seed), lambda: super(Seen, self).permutation(attempt, round_, seed))

    def _open(self, number: int, packed: Packed) -> Ciphertexts:
        return self.once(("vector", number), lambda: Ciphertexts(self.collection.private, packed))

    # Pairs.

    @cached_property
    def output(self) -> U64:
        """The words that come out, in the order of the last hiders' deliveries."""
        delivered = [one.content for one in self.reached if one.carried and one.carried.header.header.receiver == 0]
        total = np.zeros(self.rows, np.uint64)
        for content in delivered:
            total += content.words if isinstance(content, Ciphertexts) else content
        return total

    @cached_property
    def pairs(self) -> tuple[Index, Index]:
        """Frozen rows (pairs, 2) and output rows (pairs, 2) of the words that two users sent, each in their order."""
        total = np.zeros(self.rows, np.uint64)
        for one in self.submitted:
            total += one.content.words if isinstance(one.content, Ciphertexts) else one.content
        users = len(self.collection.parts)
        values, counts = np.unique(total[:users], return_counts=True)
        twice = values[counts == 2]
        place_in = np.array([np.flatnonzero(total[:users] == value) for value in twice])
        place_out = np.array([np.flatnonzero(self.output == value) for value in twice])
        return place_in, place_out


def coalitions_of(schedule: Schedule) -> list[Coalition]:
    """All sets of c shufflers: a smaller one sees less than one around it."""
    return [frozenset(members) for members in combinations(range(1, schedule.shufflers + 1), schedule.colluders)]
