"""Every point is there to be armed; a strike falls at its moment, once; and what is not reached, or survived, fails."""

import asyncio
import inspect
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from peos.localcluster import Party
from peos.shuffle.messages import Kind
from tests.e2e.town import group
from tests.faults.checks import check_multiset
from tests.faults.ground import CHECKOUT, Ground
from tests.faults.launcher import resolve, wrapped
from tests.faults.points import EVERY, PLAN, POINTS, Moment, Point
from tests.faults.trial import Failed, Trial


class Struck(Exception):
    """In place of the end of the process."""


def plain(log: list[str], what: str) -> None:
    log.append(what)


async def later(log: list[str], what: str) -> None:
    log.append(what)


def each(log: list[str], what: str) -> Iterator[str]:
    for number in range(3):
        log.append(what)
        yield f"{what} {number}"


async def each_later(log: list[str], what: str) -> AsyncIterator[str]:
    for number in range(3):
        log.append(what)
        yield f"{what} {number}"


def called(original: Callable[..., Any], point: Point, whats: list[str]) -> list[str]:
    """What the function did, call after call, until it was struck; everything if it was not."""
    log: list[str] = []

    def strike() -> None:
        log.append("struck")
        raise Struck

    function = wrapped(original, point, strike)

    async def drain(calls: AsyncIterator[str]) -> None:
        async for _ in calls:
            pass

    try:
        for what in whats:
            result = function(log, what)
            if inspect.iscoroutine(result):
                asyncio.run(result)
            elif isinstance(result, AsyncIterator):
                asyncio.run(drain(result))
            elif isinstance(result, Iterator):
                for _ in result:
                    pass
    except Struck:
        pass
    return log


def at(moment: Moment, count: int = 1) -> Point:
    return Point("toy", "", moment, (), only=lambda given: given["what"] == "meant", count=count)


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_every_point_resolves_to_a_function(point: Point) -> None:
    owner, name = resolve(point.where)
    assert callable(getattr(owner, name))


def test_a_point_that_is_no_function_any_more_is_noticed() -> None:
    with pytest.raises(AttributeError):
        resolve("peos.store.sqlite:SqliteStore.put_away")
    with pytest.raises(AttributeError, match="is no function"):
        resolve("peos.store.sqlite:IDENTITY_BYTES")


def test_points_have_names_of_their_own_and_somebody_who_reaches_them() -> None:
    assert len({point.name for point in POINTS}) == len(POINTS)
    assert all(point.parties for point in POINTS)
    assert {party for point in POINTS for party in point.parties} == {*EVERY, "analyzer", "create", "freeze", "client"}


def test_every_round_has_its_points_at_each_word_for_each_hider() -> None:
    for number, hiders in enumerate(PLAN.rounds, start=1):
        for kind in (Kind.COMMIT, Kind.REVEAL, Kind.CONFIRM, Kind.ROOT):
            (said,) = [point for point in POINTS if point.name == f"round {number}: {kind.name.lower()} said"]
            assert said.parties == tuple(f"shuffler-{who}" for who in hiders)


@pytest.mark.parametrize("original", [plain, later])
def test_a_strike_falls_before_or_after_the_call_that_is_meant(original: Callable[..., Any]) -> None:
    calls = ["other", "meant", "other", "meant", "meant"]
    assert called(original, at(Moment.BEFORE), calls) == ["other", "struck"]
    assert called(original, at(Moment.AFTER), calls) == ["other", "meant", "struck"]
    assert called(original, at(Moment.AFTER, 2), calls) == ["other", "meant", "other", "meant", "struck"]
    assert called(original, at(Moment.AFTER, 4), calls) == calls, "there is no fourth"


@pytest.mark.parametrize("original", [each, each_later])
def test_a_strike_falls_within_a_stream_once_an_item_was_taken(original: Callable[..., Any]) -> None:
    assert called(original, at(Moment.DURING, 2), ["other", "meant"]) == [*["other"] * 3, "meant", "meant", "struck"]
    assert called(original, at(Moment.BEFORE), ["meant"]) == ["struck"]
    assert called(original, at(Moment.AFTER), ["meant"]) == [*["meant"] * 3, "struck"]
    assert called(original, at(Moment.DURING, 4), ["meant"]) == ["meant"] * 3, "there is no fourth item"


def test_a_stream_that_is_given_up_is_not_struck() -> None:
    struck: list[str] = []
    stream = wrapped(each, at(Moment.DURING), lambda: struck.append("struck"))([], "meant")
    next(stream)
    stream.close()
    assert struck == []


