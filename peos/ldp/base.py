"""What every local-model mechanism offers: randomise, tally, estimate; and what it says of itself to all others.

A report is `words` 64-bit words, and *every* bit pattern decodes to a valid report. A mechanism is drawn as a mixture
(privacy.md §0): with probability `gamma` the report is a uniformly random pattern, else it encodes the user's value.
So the blanket is exactly a fake report, and nothing tells the two apart.

Whatever accounting, planner, results and pages need to know of a mechanism they ask the mechanism: a new one is its
own file and a line in `peos.registry`.

Neighbours: one user's value is replaced. Trusted: the user's own device alone.
"""

import hashlib
import operator
import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Self, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from peos.crypto.randomness import U64, Randomness
from peos.crypto.randomness import given as given_rng
from peos.errors import WrongInput
from peos.estimate.frequency import (
    Estimate,
    Frequencies,
    FrequencyOracle,
    estimate_frequencies,
    variance_of_frequency,
)
from peos.ldp.blanket import Blanket
from peos.ldp.members import Floats, Grid, Members
from peos.ldp.reports import Reports, UngroupedReports
from peos.registry import LOCAL_ONLY

Counts = NDArray[np.int64]
MAX_ENUMERABLE: Final = 1 << 24  # beyond, a table of the whole domain no longer fits anywhere


@dataclass(frozen=True)
class Question:
    """Who asks what, and when: it salts the mechanism, so that no two collections share hash functions."""

    analyzer: bytes = b""
    question: str = ""
    epoch: str = ""
    views: bytes = b""  # the digest of what is asked of a record, where that is not one value of a list


UNASKED: Final = Question()
"""The question of a mechanism that is used outside a collection."""


def symbol(parameter: str) -> str:
    """The name of a parameter as formulas have it: d' for d_prime."""
    return parameter.replace("_prime", "'")


def whole_number(value: object, what: str, *, least: int, most: int) -> int:
    """`value` as an int within its range, or one sentence that says what it should have been."""
    try:
        if isinstance(value, bool) or not isinstance(value, SupportsIndex):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        said = f"{what} is a whole number from {least} to {most}, not a {type(value).__name__}"
        raise WrongInput("mechanism.range", said) from None
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


def require_collectable(name: str) -> None:
    """Refuse a mechanism that is for the local model alone."""
    if (kind := LOCAL_ONLY.get(name)) is not None:
        raise no_collection(kind)


def no_collection(kind: "type[Mechanism]") -> WrongInput:
    """Why no collection has it, and what to take."""
    return WrongInput("mechanism.local_only", kind.local_only, hint="ask for sue")


