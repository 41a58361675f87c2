"""docs/reproduction.md, from the results that are kept: `python -m experiments.page` writes it anew."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from experiments.report import AGREES, DIFFERS, EXPLAINED, OURS, RESULTS, Row

PAGE: Final = Path(__file__).parent.parent / "docs" / "reproduction.md"
CHAPTERS: Final = {
    "chapter_3": ("table_3_2", *(f"figure_3_{at}" for at in range(2, 6))),
    "chapter_4": ("table_4_1", "table_4_2", "table_4_3", *(f"figure_4_{at}" for at in range(2, 7))),
    "chapter_5": ("table_5_1", "table_5_2", *(f"figure_5_{at}" for at in range(3, 9)), "shuffled_items"),
    "chapter_8": tuple(f"figure_8_{at}" for at in range(2, 11)),
}
"""Results that one command makes several of."""
PAPERS: Final = {
    "chapter_6": ("figure_6_4", "figure_6_5", "figure_6_6"),
    "chapter_6_tables": tuple(f"figure_6_{at}" for at in (7, 8, 9)),
    "chapter_7": tuple(f"figure_7_{at}" for at in range(3, 8)),
    "chapter_7_relative": (*(f"figure_7_{at}" for at in range(8, 11)), "table_7_2", "table_7_3"),
    "release": tuple(f"release_{at}" for at in (4, 5, 6, 7, 8, 10)),
    "multi_service": ("multi_service_6", "multi_service_7", "multi_service_table_2"),
    "multi_service_joins": ("multi_service_8", "multi_service_9"),
}
"""The same of tables and ranges: of few runs each, since a run has many answers."""
NAMES: Final = (
    *(name for names in CHAPTERS.values() for name in names),
    "table_9_1",
    "table_9_2",
    "figure_9_3",
    "figure_9_4",
    "the_claim",
    *(name for names in PAPERS.values() for name in names),
    "range_bars",
)

_INTRODUCTION: Final = """# What we reproduce

The tables and figures of the thesis that this project claims to reproduce, number by number. This page is generated
from `experiments/results/*.json` (`python -m experiments.page`); each section names the command that made its data. The
experiments draw from streams keyed by their names, so another run gets the same figures.

A printed number **agrees** if it lies within its own rounding and Monte-Carlo error (100 repeats over d values), and
ours, of what was measured, at α = 10⁻⁶. It is **explained** if it does not, a stated reason says what else to expect,
and the measurement is that. Everything else **differs**, and so does a measurement that contradicts our own exact
variance, printed number or none. Numbers of our own, for which nothing is printed, are marked *ours*. ± is one standard
error of the mean.
"""

_NOT_YET: Final = (
    (
        "table 9.3: what a collection costs each party",
        "another machine's times cannot come out again as numbers; docs/performance.md §4 shows ours next to them",
    ),
)
"""What of the thesis' evaluation is not on this page, and why."""


def render(results: Sequence[Mapping[str, object]]) -> str:
    """The page."""
    return "\n".join([_INTRODUCTION, *(line for result in results for line in _section(result)), *_missing()])


def kept(folder: Path = RESULTS) -> list[dict[str, object]]:
    """The results as they were written."""
    return [kept_one(name, folder) for name in NAMES]


def kept_one(name: str, folder: Path = RESULTS) -> dict[str, object]:
    """One of them."""
    found: dict[str, object] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return found


def command(name: str) -> str:
    """What makes a result, after `python -m experiments.`."""
    chapter = next((chapter for chapter, names in {**CHAPTERS, **PAPERS}.items() if name in names), "")
    return f"{chapter} {name}".strip()


