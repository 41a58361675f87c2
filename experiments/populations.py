"""Stand-ins for the papers' data sets, which cannot be had: the stated n and d, values by Zipf's law.

For every unbiased method the choice does not matter: the variance of an estimate is linear in the true frequency and
the frequencies add up to 1, so the mean over all values is the same for all data of the same n and d. What depends on
the data is Base, which always answers 1/d, and the spread of the measured means around their expectation.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class DataSet:
    """What the thesis states of a data set (§9.6.1), and δ."""

    name: str
    users: int
    domain: int
    delta: float


KOSARAK: Final = DataSet("Kosarak", 990_002, 42_178, 1e-9)
IPUMS: Final = DataSet("IPUMS", 602_325, 915, 1e-9)


def zipf(users: int, domain: int, exponent: float = 1.0) -> Counts:
    """(domain,): how many users have each value, as near to users / rank^s as whole numbers that add up can be."""
    shares = np.arange(1, domain + 1) ** -exponent
    ideal = users * shares / shares.sum()
    counts: Counts = np.floor(ideal).astype(np.int64)
    short = users - int(counts.sum())
    counts[np.argsort(counts - ideal, kind="stable")[:short]] += 1
    return counts


def values_of(truth: Counts) -> NDArray[np.int64]:
    """(n,): one value for each user."""
    values: NDArray[np.int64] = np.repeat(np.arange(len(truth)), truth)
    return values
