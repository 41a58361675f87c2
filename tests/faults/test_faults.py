"""Real processes killed with `kill -9` at named points: every collection ends by itself, with every report once."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import pytest

from peos.collection.lifecycle import State
from tests.faults.ground import Ground, ground
from tests.faults.points import EVERY, POINTS, named
from tests.faults.trial import Armed, Trial

USERS = 40
ENOUGH_FOR_WORKERS = 240  # rows from which it pays to decrypt with worker processes


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """One preparation for every run of this file."""
    with ground(tmp_path_factory.mktemp("faults") / "ground", USERS) as made:
        yield made


def strike(here: Ground, armed: Sequence[Armed]) -> None:
    """All of these in one collection, which must end as it should."""
    outcome = Trial(here, armed).run()
    assert not outcome.fault, f"{outcome.fault}; struck were {list(zip(outcome.parties, outcome.points, strict=True))}"


ALONE = ("receipt: about to be given", "decryption: a worker is killed")  # when they come depends on others


def points_of(party: str, end: State = State.PUBLISHED) -> list[Armed]:
    """Every point of a party, in the order in which a collection meets them."""
    return [
        (party, point) for point in POINTS if party in point.parties and point.end is end and point.name not in ALONE
    ]


# One from each step of a collection's life, every party among them.
SELECTED = (
    ("client", "submit: remembered, not sent"),
    ("shuffler-1", "submit: committed, not acknowledged"),
    ("shuffler-2", "freeze: before it is durable"),
    ("shuffler-1", "hand-over 1 mid-stream, sender"),
    ("shuffler-3", "round 3: mix done"),
    ("shuffler-2", "storing: durable, not said"),
    ("shuffler-3", "sending: durable, no byte sent"),
    ("analyzer", "delivery: first vector recorded"),
    ("analyzer", "decryption: some chunks came"),
    ("analyzer", "publication: the result is durable"),
    ("shuffler-2", "erasing: noted, file not wiped"),
)


def test_every_party_is_killed_in_one_collection_which_ends_with_every_report_once(here: Ground) -> None:
    strike(here, [(party, named(point)) for party, point in SELECTED])


@pytest.mark.long  # python -m pytest -m long tests/faults/test_faults.py
@pytest.mark.parametrize("party", sorted({party for point in POINTS for party in point.parties}))
def test_a_party_is_killed_at_each_of_its_points_one_after_another(here: Ground, party: str) -> None:
    strike(here, points_of(party))


@pytest.mark.long  # python -m pytest -m long tests/faults/test_faults.py
def test_the_analyzer_is_killed_with_the_receipt_in_its_hand(here: Ground) -> None:
    strike(here, [("analyzer", named("receipt: about to be given"))])


@pytest.mark.long  # python -m pytest -m long tests/faults/test_faults.py
def test_a_worker_that_is_killed_costs_its_chunk_and_nothing_else(tmp_path: Path) -> None:
    with ground(tmp_path / "ground", ENOUGH_FOR_WORKERS) as here:
        outcome = Trial(here, [("analyzer", named("decryption: a worker is killed"))]).run()
    assert not outcome.fault, outcome.fault
    assert outcome.workers > 0, "no worker was there to be killed"


@pytest.mark.long  # python -m pytest -m long tests/faults/test_faults.py
@pytest.mark.parametrize(
    "armed",
    [[one] for one in chain.from_iterable(points_of(party, State.ABORTED) for party in EVERY)],
    ids=lambda armed: f"{armed[0][0]} {armed[0][1].name}",
)
def test_a_vector_that_is_lost_ends_the_collection_with_the_reason(here: Ground, armed: Sequence[Armed]) -> None:
    strike(here, armed)
