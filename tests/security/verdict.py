"""What a run of an attack proves: bounds of the adversary's advantage, exact and one-sided (Clopper and Pearson 1934).

An attack fails if the upper bound of its advantage is under 0.05, and succeeds if the lower bound is over 0.5, each at
99.9 %. A bound is never an approximation: a run too short to show anything
cannot pass as a failed attack, since its upper bound stays high.
"""

import sys
from dataclasses import dataclass
from typing import Final

from scipy.stats import beta

CONFIDENCE: Final = 0.999
FAILS_UNDER: Final = 0.05
SUCCEEDS_OVER: Final = 0.5


def upper_bound(hits: int, trials: int, confidence: float = CONFIDENCE) -> float:
    """What a probability is at most, given `hits` of `trials`."""
    return 1.0 if hits == trials else float(beta.ppf(confidence, hits + 1, trials - hits))


def lower_bound(hits: int, trials: int, confidence: float = CONFIDENCE) -> float:
    """What a probability is at least, given `hits` of `trials`."""
    return 0.0 if hits == 0 else float(beta.ppf(1 - confidence, hits, trials - hits + 1))


@dataclass(frozen=True)
class Verdict:
    """An advantage between −1 and 1 and its bounds, each of which holds with 99.9 %."""

    attack: str
    advantage: float
    lower: float
    upper: float
    evidence: str

    def __str__(self) -> str:
        return (
            f"{self.attack}: {self.evidence}; advantage {self.advantage:+.4f}, "
            f"at 99.9 % no less than {self.lower:+.4f} and no more than {self.upper:+.4f}"
        )

    def assert_fails(self) -> None:
        """The attack is shown to gain less than 0.05."""
        sys.stdout.write(f"{self}\n")
        assert self.upper < FAILS_UNDER, f"not shown to fail: {self}"

    def assert_succeeds(self) -> None:
        """The attack is shown to gain more than 0.5."""
        sys.stdout.write(f"{self}\n")
        assert self.lower > SUCCEEDS_OVER, f"not shown to succeed: {self}"


def of_guesses(attack: str, correct: int, trials: int, *, choices: float = 2) -> Verdict:
    """The adversary guesses one of so many equally likely answers in each trial; guessing blindly has advantage 0."""

    def scaled(probability: float) -> float:
        return (probability - 1 / choices) / (1 - 1 / choices)

    return Verdict(
        attack,
        scaled(correct / trials),
        scaled(lower_bound(correct, trials)),
        scaled(upper_bound(correct, trials)),
        f"{correct} of {trials} right, one of {choices:g} answers each",
    )


def of_rate(attack: str, hits: int, trials: int, what: str) -> Verdict:
    """The adversary either gets what it wants in a trial or does not; without an attack it never would."""
    lower, upper = lower_bound(hits, trials), upper_bound(hits, trials)
    return Verdict(attack, hits / trials, lower, upper, f"{hits} of {trials} {what}")


def of_flags(attack: str, true_flags: int, positives: int, false_flags: int, negatives: int) -> Verdict:
    """The adversary flags; its advantage is the rate of true flags less that of false ones.

    Each rate gets half of the error, so that both bounds together hold at the confidence of one.
    """
    each = 1 - (1 - CONFIDENCE) / 2
    return Verdict(
        attack,
        true_flags / positives - false_flags / negatives,
        lower_bound(true_flags, positives, each) - upper_bound(false_flags, negatives, each),
        upper_bound(true_flags, positives, each) - lower_bound(false_flags, negatives, each),
        f"{true_flags} of {positives} flagged rightly, {false_flags} of {negatives} wrongly",
    )
