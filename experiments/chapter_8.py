"""Figures 8.2 to 8.10 of the thesis: what post-processing makes of the estimates of optimised local hashing.

    python -m experiments.chapter_8 [figure_8_4 …] [--quick] [--json]

Data are stand-ins, and counts are drawn (experiments/processed.py); one figure holds them against reports that were all
drawn and counted.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from experiments.chapters import Panel, Work, figures, main
from experiments.measuring import real, variance_by_value
from experiments.processed import (
    CATEGORIES,
    EMOJI,
    STAND_IN,
    VECTORS,
    ZIPF,
    Data,
    Rows,
    blank,
    categories,
    drawn,
    mean,
    of_sets,
    of_top,
    of_values,
    oracle_of,
    processed,
    random_sets,
)
from experiments.report import Row, statement
from peos.crypto.randomness import Randomness
from peos.estimate.frequency import estimate_frequencies
from peos.estimate.post_processing import post_process
from peos.estimate.post_processing.simulation import redrawn, whole_users
from peos.ldp import OLH
from peos.registry import POST_PROCESSING

RUNS: Final = 60
QUICK_RUNS: Final = 6
EPSILONS: Final = (0.2, 0.5, 1.0, 2.0, 3.0, 4.0)
SHARES: Final = (0.1, 0.3, 0.5, 0.7, 0.9)
FEW_SHARES: Final = (0.01, 0.02, 0.04, 0.06, 0.08, 0.1)
TOPS: Final = (2, 4, 8, 10, 16, 32)


def runs_of(quick: bool) -> int:
    """Runs that a mean is of."""
    return QUICK_RUNS if quick else RUNS


# Figures


def bias_and_variance(quick: bool, rng: np.random.Generator) -> tuple[Panel, Panel]:
    """Figures 8.2 and 8.3 from the same runs: of a value at each rank, the mean error and the variance, as counts."""
    users, truth = int(ZIPF.truth.sum()), ZIPF.frequency
    runs = 10 * runs_of(quick)
    total = {name: np.zeros(len(truth)) for name in VECTORS}
    squares = {name: np.zeros(len(truth)) for name in VECTORS}
    for found in drawn(ZIPF, 1.0, runs, rng):
        for name, each in found.items():
            error = (each - truth) * users
            total[name] += error
            squares[name] += np.square(error)
    bias, variance = Panel(ZIPF.name, "rank"), Panel(ZIPF.name, "rank")
    for first, last in ((1, 1), (2, 2), (5, 5), (10, 10), (20, 20), (50, 60), (100, 150), (300, 500), (600, 1024)):
        of = slice(first - 1, last)
        for name in VECTORS:
            off = total[name][of] / runs
            spread = squares[name][of] / runs - np.square(off)
            stderr = float(np.sqrt(spread.sum() / runs)) / (last - first + 1)
            bias.add(float(first), name, float(off.mean()), stderr, runs)
            variance.add(float(first), name, float(spread.mean() / users), 0.0, runs)
    return bias, variance


def figure_8_2(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """Bias."""
    bias, _ = bias_and_variance(quick, rng)
    sigma = {name: {x: value / max(error, 1e-12) for x, value, error, _ in bias.points(name)} for name in VECTORS}
    tail, top = 600.0, (1.0, 2.0, 5.0)
    worst = max(abs(z) for name in ("base", "norm") for z in sigma[name].values())
    yield statement("Base and Norm are unbiased", f"at most {worst:.1f} standard errors off", holds=worst < 5)
    least = min(sigma["base_pos"][x] for x in sigma["base_pos"] if x >= 50)
    yield statement("Base-Pos has a positive bias", f"{least:.0f} standard errors and more", holds=least > 5)
    worst = max(abs(sigma["base_cut"][x]) for x in top)
    yield statement(
        "Base-Cut is unbiased for the few most frequent values", f"at most {worst:.1f} standard errors", holds=worst < 5
    )
    below, above = max(sigma["norm_sub"][x] for x in top), sigma["norm_sub"][tail]
    yield statement(
        "Norm-Sub is below the truth for frequent values and above it for rare ones",
        f"{below:.0f} and {above:.0f} standard errors",
        holds=below < -5 and above > 5,
    )
    yield from bias.rows()


def figure_8_3(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """Variance."""
    _, variance = bias_and_variance(quick, rng)
    base, norm = variance.of("base"), variance.of("norm")
    spread = max(base.values()) / min(base.values())
    yield statement(
        "the variance of Base is similar for all values",
        f"the largest is {spread:.2f} times the least",
        holds=spread < 2.0,
    )
    ratio = float(np.mean([norm[x] / base[x] for x in base if x >= 50]))
    yield statement("Norm's is slightly smaller", f"{ratio:.4f} of it", holds=0.9 < ratio <= 1.0)
    falls = {
        name: variance.of(name)[600.0] / variance.of(name)[1.0] for name in VECTORS if name not in ("base", "norm")
    }
    yield statement(
        "for all other methods it drops with the rank",
        f"in the tail at most {max(falls.values()):.2f} of that of the most frequent value",
        holds=max(falls.values()) < 0.7,
    )
    yield from variance.rows()


def full_domain(data: Data, quick: bool, rng: np.random.Generator) -> Panel:
    """Errors over all values, by ε."""
    panel = Panel(data.name, "ε")
    for epsilon in EPSILONS[1:4] if quick else EPSILONS:
        found = mean(of_values(one, data.frequency) for one in drawn(data, epsilon, runs_of(quick), rng))
        panel.take(epsilon, found)
        variance = float(variance_by_value(oracle_of(data, epsilon), data.truth).mean())
        panel.expect(epsilon, "base", variance)
    return panel


def figure_8_4(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """All values."""
    panels = {data.name: full_domain(data, quick, rng) for data in (ZIPF, EMOJI)}
    zipf_, emoji = panels[ZIPF.name], panels[EMOJI.name]
    yield zipf_.ordered(1.0, ("power_ns", "norm_sub", "norm_cut", "base_pos", "base", "norm_mul"), step=1.2)
    both = [panel.of("base_pos")[x] / panel.of("base")[x] for panel in panels.values() for x in panel.of("base")]
    yield statement(
        "Base-Pos is about half of Base",
        f"{min(both):.2f} to {max(both):.2f}",
        holds=0.4 < min(both) <= max(both) < 0.6,
    )
    gains = {name: panel.of("base")[1.0] / panel.of("norm_sub")[1.0] for name, panel in panels.items()}
    yield statement(
        "Norm-Sub reduces the error of Base by a factor of about 10 (Zipf)",
        f"{gains[ZIPF.name]:.1f} at ε = 1",
        holds=5 < gains[ZIPF.name] < 20,
    )
    yield statement(
        "and of about 100 (Emoji)",
        f"{gains[EMOJI.name]:.1f} at ε = 1",
        holds=50 < gains[EMOJI.name] < 200,
        erratum=STAND_IN,
        instead=gains[EMOJI.name] > gains[ZIPF.name],
    )
    yield panels[ZIPF.name].close(1.0, ("norm_sub", "mle_apx"), 0.03)
    slow = [panel.fall("norm_mul") / panel.fall("base") for panel in panels.values()]
    yield statement("the error of Norm-Mul decreases much slower", f"{min(slow):.1f} times slower", holds=min(slow) > 2)
    best = [min(panel.at(x), key=lambda name: panel.at(x)[name]) for panel in panels.values() for x in panel.of("base")]
    yield statement(
        "PowerNS performs best",
        f"in {best.count('power_ns')} of {len(best)}",
        holds=best.count("power_ns") * 2 > len(best),
    )
    yield from _against_reports(quick, rng)
    yield from zipf_.rows()
    yield from emoji.rows()


def _against_reports(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """The shortcut against reports that were drawn, at ε = 1."""
    data = ZIPF.of(20_000) if quick else ZIPF
    runs, mechanism, like = 6, OLH(len(data.truth), 1.0), blank(data, 1.0, ours=True)
    errors = []
    for frequency in real(mechanism, data.truth, runs, Randomness(rng.bytes(32))):
        counts = np.rint((frequency * (like.oracle.p - like.oracle.q) + like.oracle.q) * like.users).astype(np.int64)
        estimate = estimate_frequencies(like.oracle, counts, users=like.users, fakes=0)
        errors.append(of_values(processed(estimate), data.frequency))
    reports, shortcut = (
        mean(errors),
        mean(of_values(one, data.frequency) for one in drawn(data, 1.0, RUNS, rng, ours=True)),
    )
    off = {
        name: abs(reports[name][0] - shortcut[name][0]) / float(np.hypot(reports[name][1], shortcut[name][1]))
        for name in reports
    }
    worst = max(off, key=lambda name: off[name])
    yield statement(
        f"{runs} collections of {like.users:,} users, every report drawn and counted, err as the shortcut does, ε = 1",
        f"at most {off[worst]:.1f} standard errors apart ({worst})",
        holds=off[worst] < 6,
    )


def figure_8_5(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """As many users n' without post-processing would err as n do with it."""
    panel = Panel(ZIPF.name, "n")
    sizes = (500_000, 1_000_000) if quick else (200_000, 500_000, 1_000_000, 1_500_000, 2_000_000)
    for users in sizes:
        data = ZIPF.of(users)
        one = float(variance_by_value(oracle_of(data, 1.0), data.truth).mean()) * users
        found = mean(of_values(each, data.frequency) for each in drawn(data, 1.0, runs_of(quick), rng))
        panel.take(
            float(users),
            {name: (one / error, one / error**2 * off, runs) for name, (error, off, runs) in found.items()},
        )
    slopes = [panel.of(name)[x] / x for name in ("base", "norm") for x in panel.of(name)]
    yield statement(
        "Base and Norm are lines of slope 1",
        f"{min(slopes):.3f} to {max(slopes):.3f}",
        holds=max(abs(s - 1) for s in slopes) < 0.05,
    )
    saved = [1 - x / value for x, value in panel.of("power_ns").items()]
    yield statement(
        "PowerNS saves around 90 % of the users",
        f"{min(saved):.1%} to {max(saved):.1%}",
        holds=0.85 < min(saved) <= max(saved) < 0.95,
    )
    most = max(panel.of("norm_mul")[x] / x for x in panel.of("norm_mul"))
    yield statement("Norm-Mul grows slower than Base", f"at most {most:.2f} of n", holds=most < 1)
    yield from panel.rows()


