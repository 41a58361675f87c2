"""One event becomes a line of the log with whitelisted fields alone, and reaches who follows its kind."""

import asyncio
import json
import logging
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from analyzer import events as of_analyzer
from analyzer.events import MovedOn, NotMovedOn
from peos.crypto.randomness import Randomness
from peos.errors import Full, LocalFault
from peos.net import observer
from peos.net.logs import FIELDS, JsonFormatter, Log
from peos.net.observer import Event, Failure, Level, Observer, StateReached
from peos.store.memory import MemoryStore
from shuffler import events as of_shuffler
from shuffler.events import (
    ATTEMPTS,
    SUBMISSIONS,
    AttemptLeft,
    AttemptWaits,
    Finished,
    SubmissionsKept,
    SubmissionsNotKept,
    TwoListsSigned,
    Waits,
)
from shuffler.store_thread import StoreThread
from tests.raising import raises

COLLECTION = bytes(range(32))


def kinds(of: type[Event]) -> Iterator[type[Event]]:
    """All kinds of events."""
    for kind in of.__subclasses__():
        yield kind
        yield from kinds(kind)


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """What an operator finds in the log."""
    return [json.loads(JsonFormatter().format(record)) for record in caplog.records]


def test_an_event_is_a_line_and_is_heard_by_those_who_follow_its_kind(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[tuple[bytes, Event]] = []

    def follow(collection: bytes, event: Event) -> None:
        heard.append((collection, event))

    caplog.set_level(logging.DEBUG)
    noting = Observer(Log("peos.test"), {StateReached: (follow,), Failure: (follow,)}).of(COLLECTION)
    reached, waits = StateReached("aborted", "too few"), Waits(LocalFault("store.failed", "the store failed"))
    for event in (reached, waits, MovedOn("the next step")):
        noting.note(event)
    assert heard == [(COLLECTION, reached), (COLLECTION, waits)]
    first, second = lines(caplog)
    assert (first["event"], first["level"], first["state"], first["reason"]) == ("state", "info", "aborted", "too few")
    assert (second["event"], second["level"]) == ("waiting", "warning")
    assert {one["collection"] for one in (first, second)} == {COLLECTION[:8].hex()}


def test_what_only_followers_want_is_in_no_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    noting = Observer(Log("peos.test"))
    noting.note(TwoListsSigned("shuffler 2", {"one_signature": "ab" * 32}))
    noting.note(NotMovedOn(ValueError("a secret"), "open", "its dummies are sent again"))
    told = json.dumps(lines(caplog))
    assert "shuffler 2" in told
    assert "abab" not in told
    assert "a secret" not in told
    assert "dropped" not in told
    assert "abab" not in repr(TwoListsSigned("shuffler 2", {"one_signature": "ab" * 32}))


def test_what_hinders_a_work_is_known_from_its_last_event_and_written_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    noting = Observer(Log("peos.test"))
    here, there = noting.of(COLLECTION), noting.of(bytes(32))
    full = Full("store.full", "no room is left", hint="make some")
    for _ in range(3):
        here.note(AttemptWaits(full, 1))
    assert (here.trouble(ATTEMPTS), there.trouble(ATTEMPTS), len(lines(caplog))) == (str(full), "", 1)
    here.note(AttemptLeft("nothing came", 1))
    here.note(AttemptLeft("nothing came", 2))
    assert (noting.of(COLLECTION).trouble(ATTEMPTS), len(lines(caplog))) == ("nothing came", 3)
    noting.note(SubmissionsNotKept(RuntimeError("a secret"), 7))
    assert "internal error" in here.trouble(SUBMISSIONS)
    assert "internal error" in there.trouble(SUBMISSIONS), "the store is that of every collection"
    noting.note(SubmissionsKept())
    here.note(Finished())
    assert not [
        one.trouble(work) for one in (noting, here, there) for work in (ATTEMPTS, SUBMISSIONS) if one.trouble(work)
    ]
    here.note(AttemptLeft("nothing came", 2))
    assert len(lines(caplog)) == 6, "what was over and comes again is news"


def test_what_is_to_be_kept_is_noted_once_it_is_durable(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    store = MemoryStore(Randomness(b"\x01" * 32))
    stored = StoreThread(lambda: store)
    noting = Observer(Log("peos.test"), keeper=stored.keep).of(COLLECTION)
    event = TwoListsSigned("shuffler 2", {"collection": COLLECTION.hex(), "shuffler": 2, "one_signature": "ab" * 32})

    def fails(sentence: str, proof: object) -> None:
        raise LocalFault("store.failed", f"the store failed at {sentence} with {proof}")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(store, "audit", fails)
        with raises("store.failed"):
            asyncio.run(noting.keep(event))
    assert not lines(caplog)
    asyncio.run(noting.keep(event))
    stored.close()
    assert [one["event"] for one in lines(caplog)] == [TwoListsSigned.sentence]
    last = list(store.audit_entries())[-1]
    assert (last.event, last.fields) == (TwoListsSigned.sentence, dict(event.proof))


@pytest.mark.parametrize("kind", list(kinds(Event)), ids=lambda kind: kind.__name__)
def test_every_kind_has_a_sentence_unless_it_has_no_line_and_writes_what_a_line_may_hold(kind: type[Event]) -> None:
    if kind is Failure:
        return
    assert bool(kind.sentence) is (kind.level is not Level.NONE)
    written = {one.name for one in fields(kind) if not one.metadata and one.name != "error"}
    assert kind.level is Level.NONE or written <= FIELDS
    assert kind.__module__ in {one.__name__ for one in (observer, of_analyzer, of_shuffler)}
