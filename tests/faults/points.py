"""Every place at which a party is killed, by name; and how the collection has to end.

A point is a function of the code, resolved by name when it is armed, and a moment at it. Each is reached by the parties
that it names, and at each of them a collection must complete by itself: whatever was durable is gone on from, whatever
was not is done again. An attempt at the shuffle lives in memory only, so a shuffler killed within one has all leave it,
and the next begins from the frozen shares.

Killing alone never rightly ends in an abort, since it loses no durable byte: not between stored and sending either,
because both are durable together with the final vector (protocol.md §6.5). Two kinds of end are different:

- *A final vector that is lost together with its process* ("…, and its vector is lost"). Its owner is stored or sending.
  From a stored vector the others may already conclude that they can send, and of a vector that is sent no party knows
  how much arrived; so a substitute would risk a second output. The shuffler ends without a tombstone, since where it is
  unknown whether delivery happened, it happened. The analyzer, which can never have a complete output, aborts with that
  shuffler's name. The other last hider, which may be sending, goes on until the analyst's order or `erase_by`, without
  a tombstone either; a shuffler that only passes by signs one at the end.
- *An order that was lost.* A shuffler killed before "closed" is durable has forgotten the order, which the analyst was
  told; it is given again, or the deadline comes. The collection then completes.

A lost or restored store is another matter (tests/integration/test_shuffler_operations.py): it signs nothing more.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any, Final

from peos.collection.lifecycle import State
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.shuffle.effects import Mix, Pass, Split, Task
from peos.shuffle.messages import Kind, Step
from peos.shuffle.schedule import Schedule

Arguments = Mapping[str, Any]


class Moment(Enum):
    """When, at a function: before its call, after it, or after the `count`-th item of the stream that it gives."""

    BEFORE = "before"
    AFTER = "after"
    DURING = "during"


class Fails(Enum):
    """What fails within a call, once, in a process that runs on."""

    COMMIT = "commit"  # and nothing is changed
    ANSWER = "answer of the commit"  # and everything is changed
    WITNESS = "witness"
    CHECKPOINT = "checkpoint"


class Stage(IntEnum):
    """How far a collection is when the killing begins."""

    FRESH = 0  # no other party has heard of it
    OPEN = 1  # accepted by every shuffler
    FULL = 2  # every user has submitted


def always(_: Arguments) -> bool:
    """Any call."""
    return True


@dataclass(frozen=True)
class Point:
    """A fault point. `parties` are those that reach it; "create", "freeze" and "client" are commands."""

    name: str
    where: str
    moment: Moment
    parties: tuple[str, ...]
    stage: Stage = Stage.FULL
    only: Callable[[Arguments], bool] = always
    count: int = 1
    first: str = ""  # another point, at which the same party is killed before
    ordered_again: bool = False  # the order to close was lost, and the analyst gives it again
    worker: bool = False  # not the party is killed but one of its workers
    least: int = 0  # users, below which the point does not come up
    loses: Callable[[Path], None] | None = None  # what its folder loses together with the process
    end: State = State.PUBLISHED
    reason: str = ""  # what the analyzer says of an abort
    fails: Fails | None = None  # no process is killed, and this fails within the call, the `count`-th time in it
    order: str = "freeze"  # what the analyst orders in the end
    beside: str = ""  # a point at which another shuffler is killed, without which this one does not come up


Armed = tuple[str, Point]
"""A party, and where it shall be struck."""

SHUFFLERS: Final = 3
PLAN: Final = Schedule(SHUFFLERS)
EVERY: Final = tuple(f"shuffler-{number}" for number in range(1, SHUFFLERS + 1))
LAST: Final = tuple(f"shuffler-{number}" for number in PLAN.last)
_BEFORE, _AFTER, _DURING = Moment.BEFORE, Moment.AFTER, Moment.DURING


def _shufflers(*numbers: int) -> tuple[str, ...]:
    return tuple(EVERY[number - 1] for number in numbers)


# What calls are about.


def state_is(state: State) -> Callable[[Arguments], bool]:
    """To this state."""
    return lambda given: given["state"] is state


def place_is(place: Phase) -> Callable[[Arguments], bool]:
    """To a delivery state of this place."""
    return lambda given: given["delivery_state"].phase is place


def entered(given: Arguments) -> bool:
    """To a delivery state within an attempt."""
    delivery_state: DeliveryState = given["delivery_state"]
    return delivery_state.running


def left(given: Arguments) -> bool:
    """To a delivery state after an attempt that was left."""
    delivery_state: DeliveryState = given["delivery_state"]
    return delivery_state.phase is Phase.FREE and 0 < delivery_state.attempt == delivery_state.left


def _said(step: Step) -> Callable[[Arguments], bool]:
    """A word of this step, in a call to another shuffler."""
    return lambda given: given["method"].name == "Say" and given["request"].header.step == step


def _posted(step: Step) -> Callable[[Arguments], bool]:
    return lambda given: given["word"].header.step == step


def _kind(kind: Kind) -> Callable[[Arguments], bool]:
    """A vector of this kind, about to be sent."""
    return lambda given: given["header"].step.kind is kind


def _came(kind: Kind) -> Callable[[Arguments], bool]:
    """A vector of this kind, on its way in."""
    return lambda given: given["self"].header.header.step.kind is kind


def _taken(kind: Kind) -> Callable[[Arguments], bool]:
    return lambda given: given["header"].header.step.kind is kind


def _carries(step: str, method: str) -> Callable[[Arguments], bool]:
    return lambda given: given["method"].name == method and step in given["step"]


def _task(kind: type[Task], name: str = "") -> Callable[[Arguments], bool]:
    """A task of this kind whose result has this name within its attempt."""
    return lambda given: isinstance(given["task"], kind) and given["task"].out.partition("/")[2].startswith(name)


def recorded(before: int) -> Callable[[Arguments], bool]:
    """A delivery, when so many are in the analyzer's store already."""
    return lambda given: len(given["self"].deliveries(given["header"].header.context.collection)) == before


