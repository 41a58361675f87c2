"""Stand-ins for the data sets of records that cannot be had: the same skew, and correlations of the same sign.

Each returns records as the baselines take them: bits of a number, or a column for each attribute.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

TAXI: Final = ("CC", "Toll", "Far", "Night_pick", "Night_drop", "M_pick", "M_drop", "Tip")
LOADING: Final = 0.5
KINDS: Final = 24


def bits_of(columns: NDArray[np.bool_]) -> Ints:
    """Records of binary attributes as numbers."""
    return columns.astype(np.int64) @ (1 << np.arange(columns.shape[1]))


def one_factor(users: int, shares: Floats, rng: np.random.Generator, loading: float = LOADING) -> NDArray[np.bool_]:
    """Binary attributes, all positively correlated: a probit with one factor."""
    factor = rng.normal(size=(users, 1))
    noise = rng.normal(size=(users, len(shares)))
    return np.asarray(loading * factor + np.sqrt(1 - loading**2) * noise < ndtri(shares))


def movielens(users: int, d: int, rng: np.random.Generator) -> Ints:
    """Which genres each user has rated; as many rate most of them as few do."""
    return bits_of(one_factor(users, np.linspace(0.8, 0.3, d), rng))


def items(users: int, d: int, rng: np.random.Generator, loading: float = LOADING) -> Ints:
    """The most frequent items of Kosarak or POS: P = .6·.78^i, at least .04."""
    return bits_of(one_factor(users, np.maximum(0.6 * 0.78 ** np.arange(d), 0.04), rng, loading))


def visitors(users: int, d: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """The same items, by kinds of visitors with a set each: pairs of items do not tell what larger sets do."""
    shares = np.maximum(0.6 * 0.78 ** np.arange(d), 0.04)
    of_kind = rng.beta(shares, 1 - shares, (KINDS, d))
    return np.asarray(rng.random((users, d)) < of_kind[rng.integers(0, KINDS, users)])


def taxi(users: int, rng: np.random.Generator, d: int = 8) -> Ints:
    """Trips as table 1 of the paper has them, three pairs alike; beyond eight attributes columns are repeated."""

    def fresh(share: float) -> NDArray[np.bool_]:
        return rng.random(users) < share

    def copied(of: NDArray[np.bool_], kept: float, share: float) -> NDArray[np.bool_]:
        return np.where(fresh(kept), of, fresh(share))

    card, far, night = fresh(0.6), fresh(0.2), fresh(0.3)
    pick = fresh(0.7)
    drop = np.where(pick, fresh(0.55 / 0.7), fresh(0.1 / 0.3))
    columns = [
        card,
        copied(far, 0.6, 0.1),
        far,
        night,
        copied(night, 0.85, 0.3),
        pick,
        drop,
        copied(card, 0.8, 0.3),
    ]
    return bits_of(np.column_stack([columns[at % 8] for at in range(d)]))


def classes(users: int, sizes: tuple[int, ...], rng: np.random.Generator, groups: int = 4) -> Ints:
    """Attributes of a few categories each, alike within each of a few hidden classes of people."""
    group = rng.choice(groups, users, p=np.array([0.4, 0.3, 0.2, 0.1]))
    columns = []
    for size in sizes:
        law = rng.dirichlet(np.full(size, 0.8), groups)
        columns.append((rng.random((users, 1)) > np.cumsum(law[group], axis=1)).sum(axis=1))
    return np.asarray(np.minimum(np.column_stack(columns), np.array(sizes) - 1), np.int64)


def bumps(users: int, domain: int, rng: np.random.Generator) -> Ints:
    """One ordered attribute with two bumps."""
    narrow = rng.random(users) < 0.4
    found = np.where(narrow, rng.normal(0.68, 0.05, users), rng.normal(0.3, 0.12, users))
    return np.asarray(np.clip(found * domain, 0, domain - 1).astype(np.int64), np.int64)


def correlated(users: int, domains: tuple[int, ...], rng: np.random.Generator, loading: float = 0.7) -> Ints:
    """Ordered attributes around one factor."""
    factor = rng.normal(size=(users, 1))
    found = loading * factor + np.sqrt(1 - loading**2) * rng.normal(size=(users, len(domains)))
    return np.asarray(
        np.clip((found / 6 + 0.45) * np.array(domains), 0, np.array(domains) - 1).astype(np.int64), np.int64
    )


def skewed_measure(values: Ints, domain: int, rng: np.random.Generator) -> Floats:
    """A public measure: skewed, and larger where the attribute is."""
    return np.asarray(rng.gamma(2.0, 10.0, len(values)) * (0.5 + values / domain))
