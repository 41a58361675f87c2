"""Whether two attributes depend on each other, by a table that carries privacy noise.

Pearson's χ² = nΣ(f − E)²/E is compared with 3.841 (one degree of freedom) where f is counted from n users. Here f has
the error of blank reports and of asking only some users besides, so that under independence χ² is nΣλ_i·χ²_1: the λ_i
are the eigenvalues of the covariance of (f − E)/√E, to first order in the error (f − E has the margins' error in it).
The threshold is that sum's quantile, exactly for two by two cells, elsewhere of the γ-law with its first two moments
(Satterthwaite 1946). Both thresholds are reported: the plain one rejects nearly every independent pair of noisy tables.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from peos.tasks.marginals.consistency import Floats


@dataclass(frozen=True)
class Independence:
    """χ², and what it is held against."""

    statistic: float
    threshold: float  # with the privacy noise
    plain_threshold: float  # without: of counted tables
    level: float

    @property
    def is_dependent(self) -> bool:
        """Whether independence is rejected at the level."""
        return self.statistic > self.threshold

    @property
    def is_dependent_plainly(self) -> bool:
        """Whether the plain test would have rejected it."""
        return self.statistic > self.plain_threshold


def expected(table: Floats, users: int) -> Floats:
    """What independence would have: the product of the margins, each at least one user's share."""
    rows, columns = (np.maximum(table.sum(axis=axis), 1 / users) for axis in (1, 0))
    return np.outer(rows / rows.sum(), columns / columns.sum())


def chi_square(table: Floats, covariance: Floats, users: int, level: float = 0.05) -> Independence:
    """Of a table of two attributes that is unbiased, and the covariance of its cells if they are independent."""
    r, c = table.shape
    even = expected(table, users)
    statistic = float(users * np.sum((table - even) ** 2 / even))
    # d(f − f_r f_c') = df − df_r f_c' − f_r df_c', with the margins of what is expected.
    rows, columns = even.sum(axis=1), even.sum(axis=0)
    of_rows = np.kron(np.eye(r), np.outer(columns, np.ones(c)))
    of_columns = np.kron(np.outer(rows, np.ones(r)), np.eye(c))
    scaled = (np.eye(r * c) - of_rows - of_columns) / np.sqrt(even.reshape(-1))[:, np.newaxis]
    λ = np.maximum(np.linalg.eigvalsh(users * scaled @ covariance @ scaled.T), 0.0)
    mean, square = float(λ.sum()), float((λ**2).sum())
    freedom = mean * mean / square
    threshold = mean / freedom * float(chdtri(freedom, level))
    return Independence(statistic, threshold, float(chdtri((r - 1) * (c - 1), level)), level)
