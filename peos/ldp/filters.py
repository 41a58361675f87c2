"""RAPPOR's Bloom filters: which value sets which bit, by the hash functions of each cohort (protocol.md §2)."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from peos.estimate.lasso import Design
from peos.ldp.hashing import splitmix64


@lru_cache(maxsize=8)
def design_of(domain: int, bits: int, hashes: int, cohorts: int) -> Design:
    """Row c·k + i has a 1 for each value of which cohort c's filter has bit i."""
    values, all_cohorts = np.arange(domain)[:, np.newaxis], np.arange(cohorts)[np.newaxis, :]
    at = [all_cohorts * bits + bit_of(all_cohorts, number, values, bits) for number in range(hashes)]
    return Design(np.concatenate(at, axis=1), cohorts * bits)


def bit_of(cohorts: NDArray[np.int64], number: int, values: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """⌊h·k/2^32⌋ with h the top half of output number + 1 of SplitMix64(c·2^32 + v): the same in every collection."""
    states = (np.asarray(cohorts).astype(np.uint64) << np.uint64(32)) + np.asarray(values).astype(np.uint64)
    return ((splitmix64(states, number + 1) >> np.uint64(32)) * np.uint64(bits) >> np.uint64(32)).astype(np.int64)