class Mechanism(ABC):
    """A local randomiser over the values 0 … domain − 1, with everything that follows from it.

    Subclasses set `domain`, `words` and `question`, and are immutable. Their class is a family of mechanisms to choose
    from: one for each ε_l and each size, a number that means what the family says (d' of local hashing).
    """

    name: ClassVar[str]  # in documents, and what planners are asked for
    short: ClassVar[str]  # for tables
    local_only: ClassVar[str] = ""  # why no collection may have it
    size_name: ClassVar[str] = ""  # how its size is called, where it may be chosen: d_prime
    size_range: ClassVar[tuple[int, int]] = (0, 0)  # the least and the most that may be chosen
    no_theorem: ClassVar[str] = "no theorem of the thesis is about its reports"  # said where none counts supports
    no_blanket: ClassVar[str] = "nothing is known of it in a shuffle"  # said where exact accounting has nothing
    domain: int  # d: number of values
    words: int  # w: 64-bit words of a report
    question: Question

    @classmethod
    @abstractmethod
    def described(cls) -> str:
        """What each device sends, in a sentence for people who look at a result."""

    @classmethod
    @abstractmethod
    def from_parameters(cls, domain: int, parameters: Mapping[str, int], question: Question = UNASKED) -> Self:
        """The mechanism with these integers, each checked: they may come from another party's document."""

    @classmethod
    @abstractmethod
    def build(cls, domain: int, epsilon: float, size: int = 0) -> "Mechanism":
        """The member of this size that meets ε_l from below; of size 0 the one that is best if nothing is shuffled."""

    @classmethod
    def is_proposed(cls, *, shuffled: bool) -> bool:  # noqa: ARG003 - of use to those that override it
        """Whether it competes where no mechanism is asked for by name."""
        return True

    @classmethod
    def sizes_to_try(cls, domain: int, limit: float) -> NDArray[np.int64]:  # noqa: ARG003 - see above
        """The sizes among which the best for any ε_l up to `limit` is, or one nearly as good; none if it does not fit.

        [0] where there is nothing to choose.
        """
        return np.zeros(1, dtype=np.int64)

    @classmethod
    def grid(cls, domain: int, sizes: NDArray[np.int64], local: Floats) -> Grid | None:  # noqa: ARG003 - see above
        """What accuracy and exact accounting follow from, of each size (a row) at each ε_l; None if it is not known."""
        return None

    @classmethod
    def theorem_members(cls, domain: int, size: int = 0) -> Members | None:  # noqa: ARG003 - see above
        """Every size, or the one that is asked for, as the theorems of the thesis see them; None if none applies."""
        return None

    @property
    @abstractmethod
    def gamma(self) -> Fraction:
        """γ, exactly: the probability that a report is a uniformly random pattern."""

    @property
    def blanket(self) -> Blanket | None:
        """What a shuffle makes of its reports, in numbers for exact accounting; None if nothing is known."""
        return None

    @property
    def theorem_support(self) -> Fraction | None:
        """μ: a uniform word supports any value with at least this probability; None if no theorem counts supports."""
        return None

    @property
    @abstractmethod
    def epsilon_local(self) -> float:
        """ε_l of one report, rounded up: the guarantee if everyone else colludes."""

    @property
    @abstractmethod
    def parameters(self) -> Mapping[str, int]:
        """The integers that, with name and domain, determine the mechanism; the collection document holds them."""

    @property
    def shares(self) -> Floats:
        """Of each group of its reports, the share that it should have; most mechanisms have one group."""
        return np.ones(1)

    def shares_among(self, users: int, fakes: int) -> Floats:  # noqa: ARG002 - of use where they differ
        """The same of users' reports and fakes together, which mostly fall into groups alike."""
        return self.shares

    @property
    def shown(self) -> Mapping[str, int]:
        """The parameters that plans and results show with ε_l."""
        return {}

    def require_asked(self, asked: Sequence[tuple[str, int]]) -> None:
        """Refuse views that its reports cannot answer: of each what it gives (see `View.gives`), and of how many."""
        if [*asked] != [("value", self.domain)]:
            raise WrongInput(
                "mechanism.views",
                f"{self.name} over {self.domain} values answers one question, which has as many answers",
                hint="ask with views that fit the mechanism",
            )

    def gathered(self, answers: Sequence[Any]) -> Any:
        """What `randomize` takes, of what each view gives of the same records."""
        (only,) = answers
        return only

    @abstractmethod
    def randomize(self, values: NDArray[np.int64], rng: Randomness | None = None) -> U64:
        """(n, words): ε_l-private reports of the values."""

    def reports(self, words: U64, users: int, fakes: int) -> Reports:
        """Delivered reports of users and fakes together, to be asked for estimates."""
        return UngroupedReports(self, users, fakes, self.tally(words))

    @abstractmethod
    def tally(self, words: U64) -> Counts:
        """What `estimate` needs of the reports: the tallies of chunks add up to that of all."""

    def steps(self, reports: int) -> float:
        """About how many steps the tally of so many reports takes: between equals a plan takes the fewest."""
        return float(reports) * self.domain

    @abstractmethod
    def estimate(self, tally: Counts, users: int, fakes: int = 0) -> Frequencies:
        """Unbiased frequencies with error bars from the tally of `users` reports and `fakes` uniform ones."""

    @abstractmethod
    def variance(self, users: int, fakes: int = 0, frequency: float = 0.0) -> float:
        """Exact variance of one estimated frequency whose true value is `frequency`."""

    @classmethod
    def deviations(cls, result: Mapping[str, Any], truth: Floats) -> Floats:
        """How many standard errors a published result's estimates, each unbiased, are off from true frequencies."""
        return np.asarray(np.abs(np.asarray(result["frequency"]) - truth) / np.asarray(result["stderr"]))

    def __repr__(self) -> str:
        sizes = "".join(f" {key}={value}" for key, value in self.shown.items())
        return f"<{self.name} domain={self.domain} ε_l={self.epsilon_local:.6g}{sizes}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mechanism) and other.digest == self.digest

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
        fields += [b"views", ask.views] if ask.views else []
        return hashlib.sha256(b"".join(struct.pack(">I", len(field)) + field for field in fields)).digest()

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
        return given_rng(rng)


class PureMechanism(Mechanism):
    """A mechanism whose report supports each value or does not, equally likely for all of them (Wang et al. 2017).

    What its reports come to is how many support each value.
    """

    cells: int  # k: answers that a report tells apart (d; d' for local hashing; 2 for unary, a position's)

    @property
    @abstractmethod
    def oracle(self) -> FrequencyOracle:
        """p, q and u: how likely a report supports its own value, another value, any value if it is uniform."""

    @abstractmethod
    def encode(self, values: NDArray[np.int64], rng: Randomness) -> U64:
        """(n, words): reports that tell the values, uniform among all patterns that do. Not private by themselves."""

    @abstractmethod
    def support_counts(self, words: U64, candidates: NDArray[np.int64] | None = None) -> Counts:
        """How many reports support each candidate, or each value of the domain."""

    def tally(self, words: U64) -> Counts:
        """(domain,): how many reports support each value."""
        return self.support_counts(words)

    def estimate(self, tally: Counts, users: int, fakes: int = 0) -> Estimate:
        """Unbiased frequencies with error bars from the support counts of `users` reports and `fakes` uniform ones."""
        if np.shape(tally) != (self.domain,):
            raise WrongInput("mechanism.counts", f"there is one support count for each of the {self.domain} values")
        return estimate_frequencies(self.oracle, tally, users=users, fakes=fakes)

    def variance(self, users: int, fakes: int = 0, frequency: float = 0.0) -> float:
        """Exact variance of one estimated frequency whose true value is `frequency`."""
        return variance_of_frequency(self.oracle, users=users, fakes=fakes, frequency=frequency)
