"""One collection, in which parties are killed at the points that they are armed with, and what has to hold then.

Each party may have several points, one after another: a start arms the first, the start after its death the next, and
the last start is an ordinary one. So one collection can show many points, and a single one shows which it was.

Points at which something fails are armed all at once, and a party that has such points must not die.
"""

import signal
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from peos.collection.lifecycle import State
from peos.localcluster import Party
from tests.e2e.town import group
from tests.faults.checks import check_abort, check_given_up, check_published
from tests.faults.ground import Ground, end_group
from tests.faults.points import EVERY, Armed, Point, named

WITHIN: Final = 60.0  # seconds from the last start to the end
WAITING: Final = 5.0  # seconds more for each failure: it is waited a moment before a change is tried again
OVER: Final = frozenset({State.PUBLISHED, State.ABORTED})
_ENDS: Final = 5.0  # seconds in which the killed process, and its workers after it, must be gone
_COMMAND: Final = 120.0
_GLANCE: Final = 0.02
_AGAIN: Final = 5  # times that the analyst gives an order that could not be carried out


class Failed(AssertionError):
    """A point was not reached, its process did not die, or the collection did not end as it must."""


class Overtaken(Failed):
    """A process that serves did first what a command was to fail at: the point is tried again."""


@dataclass
class Outcome:
    """How a trial went."""

    points: list[str]
    parties: list[str]
    end: str = ""
    seconds: float = 0.0  # from the last start to the end
    took: float = 0.0  # in all
    workers: int = 0  # that were there when their party was killed
    fault: str = ""


