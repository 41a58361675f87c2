"""What an experiment hands over: rows that compare, a verdict for each, and the JSON that scripts read.

A printed number *agrees* if it lies within its own rounding and Monte-Carlo error, and ours, of what was measured. It
is *explained* if it does not, an erratum or a stated difference says what else to expect, and what was measured is
that. Everything else *differs*, a measurement that contradicts our own variance first of all. `agree` of the whole is
that nothing differs.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from scipy.special import ndtri

from experiments.measuring import Measurement
from experiments.populations import DataSet

ALPHA: Final = 1e-6
NORMAL_ALPHA: Final = float(ndtri(1 - ALPHA / 2))
PRINTED_REPEATS: Final = 100
"""Thesis §9.6.1: every experiment is repeated 100 times."""

AGREES: Final = "agrees"
EXPLAINED: Final = "explained"
DIFFERS: Final = "differs"
OURS: Final = "ours"

RESULTS: Final = Path(__file__).parent / "results"

Row = dict[str, Any]


@dataclass(frozen=True)
class Result:
    """One experiment: rows in the order of the page."""

    name: str
    paper: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...]

    @property
    def agree(self) -> bool:
        """Whether nothing differs that is not explained."""
        return all(row["verdict"] != DIFFERS for row in self.rows)

    def to_json(self) -> dict[str, object]:
        """These five names stay."""
        return {
            "name": self.name,
            "paper": self.paper,
            "rows": list(self.rows),
            "agree": self.agree,
            "notes": list(self.notes),
        }

    def text(self) -> str:
        """The JSON as it is kept."""
        return json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n"


def shortened(value: float | None, digits: int = 5) -> float | None:
    """A number with as many digits as a reader can use."""
    return None if value is None else float(f"{value:.{digits}g}")


def half_a_digit(printed: float) -> float:
    """Half of the last of three significant digits."""
    return 0.5 * 10.0 ** (math.floor(math.log10(abs(printed))) - 2)


def within(printed: float, found: float, stderr: float, data: DataSet) -> bool:
    """Whether a printed mean over `data.domain` values and 100 repeats and a found one may be the same, at ALPHA."""
    theirs = printed * math.sqrt(2 / (data.domain * PRINTED_REPEATS))
    return abs(printed - found) <= NORMAL_ALPHA * math.hypot(theirs, stderr) + half_a_digit(printed)


def as_expected(measured: Measurement) -> bool:
    """Whether a measured mean is the one that the variance says, at ALPHA."""
    return abs(measured.mse - measured.expected) <= NORMAL_ALPHA * measured.stderr + 1e-12 * measured.expected


def number(
    what: str,
    measured: Measurement,
    data: DataSet,
    *,
    printed: float | None = None,
    formula: float | None = None,
    quick: bool = False,
    instead: float | None = None,
    why: str = "",
    note: str = "",
    **more: object,
) -> Row:
    """A measured MSE, held against its expectation and against the printed one, if there is one.

    `formula` is the expectation at the full size of the data set: in a quick run, on few users, it stands in for the
    measurement. `instead` is what to expect in place of the printed number, and `why`; `note` is said in any case.
    """
    found, stderr = (measured.mse, measured.stderr) if not quick else (formula, 0.0)
    if not as_expected(measured):
        verdict = DIFFERS
    elif printed is None:
        verdict = OURS
    elif found is not None and within(printed, found, stderr, data):
        verdict = AGREES
    else:
        explained = why and instead is not None and found is not None and within(instead, found, stderr, data)
        verdict = EXPLAINED if explained else DIFFERS
    return {
        "what": what,
        "printed": printed,
        "formula": shortened(formula),
        "measured": shortened(measured.mse),
        "stderr": shortened(measured.stderr, 2),
        "deviation": shortened(measured.deviation, 2),
        "expected": shortened(measured.expected),
        "repeats": measured.repeats,
        "verdict": verdict,
        "why": "; ".join(filter(None, (note, why if verdict == EXPLAINED else ""))),
        **more,
    }


def integer(what: str, printed: int, found: int, why: str = "", **more: object) -> Row:
    """A printed whole number."""
    verdict = AGREES if printed == found else DIFFERS
    return {"what": what, "printed": printed, "measured": found, "verdict": verdict, "why": why, **more}


def statement(what: str, found: str, *, holds: bool, erratum: str = "", instead: bool = True) -> Row:
    """A sentence of the paper; with an erratum it is expected not to hold, and what the erratum says `instead` to."""
    expected = not erratum
    verdict = DIFFERS if holds != expected or not instead else AGREES if holds else EXPLAINED
    return {"what": what, "found": found, "verdict": verdict, "why": erratum}
