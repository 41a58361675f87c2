"""A shuffler as a machine: three of them driven by hand, without vectors, to look at single steps and at faults."""

from collections import deque
from dataclasses import replace

import pytest

from peos.crypto.kdf import Context
from peos.crypto.randomness import Randomness
from peos.shuffle.attempt import awaited
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.shuffle.driver import Driver
from peos.shuffle.effects import (
    Deadline,
    Discard,
    Done,
    Effect,
    Erase,
    Event,
    Handle,
    Heard,
    Mix,
    Notify,
    Output,
    Persist,
    Receipt,
    Received,
    ReceivedVector,
    Report,
    Restarted,
    Send,
    SendVector,
    Split,
    Task,
    Tick,
    TimedOut,
)
from peos.shuffle.machine import Shuffler
from peos.shuffle.messages import Header, Kind, Notice, NoticeKind, Statement, Step
from peos.shuffle.schedule import Deliver, HandOver, Hide, Leave, Schedule
from tests.raising import raises

FROZEN = Context(b"c" * 32, b"f" * 32)
Journal = list[tuple[int, Effect]]


class Table:
    """Three machines and what they say to one another, in order; tasks are done at once, with made-up roots."""

    def __init__(self, shufflers: int = 3) -> None:
        schedule = Schedule(shufflers)
        self.machines = {
            who: Shuffler(who, schedule, FROZEN, Randomness(bytes([who]) * 32)) for who in range(1, shufflers + 1)
        }
        self.journal: Journal = []
        self.queue: deque[tuple[int, Event]] = deque()
        self.silent: set[int] = set()  # whose messages get lost

    def feed(self, who: int, event: Event) -> list[Effect]:
        """Give one machine an event and put on the way what it sends."""
        effects = self.machines[who].handle(event)
        for effect in effects:
            self.journal.append((who, effect))
            Seat(self, who).carry_out(effect)
        return effects

    def run(self, turns: int = 100_000) -> None:
        """Deliver what is on the way, in order."""
        while self.queue and turns:
            self.feed(*self.queue.popleft())
            turns -= 1

    def start(self) -> None:
        """Everybody is free: shuffler 1 asks, and opens attempt 1."""
        self.feed(1, Tick())

    def places(self) -> list[Phase]:
        """Where all stand."""
        return [machine.delivery_state.phase for machine in self.machines.values()]

    def effects(self, kind: type[Effect]) -> list[Effect]:
        """All effects of a kind so far."""
        return [effect for _, effect in self.journal if isinstance(effect, kind)]


class Seat(Driver[None]):
    """One machine's effects; nothing is kept but what is on its way."""

    def __init__(self, table: Table, who: int) -> None:
        self._table = table
        self._who = who

    def _post(self, receiver: int, event: Event) -> None:
        if self._who not in self._table.silent:
            self._table.queue.append((receiver, event))

    def on_send(self, statement: Statement) -> None:
        """It arrives."""
        self._post(statement.header.receiver, Received(statement))

    def on_send_vector(self, header: Header, vector: Handle) -> None:
        """It arrives."""
        self._post(header.receiver, ReceivedVector(header, vector))

    def on_tell(self, notice: Notice, receivers: tuple[int, ...]) -> None:
        """All hear it."""
        for receiver in receivers:
            self._post(receiver, Heard(notice))

    def on_work(self, task: Task) -> None:
        """It is done, with a made-up root."""
        attempt = self._table.machines[self._who].delivery_state.attempt
        self._table.queue.append((self._who, Done(attempt, task.task, bytes([self._who]) * 32)))

    def on_persist(self, delivery_state: DeliveryState, vector: Handle | None) -> None:
        """It is in the journal, and so are the others."""

    def on_output(self, delivery_state: DeliveryState) -> None:
        """Likewise."""

    def on_discard(self, attempt: int) -> None:
        """Likewise."""

    def on_erase(self) -> None:
        """Likewise."""

    def on_report(self, sentence: str) -> None:
        """Likewise."""


def test_three_shufflers_reach_the_output_by_themselves() -> None:
    table = Table()
    table.start()
    table.run()
    assert table.places() == [Phase.FREE, Phase.SENDING, Phase.SENDING]
    transcripts = {table.machines[who].delivery_state.transcript for who in (2, 3)}
    assert len(transcripts) == 1
    assert len(table.effects(Output)) == 2