def by_share(data: Data, shares: tuple[float, ...], rng: np.random.Generator, *, ours: bool = False) -> Panel:
    """Errors over random sets, by their share of the values; of a few runs their means vary too much."""
    panel = Panel(data.name + ", our hash family" * ours, "share of the values")
    errors: dict[float, list[dict[str, float]]] = {share: [] for share in shares}
    for found in drawn(data, 1.0, RUNS, rng, ours=ours):
        for share in shares:
            errors[share].append(of_sets(found, data.frequency, random_sets(len(data.truth), share, rng)))
    for share in shares:
        panel.take(share, mean(errors[share]))
    return panel


def figure_8_6(quick: bool, rng: np.random.Generator) -> Iterator[Row]:  # noqa: ARG001 - see by_share
    """Large random sets."""
    zipf_, emoji = (by_share(data, SHARES, rng) for data in (ZIPF, EMOJI))
    yield zipf_.ordered(0.9, ("power_ns", "norm_sub", "norm_cut", "norm", "base", "base_cut", "base_pos"), step=1.2)
    sums = [name for name in VECTORS if POST_PROCESSING[name].sums_to_one]
    uneven = max(panel.of(name)[0.1] / panel.of(name)[0.9] for panel in (zipf_, emoji) for name in sums)
    least = min(panel.of(name)[0.1] / panel.of(name)[0.9] for panel in (zipf_, emoji) for name in sums)
    yield statement(
        "of methods whose frequencies add up to 1 the error is symmetric about one half",
        f"at 0.1 it is {least:.2f} to {uneven:.2f} of that at 0.9",
        holds=0.5 < least <= uneven < 2,
    )
    others = [name for name in zipf_.at(0.9) if name not in (*sums, "norm_cut")]
    for panel in (zipf_, emoji):
        apart = min(panel.of(name)[0.9] / panel.of("power_ns")[0.9] for name in others)
        yield statement(
            f"at 0.9 PowerNS is two orders of magnitude better than any method that is not normalised ({panel.name})",
            f"by {apart:.0f} times at least",
            holds=apart >= 100,
            erratum=STAND_IN if panel is emoji else "",
            instead=apart > 10,
        )
    worst = [max(panel.at(x), key=lambda name: panel.at(x)[name]) for panel in (zipf_, emoji) for x in SHARES]
    yield statement(
        "Base-Pos is worse than the other methods",
        f"the worst in {worst.count('base_pos')} of {len(worst)}",
        holds=worst.count("base_pos") == len(worst),
        erratum="Norm-Mul is worse still on small sets" if worst.count("base_pos") != len(worst) else "",
        instead=set(worst) <= {"base_pos", "norm_mul"},
    )
    ours = by_share(ZIPF, SHARES, rng, ours=True)
    yield ours.ordered(0.9, ("power_ns", "norm_sub", "norm_cut", "base", "base_cut", "base_pos"), step=1.2)
    yield ours.close(0.9, ("base", "norm"), 0.1)
    times = zipf_.of("base")[0.9] / ours.of("base")[0.9]
    yield statement(
        "our reports support equally many values each, so Base is nearly as good as Norm on large sets",
        f"at 0.9 its error is {times:.1f} times less than with ideal hash functions",
        holds=times > 5,
    )
    gain = zipf_.of("base")[0.9] / zipf_.of("base_cut")[0.9]
    yield statement(
        "Base-Cut outperforms Base",
        f"at 0.9 the error of Base is {gain:.2f} of its own (Zipf)",
        holds=gain > 1,
        erratum="of Zipf's law much is held by values below the threshold, which sets of nearly all values then miss",
        instead=gain < 1,
    )
    yield from zipf_.rows()
    yield from ours.rows()
    yield from emoji.rows()


