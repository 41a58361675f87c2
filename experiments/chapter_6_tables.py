"""Figures 6.7 to 6.9 of the thesis: which tables CALM asks, and for which k.

`python -m experiments.chapter_6_tables [figure_6_7 …] [--quick] [--json]`
"""

import math
from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np

from experiments.chapter_6 import (
    NOTES,
    RUNS,
    Table,
    asked,
    calm,
    errors,
    fitted,
    kosarak,
    queries,
    spread,
    truth_of,
)
from experiments.chapters import Panel, Work, figures, main
from experiments.people import KINDS, LOADING, Ints, visitors
from experiments.report import Row, statement
from peos.tasks.marginals.choice import choose_local
from peos.tasks.marginals.design import cover

SMALL_RUNS: Final = 5  # of figure 6.7
CLOSE: Final = 0.9  # loading of the factor that makes items much alike
NOT_ALIKE: Final = (
    "items of the stand-in depend little on one another, so that what no table has is hardly missed and noise decides; "
    "where they are much alike it holds"
)
LENGTHS: Final = (3, 5, 7, 8, 10)


def figure_6_7(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """s and t, s and ε, t and ε: d = 8, k = 3, n = 2^16; of items as they are, and of items that are much alike."""
    users, runs = (2**11, 1) if quick else (2**16, SMALL_RUNS)
    sizes, counts = ((1, 2, 8) if quick else (1, 2, 3, 4, 6, 8)), ((8, 16) if quick else (8, 16, 28))
    by_tables = {}
    for where, loading in (("Kosarak (stand-in)", LOADING), ("items much alike", CLOSE)):
        panel = by_tables[where] = Panel(f"{where}, ε = 0.6", "t")
        for s in sizes:
            for t in counts:
                panel.put(t, f"s = {s}", [_of_views(users, 3, s, t, 0.6, loading, rng) for _ in range(runs)])
    by_size = Panel("Kosarak (stand-in), t = 16", "ε")
    for epsilon in (0.6, 2.0) if quick else (0.2, 0.6, 1.0, 1.4, 2.0):
        for s in (2, 4) if quick else (2, 3, 4, 6):
            by_size.put(epsilon, f"s = {s}", [_of_views(users, 3, s, 16, epsilon, LOADING, rng) for _ in range(runs)])
    falls = {where: {s: panel.fall(f"s = {s}") for s in sizes} for where, panel in by_tables.items()}
    hold = [at[2] < 0.9 and abs(at[1] - 1) < 0.35 and abs(at[8] - 1) < 0.35 for at in falls.values()]
    for (where, at), holds in zip(falls.items(), hold, strict=True):
        yield statement(
            f"increasing t decreases the error but for s = 1 and s = 8, where it does not change; {where}",
            "at the most tables over 8: " + ", ".join(f"s = {s}: {value:.2f}" for s, value in at.items()),
            holds=holds,
            erratum="" if holds else NOT_ALIKE,
            instead=hold[-1],
        )
    if not quick:
        small, large = by_size.at(0.2), by_size.at(2.0)
        best = [min(at, key=at.__getitem__) for at in (small, large)]
        yield statement(
            "small ε wants small s, larger ε larger s",
            f"at ε = .2 {best[0]}, at ε = 2 {best[1]}",
            holds=int(best[0][4:]) <= 3 and int(best[1][4:]) > int(best[0][4:]),
        )
    for panel in (*by_tables.values(), by_size):
        yield from panel.rows()


def _of_views(users: int, k: int, s: int, t: int, epsilon: float, loading: float, rng: np.random.Generator) -> float:
    columns, sizes = kosarak(users, 8, rng, loading), [2] * 8
    blocks = spread(8, s, t, rng)
    if s in (1, 8):
        blocks = tuple(dict.fromkeys(blocks))
    table = fitted(sizes, blocks, asked(columns, sizes, blocks, epsilon, rng))
    return errors(table, columns, sizes, queries(8, k, rng))


def central(columns: Ints, epsilon: float, rng: np.random.Generator) -> Table:
    """PriView: tables of eight attributes with Laplace noise of t/ε, by who has all records."""
    d = columns.shape[1]
    blocks, sizes = cover(d, 2, min(8, d)), [2] * d
    noise = len(blocks) / epsilon / len(columns)
    tables = [truth_of(columns, sizes, one)[np.newaxis] for one in blocks]
    return fitted(sizes, blocks, [one + rng.laplace(0, noise, one.shape) for one in tables])


def figure_6_8(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """Tables chosen for k', asked for k; and with all records in one place."""
    users, runs = (2**11, 1) if quick else (2**18, RUNS)
    panels = []
    for k in (3,) if quick else (3, 6, 8):
        panel = Panel(f"k = {k}", "ε")
        for epsilon in (0.6, 2.0) if quick else (0.4, 1.2, 2.0):
            found: dict[str, list[float]] = {name: [] for name in ("k' = 3", "k' = 6", "k' = 8", "PriView")}
            for _ in range(runs):
                columns, sizes = kosarak(users, 16, rng), [2] * 16
                sets = queries(16, k, rng)
                for aim in (3, 6, 8):
                    found[f"k' = {aim}"].append(errors(calm(columns, sizes, aim, epsilon, rng), columns, sizes, sets))
                found["PriView"].append(errors(central(columns, epsilon, rng), columns, sizes, sets))
            for name, each in found.items():
                panel.put(epsilon, name, each)
        panels.append(panel)
    broad = Panel("k = 6, by k'", "k'")
    for aim in (3, 6) if quick else (2, 3, 6, 8, 16):
        for epsilon in (2.0,) if quick else (0.5, 1.5):
            each = []
            for _ in range(runs):
                columns = kosarak(users, 16, rng)
                each.append(errors(calm(columns, [2] * 16, aim, epsilon, rng), columns, [2] * 16, queries(16, 6, rng)))
            broad.put(aim, f"ε = {epsilon:g}", each)
    if not quick:
        gaps = [panel.at(x)["k' = 3"] / panel.at(x)["PriView"] for panel in panels for x in panel.of("PriView")]
        by_kinds = [_of_kinds(users, k, rng) for k in (3, 6, 8)]
        yield statement(
            "PriView performs one to two orders better than CALM",
            f"{min(gaps):.0f} to {max(gaps):.0f} times; {', '.join(f'{one:.0f}' for one in by_kinds)} times of users "
            f"of {KINDS} kinds in place of one factor, at ε = 1.2",
            holds=10 <= float(np.median(gaps)) <= 100,
            erratum="one factor joins all items of the stand-in, so that tables of eight that have all pairs tell "
            "larger ones too, which is not so where nothing else is changed but that",
            instead=min(gaps) > 100 and 10 <= float(np.median(by_kinds)) <= 100,
        )
        alike = [
            max(at.values()) / min(at.values())
            for at in ({n: v for n, v in panels[0].at(x).items() if n != "PriView"} for x in panels[0].of("PriView"))
        ]
        yield statement(
            "for k = 3 settings of k' perform similarly",
            f"at most {max(alike):.1f} times apart",
            holds=max(alike) < 2.5,
        )
        choices = {
            epsilon: (choose_local(2**18, 16, 7, epsilon)[1], choose_local(2**18, 16, 8, epsilon)[1])
            for epsilon in (1.2, 1.5)
        }
        yield statement(
            "at ε = 1.5 tables of 3 are chosen for k' ≤ 7 and of 2 for k' ≥ 8; at ε = 1.2 of 3 for k' = 3",
            f"{choices[1.5][0]} and {choices[1.5][1]}; {choose_local(2**18, 16, 3, 1.2)[1]}",
            holds=choices[1.5] == (3, 2) and choose_local(2**18, 16, 3, 1.2)[1] == 3,
        )
        at = panels[1].at(1.2)
        yield statement(
            "for k = 6 optimising for k' = 3 is clearly worse at ε = 1.2",
            ", ".join(f"{name} {value:.4f}" for name, value in at.items()),
            holds=at["k' = 3"] > 1.15 * at["k' = 6"],
            erratum=""
            if at["k' = 3"] > 1.15 * at["k' = 6"]
            else "in the stand-in one factor joins all items, and tables of 3 know more of it",
            instead=at["k' = 3"] > 0.5 * at["k' = 6"],
        )
    for panel in (*panels, broad):
        yield from panel.rows()


def _of_kinds(users: int, k: int, rng: np.random.Generator) -> float:
    """How many times PriView is better than CALM, where no factor joins all items."""
    each = []
    for _ in range(RUNS):
        columns, sizes, sets = visitors(users, 16, rng).astype(np.int64), [2] * 16, queries(16, k, rng)
        one_place = errors(central(columns, 1.2, rng), columns, sizes, sets)
        each.append((errors(calm(columns, sizes, 3, 1.2, rng), columns, sizes, sets), one_place))
    local, one_place = np.mean(each, axis=0)
    return float(local / one_place)


def figure_6_9(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """By k, tables chosen for 3 and for k: d = 16, n = 2^18."""
    users, runs = (2**11, 1) if quick else (2**18, RUNS)
    panels = []
    for epsilon in (2.0,) if quick else (0.5, 1.0, 1.5, 2.0):
        panel = Panel(f"ε = {epsilon:g}", "k")
        for k in (3, 5) if quick else LENGTHS:
            found: dict[str, list[float]] = {"k' = 3": [], "k' = k": []}
            for _ in range(runs):
                columns, sizes, sets = kosarak(users, 16, rng), [2] * 16, queries(16, k, rng)
                for name, aim in (("k' = 3", 3), ("k' = k", k)):
                    found[name].append(errors(calm(columns, sizes, aim, epsilon, rng), columns, sizes, sets))
            for name, each in found.items():
                panel.put(k, name, each)
        panels.append(panel)
    if not quick:
        same = []
        for panel, epsilon in zip(panels, (0.5, 1.0, 1.5, 2.0), strict=True):
            for k in LENGTHS:
                if choose_local(2**18, 16, k, epsilon) == choose_local(2**18, 16, 3, epsilon):
                    same.append(panel.of("k' = 3")[k] / panel.of("k' = k")[k])
        yield statement(
            "in most cases both are similar, since the tables are the same",
            f"where they are, {min(same):.2f} to {max(same):.2f} times ({len(same)} of 20 cases)",
            holds=min(same) > 0.5 and max(same) < 2 and len(same) > 6,
        )
        apart = {k: panels[2].of("k' = 3")[k] / panels[2].of("k' = k")[k] for k in (5, 7, 8, 10)}
        yield statement(
            "at ε = 1.5 the difference becomes significant for k > 7",
            "k' = 3 over k' = k: " + ", ".join(f"k = {k}: {value:.2f}" for k, value in apart.items()),
            holds=max(abs(math.log(apart[k])) for k in (8, 10)) > 1.5 * max(abs(math.log(apart[k])) for k in (5, 7)),
            erratum=""
            if max(abs(math.log(apart[k])) for k in (8, 10)) > 1.5 * max(abs(math.log(apart[k])) for k in (5, 7))
            else "the choice changes there as printed, and of few runs the two are hardly told apart",
        )
    for panel in panels:
        yield from panel.rows()


_PAPER: Final = "thesis §6.3"
_SSE: Final = "sum of squared errors"
WORKS: Final[dict[str, tuple[Work, str, str]]] = {
    "figure_6_7": (figure_6_7, f"Figure 6.7 ({_PAPER}): sizes and numbers of tables", _SSE),
    "figure_6_8": (figure_6_8, f"Figure 6.8 ({_PAPER}): tables chosen for other k", _SSE),
    "figure_6_9": (figure_6_9, f"Figure 6.9 ({_PAPER}): by k", _SSE),
}

_LOADINGS: Final = f"The factor's loading is {LOADING}, as in the other figures; of items much alike it is {CLOSE}."
_MORE: Final = {"figure_6_7": (f"{_LOADINGS} {SMALL_RUNS} runs.",)}
FIGURES: Final = figures(
    "chapter_6_tables",
    WORKS,
    {name: partial(lambda more, _: (*NOTES, *more), _MORE.get(name, ())) for name in WORKS},
    quick_sentences=False,
)


if __name__ == "__main__":
    raise SystemExit(main("chapter_6_tables", FIGURES))
