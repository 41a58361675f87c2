"""The sequential shuffle's schedule and machine, and `Delivery` with one last hider in every state that there is."""

from itertools import pairwise

import pytest

from peos.crypto.randomness import Randomness
from peos.protocols.peos import PEOS
from peos.protocols.sequential import SEQUENTIAL
from peos.shuffle import transcript
from peos.shuffle.attempt import awaited
from peos.shuffle.delivery_state import Phase
from peos.shuffle.effects import (
    Discard,
    Output,
    Peel,
    Received,
    Report,
    Restarted,
    SendVector,
    TimedOut,
)
from peos.shuffle.fakes import own_fakes
from peos.shuffle.machine import Shuffler
from peos.shuffle.messages import Kind, Statement, Step
from peos.shuffle.schedule import Deliver, HandOver, Schedule
from peos.shuffle.sequential import SequentialSchedule, SequentialShuffler
from tests.raising import raises
from tests.unit.shuffle import test_delivery_model as model
from tests.unit.shuffle.test_machine import FROZEN, Table

SHUFFLERS = [3, 4, 5, 7, 9]


class Row(Table):
    """Shufflers one after another, their tasks done at once."""

    def __init__(self, shufflers: int = 3) -> None:
        super().__init__(shufflers)
        schedule = SequentialSchedule(shufflers)
        for who in self.machines:
            self.machines[who] = SequentialShuffler(who, schedule, FROZEN, Randomness(bytes([who]) * 32))

    def peels(self) -> list[tuple[int, Peel]]:
        """Who removed layers, in order."""
        return [(who, effect) for who, effect in self.journal if isinstance(effect, Peel)]


@pytest.mark.parametrize("shufflers", SHUFFLERS)
def test_each_shuffler_has_one_pass_in_its_turn_and_the_last_delivers(shufflers: int) -> None:
    schedule = SequentialSchedule(shufflers)
    assert [who for who, _ in schedule.passes] == list(range(1, shufflers + 1))
    for (_, one), (after, other) in pairwise(schedule.passes):
        assert (one.receiver, other.source) == (after, after - 1)
    assert schedule.passes[-1][1].receiver == 0
    assert schedule.last == (shufflers,)
    assert schedule.colluders == shufflers - 1
    for who in range(1, shufflers):
        assert schedule.script(who) == (HandOver(who, who, who - 1, who + 1, who),)
    assert schedule.script(shufflers) == (Deliver(shufflers, schedule.passes[-1][1]),)
    assert schedule.explicit_vectors == 0


@pytest.mark.parametrize("shufflers", SHUFFLERS)
def test_a_shuffler_takes_the_roots_of_all_and_the_rows_of_the_one_before_it(shufflers: int) -> None:
    schedule = SequentialSchedule(shufflers)
    roots = {(Step(who, Kind.CIPHER_ROOT), who) for who in range(1, shufflers + 1)}
    assert transcript.expected(schedule) == roots
    for me in range(1, shufflers + 1):
        rows = {(Step(me - 1, Kind.HANDOVER), me - 1)} if me > 1 else set()
        assert awaited(schedule, me) == {(step, who) for step, who in roots if who != me} | rows


def test_too_few_shufflers_are_refused_as_for_peos() -> None:
    with raises("plan.shufflers", "2"):
        SequentialSchedule(2)


def test_a_schedule_is_worked_off_by_its_own_machine() -> None:
    for protocol, schedule, machine in (
        (PEOS, Schedule(3), Shuffler),
        (SEQUENTIAL, SequentialSchedule(3), SequentialShuffler),
    ):
        assert (protocol.schedule(3), protocol.machine) == (schedule, machine)
    assert Schedule(3) != SequentialSchedule(3)


