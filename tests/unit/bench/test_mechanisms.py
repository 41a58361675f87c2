"""Randomising and counting hold little memory however many reports there are, and take few steps on large domains."""

import tracemalloc

import numpy as np
import pytest

from benchmarks.mechanisms import DOMAIN, EPSILON, EVERY, LARGE, PARTS, streamed
from peos.ldp import HadamardResponse, LocalHash
from peos.ldp.base import Mechanism

REPORTS = 50_000
MOST = 200e6
A_REPORT = 100  # bytes besides the words, while they are counted all at once


def peak(mechanism: Mechanism, reports: int) -> int:
    """Bytes that streaming so many reports holds at most."""
    tracemalloc.start()
    streamed(mechanism, reports)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


@pytest.mark.parametrize("name", EVERY)
def test_reports_are_drawn_and_tallied_in_little_memory(name: str) -> None:
    most = peak(EVERY[name].build(DOMAIN, EPSILON), REPORTS)
    assert most < MOST, f"{most / 1e6:.0f} MB"


def test_hadamard_response_on_a_million_values_needs_little_memory_and_few_steps() -> None:
    ours, theirs = HadamardResponse(LARGE, EPSILON), LocalHash(LARGE, EPSILON)
    words = ours.randomize(np.arange(REPORTS) % LARGE)
    tracemalloc.start()
    ours.tally(words)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 8 * LARGE * 8 + A_REPORT * REPORTS, f"{most / 1e6:.0f} MB"
    assert ours.steps(10**6) * 500 <= theirs.steps(10**6)
    assert ours.variance(10**6) == pytest.approx(theirs.variance(10**6), rel=0.005)


@pytest.mark.parametrize(("part", "which"), [("mechanisms", "hadamard"), ("fields", "3"), ("large", "4.0")])
def test_each_part_measures_what_the_page_shows(part: str, which: str) -> None:
    row = PARTS[part](which, 500)
    assert row
    assert all(value >= 0 for value in row.values() if not isinstance(value, str))
