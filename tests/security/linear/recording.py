"""A shuffle as its machines ask for it: real `Shuffler`s are driven to the end, and every effect is written down.

The machines never touch a vector, so what they ask for does not depend on what the vectors hold. One recording can
therefore be replayed on numbers or on linear forms, and with other permutations than those its keys stand for.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Generic, Protocol, TypeVar

from peos.crypto.kdf import Context, StreamKey
from peos.crypto.randomness import Randomness
from peos.shuffle.attempt import Attempt
from peos.shuffle.delivery_state import DeliveryState
from peos.shuffle.driver import Driver
from peos.shuffle.effects import (
    Done,
    Event,
    Handle,
    Heard,
    Mix,
    Pass,
    Received,
    ReceivedVector,
    SendVector,
    Task,
    Tick,
    TimedOut,
)
from peos.shuffle.machine import Shuffler
from peos.shuffle.messages import Header, Kind, Notice, Statement, Step
from peos.shuffle.schedule import Schedule

ANALYZER: Final = 0
COLLECTION: Final = Context(bytes(32), bytes(32))
_ROOT: Final = bytes(32)  # roots are salted hashes, taken as ideal: no party learns a vector from one

V = TypeVar("V")


class Bench(Protocol[V]):
    """One shuffler's vectors by handle, and the work on them."""

    @property
    def vectors(self) -> dict[Handle, V]:
        """What the shuffler holds."""

    def work(self, task: Task) -> object:
        """Do what an effect asks."""


@dataclass(frozen=True)
class Arrival(Generic[V]):
    """A vector that a party holds, the analyzer (0) among them: it came in, or is the party's `own` work."""

    name: str
    receiver: int
    vector: V
    own: bool = False


@dataclass(frozen=True)
class Recording:
    """Who was asked for what, in order; a delivery is recorded as a vector sent to the analyzer."""

    schedule: Schedule
    asked: tuple[tuple[int, Task | SendVector], ...]
    words: tuple[Statement, ...]

    @cached_property
    def rounds(self) -> dict[StreamKey, tuple[int, int]]:
        """Each permutation's key, with the attempt and the round that it belongs to, in order."""
        mixes = [task for _, task in self.asked if isinstance(task, Mix)]
        found = {task.permutation: (attempt_of(task), int(task.out.split("/")[2])) for task in mixes}
        return dict(sorted(found.items(), key=lambda entry: entry[1]))

    @property
    def attempts(self) -> int:
        """How many there were; the last one delivered."""
        return max(attempt for attempt, _ in self.rounds.values())

    @property
    def output_permutations(self) -> tuple[StreamKey, ...]:
        """What the output went through: the permutations of the last attempt."""
        return tuple(key for key, (attempt, _) in self.rounds.items() if attempt == self.attempts)

    def replay(self, benches: Mapping[int, Bench[V]]) -> list[Arrival[V]]:
        """Do the work on `benches`, which hold the frozen shares; returns what reached whom, and what each made."""
        arrivals = [
            Arrival(f"{handle} of shuffler {who}", who, vector)
            for who, bench in benches.items()
            for handle, vector in bench.vectors.items()
        ]
        for who, asked in self.asked:
            if not isinstance(asked, SendVector):
                benches[who].work(asked)
                arrivals.append(Arrival(f"{asked.out}, made by {who}", who, benches[who].vectors[asked.out], own=True))
                continue
            vector, header = benches[who].vectors[asked.vector], asked.header
            if header.receiver != ANALYZER:
                benches[header.receiver].vectors[_arrived(header)] = vector
            name = f"attempt {header.context.attempt}, {header.step}, from {who} to {header.receiver}"
            arrivals.append(Arrival(name, header.receiver, vector))
        return arrivals


def record(
    shufflers: int | Schedule, rng: Randomness, *, attempt_type: type[Attempt] = Attempt, lost: int = 0
) -> Recording:
    """Drive all shufflers through one collection.

    The first `lost` attempts are lost at the latest moment at which one can be: every vector has reached its shuffler,
    and the last holder crashes in its pass over the ciphertexts.
    """
    schedule = shufflers if isinstance(shufflers, Schedule) else Schedule(shufflers)
    return _Recorder(schedule, rng, attempt_type, lost).run()