@dataclass
class Trial:
    """`armed` names parties with their points, in the order in which each party shall die at them."""

    ground: Ground
    armed: Iterable[Armed]
    due: dict[str, list[Point]] = field(default_factory=dict)
    failing: dict[str, list[Point]] = field(default_factory=dict)
    workers: int = 0
    faults: list[str] = field(default_factory=list)
    _started: float = 0.0
    _over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> Outcome:
        """The trial; what did not hold is in the outcome."""
        self.armed = list(self.armed)
        outcome = Outcome([point.name for _, point in self.armed], [party for party, _ in self.armed])
        begun = time.monotonic()
        for is_last in (False, False, True):
            self._arm()
            try:
                outcome.end = self._play().value
                outcome.seconds = round(time.monotonic() - self._started, 1)
                self._check()
            except Overtaken as failed:
                if not is_last:
                    continue
                outcome.fault = str(failed)
            except Exception as failed:  # whatever it is, the next trial goes on, and this one has failed
                outcome.fault = f"{type(failed).__name__}: {failed}"
            finally:
                self.ground.end()
            break
        outcome.took = round(time.monotonic() - begun, 1)
        outcome.workers = self.workers
        return outcome

    def _arm(self) -> None:
        self.due, self.failing, self.workers = {}, {}, 0
        self.faults, self._over = [], threading.Event()
        for party, point in self.armed:
            if point.first:
                self.due.setdefault(party, []).append(named(point.first))
            if point.beside:
                self.due[EVERY[EVERY.index(party) - 1]] = [named(point.beside)]
            (self.failing if point.fails else self.due).setdefault(party, []).append(point)

    @property
    def end(self) -> State:
        """How it must end: as the points say, of which one that ends in an abort decides."""
        ends = {point.end for _, point in self.armed}
        return State.ABORTED if State.ABORTED in ends else State.PUBLISHED

    @property
    def order(self) -> str:
        """What the analyst orders in the end."""
        (order,) = {point.order for _, point in self.armed}
        return order

    def _play(self) -> State:
        points = [point for _, point in self.armed]
        stage = min(point.stage for point in points)
        self.ground.enter(stage)
        armed = {name: self.due[name].pop(0) for name in self.ground.serving if self.due.get(name)}
        self.ground.start({**self.failing, **{name: [point] for name, point in armed.items()}})
        self._started = time.monotonic()
        watcher = threading.Thread(target=self.watch, args=(armed,), daemon=True)
        watcher.start()
        try:
            if stage < 1:
                self._command("create", self.ground.creating())
                self._command("enrol", self.ground.enrolling())
            if stage < 2:
                self._command("client", self.ground.submitting())
            self._close(again=any(point.ordered_again or point.fails for point in points))
            return self._await_the_end()
        finally:
            self._over.set()
            watcher.join()

    # Parties that serve.

    def watch(self, armed: dict[str, Point]) -> None:
        """See them die at their points, and start them again."""
        while not self._over.wait(_GLANCE) and not self.faults:
            for name, party in self.ground.serving.items():
                try:
                    point = armed.get(name)
                    if point is not None and point.worker:
                        self._see_worker(armed, name, point)
                    elif party.process is not None and party.process.poll() is not None:
                        self._bury(party, armed.pop(name, None))
                        self._start_again(party, armed)
                    elif point is not None and self._is_traced(point, party):
                        self._await_death(party, point)
                except AssertionError as failed:
                    self.faults.append(str(failed))
                    return

    def _start_again(self, party: Party, armed: dict[str, Point]) -> None:
        following = self.due.get(party.name)
        point = following.pop(0) if following else None
        if point is not None:
            armed[party.name] = point
        self.ground.begin(party, *([point] if point else []))
        self._started = time.monotonic()

    def _bury(self, party: Party, point: Point | None) -> None:
        assert party.process is not None, "it was started"
        code, leader = party.process.returncode, party.process.pid
        if point is None or code != -signal.SIGKILL or not self._is_traced(point, party):
            raise Failed(f"{party.name} ended by itself with {code}; its log is {party.log}")
        self.require_no_orphans(party.name, leader)
        party.stop()
        if point.loses is not None:
            point.loses(party.folder)

    def require_no_orphans(self, name: str, leader: int) -> None:
        left = group(leader)
        self.workers += len(left)
        give_up = time.monotonic() + _ENDS
        while left:
            if time.monotonic() > give_up:
                end_group(leader, left)
                raise Failed(f"{len(left)} processes outlived {name}")
            time.sleep(_GLANCE)
            left = group(leader)

    def _await_death(self, party: Party, point: Point) -> None:
        assert party.process is not None, "it was started"
        give_up = time.monotonic() + _ENDS
        while party.process.poll() is None:
            if time.monotonic() > give_up:
                raise Failed(f"{party.name} was at `{point.name}` and did not die")
            time.sleep(_GLANCE)

    def _see_worker(self, armed: dict[str, Point], name: str, point: Point) -> None:
        """One of the workers was killed: the party itself goes on, and must not even be started again."""
        for line in self.ground.traced():
            if line["point"] == point.name:
                armed.pop(name)
                give_up = time.monotonic() + _ENDS
                while line["killed"] in group(line["pid"]):
                    if time.monotonic() > give_up:
                        raise Failed("the worker did not die")
                    time.sleep(_GLANCE)
                self.workers += 1
                self._started = time.monotonic()

    def _is_traced(self, point: Point, party: Party) -> bool:
        pid = party.process.pid if party.process else 0
        return any((line["point"], line["pid"]) == (point.name, pid) for line in self.ground.traced())

    # Commands.

    def _command(self, who: str, words: list[object]) -> None:
        """A command, killed at each of its points, and then to its end: the same words every time."""
        for point in self.due.pop(who, []):
            before = len(self.ground.traced())
            ran = self.ground.run(words, point, patience=_COMMAND)
            if ran.returncode != -signal.SIGKILL or len(self.ground.traced()) == before:
                raise Failed(f"{who} ended with {ran.returncode} and not at `{point.name}`: {ran.stderr}")
        self._fail(who, words)
        ran = self.ground.run(words, patience=_COMMAND)
        self._started = max(self._started, time.monotonic())
        if ran.returncode:
            raise Failed(f"{who} failed: {ran.stderr}{self._told()}")

    def _fail(self, who: str, words: list[object]) -> None:
        """The command until it has failed at each of its points; it says so in a sentence, as when others fail."""
        points, tries = self.failing.pop(who, []), 0
        while left := [point for point in points if point.name not in self._reached()]:
            ran = self.ground.run(words, *left, patience=_COMMAND)
            tries = tries + 1 if all(point.name not in self._reached() for point in left) else 0
            if tries >= _AGAIN:
                is_overtaken = who == "abort" and self.ground.state()[0] in OVER
                kind = Overtaken if is_overtaken else Failed
                raise kind(f"{who} ended with {ran.returncode} and not at `{left[0].name}`: {ran.stderr}")
            if ran.returncode not in (0, 1) or "Traceback" in ran.stderr:
                raise Failed(f"{who} ended with {ran.returncode}: {ran.stderr}")

    def _close(self, *, again: bool) -> None:
        """The order; it is given once, whatever becomes of it, unless the point is about its loss."""
        points, words = self.due.pop(self.order, []), self.ground.ordering(self.order)
        self._fail(self.order, words)
        ran = self.ground.run(words, *points[:1], patience=_COMMAND)
        if points and ran.returncode != -signal.SIGKILL:
            raise Failed(f"the order ended with {ran.returncode} and not at `{points[0].name}`: {ran.stderr}")
        for _ in range(_AGAIN if again else 0):
            if ran.returncode == 0:
                break
            ran = self.ground.run(words, patience=_COMMAND)
        self._started = max(self._started, time.monotonic())

    # The end.

    def _await_the_end(self) -> State:
        """Until the analyzer and all shufflers are through, and no process is armed any more."""
        within = WITHIN + WAITING * sum(1 for _, point in self.armed if point.fails)
        while time.monotonic() - self._started < within:
            if self.faults:
                raise Failed(self.faults[0])
            state, reason = self.ground.state()
            if state in OVER and state is not self.end:
                raise Failed(f"the collection is {state.value}: {reason}")
            if state in OVER and not any(self.due.values()) and not self.missing() and self._all_ended(state):
                return state
            time.sleep(_GLANCE)
        raise Failed(f"{self._unreached()}{self._told()}")

    def _all_ended(self, state: State) -> bool:
        """After an abort only who was struck is through by itself: the others wait for the order or `erase_by`."""
        if not self.ground.is_over():
            return False
        standings = dict(zip(EVERY, self.ground.states(), strict=True))
        is_struck = state is State.ABORTED and self.order != "abort"
        waited_for = {party for party, _ in self.armed} if is_struck else set(EVERY)
        return all(standings[party] == state.value for party in waited_for if party in standings)

    def missing(self) -> list[str]:
        reached = self._reached()
        wanted = [point for _, point in self.armed]
        short = [point.name for point in wanted if reached.count(point.name) < wanted.count(point)]
        return list(dict.fromkeys(short))

    def _reached(self) -> list[str]:
        return [line["point"] for line in self.ground.traced()]

    def _unreached(self) -> str:
        missing = self.missing()
        return f"never reached: {', '.join(missing)}; " if missing else ""

    def _told(self) -> str:
        state, reason = self.ground.state()
        standings = dict(zip(EVERY, self.ground.states(), strict=True))
        seconds = time.monotonic() - self._started
        return f"after {seconds:.0f} s the analyzer is {state.value} {reason}, the shufflers are {standings}"

    def _check(self) -> None:
        if self.end is State.PUBLISHED:
            self.ground.end()
            check_published(self.ground, {party for party, point in self.armed if point.fails})
            return
        if self.order == "abort":
            self.ground.end()
            check_given_up(self.ground)
            return
        (reason,) = {point.reason for _, point in self.armed if point.end is State.ABORTED}
        ran = self.ground.run(self.ground.ordering("abort"), patience=_COMMAND)
        assert ran.returncode == 0, ran.stderr
        self.ground.end()
        check_abort(self.ground, reason, {party for party, _ in self.armed})
