"""The figures of a chapter: many of them made in the same way, in one file, each by its name.

python -m experiments.chapter_8 figure_8_4 figure_8_5 [--quick] [--json]     # all, if none is named
"""

import argparse
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from experiments.measuring import mean_of_runs
from experiments.report import DIFFERS, NORMAL_ALPHA, OURS, Result, Row, shortened, statement
from experiments.running import RECORDS, TEXTS, Over, keyed, output, progress, wrong_file
from peos.crypto.randomness import Randomness
from peos.drawing import Line, chart

Work = Callable[[bool, np.random.Generator], Iterator[Row]]
Point = tuple[float, float, float, int]  # x, a mean, its standard error, of so many runs


@dataclass
class Panel:
    """One of a figure's drawings: of each method, points."""

    name: str
    across: str
    _points: dict[str, list[Point]] = field(default_factory=dict)
    _expected: dict[tuple[float, str], float] = field(default_factory=dict)

    def add(self, x: float, method: str, found: float, error: float, runs: int) -> None:
        """A mean at x."""
        self._points.setdefault(method, []).append((x, found, error, runs))

    def put(self, x: float, method: str, found: Sequence[float]) -> None:
        """The mean of runs at x; those without a number are left out of it, and alone they put nothing."""
        known = [value for value in found if not math.isnan(value)]
        if known:
            self.add(x, method, *mean_of_runs(known)[:2], len(found))

    def take(self, x: float, means: Mapping[str, tuple[float, float, int]]) -> None:
        """Those of all methods at x."""
        for method, (found, error, runs) in means.items():
            self.add(x, method, found, error, runs)

    def expect(self, x: float, method: str, value: float) -> None:
        """What a mean has to be."""
        self._expected[x, method] = value

    def points(self, method: str) -> list[Point]:
        """Of a method."""
        return self._points[method]

    def of(self, method: str) -> dict[float, float]:
        """Means by x."""
        return {x: found for x, found, *_ in self._points[method]}

    def at(self, x: float) -> dict[str, float]:
        """Means by method."""
        every = {method: self.of(method) for method in self._points}
        return {method: means[x] for method, means in every.items() if x in means}

    def fall(self, method: str) -> float:
        """The last mean over the first: small where errors fall."""
        means = [found for _, found, *_ in self._points[method]]
        return means[-1] / means[0]

    def ordered(self, x: float, methods: Sequence[str], step: float) -> Row:
        """Whether each errs more than the one before, by the factor `step` at least."""
        means = [self.of(method)[x] for method in methods]
        steps = [after / before for before, after in pairwise(means)]
        return statement(
            f"{self.name}, {self.across} = {x:g}: {' < '.join(methods)}, each step at least {step - 1:.0%}",
            "steps of " + ", ".join(f"{one:.2f}" for one in steps),
            holds=min(steps) >= step,
        )

    def close(self, x: float, methods: Sequence[str], most: float) -> Row:
        """Whether all err the same, to a small part."""
        means = [self.of(method)[x] for method in methods]
        apart = max(means) / min(means) - 1
        return statement(
            f"{self.name}, {self.across} = {x:g}: {' = '.join(methods)}, within {most:.0%}",
            f"{apart:.1%} apart",
            holds=apart <= most,
        )

    def rows(self) -> Iterator[Row]:
        """Every point; where something is expected, held against that."""
        for method, points in self._points.items():
            for x, found, error, runs in points:
                expected = self._expected.get((x, method))
                off = expected is not None and abs(found - expected) > NORMAL_ALPHA * error
                yield {
                    "what": f"{self.name}, {method}, {self.across} = {x:g}",
                    "panel": self.name,
                    "across": self.across,
                    "method": method,
                    "x": x,
                    "measured": shortened(found, 4),
                    "stderr": shortened(error, 2),
                    "expected": shortened(expected, 4),
                    "repeats": runs,
                    "verdict": DIFFERS if off else OURS,
                    "why": "",
                }


