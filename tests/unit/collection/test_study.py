"""What comes next in a study: from the collections that there are, wherever it was stopped."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from peos.collection.lifecycle import State
from peos.collection.study import Ask, Attempt, Await, Concluded, following
from peos.collection.ticket import PLACES, StudyPart, draw_id, place
from peos.crypto.randomness import Randomness
from peos.tasks.base import NOTHING, Table
from tests.e2e.run_off import RUN_OFF, RunOff
from tests.raising import raises

TEXTS = ["ash", "birch", "cedar"]


def task(users: int = 1_000) -> RunOff:
    targets: Any = {"users": users, "delta": 1e-6, "eps_local": 8.0, "fakes": 0}
    made = RUN_OFF.task({"texts": TEXTS}, targets)
    assert isinstance(made, RunOff)
    return made


def found(*labels: str) -> Table:
    count = len(labels)
    return Table(
        labels,
        np.linspace(0.9, 0.1, count),
        np.full(count, 0.01),
        np.zeros((count, 2)),
        np.ones(count, bool),
        count,
        500,
    )


def attempts(*states: tuple[int, State, Table | None]) -> list[Attempt]:
    """Consecutive windows, each of half of the places that are left."""
    made: list[Attempt] = []
    for number, state, table in states:
        first = made[-1].end if made else 0
        end = first + (PLACES - first) // 2
        made.append(Attempt(f"s.{number}", number, first, end, state, "too few", table))
    return made


def asked(of: Sequence[Attempt], users: int = 1_000) -> Ask:
    step = following("s", task(users), of)
    assert isinstance(step, Ask)
    return step


def test_it_asks_round_after_round_of_other_users_and_ends() -> None:
    first = asked([])
    assert (first.name, first.round, first.attempt, first.first, first.end) == ("s.1", 1, 1, 0, PLACES // 2)
    assert first.users == 500
    one = attempts((1, State.PUBLISHED, found("cedar", "ash")))
    second = asked(one)
    assert (second.name, second.round, second.first, second.end) == ("s.2", 2, PLACES // 2, PLACES)
    assert second.asked.views[0].describe().labels == ("cedar", "ash")
    both = [*one, Attempt("s.2", 2, PLACES // 2, PLACES, State.PUBLISHED, table=found("ash", "cedar"))]
    step = following("s", task(), both)
    assert isinstance(step, Concluded)
    assert (step.answer.found.labels, step.answer.is_complete, step.reason) == (("ash", "cedar"), True, "")


@pytest.mark.parametrize("state", [State.DRAFT, State.OPEN, State.CLOSED, State.SHUFFLING, State.DELIVERED])
def test_what_is_not_over_is_waited_for(state: State) -> None:
    step = following("s", task(), attempts((1, state, None)))
    assert isinstance(step, Await)
    assert step.attempt.name == "s.1"


def test_a_round_of_too_few_is_asked_of_the_next_and_never_of_the_same() -> None:
    failed = attempts((1, State.ABORTED, None), (1, State.ABORTED, None))
    again = asked(failed)
    assert (again.name, again.round, again.attempt) == ("s.1.3", 1, 3)
    assert again.first == failed[-1].end > failed[0].end
    assert again.users == 125
    later = asked([*failed, Attempt("s.1.3", 1, again.first, again.end, State.PUBLISHED, table=found("ash", "cedar"))])
    assert (later.name, later.round, later.attempt, later.end) == ("s.2", 2, 1, PLACES)


def test_with_no_users_left_it_ends_with_what_it_has() -> None:
    one = attempts((1, State.PUBLISHED, found("ash", "birch")))
    stopped = following("s", task(), [*one, Attempt("s.2", 2, PLACES // 2, PLACES, State.ABORTED, "too few came")])
    assert isinstance(stopped, Concluded)
    assert (stopped.answer.is_complete, stopped.answer.found.labels) == (False, ("ash", "birch"))
    assert "too few came" in stopped.reason
    nothing = following("s", task(), [Attempt("s.1", 1, 0, PLACES, State.ABORTED, "too few came")])
    assert isinstance(nothing, Concluded)
    assert nothing.answer.found is NOTHING


def test_every_ticket_is_for_one_round_and_places_are_even() -> None:
    rng, study = Randomness(bytes(32)), bytes(range(32))
    windows = [StudyPart(study, 1, 0, PLACES // 4), StudyPart(study, 2, PLACES // 4, PLACES)]
    ids = [draw_id(rng) for _ in range(4_000)]
    assert all(sum(window.asks(one) for window in windows) == 1 for one in ids)
    early = sum(windows[0].asks(one) for one in ids)
    assert abs(early - 1_000) < 5 * np.sqrt(4_000 * 3 / 16), early
    assert all(windows[1].asks(draw_id(rng, windows[1])) for _ in range(50))
    assert place(bytes(32), ids[0]) != place(study, ids[0]), "a study's places are its own"


@pytest.mark.parametrize(
    ("given", "id_"),
    [
        ({"id": bytes(31)}, "study.id"),
        ({"round": 0}, "study.window"),
        ({"first": 7, "end": 7}, "study.window"),
        ({"first": -1}, "study.window"),
        ({"end": PLACES + 1}, "study.window"),
    ],
)
def test_what_is_no_window_is_refused(given: dict[str, Any], id_: str) -> None:
    with raises(id_):
        StudyPart(**{"id": bytes(32), "round": 1, "first": 0, "end": PLACES, **given})
