"""What several collections over the same population give away together (privacy.md §2).

    composed([release, another], delta=1e-9).epsilon

By privacy loss distributions (`dp-accounting`), by the advanced composition of Kairouz, Oh and Viswanath (2015,
theorem 3.5, as it stands for different ε_i), or by the sum: the least of the three. The pair of views that δ(ε) of
`peos.privacy.exact` belongs to is the worst one there is, whatever the others answer, so the curves compose, also where
a collection is chosen after another's result; but each collection must have fresh fakes and fresh randomness, as the
protocol gives it. Neighbours: one user's values are replaced, one in each collection.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from peos.ldp.base import Mechanism
from peos.privacy.binomial import Floats
from peos.privacy.blanket import Blanket, blanket_of
from peos.privacy.closed_form import fourteen
from peos.privacy.exact import bound, least_epsilon

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

LEAST_DELTA_OF_PLD: Final = 1e-11
"""Convolutions by Fourier transform err by about 10^-15: of a δ below this, too much to be relied on."""

_NODES: Final = 48  # of a curve, between which lines are drawn
_STEPS: Final = 384  # of the grid, up to where the narrowest curve ends
_MOST_STEPS: Final = 1 << 15
_CUT: Final = 1e-5  # of δ: what a curve leaves at its end, and a convolution at its tails
_COARSER: Final = 3


@dataclass(frozen=True)
class Release:
    """One collection, as far as its privacy goes: `hiding` other users and `fakes` hide a user in it."""

    name: str
    mechanism: Mechanism
    hiding: int
    fakes: int


@dataclass(frozen=True)
class Composed:
    """(ε, δ) of several collections together, and which way of composing says so."""

    epsilon: float
    delta: float
    by: str  # pld, advanced, sum, or local where no shuffle helps


def composed(releases: Sequence[Release], delta: float) -> Composed:
    """The least ε at `delta` that holds for all the releases together; 0 for none."""
    fourteen(delta)
    if not releases:
        return Composed(0.0, delta, "sum")
    local = math.fsum(release.mechanism.epsilon_local for release in releases)
    found = [Composed(local, delta, "local"), _sum(releases, delta), _advanced(releases, delta)]
    if len(releases) > 1 and delta >= LEAST_DELTA_OF_PLD and all(map(_blanket, releases)):
        found.append(Composed(_by_pld(releases, delta), delta, "pld"))
    return min(found, key=lambda one: one.epsilon)


def _sum(releases: Sequence[Release], delta: float) -> Composed:
    """Σ ε_i with δ shared out evenly."""
    share = delta / len(releases)
    return Composed(math.fsum(_epsilon(release, share) for release in releases), delta, "sum")


def _advanced(releases: Sequence[Release], delta: float) -> Composed:
    """Σ ε_i(e^{ε_i} − 1)/(e^{ε_i} + 1) + √(2 Σ ε_i² ln(1/δ̃)) at δ̃ + Σ δ_i, half of δ for each."""
    share = delta / (2 * len(releases))
    epsilons = [_epsilon(release, share) for release in releases]
    drift = math.fsum(epsilon * math.tanh(epsilon / 2) for epsilon in epsilons)
    spread = math.sqrt(2 * math.fsum(epsilon**2 for epsilon in epsilons) * math.log(2 / delta))
    return Composed((drift + spread) * (1 + 2.0**-40), delta, "advanced")


def _epsilon(release: Release, delta: float) -> float:
    blanket = _blanket(release)
    if blanket is None or release.hiding + release.fakes == 0:
        return release.mechanism.epsilon_local
    return least_epsilon(blanket, release.hiding, release.fakes, delta)


def _blanket(release: Release) -> Blanket | None:
    return blanket_of(release.mechanism)


def _by_pld(releases: Iterable[Release], delta: float) -> float:
    """Each curve δ_i(ε), from above, connected by lines in e^ε, as a privacy loss distribution; then convolved."""
    alike = Counter((_blanket(release), release.hiding, release.fakes) for release in releases)
    left = delta * _CUT / alike.total()
    curves = {key: _curve(key[0], key[1], key[2], left) for key in alike if key[0] is not None}
    step = min(float(nodes[-1]) for nodes, _ in curves.values()) / _STEPS
    step = max(step, max(float(nodes[-1]) for nodes, _ in curves.values()) / _MOST_STEPS)
    total: PrivacyLossDistribution | None = None
    for key, (nodes, deltas) in curves.items():
        one = _distribution(nodes, deltas, step)
        if alike[key] > 1:
            one = one.self_compose(alike[key], left)
        total = one if total is None else total.compose(one, left)
    assert total is not None
    return float(total.get_epsilon_for_delta(delta * (1 - 2 * _CUT) - 1e-14))


def _curve(blanket: Blanket, others: int, fakes: int, left: float) -> tuple[Floats, Floats]:
    """ε from 0 to where δ(ε) is nearly nothing, and δ there from above."""
    last = least_epsilon(blanket, others, fakes, left)
    nodes = np.linspace(0.0, last, _NODES)
    deltas = [bound(blanket, others, fakes, float(at), cut=left, coarser=_COARSER) for at in nodes[:-1]]
    return nodes, np.array([*deltas, left if last < blanket.local else 0.0])


def _distribution(nodes: Floats, deltas: Floats, step: float) -> "PrivacyLossDistribution":
    """The dominating pair's privacy losses on the grid of `step`.

    δ is convex in e^ε, so the greatest convex function below the points found is still above the truth, and so are
    lines between any of its values. The pair is symmetric: δ(−ε) = 1 − e^{−ε}(1 − δ(ε)).
    """
    # Loaded here: it takes longer to load than a plan takes to find.
    from dp_accounting.pld.pld_pmf import create_pmf_pessimistic_connect_dots
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    at = np.concatenate((-nodes[:0:-1], nodes))
    values = np.concatenate(((1 - np.exp(-nodes) * (1 - deltas))[:0:-1], deltas))
    x, y = _convex(np.exp(at), values)
    last = math.ceil(nodes[-1] / step)
    grid = np.arange(-last, last + 1)
    # Beyond the last point δ stays what it is there; before the first, the curve runs to 1 at e^ε = 0.
    heights = np.interp(np.exp(grid * step), np.concatenate(([0.0], x)), np.concatenate(([1.0], y)))
    return PrivacyLossDistribution(create_pmf_pessimistic_connect_dots(step, grid, np.minimum.accumulate(heights)))


def _convex(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The corners of the greatest convex function that is nowhere above the points."""
    kept: list[int] = []
    for at in range(len(x)):
        while len(kept) > 1 and (y[kept[-1]] - y[kept[-2]]) * (x[at] - x[kept[-2]]) >= (y[at] - y[kept[-2]]) * (
            x[kept[-1]] - x[kept[-2]]
        ):
            kept.pop()
        kept.append(at)
    return x[kept], y[kept]
