"""Generalised randomised response over the whole domain (thesis §9.3.1), drawn as protocol.md §2 says.

One word z tells the answer ⌊z·d / 2^64⌋. Neighbours: one user's value is replaced. Trusted: her device alone.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from peos.chunks import chunks
from peos.crypto.randomness import U64, Randomness
from peos.errors import WrongInput
from peos.estimate.frequency import Estimate, FrequencyOracle
from peos.ldp.base import MAX_ENUMERABLE, UNASKED, Counts, Question, checked_parameters, whole_number
from peos.ldp.blanket import Blanket, blanket_of_cells
from peos.ldp.members import Floats, Grid, Members
from peos.ldp.mixture import Mixture, checked_epsilon, largest_threshold
from peos.ldp.two_level import TwoLevel

_CHUNK = 1 << 20


class GRR(TwoLevel):
    """Her value with probability p = 1 − γ(1 − 1/d), else any other: the most exact mechanism where e^ε exceeds d.

    `epsilon` is met from below, by the largest integer threshold that keeps to it. Variance of a frequency near 0,
    without fakes: (e^ε + d − 2) / (n (e^ε − 1)²).
    """

    _mixture: Mixture
    name = "grr"
    short = "randomised response over all values"
    words = 1
    _bits: ClassVar[int] = 64  # tests enumerate every random input of narrower twins
    _coin_bits: ClassVar[int] = 64

    def __init__(self, domain: int, epsilon: float, *, question: Question = UNASKED) -> None:
        domain = _domain(domain)
        asked = checked_epsilon(epsilon)
        self._set(domain, largest_threshold(asked, domain, bits=self._bits, coin_bits=self._coin_bits), question)

    @classmethod
    def described(cls) -> str:
        """Her value, or any."""
        return (
            f"{cls.short} ({cls.name}): each device sends the user's answer or, with a fixed probability, a value "
            "drawn evenly from all"
        )

    @classmethod
    def build(cls, domain: int, epsilon: float, size: int = 0) -> "GRR":  # noqa: ARG003 - the domain is its size
        """The only one that there is."""
        return cls(domain, epsilon)

    @classmethod
    def grid(cls, domain: int, sizes: NDArray[np.int64], local: Floats) -> Grid:  # noqa: ARG003 - see `build`
        """A uniform report matches with probability 1/d, and never two values."""
        return Grid(np.array([[1.0 / domain]]), np.zeros((1, 1)), np.zeros((1, 1)))

    @classmethod
    def theorem_members(cls, domain: int, size: int = 0) -> Members:  # noqa: ARG003 - see `build`
        """As many cells as values."""
        return Members(np.array([domain]), np.array([(2**64 // domain) / 2**64]), np.zeros(1))

    @classmethod
    def from_parameters(cls, domain: int, parameters: Mapping[str, int], question: Question = UNASKED) -> Self:
        """The mechanism that a collection document describes by {"threshold": T}."""
        given = checked_parameters(cls.name, parameters, {"threshold": (1, 2**cls._coin_bits - 1)})
        mechanism = cls.__new__(cls)
        mechanism._set(_domain(domain), given["threshold"], question)
        return mechanism

    def _set(self, domain: int, threshold: int, question: Question) -> None:
        self.domain = self.cells = domain
        self.question = question
        self._mixture = Mixture(threshold, domain, self._bits, self._coin_bits)
        γ = self._mixture.gamma
        # u is 1/d only up to the uneven preimages, which differ by one word in 2^64/d: far below a double's step.
        other = γ / domain
        self._oracle = FrequencyOracle(p=float(1 - γ + other), q=float(other), u=1 / domain)

    @property
    def blanket(self) -> Blanket:
        """No two values share an answer."""
        return blanket_of_cells(self.gamma, self.cells, self._bits, 0.0, self.epsilon_local)

    @property
    def theorem_support(self) -> Fraction:
        """⌊2^64/d⌋/2^64."""
        return self._mixture.match

    @property
    def _pattern_bits(self) -> int:
        return self._bits

    def encode(self, values: NDArray[np.int64], rng: Randomness) -> U64:
        """(n, 1): for each value a uniform word among those that decode to it."""
        return self._mixture.preimages(self._values(values), rng)[:, np.newaxis]

    def decode(self, words: U64) -> NDArray[np.int64]:
        """(n,): the answer that each report tells; every word tells one."""
        return self._mixture.cell_of(self._words(words)[:, 0])

    def support_counts(self, words: U64, candidates: NDArray[np.int64] | None = None) -> Counts:
        """How many reports tell each candidate, or each value."""
        words = self._words(words)
        counts = np.zeros(self.domain, dtype=np.int64)
        for chunk in chunks(len(words), _CHUNK):
            counts += np.bincount(self.decode(words[chunk]), minlength=self.domain)
        return counts if candidates is None else counts[self._values(candidates)]

    def estimate(self, tally: Counts, users: int, fakes: int = 0) -> Estimate:
        """As of all two-level mechanisms; each report tells one value, so that the counts sum to the reports."""
        found = super().estimate(tally, users, fakes)
        if (told := int(found.counts.sum())) != users + fakes:
            raise WrongInput(
                "estimate.counts_sum",
                f"the counts sum to {told:,}, and {users + fakes:,} reports of users and fakes tell one value each",
                hint="give the counts of all of these reports, and of no others",
            )
        return found

    def steps(self, reports: int) -> float:
        """One a report."""
        return float(reports)


def _domain(domain: object) -> int:
    return whole_number(domain, "the domain of GRR", least=2, most=MAX_ENUMERABLE)