@pytest.mark.parametrize("shufflers", [3, 5])
def test_every_machine_says_each_part_of_its_script_while_it_is_under_way(shufflers: int) -> None:
    table, schedule = Table(shufflers), Schedule(shufflers)
    seen: dict[int, list[Step]] = {who: [] for who in table.machines}
    table.start()
    while table.queue:
        table.run(1)
        for who, machine in table.machines.items():
            if machine.step is not None and machine.step not in seen[who][-1:]:
                seen[who].append(machine.step)
    kinds = {Leave: Kind.PIECE, Hide: Kind.ROOT, HandOver: Kind.CIPHER_ROOT}
    for who, steps in seen.items():
        actions = [action.holds if isinstance(action, Deliver) else action for action in schedule.script(who)]
        script = [Step(action.round, kinds[type(action)]) for action in actions if action is not None]
        assert steps == [*script, Step(len(schedule.rounds), Kind.DELIVERY)]


def test_everything_is_persisted_before_it_is_said() -> None:
    """A shuffler that says it stored, lost or sends has made that durable earlier in the same list of effects."""
    table = Table()
    table.start()
    table.run()
    for who, machine in table.machines.items():
        durable = DeliveryState()
        for number, effect in table.journal:
            if number != who:
                continue
            if isinstance(effect, Persist):
                durable = effect.delivery_state
            if isinstance(effect, Notify) and effect.notice.kind is NoticeKind.STORED:
                assert (durable.phase, durable.transcript) == (Phase.STORED, effect.notice.transcript)
            if isinstance(effect, Notify) and effect.notice.kind is NoticeKind.OPEN:
                assert durable.attempt == effect.notice.attempt
            if isinstance(effect, Output):
                assert durable == effect.delivery_state
                assert durable.phase is Phase.SENDING
        assert durable == machine.delivery_state


def test_a_late_opening_loses_no_message() -> None:
    """Words of an attempt that come before its opening was heard are kept."""
    table = Table()
    table.start()
    late: list[tuple[int, Event]] = []
    for _ in range(200):
        if not table.queue:
            break
        who, event = table.queue.popleft()
        if who == 2 and isinstance(event, Heard) and event.notice.kind is NoticeKind.OPEN:
            late.append((who, event))
            continue
        table.feed(who, event)
    assert table.machines[2].delivery_state.attempt == 0
    table.queue += late
    table.run()
    assert table.places() == [Phase.FREE, Phase.SENDING, Phase.SENDING]


def test_an_opening_that_never_came_is_said_again() -> None:
    """Shuffler 2 died before the opening was durable: it has nothing to ask for, and the others wait for its words."""
    table = Table()
    table.start()
    while table.queue:
        who, event = table.queue.popleft()
        if not (who == 2 and isinstance(event, Heard) and event.notice.kind is NoticeKind.OPEN):
            table.feed(who, event)
    assert [machine.delivery_state.attempt for machine in table.machines.values()] == [1, 0, 1]
    table.feed(2, Tick())
    assert not table.queue, "it knows of nothing to ask for"
    table.feed(1, Tick())
    table.run()
    assert table.places() == [Phase.FREE, Phase.SENDING, Phase.SENDING]
    assert {machine.delivery_state.attempt for machine in table.machines.values()} == {1}, "no shuffler had to leave it"


def test_repeated_messages_change_nothing() -> None:
    table = Table()
    table.start()
    while table.queue:
        who, event = table.queue.popleft()
        table.feed(who, event)
        table.feed(who, event)
    assert table.places() == [Phase.FREE, Phase.SENDING, Phase.SENDING]
    assert not table.effects(Report)


def interrupted(turns: int) -> Table:
    table = Table()
    table.start()
    table.run(turns)
    return table


@pytest.mark.parametrize("turns", range(4, 60, 5))
@pytest.mark.parametrize("who", [1, 2, 3])
@pytest.mark.parametrize("event", [Restarted(), TimedOut()], ids=["restarted", "timed out"])
def test_an_interrupted_attempt_is_left_and_another_completes(turns: int, who: int, event: Event) -> None:
    table = interrupted(turns)
    table.feed(who, event)
    for _ in range(4):
        for number in table.machines:
            table.feed(number, Tick())
        table.run()
    assert table.places()[1:] == [Phase.SENDING, Phase.SENDING]
    outputs = {
        (effect.delivery_state.attempt, effect.delivery_state.transcript)
        for effect in table.effects(Output)
        if isinstance(effect, Output)
    }
    assert len(outputs) == 1