class _Recorder:
    """All machines and the wires between them: first in, first out."""

    def __init__(self, schedule: Schedule, rng: Randomness, attempt_type: type[Attempt], lost: int) -> None:
        self.schedule = schedule
        self._lost = lost
        self.asked: list[tuple[int, Task | SendVector]] = []
        self.words: list[Statement] = []
        self.final: dict[int, Handle] = {}
        self.queue: deque[tuple[int, Event]] = deque()
        self._crashes: deque[int] = deque()
        self._machines: dict[int, Shuffler] = {}
        for who in range(1, schedule.shufflers + 1):
            self._machines[who] = Shuffler(who, schedule, COLLECTION, Randomness(rng.bytes(32)))
            self._machines[who].attempt_type = attempt_type

    def run(self) -> Recording:
        """From the opening of the first attempt until nothing moves any more."""
        self.queue.extend((who, Tick()) for who in self._machines)
        while self.queue or self._crashes:
            who, event = self.queue.popleft() if self.queue else (self._crashes.popleft(), TimedOut())
            for effect in self._machines[who].handle(event):
                _Recorded(self, who).carry_out(effect)
        delivered = {who for who, asked in self.asked if isinstance(asked, SendVector) and _is_delivery(asked)}
        assert delivered == set(self.schedule.last), "every last hider delivers"
        return Recording(self.schedule, tuple(self.asked), tuple(self.words))

    def task(self, who: int, task: Task) -> None:
        attempt = self._machines[who].delivery_state.attempt
        final = isinstance(task, Pass) and task.hop == len(self.schedule.passes)
        if final and attempt <= self._lost:
            self._crashes.append(who)
            return
        self.asked.append((who, task))
        self.queue.append((who, Done(attempt, task.task, _ROOT)))


class _Recorded(Driver[None]):
    """One machine's effects, written down; only its words and notices travel."""

    def __init__(self, recorder: _Recorder, who: int) -> None:
        self._recorder = recorder
        self._who = who

    def on_send(self, statement: Statement) -> None:
        self._recorder.words.append(statement)
        self._recorder.queue.append((statement.header.receiver, Received(statement)))

    def on_send_vector(self, header: Header, vector: Handle) -> None:
        self._recorder.asked.append((self._who, SendVector(header, vector)))
        self._recorder.queue.append((header.receiver, ReceivedVector(header, _arrived(header))))

    def on_tell(self, notice: Notice, receivers: tuple[int, ...]) -> None:
        self._recorder.queue.extend((receiver, Heard(notice)) for receiver in receivers)

    def on_persist(self, delivery_state: DeliveryState, vector: Handle | None) -> None:  # noqa: ARG002 - no process ends here
        self._recorder.final[self._who] = vector or self._recorder.final.get(self._who, "")

    def on_work(self, task: Task) -> None:
        self._recorder.task(self._who, task)

    def on_output(self, delivery_state: DeliveryState) -> None:
        last = Step(len(self._recorder.schedule.rounds), Kind.DELIVERY)
        context = Context(COLLECTION.collection, COLLECTION.frozen, delivery_state.attempt)
        sent = SendVector(Header(context, last, self._who, ANALYZER), self._recorder.final[self._who])
        self._recorder.asked.append((self._who, sent))

    def on_discard(self, attempt: int) -> None:
        """What was known of a lost attempt stays known."""

    def on_erase(self) -> None:
        """Nor does anybody forget here."""

    def on_report(self, sentence: str) -> None:
        raise AssertionError(f"shuffler {self._who} reports: {sentence}")


def attempt_of(task: Task) -> int:
    """The attempt that a task belongs to."""
    return int(task.out.split("/")[0])


def _arrived(header: Header) -> Handle:
    return f"{header.context.attempt}/from {header.sender}/{header.step.kind.name}/{header.step.round}"


def _is_delivery(sent: SendVector) -> bool:
    return sent.header.receiver == ANALYZER
