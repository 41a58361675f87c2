"""Figures 7.8 to 7.10, tables 7.2 and 7.3 of thesis §7.5.2: relative errors of HIO and SC in four and eight dimensions.

`python -m experiments.chapter_7_relative [figure_7_8 …] [--quick] [--json]`
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import numpy as np

from experiments.chapter_7 import IPUMS, Dimensions, Ranges, inside, trees
from experiments.chapters import Panel, Work, figures, main
from experiments.people import Floats, Ints, correlated, skewed_measure
from experiments.report import AGREES, DIFFERS, EXPLAINED, OURS, Row, shortened, statement
from peos.crypto.randomness import Randomness
from peos.tasks import baselines
from peos.tasks.baselines.base import Draws, Hashed
from peos.tasks.baselines.hierarchies import Nodes, box, by_combination, levels_of
from peos.tasks.ranges.levels import Levels

CATEGORIES: Final = 8
TYPES: Final = ((1, 0), (1, 1), (2, 0), (2, 2))
Weights = Callable[[Nodes], Floats]


def people(users: int, ordered: int, domain: int, labels: int, rng: np.random.Generator) -> Ints:
    """Ordered attributes around one factor, and categories of which the first are frequent."""
    law = 0.7 ** np.arange(CATEGORIES)
    categories = rng.choice(CATEGORIES, (users, labels), p=law / law.sum())
    return np.hstack([correlated(users, (domain,) * ordered, rng), categories])


def predicate(
    records: Ints, kind: tuple[int, int], ordered: int, domain: int, selectivity: float, rng: np.random.Generator
) -> Ranges:
    """A box of about this selectivity on so many ordered attributes and categories, chosen at random."""
    chosen = sorted(rng.choice(ordered, kind[0], replace=False).tolist())
    found: list[tuple[int, int] | None] = [None] * records.shape[1]
    labels = ordered + rng.choice(records.shape[1] - ordered, kind[1], replace=False)
    for at in labels.tolist():
        found[at] = (0, 1) if kind[1] > 1 else (lambda c: (c, c + 1))(int(rng.integers(0, 3)))
    left = inside(records, tuple(found))
    side = min(0.98, (selectivity / max(float(left.mean()), 1e-9)) ** (1 / max(kind[0], 1)))
    for at in chosen:
        start = rng.uniform(0, 1 - side)
        low, high = np.quantile(records[:, at], [start, start + side]).astype(np.int64).tolist()
        found[at] = (low, min(domain, max(low, high) + 1))
    return tuple(found)


def relative(
    weights: Weights, dimensions: Dimensions, records: Ints, measure: Floats, ranges: Ranges
) -> dict[str, float]:
    """|P(q) − q|/|q| of COUNT, SUM and AVG."""
    among = inside(records, ranges)
    each = weights(box(dimensions, ranges))
    count, total = float(each.sum()), float(measure @ each)
    true_count, true_total = float(among.sum()), float(measure @ among)
    average = true_total / true_count
    return {
        "COUNT": abs(count / true_count - 1),
        "SUM": abs(total / true_total - 1),
        "AVG": abs(total / count / average - 1) if count else 1.0,
    }


def hio_of(dimensions: Dimensions, records: Ints, epsilon: float, rng: np.random.Generator) -> Weights:
    """HIO's weights from these users' reports."""
    made = baselines.hio(dimensions, epsilon)
    found: Weights = made.decode(made.randomize(records, Draws(Randomness(rng.bytes(32)))))
    return found


def figure_7_8(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """By selectivity, 2 + 2 dimensions."""
    domain = 5**4
    users, queries = (20_000, 2) if quick else (IPUMS, 12)
    dimensions = [*trees(domain, domain), *(baselines.categorical(CATEGORIES) for _ in range(2))]
    records = people(users, 2, domain, 2, rng)
    measure = skewed_measure(records[:, 0], domain, rng)
    panels = []
    for epsilon in (2.0, 5.0):
        weights = hio_of(dimensions, records, epsilon, rng)
        for kind in TYPES:
            panel = Panel(f"{kind[0]}+{kind[1]}, ε = {epsilon:g}", "selectivity")
            for selectivity in (0.05, 0.4) if quick else (0.02, 0.05, 0.1, 0.2, 0.4):
                if kind == (2, 2) and selectivity > 0.05:
                    continue  # two categories leave no more
                found: dict[str, list[float]] = {"SUM": [], "COUNT": [], "AVG": []}
                for _ in range(queries):
                    ranges = predicate(records, kind, 2, domain, selectivity, rng)
                    for name, value in relative(weights, dimensions, records, measure, ranges).items():
                        found[name].append(value)
                for name, each in found.items():
                    panel.put(selectivity, name, each)
            panels.append(panel)
    falls = {panel.name: panel.fall("SUM") for panel in panels if len(panel.points("SUM")) > 2}
    yield statement(
        "relative errors decrease with increasing selectivity",
        "SUM at .4 over at .02: " + ", ".join(f"{name}: {value:.2f}" for name, value in falls.items()),
        holds=all(value < 0.6 for value in falls.values()),
    )
    averages = [panel.fall("AVG") for panel in panels if len(panel.points("SUM")) > 2]
    yield statement(
        "AVG has a similar trend",
        ", ".join(f"{value:.2f}" for value in averages),
        holds=all(value < 0.8 for value in averages),
    )
    wide = {panel.name: panel.of("SUM").get(0.2) for panel in panels if 0.2 in panel.of("SUM")}
    for what, errors, erratum in (
        ("but for 2+0 at ε = 2", {n: v for n, v in wide.items() if n != "2+0, ε = 2"}, ""),
        (
            "2+0 at ε = 2",
            {n: v for n, v in wide.items() if n == "2+0, ε = 2"},
            "by the variances it is about .7: κ = 100 products of levels, some 16² nodes, a million users",
        ),
    ):
        yield statement(
            f"where predicates are not too selective errors are reasonable at ε = 2 and 5, {what}",
            "SUM at .2: " + ", ".join(f"{name}: {value:.3f}" for name, value in errors.items()),
            holds=all(value is not None and value < 0.35 for value in errors.values()),
            erratum=erratum,
            instead=not erratum or all(value is not None and 0.4 < value < 1.2 for value in errors.values()),
        )
    for panel in panels:
        yield from panel.rows()


def figure_7_9(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """By type and domain, SUM, selectivity 0.1; SC with it."""
    users, queries = (20_000, 2) if quick else (IPUMS, 16)
    panels = {epsilon: Panel(f"SUM, HIO, ε = {epsilon:g}", "m") for epsilon in (2.0, 5.0)}
    worse: list[float] = []
    for domain in (25, 125, 625):
        dimensions = [*trees(domain, domain), *(baselines.categorical(CATEGORIES) for _ in range(2))]
        records = people(users, 2, domain, 2, rng)
        measure = skewed_measure(records[:, 0], domain, rng)
        made = baselines.sc(dimensions, 5.0)
        split = made.decode(made.randomize(records, Draws(Randomness(rng.bytes(32)))))
        for epsilon, panel in panels.items():
            weights = hio_of(dimensions, records, epsilon, rng)
            for kind in TYPES:
                asked = [
                    predicate(records, kind, 2, domain, 0.05 if kind == (2, 2) else 0.1, rng) for _ in range(queries)
                ]
                found = [relative(weights, dimensions, records, measure, one)["SUM"] for one in asked]
                panel.put(domain, f"{kind[0]}+{kind[1]}", found)
                if epsilon == 5.0:
                    other = [relative(split, dimensions, records, measure, one)["SUM"] for one in asked[:6]]
                    worse.append(float(np.mean(other) / np.mean(found[:6])))
    yield statement(
        "SC is worse in almost all types",
        "SC over HIO by domain and type, ε = 5: " + ", ".join(f"{one:.2f}" for one in worse),
        holds=sum(one > 1 for one in worse) >= len(worse) - 3,
    )
    grown = [panel.of(name)[625.0] / panel.of(name)[25.0] for panel in panels.values() for name in panel.at(25.0)]
    yield statement(
        "errors are larger when the domains are larger",
        "at m = 625 over m = 25: " + ", ".join(f"{one:.2f}" for one in grown),
        holds=float(np.median(grown)) > 1.2,
    )
    kinds = [np.mean([panel.of(name)[625.0] for panel in panels.values()]) for name in ("1+0", "1+1", "2+0", "2+2")]
    yield statement(
        "1+0 and 1+1 can be answered more accurately than 2+0 and 2+2",
        ", ".join(f"{one:.3f}" for one in kinds),
        holds=bool(max(kinds[:2]) < min(kinds[2:])),
    )
    for panel in panels.values():
        yield from panel.rows()


EIGHT: Final = ((1, 0), (1, 1), (2, 0), (2, 1))


def figure_7_10(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """HIO against SC, 4 + 4 dimensions, ε = 5; with categories as they are, and as trees of five levels."""
    domain = 5**4
    users, queries = (10_000, 2) if quick else (IPUMS, 8)
    records = people(users, 4, domain, 4, rng)
    measure = skewed_measure(records[:, 0], domain, rng)
    panels = []
    for what, labels in (("categories of two levels", CATEGORIES), ("categories of five levels for HIO", 625)):
        levels = baselines.categorical(CATEGORIES) if labels == CATEGORIES else Levels(625, 5)
        scaled = records.copy()
        scaled[:, 4:] *= labels // CATEGORIES
        dimensions = [*trees(*(domain,) * 4), *(levels for _ in range(4))]
        panel = Panel(f"SUM, {what}", "type")
        hio = hio_of(dimensions, scaled, 5.0, rng)
        plain = [*trees(*(domain,) * 4), *(baselines.categorical(CATEGORIES) for _ in range(4))]
        made = baselines.sc(plain, 5.0)
        sc = made.decode(made.randomize(records, Draws(Randomness(rng.bytes(32)))))
        for at, kind in enumerate(EIGHT, start=1):
            found: dict[str, list[float]] = {"HIO": [], "SC": []}
            for _ in range(queries):
                ranges = predicate(records, kind, 4, domain, 0.1, rng)
                step = labels // CATEGORIES
                wide = tuple(
                    one if one is None or place < 4 else (one[0] * step, one[1] * step)
                    for place, one in enumerate(ranges)
                )
                found["HIO"].append(relative(hio, dimensions, scaled, measure, wide)["SUM"])
                found["SC"].append(relative(sc, plain, records, measure, ranges)["SUM"])
            for name, each in found.items():
                panel.put(at, name, each)
        panels.append(panel)
    better = [[panel.at(x)["SC"] < panel.at(x)["HIO"] for x in (1.0, 2.0, 3.0, 4.0)] for panel in panels]
    names = [", ".join(f"{a}+{b}" for (a, b), one in zip(EIGHT, each, strict=True) if one) or "none" for each in better]
    yield (
        statement(
            "SC performs better than HIO for almost all types except 2+1",
            f"with categories of two levels for {names[0]}; with trees of five levels for HIO, for {names[1]}",
            holds=sum(better[0][:3]) >= 2,
            erratum="it comes out where HIO has five levels of all eight dimensions, and SC 20 in all",
            instead=sum(better[1][:3]) >= 2,
        )
        if sum(better[0][:3]) < 2
        else statement("SC performs better than HIO for almost all types except 2+1", names[0], holds=True)
    )
    yield {"what": "types 1 to 4 of the panels", "found": "1+0, 1+1, 2+0, 2+1", "verdict": OURS, "why": ""}
    for panel in panels:
        yield from panel.rows()


PRINTED: Final = {
    "Q1": (26.32, (26.29, 24.36, 26.81, 26.07)),
    "Q2": (33.11, (36.97, 32.36, 33.77, 32.79)),
    "Q3": (27.01, (27.07, 34.69, 24.22, 26.68)),
}
EPSILONS: Final = (0.5, 1.0, 2.0, 5.0)


def _row(what: str, printed: float, found: float, error: float, runs: int, verdict: str) -> Row:
    return {
        "what": what,
        "printed": printed,
        "measured": shortened(found, 4),
        "stderr": shortened(error, 2),
        "expected": None,
        "repeats": runs,
        "verdict": verdict,
        "why": "relative errors: one run's as printed, the mean of ours"
        + ("; the domains of the case study are not stated, and ours are others" if verdict == EXPLAINED else ""),
    }


def table_7_2(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """Three averages, by ε: relative errors, since the averages are of other data."""
    domain, users, runs = 5**4, 20_000 if quick else IPUMS, 2 if quick else 4
    dimensions = [*trees(domain, domain), *(baselines.categorical(CATEGORIES) for _ in range(2))]
    records = people(users, 2, domain, 2, rng)
    measure = skewed_measure(records[:, 0], domain, rng)
    asked: dict[str, Ranges] = {
        "Q1": (None, None, (0, 1), None),
        "Q2": ((250, 500), None, (0, 1), None),
        "Q3": ((250, 400), None, (2, 3), None),
    }
    errors: dict[str, list[float]] = {name: [] for name in asked}
    for at, epsilon in enumerate(EPSILONS):
        found: dict[str, list[float]] = {name: [] for name in asked}
        for _ in range(runs):
            weights = hio_of(dimensions, records, epsilon, rng)
            for name, ranges in asked.items():
                found[name].append(relative(weights, dimensions, records, measure, ranges)["AVG"])
        for name, each in found.items():
            true, printed = PRINTED[name]
            theirs, ours = abs(printed[at] / true - 1), float(np.mean(each))
            # A single run's error is between a hundredth and four times the mean of |normal| ones nearly always.
            verdict = AGREES if theirs < 4 * ours + 0.01 else DIFFERS
            error = float(np.std(each, ddof=1) / math.sqrt(len(each)))
            yield _row(f"{name}, ε = {epsilon:g}, relative error", round(theirs, 4), ours, error, runs, verdict)
            errors[name] += each
    small = [one for name in asked for one in errors[name]]
    within = float(np.mean(np.array(small) < 0.05))
    yield statement(
        "relative errors are within 5 % most of the time",
        f"in {within:.0%} of runs; of the printed twelve in 8",
        holds=within > 0.5,
        erratum="" if within > 0.5 else "of twelve single runs 8 or more are within it with probability .2 if half are",
        instead=0.4 < within <= 0.5 or within > 0.5,
    )
    yield statement(
        "Q3 is the most selective and its errors are the largest",
        ", ".join(f"{name} {np.mean(each):.3f}" for name, each in errors.items()),
        holds=bool(np.mean(errors["Q3"]) == max(np.mean(each) for each in errors.values())),
    )


CASE: Final = {"Q4": (0.049, (0.102, 0.081, 0.061, 0.005)), "Q5": (0.011, (0.086, 0.138, 0.066, 0.008))}
CASE_USERS: Final = 150_000_000


def table_7_3(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """The case study of 150 million users: averages over a region's purchases in a range of prices, by law."""
    runs = 4 if quick else 40
    region, category, price = baselines.categorical(34), baselines.categorical(20), Levels(625, 5)
    dimensions = [region, category, price]
    for name, (selectivity, printed) in CASE.items():
        widths = (0, 500) if name == "Q4" else (100, 300)
        share = selectivity / ((widths[1] - widths[0]) / 625)
        nodes = box(dimensions, [(0, 1), None, widths])
        for at, epsilon in enumerate(EPSILONS):
            found = [_case_error(dimensions, nodes, share, epsilon, rng) for _ in range(runs)]
            ours, error = float(np.mean(found)), float(np.std(found, ddof=1) / math.sqrt(runs))
            theirs = printed[at]
            near = ours / 30 < theirs < 4 * ours
            verdict = AGREES if near else EXPLAINED if theirs < 12 * ours else DIFFERS
            yield _row(f"{name}, ε = {epsilon:g}, relative error", theirs, ours, error, runs, verdict)


