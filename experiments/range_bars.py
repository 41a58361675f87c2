"""What `Ranges` gains, as a table of our own: against the papers' systems in the local model, and hidden levels alone.

`python -m experiments.range_bars [--quick] [--json]`
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from experiments.chapter_7 import Ranges as Ends
from experiments.chapter_7 import boxes, inside
from experiments.chapters import draw
from experiments.people import Ints, bumps, correlated
from experiments.report import OURS, Result, Row, shortened, statement
from experiments.running import main
from peos.crypto.randomness import Randomness
from peos.ldp.grouped_tables import GroupedTables
from peos.simulate.study import run_study
from peos.tasks import baselines
from peos.tasks.baselines.base import Draws, Floats, Hashed
from peos.tasks.baselines.hierarchies import box, levels_of
from peos.tasks.planning import Asked, planned_tables
from peos.tasks.ranges.answer import RangesAnswer
from peos.tasks.ranges.inference import TreeFit
from peos.tasks.ranges.levels import Levels
from peos.tasks.ranges.task import Ranges
from peos.tasks.ranges.trees import TreeDesign

RUNS: Final = 10
BOXES: Final = 10
USERS, CELLS, SQUARE = 100_000, 1_024, 256
VOLUMES: Final = (0.1, 0.25, 0.6)
DELTA: Final = 1e-6
SUMMED: Final = 200_000


def fresh(rng: Randomness) -> Randomness:
    """A stream of its own."""
    return Randomness(rng.bytes(32))


def local_nodes(levels: Levels, values: Ints, epsilon: float, rng: Randomness) -> list[Floats]:
    """HIO's estimate of every node, each level by its own users' reports."""
    made = baselines.hio([levels], epsilon)
    sent = made.randomize(values[:, np.newaxis], Draws(fresh(rng)))
    hashed, found = Hashed(epsilon), []
    p, q = hashed.response.p, 1.0 / hashed.response.cells
    for level in range(1, levels.height + 1):
        rows = sent.combinations == level - 1
        seeds, answers = sent.seeds[rows], sent.answers[rows]
        met = [
            np.mean(hashed.hash(seeds, np.asarray(key)) == answers)
            for key in np.arange(levels.sizes[level], dtype=np.uint64)
        ]
        found.append((np.array(met) - q) / (p - q))
    return found


def of_nodes(levels: Levels, nodes: Sequence[Floats], ends: Ends) -> float:
    """A range as the sum of the nodes that make it."""
    assert ends[0] is not None
    return sum(1.0 if level == 0 else float(nodes[level - 1][place]) for level, place, _ in levels.cover(*ends[0]))


def one_dimension(users: int, runs: int, rng: Randomness) -> dict[tuple[str, float], float]:
    """RMSE of each method by volume."""
    drawn = np.random.default_rng(int.from_bytes(rng.bytes(8)))
    task = Ranges({"x": (0, CELLS - 1)}, users=users, delta=DELTA, eps_server=1.0, fakes=0)
    design = task.design
    assert isinstance(design, TreeDesign)
    levels = Levels(CELLS, 4)
    errors: dict[tuple[str, float], list[float]] = {}
    for _ in range(runs):
        values = bumps(users, CELLS, drawn)
        nodes = local_nodes(levels, values, 1.0, rng)
        fitted = TreeFit(levels, (1.0,) * levels.height).cells(nodes)
        split = baselines.hi([levels], 1.0)
        hi = split.decode(split.randomize(values[:, np.newaxis], Draws(fresh(rng))))
        records = np.array(values, dtype=[("x", np.int64)])
        answer = run_study(task, records, shuffle=False, rng=fresh(rng)).answer
        assert isinstance(answer, RangesAnswer)
        ends = np.cumsum([0, *task.plan.mechanism.tables])
        own = [answer.found.frequency[a:b] for a, b in zip(ends[:-1], ends[1:], strict=True)]  # noqa: RUF007
        for volume in VOLUMES:
            for ranges in boxes([levels], volume, BOXES, drawn):
                truth, (first, last) = float(inside(values[:, np.newaxis], ranges).mean()), ranges[0] or (0, CELLS)
                found = {
                    "HIO": of_nodes(levels, nodes, ranges),
                    "HIO with least squares": float(fitted[first:last].sum()),
                    "HI": float(hi(box([levels], ranges)).mean()),
                    "hidden nodes": of_nodes(design.levels, own, ranges),
                    "Ranges": answer.share(x=(first, last - 1)).value,
                }
                for name, value in found.items():
                    errors.setdefault((name, volume), []).append(value - truth)
    return {at: float(np.sqrt(np.mean(np.square(one)))) for at, one in errors.items()}


def two_dimensions(users: int, runs: int, rng: Randomness) -> dict[tuple[str, float], float]:
    """RMSE of Ranges and of HIO with its products of levels as hidden tables, at the same ε_c."""
    drawn = np.random.default_rng(int.from_bytes(rng.bytes(8)))
    task = Ranges({"x": (0, SQUARE - 1), "y": (0, SQUARE - 1)}, users=users, delta=DELTA, eps_server=1.0, fakes=0)
    trees = [Levels(SQUARE, 4)] * 2
    combos = [one for one in levels_of(trees) if any(one)]
    sizes = [math.prod(tree.sizes[level] for tree, level in zip(trees, one, strict=True)) for one in combos]
    mechanism = planned_tables(Asked(users=users, delta=DELTA, eps_server=1.0, fakes=0), sizes).mechanism
    errors: dict[tuple[str, float], list[float]] = {}
    for _ in range(runs):
        values = correlated(users, (SQUARE, SQUARE), drawn)
        records = np.array(list(map(tuple, values.tolist())), dtype=[("x", np.int64), ("y", np.int64)])
        answer = run_study(task, records, shuffle=False, rng=fresh(rng)).answer
        assert isinstance(answer, RangesAnswer)
        products = hidden_products(mechanism, trees, combos, values, fresh(rng))
        for volume in (0.01, *VOLUMES):
            for ranges in boxes(trees, volume, BOXES, drawn):
                truth = float(inside(values, ranges).mean())
                (x, to_x), (y, to_y) = ranges[0] or (0, SQUARE), ranges[1] or (0, SQUARE)
                found = {
                    "HIO": of_products(products, trees, ranges),
                    "Ranges": answer.share(x=(x, to_x - 1), y=(y, to_y - 1)).value,
                }
                for name, value in found.items():
                    errors.setdefault((name, volume), []).append(value - truth)
    return {at: float(np.sqrt(np.mean(np.square(one)))) for at, one in errors.items()}


Products = dict[tuple[int, ...], Floats]


def hidden_products(
    mechanism: GroupedTables, trees: Sequence[Levels], combos: Sequence[tuple[int, ...]], values: Ints, rng: Randomness
) -> Products:
    """What every cell of every product of levels is, by one collection."""
    columns = []
    for one, two in combos:
        columns.append(trees[0].place(values[:, 0], one) * trees[1].sizes[two] + trees[1].place(values[:, 1], two))
    tally = mechanism.tally(mechanism.randomize(np.stack(columns, axis=1), rng))
    users = len(values)
    return {
        combo: mechanism.of_table(tally, at, users).frequency.reshape(
            [tree.sizes[level] for tree, level in zip(trees, combo, strict=True)]
        )
        for at, combo in enumerate(combos)
    }


def of_products(products: Products, trees: Sequence[Levels], ranges: Ends) -> float:
    """A box as the sum of the cells that make it."""
    nodes = box(trees, ranges)
    return sum(
        1.0 if not (one.level or other.level) else float(products[one.level, other.level][one.place, other.place])
        for one in nodes[0]
        for other in nodes[1]
    )


def sums(users: int, runs: int, rng: Randomness) -> dict[str, float]:
    """RMSE of a SUM over 24 of 64 cells: Ranges at ε_c = 1, and weighted FO with the measure linked, local ε = 2."""
    drawn = np.random.default_rng(int.from_bytes(rng.bytes(8)))
    task = Ranges({"x": (0, 63), "m": (0.0, 1.0)}, measure="m", users=users, delta=DELTA, eps_server=1.0, fakes=0)
    law = np.exp(-((np.arange(64) - 25) ** 2) / 300) + 0.05
    errors: dict[str, list[float]] = {"Ranges": [], "weighted FO": []}
    for _ in range(runs):
        cells = drawn.choice(64, users, p=law / law.sum())
        measure = np.clip(drawn.beta(2, 5, users) + cells / 300, 0, 1)
        records = np.array(
            list(zip(cells.tolist(), measure.tolist(), strict=True)), dtype=[("x", np.int64), ("m", float)]
        )
        truth = float(measure[(cells >= 20) & (cells < 44)].sum())
        answer = run_study(task, records, shuffle=False, rng=fresh(rng)).answer
        assert isinstance(answer, RangesAnswer)
        errors["Ranges"].append(answer.sum("m", x=(20, 43)).value - truth)
        made = baselines.weighted_fo(64, 2.0)
        weights = made.decode(made.randomize(cells[:, np.newaxis], Draws(fresh(rng))))
        errors["weighted FO"].append(float(measure @ weights([Levels(64, 64).cover(20, 44)])) - truth)
    return {name: float(np.sqrt(np.mean(np.square(one)))) for name, one in errors.items()}


def run(quick: bool, rng: Randomness) -> Result:
    """The bars, and the errors that they are of."""
    part, runs = (20, 2) if quick else (1, RUNS)
    line, square = one_dimension(USERS // part, runs, rng), two_dimensions(USERS // part, runs, rng)
    total = sums(SUMMED // part, 2 * runs, rng)
    ratio = partial(_ratios, line)
    rows: list[Row] = [
        _bar(
            "local, least squares on HIO's tree against HIO's nodes, ε = 1",
            ratio("HIO with least squares", "HIO"),
            most=0.75,
        ),
        _bar("local, HI against HIO, ε = 1", ratio("HI", "HIO"), least=1.8),
        _bar("Ranges, ε_c = 1, against the nodes of its own tree", ratio("Ranges", "hidden nodes"), most=0.6),
        _bar(
            "Ranges, ε_c = 1, against local least squares, ε = 1", ratio("Ranges", "HIO with least squares"), most=0.1
        ),
        _bar(
            "two dimensions, ε_c = 1, Ranges against HIO in hidden tables", _ratios(square, "Ranges", "HIO"), most=0.4
        ),
        _bar(
            "SUM, Ranges at ε_c = 1 against weighted FO, local ε = 2",
            [total["Ranges"] / total["weighted FO"]],
            most=0.25,
        ),
    ]
    rows = [row for row in rows if not quick]
    for name, found in (("256 × 256", square), ("1,024 cells", line)):
        rows += [
            _point(f"{name}, RMSE", method, volume, value, runs * BOXES) for (method, volume), value in found.items()
        ]
    rows += [_point("SUM over 24 of 64 cells, RMSE", name, 24 / 64, value, 2 * runs) for name, value in total.items()]
    notes = (
        "Two bumps on 1,024 cells; one factor on 256 × 256; n = 100,000, 200,000 for sums; δ = 10⁻⁶, no fakes.",
        f"{RUNS} collections of new users, {BOXES} random ranges each; every report is drawn.",
    )
    return Result("range_bars", "Ranges against the papers' systems (ours)", tuple(rows), notes)


def _ratios(found: dict[tuple[str, float], float], one: str, other: str) -> list[float]:
    return [value / found[other, volume] for (name, volume), value in found.items() if name == one]


def _bar(what: str, ratios: Sequence[float], *, most: float = math.inf, least: float = 0.0) -> Row:
    bound = f"at most {most:g}" if least == 0.0 else f"at least {least:g}"
    found = ", ".join(f"{one:.3f}" for one in ratios)
    return statement(f"{what}: {bound}", found, holds=least <= min(ratios) and max(ratios) <= most)


def _point(panel: str, method: str, volume: float, value: float, repeats: int) -> dict[str, Any]:
    return {
        "what": f"{panel}, {method}, volume = {volume:g}",
        "panel": panel,
        "across": "volume",
        "method": method,
        "x": volume,
        "measured": shortened(value, 4),
        "stderr": None,
        "expected": None,
        "repeats": repeats,
        "verdict": OURS,
        "why": "",
    }


def drawing(result: Result) -> str:
    """The first panel."""

    return draw(result, "RMSE")


if __name__ == "__main__":
    raise SystemExit(main("range_bars", "Ranges against the papers' systems", run, drawing))
