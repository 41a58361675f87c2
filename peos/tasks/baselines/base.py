"""What the papers' systems are made of: how a report is drawn, and how one question to each user is answered.

A baseline is what is sent (`randomize`) and what an answer is made of (`decode`). `runs` says how it can be run here:
in one collection, in rounds, or in the local model only, with the reason. They are there to be measured against.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from peos.crypto.randomness import U64, Randomness
from peos.ldp.hashing import splitmix64
from peos.ldp.mixture import Coin, threshold_for

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ONE: Final = "one collection"
ROUNDS: Final = "rounds"
LOCAL: Final = "local only: "

Records = TypeVar("Records")
Sent = TypeVar("Sent")
Asked = TypeVar("Asked")


@dataclass(frozen=True, eq=False)
class Baseline(Generic[Records, Sent, Asked]):
    """A system of a paper: from records to reports, and from reports to a function that answers questions."""

    name: str
    runs: str
    randomize: Callable[[Records, "Draws"], Sent]
    decode: Callable[[Sent], Callable[[Asked], Floats]]


class Draws:
    """The users' randomness, through these two draws alone: tests enumerate every outcome of a twin."""

    functions = 2**32  # hash functions to draw from

    def __init__(self, rng: Randomness) -> None:
        self._rng = rng

    def below(self, bound: int | Ints, count: int) -> Ints:
        """Uniform whole numbers below `bound`, or each below its own."""
        return self._rng.below(np.broadcast_to(np.asarray(bound, np.uint64), count)).astype(np.int64)

    def tells(self, coin: Coin, count: int) -> NDArray[np.bool_]:
        """True with probability T/2^64."""
        return coin.tells(count, self._rng)


@dataclass(frozen=True)
class Response:
    """Randomised response over so many answers: the true one with probability 1 − γ, else any, the true one too."""

    cells: int
    epsilon: float

    @cached_property
    def coin(self) -> Coin:
        """Met from below, to 2^-64."""
        match = Fraction(1, self.cells)
        return Coin(threshold_for(self.epsilon, match), match)

    @property
    def p(self) -> float:
        """Of the true answer."""
        return float(1 - self.coin.gamma + self.coin.gamma / self.cells)

    @property
    def q(self) -> float:
        """Of another answer."""
        return float(self.coin.gamma / self.cells)

    def drawn(self, answers: Ints, draws: Draws) -> Ints:
        """One report for each answer."""
        uniform = draws.below(self.cells, len(answers))
        return np.where(draws.tells(self.coin, len(answers)), answers, uniform)

    def unbiased(self, counts: Ints, reports: int | Ints) -> Floats:
        """The share of each answer; 1 in so many where there is no report of any."""
        some = np.maximum(reports, 1)
        return np.asarray(np.where(some == reports, (counts / some - self.q) / (self.p - self.q), 1.0 / self.cells))


@dataclass(frozen=True)
class Unary:
    """A bit for each of so many answers, the true one 1 with p and others with q: PRR (ε/2 a bit), or OUE (p = 1/2)."""

    cells: int
    epsilon: float
    optimised: bool = False

    @cached_property
    def _coins(self) -> tuple[Coin, Coin]:
        half = Fraction(1, 2)
        if not self.optimised:
            kept = Coin(threshold_for(self.epsilon / 2, half), half)
            return kept, kept
        return Coin(1, half, coin_bits=1), Coin(threshold_for(self.epsilon, half), half)

    @property
    def p(self) -> float:
        """1/2, or √E/(1 + √E)."""
        return 0.5 if self.optimised else float(1 - self._coins[0].gamma / 2)

    @property
    def q(self) -> float:
        """1/(E + 1), or 1/(1 + √E)."""
        return float(self._coins[1].gamma / 2)

    def drawn(self, answers: Ints, draws: Draws) -> NDArray[np.bool_]:
        """(n, cells): every bit by itself."""
        own = np.arange(self.cells) == answers[:, np.newaxis]
        count = own.size
        uniform = draws.below(2, count).astype(np.bool_).reshape(own.shape)
        others = np.where(draws.tells(self._coins[1], count).reshape(own.shape), own, uniform)
        if not self.optimised:
            return others
        return np.where(own, draws.below(2, len(answers)).astype(np.bool_)[:, np.newaxis], others)

    def unbiased(self, counts: Ints, reports: int | Ints) -> Floats:
        """The share of each answer."""
        some = np.maximum(reports, 1)
        return np.asarray(np.where(some == reports, (counts / some - self.q) / (self.p - self.q), 1.0 / self.cells))


@dataclass(frozen=True)
class Hashed:
    """Optimised local hashing of keys of 64 bits: a function, and randomised response over its g values."""

    epsilon: float

    @cached_property
    def response(self) -> Response:
        """g = e^ε + 1, rounded."""
        return Response(max(2, round(float(np.exp(self.epsilon)) + 1)), self.epsilon)

    def drawn(self, keys: U64, draws: Draws) -> tuple[Ints, Ints]:
        """(function, answer) of each."""
        seeds = draws.below(draws.functions, len(keys))
        return seeds, self.response.drawn(self.hash(seeds, keys), draws)

    def hash(self, seeds: Ints, keys: U64) -> Ints:
        """What each function makes of a key."""
        mixed = splitmix64(splitmix64(seeds.astype(np.uint64), 1) ^ keys, 1) >> np.uint64(32)
        found: U64 = mixed * np.uint64(self.response.cells) >> np.uint64(32)
        return found.astype(np.int64)

    def supports(self, seeds: Ints, answers: Ints, keys: U64) -> Floats:
        """(reports,): in how many of the keys each report's own could be, unbiased: 1 for its own, 0 for any other."""
        p, q = self.response.p, 1.0 / self.response.cells
        met = np.zeros(len(seeds))
        for key in keys:
            met += self.hash(seeds, np.asarray(key)) == answers
        return np.asarray((met - q * len(keys)) / (p - q))


def adaptive(cells: int, epsilon: float) -> Response | Unary:
    """Randomised response over few answers, else OUE (thesis 6.2): whichever has the smaller variance."""
    return Response(cells, epsilon) if cells < 3 * np.exp(epsilon) + 2 else Unary(cells, epsilon, optimised=True)
