"""Which values the page shows: the largest estimates first, as every table of the project lists them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from analyzer.report.formatting import FOUND, percentage, places_for

SHOWN: Final = 30  # as many bars as fit one sheet under the heading; result.json has every value
_PLACES: Final = 5  # at most, so that a row fits a phone
_PLACES_BESIDE_TRUTH: Final = 3
_IN_THE_HEADLINE: Final = 3
_COARSE: Final = (0.005, 0.0005)  # standard errors below which another digit of a percentage says something


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
class Headline:
    """A value and its share in one line; whatever noise says, the truth lies between 0 and 100 %."""

    label: str
    share: str
    low: str
    high: str

    @classmethod
    def of(cls, value: Value, places: int) -> "Headline":
        """With so many digits after the point."""
        ends = (value.frequency, value.low, value.high)
        return cls(value.label, *(percentage(min(max(share, 0.0), 1.0), places) for share in ends))


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

    @property
    def headline(self) -> tuple["Headline", ...]:
        """The most frequent of those found, with as few digits as their errors leave sense to, within 0 and 100 %."""
        best = [value for value in self.shown if value.found][:_IN_THE_HEADLINE]
        error = min((value.stderr for value in best), default=1.0)
        places = sum(error < coarse for coarse in _COARSE)
        return tuple(Headline.of(value, places) for value in best)

    @property
    def is_beyond(self) -> bool:
        """Whether noise carried a share that is shown below 0 or above 1."""
        return any(value.frequency < 0 or value.frequency > 1 for value in self.shown)

    @property
    def domain(self) -> int:
        """All values, shown or not."""
        return len(self.shown) + self.left_out

    @property
    def has_truth(self) -> bool:
        """Whether the users were made up."""
        return self.shown[0].truth is not None


def select(found: Mapping[str, Any]) -> Selection:
    """The largest estimates, of equals the first of the question."""
    truths: Sequence[float | None] = found["truth"] or [None] * len(found["labels"])
    significant: Sequence[bool | None] = found.get("significant") or [None] * len(found["labels"])
    processed = (found.get("post_processed") or {}).get("frequency", [None] * len(found["labels"]))
    of_raw = (found["labels"], found["frequency"], found["stderr"], found["interval95"])
    values = [
        Value(str(label), frequency, stderr, low, high, *beside)
        for label, frequency, stderr, (low, high), *beside in zip(*of_raw, truths, processed, significant, strict=True)
    ]
    ordered = sorted(values, key=lambda value: -value.frequency)
    shown, rest = ordered[:SHOWN], ordered[SHOWN:]
    return Selection(
        shown=tuple(shown),
        left_out=len(rest),
        largest_left=rest[0].frequency if rest else 0.0,
        found_left=sum(bool(value.found) for value in rest),
        found=None if significant and significant[0] is None else sum(bool(value.found) for value in values),
        typical_error=median(value.stderr for value in values),
        places=min(places_for(value.stderr for value in values), _PLACES_BESIDE_TRUTH if found["truth"] else _PLACES),
    )