def figure_8_7(quick: bool, rng: np.random.Generator) -> Iterator[Row]:  # noqa: ARG001 - likewise
    """Small random sets."""
    zipf_, emoji = (by_share(data, FEW_SHARES, rng) for data in (ZIPF, EMOJI))
    grows = [panel.of(name)[0.1] / panel.of(name)[0.01] for panel in (zipf_, emoji) for name in panel.at(0.1)]
    yield statement("all errors grow with the share", f"{min(grows):.1f} times at least", holds=min(grows) > 1)
    for panel, least in ((zipf_, 0.04), (emoji, 0.02)):
        better = {x: panel.of("base_cut")[x] / panel.of("norm_cut")[x] for x in FEW_SHARES}
        yield statement(
            f"Norm-Cut is better than Base-Cut, especially from a share of 0.02 on ({panel.name}; here from {least:g})",
            ", ".join(f"{x:g}: {times:.2f} times" for x, times in better.items()),
            holds=min(times for x, times in better.items() if x >= least) > 1,
            erratum=STAND_IN if panel is emoji else "",
        )
    yield from zipf_.rows()
    yield from emoji.rows()


def by_category(quick: bool, rng: np.random.Generator) -> tuple[Panel, Rows]:
    """Errors over fixed categories, by ε."""
    groups = categories(len(EMOJI.truth), rng)
    panel = Panel(EMOJI.name, "ε")
    for epsilon in EPSILONS[1:4] if quick else EPSILONS:
        found = (of_sets(one, EMOJI.frequency, groups) for one in drawn(EMOJI, epsilon, runs_of(quick), rng))
        panel.take(epsilon, mean(found))
    return panel, groups


