"""Every durable change of every party, and what may fail in it: once, in a process that runs on.

A change is a call of a store, with all that belongs to it. Its commit may fail; or the change is there and its caller
hears an error all the same, because the answer of the commit was lost, or because what comes behind it failed: the
witness of a shuffler's store, the checkpoint by which what was erased leaves the write-ahead log. No party may take
that for more than it is: every collection ends as if nothing had been, without a process started anew. Commands fail
with a sentence, and are given again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from peos.collection.lifecycle import State
from peos.shuffle.delivery_state import Phase
from tests.faults import points
from tests.faults.points import (
    ANALYZER,
    EVERY,
    LAST,
    STORE,
    Arguments,
    Armed,
    Fails,
    Moment,
    Point,
    Stage,
    always,
    place_is,
    state_is,
)

ABORTED_BY_ORDER: Final = "the analyst aborted it"
_AT_COMMIT: Final = (Fails.COMMIT, Fails.ANSWER)
_SHUFFLER: Final = (*_AT_COMMIT, Fails.WITNESS)
_WITH_CHECKPOINT: Final = (*_SHUFFLER, Fails.CHECKPOINT)


@dataclass(frozen=True)
class Change:
    """One durable change: where it is made, by which parties, and what of it can fail."""

    name: str
    where: str
    parties: tuple[str, ...]
    fails: Sequence[Fails]
    only: Callable[[Arguments], bool] = always
    stage: Stage = Stage.FULL
    times: int = 1  # changes within the call, each of which fails once
    order: str = "freeze"  # what the analyst orders
    beside: str = ""  # a point at which another shuffler is killed, without which this does not come up

    @property
    def points(self) -> list[Point]:
        """A point for each way in which it can fail."""
        by_order = {"end": State.ABORTED, "reason": ABORTED_BY_ORDER} if self.order == "abort" else {}
        found = []
        for fails in self.fails:
            times = 1 if fails is Fails.CHECKPOINT else self.times
            for count in range(1, times + 1):
                name = f"{self.name}: the {fails.value} fails{f' ({count})' if times > 1 else ''}"
                one = Point(name, self.where, Moment.BEFORE, self.parties, self.stage, self.only, count, fails=fails)
                found.append(replace(one, order=self.order, beside=self.beside, **by_order))  # type: ignore[arg-type] # of two types
        return found


def _there(state: State) -> Callable[[Arguments], bool]:
    return lambda given: given["there"] is state


def _shuffling() -> list[Change]:
    set_, put = f"{STORE}.set_state", f"{STORE}.put_delivery_state"
    return [
        Change("accepted", f"{STORE}.put_collection", EVERY, _SHUFFLER, stage=Stage.FRESH),
        Change("submissions", f"{STORE}.submit_many", EVERY, _AT_COMMIT, stage=Stage.OPEN),
        Change("closed", set_, EVERY, _SHUFFLER, state_is(State.CLOSED)),
        Change("frozen", f"{STORE}.put_frozen", EVERY, _AT_COMMIT, times=2),
        Change("frozen here", f"{STORE}.put_frozen", EVERY, (Fails.WITNESS,)),
        Change("fakes", f"{STORE}.fake_seed", EVERY, _SHUFFLER),
        Change("shuffling", set_, EVERY, _SHUFFLER, state_is(State.SHUFFLING)),
        Change("entered", put, EVERY, _SHUFFLER, points.entered),
        Change("left", put, EVERY, _SHUFFLER, points.left, beside="attempt: entered"),
        Change("stored", put, LAST, _SHUFFLER, place_is(Phase.STORED)),
        Change("sending", put, LAST, _SHUFFLER, place_is(Phase.SENDING)),
        Change("done", put, EVERY, _SHUFFLER, place_is(Phase.DONE)),
        Change("delivered", set_, EVERY, _SHUFFLER, state_is(State.DELIVERED)),
        Change("erased", f"{STORE}.erase", EVERY, _WITH_CHECKPOINT, times=2),
        Change("published", set_, EVERY, _SHUFFLER, state_is(State.PUBLISHED)),
        Change("aborted", set_, EVERY, _SHUFFLER, state_is(State.ABORTED), order="abort"),
        Change("erased after an abort", f"{STORE}.erase", EVERY, _WITH_CHECKPOINT, times=2, order="abort"),
    ]


def _analyzing() -> list[Change]:
    create, me, fresh = ("create",), ("analyzer",), Stage.FRESH
    erase = (*_AT_COMMIT, Fails.CHECKPOINT)
    return [
        Change("draft", f"{ANALYZER}.add", create, _AT_COMMIT, stage=fresh),
        Change("open", f"{ANALYZER}.move", create, _AT_COMMIT, _there(State.OPEN), fresh),
        Change("dummies' parts", f"{ANALYZER}.put_parts", create, _AT_COMMIT, stage=fresh),
        Change("dummy taken", f"{ANALYZER}.dummy_taken", ("freeze",), _AT_COMMIT),
        Change("tickets noted", f"{ANALYZER}.note", ("enrol",), _AT_COMMIT, stage=fresh),
        Change("order noted", f"{ANALYZER}.note", ("freeze",), _AT_COMMIT),
        Change("order carried out", f"{ANALYZER}.move", ("freeze",), _AT_COMMIT, _there(State.CLOSED)),
        Change("first vector", f"{ANALYZER}.add_delivery", me, _AT_COMMIT, points.recorded(0)),
        Change("last vector", f"{ANALYZER}.add_delivery", me, _AT_COMMIT, points.recorded(1)),
        Change("receipt", f"{ANALYZER}.put_receipt", me, _AT_COMMIT),
        Change("progress", f"{ANALYZER}.progress", me, _AT_COMMIT),
        Change("result", f"{ANALYZER}.put_result", me, _AT_COMMIT),
        Change("key erased", f"{ANALYZER}.erase", me, _AT_COMMIT),
        Change("erasure settled", f"{ANALYZER}.settle", me, erase),
        Change("abort carried out", f"{ANALYZER}.move", ("abort",), _AT_COMMIT, _there(State.ABORTED), order="abort"),
        Change("key erased by an abort", f"{ANALYZER}.erase", ("abort",), erase, times=2, order="abort"),
    ]


def _answering() -> list[Change]:
    client, opened, memory = ("client",), Stage.OPEN, "user_client.store:ClientStore"
    return [
        Change("memory made", "peos.store.database:Database._settle", client, _AT_COMMIT, stage=opened),
        Change("memory opened", f"{memory}.__init__", client, (Fails.CHECKPOINT,), stage=opened),
        Change("remembered", "user_client.submitter:Preparer.prepare", client, _AT_COMMIT, stage=opened),
        Change("answers", f"{memory}.note_answers", client, _AT_COMMIT, stage=opened),
        Change("memory closed", f"{memory}.close", client, (Fails.CHECKPOINT,), stage=opened),
    ]


CHANGES: Final = (*_shuffling(), *_analyzing(), *_answering())
FAILURES: Final = tuple(point for change in CHANGES for point in change.points)
_BY_NAME: Final = {point.name: point for point in FAILURES}


def named(name: str) -> Point:
    """The point of that name, at which something fails or a party is killed; KeyError if there is none."""
    return _BY_NAME[name] if name in _BY_NAME else points.named(name)


def in_rows(pairs: Sequence[Armed]) -> list[list[Armed]]:
    """All failures of one kind, of all parties, in one collection; those that need a party's death alone.

    The second change of a call only fails in a call whose first did not: so each has a collection of its own.
    """
    rows: dict[object, list[Armed]] = {}
    for party, point in pairs:
        alone = (party, point.name) if point.beside else ()
        rows.setdefault((point.fails, point.count, point.order, alone), []).append((party, point))
    return list(rows.values())
