"""Figure 9.4 of the thesis: how many of the 32 most frequent strings are found, against ε_c (succinct histograms).

    python -m experiments.figure_9_4 [--quick] [--json] [--records FILE]     # FILE: one text a line, in place of words

The figure has no numbers in print; held against it are the sentence of §9.6.3 about it, and what grouping users
promises. The thesis' methods answer in each of six rounds, with a sixth of ε_c and δ for each. Ours asks each user
once, hidden among all (privacy.md §2), keeps four prefixes for each string wanted, and asks twice as many for whole
strings.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from experiments import appended_unary
from experiments.chapters import Panel, draw
from experiments.methods import local_hash, sh_epsilon, solh_cells
from experiments.populations import DataSet
from experiments.report import Result, Row, statement
from experiments.running import main, progress
from experiments.searches import Drawn, Holders, by_zipf, from_file, letters, searched
from peos.crypto.randomness import Randomness
from peos.estimate.grouped import GroupedOracle
from peos.privacy.composition import Release, composed
from peos.privacy.theorem import fourteen
from peos.tasks import PrefixSearch, heavy_hitters, treehist

PAPER: Final = "Figure 9.4 (thesis §9.6.3): F1 of the 32 most frequent strings, varying ε_c"
USERS: Final = 500_000
DISTINCT: Final = 120_000
DELTA: Final = 1e-9
BYTES, K, ROUNDS = 6, 32, 6
RUNS: Final = 10
QUICK_RUNS: Final = 2
TARGETS: Final = tuple(round(0.1 * step, 1) for step in range(1, 11))
QUICK: Final = (0.1, 0.3, 1.0)
AXIS: Final = "ε against the analyzer"
LOCAL: Final = "ε of each user's report"
OURS_HERE: Final = "ours"
LIMITED: Final = "ours, ε_l ≤ 5"
THESIS: Final = ("SH", "SOLH", "AUE", "RAP")
UNSHUFFLED: Final = ("OLH", "Had")
GROUPED: Final = ((2.5, 16), (5.0, 256), (6.5, 1024), (9.0, 65536))
SIX_TIMES: Final = ((2.5, 16), (4.0, 64), (5.0, 256), (6.0, 1024))
ALONE: Final = ((1.0, 4), (4.0, 64))
SLACK: Final = 0.06

Found = Mapping[str, tuple[float, float, int]]


def oracles(target: float, users: int) -> Iterator[tuple[str, GroupedOracle]]:
    """What each of the thesis' estimators has in each round, of a sixth of ε_c and δ, as its theorems give it."""
    share, cells = target / ROUNDS, K * 256 + 1  # a candidate, or none
    data = DataSet("strings", users, cells, DELTA / ROUNDS)
    told = math.exp(sh_epsilon(share, data))
    yield "SH", GroupedOracle(p=told / (told + cells - 1), u=1 / (told + cells - 1))
    hashed = local_hash(share, solh_cells(share, data), data, cells)
    yield "SOLH", pure(math.exp(hashed.epsilon_local), hashed.cells)
    added = appended_unary.increment(share, users, data.delta)
    if added > 0:
        noise = added * (1 - added)  # of each number, whatever it counts: here by a chance that errs as much
        yield "AUE", GroupedOracle(p=1.0, u=noise / (1 + noise))
    flipped = share**2 * (users - 1) / (4 * fourteen(data.delta / 2))  # e^(ε_l/2) + 1, by theorem 9.3.1
    flipped = max(flipped, math.exp(share / 2) + 1)
    yield "RAP", GroupedOracle(p=1 - 1 / flipped, u=1 / flipped)


def pure(told: float, cells: int) -> GroupedOracle:
    """Local hashing with ideal functions."""
    return GroupedOracle(p=told / (told + cells - 1), u=1 / cells)