def lose_vectors(folder: Path) -> None:
    """The final vectors of a shuffler are gone."""
    for path in (folder / "state" / "vectors").iterdir():
        path.unlink()


JOINT: Final = "|"  # between the names of several points
STORE: Final = "peos.store.sqlite:SqliteStore"
ANALYZER: Final = "analyzer.store:Store"


def _creating() -> list[Point]:
    fresh = Stage.FRESH
    return [
        Point("create: kept as a draft, told nobody", f"{ANALYZER}.add", _AFTER, ("create",), fresh),
        Point(
            "create: proposed to every shuffler",
            "analyzer.shuffler_clients:ShufflerClients.propose",
            _AFTER,
            ("create",),
            fresh,
        ),
        Point("create: the dummies' parts are kept, not opened", f"{ANALYZER}.put_parts", _AFTER, ("create",), fresh),
        Point("create: all but the invitation", "analyzer.create:write_durably", _BEFORE, ("create",), fresh),
        Point("propose: not kept yet", f"{STORE}.put_collection", _BEFORE, EVERY, fresh),
        Point("propose: kept, not answered", f"{STORE}.put_collection", _AFTER, EVERY, fresh),
    ]


def _submitting() -> list[Point]:
    client, opened = ("client",), Stage.OPEN
    rows = "peos.store.submissions:SubmissionFile"
    return [
        Point("submit: remembered, not sent", "user_client.submitter:Preparer.prepare", _AFTER, client, opened),
        Point("submit: one shuffler answered", "user_client.submitter:Sending._answered", _AFTER, client, opened),
        Point("submit: answers are noted", "user_client.store:ClientStore.note_answers", _AFTER, client, opened),
        Point("submit: before the transaction", f"{STORE}.submit_many", _BEFORE, EVERY, opened),
        Point("submit: within the transaction", f"{rows}._take", _AFTER, EVERY, opened, count=3),
        Point("submit: committed, not acknowledged", f"{STORE}.submit_many", _AFTER, EVERY, opened),
        Point("submit: one of a group acknowledged", "shuffler.intake:Intake._answer", _AFTER, EVERY, opened, count=2),
    ]


