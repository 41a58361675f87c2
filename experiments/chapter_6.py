"""Figures 6.4 to 6.9 of the thesis: CALM against the systems before it, in the local model.

`python -m experiments.chapter_6 [figure_6_4 …] [--quick] [--json]`
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Final

import numpy as np
from scipy.optimize import minimize

from experiments.chapters import Panel, Work, figures, main
from experiments.people import LOADING, Floats, Ints, bits_of, classes, items
from experiments.report import Row, statement
from peos.crypto.randomness import Randomness
from peos.estimate.post_processing.norm import projected
from peos.tasks import baselines
from peos.tasks.baselines.base import Draws, Unary, adaptive
from peos.tasks.marginals.choice import choose_local
from peos.tasks.marginals.consistency import Overlaps
from peos.tasks.marginals.design import cover
from peos.tasks.marginals.maxent import marginal

RUNS: Final = 4
CLASSIFIED: Final = 12  # runs of figure 6.6
NEARLY: Final = 0.03
TRUE_TABLES: Final = "CALM's tables, no noise"
ALL_PAIRS: Final = "all pairs"
QUERIES: Final = 12
Blocks = tuple[tuple[int, ...], ...]
Table = Callable[[tuple[int, ...]], Floats]


def asked(
    columns: Ints, sizes: Sequence[int], blocks: Blocks, epsilon: float, rng: np.random.Generator
) -> list[Floats]:
    """One table to each user, each by the better oracle: (1, values of the first attribute, …)."""
    draws = Draws(Randomness(rng.bytes(32)))
    chosen = draws.below(len(blocks), len(columns))
    order = np.argsort(chosen, kind="stable")
    ends = np.searchsorted(chosen[order], np.arange(len(blocks) + 1))
    found = []
    for at, block in enumerate(blocks):
        rows, shape = order[ends[at] : ends[at + 1]], tuple(sizes[one] for one in block)
        oracle = adaptive(math.prod(shape), epsilon)
        cells = np.ravel_multi_index([columns[rows, one] for one in block], shape).astype(np.int64)
        sent = oracle.drawn(cells, draws)
        counts = sent.sum(axis=0) if isinstance(oracle, Unary) else np.bincount(sent, minlength=oracle.cells)
        found.append(oracle.unbiased(counts.astype(np.int64), len(rows)).reshape(1, *shape))
    return found


def fitted(sizes: Sequence[int], blocks: Blocks, tables: Sequence[Floats]) -> Table:
    """Consistent, non-negative, by maximum entropy where no table has it."""
    overlaps = Overlaps(blocks, tuple(sizes))

    def variance(table: int, cells: int) -> float:
        return overlaps.cells(blocks[table]) / cells

    made = overlaps.fitted(tables, variance)
    return lambda attributes: np.asarray(marginal(overlaps, made, attributes)[0])


def views(users: int, d: int, k: int, epsilon: float, rng: np.random.Generator) -> Blocks:
    """Algorithm 2's choice; where its tables are fewer than all or than a cover, each attribute as often."""
    t, s = choose_local(users, d, k, epsilon)
    return spread(d, s, t, rng, k)


