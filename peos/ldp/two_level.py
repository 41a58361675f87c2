"""What all mechanisms share whose reports are two-level: a uniform pattern, or one that supports her value.

Relative to a uniform pattern a report's density is e^(ε_l)·g on the patterns that support her value and g elsewhere, so
a subclass is what these patterns are (`encode`, `support_counts`), with the coin that decides between the two.
"""

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from peos.crypto.randomness import U64, Randomness
from peos.estimate.frequency import FrequencyOracle
from peos.ldp.base import Mechanism, PureMechanism
from peos.ldp.mixture import Coin


class OneCoin(Mechanism):
    """A mechanism that is one coin and one coding, `encode`. Subclasses set `_mixture` too."""

    _mixture: Coin

    @property
    def _pattern_bits(self) -> int:
        """How many bits of a word are its pattern: all, but in the narrower twins whose every input tests enumerate."""
        return 64

    @property
    def gamma(self) -> Fraction:
        """γ = 1 − T/2^64."""
        return self._mixture.gamma

    @property
    def epsilon_local(self) -> float:
        """ln(1 + (1−γ)/(γμ)), rounded up; μ is the least chance with which a uniform word matches a value."""
        return self._mixture.epsilon

    @abstractmethod
    def encode(self, values: Any, rng: Randomness) -> U64:
        """(n, words): uniform among the patterns that stand for each user's value. Not private by itself."""

    def randomize(self, values: Any, rng: Randomness | None = None) -> U64:
        """(n, words): ε_l-private reports; protocol.md §2."""
        rng = self._rng(rng)
        return self._mixture.mixed(self.encode(values, rng), self._pattern_bits, rng)


class TwoLevel(OneCoin, PureMechanism):
    """A `PureMechanism` of this kind. Subclasses set `_oracle` too."""

    _oracle: FrequencyOracle

    @property
    def oracle(self) -> FrequencyOracle:
        """p = 1 − γ + γu, q = (1 − γ)c + γu, u."""
        return self._oracle

    @property
    def parameters(self) -> Mapping[str, int]:
        """{"threshold": T}."""
        return {"threshold": self._mixture.threshold}


def two_level_oracle(γ: Fraction, match: Fraction, collision: Fraction, most: Fraction) -> FrequencyOracle:
    """p, q and u where every value is matched with the same chance, and two of them together by at most `most`."""
    p, q = 1 - γ + γ * match, (1 - γ) * collision + γ * match
    return FrequencyOracle(float(p), float(q), float(match), slack=float((1 - γ) * (most - collision)))
