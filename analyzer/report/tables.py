"""Tables of a study's answer on its page: one attribute as a list, two as a map whose shade is the share of users."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from analyzer.report.formatting import percentage, places_for

SHADES: Final = 8  # page.css has a look for each
_MOST_PLACES: Final = 3


@dataclass(frozen=True)
class Cell:
    """An estimate with its standard error, in percentages, and how dark it is drawn."""

    share: str
    error: str
    shade: int


@dataclass(frozen=True)
class Shown:
    """A table with a line for each cell of its first attribute."""

    title: str
    head: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Cell, ...]], ...]
    note: str


def tables(found: Mapping[str, Any]) -> list[Shown]:
    """Those of one or two attributes that an answer has, in its order."""
    return [_shown(one) for one in found.get("tables", ()) if 1 <= len(one["attributes"]) <= 2]


def _shown(one: Mapping[str, Any]) -> Shown:
    attributes, cells = list(map(str, one["attributes"])), one["cells"]
    is_map = len(attributes) == 2
    shares = one["frequency"] if is_map else [[share] for share in one["frequency"]]
    errors = one["stderr"] if is_map else [[error] for error in one["stderr"]]
    every = [error for line in errors for error in line]
    places = min(places_for(every), _MOST_PLACES)
    most = max((share for line in shares for share in line), default=0.0)
    head = (attributes[0], *map(str, cells[1])) if is_map else (attributes[0], "Share, %")
    lines = [
        (str(label), tuple(_cell(share, error, most, places) for share, error in zip(row, of_row, strict=True)))
        for label, row, of_row in zip(cells[0], shares, errors, strict=True)
    ]
    return Shown(" by ".join(attributes), head, tuple(lines), _note(one))


def _cell(share: float, error: float, most: float, places: int) -> Cell:
    shade = round((SHADES - 1) * share / most) if most > 0 else 0
    return Cell(percentage(share, places), percentage(error, places), max(0, min(SHADES - 1, shade)))


def _note(one: Mapping[str, Any]) -> str:
    notes = ["Standard errors are simulated from the model that was fitted."] * (one.get("errors") == "simulated")
    notes += ["No table that was asked has these attributes together."] * (not one.get("covered", True))
    return " ".join(notes)