def spread(d: int, s: int, t: int, rng: np.random.Generator, k: int = 0) -> Blocks:
    """t blocks of s attributes: a cover if that has so many, else drawn so that each attribute is in as many."""
    if k and s >= k and len(cover(d, k, s)) == t:
        return cover(d, k, s)
    t, found, uses = min(t, math.comb(d, s)), set[tuple[int, ...]](), np.zeros(d)
    while len(found) < t:
        block = tuple(sorted(np.argsort(uses + rng.random(d) * (1 + len(found) // max(t, 1)))[:s].tolist()))
        if block in found:
            block = tuple(sorted(rng.choice(d, s, replace=False).tolist()))
        if block not in found:
            found.add(block)
            uses[list(block)] += 1
    return tuple(sorted(found))


def calm(columns: Ints, sizes: Sequence[int], k: int, epsilon: float, rng: np.random.Generator) -> Table:
    """CALM with its own choice of tables; attributes of more values count by the bits that they have."""
    d = round(sum(map(math.log2, sizes))) if max(sizes) > 2 else len(sizes)
    _, bits = choose_local(len(columns), d, k, epsilon)
    s = max(2, round(bits * len(sizes) / d)) if max(sizes) > 2 else bits
    blocks = (
        spread(len(sizes), min(s, len(sizes)), max(1, len(columns) // 1000), rng, k)
        if max(sizes) > 2
        else views(len(columns), len(sizes), k, epsilon, rng)
    )
    return fitted(sizes, blocks, asked(columns, sizes, blocks, epsilon, rng))


def every_table(
    columns: Ints,
    sizes: Sequence[int],
    sets: Sequence[tuple[int, ...]],
    k: int,
    epsilon: float,
    rng: np.random.Generator,
) -> Table:
    """AM: all tables of k attributes; of these only the ones asked for are drawn, by as many users as they get."""
    share = 1 / math.comb(len(sizes), k)

    def table(attributes: tuple[int, ...]) -> Floats:
        rows = rng.random(len(columns)) < share
        return shares_of(asked(columns[rows], sizes, (attributes,), epsilon, rng)[0][0])

    del sets
    return table


def whole(columns: Ints, sizes: Sequence[int], epsilon: float, rng: np.random.Generator) -> Table:
    """FC: all cells at once; counts of bits by their law."""
    cells = math.prod(sizes)
    values = np.ravel_multi_index(list(columns.T), tuple(sizes))
    oracle = adaptive(cells, epsilon)
    if isinstance(oracle, Unary):
        holders = np.bincount(values, minlength=cells)
        counts = rng.binomial(holders, oracle.p) + rng.binomial(len(columns) - holders, oracle.q)
    else:
        counts = np.bincount(oracle.drawn(values.astype(np.int64), Draws(Randomness(rng.bytes(32)))), minlength=cells)
    found = oracle.unbiased(counts.astype(np.int64), len(columns)).reshape(tuple(sizes))
    return lambda attributes: shares_of(_summed(found, attributes))


def transform(columns: Ints, sizes: Sequence[int], k: int, epsilon: float, rng: np.random.Generator) -> Table:
    """FT over bits; attributes of three values have two."""
    width = [max(1, math.ceil(math.log2(size))) for size in sizes]
    starts = np.cumsum([0, *width])
    bits = np.column_stack([columns[:, at] >> bit & 1 for at, size in enumerate(width) for bit in range(size)])
    most = sum(sorted(width, reverse=True)[:k])
    made = baselines.ft(len(bits[0]), most, epsilon)
    tables = made.decode(made.randomize(bits_of(bits.astype(np.bool_)), Draws(Randomness(rng.bytes(32)))))

    def table(attributes: tuple[int, ...]) -> Floats:
        places = [int(starts[one]) + bit for one in attributes for bit in range(width[one])]
        found = tables(places).reshape([2 ** width[one] for one in reversed(attributes)]).T
        return shares_of(found[tuple(slice(sizes[one]) for one in attributes)])

    return table


def likely(columns: Ints, k: int, epsilon: float, rng: np.random.Generator) -> Table:
    """EM over bits, each at ε/d."""
    del k
    made = baselines.em(columns.shape[1], epsilon)
    tables = made.decode(made.randomize(bits_of(columns.astype(np.bool_)), Draws(Randomness(rng.bytes(32)))))
    return lambda attributes: tables(attributes).reshape((2,) * len(attributes)).T


def shares_of(table: Floats) -> Floats:
    """The nearest table of shares."""
    return projected(table.reshape(-1)).reshape(table.shape)


def _summed(table: Floats, attributes: tuple[int, ...]) -> Floats:
    gone = tuple(axis for axis in range(table.ndim) if axis not in attributes)
    order = sorted(attributes)
    return np.asarray(np.moveaxis(table.sum(axis=gone), [order.index(one) for one in attributes], range(len(order))))


def truth_of(columns: Ints, sizes: Sequence[int], attributes: tuple[int, ...]) -> Floats:
    """The true table."""
    shape = tuple(sizes[one] for one in attributes)
    cells = np.ravel_multi_index([columns[:, one] for one in attributes], shape)
    return np.asarray(np.bincount(cells, minlength=math.prod(shape)).reshape(shape) / len(columns))


def queries(d: int, k: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Random sets of k attributes."""
    return [tuple(sorted(rng.choice(d, k, replace=False).tolist())) for _ in range(QUERIES)]


def errors(table: Table, columns: Ints, sizes: Sequence[int], sets: Sequence[tuple[int, ...]]) -> float:
    """Mean squared error of a table, summed over its cells."""
    return float(np.mean([np.sum((table(one) - truth_of(columns, sizes, one)) ** 2) for one in sets]))


def kosarak(users: int, d: int, rng: np.random.Generator, loading: float = LOADING) -> Ints:
    """Whether each user has each of the most frequent items."""
    found = items(users, d, rng, loading)
    return found[:, np.newaxis] >> np.arange(d) & 1


EPSILONS: Final = (0.2, 0.6, 1.0, 2.0)
SETTINGS: Final = ((8, 3, 16), (16, 3, 16), (32, 3, 16), (16, 6, 18), (32, 6, 18), (32, 8, 18))


def compare(
    panel: Panel,
    columns_of: Callable[[], Ints],
    sizes: Sequence[int],
    k: int,
    names: Sequence[str],
    quick: bool,
    rng: np.random.Generator,
) -> None:
    """All methods of the names at every ε."""
    for epsilon in (0.6, 2.0) if quick else EPSILONS:
        found: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(1 if quick else RUNS):
            columns = columns_of()
            sets = queries(len(sizes), k, rng)
            builds: dict[str, Callable[[], Table]] = {
                "CALM": partial(calm, columns, sizes, k, epsilon, rng),
                "FT": partial(transform, columns, sizes, k, epsilon, rng),
                "AM": partial(every_table, columns, sizes, sets, k, epsilon, rng),
                "FC": partial(whole, columns, sizes, epsilon, rng),
                "EM": partial(likely, columns, k, epsilon, rng),
                "BE": partial(encoded, columns, sizes, k, epsilon, rng),
                "Uni": lambda: lambda one: np.full([sizes[a] for a in one], 1 / math.prod(sizes[a] for a in one)),
            }
            for name in names:
                found[name].append(errors(builds[name](), columns, sizes, sets))
        for name, each in found.items():
            panel.put(epsilon, name, each)


def encoded(columns: Ints, sizes: Sequence[int], k: int, epsilon: float, rng: np.random.Generator) -> Table:
    """BE: CALM over two bits for each attribute."""
    bits = np.column_stack([columns[:, at] >> bit & 1 for at in range(len(sizes)) for bit in (1, 0)])
    table = calm(bits, [2] * bits.shape[1], min(2 * k, 6), epsilon, rng)

    def found(attributes: tuple[int, ...]) -> Floats:
        whole = table(tuple(2 * one + bit for one in attributes for bit in (0, 1))).reshape([4] * len(attributes))
        return whole[tuple(slice(sizes[one]) for one in attributes)]

    return found


def _over(panel: Panel, one: str, other: str) -> str:
    return ", ".join(f"{value / panel.of(other)[x]:.1f}" for x, value in panel.of(one).items())


def figure_6_4(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """Binary data."""
    panels = {}
    for d, k, power in SETTINGS[:2] if quick else SETTINGS:
        names = ["CALM", "Uni", "AM"] if math.comb(d, k) < 2**17 else ["CALM", "Uni"]
        names += ["FT"] if k == 3 else []
        names += ["FC"] if d <= 16 else []
        names += ["EM"] if k == 3 and d <= 16 else []
        panel = panels[d, k] = Panel(f"d = {d}, k = {k}, n = 2^{power}", "ε")
        users = 2**10 if quick else 2**power
        compare(panel, partial(kosarak, users, d, rng), [2] * d, k, names, quick, rng)
    if not quick:
        large = panels[16, 3].at(0.2)
        yield statement(
            "at ε = 0.2, d = 16, k = 3, n = 2^16 CALM errs by .0055, FT by .2266, 41 times as much",
            f"CALM {large['CALM']:.4f}, FT {large['FT']:.4f}: {large['FT'] / large['CALM']:.1f} times",
            holds=35 < large["FT"] / large["CALM"] < 50,
            erratum="FT's number is of projected tables; CALM's is below the noise of its own 65 tables of 2",
            instead=large["FT"] / large["CALM"] >= 4,
        )
        gaps = {key: panel.of("FT")[0.2] / panel.of("CALM")[0.2] for key, panel in panels.items() if key[1] == 3}
        yield statement(
            "CALM errs less than FT, the more so the larger d",
            ", ".join(f"d = {d}: {value:.1f} times" for (d, _), value in gaps.items()),
            holds=gaps[8, 3] > 0.8 and gaps[8, 3] < gaps[16, 3] < gaps[32, 3],
        )
        others = [
            panel.of("FT")[x] < min(panel.of("AM")[x], panel.of("FC").get(x, 9))
            for key, panel in panels.items()
            if key == (16, 3)
            for x in panel.of("FT")
        ]
        yield statement(
            "FT errs less than FC and AM, d = 16", f"at {sum(others)} of {len(others)} ε", holds=sum(others) >= 3
        )
        em = panels[16, 3].of("EM")[0.2] / panels[16, 3].of("Uni")[0.2]
        yield statement(
            "EM is often worse than the uniform table", f"{em:.1f} times its error, d = 16, ε = .2", holds=em > 0.9
        )
        best = [
            min(panel.at(x), key=panel.at(x).__getitem__) == "CALM"
            for key, panel in panels.items()
            if key[0] > 8
            for x in panel.of("CALM")
        ]
        yield statement(
            "CALM performs best beyond d = 8",
            f"in {sum(best)} of {len(best)} settings",
            holds=sum(best) >= len(best) - 1,
        )
    for panel in panels.values():
        yield from panel.rows()


def figure_6_5(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """Attributes of three categories."""
    panels = []
    for name, users, d, k in (("Adult", 50_000, 8, 3), ("US", 40_000, 8, 3), ("Adult", 50_000, 16, 6)):
        sizes = (3, 2) * (d // 2)
        panel = Panel(f"{name} (stand-in), d = {d}, k = {k}", "ε")
        names = ["CALM", "BE", "AM", "Uni", *(["FC", "FT"] if d == 8 else [])]
        columns = classes(users // (40 if quick else 1), sizes, rng)
        compare(panel, partial(np.copy, columns), sizes, k, names, quick, rng)
        panels.append(panel)
    if not quick:
        at = panels[0].at(1.0)
        yield statement(
            "FT performs worst of all in non-binary data, d = 8, k = 3",
            ", ".join(f"{name} {value:.3g}" for name, value in at.items()),
            holds=at["FT"] > max(at["FC"], at["AM"]),
        )
        ratios = [
            min(v for n, v in panel.at(x).items() if n in ("FT", "FC", "AM")) / panel.at(x)["CALM"]
            for panel in panels
            for x in panel.of("CALM")
        ]
        yield statement(
            "CALM is 10 to 100 times better than the methods before it",
            "over it, by setting and ε: " + ", ".join(f"{one:.1f}" for one in ratios),
            holds=min(ratios) > 10,
            erratum="with the same projection for all methods the gap is smaller where there is little noise",
            instead=float(np.median(ratios)) > 1.5,
        )
        worse = [panel.at(x)["BE"] / panel.at(x)["CALM"] for panel in panels for x in panel.of("BE")]
        yield statement(
            "CALM outperforms BE", ", ".join(f"{one:.1f}" for one in worse), holds=float(np.median(worse)) > 1
        )
    for panel in panels:
        yield from panel.rows()


def figure_6_6(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """Linear classifiers from six-way tables."""
    panels = []
    for power in (12,) if quick else (16, 18, 20):
        panel = Panel(f"Adult (stand-in), d = 15, n = 2^{power}", "ε")
        for epsilon in (0.6, 2.0) if quick else EPSILONS:
            found: dict[str, list[float]] = {name: [] for name in ("NoNoise", "Majority", "CALM", "FC", "AM")}
            both = power == 16 and epsilon == 2.0
            for _ in range(2 if quick else CLASSIFIED):
                columns = labelled(2**power, rng)
                held = rng.random(len(columns)) < 0.2
                train, test, sizes = columns[~held], columns[held], [2] * 15
                chosen = (0, *sorted(rng.choice(np.arange(1, 15), 5, replace=False).tolist()))
                tables = {
                    "NoNoise": truth_of(train, sizes, chosen),
                    "CALM": calm(train, sizes, 6, epsilon, rng)(chosen),
                    "FC": whole(train, sizes, epsilon, rng)(chosen),
                    "AM": every_table(train, sizes, (), 6, epsilon, rng)(chosen),
                    **(_of_pairs(train, sizes, chosen, epsilon, rng) if both else {}),
                }
                for name, table in tables.items():
                    found.setdefault(name, []).append(misclassified(table, test[:, list(chosen)]))
                found["Majority"].append(float(min(test[:, 0].mean(), 1 - test[:, 0].mean())))
            for name, each in found.items():
                panel.put(epsilon, name, each)
        panels.append(panel)
    last = [panel.at(2.0) for panel in panels]
    above = [at["CALM"] - at["NoNoise"] for at in last]
    first, blind = last[0], not quick and above[0] >= NEARLY
    yield statement(
        "the misclassification of CALM is close to that without noise",
        "at ε = 2, by n: " + ", ".join(f"{at['CALM']:.3f} for {at['NoNoise']:.3f}" for at in last),
        holds=max(above) < NEARLY,
        erratum="at n = 2^16 rule (6.4) keeps to n/1000 tables, which leaves half of the pairs without one: without "
        f"any noise its tables misclassify {first[TRUE_TABLES]:.3f}, all pairs with noise {first[ALL_PAIRS]:.3f}"
        if blind
        else "",
        instead=blind
        and max(above[1:]) < NEARLY
        and abs(first["CALM"] - first[TRUE_TABLES]) < NEARLY
        and first[ALL_PAIRS] < min(first["CALM"], first["NoNoise"] + 0.04),
    )
    if not quick:
        small = panels[0].at(0.2)
        yield statement(
            "at small ε FC and AM are not better than Majority",
            ", ".join(f"{name} {value:.3f}" for name, value in small.items()),
            holds=min(small["FC"], small["AM"]) > small["Majority"] - 0.03,
        )
        gains = [panel.at(0.6)["CALM"] - panel.at(0.6)["NoNoise"] for panel in panels]
        yield statement(
            "more users help",
            "above no noise at ε = .6, by n: " + ", ".join(f"{one:.3f}" for one in gains),
            holds=gains[-1] <= gains[0] + 0.005,
        )
    for panel in panels:
        yield from panel.rows()


def _of_pairs(
    columns: Ints, sizes: Sequence[int], chosen: tuple[int, ...], epsilon: float, rng: np.random.Generator
) -> dict[str, Floats]:
    """What CALM misses at this size: its own tables without noise, and the tables of all pairs with it."""
    own, every = views(len(columns), len(sizes), 6, epsilon, rng), tuple(combinations(range(len(sizes)), 2))
    true = [truth_of(columns, sizes, block)[np.newaxis] for block in own]
    return {
        TRUE_TABLES: fitted(sizes, own, true)(chosen),
        ALL_PAIRS: fitted(sizes, every, asked(columns, sizes, every, epsilon, rng))(chosen),
    }


def labelled(users: int, rng: np.random.Generator) -> Ints:
    """Fourteen attributes around one factor, and a label first that follows it."""
    factor = rng.normal(size=(users, 1))
    levels = np.linspace(-0.6, 0.8, 14)
    features = 0.7 * factor + 0.7 * rng.normal(size=(users, 14)) > levels
    label = factor[:, 0] + 0.5 * rng.normal(size=users) > 0.5
    return np.column_stack([label, features]).astype(np.int64)


def misclassified(table: Floats, test: Ints) -> float:
    """By the line of least hinge loss over the cells of a table (label, five features)."""
    shares = np.maximum(table.reshape(2, -1), 0.0)
    points = np.column_stack([np.array(list(np.ndindex(*table.shape[1:])), float), np.ones(shares.shape[1])])

    def loss(line: Floats) -> float:
        at = points @ line
        hinge = shares[1] @ np.logaddexp(0, 8 * (1 - at)) + shares[0] @ np.logaddexp(0, 8 * (1 + at))
        return float(hinge / 8 + 1e-3 * line[:-1] @ line[:-1])

    line = minimize(loss, np.zeros(points.shape[1]), method="L-BFGS-B").x
    return float(np.mean((np.column_stack([test[:, 1:], np.ones(len(test))]) @ line > 0) != test[:, 0]))


_PAPER: Final = "thesis §6.3"
_SSE: Final = "sum of squared errors"
WORKS: Final[dict[str, tuple[Work, str, str]]] = {
    "figure_6_4": (figure_6_4, f"Figure 6.4 ({_PAPER}): methods on binary data", _SSE),
    "figure_6_5": (figure_6_5, f"Figure 6.5 ({_PAPER}): methods on categories", _SSE),
    "figure_6_6": (figure_6_6, f"Figure 6.6 ({_PAPER}): classifiers", "misclassified"),
}
NOTES: Final = (
    f"Items by a probit of one factor stand in for Kosarak, hidden classes for Adult and US; {QUERIES} tables a run.",
    "All methods' tables are projected to shares; AM's are drawn as they are asked for, FC's bits by their law.",
)

FIGURES: Final = figures("chapter_6", WORKS, {name: partial(lambda _: NOTES) for name in WORKS}, quick_sentences=False)


if __name__ == "__main__":
    raise SystemExit(main("chapter_6", FIGURES))
