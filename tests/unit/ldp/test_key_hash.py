"""Hashes of keys: as protocol.md writes them, pairwise independent over seeds, and counted alike in every way."""

import json
from pathlib import Path

import numpy as np
import pytest

from peos.ldp.key_hash import KeyHash

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "grouped_hash.json").read_text())


@pytest.mark.parametrize("vector", VECTORS["hashes"], ids=lambda vector: f"{vector['bits']} bits, {vector['seed']}")
def test_hashes_are_those_of_the_vectors(vector: dict[str, int]) -> None:
    family = KeyHash(vector["bits"], vector["salt"])
    found = family.hash(*(np.array([vector[name]], np.uint64) for name in ("seed", "parent", "ext")))
    assert found.tolist() == [vector["cell"]]


@pytest.mark.parametrize(
    ("bits", "parents", "exts"), [(1, 3, 8), (8, 30, 300), (10, 5, 2000), (14, 40, 5000), (16, 30, 20_000)]
)
def test_reports_are_counted_alike_by_products_by_pairs_and_one_by_one(bits: int, parents: int, exts: int) -> None:
    rng = np.random.default_rng(bits)
    family, reports = KeyHash(bits, 7), 600
    seeds = rng.integers(0, 2**32, reports).astype(np.uint64)
    answers = rng.integers(0, 2**bits, reports)
    heads = rng.integers(0, 2**63, parents).astype(np.uint64)
    tails = rng.permutation(2**20)[:exts].astype(np.uint64)
    counts = family.support_counts(seeds, answers, heads, tails)
    at, after = rng.integers(0, parents, 50), rng.integers(0, exts, 50)
    met = family.hash(seeds[:, np.newaxis], heads[at], tails[after]) == answers[:, np.newaxis]
    assert counts[at, after].tolist() == met.sum(axis=0).tolist()
    assert family.pair_counts(seeds, answers, heads[at], tails[after]).tolist() == met.sum(axis=0).tolist()
    assert abs(counts.mean() / (reports / 2**bits) - 1) < 0.2


KEYS = ((0, 0), (0, 1), (1, 0), (1, 1), (2**32, 0), (2**63, 2**20 - 1), (2**63 + 1, 2**20 - 1), (0x6162, 0x63))


@pytest.mark.parametrize("bits", [1, 4, 8])
def test_two_keys_have_every_pair_of_cells_equally_often(bits: int) -> None:
    """Over 2^16 seeds, 18 standard deviations of each of the d'^2 pairs of cells; a bad family is far outside."""
    family, cells, seeds = KeyHash(bits, 99), 2**bits, np.arange(2**16, dtype=np.uint64)
    for number, one in enumerate(KEYS):
        for other in KEYS[:number]:
            a, b = (family.hash(seeds, *(np.array([part], np.uint64) for part in key)) for key in (one, other))
            pairs = np.bincount(a * cells + b, minlength=cells**2)
            expected = 2**16 / cells**2
            assert np.abs(pairs - expected).max() <= 18 * expected**0.5 + 3, (one, other)
            met = int(np.count_nonzero(a == b))
            assert abs(met - 2**16 / cells) <= 6 * (2**16 / cells) ** 0.5, (one, other, met)