class Scores:
    """Of each run over the same populations: F1 by drawing, method and x."""

    def __init__(self, holders: Sequence[Holders], rng: np.random.Generator) -> None:
        self.holders, self.rng, self.users = holders, rng, holders[0].users
        self.panels: dict[str, Panel] = {}
        self.claimed: dict[tuple[str, str, float], float] = {}

    def add(self, panel: tuple[str, str], method: str, x: float, found: Iterator[Sequence[str]]) -> None:
        """Labels that each run found."""
        f1 = [holders.score(labels, K)[0] for holders, labels in zip(self.holders, found, strict=True)]
        self.panels.setdefault(panel[0], Panel(*panel)).put(x, method, f1)

    def every_round(self, search: PrefixSearch, oracle: GroupedOracle) -> Iterator[Sequence[str]]:
        """Everybody answers in each round."""
        for holders in self.holders:
            yield search.decode(Drawn(holders, search.views, oracle, self.rng, shares=None)).labels

    def partitioned(self, search: PrefixSearch, oracle: GroupedOracle) -> Iterator[Sequence[str]]:
        """Each user answers in one round."""
        shares = [weight / sum(search.weights) for weight in search.weights]
        for holders in self.holders:
            yield search.decode(Drawn(holders, search.views, oracle, self.rng, shares=shares)).labels

    def task(self, panel: tuple[str, str], method: str, x: float, task: PrefixSearch) -> None:
        """A task as it is, and what it claims."""
        self.claimed[panel[0], method, x] = task.plan.guarantees.server.epsilon
        self.add(panel, method, x, (searched(task, holders, self.rng).labels for holders in self.holders))

    def in_words(self) -> Iterator[str]:
        """What is claimed against the analyzer where ε_l is given."""
        for name in (BEAMS[0], OFTEN[0]):
            of = {x: claimed for (panel, _, x), claimed in self.claimed.items() if panel == name}
            if of:
                said = ", ".join(f"ε_l = {x:g}: ε_c = {claimed:.3f}" for x, claimed in sorted(of.items()))
                yield f"{name[0].upper()}{name[1:]}, by exact accounting at δ = {DELTA:g}: {said}."

    def rows(self) -> Iterator[Row]:
        """Every point."""
        for name, panel in self.panels.items():
            for row in panel.rows():
                claimed = self.claimed.get((name, row["method"], row["x"]))
                yield {**row, "eps_server": claimed and float(f"{claimed:.4g}")}


TREE: Final = ("Zipf words", AXIS)
BEAMS: Final = ("each user in one group, hidden among all", LOCAL)
OFTEN: Final = ("everybody answers every level", LOCAL)
UNHIDDEN: Final = ("local hashing without a shuffle, six groups", LOCAL)


def of_targets(scores: Scores, targets: Sequence[float]) -> None:
    """The figure."""
    thesis = treehist(8 * BYTES, K, users=scores.users, delta=DELTA)
    for target in targets:
        progress(f"figure_9_4: ε_c = {target:g}")
        for method, oracle in oracles(target, scores.users):
            scores.add(TREE, method, target, scores.every_round(thesis, oracle))
        told = math.exp(target)
        for method, cells in (("OLH", max(2, round(told + 1))), ("Had", 2)):
            scores.add(TREE, method, target, scores.partitioned(thesis, pure(told, cells)))
        for method, limit in ((OURS_HERE, None), (LIMITED, 5.0)):
            task = heavy_hitters(BYTES, K, users=scores.users, delta=DELTA, eps_server=target, eps_local=limit, fakes=0)
            scores.task(TREE, method, target, task)


def of_choices(scores: Scores, *, quick: bool) -> None:
    """What beam and groups do, at given ε_l and d'."""
    for local, cells in GROUPED[1:2] if quick else GROUPED:
        for beam, last in ((K, 1), (4 * K, 2)) if quick else ((K, 1), (2 * K, 1), (4 * K, 1), (4 * K, 2), (4 * K, 5)):
            method = f"beam {beam}" + (f", last group {last} times" if last > 1 else "")
            scores.task(BEAMS, method, local, _tree(scores.users, local, cells, beam, last))
    if quick:
        return
    for local, cells in SIX_TIMES:
        for beam in (K, 4 * K):
            task = _tree(scores.users, local, cells, beam, 1)
            release = Release("a level", task.plan.mechanism, scores.users - 1, 0)
            scores.claimed[OFTEN[0], f"beam {beam}", local] = composed([release] * ROUNDS, DELTA).epsilon
            scores.add(OFTEN, f"beam {beam}", local, scores.every_round(task, task.plan.mechanism.oracle))
    for local, cells in ALONE:
        for beam in (K, 2 * K):
            task = _tree(scores.users, local, cells, beam, 1)
            scores.add(UNHIDDEN, f"beam {beam}", local, scores.partitioned(task, task.plan.mechanism.oracle))


def _tree(users: int, local: float, cells: int, beam: int, last: int) -> PrefixSearch:
    return treehist(
        8 * BYTES, K, beam=beam, last=last, users=users, delta=DELTA, eps_local=local, d_prime=cells, fakes=0
    )


