"""What every local-model mechanism offers: randomise, decode, count supports, estimate.

A report is `words` 64-bit words, and *every* bit pattern decodes to a valid report. A mechanism is drawn as a mixture
(privacy.md §0): with probability `blanket` the report is a uniformly random pattern, else it encodes the user's value.
So the blanket is exactly a fake report, and nothing tells the two apart.

Neighbours: one user's value is replaced. Trusted: nobody but the user's own device.
"""

import hashlib
import operator
import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Self, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from peos.crypto.randomness import U64, Randomness, system
from peos.errors import WrongInput
from peos.estimate.frequency import Estimate, FrequencyOracle, estimate_frequencies, variance_of_frequency

Counts = NDArray[np.int64]
MAX_ENUMERABLE: Final = 1 << 24  # beyond, a table of the whole domain no longer fits anywhere


@dataclass(frozen=True)
class Question:
    """Who asks what, and when: it salts the mechanism, so that no two collections share hash functions."""

    analyzer: bytes = b""
    question: str = ""
    epoch: str = ""


UNASKED: Final = Question()
"""The question of a mechanism that is used outside a collection."""


def whole_number(value: object, what: str, *, least: int, most: int) -> int:
    """`value` as an int within its range, or one sentence that says what it should have been."""
    try:
        if isinstance(value, bool) or not isinstance(value, SupportsIndex):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise WrongInput("mechanism.range", f"{what} is a whole number from {least} to {most}") from None
    if not least <= number <= most:
        # An absurdly long number is not echoed: it may come from elsewhere.
        found = f", not {number}" if number.bit_length() <= 64 else ""
        raise WrongInput("mechanism.range", f"{what} is a whole number from {least} to {most}{found}")
    return number


def checked_parameters(
    mechanism: str, parameters: Mapping[str, int], ranges: Mapping[str, tuple[int, int]]
) -> dict[str, int]:
    """A document's parameters, exactly those of `ranges` and each within its range (least, most)."""
    if set(parameters) != set(ranges):
        raise WrongInput(
            "mechanism.parameters",
            f"{mechanism} is described by {' and '.join(ranges)}, by each of them and nothing else",
        )
    return {
        key: whole_number(parameters[key], f"the {key} of {mechanism}", least=least, most=most)
        for key, (least, most) in ranges.items()
    }


class Mechanism(ABC):
    """A local randomiser over the values 0 … domain − 1, with everything that follows from it.

    Subclasses set `domain`, `words`, `cells` and the probabilities of `oracle`, and are immutable.
    """

    name: ClassVar[str]
    domain: int  # d: number of values
    words: int  # w: 64-bit words of a report
    cells: int  # k: answers that a report tells apart (d; d' for local hashing; 2 for unary, a position's)
    question: Question

    @classmethod
    @abstractmethod
    def from_parameters(cls, domain: int, parameters: Mapping[str, int], question: Question = UNASKED) -> Self:
        """The mechanism with these integers, each checked: they may come from a document of somebody else's."""

    @property
    @abstractmethod
    def blanket(self) -> Fraction:
        """γ, exactly: the probability that a report is a uniformly random pattern."""

    @property
    @abstractmethod
    def epsilon_local(self) -> float:
        """ε_l of one report, rounded up: what holds whoever colludes."""

    @property
    @abstractmethod
    def oracle(self) -> FrequencyOracle:
        """p, q and u: how likely a report supports its own value, another value, any value if it is uniform."""

    @property
    @abstractmethod
    def parameters(self) -> Mapping[str, int]:
        """The integers that, with name and domain, determine the mechanism; the collection document holds them."""

    @abstractmethod
    def encode(self, values: NDArray[np.int64], rng: Randomness) -> U64:
        """(n, words): reports that tell the values, uniform among all patterns that do. Not private by themselves."""

    @abstractmethod
    def randomize(self, values: NDArray[np.int64], rng: Randomness | None = None) -> U64:
        """(n, words): ε_l-private reports of the values."""

    @abstractmethod
    def support_counts(self, words: U64) -> Counts:
        """(domain,): how many reports support each value."""

    def __repr__(self) -> str:
        given = ", ".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"<{self.name} domain={self.domain} {given}>"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def digest(self) -> bytes:
        """SHA-256 of question, name, domain and parameters; equal digests mean interchangeable reports."""
        ask = self.question
        fields = [
            b"peos mechanism 1",
            ask.analyzer,
            ask.question.encode(),
            ask.epoch.encode(),
            self.name.encode(),
        ]
        fields.append(struct.pack(">Q", self.domain))
        for key, value in sorted(self.parameters.items()):
            fields += [key.encode(), struct.pack(">Q", value)]
        return hashlib.sha256(b"".join(struct.pack(">I", len(field)) + field for field in fields)).digest()

    def estimate(self, counts: Counts, users: int, fakes: int = 0) -> Estimate:
        """Unbiased frequencies with error bars from the support counts of `users` reports and `fakes` uniform ones."""
        if np.shape(counts) != (self.domain,):
            raise WrongInput("mechanism.counts", f"there is one support count for each of the {self.domain} values")
        return estimate_frequencies(self.oracle, counts, users=users, fakes=fakes)

    def variance(self, users: int, fakes: int = 0, frequency: float = 0.0) -> float:
        """Exact variance of one estimated frequency whose true value is `frequency`."""
        return variance_of_frequency(self.oracle, users=users, fakes=fakes, frequency=frequency)

    def _values(self, values: object) -> NDArray[np.int64]:
        """The values as int64, or one sentence about the first that cannot be reported."""
        try:
            given = np.asarray(values)
        except ValueError:
            raise WrongInput("mechanism.values", "values must be a one-dimensional sequence of whole numbers") from None
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
            raise WrongInput("mechanism.values", "values must be a one-dimensional sequence of whole numbers")
        outside = (given < 0) | (given >= self.domain)
        if np.any(outside):
            raise WrongInput(
                "mechanism.domain",
                f"a value lies outside the domain 0 … {self.domain - 1}, at index {int(np.argmax(outside))}",
            )
        return given.astype(np.int64)

    def _words(self, words: U64) -> U64:
        given = np.asarray(words)
        if given.dtype != np.uint64 or given.ndim != 2 or given.shape[1] != self.words:
            raise WrongInput(
                "mechanism.reports", f"reports of this mechanism are a uint64 array of shape (n, {self.words})"
            )
        return given

    @staticmethod
    def _rng(rng: Randomness | None) -> Randomness:
        return system() if rng is None else rng