@pytest.mark.parametrize("shufflers", [3, 5])
def test_the_rows_pass_all_shufflers_once_and_the_last_sends_them(shufflers: int) -> None:
    row = Row(shufflers)
    row.start()
    row.run()
    assert [who for who, _ in row.peels()] == list(range(1, shufflers + 1))
    assert len(row.effects(SendVector)) == shufflers - 1
    assert row.places() == [Phase.FREE] * (shufflers - 1) + [Phase.SENDING]
    assert len(row.effects(Output)) == 1


def test_another_attempt_permutes_afresh() -> None:
    row = Row()
    row.start()
    while len(row.peels()) < 2:
        row.feed(*row.queue.popleft())
    row.feed(2, Restarted())
    row.run()
    permutations = [peel.permutation.secret for _, peel in row.peels()]
    assert [who for who, _ in row.peels()] == [1, 2, 1, 2, 3]
    assert len(set(permutations)) == len(permutations)
    assert row.places() == [Phase.FREE, Phase.FREE, Phase.SENDING]
    assert {effect.attempt for effect in row.effects(Discard) if isinstance(effect, Discard)} == {1}


def test_a_shuffler_that_says_two_things_ends_the_attempt() -> None:
    row = Row()
    row.start()
    while not any(isinstance(effect, SendVector) for _, effect in row.journal):
        row.feed(*row.queue.popleft())
    row.feed(3, next(event for who, event in row.queue if who == 3))  # the opening
    said = next(event for who, event in row.queue if who == 3 and isinstance(event, Received))  # shuffler 1's root
    row.feed(3, said)
    assert row.feed(3, said) == []
    effects = row.feed(3, Received(Statement(said.statement.header, b"\xee" * 32)))
    assert any(isinstance(effect, Report) and "two different statements" in effect.sentence for effect in effects)


def test_a_stall_names_whom_it_waits_for_and_the_next_attempt_gets_on() -> None:
    row = Row()
    row.start()
    while len(row.peels()) < 2:
        row.feed(*row.queue.popleft())
    row.silent = {2}
    row.run()
    waiting = row.machines[3].waiting
    assert waiting is not None
    assert (waiting.step, waiting.parties) == (Step(2, Kind.HANDOVER), (2,))
    row.silent = set()
    row.feed(3, TimedOut())
    row.run()
    assert row.places()[2] is Phase.SENDING


@pytest.mark.parametrize("shufflers", SHUFFLERS)
@pytest.mark.parametrize("total", [0, 1, 2, 10, 1000, 1001])
def test_the_shufflers_shares_of_the_fakes_are_equal_but_for_one(shufflers: int, total: int) -> None:
    shares = [own_fakes(total, shufflers, who) for who in range(1, shufflers + 1)]
    assert sum(shares) == total
    assert max(shares) - min(shares) <= 1
    assert shares == sorted(shares, reverse=True)


@pytest.fixture(scope="module")
def graph() -> model.Graph:
    """Every state of three shufflers of which the last alone delivers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "SCHEDULE", SequentialSchedule(3))
        return model.explored(model.start())


def test_never_two_outputs_with_one_last_hider(graph: model.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "SCHEDULE", SequentialSchedule(3))
    assert len(graph) > 500, f"only {len(graph)} states: the model has shrunk"
    assert any(world.outputs() for world in graph), "no output is ever reached: the model shows nothing"
    faults = [fault for world in graph if (fault := model.broken(world))]
    assert not faults, faults[:3]


def test_with_one_last_hider_all_can_get_on_too(graph: model.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "SCHEDULE", SequentialSchedule(3))
    found = [[party.delivery_state for party in world.parties] for world in model.stuck(graph)]
    assert not found, f"{len(found)} of {len(graph)} states are stuck: {found[:2]}"


def test_the_model_sees_a_last_shuffler_that_forgets_what_it_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "SCHEDULE", SequentialSchedule(3))
    worlds = model.explored(model.start(model.Forgetful), deadline=False)
    assert "two outputs" in {model.broken(world) for world in worlds}