def _freezing() -> list[Point]:
    freezing, agreed = "shuffler.freeze_runner:FreezeRunner", "peos.collection.freeze:Freeze"
    closed = state_is(State.CLOSED)
    rows = "peos.store.submissions:SubmissionFile"
    return [
        Point("close: not durable yet", f"{STORE}.set_state", _BEFORE, EVERY, only=closed, ordered_again=True),
        Point("close: durable, not answered", f"{STORE}.set_state", _AFTER, EVERY, only=closed),
        Point("freeze: a dummy is in, not noted", f"{ANALYZER}.dummy_taken", _BEFORE, ("freeze",), ordered_again=True),
        Point("close: every shuffler told, not noted", "analyzer.orders:_tell", _AFTER, ("freeze",)),
        Point("freeze: own list announced", f"{freezing}.announcements", _AFTER, EVERY),
        Point("freeze: one announcement heard", f"{agreed}.heard", _AFTER, EVERY),
        Point("freeze: list being shown", f"{freezing}.stretches", _DURING, EVERY),
        Point("freeze: one list seen", f"{agreed}.listed", _AFTER, EVERY),
        Point("freeze: one signature seen", f"{agreed}.confirmed", _AFTER, EVERY),
        Point("freeze: before it is durable", f"{STORE}.put_frozen", _BEFORE, EVERY),
        Point("freeze: rows marked, not frozen", f"{rows}.leave_out_all_but", _AFTER, EVERY),
        Point("freeze: durable", f"{STORE}.put_frozen", _AFTER, EVERY),
        Point("fakes: seed not drawn", f"{STORE}.fake_seed", _BEFORE, EVERY),
        Point("fakes: seed durable", f"{STORE}.fake_seed", _AFTER, EVERY),
        Point("attempt: entered, not durable", f"{STORE}.put_delivery_state", _BEFORE, EVERY, only=entered),
        Point("attempt: entered", f"{STORE}.put_delivery_state", _AFTER, EVERY, only=entered),
    ]


def _leaving_an_attempt() -> list[Point]:
    """A second kill, while what the first one broke off is being left."""
    first = "attempt: entered"
    return [
        Point("attempt: left, not durable", f"{STORE}.put_delivery_state", _BEFORE, EVERY, only=left, first=first),
        Point("attempt: left, not said", f"{STORE}.put_delivery_state", _AFTER, EVERY, only=left, first=first),
    ]


def _rounds() -> list[Point]:
    found = []
    for number, hiders in enumerate(PLAN.rounds, start=1):
        parties, name = _shufflers(*hiders), f"round {number}"
        for kind in (Kind.COMMIT, Kind.REVEAL, Kind.CONFIRM, Kind.ROOT):
            said = kind.name.lower()
            step = Step(number, kind)
            found += [
                Point(
                    f"{name}: {said} not said", "shuffler.outbox:Outbox.statement", _BEFORE, parties, only=_posted(step)
                ),
                Point(f"{name}: {said} said", "peos.net.calls:Caller.ask", _AFTER, parties, only=_said(step)),
            ]
        mixed = _task(Mix, f"round/{number}")
        found.append(Point(f"{name}: mix done", "shuffler.workbench:Bench.work", _AFTER, parties, only=mixed))
    return found


def _parts() -> list[Point]:
    """What a shuffler that does not hide in the next round leaves to those who do."""
    found = []
    for leaver, leave in PLAN.leaves:
        who, name = _shufflers(leaver), f"leaving before round {leave.round}"
        split = _task(Split, f"part/{leave.round}")
        seed = _said(Step(leave.round, Kind.SEED))
        found += [
            Point(f"{name}: split", "shuffler.workbench:Bench.work", _AFTER, who, only=split),
            Point(f"{name}: seed said", "peos.net.calls:Caller.ask", _AFTER, who, only=seed),
        ]
        if leave.explicit:
            found += _vector(f"{name}: part", who, _shufflers(leave.explicit), Kind.PIECE)
    return found