def test_a_new_attempt_uses_nothing_random_twice() -> None:
    """Streams, contributions, leaving seeds and salts: those of the second attempt are all new."""
    table = interrupted(40)
    table.feed(2, TimedOut())
    table.feed(1, Tick())
    table.run()
    assert table.machines[2].delivery_state.attempt == 2
    keys: dict[int, set[bytes]] = {1: set(), 2: set()}
    for _, effect in table.journal:
        match effect:
            case Send(statement):
                if statement.header.step.kind in (Kind.REVEAL, Kind.SEED):
                    keys[statement.header.context.attempt].add(statement.body)
            case Mix():
                used = (*effect.streams, effect.permutation, *effect.plus, *effect.minus, effect.salt)
                keys[int(effect.out.split("/")[0])] |= {key.secret for key in used}
            case Split():
                keys[int(effect.out.split("/")[0])] |= {key.secret for key in effect.streams}
            case _:
                pass
    assert keys[1]
    assert keys[2]
    assert not keys[1] & keys[2]


def a_word(
    kind: Kind = Kind.COMMIT, *, round_: int = 1, sender: int = 1, receiver: int = 2, body: bytes = b"w" * 32
) -> Statement:
    return Statement(Header(replace(FROZEN, attempt=1), Step(round_, kind), sender, receiver), body)


def running(who: int) -> Table:
    table = Table()
    table.start()
    while table.machines[who].delivery_state.attempt == 0:
        table.feed(*table.queue.popleft())
    return table


def test_two_different_words_for_one_step_abort_the_attempt() -> None:
    table = running(2)
    table.feed(2, Received(a_word(body=b"a" * 32)))
    effects = table.feed(2, Received(a_word(body=b"b" * 32)))
    assert isinstance(effects[0], Report)
    assert effects[0].sentence == "shuffler 1, round 1, commit: sent two different statements for one step"
    assert [type(effect) for effect in effects[1:]] == [Persist, Discard, Notify]
    assert table.machines[2].delivery_state == DeliveryState(Phase.FREE, 1, 1)


def test_a_word_that_no_step_has_aborts_the_attempt() -> None:
    table = running(2)
    effects = table.feed(2, Received(a_word(round_=2)))  # shuffler 2 does not hide in round 2
    assert isinstance(effects[0], Report)
    assert "round 2, commit" in effects[0].sentence


def test_a_contribution_that_was_not_committed_to_aborts_the_attempt() -> None:
    table = running(2)
    reports = []
    table.feed(2, Received(a_word()))
    for effect in table.feed(2, Received(a_word(Kind.REVEAL))):
        reports += [effect.sentence] if isinstance(effect, Report) else []
    assert reports == ["shuffler 1, round 1, reveal: revealed a contribution that it had not committed to"]


def test_another_seed_is_noticed_before_anything_is_permuted() -> None:
    table = Table()
    table.start()
    mixes_before = -1
    while table.queue:
        who, event = table.queue.popleft()
        if (
            isinstance(event, Received)
            and event.statement.header.step == Step(1, Kind.CONFIRM)
            and event.statement.header.sender == 1
        ):
            mixes_before = len(table.effects(Mix))
            event = Received(replace(event.statement, body=b"x" * 32))
        if table.machines[who].delivery_state.attempt == 2:
            break
        table.feed(who, event)
    reports = [effect.sentence for _, effect in table.journal if isinstance(effect, Report)]
    assert any(sentence == "shuffler 1, round 1, confirm: confirmed another seed" for sentence in reports)
    assert mixes_before <= 1  # shuffler 1 itself may have gone on


def test_messages_of_another_collection_are_the_callers_mistake() -> None:
    table = running(2)
    statement = a_word()
    stray = replace(statement, header=replace(statement.header, context=Context(b"x" * 32, b"f" * 32, 1)))
    with raises("shuffle.other_collection"):
        table.feed(2, Received(stray))
    with raises("shuffle.other_receiver"):
        table.feed(3, Received(statement))


