"""The other way of counting supports is what it claims to be, so that the comparison is fair."""

import numpy as np
import pytest

from peos.bench.count import measure, over_all_pairs, premultiply, xxh32
from peos.crypto.randomness import Randomness

# From the reference library: xxhash.xxh32(value.to_bytes(4, "little"), seed=seed).intdigest(), xxhash 4.1.0.
VECTORS = [
    (0, 0, 0x08D6D969),
    (42177, 0xDEADBEEF, 0x96248026),
    (int.from_bytes(b"abcd", "little"), 0, 0xA3643705),
]


def hashed(values: list[int], seed: int) -> list[int]:
    out = np.empty(len(values), np.uint32)
    xxh32(premultiply(np.array(values)), seed, out, np.empty_like(out))
    return [int(one) for one in out]


@pytest.mark.parametrize(("value", "seed", "expected"), VECTORS)
def test_it_hashes_as_the_reference_library_does(value: int, seed: int, expected: int) -> None:
    assert hashed([value], seed) == [expected]


@pytest.mark.parametrize("reports", [1, 255, 256, 600])
def test_counts_are_those_of_the_definition_however_many_reports(reports: int, rng: Randomness) -> None:
    domain, cells = 40, 7
    seeds = (rng.uint64(reports) >> np.uint64(32)).astype(np.uint32)
    answers = (rng.uint64(reports) % np.uint64(cells)).astype(np.int64)
    expected = [0] * domain
    for seed, answer in zip(seeds.tolist(), answers.tolist(), strict=True):
        for value, hash_ in enumerate(hashed(list(range(domain)), seed)):
            expected[value] += hash_ * cells >> 32 == answer
    assert over_all_pairs(seeds, answers, domain, cells).tolist() == expected


def test_a_slice_is_scaled_to_all_reports_and_the_ratio_is_of_the_scaled(rng: Randomness) -> None:
    found = measure(1000, 50, domain=300, cells=16, rng=rng)
    ours, theirs = found["rows"]
    assert (ours["reports"], theirs["reports"]) == (1000, 50)
    assert ours["for_all_reports"] == ours["seconds"]
    assert theirs["for_all_reports"] == pytest.approx(20 * theirs["seconds"])
    assert found["times_faster"] == pytest.approx(theirs["for_all_reports"] / ours["seconds"])
    assert found["steps_a_report"] == pytest.approx(307 / 16)  # P is the prime after 300
    assert found["machine"]["cores"]
