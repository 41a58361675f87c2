"""What several collections over the same population give away together (privacy.md §2).

    composed([release, another], delta=1e-9).epsilon        # all of them fixed before the first result
    spent([release, another], delta=1e-9).epsilon           # each asked for with the earlier ones' results in hand

The pair of views that δ(ε) of `peos.privacy.exact` belongs to is the worst one there is, whatever the others answer. So
the curves compose, by privacy loss distributions, if every collection's mechanism, number of users and fakes are fixed
beforehand: what it asks, and what users answer, may then depend on earlier results. Where the parameters themselves may
depend on them, that is not known to hold. What holds then is a sum, which is a privacy filter (Rogers, Roth, Ullman,
Vadhan 2016); and a series, which is fixed by its first collection. Every collection must have fresh fakes and fresh
randomness, as the protocol gives it. Neighbours: one user's values are replaced, one in each collection.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np

from peos.ldp.base import Mechanism
from peos.ldp.blanket import Blanket
from peos.privacy.binomial import Floats
from peos.privacy.exact import bound, least_epsilon
from peos.privacy.losses import Losses, losses
from peos.privacy.theorem import fourteen

_NODES: Final = 1.5  # of a curve, for each factor of e by which it falls: between them lines are drawn
_STEPS: Final = 384  # of the grid, up to where the narrowest curve ends
_MOST_STEPS: Final = 1 << 13
_CUT: Final = 1e-5  # of δ: what a curve leaves at its end, and a convolution at its tails
_COARSER: Final = 3


@dataclass(frozen=True)
class Release:
    """One collection, as far as its privacy goes: `hiding` other users and `fakes` hide a user in it.

    `least` of the others were promised before anybody answered: by the minimum that a collection's document sets.
    """

    name: str
    mechanism: Mechanism
    hiding: int
    fakes: int
    least: int = 0

    @property
    def rounds(self) -> "tuple[Release, ...]":
        """Itself: a study has several."""
        return (self,)

    @property
    def alone(self) -> "Release":
        """If all other users are on the analyzer's side."""
        return replace(self, hiding=0, least=0)


@dataclass(frozen=True)
class Study:
    """Rounds of which each user answered one: its curve is the pointwise maximum of theirs, ε_l the largest.

    The rounds may depend on what earlier ones found, but not on her report, who answers one: what came before hers is
    independent of it, and what comes after is made of what it published (privacy.md §2).
    """

    name: str
    rounds: tuple[Release, ...]

    @property
    def alone(self) -> "Study":
        """If all other users are on the analyzer's side."""
        return replace(self, rounds=tuple(one.alone for one in self.rounds))


@dataclass(frozen=True)
class Composed:
    """(ε, δ) of several collections together, and which way of composing says so."""

    epsilon: float
    delta: float
    by: str  # pld, sum, or local where no shuffle helps


def composed(releases: Sequence[Release | Study], delta: float) -> Composed:
    """The least ε at `delta` for all the releases together, their parameters fixed beforehand; 0 for none."""
    fourteen(delta)
    found = [_local(releases, delta), _sum(releases, delta, delta)]
    if len(releases) > 1 and all(map(_curved, releases)):
        found.append(Composed(_by_pld(releases, delta), delta, "pld"))
    return min(found, key=lambda one: one.epsilon)


def spent(releases: Sequence[Release | Study], delta: float) -> Composed:
    """The same where each may have been asked for, as it is, because of what earlier ones found.

    A limit on this ε is a privacy filter. What is known to hold, however the next is chosen: a sum Σ ε_i, each at the
    same share of δ; and, if all are of one series (mechanism, fakes and least number of others the same, and so known
    before the first result), their composition with the least number. Half of δ is for the series, half for sums, of
    which those over k collections have the k(k + 1)-th part: whichever of these a run of choices ends with, the others'
    shares are left over (privacy.md §2).
    """
    fourteen(delta)
    if len(releases) < 2:
        return composed(releases, delta)
    k = len(releases)
    found = [_local(releases, delta), _sum(releases, delta / 2 / (k * (k + 1)), delta)]
    kept = [_promised(release) for release in releases]
    if len({_key(release) for release in kept}) == 1 and all(map(_curved, kept)):
        found.append(Composed(_by_pld(kept, delta / 2), delta, "pld"))
    return min(found, key=lambda one: one.epsilon)


