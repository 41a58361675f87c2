"""What must hold once everything is over and no process runs any more: read from the stores, not from what was said."""

import json
import re
from collections.abc import Collection
from typing import Any, Final

import numpy as np

from peos.crypto.randomness import Randomness
from peos.localcluster import Party
from peos.shuffle.schedule import Schedule
from peos.store.base import AuditEntry
from peos.store.sqlite import SqliteStore
from tests.e2e.studies import counted
from tests.faults.ground import FAKES, NAME, Ground, rows_of

_RNG: Final = Randomness(b"\x21" * 32)  # stores that exist draw nothing
_OWN_FAULTS: Final = ("a collection stopped", "a collection could not be moved on", "a step could not be worked")


def check_published(ground: Ground, failed: Collection[str] = ()) -> None:
    """One output, whole: every value once, one result, one delivery that everybody's log agrees on, all erased."""
    ((state, result, key_is_gone),) = ground.asked("SELECT state, result, key IS NULL FROM collection")
    assert state == "published", state
    check_multiset(json.loads(result), given_by(ground), FAKES)
    folder = ground.analyzer.folder / "state" / "collections" / NAME
    assert (folder / "result.json").read_text() == result, "result.json is not what was published"
    assert key_is_gone, "the decryption key is still there"
    assert not (folder / "vectors").exists(), "delivered vectors are still there"
    sent = check_stores(ground, "published")
    assert sent == delivered(ground), f"sent {sent}, and taken in {delivered(ground)}"
    assert len(set(sent.values())) == 1, f"the last hiders sent different attempts: {sent}"
    assert set(sent) == set(Schedule(len(ground.cluster.shufflers)).last), f"only {set(sent)} sent anything"
    check_logs(ground, failed)


def check_given_up(ground: Ground) -> None:
    """The analyst's abort was carried out by all: no output, and nothing of any report is left."""
    ((state, result, key_is_gone),) = ground.asked("SELECT state, result, coalesce(key, parts) IS NULL FROM collection")
    assert (state, result, key_is_gone) == ("aborted", None, 1)
    assert check_stores(ground, "aborted") == {}
    assert delivered(ground) == {}


def check_abort(ground: Ground, reason: str, struck: Collection[str]) -> None:
    """No output, and none to come: the reason says why, and no party that may have sent signed that it had not."""
    ((state, why, result, key_is_gone),) = ground.asked("SELECT state, reason, result, key IS NULL FROM collection")
    assert state == "aborted"
    assert re.search(reason, why), why
    assert any(party in why for party in struck), f"the reason does not say whose vector: {why}"
    assert result is None
    assert key_is_gone, "the decryption key is still there"
    check_stores(ground, "aborted")
    for number, party in enumerate(ground.cluster.shufflers, start=1):
        places = [str(entry.fields["place"]) for entry in audit_of(ground, number) if entry.event == "standing"]
        if party.name in struck:
            assert "dead" not in places, f"{party.name} was to send, and signed that nothing was delivered: {places}"
        if "sending" not in places:
            assert places[-1] == "dead", f"{party.name} had sent nothing, and signed no tombstone: {places}"
        else:
            assert places[-1] == "aborted", f"{party.name} was sending: {places}"


def check_multiset(result: dict[str, Any], given: Collection[int], fakes: int) -> None:
    """Every value that a user gave is there once, among the fakes: a loss, a repeat or garbage shows."""
    assert result["users"] == len(given), f"{result['users']} reports, of {len(given)} users"
    counts = counted(result)
    beyond = counts - np.bincount(np.array(sorted(given)), minlength=len(counts))
    lost = {value: int(counts[value]) for value in np.flatnonzero(beyond < 0)}
    assert not lost, f"{len(lost)} of {len(given)} reports did not come out: {lost}"
    assert beyond.sum() == fakes, f"{beyond.sum():.0f} rows beyond the users' where there are {fakes} fakes"


def given_by(ground: Ground) -> list[int]:
    """What the users gave, each once: at this ε noise changes one report in a hundred million."""
    memory = ground.client.folder / "memory" / "memory.sqlite"
    ((submitted,),) = rows_of(memory, "SELECT count(*) FROM submissions")
    assert submitted == ground.users, f"{submitted} of {ground.users} users have submitted"
    return ground.values


def delivered(ground: Ground) -> dict[int, tuple[int, str]]:
    """Attempt and transcript of what the analyzer has from each sender."""
    rows = ground.asked("SELECT sender, attempt, transcript FROM delivery")
    return {sender: (attempt, transcript.hex()) for sender, attempt, transcript in rows}


def check_stores(ground: Ground, state: str) -> dict[int, tuple[int, str]]:
    """Every shuffler's store opens, its audit log holds, it is erased; the one attempt that each was to send."""
    sent: dict[int, tuple[int, str]] = {}
    for number, party in enumerate(ground.cluster.shufflers, start=1):
        folder = party.folder / "state"
        store = SqliteStore(folder, _RNG)
        try:
            assert store.verify_audit() > 0
            (kept,) = store.collections()
            entries = [entry for entry in store.audit_entries() if entry.event == "standing"]
        finally:
            store.close()
        assert kept.state.value == state, f"{party.name} is {kept.state}"
        assert kept.erased, f"{party.name} has not erased its shares"
        assert not list((folder / "vectors").iterdir()), f"{party.name} still has a vector"
        assert not list((folder / "submissions").glob("*.sqlite*")), f"{party.name} still has submissions"
        sending = {_sent(entry) for entry in entries if entry.fields["place"] == "sending"}
        assert len(sending) <= 1, f"{party.name} was to send two outputs: {sending}"
        for one in sending:
            sent[number] = one
    return sent


def audit_of(ground: Ground, number: int) -> list[AuditEntry]:
    """A shuffler's audit log."""
    store = SqliteStore(ground.cluster.shufflers[number - 1].folder / "state", _RNG)
    try:
        return list(store.audit_entries())
    finally:
        store.close()


def check_logs(ground: Ground, failed: Collection[str] = ()) -> None:
    """No party was stopped by a mistake of its own, and at most one output was ever whole.

    A party whose store failed says that it could not go on, in a sentence of its own.
    """
    for party in ground.cluster.parties:
        wrong = [line for line in said(party) if line["event"] in _OWN_FAULTS]
        if party.name in failed:
            wrong = [line for line in wrong if "sentence" not in line or line["event"] == "a collection stopped"]
        assert not wrong, f"{party.name}: {wrong}"
    complete = {line["attempt"] for line in said(ground.analyzer) if line["event"] == "the output is complete"}
    assert len(complete) <= 1, f"outputs of the attempts {complete} were complete"


def said(party: Party) -> list[dict[str, Any]]:
    """The lines of a party's log; a kill may cut one off, and the next start goes on in the same line."""
    found = []
    for text in party.log.read_text(encoding="utf-8").splitlines():
        if "resource_tracker" in text:  # a helper of multiprocessing, which tidies up after a party that was killed
            continue
        whole = text[text.rfind('{"time"') :] if '{"time"' in text[1:] else text
        try:
            found.append(json.loads(whole))
        except ValueError:
            raise AssertionError(f"{party.name} wrote what is no line of its log: {text}") from None
    return found


def _sent(entry: AuditEntry) -> tuple[int, str]:
    return int(entry.fields["attempt"]), str(entry.fields["transcript"])
