"""What `Marginals` errs, next to the papers' systems, where nothing is shuffled and in one shuffle; and when flooded.

`python -m experiments.shuffled_marginals [local_marginals …] [--quick] [--json]`. The population and the metric are
those of all: binary attributes from one factor, the squared error of a k-way table summed over its cells, the mean of
12 random ones; the same consistency, step to shares and maximum entropy for every system.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Any, Final

import numpy as np

from experiments.chapters import Panel, Work, figures, main
from experiments.people import Floats, Ints, items
from experiments.report import Row, statement
from peos.crypto.randomness import Randomness
from peos.ldp.grouped_tables import GroupedTables
from peos.tasks import baselines
from peos.tasks.baselines.base import Draws
from peos.tasks.baselines.bits import cells_of, masks, parity, subsets, table_of
from peos.tasks.baselines.inputs import from_coefficients
from peos.tasks.marginals.answer import MarginalsAnswer
from peos.tasks.marginals.choice import choose_local
from peos.tasks.marginals.consistency import Overlaps, shares
from peos.tasks.marginals.design import Block, cover
from peos.tasks.marginals.maxent import marginal
from peos.tasks.marginals.task import Marginals
from peos.tasks.planning import Asked, planned_tables

RUNS: Final = 10
QUERIES: Final = 12
DELTA: Final = 1e-6
SETTINGS: Final = ((16, 3, 2**16, 1.0, 8.0), (16, 3, 2**16, 0.2, 5.0), (32, 6, 2**18, 0.2, None))
Table = Callable[[Sequence[int]], Floats]


def sse(table: Table, records: Ints, d: int, k: int, rng: np.random.Generator) -> float:
    """The mean over random k-sets of Σ(f̂ − f)²; cells as numbers whose lowest bit is the first attribute."""
    chosen = [sorted(rng.choice(d, k, replace=False).tolist()) for _ in range(QUERIES)]
    return float(np.mean([np.sum((table(one) - table_of(records, one)) ** 2) for one in chosen]))


def as_shares(table: Table) -> Table:
    """The nearest table of shares."""
    return lambda attributes: shares(table(attributes)[np.newaxis])[0]


def ft(records: Ints, d: int, k: int, epsilon: float, rng: np.random.Generator) -> Table:
    """FT in the local model."""
    made = baselines.ft(d, k, epsilon)
    return as_shares(made.decode(made.randomize(records, Draws(Randomness(rng.bytes(32))))))


def ft_shuffled(records: Ints, d: int, k: int, asked: Asked, rng: np.random.Generator) -> Table:
    """FT as hidden tables of two cells, at the same ε_c."""
    sets = masks(subsets(d, range(1, k + 1)))
    plan = planned_tables(asked, [2] * len(sets))
    cells = np.stack([parity(records, int(mask)) for mask in sets], axis=1)
    odd = _frequency(plan.mechanism, cells, plan.fakes, rng)[1::2]
    place = {int(mask): at for at, mask in enumerate(sets)}
    return as_shares(partial(from_coefficients, lambda mask: 1.0 - 2.0 * float(odd[place[mask]])))


def _frequency(mechanism: GroupedTables, cells: Ints, fakes: int, rng: np.random.Generator) -> Floats:
    draws = Randomness(rng.bytes(32))
    words = np.concatenate((mechanism.randomize(cells, draws), draws.uint64((fakes, 1))))
    return mechanism.estimate(mechanism.tally(words), len(cells), fakes).frequency


def calm(records: Ints, d: int, k: int, epsilon: float, rng: np.random.Generator) -> Table:
    """CALM in the local model: Algorithm 2, its views by the better oracle, and what all are given."""
    t, s = choose_local(len(records), d, k, epsilon)
    sets = _views(d, k, t, s)
    made = baselines.calm(sets, epsilon)
    found = made.decode(made.randomize(records, Draws(Randomness(rng.bytes(32)))))(None)
    overlaps = Overlaps(tuple(sets), (2,) * d)
    tables = [one.reshape((1, *[2] * s)).transpose(0, *range(s, 0, -1)) for one in found]
    fitted = overlaps.fitted(tables, lambda _, cells: 1.0 / cells)
    return lambda attributes: _lowest_first(marginal(overlaps, fitted, attributes)[0])


def _views(d: int, k: int, t: int, s: int) -> list[Block]:
    """A cover of all k-sets if it is one of so many; else sets in whose number each attribute is as often as others."""
    if s >= k and len(found := cover(d, k, s)) == t and {*map(len, found)} == {s}:
        return list(found)
    apart = sorted(combinations(range(d), s), key=lambda one: (one[-1] - one[0]) % (d // 2 + 1))
    often, chosen = np.zeros(d), list[Block]()
    for _ in range(min(t, len(apart))):
        best = min(apart, key=lambda one: sum(often[at] for at in one))
        apart.remove(best)
        chosen.append(best)
        often[list(best)] += 1
    return chosen


def _lowest_first(table: Floats) -> Floats:
    return np.asarray(table.transpose().reshape(-1))


def ours(task: Marginals, records: Ints, rng: np.random.Generator) -> Table:
    """`Marginals`, from real reports on."""
    blocks, plan = task.design.blocks, task.plan
    cells = np.stack([cells_of(records, block[::-1]) for block in blocks], axis=1)
    draws = Randomness(rng.bytes(32))
    words = np.concatenate((plan.mechanism.randomize(cells, draws), draws.uint64((plan.fakes, 1))))
    answer = task.next([task.decode(plan.mechanism.reports(words, len(records), plan.fakes))])
    assert isinstance(answer, MarginalsAnswer)
    return lambda attributes: _lowest_first(answer.table(*(f"a{one}" for one in attributes)).frequency)


def marginals(d: int, k: int, users: int, eps_server: float, eps_local: float | None) -> Marginals:
    """The task of a setting."""
    schema = {f"a{at}": ["no", "yes"] for at in range(d)}
    return Marginals(schema, ways=k, users=users, delta=DELTA, eps_server=eps_server, eps_local=eps_local)


def local_marginals(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """FT and CALM where nothing is shuffled: ε = .2, k = 3."""
    panel, users, runs = Panel("local, ε = .2, k = 3", "attributes"), 2**13 if quick else 2**16, 1 if quick else RUNS
    for d, bar in ((16, 4.0), (32, 8.0)):
        found: dict[str, list[float]] = {"FT": [], "CALM": []}
        for _ in range(runs):
            records = items(users, d, rng)
            found["FT"].append(sse(ft(records, d, 3, 0.2, rng), records, d, 3, rng))
            found["CALM"].append(sse(calm(records, d, 3, 0.2, rng), records, d, 3, rng))
        for name, each in found.items():
            panel.put(d, name, each)
        means = panel.at(d)
        ratio = means["FT"] / means["CALM"]
        yield statement(f"FT / CALM at d = {d} is at least {bar:g}", f"{ratio:.2f}", holds=ratio >= bar)
    yield from panel.rows()


def shuffled_marginals(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """`Marginals` by setting; FT at the same ε_c and CALM in the local model at ε_l = 1 where they have a bar."""
    panel, runs = Panel("summed squared error", "setting"), 1 if quick else RUNS
    bars: tuple[dict[str, Any], ...] = ({"sse": 1e-4, "FT": 40, "CALM": 40}, {"sse": 3e-4, "FT": 20}, {"sse": 2.5e-4})
    for at, (setting, bar) in enumerate(zip(SETTINGS, bars, strict=True), start=1):
        d, k, whole, eps_server, eps_local = setting
        users = whole // 8 if quick else whole
        task = marginals(d, k, users, eps_server, eps_local)
        asked = Asked(users=users, delta=DELTA, eps_server=eps_server, eps_local=eps_local)
        found: dict[str, list[float]] = {"Marginals": [], **{name: [] for name in ("FT", "CALM") if name in bar}}
        for _ in range(runs):
            records = items(users, d, rng)
            found["Marginals"].append(sse(ours(task, records, rng), records, d, k, rng))
            if "FT" in bar:
                found["FT"].append(sse(ft_shuffled(records, d, k, asked, rng), records, d, k, rng))
            if "CALM" in bar:
                found["CALM"].append(sse(calm(records, d, k, 1.0, rng), records, d, k, rng))
        for name, each in found.items():
            panel.put(at, name, each)
        means = panel.at(at)
        of = f"d = {d}, k = {k}, n = {users:,}, ε_c = {eps_server:g} ({task.design.in_words()})"
        yield statement(
            f"{of}: at most {bar['sse']:g}", f"{means['Marginals']:.3g}", holds=means["Marginals"] <= bar["sse"]
        )
        for name in found.keys() - {"Marginals"}:
            ratio = means[name] / means["Marginals"]
            what = "FT shuffled at the same ε_c" if name == "FT" else "CALM local at ε_l = 1"
            yield statement(f"{of}: {what} errs {bar[name]} times", f"{ratio:.1f}", holds=ratio >= bar[name])
    yield from panel.rows()


WORKS: Final[dict[str, tuple[Work, str, str]]] = {
    "local_marginals": (local_marginals, "Marginals in the local model, by systems", "SSE"),
    "shuffled_marginals": (shuffled_marginals, "Marginals in a shuffle, next to the papers' systems", "SSE"),
}
_NOTES: Final = ("Stand-in: one-factor probit, loading .5, P = max(.6·.78^i, .04); 12 random tables a run.",)
FIGURES: Final = figures("shuffled_marginals", WORKS, {name: lambda _: _NOTES for name in WORKS}, quick_sentences=False)


if __name__ == "__main__":
    raise SystemExit(main("shuffled_marginals", FIGURES))
