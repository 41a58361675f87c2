"""PrivTrie (Wang N. et al. 2018), to be compared with: a trie grown character by character, by batches of users.

Each batch is asked for the next character after one prefix. Once a child's estimate, from all batches that were asked
about its parent, exceeds the part 4/(ε·√Σn_b) of the users, n_b to a batch, the child is frequent. The prefixes of a
level are asked about in turns, until k children are frequent or the level's part of the users is used up: here no user
is asked twice. A batch is a thousandth of the users, and a round of its own.
"""

import math
from collections.abc import Sequence
from functools import cached_property, partial
from statistics import NormalDist
from typing import ClassVar, Final, Unpack

import numpy as np

from peos.errors import WrongInput
from peos.ldp.base import whole_number
from peos.ldp.grouped_hash import Candidates, GroupedHash
from peos.ldp.reports import Reports
from peos.tasks.base import NOTHING, Answer, Round, Table, table
from peos.tasks.planning import Asked, Planned, Targets, planned
from peos.tasks.prefix_search import MOST_KEPT
from peos.tasks.text_views import PrefixView
from peos.tasks.texts import MOST_BYTES, Prefix, Records, Texts

_CHARACTER: Final = 8  # bits
_BATCHES: Final = 1000
_LEAST: Final = 800  # ε² times the users of a batch
_THRESHOLD: Final = 4
_ALPHA: Final = 0.05


class _Level:
    """Prefixes that are asked about in turns, and of each the sum of its children's estimates, weighted by users."""

    def __init__(self, prefixes: Sequence[Prefix]) -> None:
        self.prefixes, self.batches = prefixes, 0
        self.sums = np.zeros((len(prefixes), 2**_CHARACTER))
        self.users = np.zeros(len(prefixes), np.int64)

    @property
    def turn(self) -> int:
        """Which is asked about next."""
        return self.batches % len(self.prefixes)

    def take(self, batch: Table) -> None:
        """What users answered about the one whose turn it was."""
        self.sums[self.turn] += batch.users * batch.frequency
        self.users[self.turn] += batch.users
        self.batches += 1

    def frequent(self, local: float, k: int) -> list[tuple[Prefix, float, int]]:
        """The children beyond the threshold, the k most frequent first, with frequency and users asked."""
        found = []
        for prefix, sums, users in zip(self.prefixes, self.sums, self.users.tolist(), strict=True):
            frequency = sums / max(1, users)
            beyond = np.flatnonzero(frequency > _THRESHOLD / (local * math.sqrt(max(1, users))))
            found += [(prefix.then(ext, _CHARACTER), float(frequency[ext]), users) for ext in beyond.tolist()]
        return sorted(found, key=lambda one: (-one[1], one[0].value))[:k]


class PrivTrie:
    """Texts of `bits` bits, whole bytes: the `k` best."""

    in_memory: ClassVar[str] = (
        "each round of PrivTrie asks a thousandth of the users, who would be shuffled among themselves alone"
    )

    def __init__(self, bits: int, k: int, **asked: Unpack[Targets]) -> None:
        whole = whole_number(bits, "the bits of a text", least=_CHARACTER, most=8 * MOST_BYTES)
        if whole % _CHARACTER:
            raise WrongInput("task.characters", f"PrivTrie asks for characters of 8 bits, not for {whole} bits")
        self.bits, self.k = whole, whole_number(k, "the number of texts wanted, k,", least=1, most=MOST_KEPT)
        self.asked = Asked(**asked)
        self._before: tuple[int, Table, _Level, int] | None = None  # what the last call came to, for a thousand rounds

    @property
    def users(self) -> int:
        """How many are to be asked in all."""
        return self.asked.users

    def labels(self, records: Records) -> Sequence[str]:
        """What each record is called in an answer."""
        return Texts.of(records, self.bits).labels(self.bits)

    @cached_property
    def plan(self) -> Planned[GroupedHash]:
        """Of a batch."""
        local = self.asked.eps_local
        if local is None:
            raise WrongInput("plan.no_target", "PrivTrie keeps to ε_l alone", hint="give eps_local")
        batch = min(self.users, max(self.users // _BATCHES, math.ceil(_LEAST / local**2)))
        given = {"eps_local": local, "d_prime": self.asked.d_prime, "shufflers": self.asked.shufflers}
        return planned(Asked(users=batch, delta=self.asked.delta, fakes=0, **given), (1,))  # type: ignore[arg-type] # by name

    @property
    def plans(self) -> tuple[Planned[GroupedHash], ...]:
        """Every batch's."""
        return (self.plan,)

    def next(self, seen: Sequence[Table]) -> Round | Answer:
        """The next batch, as it follows from all before."""
        level, asked, first = _Level([Prefix(0, 0)]), 0, 0
        if self._before and len(seen) > self._before[0] and seen[self._before[0] - 1] is self._before[1]:
            first, _, level, asked = self._before  # the same again, gone on with
        self._before = None
        for batch in seen[first:]:
            level.take(batch)
            asked += batch.users
            is_over = (int(level.users.sum()) + self.plan.users) * self.bits > self.users * _CHARACTER
            if level.turn and not is_over:
                continue
            kept = level.frequent(self.plan.mechanism.epsilon_local, self.k)
            if is_over or len(kept) >= self.k:
                if not kept or kept[0][0].bits == self.bits:
                    return Answer(self._table(kept, level, asked))
                level = _Level([prefix for prefix, _, _ in kept])
        self._before = (len(seen), seen[-1], level, asked) if seen else None
        share = self.plan.users / max(1, self.users - asked)
        if share > 1:
            return Answer(NOTHING, is_complete=False)
        parent = level.prefixes[level.turn]
        view = PrefixView(parent.bits, parent.bits + _CHARACTER, self.bits)
        return Round((view,), self.plan, share, partial(self._decode, parent))

    @staticmethod
    def _decode(parent: Prefix, reports: Reports) -> Table:
        """Every child's frequency."""
        exts = np.arange(2**_CHARACTER, dtype=np.uint64)
        estimate = reports.estimate(0, Candidates(np.array([parent.parent], np.uint64), exts))
        return table([f"{ext:02x}" for ext in exts.tolist()], estimate, np.arange(len(exts)))

    def _table(self, kept: Sequence[tuple[Prefix, float, int]], level: _Level, users: int) -> Table:
        """Whole texts."""
        if not kept:
            return NOTHING
        oracle, tested = self.plan.mechanism.oracle, level.sums.size
        found = np.array([frequency for _, frequency, _ in kept])
        variance = [oracle.variance(asked, self.users, 0, np.float64(min(1.0, of))) for _, of, asked in kept]
        chance = [oracle.variance(asked, self.users, 0, np.float64(0)) for _, _, asked in kept]
        stderr, least = (
            np.sqrt(np.array(variance)),
            NormalDist().inv_cdf(1 - _ALPHA / tested) * np.sqrt(np.array(chance)),
        )
        interval = found[:, np.newaxis] + NormalDist().inv_cdf(1 - _ALPHA / 2) * stderr[:, np.newaxis] * np.array(
            [-1, 1]
        )
        labels = tuple(prefix.label for prefix, _, _ in kept)
        return Table(labels, found, stderr, interval, found >= least, tested, users)