def sentences(scores: Scores) -> Iterator[Row]:
    """What is said of the figure, and what holds of ours."""
    tree = scores.panels[TREE[0]]
    found = {method: tree.of(method) for method in (*THESIS, *UNSHUFFLED, OURS_HERE, LIMITED)}
    most = {x: max(found[name][x] for name in UNSHUFFLED) for x in found["SOLH"]}
    late = [x for x in most if x >= 0.3]
    yield statement(
        "except SH, the other shuffler-based methods outperform the LDP TreeHist (OLH and Had)",
        "; ".join(
            f"{name} from ε_c = {min((x for x in found[name] if found[name][x] > most[x]), default=math.inf):g} on"
            for name in ("SOLH", "AUE", "RAP")
        ),
        holds=False,
        erratum="with a sixth of a small ε_c for each round nothing is amplified, and AUE does not exist below .6",
        instead=all(found[name][x] > most[x] for name in ("SOLH", "AUE", "RAP") for x in found[name] if x >= 0.7),
    )
    yield statement(
        "OLH, Had < SOLH < ours from ε_c = .3 on, and nowhere the other way by more than .06",
        f"at .3: {most[0.3]:.2f} < {found['SOLH'][0.3]:.2f} < {found[LIMITED][0.3]:.2f}",
        holds=all(most[x] < found["SOLH"][x] < found[LIMITED][x] for x in late)
        and all(most[x] <= found["SOLH"][x] + SLACK for x in most),
    )
    yield statement(
        "ours at ε_c = .1 finds more than SOLH at ε_c = 1",
        f"{found[LIMITED][0.1]:.2f} (ε_l ≤ 5), {found[OURS_HERE][0.1]:.2f} (any ε_l), {found['SOLH'][1.0]:.2f} (SOLH)",
        holds=min(found[LIMITED][0.1], found[OURS_HERE][0.1]) > found["SOLH"][1.0],
    )
    beams = scores.panels[BEAMS[0]]
    for x in beams.of(f"beam {K}"):
        wide, narrow = beams.of(f"beam {4 * K}, last group 2 times")[x], beams.of(f"beam {K}")[x]
        yield statement(
            f"a beam of 4k is no worse than one of k, ε_l = {x:g}",
            f"{wide:.2f} and {narrow:.2f}",
            holds=wide >= narrow - SLACK,
        )


def run(quick: bool, rng: Randomness) -> Result:
    """Random words."""
    drawn = np.random.default_rng(int.from_bytes(rng.bytes(16)))
    words = [words_of(drawn) for _ in range(QUICK_RUNS if quick else RUNS)]
    scores = Scores(words, drawn)
    of_targets(scores, QUICK if quick else TARGETS)
    of_choices(scores, quick=quick)
    notes = (*_notes(len(words)), *scores.in_words())
    return Result("figure_9_4", PAPER, (*sentences(scores), *scores.rows()), notes)


def over(records: Path, quick: bool, rng: Randomness) -> Result:
    """The texts of a file, each run of the same."""
    drawn = np.random.default_rng(int.from_bytes(rng.bytes(16)))
    held = from_file(records, 8 * BYTES)
    notes = (
        f"{records.name}: {held.users:,} texts, of which {len(held.counts):,} differ in their first {BYTES} bytes.",
    )
    scores = Scores([held] * (QUICK_RUNS if quick else RUNS), drawn)
    of_targets(scores, QUICK if quick else TARGETS)
    return Result("figure_9_4", PAPER, tuple(scores.rows()), notes)


def words_of(rng: np.random.Generator) -> Holders:
    """Half a million users of random words."""
    return Holders("words", letters(rng, DISTINCT, BYTES), by_zipf(USERS, DISTINCT, 1.0, rng), 8 * BYTES)


def _notes(runs: int) -> tuple[str, ...]:
    return (
        f"Stand-in for the search log: n = {USERS:,}, {DISTINCT:,} distinct words of {BYTES} letters, Zipf with "
        f"exponent 1; a word's letters are drawn by r^-1.3. Other words and users in each of {runs} runs.",
        "Numbers of candidates are drawn from their law, group by group (experiments/searches.py).",
        f"The thesis' methods: theorems at ε_c/{ROUNDS}, δ/{ROUNDS} for each round; where a theorem amplifies nothing, "
        f"ε_l = ε_c/{ROUNDS}. RAP has the parameters of theorem 9.3.1, which does not hold (privacy.md §1).",
    )


def drawn(result: Result) -> str:
    """F1 against ε_c."""
    return draw(result, "F1")


if __name__ == "__main__":
    raise SystemExit(main("figure_9_4", PAPER, run, drawn, over=over))
