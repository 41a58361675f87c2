"""A chooser learns on one half of the collections how to bet on pairs, and is judged on the other half.

Learning: each feature's direction and worth on two thirds of the first half; the best of them together; a ridge
regression of the truth on the best. What bets best on the remaining third of the first half is chosen, a single feature
or a combination. The second half decides: how many of its pairs the chosen bet gets right.

Bounds. If the view says nothing of the orders, they are independent fair coins for disjoint pairs, of one collection as
of many, because permutations are uniform: then the number of hits is binomial, exactly, and Clopper and Pearson's bound
holds. If it says something, hits within a collection may depend on each other; so a second bound looks at whole
collections only, by Student's t over their advantages, and the larger of the two counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from peos.crypto.randomness import Randomness
from tests.security.linking.evidence import Evidence, Numbers
from tests.security.verdict import CONFIDENCE, Verdict, of_guesses

SINGLES: Final = 20
TOGETHER: Final = (2, 3, 5, 10)
COMBINED: Final = 150
PENALTIES: Final = (0.01, 1.0, 100.0)  # of the regression, relative to the number of pairs

Bet = Callable[[Evidence], Numbers]  # above zero: straight


@dataclass(frozen=True)
class Features:
    """The names of all features, so that every collection's are in one order."""

    users: tuple[str, ...]
    outputs: tuple[str, ...]
    scores: tuple[str, ...]

    @classmethod
    def of(cls, one: Evidence) -> "Features":
        """Those that a collection has; all of a kind have the same."""
        return cls(tuple(one.users), tuple(one.outputs), tuple(one.scores))

    def signs(self, one: Evidence) -> Numbers:
        """How often each feature is right about a collection, less how often it is wrong."""
        users, outputs, scores = (np.sign(part) for part in self._parts(one))
        straight = _truth(one)
        return np.concatenate((scores.T @ straight, (users.T * straight @ outputs).reshape(-1)))

    def squares(self, one: Evidence) -> Numbers:
        """The sum of each feature's squares."""
        users, outputs, scores = (np.square(part) for part in self._parts(one))
        return np.concatenate((scores.sum(axis=0), (users.T @ outputs).reshape(-1)))

    def columns(self, one: Evidence, wanted: Sequence[int]) -> Numbers:
        """(pairs, wanted) of a collection."""
        users, outputs, scores = self._parts(one)
        found = []
        for column in wanted:
            user, output = divmod(column - len(self.scores), len(self.outputs))
            alone = column < len(self.scores)
            found.append(scores[:, column] if alone else users[:, user] * outputs[:, output])
        return np.stack(found, axis=1)

    def name(self, column: int) -> str:
        """What a column of the matrix is."""
        if column < len(self.scores):
            return self.scores[column]
        user, output = divmod(column - len(self.scores), len(self.outputs))
        return f"[{self.users[user]}] · [{self.outputs[output]}]"

    def _parts(self, one: Evidence) -> tuple[Numbers, Numbers, Numbers]:
        return (
            np.stack([one.users[name] for name in self.users], axis=1).astype(float),
            np.stack([one.outputs[name] for name in self.outputs], axis=1).astype(float),
            np.stack([one.scores[name] for name in self.scores], axis=1).astype(float),
        )


@dataclass(frozen=True)
class Judged:
    """What the chosen bet came to on the collections held out."""

    chosen: str
    hits: tuple[int, ...]  # of each collection
    pairs: tuple[int, ...]

    def verdict(self, attack: str) -> Verdict:
        """The advantage, within the wider of both intervals."""
        verdict = of_guesses(attack, sum(self.hits), sum(self.pairs))
        lower, upper = between_collections(self.hits, self.pairs)
        evidence = f"{verdict.evidence}, in {len(self.hits)} collections, by {self.chosen}"
        return Verdict(attack, verdict.advantage, min(verdict.lower, lower), max(verdict.upper, upper), evidence)


def between_collections(hits: Sequence[int], pairs: Sequence[int]) -> tuple[float, float]:
    """99.9 % bounds of the mean advantage of a collection, by how much collections differ."""
    each = 2 * np.array(hits) / np.array(pairs) - 1
    half = float(t.ppf(CONFIDENCE, len(each) - 1)) * float(np.std(each, ddof=1)) / len(each) ** 0.5
    return max(-1.0, float(each.mean()) - half), min(1.0, float(each.mean()) + half)


def judged(collections: Sequence[Evidence], rng: Randomness) -> Judged:
    """Learn on the first half, judge on the second."""
    half = len(collections) // 2
    name, bet = chosen(collections[:half], rng)
    held_out = collections[half:]
    hits = tuple(int(np.sum(_guesses(bet(one), rng) == one.straight)) for one in held_out)
    return Judged(name, hits, tuple(len(one.straight) for one in held_out))


def chosen(collections: Sequence[Evidence], rng: Randomness) -> tuple[str, Bet]:
    """The bet that does best on the last third of these, of all that were learned on the others."""
    features = Features.of(collections[0])
    cut = 2 * len(collections) // 3
    learning, choosing = collections[:cut], collections[cut:]
    worth = np.sum([features.signs(one) for one in learning], axis=0)
    squares = np.sum([features.squares(one) for one in learning], axis=0)
    best = [int(column) for column in np.argsort(-np.abs(worth), kind="stable")[:COMBINED]]
    bets: dict[str, Bet] = {}
    for column in best[:SINGLES]:
        sign = float(np.sign(worth[column]))
        bets[f"{sign:+.0f} {features.name(column)}"] = _weighted(features, [column], np.array([sign]))
    pairs = sum(len(one.straight) for one in learning)
    scale = 1 / np.sqrt(np.maximum(squares[best] / pairs, 1e-12))
    stacked = np.concatenate([features.columns(one, best) for one in learning]) * scale
    truth = np.concatenate([_truth(one) for one in learning])
    for many in TOGETHER:
        weights = np.sign(worth[best[:many]]) * scale[:many]
        bets[f"the best {many} together"] = _weighted(features, best[:many], weights)
    for penalty in PENALTIES:
        gram = stacked.T @ stacked + penalty * pairs * np.eye(len(best))
        weights = np.linalg.solve(gram, stacked.T @ truth) * scale
        bets[f"{len(best)} features, ridge {penalty:g}"] = _weighted(features, best, weights)

    def right(name: str) -> int:
        return sum(int(np.sum(_guesses(bets[name](one), rng) == one.straight)) for one in choosing)

    name = max(bets, key=right)
    return name, bets[name]


def _weighted(features: Features, columns: list[int], weights: Numbers) -> Bet:
    return lambda one: features.columns(one, columns) @ weights


def _truth(one: Evidence) -> Numbers:
    return np.where(one.straight, 1.0, -1.0)


def _guesses(bet: Numbers, rng: Randomness) -> NDArray[np.bool_]:
    """What is bet on; a fair coin where the bet says nothing."""
    coins = rng.uint64(len(bet)) % 2 == 0
    return np.where(bet == 0, coins, bet > 0)
