"""What stands for the data of thesis chapter 4, its methods, and means of their runs.

Random strings by Zipf's law stand for the visited sites and for the search log; the synthetic set is exponential, as
stated. Every method hashes locally at its ε; SPM and HASH split it among linked reports, as the thesis first has them,
or ask a tenth of the users for whole texts, as it improves them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from experiments.searches import Holders, by_zipf, numbers
from peos.tasks import HASH, SPM, LinkedHASH, LinkedSPM, PrivTrie, pem, pem1
from peos.tasks.base import Task
from peos.tasks.texts import Texts

RUNS: Final = 10
QUICK_RUNS: Final = 2
K: Final = 16
STEP: Final = 10  # Δs of PEM
OTHER_DATA: Final = "random strings by Zipf's law are not the thesis' data"


@dataclass(frozen=True)
class Source:
    """What stands for a data set."""

    name: str
    bits: int
    drawn: Callable[[np.random.Generator], Holders]
    segment: int = 8  # bits, of SPM


def targets(users: int, epsilon: float) -> dict[str, Any]:
    """Without a shuffle."""
    return {"users": users, "delta": 1e-9, "eps_local": epsilon, "fakes": 0}


def urls(bits: int, exponent: float, rng: np.random.Generator) -> Holders:
    """1.2 million visits of 27,000 sites."""
    rows = rng.integers(0, 256, (27_000, bits // 8), dtype=np.uint8)
    texts = Texts(rows, np.ones(len(rows), np.bool_))
    return Holders("URL", texts, by_zipf(1_200_000, len(rows), exponent, rng), bits)


def queries(bits: int, rng: np.random.Generator) -> Holders:
    """Half a million queries, 120,000 different ones."""
    return Holders("AOL", numbers(rng, 120_000, bits), by_zipf(500_000, 120_000, 0.95, rng), bits)


def _synthetic(bits: int, rng: np.random.Generator) -> Holders:
    ranks = np.arange(400)
    chances = np.exp(-0.05 * ranks)
    counts = rng.multinomial(1_000_000, chances / chances.sum())
    return Holders("Synthetic", numbers(rng, len(ranks), bits), counts, bits)


URL: Final = Source("URL", 160, partial(urls, 160, 0.9), segment=16)
FLATTER: Final = Source("URL, Zipf 0.8", 160, partial(urls, 160, 0.8), segment=16)
AOL: Final = Source("AOL", 48, partial(queries, 48))
SYNTHETIC: Final = Source("Synthetic", 64, partial(_synthetic, 64))


def steps_of(bits: int, k: int, step: int) -> int:
    """How many groups PEM has at Δs."""
    return math.ceil((bits - (k - 1).bit_length()) / step)


def made(method: str, source: Source, k: int, users: int, epsilon: float) -> Task:
    """A method's task."""
    bits, asked = source.bits, targets(users, epsilon)
    groups = steps_of(bits, k, STEP)
    match method:
        case "PEM":
            return pem(bits, k, groups, **asked)
        case "PEM, beam 4k":
            return pem(bits, k, groups, beam=4 * k, **asked)
        case "PEM1":
            return pem1(bits, k, **asked)
        case "HASH":
            return LinkedHASH(bits, k, **asked)
        case "HASH, 10 %":
            return HASH(bits, k, **asked)
        case "SPM":
            return LinkedSPM(bits, k, step=source.segment, **asked)
        case "SPM, 10 %":
            return SPM(bits, k, step=source.segment, **asked)
        case "PrivTrie":
            return PrivTrie(bits, k, **asked)
    raise ValueError(method)


METHODS: Final = ("PEM", "PEM, beam 4k", "PEM1", "HASH, 10 %", "SPM, 10 %", "HASH", "SPM", "PrivTrie")


def runs_of(quick: bool) -> int:
    """How many."""
    return QUICK_RUNS if quick else RUNS
