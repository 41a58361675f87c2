"""What a method of post-processing is, and what comes of one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peos.estimate.frequency import Estimate, called
from peos.tabular import Rows, Tabular

Floats = NDArray[np.float64]
Changed = tuple[Floats, tuple[str, ...]]

OF_THE_RAW: Final = (
    "Standard errors, intervals and what is found are of the raw estimates, and none is claimed for the others"
)
"""Said wherever estimates are shown with what post-processing makes of them."""


@dataclass(frozen=True)
class Method:
    """A method, and what holds of every vector that comes of it."""

    name: str
    about: str  # what it does to the estimates, in a clause
    apply: Callable[..., Changed]  # of an Estimate and the options: the frequencies, and notes on them
    nonnegative: bool
    sums_to_one: bool
    monotone: bool = True  # a larger estimate never becomes the smaller frequency
    options: tuple[str, ...] = ()
    answers_queries: bool = False  # about sets of values: what comes of it is an answer a set, not a number a value


@dataclass(frozen=True, eq=False, repr=False)
class PostProcessed(Tabular):
    """Frequencies after a method, and what it promises of them. They have no intervals: those of the raw ones hold."""

    frequency: Floats
    method: str
    sums_to_one: bool
    nonnegative: bool
    monotone: bool
    notes: tuple[str, ...]
    is_of_sets: bool = False

    @property
    def summary(self) -> str:
        """How many, after which method, and what that noted."""
        of = "sets" if self.is_of_sets else "values"
        return "; ".join(
            (f"frequencies of {len(self.frequency):,} {of} after {self.method}, no intervals", *self.notes)
        )

    def rows(self, labels: Sequence[str] | None = None) -> Rows:
        """A row a value, by its label where they are given, or a row a set."""
        named = called(labels, len(self.frequency), "set" if self.is_of_sets else "value")
        return Rows(self.summary, {**named, "frequency": self.frequency.tolist()})


def of_frequencies(rule: Callable[[Floats], Floats]) -> Callable[..., Changed]:
    """A method that needs nothing but the frequencies, and has nothing to say."""

    def apply(estimate: Estimate, **_: Any) -> Changed:
        return rule(estimate.frequency), ()

    return apply