def _case_error(
    dimensions: Sequence[Levels], nodes: Nodes, share: float, epsilon: float, rng: np.random.Generator
) -> float:
    """The relative error of an average postage of two prices, half of the records each, by the law of its totals."""
    hashed, kappa = Hashed(epsilon), len(levels_of(dimensions))
    p, q = hashed.response.p, 1.0 / hashed.response.cells
    fees = np.array([0.0, 0.34])
    totals = np.zeros(2)
    true = 0.0
    for combo, (keys, _) in by_combination(dimensions, nodes).items():
        width = dimensions[2].width(combo[2])
        mine = share * sum(node.level == combo[2] for node in nodes[2]) * width / dimensions[2].domain
        true += mine
        for fee in range(2):
            users = rng.binomial(CASE_USERS // 2, 1 / kappa)
            among = rng.binomial(users, min(1.0, mine))
            met = rng.binomial(among, p) + rng.binomial(users * len(keys) - among, q)
            totals[fee] += kappa * (met - q * users * len(keys)) / (p - q)
    found = float(fees @ totals / totals.sum())
    return abs(found / float(fees.mean()) - 1)


_PAPER: Final = "thesis §7.5.2"
_MRE: Final = "mean relative error"
WORKS: Final[dict[str, tuple[Work, str, str]]] = {
    "figure_7_8": (figure_7_8, f"Figure 7.8 ({_PAPER}): HIO by selectivity", _MRE),
    "figure_7_9": (figure_7_9, f"Figure 7.9 ({_PAPER}): HIO by domain and type", _MRE),
    "figure_7_10": (figure_7_10, f"Figure 7.10 ({_PAPER}): HIO and SC in eight dimensions", _MRE),
    "table_7_2": (table_7_2, f"Table 7.2 ({_PAPER}): three averages", ""),
    "table_7_3": (table_7_3, f"Table 7.3 ({_PAPER}): the case study", ""),
}
_NOTES: Final = (
    "Ordered attributes around one factor and skewed categories stand in for IPUMS; fan-out 5; reports are drawn.",
    "Relative errors are divided by the true answer, where the thesis prints the estimate under the line.",
)

FIGURES: Final = figures(
    "chapter_7_relative", WORKS, {name: partial(lambda _: _NOTES) for name in WORKS}, quick_sentences=False
)


if __name__ == "__main__":
    raise SystemExit(main("chapter_7_relative", FIGURES))
