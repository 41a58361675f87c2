"""Real processes killed with `kill -9` at named points: every collection ends by itself, with every report once."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import pytest

from peos.collection.lifecycle import State
from tests.faults.ground import Ground, ground
from tests.faults.points import EVERY, POINTS, Armed, named
from tests.faults.rows import ALONE, points_of
from tests.faults.trial import Trial

pytestmark = pytest.mark.full  # a ground of processes, which are killed


def strike(here: Ground, armed: Sequence[Armed]) -> None:
    """All of these in one collection, which must end as it should."""
    outcome = Trial(here, armed).run()
    assert not outcome.fault, f"{outcome.fault}; struck were {list(zip(outcome.parties, outcome.points, strict=True))}"


WORKER = named("decryption: a worker is killed")

# From every part of a collection's life one, and every kind of party among them; all points are the long run's.
SELECTED = (
    ("client", "submit: remembered, not sent"),
    ("shuffler-1", "submit: committed, not acknowledged"),
    ("shuffler-3", "freeze: before it is durable"),
    ("shuffler-1", "hand-over 1 mid-stream, sender"),
    ("shuffler-2", "storing: durable, not said"),
    ("analyzer", "delivery: first vector recorded"),
    ("analyzer", "publication: the result is durable"),
)


def test_every_party_is_killed_in_one_collection_which_ends_with_every_report_once(here: Ground) -> None:
    strike(here, [(party, named(point)) for party, point in SELECTED])


def test_a_study_of_one_round_is_no_other_than_a_collection(tmp_path: Path) -> None:
    with ground(tmp_path / "ground", 40, "jl", "grouped") as few:
        strike(few, [(party, named(point)) for party, point in SELECTED])


@pytest.mark.long  # python -m pytest -m long tests/faults/test_faults.py
@pytest.mark.parametrize("party", sorted({party for point in POINTS for party in point.parties}))
def test_a_party_is_killed_at_each_of_its_points_one_after_another(here: Ground, party: str) -> None:
    strike(here, points_of(party))


@pytest.mark.long  # python -m pytest -m long tests/faults/test_faults.py
@pytest.mark.parametrize(("party", "point"), [(party, name) for name in ALONE for party in named(name).parties])
def test_a_party_is_killed_at_a_point_that_needs_a_collection_of_its_own(here: Ground, party: str, point: str) -> None:
    strike(here, [(party, named(point))])


@pytest.mark.long  # python -m pytest -m long tests/faults/test_faults.py
def test_a_worker_that_is_killed_costs_its_chunk_and_nothing_else(tmp_path: Path) -> None:
    with ground(tmp_path / "ground", WORKER.least) as wide:
        strike(wide, [("analyzer", WORKER)])


@pytest.mark.long  # python -m pytest -m long tests/faults/test_faults.py
@pytest.mark.parametrize(
    "armed",
    [[one] for one in chain.from_iterable(points_of(party, State.ABORTED) for party in EVERY)],
    ids=lambda armed: f"{armed[0][0]} {armed[0][1].name}",
)
def test_a_vector_that_is_lost_ends_the_collection_with_the_reason(here: Ground, armed: Sequence[Armed]) -> None:
    strike(here, armed)
