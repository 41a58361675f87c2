"""Which values the page shows, largest estimates first if they are too many."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from analyzer.report.formatting import FOUND, places_for

SHOWN: Final = 30  # as many bars as fit one sheet under the heading; result.json has every value
_PLACES: Final = 5  # at most, so that a row fits a phone
_PLACES_BESIDE_TRUTH: Final = 3


@dataclass(frozen=True)
class Value:
    """One possible answer and what was found of it, as shares of the users."""

    label: str
    frequency: float
    stderr: float
    low: float
    high: float
    truth: float | None
    processed: float | None  # after post-processing, if there was any
    found: bool | None  # whether noise alone would hardly give it so many supports; None where it was not looked at

    @property
    def numbers(self) -> tuple[float, ...]:
        """A row of the table: at its end the truth if it is known, and what post-processing made of the estimate."""
        row = (self.frequency, self.stderr, self.low, self.high, self.truth, self.processed)
        return tuple(number for number in row if number is not None)

    @property
    def found_in_words(self) -> str:
        """As tables say it."""
        return FOUND[self.found]


@dataclass(frozen=True)
class Selection:
    """The values shown, and a sentence about the rest."""

    shown: tuple[Value, ...]
    left_out: int
    largest_left: float
    found_left: int
    found: int | None
    typical_error: float
    places: int
    is_found: bool  # by a study, and no list that was asked

    @property
    def is_of_the_question(self) -> bool:
        """Whether all values of a list are shown, as it has them; what a study found is in its own order."""
        return not (self.left_out or self.is_found)

    @property
    def domain(self) -> int:
        """All values, shown or not."""
        return len(self.shown) + self.left_out

    @property
    def has_truth(self) -> bool:
        """Whether the users were made up."""
        return self.shown[0].truth is not None


def select(found: Mapping[str, Any]) -> Selection:
    """All values in their own order, or the largest estimates if there are too many."""
    truths: Sequence[float | None] = found["truth"] or [None] * len(found["labels"])
    significant: Sequence[bool | None] = found.get("significant") or [None] * len(found["labels"])
    processed = (found.get("post_processed") or {}).get("frequency", [None] * len(found["labels"]))
    of_raw = (found["labels"], found["frequency"], found["stderr"], found["interval95"])
    values = [
        Value(str(label), frequency, stderr, low, high, *beside)
        for label, frequency, stderr, (low, high), *beside in zip(*of_raw, truths, processed, significant, strict=True)
    ]
    shown, rest = values, []
    if len(values) > SHOWN:
        ordered = sorted(values, key=lambda value: -value.frequency)
        shown, rest = ordered[:SHOWN], ordered[SHOWN:]
    return Selection(
        is_found=bool(found.get("task")),
        shown=tuple(shown),
        left_out=len(rest),
        largest_left=rest[0].frequency if rest else 0.0,
        found_left=sum(bool(value.found) for value in rest),
        found=None if significant and significant[0] is None else sum(bool(value.found) for value in values),
        typical_error=median(value.stderr for value in values),
        places=min(places_for(value.stderr for value in values), _PLACES_BESIDE_TRUTH if found["truth"] else _PLACES),
    )