def figure_8_8(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """Categories."""
    panel, _ = by_category(quick, rng)
    left = ("base", "base_pos", "post_pos", "norm", "norm_mul")
    first = [min(left, key=lambda name: panel.of(name)[x]) for x in panel.of("base")]
    yield statement(
        "Post-Pos is the best of those that only clip, shift or scale",
        f"in {first.count('post_pos')} of {len(first)}",
        holds=first.count("post_pos") * 2 > len(first),
    )
    better = [panel.of("post_pos")[x] / panel.of("norm_cut")[x] for x in panel.of("base") if x < 3]
    yield statement(
        "Norm-Cut is better still for ε < 3", f"by {min(better):.2f} to {max(better):.2f} times", holds=min(better) > 1
    )
    yield from panel.rows()


def figure_8_9(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """Errors of categories as they are simulated from what is fitted to one collection."""
    truth, groups = by_category(quick, rng)
    chosen: dict[str, dict[float, str]] = {"norm_sub": {}, "power_ns": {}}
    rows: list[Row] = []
    for fit in chosen:
        panel = Panel(f"fitted by {fit}", "ε")
        for epsilon in truth.of("base"):
            like = blank(EMOJI, epsilon)
            once = redrawn(like, EMOJI.truth, rng)
            fitted = Data(fit, whole_users(post_process(once, fit).frequency, like.users))
            found = (of_sets(one, fitted.frequency, groups) for one in drawn(fitted, epsilon, runs_of(quick), rng))
            panel.take(epsilon, mean(found))
            chosen[fit][epsilon] = min(panel.at(epsilon), key=lambda name: panel.at(epsilon)[name])
        rows += panel.rows()
    loss = {x: truth.at(x)[name] / min(truth.at(x).values()) for x, name in chosen["norm_sub"].items()}
    yield statement(
        "fitted by Norm-Sub, the best method is found quite accurately",
        f"what is chosen errs at most {max(loss.values()):.2f} times as much as the best: "
        + ", ".join(f"ε = {x:g} {name}" for x, name in chosen["norm_sub"].items()),
        holds=max(loss.values()) < 1.5,
    )
    own = [name for name in chosen["power_ns"].values() if name == "power_ns"]
    yield statement(
        "fitted by PowerNS, PowerNS is chosen",
        f"in {len(own)} of {len(truth.of('base'))}",
        holds=2 * len(own) > len(truth.of("base")),
    )
    yield from rows


def by_top(data: Data, quick: bool, rng: np.random.Generator) -> Panel:
    """Errors of the most frequent values, by their number."""
    panel = Panel(data.name, "k")
    listed = list(drawn(data, 1.0, (2 if quick else 4) * runs_of(quick), rng))
    for top in TOPS:
        panel.take(float(top), mean(of_top(found, data.frequency, top) for found in listed))
    return panel


def figure_8_10(quick: bool, rng: np.random.Generator) -> Iterator[Row]:
    """The most frequent values."""
    zipf_, emoji = (by_top(data, quick, rng) for data in (ZIPF, EMOJI))
    yield zipf_.close(10.0, ("base", "base_cut", "norm"), 0.02)
    yield zipf_.ordered(10.0, ("base", "norm_sub", "norm_mul"), step=1.2)
    flat = [
        panel.of(name)[32.0] / panel.of(name)[2.0] for panel in (zipf_, emoji) for name in ("base", "base_pos", "norm")
    ]
    yield statement(
        "Base, Base-Pos and Norm err alike for every k",
        f"at 32 {min(flat):.2f} to {max(flat):.2f} of that at 2",
        holds=0.4 < min(flat) <= max(flat) < 2.5,
    )
    worse = min(
        panel.of("norm_mul")[x] / max(each for name, each in panel.at(x).items() if name != "norm_mul")
        for panel in (zipf_, emoji)
        for x in panel.of("base")
    )
    yield statement("Norm-Mul is at least 10 times worse than any other", f"{worse:.1f} times", holds=worse >= 10)
    grows = [zipf_.of(name)[32.0] / zipf_.of(name)[2.0] for name in ("base_cut", "norm_cut", "power", "power_ns")]
    yield statement(
        "those of Base-Cut, Norm-Cut, Power and PowerNS grow with k",
        f"{min(grows):.1f} times and more from 2 to 32",
        holds=min(grows) > 1,
    )
    yield from zipf_.rows()
    yield from emoji.rows()


WORKS: Final[Mapping[str, tuple[Work, str, str]]] = {
    "figure_8_2": (figure_8_2, "Figure 8.2 (thesis §8.2): bias of counts, Zipf, ε = 1", "bias of a count, its size"),
    "figure_8_3": (figure_8_3, "Figure 8.3 (thesis §8.2): variance of counts, Zipf, ε = 1", "variance of a count / n"),
    "figure_8_4": (figure_8_4, "Figure 8.4 (thesis §8.2): MSE over all values, varying ε", "MSE"),
    "figure_8_5": (
        figure_8_5,
        "Figure 8.5 (thesis §8.2): as many users n' would err as much without post-processing, Zipf, ε = 1",
        "n'",
    ),
    "figure_8_6": (
        figure_8_6,
        "Figure 8.6 (thesis §8.2): MSE over random sets of 10 to 90 % of the values, ε = 1",
        "MSE",
    ),
    "figure_8_7": (
        figure_8_7,
        "Figure 8.7 (thesis §8.2): MSE over random sets of 1 to 10 % of the values, ε = 1",
        "MSE",
    ),
    "figure_8_8": (figure_8_8, "Figure 8.8 (thesis §8.2): MSE over categories of Emoji, varying ε", "MSE"),
    "figure_8_9": (figure_8_9, "Figure 8.9 (thesis §8.2): MSE over categories, simulated from one collection", "MSE"),
    "figure_8_10": (figure_8_10, "Figure 8.10 (thesis §8.2): MSE over the most frequent values, ε = 1", "MSE"),
}


def _notes(quick: bool) -> tuple[str, ...]:
    runs = runs_of(quick)
    return (
        f"Stand-in data: Zipf with exponent 1.5, n = 10⁶, d = 1,024; for Emoji Zipf with exponent 2, n = 884,427, "
        f"d = 1,573, {CATEGORIES} categories of about ten values drawn from all.",
        f"Optimised local hashing; every figure is a mean of {runs} collections or more.",
    )


FIGURES: Final = figures("chapter_8", WORKS, dict.fromkeys(WORKS, _notes))


if __name__ == "__main__":
    raise SystemExit(main("chapter_8", FIGURES))
