"""What the analyzer sees of a shuffled collection, with its exact likelihood under either value of one user.

All other users hold one third value, which is close to the worst for her; fakes are uniform. Reports in random order
are as good as a list, so her report may be any of them, and the fakes any others: with g(x) = (report of the third
value)/(uniform report), the likelihood is Σ_i p_v(x_i)/g(x_i)·e(those that are left), e the elementary symmetric
polynomial of degree n_r in 1/g. As g takes two values only, e depends on how many reports match the third value.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from peos.crypto.randomness import U64, Randomness
from peos.ldp import GRR, HadamardResponse, LocalHash, SubsetSelection
from peos.ldp.base import PureMechanism
from peos.ldp.fields import UnaryFields
from peos.ldp.grouped_hash import GroupedHash, Keys
from peos.tasks.text_views import PrefixView
from peos.tasks.views import answers_of

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]
MINE, OTHER, THIRD = 0, 1, 2  # her value, the one that she might have had, everybody else's


@dataclass(frozen=True)
class Views:
    """Of each repeat (row) and report: whether it matches MINE, OTHER and THIRD."""

    mechanism: "PureMechanism | SinglingOut"
    fakes: int
    mine: Bits
    other: Bits
    third: Bits

    def ratio(self) -> Floats:
        """Of each repeat, how likely it was with OTHER, relative to with MINE."""
        told = self._told()
        beside = np.where(self.third, told, self._blanket())
        crowd = self._crowd()
        weights = np.where(self.third, crowd[:, np.newaxis], 1.0) / beside
        first, second = (
            np.sum(np.where(matched, told, self._blanket()) * weights, axis=1) for matched in (self.mine, self.other)
        )
        return np.asarray(second / first)

    def _blanket(self) -> float:
        return float(self.mechanism.gamma)

    def _told(self) -> float:
        """A report's density where it matches its own value, relative to a uniform one's."""
        return self._blanket() + (1 - self._blanket()) / self.mechanism.oracle.u

    def _crowd(self) -> Floats:
        """e without one report that matches the third value, relative to e without one that does not."""
        if not self.fakes:
            return np.ones(len(self.mine))
        matched = self.third.sum(axis=1)
        table = {int(a): self._one_crowd(int(a), self.third.shape[1] - int(a)) for a in np.unique(matched)}
        return np.array([table[int(a)] for a in matched])

    def _one_crowd(self, a: int, b: int) -> float:
        def log_e(a: int, b: int) -> float:
            j = np.arange(max(0, self.fakes - b), min(a, self.fakes) + 1)
            choose = _log_choose(a, j) + _log_choose(b, self.fakes - j)
            weights = j * np.log(self._told()) + (self.fakes - j) * np.log(self._blanket())
            return float(logsumexp(choose - weights))

        return float(np.exp(log_e(a - 1, b) - log_e(a, b - 1))) if a and b else 1.0


def _log_choose(n: int, k: NDArray[np.int64]) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


class SinglingOut(GroupedHash):
    """Two prefixes of a text, at which hers differs from everybody else's: what would be asked in order to find her.

    A value is one of three texts; which of the two prefixes a report is of is hidden.
    """

    views = (PrefixView(0, 8, 16), PrefixView(8, 16, 16))
    texts = ("zq", "ab", "mm")  # MINE, OTHER, THIRD

    def randomize(self, values: NDArray[np.int64], rng: Randomness | None = None) -> U64:
        parents, exts, fits = self._keys
        return super().randomize(Keys(parents[values], exts[values], fits[values]), rng)

    @cached_property
    def _keys(self) -> Keys:
        return self.gathered(answers_of(self.views, self.texts, Randomness(bytes(32))))

    def matches(self, words: U64, value: int) -> Bits:
        """Which reports have the hash of a text's prefix, of the one that each is of."""
        groups, seeds, cells = self.decode(words)
        parents, exts, _ = (one[value][groups] for one in self._keys)
        return np.asarray(self.hashes.hash(seeds, parents, exts) == cells)


def drawn(mechanism: PureMechanism | SinglingOut, users: int, fakes: int, repeats: int, rng: Randomness) -> Views:
    """That many collections by the mechanism's own randomiser, in which one user holds MINE."""
    values = np.full((repeats, users), THIRD)
    values[:, 0] = MINE
    words = mechanism.randomize(values.reshape(-1), rng).reshape(repeats, users, -1)
    words = np.concatenate((words, rng.uint64((repeats, fakes, mechanism.words))), axis=1)
    flat = words.reshape(-1, mechanism.words)
    found = [matches(mechanism, flat, value).reshape(repeats, -1) for value in (MINE, OTHER, THIRD)]
    return Views(mechanism, fakes, *found)


def matches(mechanism: PureMechanism | SinglingOut, words: U64, value: int) -> Bits:
    """Which reports match a value."""
    if isinstance(mechanism, SinglingOut):
        return mechanism.matches(words, value)
    if isinstance(mechanism, GRR):
        return np.asarray(mechanism.decode(words) == value)
    if isinstance(mechanism, LocalHash):
        seeds, answers = mechanism.decode(words)
        return np.asarray(mechanism.hash(seeds, np.array([value])) == answers)
    if isinstance(mechanism, HadamardResponse):
        rows, signs = mechanism.decode(words)
        return np.asarray(mechanism.family.signs_at(rows, mechanism._places[value]) == signs)
    if isinstance(mechanism, SubsetSelection):
        return mechanism.circle.holds(*mechanism.decode(words), mechanism._ranks[value])
    assert isinstance(mechanism, UnaryFields)
    return np.asarray(mechanism.decode(words)[:, value])