def _vector(name: str, senders: tuple[str, ...], receivers: tuple[str, ...], kind: Kind) -> list[Point]:
    """From one shuffler to another. A header comes first, so the second item is the first chunk."""
    sent, said = "peos.wire.shuffles:encode_vector", kind.name.lower()
    return [
        Point(f"{name} mid-stream, sender", sent, _DURING, senders, only=_kind(kind), count=2),
        Point(
            f"{name} mid-stream, receiver", "peos.wire.shuffles:VectorReader.feed", _AFTER, receivers, only=_came(kind)
        ),
        Point(
            f"{name} whole, not acknowledged", "shuffler.workbench:Bench.take_in", _AFTER, receivers, only=_taken(kind)
        ),
        Point(f"{name} acknowledged", "peos.net.calls:Caller.send", _AFTER, senders, only=_carries(said, "Carry")),
    ]


def _passes() -> list[Point]:
    found = []
    for holder, over in PLAN.passes:
        who, name, work = _shufflers(holder), f"pass {over.hop}", _task(Pass, f"pass/{over.hop}")
        root = _said(Step(over.round, Kind.CIPHER_ROOT))
        found += [
            Point(f"{name}: not begun", "shuffler.workbench:Bench.work", _BEFORE, who, only=work),
            Point(f"{name}: under way", "shuffler.workbench:Bench._came", _AFTER, who, count=2),
            Point(f"{name}: done", "shuffler.workbench:Bench.work", _AFTER, who, only=work),
            Point(f"{name}: root said", "peos.net.calls:Caller.ask", _AFTER, who, only=root),
        ]
        if over.receiver:
            found += _vector(f"hand-over {over.hop}", who, _shufflers(over.receiver), Kind.HANDOVER)
    return found


def _storing() -> list[Point]:
    put, stored, sending = f"{STORE}.put_delivery_state", place_is(Phase.STORED), place_is(Phase.SENDING)
    lost = {"loses": lose_vectors, "end": State.ABORTED, "reason": "vector .* is damaged or gone"}
    return [
        Point("storing: not durable yet", put, _BEFORE, LAST, only=stored),
        Point("storing: file written, not named", "peos.store.vectors:VectorFiles.write", _AFTER, LAST),
        Point("storing: durable, not said", put, _AFTER, LAST, only=stored),
        Point("sending: not durable yet", put, _BEFORE, LAST, only=sending),
        Point("sending: durable, no byte sent", put, _AFTER, LAST, only=sending),
        Point("storing: durable, and its vector is lost", put, _AFTER, LAST, only=stored, **lost),  # type: ignore[arg-type] # of several types
        Point("sending: durable, and its vector is lost", put, _AFTER, LAST, only=sending, **lost),  # type: ignore[arg-type] # likewise
    ]


def _delivering() -> list[Point]:
    incoming, receiving, me = (
        "analyzer.delivery_receiver:IncomingVector",
        "analyzer.delivery_receiver:DeliveryReceiver",
        ("analyzer",),
    )
    sent, delivered = "peos.wire.shuffles:encode_vector", _carries("delivery", "Deliver")
    put, done = f"{STORE}.put_delivery_state", place_is(Phase.DONE)
    return [
        Point("delivery: mid-stream, sender", sent, _DURING, LAST, only=_kind(Kind.DELIVERY), count=2),
        Point("delivery: acknowledged", "peos.net.calls:Caller.send", _AFTER, LAST, only=delivered),
        Point("delivery: mid-stream, analyzer", f"{incoming}.feed", _AFTER, me),
        Point("delivery: whole, without its name", f"{incoming}.seal", _AFTER, me),
        Point("delivery: named, not recorded", f"{ANALYZER}.add_delivery", _BEFORE, me),
        Point("delivery: first vector recorded", f"{ANALYZER}.add_delivery", _AFTER, me, only=recorded(0)),
        Point("delivery: last vector recorded", f"{ANALYZER}.add_delivery", _AFTER, me, only=recorded(1)),
        Point("receipt: not signed yet", f"{ANALYZER}.put_receipt", _BEFORE, me),
        Point("receipt: durable", f"{ANALYZER}.put_receipt", _AFTER, me),
        Point("receipt: about to be given", f"{receiving}.receipt", _AFTER, me),
        Point("receipt: taken, not durable", put, _BEFORE, EVERY, only=done),
        Point("receipt: taken", put, _AFTER, EVERY, only=done),
    ]