def _promised(release: Release | Study) -> Release | Study:
    """With no more others than were promised before anybody answered."""
    kept = [replace(one, hiding=min(one.hiding, one.least)) for one in release.rounds]
    return Study(release.name, tuple(kept)) if isinstance(release, Study) else kept[0]


def _local(releases: Sequence[Release | Study], delta: float) -> Composed:
    """Σ ε_l, with no δ at all."""
    local = (max(one.mechanism.epsilon_local for one in release.rounds) for release in releases)
    return Composed(math.fsum(local), delta, "local")


def _sum(releases: Sequence[Release | Study], shared: float, delta: float) -> Composed:
    """Σ ε_i, what is `shared` of δ shared out evenly."""
    epsilons = (max(_epsilon(one, shared / len(releases)) for one in release.rounds) for release in releases)
    return Composed(math.fsum(epsilons), delta, "sum")


def _epsilon(release: Release, delta: float) -> float:
    blanket = release.mechanism.blanket
    if blanket is None or release.hiding + release.fakes == 0:
        return release.mechanism.epsilon_local
    return least_epsilon(blanket, release.hiding, release.fakes, delta)


def _curved(release: Release | Study) -> bool:
    """Whether something hides its users, in a way that is known."""
    return all(one.hiding + one.fakes > 0 and one.mechanism.blanket is not None for one in release.rounds)


Key = tuple[tuple[Blanket | None, int, int], ...]


def _key(release: Release | Study) -> Key:
    """What its curve depends on."""
    rounds = {(one.mechanism.blanket, one.hiding, one.fakes) for one in release.rounds}
    return tuple(sorted(rounds, key=repr))


def _by_pld(releases: Iterable[Release | Study], delta: float) -> float:
    """Each curve δ_i(ε), from above, as privacy losses on a grid; then convolved."""
    alike = Counter(map(_key, releases))
    cut = delta * _CUT / (1 << alike.total().bit_length())  # the same for a few more, so that curves can be kept
    curves = {key: _highest(key, cut) for key in alike}
    ends = [float(nodes[-1]) for nodes, _ in curves.values()]
    step = max(min(end for end in ends if end > 0.0) / _STEPS, max(ends) / _MOST_STEPS) if any(ends) else 1.0
    total: Losses | None = None
    for key, (nodes, deltas) in curves.items():
        one = losses(nodes, deltas, step).repeated(alike[key], cut)
        total = one if total is None else total.composed(one, cut)
    assert total is not None
    return total.epsilon(delta)


def _highest(key: Key, left: float) -> tuple[Floats, Floats]:
    """The pointwise maximum of the rounds' curves, from above: lines between nodes are above each of them."""
    curves = [curve(blanket, others, fakes, left) for blanket, others, fakes in key if blanket is not None]
    nodes = np.unique(np.concatenate([each for each, _ in curves]))
    highest = np.max([np.interp(nodes, each, deltas) for each, deltas in curves], axis=0)
    return nodes, highest


@lru_cache(maxsize=64)
def curve(blanket: Blanket, others: int, fakes: int, left: float) -> tuple[Floats, Floats]:
    """ε from 0 to where δ(ε) is nearly nothing, and δ there from above."""
    last = least_epsilon(blanket, others, fakes, left)
    if last == 0.0:
        return np.zeros(1), np.array([left])
    nodes = np.linspace(0.0, last, math.ceil(-_NODES * math.log(left)))
    deltas = [bound(blanket, others, fakes, float(at), cut=left, coarser=_COARSER) for at in nodes[:-1]]
    return nodes, np.array([*deltas, left if last < blanket.local else 0.0])