def test_it_says_what_it_waits_for() -> None:
    table = running(2)
    waiting = table.machines[2].waiting
    assert waiting is not None
    assert str(waiting.step) == "round 1, commit"
    assert waiting.parties == (1,)
    assert Table().machines[1].missing == (2, 3)


def test_after_the_deadline_nothing_is_begun() -> None:
    table = Table()
    table.feed(3, Deadline())
    table.run()
    assert table.places() == [Phase.DEAD] * 3


def test_nothing_secret_is_shown() -> None:
    table = running(2)
    table.run()
    for _, effect in table.journal:
        if isinstance(effect, Send) and effect.statement.header.step.kind in (Kind.REVEAL, Kind.SEED):
            assert effect.statement.body.hex() not in repr(effect)
            assert repr(effect.statement.body) not in repr(effect)
        if isinstance(effect, Mix):
            assert repr(effect.permutation.secret) not in repr(effect)


@pytest.mark.parametrize("shufflers", [3, 4, 5, 7])
def test_what_is_awaited_is_what_is_sent(shufflers: int) -> None:
    table = Table(shufflers)
    table.start()
    table.run()
    sent: dict[int, set[tuple[Step, int]]] = {who: set() for who in table.machines}
    for who, effect in table.journal:
        if isinstance(effect, Send):
            sent[effect.statement.header.receiver].add((effect.statement.header.step, who))
        if isinstance(effect, SendVector):
            sent[effect.header.receiver].add((effect.header.step, who))
    for who in table.machines:
        assert sent[who] == awaited(Schedule(shufflers), who)


def erases(effects: list[Effect]) -> bool:
    return any(isinstance(effect, Erase) for effect in effects)


def test_what_is_to_be_inspected_is_erased_by_whoever_inspects_it() -> None:
    table = Table()
    table.start()
    table.run()
    for who, machine in table.machines.items():
        assert not erases(table.feed(who, Receipt(1)))
        assert machine.delivery_state.phase is Phase.DONE
        assert machine.record is not None


@pytest.mark.parametrize("who", [1, 2, 3])
@pytest.mark.parametrize(
    ("kept", "before", "erased"),
    [(1, (), False), (0, (), True), (2, (), True), (1, (Tick(), Deadline()), True)],
    ids=["what was delivered", "nothing", "another attempt", "no longer, after shuffle_by"],
)
def test_after_a_restart_it_is_what_was_kept_that_puts_the_erasure_off(
    who: int, kept: int, before: tuple[Event, ...], erased: bool
) -> None:
    """Its memory is gone; what it kept of the attempt that is delivered is on its disk."""
    place = DeliveryState(Phase.FREE, 1, 1) if who == 1 else DeliveryState(Phase.SENDING, 1, 0, b"t")
    machine = Shuffler(who, Schedule(3), FROZEN, Randomness(b"k" * 32), place, kept=kept)
    for event in (Restarted(), *before):
        machine.handle(event)
    effects = machine.handle(Receipt(1))
    if machine.delivery_state.phase is Phase.DONE:
        assert erases(effects) is erased
    else:  # shuffler 1, who delivers nothing, was free to give up
        assert (who, before) == (1, (Tick(), Deadline()))
        assert machine.delivery_state.phase is Phase.DEAD


def test_an_attempt_begun_since_then_was_not_kept() -> None:
    machine = Shuffler(1, Schedule(3), FROZEN, Randomness(b"k" * 32), DeliveryState(Phase.FREE, 1, 1), kept=1)
    for other in (2, 3):
        machine.handle(Heard(Notice(NoticeKind.LOST, other, 1)))
    assert machine.delivery_state.attempt == 2
    machine.handle(TimedOut())
    assert erases(machine.handle(Receipt(1)))


@pytest.mark.parametrize("is_kept", [True, False])
def test_an_attempt_that_was_kept_and_left_in_this_process_may_still_be_inspected(is_kept: bool) -> None:
    machine = Shuffler(1, Schedule(3), FROZEN, Randomness(b"k" * 32), DeliveryState(Phase.FREE, 1, 0))
    if is_kept:
        machine.keep(1)
    machine.handle(TimedOut())
    effects = machine.handle(Receipt(1))
    assert machine.delivery_state.phase is Phase.DONE
    assert erases(effects) is not is_kept
