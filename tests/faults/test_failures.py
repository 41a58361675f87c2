"""Commits, witnesses and checkpoints that fail once in real processes that run on: every collection ends as it must."""

import inspect
import re
import sqlite3
import threading
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from analyzer.store import Store
from peos.store.sqlite import SqliteStore
from tests.faults import failures, launcher
from tests.faults.failures import CHANGES, FAILURES, named
from tests.faults.ground import Ground
from tests.faults.launcher import FAILING, arm, resolve
from tests.faults.points import ANALYZER, EVERY, STORE, Armed, Fails, Moment, Point
from tests.faults.trial import Trial


def strike(here: Ground, armed: Sequence[Armed]) -> None:
    """All of these in one collection, which must end as it should."""
    outcome = Trial(here, armed).run()
    assert not outcome.fault, f"{outcome.fault}; failed were {list(zip(outcome.parties, outcome.points, strict=True))}"


# Two of each kind, at all roles; `python -m tests.faults --failures` tries each by itself.
SELECTED = (
    ("client", "answers: the commit fails"),
    ("shuffler-3", "stored: the commit fails"),
    ("shuffler-2", "closed: the answer of the commit fails"),
    ("analyzer", "first vector: the answer of the commit fails"),
    ("shuffler-1", "frozen here: the witness fails"),
    ("shuffler-2", "shuffling: the witness fails"),
    ("shuffler-1", "erased: the checkpoint fails"),
    ("analyzer", "erasure settled: the checkpoint fails"),
)


@pytest.mark.full
def test_a_collection_in_which_changes_fail_at_every_party_ends_with_every_report_once(here: Ground) -> None:
    armed = [(party, named(point)) for party, point in SELECTED]
    assert {kind: sum(point.fails is kind for _, point in armed) for kind in Fails} == dict.fromkeys(Fails, 2)
    strike(here, armed)


@pytest.mark.long  # python -m pytest -m long tests/faults/test_failures.py
@pytest.mark.parametrize(
    "armed",
    failures.in_rows([(party, point) for point in FAILURES for party in point.parties]),
    ids=lambda armed: f"{armed[0][1].name} at {armed[0][0]}, {len(armed)} in all",
)
def test_a_collection_in_which_every_change_fails_in_one_way_completes(here: Ground, armed: Sequence[Armed]) -> None:
    strike(here, armed)


# The machinery.


@pytest.mark.parametrize("point", FAILURES, ids=lambda point: point.name)
def test_every_failure_resolves_to_functions(point: Point) -> None:
    assert point.fails is not None
    for where in (point.where, FAILING[point.fails][0]):
        owner, name = resolve(where)
        assert callable(getattr(owner, name))


# Changes that no collection waits for, or that only a party that deviates brings about.
_ELSEWHERE = {
    "peos.store.sqlite:SqliteStore._open": "a start, which fails with a sentence: tests/integration/test_full_disk.py",
    "peos.store.sqlite:SqliteStore.note_refused": "a count: tests/unit/shuffler_process/test_intake.py",
    "peos.store.sqlite:SqliteStore.audit": "a line of the log, without which Life concludes nothing, and comes again",
    "analyzer.store:Store.publish_without": "a command, given again: tests/unit/analyzer/test_unopened.py",
    "analyzer.store:Store.audit_log": "reads",
    "analyzer.store:Store.add_study": "a command, given again: tests/unit/analyzer/test_studies.py",
    "analyzer.store:Store.end_study": "a command, given again: tests/unit/analyzer/test_studies.py",
}


def test_every_durable_change_of_the_stores_is_among_them() -> None:
    covered = {change.where for change in CHANGES}
    found = {
        f"{where}.{name}"
        for where, class_ in ((STORE, SqliteStore), (ANALYZER, Store))
        for name, function in inspect.getmembers(class_, inspect.isfunction)
        if re.search(r"self\.(_change|_submit|_(base|database)\.transaction)\(", inspect.getsource(function))
    } - {f"{STORE}._change", f"{STORE}._submit"}
    assert len(found) >= 20, found
    assert found - covered == _ELSEWHERE.keys()
    assert {party for change in CHANGES for party in change.parties} == (
        {*EVERY, "analyzer", "create", "enrol", "freeze", "abort", "client"}
    )
    assert len({point.name for point in FAILURES}) == len(FAILURES)


@pytest.mark.parametrize(("moment", "done"), [(Moment.BEFORE, [1]), (Moment.AFTER, [1, 2])])
def test_a_failure_falls_within_the_call_that_is_meant_at_its_count_and_once(
    monkeypatch: pytest.MonkeyPatch, moment: Moment, done: list[int]
) -> None:
    made, called = list[int](), list[str]()

    def commit(number: int) -> None:
        made.append(number)

    def change(what: str) -> None:
        called.append(what)
        inner.commit(len(made) + 1)
        inner.commit(len(made) + 1)

    inner, outer, struck = SimpleNamespace(commit=commit), SimpleNamespace(change=change), list[str]()
    found = {"inner": (inner, "commit"), "outer": (outer, "change")}
    monkeypatch.setattr(launcher, "resolve", found.__getitem__)
    monkeypatch.setattr(launcher, "FAILING", {Fails.COMMIT: ("inner", moment)})

    def fail() -> None:
        struck.append("struck")
        raise sqlite3.OperationalError

    point = Point("toy", "outer", moment, (), only=lambda given: given["what"] == "meant", count=2, fails=Fails.COMMIT)
    arm(point, fail)
    inner.commit(0)
    outer.change("other")
    made.clear()
    elsewhere = threading.Thread(target=outer.change, args=("other",))
    elsewhere.start()
    elsewhere.join()
    made.clear()
    with pytest.raises(sqlite3.OperationalError):
        outer.change("meant")
    assert (made, struck) == (done, ["struck"])
    outer.change("meant")
    assert (struck, called) == (["struck"], ["other", "other", "meant", "meant"])