class Means:
    """Of each panel, x and method: what the runs had."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, float, str], list[float]] = {}

    def add(self, panel: str, x: float, method: str, value: float) -> None:
        """One run's; no number where it found nothing to measure."""
        self._found.setdefault((panel, x, method), []).append(value)

    def panels(self, across: str) -> dict[str, Panel]:
        """All drawings."""
        return {name: self.panel(name, across) for name in dict.fromkeys(name for name, *_ in self._found)}

    def medians(self, name: str, across: str) -> Panel:
        """As a drawing, of the middle run and not of their mean."""
        panel = Panel(name, across)
        for (of, x, method), values in self._found.items():
            if of == name:
                panel.put(x, method, [float(np.nanmedian(values))])
        return panel

    def panel(self, name: str, across: str) -> Panel:
        """As a drawing."""
        panel = Panel(name, across)
        for (of, x, method), values in self._found.items():
            if of == name:
                panel.put(x, method, values)
        return panel


@dataclass(frozen=True)
class Figure:
    """One of a chapter's figures or tables."""

    name: str
    paper: str
    rows: Callable[[bool, Randomness], Iterator[Row]]
    notes: Callable[[bool], tuple[str, ...]]
    down: str

    def run(self, quick: bool, rng: Randomness) -> Result:
        """Its rows."""
        return Result(self.name, self.paper, tuple(self.rows(quick, rng)), self.notes(quick))

    def drawn(self, result: Result) -> str:
        """The drawing; a table has none."""
        return draw(result, self.down) if self.down else ""


def figures(
    chapter: str,
    works: Mapping[str, tuple[Work, str, str]],
    notes: Mapping[str, Callable[[bool], tuple[str, ...]]],
    *,
    quick_sentences: bool = True,
) -> dict[str, Figure]:
    """Of each name what makes its rows, what it is called and what its drawing has upwards; and the notes on it.

    A quick look leaves out what is said of the figures where a few runs of few users cannot show it.
    """

    def rows(work: Work, quick: bool, rng: Randomness) -> Iterator[Row]:
        progress(f"{chapter}: {work.__name__}")
        every = work(quick, np.random.default_rng(int.from_bytes(rng.bytes(16))))
        return (row for row in every if quick_sentences or not quick or "found" not in row)

    return {
        name: Figure(name, paper, partial(rows, work), notes[name], down) for name, (work, paper, down) in works.items()
    }


def draw(result: Result, down: str) -> str:
    """The first panel, by the size of what it shows."""
    rows = [row for row in result.rows if "panel" in row]
    rows = [row for row in rows if row["panel"] == rows[0]["panel"] and row["measured"] and row["x"] > 0]
    lines = [
        Line(method, tuple((row["x"], abs(row["measured"])) for row in rows if row["method"] == method))
        for method in dict.fromkeys(row["method"] for row in rows)
    ]
    return chart(f"{result.paper}: {rows[0]['panel']}", rows[0]["across"], down, lines)


def main(
    chapter: str,
    figures: Mapping[str, Figure],
    arguments: Sequence[str] | None = None,
    *,
    over: Mapping[str, Over] | None = None,
    form: str = TEXTS,
) -> int:
    """Make those that are named; 0 if all agrees or is explained. In full, also their JSON and drawings.

    Those of `over` may be made of a file of such a `form` in place of a stand-in, and then nothing is written.
    """
    parser = argparse.ArgumentParser(prog=f"python -m experiments.{chapter}", description=f"figures of {chapter}")
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=f"one of {', '.join(figures)}; or all")
    parser.add_argument("--quick", action="store_true", help="few runs; nothing is written")
    parser.add_argument("--json", action="store_true", help="the results as JSON on standard output")
    if over:
        parser.add_argument("--records", type=Path, help=f"{RECORDS.format(form)}; for {', '.join(over)}")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.figures if name not in figures]
    if unknown:
        parser.error(f"{unknown[0]} is none of {', '.join(figures)}")
    if over and given.records:
        if others := [name for name in given.figures if name not in over]:
            parser.error(f"--records is for {', '.join(over)}, not for {others[0]}")
        for name in given.figures or over:
            with wrong_file(parser, given.records, form):
                output(over[name](given.records, given.quick, keyed(name)), "", as_json=given.json, keep=False)
        return 0
    agree = True
    for name in given.figures or figures:
        figure = figures[name]
        result = figure.run(given.quick, keyed(name))
        drawn = "" if given.quick else figure.drawn(result)
        output(result, drawn, as_json=given.json, keep=not given.quick)
        agree = agree and result.agree
    return 0 if agree else 1
