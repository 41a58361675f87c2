"""Tables 4.1 to 4.3 and figures 4.2 to 4.6 of the thesis: which frequent strings are found without a shuffle.

python -m experiments.chapter_4 [table_4_1 …] [--quick] [--json]
python -m experiments.chapter_4 figure_4_2 --records FILE     # one text a line, in place of the stand-ins
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from experiments.chapter_4_methods import (
    AOL,
    FLATTER,
    METHODS,
    OTHER_DATA,
    QUICK_RUNS,
    RUNS,
    STEP,
    SYNTHETIC,
    URL,
    K,
    Source,
    made,
    runs_of,
    steps_of,
    targets,
)
from experiments.chapter_4_tables import table_4_1, table_4_2, table_4_3
from experiments.chapters import Means, Work, figures, main
from experiments.report import Result, Row, statement
from experiments.searches import Holders, from_file, searched
from peos.crypto.randomness import Randomness
from peos.tasks import HASH, LinkedHASH, LinkedSPM, pem
from peos.tasks.base import Task

EPSILONS: Final = (0.5, 1.0, 2.0, 4.0)
FOUR_TWO: Final = (1.0, 2.0, 4.0)
TOPS: Final = (8, 16, 30)
LOW: Final = (0.3, 0.6, 0.9, 1.2, 1.5)
THRESHOLD: Final = 0.023
SLACK: Final = 0.06
ONE_DIGIT: Final = 0.15  # half of it, and three standard errors of two means of ten runs
FEWER: Final = 5  # runs of the figures that have three data sets
LONGEST: Final = 20  # bytes of a file's texts


def scored(
    means: Means,
    source: Source,
    settings: Sequence[tuple[float, str, int, float]],
    quick: bool,
    rng: np.random.Generator,
    held: Holders | None = None,
) -> None:
    """F1 and NCR of (x, method, k, ε), each run over a population of its own, or over the one that there is."""
    for _ in range(QUICK_RUNS if quick else FEWER):
        holders = held or source.drawn(rng)
        for x, method, k, epsilon in settings:
            found = searched(made(method, source, k, holders.users, epsilon), holders, rng).labels
            for metric, value in zip(("F1", "NCR"), holders.score(found, k), strict=True):
                means.add(f"{source.name}, {metric}", x, method, value)


def figure_4_2(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """By ε."""
    means, across = Means(), "ε"
    settings = [(epsilon, method, K, epsilon) for epsilon in ((2.0,) if quick else FOUR_TWO) for method in METHODS]
    sources = (SYNTHETIC,) if quick else (URL, AOL, SYNTHETIC)
    panels = {}
    for source in sources:
        scored(means, source, settings, quick, rng)
        panels[source.name] = means.panel(f"{source.name}, F1", across)
    every = [(name, x, panel.at(x)) for name, panel in panels.items() for x in panel.of("PEM")]
    others = [method for method in METHODS if not method.startswith("PEM,") and method != "PEM"]
    yield statement(
        "PEM performs best among all",
        "by at least " + f"{min(at['PEM'] - max(at[one] for one in others) for _, _, at in every):.2f} in F1",
        holds=all(at["PEM"] >= max(at[one] for one in others) - SLACK for _, _, at in every),
    )
    yield statement(
        "PrivTrie is always worse than PEM",
        f"{max(at['PrivTrie'] - at['PEM'] for _, _, at in every):.2f} at most in its favour",
        holds=all(at["PrivTrie"] <= at["PEM"] for _, _, at in every),
    )
    if not quick:
        at = panels["URL"].at(4.0)
        yield statement(
            "URL, ε = 4: PEM achieves F1 = 0.9, and in another place > 0.8",
            f"{at['PEM']:.2f}",
            holds=at["PEM"] > 0.8 - SLACK,
        )
        others = ["HASH", "SPM", "PrivTrie"]
        scored(means, FLATTER, [(4.0, method, K, 4.0) for method in ("PEM", *others)], quick, rng)
        sources, flatter = (*sources, FLATTER), means.panel(f"{FLATTER.name}, F1", across).at(4.0)
        few, fewer = ({method: K * found[method] for method in others} for found in (at, flatter))
        yield statement(
            "URL, ε = 4: other methods can only identify two",
            ", ".join(f"{method} {value:.1f}" for method, value in few.items()),
            holds=max(few.values()) < 2.5,
            erratum="how steep Zipf's law is decides: with an exponent of .8 they find "
            + ", ".join(f"{value:.1f}" for value in fewer.values())
            + f", and PEM {K * flatter['PEM']:.1f}",
            instead=max(fewer.values()) < 2.5 and 3 * max(few.values()) < K * at["PEM"],
        )
    for source in sources:
        for metric in ("F1", "NCR"):
            yield from means.panel(f"{source.name}, {metric}", across).rows()


def figure_4_3(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """By k."""
    means, across = Means(), "k"
    methods = ("PEM", "PEM1", "HASH", "SPM") if quick else METHODS
    settings = [(float(k), method, k, 2.0) for k in ((16,) if quick else TOPS) for method in methods]
    sources = (SYNTHETIC,) if quick else (URL, AOL, SYNTHETIC)
    for source in sources:
        scored(means, source, settings, quick, rng)
    panels = {source.name: means.panel(f"{source.name}, F1", across) for source in sources}
    apart = ("PEM1", "HASH", "SPM")
    worst = min(
        panel.at(x)["PEM"] - max(panel.at(x)[one] for one in apart)
        for panel in panels.values()
        for x in panel.of("PEM")
    )
    yield statement("PEM outperforms its competitors", f"by at least {worst:.2f} in F1", holds=worst >= -SLACK)
    if not quick:
        full = {x: value for x, value in panels["Synthetic"].of("PEM").items() if x <= 30}
        yield statement(
            "in the synthetic set PEM achieves almost full utility for up to k = 30",
            ", ".join(f"{value:.2f} at {x:g}" for x, value in full.items()),
            holds=min(full.values()) >= 0.9,
        )
    for source in sources:
        for metric in ("F1", "NCR"):
            yield from means.panel(f"{source.name}, {metric}", across).rows()


def above(holders: Holders, method: str, epsilon: float, least: float, rng: np.random.Generator) -> float:
    """F1 of the strings that are found to be as frequent as a threshold."""
    asked = targets(holders.users, epsilon)
    wide = 4 * K  # as many as there may be of them
    groups = steps_of(holders.bits, wide, STEP)
    kinds: dict[str, Callable[[], Task]] = {
        "PEM": lambda: pem(holders.bits, wide, groups, threshold=least, **asked),
        "PEM1": lambda: pem(holders.bits, wide, holders.bits - 6, threshold=least, **asked),
        "HASH, 10 %": lambda: HASH(holders.bits, wide, channels=int(K**1.5), **asked),
        "HASH": lambda: LinkedHASH(holders.bits, wide, channels=int(K**1.5), **asked),
        "SPM": lambda: LinkedSPM(holders.bits, wide, **asked),
    }
    table = searched(kinds[method](), holders, rng)
    found = {
        label for label, frequency in zip(table.labels, table.frequency.tolist(), strict=True) if frequency >= least
    }
    counts = holders.frequencies(len(holders.counts))
    true = {label for label, count in counts.items() if count >= least * holders.users}
    return 2 * len(found & true) / max(1, len(found) + len(true))


def figure_4_4(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """By threshold."""
    means = Means()
    by_epsilon, by_threshold = f"θ = {THRESHOLD}", "ε = 2"
    methods = ("PEM", "PEM1", "HASH, 10 %", "HASH", "SPM")
    for _ in range(runs_of(quick)):
        holders = SYNTHETIC.drawn(rng)
        for method in methods:
            for epsilon in (2.0,) if quick else EPSILONS:
                means.add(by_epsilon, epsilon, method, above(holders, method, epsilon, THRESHOLD, rng))
            for least in () if quick else (0.013, 0.018, 0.023, 0.03, 0.036):
                means.add(by_threshold, least, method, above(holders, method, 2.0, least, rng))
    panel = means.panel(by_epsilon, "ε")
    leads = {x: panel.of("PEM")[x] - max(panel.of(one)[x] for one in ("PEM1", "HASH", "SPM")) for x in panel.of("PEM")}
    said = ", ".join(f"{lead:+.2f} at {x:g}" for x, lead in leads.items())
    yield statement("PEM performs better", said, holds=min(leads.values()) >= -SLACK)
    if not quick:
        yield statement(
            "this advantage is most profound when ε = 2",
            said,
            holds=leads[2.0] >= max(leads.values()) - SLACK,
            erratum="" if leads[2.0] >= max(leads.values()) - SLACK else OTHER_DATA,
        )
    yield from panel.rows()
    yield from means.panel(by_threshold, "θ").rows()


def figure_4_5(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """By how users are divided."""
    means = Means()
    divided, stepped = "Synthetic, F1", "Synthetic, F1 by Δs"
    split = ("PEM", "HASH, 10 %", "SPM, 10 %", "HASH", "SPM")
    steps = (2, 10) if quick else (1, 2, 4, 6, 8, 10)
    for _ in range(runs_of(quick)):
        holders = SYNTHETIC.drawn(rng)
        for epsilon in (1.2,) if quick else LOW:
            for method in split:
                found = searched(made(method, SYNTHETIC, K, holders.users, epsilon), holders, rng).labels
                means.add(divided, epsilon, method, holders.score(found, K)[0])
        for epsilon in (0.9,) if quick else (0.9, 1.2):
            asked = targets(holders.users, epsilon)
            for step in steps:
                task = pem(SYNTHETIC.bits, K, steps_of(SYNTHETIC.bits, K, step), **asked)
                means.add(stepped, step, f"ε = {epsilon:g}", holders.score(searched(task, holders, rng).labels, K)[0])
            if not quick:
                task = pem(SYNTHETIC.bits, K, steps_of(SYNTHETIC.bits, K, 8), beam=4 * K, **asked)
                found = searched(task, holders, rng).labels
                means.add(stepped, 8, f"ε = {epsilon:g}, beam 4k", holders.score(found, K)[0])
    panel, by_step = means.panel(divided, "ε"), means.panel(stepped, "Δs")
    at = panel.at(1.2)
    yield statement(
        "ε = 1.2: HASH achieves F1 less than 0.2, with users divided nearly 0.8",
        f"{at['HASH']:.2f} and {at['HASH, 10 %']:.2f}",
        holds=at["HASH"] < 0.2 + SLACK and abs(at["HASH, 10 %"] - 0.8) <= ONE_DIGIT,
    )
    yield statement(
        "dividing users is better than dividing ε, at ε = 1.2 by .3 and more",
        f"HASH {at['HASH']:.2f} → {at['HASH, 10 %']:.2f}, SPM {at['SPM']:.2f} → {at['SPM, 10 %']:.2f}",
        holds=all(at[f"{one}, 10 %"] >= at[one] + 0.3 for one in ("HASH", "SPM")),
    )
    rises = {name: by_step.of(name) for name in (("ε = 0.9",) if quick else ("ε = 0.9", "ε = 1.2"))}
    yield statement(
        "when Δs increases, the overall utility is better",
        "; ".join(f"{name}: " + " ".join(f"{value:.2f}" for value in of.values()) for name, of in rises.items()),
        holds=all(
            after >= before - SLACK
            for of in rises.values()
            for before, after in zip(list(of.values()), list(of.values())[1:], strict=False)
        ),
    )
    low = by_step.of("ε = 0.9")
    yield statement(
        "ε = 0.9: F1 = 0.4 when Δs = 2, and 0.8 when Δs = 10",
        f"{low[2]:.2f} and {low[10]:.2f}",
        holds=abs(low[2] - 0.4) <= ONE_DIGIT and abs(low[10] - 0.8) <= ONE_DIGIT,
    )
    yield from panel.rows()
    yield from by_step.rows()


def figure_4_6(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """Squared errors of what was found."""
    means, name = Means(), "squared error of counts over hits"
    methods = ("PEM", "PEM1", "HASH", "SPM")
    for _ in range(runs_of(quick)):
        holders = SYNTHETIC.drawn(rng)
        counts = holders.frequencies(K)
        for epsilon in (4.0,) if quick else (1.0, 1.5, 2.0, 3.0, 4.0):
            for method in methods:
                table = searched(made(method, SYNTHETIC, K, holders.users, epsilon), holders, rng)
                errors = [
                    (frequency * holders.users - counts[label]) ** 2
                    for label, frequency in zip(table.labels, table.frequency.tolist(), strict=True)
                    if label in counts
                ]
                means.add(name, epsilon, method, float(np.mean(errors)) if errors else math.nan)
    panel = means.panel(name, "ε")
    late = [x for x in panel.of("PEM") if x >= 2.0 and all(x in panel.of(method) for method in methods)]
    found = {method: [panel.of(method)[x] for x in late] for method in methods}
    yield statement(
        "HASH has smaller variance than SPM, as its final step uses half of ε and not a third",
        ", ".join(f"{one / other:.2f}" for one, other in zip(found["HASH"], found["SPM"], strict=True)) + " of it",
        holds=all(one < other for one, other in zip(found["HASH"], found["SPM"], strict=True)),
    )
    yield statement(
        "PEM1 has a higher variance than PEM, from ε = 2 on",
        ", ".join(f"{one / other:.1f} times" for one, other in zip(found["PEM1"], found["PEM"], strict=True)),
        holds=all(one > other for one, other in zip(found["PEM1"], found["PEM"], strict=True)),
    )
    yield from panel.rows()


def over(records: Path, quick: bool, rng: Randomness) -> Result:
    """Figure 4.2 on a file."""
    drawn = np.random.default_rng(int.from_bytes(rng.bytes(16)))
    held = from_file(records, 8 * LONGEST)
    source = Source(held.name, held.bits, lambda _: held, segment=16)
    means = Means()
    settings = [(epsilon, method, K, epsilon) for epsilon in ((2.0,) if quick else EPSILONS) for method in METHODS]
    scored(means, source, settings, quick, drawn)
    rows = [row for metric in ("F1", "NCR") for row in means.panel(f"{held.name}, {metric}", "ε").rows()]
    notes = (f"{held.users:,} texts, of which {len(held.counts):,} differ in their first {LONGEST} bytes.",)
    return Result("figure_4_2", WORKS["figure_4_2"][1], tuple(rows), notes)


WORKS: Final[Mapping[str, tuple[Work, str, str]]] = {
    "table_4_1": (table_4_1, "Table 4.1 (thesis §4.3.2): the threshold Ψ(σ, 2^m, n, 1)", ""),
    "table_4_2": (table_4_2, "Table 4.2 (thesis §4.3.3): heavy hitters that PEM finds of 16, m = 32", ""),
    "table_4_3": (table_4_3, "Table 4.3 (thesis §4.3.3): the same, given the true prefixes before the last round", ""),
    "figure_4_2": (figure_4_2, "Figure 4.2 (thesis §4.4.2): F1 and NCR, varying ε, k = 16", "F1"),
    "figure_4_3": (figure_4_3, "Figure 4.3 (thesis §4.4.2): F1 and NCR, varying k, ε = 2", "F1"),
    "figure_4_4": (figure_4_4, "Figure 4.4 (thesis §4.4.2): strings above a threshold, synthetic", "F1"),
    "figure_4_5": (figure_4_5, "Figure 4.5 (thesis §4.4.2): dividing users, and Δs, synthetic", "F1"),
    "figure_4_6": (figure_4_6, "Figure 4.6 (thesis §4.4.2): squared error over hits, synthetic", "squared error"),
}


def _notes(name: str, quick: bool) -> tuple[str, ...]:
    if name == "table_4_1":
        return ("With k = 2^10, which the thesis does not state; the printed Ψ is of the lower tail, and times n.",)
    few = QUICK_RUNS if quick else FEWER if name in ("figure_4_2", "figure_4_3") else RUNS
    means = f"Means of {few} runs, each over another population; numbers of candidates are drawn from their law."
    zipf = "URL: n = 1,200,000, 27,000 distinct, Zipf 0.9; AOL: n = 500,000, 120,000 distinct, Zipf 0.95."
    if name.startswith("table"):
        return (means, zipf + " Strings of 32 random bits.")
    return (
        means,
        zipf + " Synthetic: n = 1,000,000, f_r ∝ e^(−r/20). Random bits: 160, 48 and 64 of them.",
        f"PEM with Δs = {STEP}; SPM and HASH with linked reports, at ε/3 and ε/2, or with a tenth of the users for "
        "whole texts; PrivTrie without asking a user twice. δ = 10⁻⁹, no shuffle.",
        *(
            ("Figure 4.5c, another distribution assumed, is left out: PEM here assumes none.",)
            if name.endswith("5")
            else ()
        ),
    )


FIGURES: Final = figures("chapter_4", WORKS, {name: partial(_notes, name) for name in WORKS})


if __name__ == "__main__":
    raise SystemExit(main("chapter_4", FIGURES, over={"figure_4_2": over}))
