"""Whole collections under faults, from submissions to the erasure; and that planted mistakes in each part are seen."""

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.full import full
from tests.simulation.erring import ERRING
from tests.simulation.office import OfAStudy
from tests.simulation.operations import Again, Faulty, KillUser, Order, Trial, whole_trial
from tests.simulation.shrink import shrunk
from tests.simulation.watch import Violation
from tests.simulation.whole import Kinds, Whole, examined, failure

PAGE = Path(__file__).parents[2] / "docs" / "simulation.md"
BATCH, BATCHES = 200, 4  # 800 schedules in CI, half of them in a normal run
MANY = 20_000
MOST_OPERATIONS = 2


QUESTIONS = {"one value": Kinds(), "grouped": Kinds(user=OfAStudy)}


def swept(first: int, schedules: int, question: str = "one value") -> Counter[str]:
    """Run a stretch of seeds; what happened in them."""
    reached: Counter[str] = Counter()
    for seed in range(first, first + schedules):
        found, world = examined(whole_trial(seed), QUESTIONS[question])
        assert found is None, f"{found}\nwhole_trial({seed}):\n{whole_trial(seed).source()}"
        reached[f"with {'rows' if world.trial.vectors else 'names alone'}"] += 1
        reached.update(world.watch.reached)
    return reached


@pytest.mark.parametrize(
    ("batch", "question"),
    [(0, "one value"), full(0, "grouped"), *(full(at, "one value") for at in range(1, BATCHES))],
)
def test_every_rule_holds_from_submissions_to_the_erasure(batch: int, question: str) -> None:
    reached = swept(batch * BATCH, BATCH, question)
    least = {
        "with rows": 20,
        "frozen": 350,
        "the analyzer is published": 100,
        "the analyzer is aborted": 40,
        "open to aborted": 5,
        "closed to aborted": 40,
        "shuffling to aborted": 20,
        "delivered to published": 300,
        "killed while open": 10,
        "killed while shuffling": 20,
        "a change that failed behind it": 20,
        "a change that failed before it": 20,
    }
    short = {what: reached[what] for what in least if reached[what] < least[what]}
    assert not short, f"{BATCH} schedules from seed {batch * BATCH} reached too little: {short}"


@pytest.mark.long
def test_every_rule_holds_in_many_more() -> None:
    swept(BATCH * BATCHES, MANY)


@pytest.mark.parametrize("shufflers", [3, 4, 5])
@pytest.mark.parametrize("vectors", [False, True], ids=["names alone", "rows"])
def test_undisturbed_a_collection_is_published_and_nothing_is_left(shufflers: int, vectors: bool) -> None:
    world = Whole(Trial(shufflers=shufflers, vectors=vectors))
    outcome = world.run()
    assert (outcome.delivered, outcome.attempts) == (True, 1)
    assert len(world.watch.made) == 4
    assert all(len(rows) == 4 for _, rows in world.watch.frozen.values())


@pytest.mark.parametrize("at", [5, 22, 30, 45, 60, 70, 80])
@pytest.mark.parametrize("abort", [True, False])
def test_the_analysts_order_is_carried_out_at_any_time(at: int, abort: bool) -> None:
    assert failure(Trial(operations=(Order(at, abort),))) is None


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_user_who_answers_again_and_one_whose_client_is_killed_count_once(question: str) -> None:
    operations = (Again(10, 1), KillUser(2, 2, 5), KillUser(3, 3, 1))
    world = Whole(Trial(operations=operations), kinds=QUESTIONS[question])
    world.run()
    assert all(len(rows) == 4 for _, rows in world.watch.frozen.values())


@pytest.mark.parametrize("behind", [True, False])
@pytest.mark.parametrize("at", range(0, 110, 5))
def test_a_change_of_the_store_may_fail_at_any_time(at: int, behind: bool) -> None:
    assert failure(Trial(operations=(Faulty(at, 2, 2, behind),))) is None


@cache
def caught(name: str) -> tuple[int, Violation]:
    """The first schedule that catches a mistake, and the rule that is broken then."""
    for seed in range(BATCH * BATCHES):
        found = failure(whole_trial(seed), ERRING[name])
        if found is not None:
            return seed, found
    pytest.fail(f"{name} was not caught in {BATCH * BATCHES} schedules")


RARE = ("WaitsForEver", "PublishesWhatWasNotSeen", "AwaitsOpeningsForEver")  # caught late, or at the end of a long wait


@pytest.mark.parametrize("name", [full(name) if name in RARE else name for name in ERRING])
def test_a_planted_mistake_is_caught(name: str) -> None:
    seed, found = caught(name)
    row = f"| {name} | {found.rule} | {seed + 1} |"
    assert row in PAGE.read_text(encoding="utf-8"), f"docs/simulation.md should say: {row}"


@pytest.mark.full
@pytest.mark.parametrize("name", ERRING)
def test_a_planted_mistake_shrinks_to_a_small_reproduction(name: str) -> None:
    kinds = ERRING[name]
    seed, found = caught(name)

    def fails(candidate: Trial) -> bool:
        again = failure(candidate, kinds)
        return again is not None and again.rule == found.rule

    small = shrunk(whole_trial(seed), fails)
    assert len(small.operations) <= MOST_OPERATIONS, small.source()
    assert failure(small) is None, "the reproduction fails without the mistake"
