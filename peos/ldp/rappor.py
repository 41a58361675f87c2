"""RAPPOR (Erlingsson, Pihur, Korolova 2014): a Bloom filter of the value, each of its bits flipped or not.

Bit i of k is field i of b bits, as in `peos.ldp.fields`; the s bits behind the fields are the cohort, which decides the
m hash functions. The fields of the bits that the value sets are redrawn, so a uniform word is the report of an empty
filter, and fakes raise every bit alike. Two values change up to 2m bits, ε_l = 2m·ln((1 − q)/q): reports have more than
two levels, and nothing beyond ε_l is claimed. The permanent response of the literature is what a client's memory is:
one report for each question. Neighbours: one user's value is replaced. Trusted: her device alone.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from peos.crypto.randomness import U64, Randomness
from peos.errors import WrongInput
from peos.estimate.bits import BitFrequencies, fit
from peos.estimate.frequency import Floats
from peos.estimate.lasso import Design
from peos.ldp.base import UNASKED, Counts, Mechanism, Question, checked_parameters, whole_number
from peos.ldp.filters import bit_of, design_of
from peos.ldp.mixture import checked_epsilon, logarithm_up
from peos.ldp.sue import MAX_FIELD_BITS, SUE, frugal_field_bits, smallest_tau

MAX_DOMAIN: Final = 1 << 20
_RANGES: Final = {
    "tau": (1, 2 ** (MAX_FIELD_BITS - 1) - 1),
    "field_bits": (2, MAX_FIELD_BITS),
    "bits": (2, 1 << 16),
    "hashes": (1, 16),
    "cohorts": (1, 1 << 10),
}


class RAPPOR(Mechanism):
    """A filter's bits of ones with probability 1 − q if its value sets them, else q = τ/2^b.

    `epsilon` is met from below, by the smallest τ that keeps to it. Without `field_bits`, b is the smallest that comes
    within 5 % of the best variance, as for SUE.
    """

    name = "rappor"
    short = "RAPPOR"
    no_theorem = no_blanket = (
        "a report tells several bits at once, and what a shuffle makes of more than two levels is not known here"
    )

    def __init__(
        self,
        domain: int,
        epsilon: float,
        bits: int = 128,
        hashes: int = 2,
        cohorts: int = 16,
        field_bits: int | None = None,
        *,
        question: Question = UNASKED,
    ) -> None:
        asked, m = checked_epsilon(epsilon), _within("hashes", hashes)
        exponent = Fraction(asked) / (2 * m)
        b = frugal_field_bits(exponent) if field_bits is None else _within("field_bits", field_bits)
        τ = smallest_tau(exponent, b)
        if τ >= 2 ** (b - 1):
            raise WrongInput(
                "mechanism.fields",
                f"fields of {b} bits cannot keep epsilon to {asked} with {m} hash functions",
                hint="use wider fields, up to 16 bits" if b < MAX_FIELD_BITS else "ask for a larger epsilon",
            )
        self._set(domain, {"tau": τ, "field_bits": b, "bits": bits, "hashes": m, "cohorts": cohorts}, question)

    @classmethod
    def described(cls) -> str:
        """A filter, and its bits."""
        return (
            f"{cls.short} ({cls.name}): each device sends the bits that a few hash functions make of the user's "
            "answer, each of them flipped with a fixed probability; the values are fitted to the bits together, and "
            "an interval goes from nothing to what a value's bits allow"
        )

    @classmethod
    def build(cls, domain: int, epsilon: float, size: int = 0) -> "RAPPOR":  # noqa: ARG003 - it has none
        """With the filter of the literature: 128 bits, two hash functions, 16 cohorts."""
        return cls(domain, epsilon)

    @classmethod
    def is_proposed(cls, *, shuffled: bool) -> bool:  # noqa: ARG003 - never
        """No: values share bits, so that other mechanisms are more exact, and claim more."""
        return False

    @classmethod
    def from_parameters(cls, domain: int, parameters: Mapping[str, int], question: Question = UNASKED) -> Self:
        """The mechanism that a document describes by {"tau", "field_bits", "bits", "hashes", "cohorts"}."""
        mechanism = cls.__new__(cls)
        mechanism._set(domain, checked_parameters(cls.name, parameters, _RANGES), question)
        return mechanism

    def _set(self, domain: object, given: Mapping[str, int], question: Question) -> None:
        self.domain = whole_number(domain, "the domain of RAPPOR", least=2, most=MAX_DOMAIN)
        self.bits, self.hashes, self.cohorts = (_within(key, given[key]) for key in ("bits", "hashes", "cohorts"))
        if self.cohorts & self.cohorts - 1:
            raise WrongInput("mechanism.range", f"the number of cohorts is a power of two, not {self.cohorts}")
        own = {name: given[name] for name in ("tau", "field_bits")}
        self.question, self._fields = question, SUE.from_parameters(self.bits, own)
        self._cohort_bits = self.cohorts.bit_length() - 1
        checked_epsilon(self.epsilon_local)
        self.words = -(-(self.bits * self._fields.field_bits + self._cohort_bits) // 64)

    @property
    def flipped(self) -> Fraction:
        """q = τ/2^b: half of the f of the literature."""
        return self._fields.share

    @property
    def gamma(self) -> Fraction:
        """(τ/(2^b − τ))^m at least: every field that is redrawn may as well have been a uniform one."""
        return self._fields.gamma**self.hashes

    @property
    def epsilon_local(self) -> float:
        """2m·ln((1 − q)/q), rounded up; less where hash functions coincide."""
        return logarithm_up(((1 - self.flipped) / self.flipped) ** (2 * self.hashes))

    @property
    def parameters(self) -> Mapping[str, int]:
        """{"tau": τ, "field_bits": b, "bits": k, "hashes": m, "cohorts": 2^s}."""
        return {**self._fields.parameters, **self.shown}

    @property
    def shown(self) -> Mapping[str, int]:
        """{"bits": k, "hashes": m, "cohorts": 2^s}."""
        return {"bits": self.bits, "hashes": self.hashes, "cohorts": self.cohorts}

    @cached_property
    def design(self) -> Design:
        """Which value sets which bit of which cohort."""
        return design_of(self.domain, **self.shown)

    def randomize(self, values: NDArray[np.int64], rng: Randomness | None = None) -> U64:
        """(n, w): ε_l-private reports; protocol.md §2."""
        rng = self._rng(rng)
        values = self._values(values)
        words = rng.uint64((len(values), self.words))
        cohorts = self.cohorts_of(words)
        for number in range(self.hashes):
            own = self._fields.drawn(len(values), rng)
            self._fields.redraw(words, bit_of(cohorts, number, values, self.bits), own)
        return words

    def cohorts_of(self, words: U64) -> NDArray[np.int64]:
        """(n,): the cohort of each report, the s bits behind its fields; every pattern has one."""
        words = self._words(words)
        word, offset = divmod(self.bits * self._fields.field_bits, 64)
        if not self._cohort_bits:
            return np.zeros(len(words), dtype=np.int64)
        found = words[:, word] >> np.uint64(offset)
        if offset + self._cohort_bits > 64:
            found = found | words[:, word + 1] << np.uint64(64 - offset)
        return (found & np.uint64(self.cohorts - 1)).astype(np.int64)

    def decode(self, words: U64) -> NDArray[np.bool_]:
        """(n, k): the bits of each report."""
        return self._fields.decode(self._words(words)[:, : self._fields.words])

    def tally(self, words: U64) -> Counts:
        """(cohorts, k + 1): how often each bit is set in each cohort, and last how many reports the cohort has."""
        cohorts = self.cohorts_of(words)
        counts = np.zeros((self.cohorts, self.bits + 1), dtype=np.int64)
        for cohort in range(self.cohorts):
            own = words[cohorts == cohort][:, : self._fields.words]
            counts[cohort, :-1] = self._fields.support_counts(np.ascontiguousarray(own))
            counts[cohort, -1] = len(own)
        return counts

    def estimate(self, tally: Counts, users: int, fakes: int = 0) -> BitFrequencies:
        """Every bit's frequency, unbiased, and those of the values that explain them, fitted together."""
        if np.shape(tally) != (self.cohorts, self.bits + 1):
            raise WrongInput("mechanism.counts", f"for each cohort there are counts of {self.bits} bits and of reports")
        q = float(self.flipped)
        return fit(self.design, np.asarray(tally), 1 - q, q, users=users, fakes=fakes, together=self.hashes)

    def variance(self, users: int, fakes: int = 0, frequency: float = 0.0) -> float:  # noqa: ARG002 - p + q = 1
        """Of a value that shares no bits, estimated by its own bits: (n + n_r)q(1 − q)/(m n²(1 − 2q)²)."""
        q = float(self.flipped)
        return (users + fakes) * q * (1 - q) / (self.hashes * (users * (1 - 2 * q)) ** 2)

    @classmethod
    def deviations(cls, result: Mapping[str, Any], truth: Floats) -> Floats:
        """Of every bit, as values are fitted to them."""
        bits, shown = result["bits"], result["parameters"]["mechanism_parameters"]
        expected = design_of(len(truth), **shown).matrix @ truth
        return np.asarray(np.abs(np.ravel(bits["frequency"]) - expected) / np.ravel(bits["stderr"]))


def _within(key: str, value: object) -> int:
    least, most = _RANGES[key]
    return whole_number(value, key, least=least, most=most)
