"""A question's epochs next to each other: a line a value, with its estimate and interval in each; what each cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from analyzer.report.formatting import moment, percentage, places_for, whole
from analyzer.report.values import Selection
from peos.errors import WrongInput
from peos.privacy.guarantees import rounded_up
from peos.tabular import epsilons

_KEPT: Final = ("digest", "collection", "users", "frequency", "stderr", "interval95", "significant", "guarantees")
_MOST_PLACES: Final = 2
_PITCH: Final = 9  # pixels from epoch to epoch in a line's drawing


@dataclass(frozen=True)
class Epoch:
    """A collection of the question: when, of how many, and its ε_c, ε_s and ε_l."""

    title: str
    published: str
    users: str
    epsilons: tuple[str, ...]


@dataclass(frozen=True)
class Estimated:
    """A value in one epoch: in words, and its places in per cent of the drawing's width and in pixels from its top."""

    share: str
    low: str
    high: str
    is_found: bool
    at: str
    start: str
    end: str
    down: int


@dataclass(frozen=True)
class Comparison:
    """The epochs in the order of their publication, and each value in all of them."""

    epochs: tuple[Epoch, ...]
    lines: tuple[tuple[str, tuple[Estimated, ...]], ...]
    zero: str
    height: int


def compared(found: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What a page shows of the others; WrongInput if one asked something else."""
    about = found.get("collection") or {}
    for other in others:
        beside = other.get("collection") or {}
        if beside.get("question") != about.get("question") or other["labels"] != found["labels"]:
            raise WrongInput(
                "result.other_question",
                f"{beside.get('question', 'a collection')!r} is not the same question with the same values",
                hint="compare collections of one question, asked in several epochs",
            )
    return [{name: other.get(name) for name in _KEPT} for other in others if other["digest"] != found["digest"]]


def comparison(found: Mapping[str, Any], selection: Selection) -> Comparison | None:
    """This result and those that it is compared with; None if there are none."""
    if not found.get("compared"):
        return None
    every = sorted([found, *found["compared"]], key=lambda one: (one.get("collection") or {}).get("published_at") or 0)
    places = min(places_for(error for one in every for error in one["stderr"]), _MOST_PLACES)
    rows = [list(map(str, found["labels"])).index(value.label) for value in selection.shown]
    ends = [end for one in every for row in rows for end in one["interval95"][row]]
    low, high = min(0.0, *ends), max(0.0, *ends)
    span = max(high - low, 1e-9)

    def at(share: float) -> str:
        return f"{100 * (share - low) / span:.2f}%"

    def estimated(one: Mapping[str, Any], row: int, number: int) -> Estimated:
        shares = (one["frequency"][row], *one["interval95"][row])
        (share, low, high), (middle, start, end) = [percentage(each, places) for each in shares], map(at, shares)
        is_found = bool(one.get("significant") and one["significant"][row])
        return Estimated(share, low, high, is_found, middle, start, end, _PITCH * number + _PITCH // 2 + 1)

    lines = tuple(
        (value.label, tuple(estimated(one, row, number) for number, one in enumerate(every)))
        for value, row in zip(selection.shown, rows, strict=True)
    )
    return Comparison(tuple(map(_epoch, every)), lines, at(0.0), _PITCH * len(every) + 2)


def _epoch(one: Mapping[str, Any]) -> Epoch:
    about = one.get("collection") or {}
    published = moment(about.get("published_at"))
    cost = tuple(map(rounded_up, epsilons(one["guarantees"])))
    return Epoch(about.get("epoch") or published, published, whole(one["users"]), cost)