def _section(result: Mapping[str, object]) -> Iterator[str]:
    rows: list[Row] = result["rows"]  # type: ignore[assignment]  # JSON has no types of its own
    name = result["name"]
    counts = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in (AGREES, EXPLAINED, OURS, DIFFERS)}
    yield f"## {result['paper']}"
    yield ""
    yield (
        f"`python -m experiments.{command(str(name))}`: "
        + ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        + "."
    )
    yield ""
    if (RESULTS / f"{name}.svg").exists():
        yield f"![{result['paper']}](../experiments/results/{name}.svg)"
        yield ""
    if said := [row for row in rows if "found" in row]:
        yield from table(("what is said, or was held against what", "found", "verdict"), map(_sentence, said))
    compared = [row for row in rows if "found" not in row and name != "figure_9_3"]
    for panel in dict.fromkeys(row["panel"] for row in compared if "panel" in row):
        yield from _panel([row for row in compared if row.get("panel") == panel])
    if compared := [row for row in compared if "panel" not in row]:
        yield from table(("what", "printed", "measured", "expected", "repeats", "verdict"), map(_number, compared))
    if name == "figure_9_3":
        measured = [row for row in rows if "method" in row]
        yield from _pivot(measured, lambda row: _figure(row["measured"]) + _mark(row), "MSE as measured")
        yield from _pivot(measured, _repeats, "repeats, and one standard error of their mean")
    if claimed := [row for row in rows if "eps_l" in row or ("eps_local" in row and "method" in row)]:
        yield from _claims(claimed)
    yield from (f"- {note}" for note in result["notes"])  # type: ignore[attr-defined]  # likewise
    yield ""


def _missing() -> Iterator[str]:
    yield "## Not yet reproduced"
    yield ""
    yield from table(("what", "verdict"), ((what, f"not yet reproduced: {why}") for what, why in _NOT_YET))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table of Markdown, and the empty line after it."""
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _sentence(row: Row) -> tuple[str, ...]:
    return row["what"], row["found"], _verdict(row)


def _number(row: Row) -> tuple[str, ...]:
    spread = f" ± {row['stderr']:.1g}" if row.get("stderr") else ""
    return (
        row["what"],
        _figure(row["printed"]),
        _figure(row["measured"], 4) + spread,
        _figure(row.get("expected"), 4),
        str(row.get("repeats", "–")),
        _verdict(row),
    )


def _panel(rows: Sequence[Row]) -> Iterator[str]:
    """One drawing's points: a line for each method."""
    across = list(dict.fromkeys(row["x"] for row in rows))
    found = {(row["method"], row["x"]): _figure(row["measured"]) + _mark(row) for row in rows}
    head = (f"{rows[0]['panel']}; {rows[0]['across']} =", *(_figure(x) if x < 1 else f"{x:,.10g}" for x in across))
    methods = dict.fromkeys(row["method"] for row in rows)
    yield from table(head, ((method, *(found.get((method, x), "–") for x in across)) for method in methods))


def _pivot(rows: Sequence[Row], cell: Callable[[Row], str], title: str) -> Iterator[str]:
    targets = list(dict.fromkeys(row["eps_c"] for row in rows))
    found = {(row["method"], row["eps_c"]): row for row in rows}
    methods = dict.fromkeys(row["method"] for row in rows)
    lines = ((method, *(cell(found[method, target]) for target in targets)) for method in methods)
    yield from table((f"{title}; ε_c =", *(f"{target:g}" for target in targets)), lines)


def _claims(rows: Sequence[Row]) -> Iterator[str]:
    """What each run claims: once for each mechanism and ε_c, however often it was measured."""
    head = ("ε of each run", "ε_c by the theorem", "ε_c exactly", "ε_s", "ε_l")
    lines = {}
    for row in rows:
        if "eps_l" in row:
            label = row["what"]
            four = (row["eps_c"]["theorem"], row["eps_c"]["exact"], row["eps_s"]["exact"], row["eps_l"])
        else:
            label = f"{row['method']}, ε_c = {row['eps_c']:g}"
            # No fakes: with all other users against her nothing but ε_l is left.
            four = (row["eps_theorem"], row["eps_exact"], row["eps_local"], row["eps_local"])
        lines[label] = (label, *(_figure(value, 4) for value in four))
    yield from table(head, lines.values())


def _repeats(row: Row) -> str:
    spread = 100 * row["stderr"] / row["measured"]
    return f"{row['repeats']} (± {spread:.1f} %)" if spread else "–"


def _mark(row: Row) -> str:
    return " **differs**" if row["verdict"] == DIFFERS else ""


def _verdict(row: Row) -> str:
    word = f"**{row['verdict']}**" if row["verdict"] in (DIFFERS, EXPLAINED) else row["verdict"]
    return f"{word}: {row['why']}" if row["why"] else str(word)


def _figure(value: float | None, digits: int = 3) -> str:
    """A number as a paper would print it."""
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.{digits}g}" if 1e-3 <= abs(value) < 1e4 else f"{value:.{digits - 1}e}".replace("e-0", "e-")


if __name__ == "__main__":
    PAGE.write_text(render(kept()), encoding="utf-8")