def _inspecting() -> list[Point]:
    """After the receipt; a shuffler that is started anew has no rows left to open, and says so."""
    here, there, me = (
        "shuffler.inspection_runner:InspectionRunner",
        "analyzer.inspection_runner:InspectionRunner",
        ("analyzer",),
    )
    return [
        Point("inspection: dummies revealed", f"{there}.reveal", _AFTER, me),
        Point("inspection: one opening kept", f"{there}.keep", _AFTER, me),
        Point("inspection: judged", f"{there}.judged", _AFTER, me),
        Point("inspection: dummies seen", f"{here}._revealed", _AFTER, EVERY),
        Point("inspection: rows found, not shown", f"{here}._opening", _AFTER, EVERY),
        Point("inspection: shown", f"{here}._show", _AFTER, EVERY),
    ]


def _erasing() -> list[Point]:
    state = f"{STORE}.set_state"
    return [
        Point("end: delivered, not noted", state, _BEFORE, EVERY, only=state_is(State.DELIVERED)),
        Point("end: delivered", state, _AFTER, EVERY, only=state_is(State.DELIVERED)),
        Point("erasing: not begun", f"{STORE}.erase", _BEFORE, EVERY),
        Point("erasing: noted, file not wiped", "peos.store.sqlite:wipe", _BEFORE, EVERY),
        Point("erasing: file wiped, not noted", "peos.store.sqlite:wipe", _AFTER, EVERY),
        Point("erasing: done", f"{STORE}.erase", _AFTER, EVERY),
        Point("end: published, not noted", state, _BEFORE, EVERY, only=state_is(State.PUBLISHED)),
        Point("end: published", state, _AFTER, EVERY, only=state_is(State.PUBLISHED)),
    ]


def _publishing() -> list[Point]:
    publishing, me = "analyzer.publisher", ("analyzer",)
    telling, receiving = f"{publishing}:_ProgressWriter.__call__", "analyzer.delivery_receiver:DeliveryReceiver"
    return [
        Point("decryption: not begun", f"{publishing}:decrypt", _BEFORE, me),
        Point("decryption: some chunks came", telling, _AFTER, me, count=3),
        Point("decryption: a worker is killed", telling, _AFTER, me, count=3, worker=True, least=1200),
        Point("decryption: done", f"{publishing}:decrypt", _AFTER, me),
        Point("publication: before the result is durable", f"{ANALYZER}.put_result", _BEFORE, me),
        Point("publication: the result is durable", f"{ANALYZER}.put_result", _AFTER, me),
        Point("publication: result.json not written", f"{publishing}:write_durably", _BEFORE, me),
        Point("publication: result.json written", f"{publishing}:write_durably", _AFTER, me),
        Point("publication: key erased, vectors not", f"{ANALYZER}.erase", _AFTER, me),
        Point("publication: everything erased", f"{receiving}.erase", _AFTER, me),
        Point("publication: report.html not written", f"{publishing}:write_report", _BEFORE, me),
        Point("publication: report.html written", f"{publishing}:write_report", _AFTER, me),
    ]


POINTS: Final = tuple(
    _creating()
    + _submitting()
    + _freezing()
    + _leaving_an_attempt()
    + _rounds()
    + _parts()
    + _passes()
    + _storing()
    + _delivering()
    + _inspecting()
    + _erasing()
    + _publishing()
)
_BY_NAME: Final = {point.name: point for point in POINTS}


def named(name: str) -> Point:
    """The point of that name; KeyError if there is none."""
    return _BY_NAME[name]
