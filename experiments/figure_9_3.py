"""Figure 9.3 of the thesis: MSE against ε_c on IPUMS, each method with the parameters that the thesis gives it.

The figure has no numbers in print; what is held against it are the sentences of §9.6.2 about it. Ours is added: the
best plan by exact accounting, and the best that tells no more of a user than SOLH does at the same ε_c.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from experiments import appended_unary, hadamard, laplace
from experiments.figure_9_3_sentences import APART, IDEAL, sentences
from experiments.measuring import Floats, Measurement, measure, variance_by_value
from experiments.methods import ideal_hash, olh, rap, rap_removal, sh, solh
from experiments.populations import IPUMS, Counts, DataSet, zipf
from experiments.report import Result, Row, number
from experiments.running import main, progress
from experiments.setting import Setting, claims, measured, planned_best, pure, rebuilt, setting
from experiments.shortcuts import by_position
from peos.crypto.randomness import Randomness
from peos.drawing import Line, chart
from peos.estimate.frequency import FrequencyOracle
from peos.ldp.base import PureMechanism

PAPER = "Figure 9.3 (thesis §9.6.2): MSE varying ε_c on the IPUMS data set"
TARGETS: Final = tuple(round(0.1 * step, 1) for step in range(1, 11))
TARGETS_QUICK: Final = (0.1, 0.7, 1.0)
QUICK: Final = DataSet("few users", 4_000, 100, IPUMS.delta)
TRUTH: Final = zipf(IPUMS.users, IPUMS.domain)


def run(quick: bool, rng: Randomness) -> Result:
    """Every method at every ε_c."""
    size = QUICK if quick else IPUMS
    given = setting(size, quick, rng)
    rows: list[Row] = []
    for target in TARGETS_QUICK if quick else TARGETS:
        progress(f"figure_9_3: ε_c = {target:g}")
        rows += [*_mechanisms(target, given), *_others(target, given)]
    said = sentences(rows, "formula" if quick else "measured")
    return Result("figure_9_3", PAPER, (*said, *rows), tuple(_notes(given)))


def _mechanisms(target: float, given: Setting) -> Iterator[Row]:
    """The methods that peos.ldp has, at full size for what they claim and at the run's size for what they err."""
    d = IPUMS.domain
    hashing = solh(target, IPUMS, d)
    free = planned_best(IPUMS, eps_server=target)
    same = planned_best(IPUMS, eps_server=target, eps_local=hashing.epsilon_local)
    built: dict[str, tuple[PureMechanism, float | None]] = {
        "SH": (sh(target, IPUMS, d), target),
        "SOLH": (hashing, target),
        "RAP": (rap(target, IPUMS, d), target),
        "RAP_R": (rap_removal(target, IPUMS, d), target),
        "OLH": (olh(target, d), None),
        "ours": (pure(free.randomizer), free.guarantees.server.theorem),
        "ours, SOLH's ε_l": (pure(same.randomizer), same.guarantees.server.theorem),
    }
    for name, (mechanism, theorem) in built.items():
        drawn = rebuilt(mechanism, given.domain)
        yield number(
            _label(name, target),
            measured(drawn, given),
            IPUMS,
            formula=float(variance_by_value(mechanism.oracle, TRUTH).mean()),
            quick=given.quick,
            method=name,
            eps_c=target,
            mechanism=mechanism.name,
            cells=mechanism.cells,
            **claims(mechanism, IPUMS, theorem),
        )
    drawn_apart: dict[str, tuple[PureMechanism, FrequencyOracle]] = {
        IDEAL: (hashing, ideal_hash(hashing)),
        **{name + APART: (built[name][0], built[name][0].oracle) for name in ("RAP", "RAP_R")},
    }
    for name, (mechanism, oracle) in drawn_apart.items():
        yield number(
            _label(name, target),
            _by_position(oracle, given),
            IPUMS,
            formula=float(variance_by_value(oracle, TRUTH).mean()),
            quick=given.quick,
            method=name,
            eps_c=target,
            mechanism=mechanism.name,
            cells=mechanism.cells,
            **claims(mechanism, IPUMS, target),
        )


def _by_position(oracle: FrequencyOracle, given: Setting) -> Measurement:
    estimates = by_position(oracle, given.truth, given.repeats, given.rng)
    return measure(estimates, given.truth, variance_by_value(oracle, given.truth))


def _others(target: float, given: Setting) -> Iterator[Row]:
    """Competitors that are no mechanism of ours."""
    truth, rng = given.truth, given.rng

    def row(name: str, estimates: Iterable[Floats], variance: Floats, formula: Floats, kurtosis: float = 3.0) -> Row:
        found = measure(estimates, truth, variance, kurtosis)
        return number(
            _label(name, target),
            found,
            IPUMS,
            formula=float(formula.mean()),
            quick=given.quick,
            method=name,
            eps_c=target,
        )

    p = appended_unary.increment(target, IPUMS.users, IPUMS.delta)
    most, drawn = given.repeats, given.steps / given.users
    few = max(1, int(min(most, drawn / given.domain)))
    yield row(
        "AUE",
        appended_unary.real(p, truth, few, rng),
        appended_unary.variance_by_value(p, truth),
        appended_unary.variance_by_value(p, TRUTH),
    )
    yield row(
        "Had",
        hadamard.estimates(target, given.domain, truth, max(1, int(min(most, drawn / 60))), rng),
        hadamard.variance_by_value(target, truth),
        hadamard.variance_by_value(target, TRUTH),
    )
    yield row(
        "Lap",
        laplace.estimates(target, truth, given.repeats, rng),
        laplace.variance_by_value(target, truth),
        laplace.variance_by_value(target, TRUTH),
        laplace.KURTOSIS,
    )
    here, there = _base(truth), _base(TRUTH)
    yield number(
        _label("Base", target),
        Measurement(here, 0.0, None, 1, here),
        IPUMS,
        formula=there,
        quick=given.quick,
        method="Base",
        eps_c=target,
    )


def _base(truth: Counts) -> float:
    """The error of answering 1/d for every value."""
    return float(((truth / truth.sum() - 1 / len(truth)) ** 2).mean())


def _label(name: str, target: float) -> str:
    return f"{name}, ε_c = {target:g}"


def _notes(given: Setting) -> Iterator[str]:
    yield (
        f"Stand-in data: Zipf with exponent 1, n = {given.users:,}, d = {given.domain:,}"
        + (" (few users, mechanisms of the full size; sentences are held against formulas)." if given.quick else ".")
    )
    yield "Only Base depends on the data: the expected MSE of the others is the same for all data of this n and d."
    yield (
        "SOLH with an ideal hash family (two values collide with probability 1/d', as the thesis has it) is drawn "
        "value by value; SOLH is our family, which collides less often, every report drawn and counted."
    )
    yield (
        "RAP and RAP_R have the parameters of theorem 9.3.1, which does not hold for whole vectors (privacy.md §1); "
        "`eps_exact` is what each run deserves."
    )


def draw(result: Result) -> str:
    """MSE against ε_c, a line for each method."""
    rows = [row for row in result.rows if "method" in row]
    lines = [
        Line(name, tuple((row["eps_c"], row["measured"]) for row in rows if row["method"] == name))
        for name in dict.fromkeys(row["method"] for row in rows if not row["method"].endswith(APART))
    ]
    title = f"{IPUMS.name} (stand-in): n = {IPUMS.users:,}, d = {IPUMS.domain}, δ = {IPUMS.delta:g}"
    return chart(title, "ε against the analyzer", "MSE", lines)


if __name__ == "__main__":
    raise SystemExit(main("figure_9_3", PAPER, run, draw))