def test_the_launcher_ends_a_role_at_the_point_by_sigkill_with_its_trace_on_disk(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    config = tmp_path / "client.toml"
    pins = ", ".join(f'"{one:064x}"' for one in (1, 2, 3))
    limits = "most_eps_local = 1.0\nleast_reports = 1\nleast_fakes = 0\nbudget = 1.0\n"
    config.write_text(f'folder = "memory"\nshufflers = [{pins}]\n{limits}')
    program = (
        "from tests.faults import launcher, points;"
        "point = points.Point('opened', 'user_client.store:ClientStore.standings', points.Moment.AFTER, ());"
        "launcher.named = lambda _: point;"
        f"launcher.main([{str(trace)!r}, 'opened', 'user_client', 'status', '--config', {str(config)!r}])"
    )
    ran = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        check=False,
    )
    assert ran.returncode == -signal.SIGKILL, ran.stderr.decode()
    assert [json.loads(line)["point"] for line in trace.read_text().splitlines()] == ["opened"]


class Idle(Ground):
    """A ground without a cluster, whose parties do nothing."""

    def __init__(self, folder: Path, reached: list[dict[str, Any]]) -> None:
        self._reached = reached
        self.party = Party("shuffler-1", "shuffler", folder, folder / "shuffler.toml")

    @property
    def serving(self) -> dict[str, Party]:
        return {self.party.name: self.party}

    def traced(self) -> list[dict[str, Any]]:
        return self._reached


def test_a_process_that_survives_its_point_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point = POINTS[-1]
    monkeypatch.setattr("tests.faults.trial._ENDS", 0.2)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as sleeper:
        idle = Idle(tmp_path, [{"point": point.name, "pid": sleeper.pid}])
        idle.party.process = sleeper
        trial = Trial(idle, [("shuffler-1", point)])
        trial.watch({"shuffler-1": point})
        sleeper.kill()
    assert trial.faults == [f"shuffler-1 was at `{point.name}` and did not die"]


def test_a_process_that_ends_elsewhere_than_at_its_point_fails(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as sleeper:
        sleeper.wait()
    idle = Idle(tmp_path, [])
    idle.party.process = sleeper
    trial = Trial(idle, [("shuffler-1", POINTS[-1])])
    trial.watch({"shuffler-1": POINTS[-1]})
    assert "ended by itself with 0" in trial.faults[0]


def test_a_point_that_is_armed_and_never_reached_is_missed(tmp_path: Path) -> None:
    first, second = POINTS[0], POINTS[1]
    trial = Trial(Idle(tmp_path, [{"point": first.name, "pid": 1}]), [("create", first), ("create", second)])
    assert trial.missing() == [second.name]
    twice = Trial(Idle(tmp_path, [{"point": first.name, "pid": 1}]), [("create", first), ("create", first)])
    assert twice.missing() == [first.name], "once is not twice"


def test_processes_that_outlive_their_party_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.faults.trial._ENDS", 0.2)
    program = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
    with subprocess.Popen([sys.executable, "-c", program], start_new_session=True) as leader:  # noqa: S603 - our own program
        leader.wait()
    with pytest.raises(Failed, match="1 processes outlived shuffler-1"):
        Trial(Idle(tmp_path, []), []).require_no_orphans("shuffler-1", leader.pid)
    ended = threading.Event()
    for _ in range(100):
        if not group(leader.pid):
            break
        ended.wait(0.02)
    assert not group(leader.pid), "it was ended once it had been noticed"


def result(counts: list[int]) -> dict[str, Any]:
    """Three users and one fake among four values, as a result shows them."""
    frequency = [(count - 1 / 4) / 3 for count in counts]
    return {"users": 3, "fakes": 1, "sizes": [4], "frequency": frequency}


def of_two_tables(counts: list[list[int]]) -> dict[str, Any]:
    """The same where each report is in one of two tables, and of each table's a quarter is taken for fakes."""
    frequency = [(one - sum(part) / 4 / 4) / (sum(part) * 3 / 4) for part in counts for one in part]
    return {"users": 3, "fakes": 1, "sizes": [sum(part) for part in counts], "frequency": frequency}


def test_the_multiset_is_judged_report_by_report() -> None:
    check_multiset(result([1, 1, 2, 0]), [0, 1, 2], fakes=1)
    check_multiset(result([1, 1, 1, 1]), [0, 1, 2], fakes=1)
    check_multiset(of_two_tables([[0, 1, 2, 0], [1, 0, 0, 0]]), [0, 1, 2], fakes=1)
    with pytest.raises(AssertionError, match="did not come out"):
        check_multiset(of_two_tables([[0, 2, 0, 0], [1, 1, 0, 0]]), [0, 1, 2], fakes=1)
    with pytest.raises(AssertionError, match="did not come out"):
        check_multiset(result([2, 2, 0, 0]), [0, 1, 2], fakes=1)  # one twice, one never
    with pytest.raises(AssertionError, match="rows beyond the users'"):
        check_multiset(result([1, 1, 2, 1]), [0, 1, 2], fakes=1)
    with pytest.raises(AssertionError, match="no whole numbers"):
        check_multiset(result([1, 1, 1]) | {"frequency": [0.3, 0.3, 0.5, 0.1]}, [0, 1, 2], fakes=1)
