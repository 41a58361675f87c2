"""One shuffler as a process around the real machine: what is durable, what is in memory, and what is on its way out.

It does what the machine's effects ask, in their order, as the process does: words and vectors are sent again until they
are acknowledged, notices once; a task takes time; whatever was not persisted is gone with the process.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from gmpy2 import mpz

from peos.crypto.randomness import U64, Randomness
from peos.errors import RemoteFault
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.shuffle.driver import Driver
from peos.shuffle.effects import (
    Deadline,
    Done,
    Effect,
    Event,
    Expired,
    Handle,
    Heard,
    Persist,
    Receipt,
    Received,
    ReceivedVector,
    Restarted,
    Task,
    Tick,
    TimedOut,
)
from peos.shuffle.fakes import fake_shares
from peos.shuffle.machine import Shuffler
from peos.shuffle.messages import Header, Notice, NoticeKind, Statement, VectorHeader
from peos.shuffle.vectors import Vector, Workbench, as_rows
from tests.security.linear.glass import GlassKey
from tests.simulation.operations import ANALYZER, Cut, Torn
from tests.simulation.watch import ENDS, words

if TYPE_CHECKING:
    from tests.simulation.world import World

TICK: Final = 5
PATIENCE: Final = 40  # without anything coming, a step that waits for others counts as timed out


@dataclass
class Durable:
    """What outlives the process. A persist is one write: all of it or nothing."""

    delivery_state: DeliveryState = field(default_factory=DeliveryState)
    vector: Vector | None = None  # the final one
    shares: Vector | None = None  # as users sent them, as rows of bytes
    fake_seed: bytes = b""
    reason: str = ""  # why the collection ended here


@dataclass(frozen=True)
class CarriedVector:
    """A vector on the wire; `rows` is None in a trial without vectors."""

    header: Header
    rows: Vector | None
    sha256: bytes


@dataclass(frozen=True)
class Delivered:
    """A final vector on its way to the analyzer."""

    delivery_state: DeliveryState
    vector: Vector | None


class Taken:
    """The analyzer's word that it has a vector whole."""


class IsThereAReceipt:
    """A shuffler's question to the analyzer."""


class Party(Driver[None]):
    """Shuffler `number` of a world."""

    machine_type: type[Shuffler] = Shuffler

    def __init__(self, number: int, world: "World", durable: Durable, *, lives: int = 0) -> None:
        self.number = number
        self.durable = durable
        self.gone = False
        self.inspecting = False
        self.machine: Shuffler | None = None  # None while the process is down
        self._world = world
        self._lives = lives  # of processes that were killed before
        self.start()

    # The process.

    def start(self) -> None:
        """The process comes up, with what is durable."""
        if self.machine is not None or self.gone:
            return
        world = self._world
        self._lives += 1
        secret = hashlib.sha256(f"{world.trial.seed} {self.number} {self._lives}".encode()).digest()
        self._bench: Workbench | None = None
        self._outbox: dict[Header, tuple[int, Statement | CarriedVector]] = {}  # with the time of the last try
        self._delivering: DeliveryState | None = None
        self._seen: set[type[Event]] = set()  # deadlines
        self._moved = world.now
        self._cause: Event = Restarted()
        self._fuse: Cut | Torn | None = None
        self._burnt = 0
        self.machine = self.machine_type(
            self.number, world.schedule, world.context, Randomness(secret), self._remembered()
        )
        ended = self.durable.delivery_state.phase in ENDS
        if self.durable.shares is not None and not ended:
            self._lay_out(self.durable.shares, Randomness(hashlib.sha256(secret).digest()))
        if ended:
            self._erase()  # what an erasure that was interrupted left
        world.after(TICK, self._alive(self.tick))
        if self._lives > 1:
            world.note(self.number, f"comes back, {words(self.durable.delivery_state)}")
            world.watch.reached[f"killed while {self.durable.delivery_state.phase.value}"] += 1
            self._look_at_the_clock()  # a deadline that passed meanwhile comes first
            self.feed(Restarted())

    def _remembered(self) -> DeliveryState:
        return self.durable.delivery_state

    def _lay_out(self, shares: Vector, rng: Randomness) -> None:
        fakes = self.shares_of_fakes(self._world, self.durable.fake_seed)
        self._bench = Workbench(len(shares) + len(fakes), 1, GlassKey(mpz(1)), rng)
        self._bench.lay_out(self.number, as_rows(shares), fakes)

    @staticmethod
    def shares_of_fakes(world: "World", seed: bytes) -> U64:
        """The shares of the fakes that a seed yields."""
        return fake_shares(seed, world.context, world.fakes, 1)

    def kill(self, down: int | None, why: str) -> None:
        """The process is gone with all that was in memory, and comes back `down` ticks later, or never."""
        if self.machine is None:
            self.gone = self.gone or down is None
            return
        self._world.note(self.number, f"is killed {why}")
        self.machine, self._bench, self.inspecting = None, None, False
        self.gone = self.gone or down is None
        if down is not None:
            self._world.after(max(down, 1), self.start)
            self._world.disturbed(down)

    def arm(self, fuse: Cut | Torn) -> None:
        """The next effects may be its last."""
        if self.machine is not None:
            self._fuse, self._burnt = fuse, 0

    def _alive(self, then: Callable[[], None]) -> Callable[[], None]:
        """`then`, unless the process that planned it has ended."""
        life = self._lives

        def run() -> None:
            if self.machine is not None and self._lives == life:
                then()

        return run

    # The clock.

    def tick(self) -> None:
        """Time passes: see the deadlines, try again what is under way, ask, give up a step that stalls."""
        machine = self.machine
        assert machine is not None, "a tick is planned by a live process"
        world = self._world
        self._look_at_the_clock()
        if self.machine is None or machine.delivery_state.phase in ENDS:
            return  # killed on the way, or nothing is left to do
        world.after(TICK, self._alive(self.tick))
        self._try_again()
        self.feed(Tick())
        if self.machine is None:
            return
        waiting = machine.waiting
        if waiting is not None and waiting.parties and world.now - self._moved > PATIENCE:
            self._moved = world.now
            world.watch.reached["a step that took too long"] += 1
            self.feed(TimedOut())

    def _look_at_the_clock(self) -> None:
        trial = self._world.trial
        for deadline, due in ((Deadline(), trial.shuffle_by), (Expired(), trial.erase_by)):
            if self._world.clock(self.number) >= due and type(deadline) not in self._seen:
                self._seen.add(type(deadline))
                self.feed(deadline)

    def _try_again(self) -> None:
        world, machine = self._world, self.machine
        assert machine is not None, "only a live process tries again"
        for header, (last, what) in list(self._outbox.items()):
            if world.now - last >= TICK:
                self._outbox[header] = (world.now, what)
                world.send(self.number, header.receiver, what)
        delivery_state = machine.delivery_state
        if self._delivering is not None:
            world.send(self.number, ANALYZER, Delivered(self._delivering, self.durable.vector))
        passes_by = self.number not in world.schedule.last and delivery_state.attempt > 0
        if delivery_state.phase is Phase.SENDING or passes_by:
            world.send(self.number, ANALYZER, IsThereAReceipt())

    # What comes in.

    def feed(self, event: Event) -> None:
        """Give the machine an event and carry out what it asks, effect by effect."""
        if self.machine is None:
            return
        if isinstance(event, Received | ReceivedVector | Done):
            self._moved = self._world.now
        if not isinstance(event, Tick):
            self._world.note_event(self.number, event)
        life, before = self._lives, (self.machine.delivery_state, self.machine.waiting)
        self._cause = event
        effects = self.machine.handle(event)
        if (self.machine.delivery_state, self.machine.waiting) != before:
            self._moved = self._world.now
        if isinstance(event, Receipt) and self.machine.record is not None and not self.inspecting:
            self.inspecting = True  # and the machine leaves the erasure to what follows from it
            self._world.after(1, self._alive(self._inspected))
        for effect in effects:
            if self._burns(effect, before=True):
                return
            self._world.note_effect(self.number, effect)
            self.carry_out(effect)
            if self.machine is None or self._lives != life or self._burns(effect, before=False):
                return

    def _inspected(self) -> None:
        """The inspection is over, and nothing of it is needed any more."""
        self.inspecting = False
        self.on_erase()

    def _burns(self, effect: Effect, *, before: bool) -> bool:
        """Whether the process dies here, before or after an effect."""
        fuse = self._fuse
        match fuse:
            case Cut() if before and self._burnt >= fuse.after:
                where = f"before {type(effect).__name__.lower()}"
            case Torn() if isinstance(effect, Persist) and self._burnt + 1 >= fuse.nth and before != fuse.durable:
                where = f"{'before' if before else 'after'} {words(effect.delivery_state)} is durable"
            case _:
                # A cut counts effects, a torn write only those that are durable.
                self._burnt += not before and (isinstance(fuse, Cut) or isinstance(effect, Persist))
                return False
        self._fuse = None
        self._world.watch.reached[f"killed {'before' if before else 'after'} a {type(effect).__name__}"] += 1
        self.kill(fuse.down, where)
        return True

    def hear(self, sender: int, what: object) -> None:
        """A message arrived."""
        machine = self.machine
        if machine is None:
            return
        match what:
            case Statement():
                if self._takes(what.header, sender):
                    self.feed(Received(what))
            case CarriedVector():
                if self._takes(what.header, sender):
                    self._hear_vector(what)
            case Header():
                self._outbox.pop(what, None)
            case Heard() | Receipt():
                self.feed(what)
            case Taken():
                self._delivering = None

    def _takes(self, header: Header, sender: int) -> bool:
        """Acknowledge a message of this attempt or of one that is over; whether it still matters."""
        assert self.machine is not None, "only a live process hears"
        delivery_state = self.machine.delivery_state
        if header.context.attempt > delivery_state.attempt + 1:
            return False  # not yet: the sender tries again
        self._world.send(self.number, sender, header)
        return header.context.attempt > delivery_state.left

    def _hear_vector(self, carried: CarriedVector) -> None:
        header = carried.header
        handle: Handle | None = f"{header.context.attempt}/from {header.sender}/{header.step}"
        if self._bench is not None and carried.rows is not None:
            rows = as_rows(carried.rows)
            described = VectorHeader(header, len(rows), rows.shape[1], carried.sha256)
            try:
                handle = self._bench.expect(described)
            except RemoteFault as fault:
                self._world.note(self.number, f"refuses: {fault}")
                self.feed(TimedOut())
                return
            if handle is None:
                return
            self._bench.take_in(handle, described, rows)
        assert handle is not None, "without vectors every vector is new"
        self.feed(ReceivedVector(header, handle))

    # What is asked for.

    def on_send(self, statement: Statement) -> None:
        """Again and again, until it is acknowledged."""
        self._world.watch.says(self.number, statement)
        self._post(statement.header, statement)

    def on_send_vector(self, header: Header, vector: Handle) -> None:
        """Likewise."""
        rows = self._bench.vectors[vector] if self._bench else None
        sha256 = hashlib.sha256(
            f"{self._lives} {vector}".encode() if rows is None else as_rows(rows).tobytes()
        ).digest()
        self._world.watch.carries(self.number, header, sha256)
        self._post(header, CarriedVector(header, rows, sha256))

    def on_tell(self, notice: Notice, receivers: tuple[int, ...]) -> None:
        """Once."""
        self._world.watch.tells(self.number, notice)
        for receiver in receivers:
            self._world.send(self.number, receiver, Heard(notice))

    def on_persist(self, delivery_state: DeliveryState, vector: Handle | None) -> None:
        """One write."""
        rows = self._bench.vectors[vector] if vector and self._bench else None
        self._world.watch.persisted(self.number, delivery_state, rows, self._cause)
        if delivery_state.running:
            self._world.opened.setdefault(delivery_state.attempt, self._world.now)
        self.persist(delivery_state, rows, because(self._cause) if delivery_state.phase in ENDS else "")

    def on_work(self, task: Task) -> None:
        """It takes a while, and may fail."""
        self._world.watch.works(self.number, task)
        self._begin(task)

    def on_output(self, delivery_state: DeliveryState) -> None:
        """Until the analyzer has it."""
        self._world.watch.sends(self.number, delivery_state)
        self._delivering = delivery_state
        self._world.send(self.number, ANALYZER, Delivered(delivery_state, self.durable.vector))

    def on_discard(self, attempt: int) -> None:
        """Neither sent nor worked any more."""
        self._outbox = {to: kept for to, kept in self._outbox.items() if to.context.attempt > attempt}
        if self._bench:
            self._bench.discard(attempt)

    def on_erase(self) -> None:
        """All goes."""
        self._world.watch.erases(self.number)
        self._erase()

    def on_report(self, sentence: str) -> None:
        """It is in the trace."""

    def persist(self, delivery_state: DeliveryState, vector: Vector | None, reason: str) -> None:
        """Make a delivery state durable, with its vector and the reason for an end: one write."""
        self.durable.delivery_state = delivery_state
        if vector is not None:
            self.durable.vector = vector
        self.durable.reason = self.durable.reason or reason

    def _post(self, header: Header, what: Statement | CarriedVector) -> None:
        self._outbox[header] = (self._world.now, what)
        self._world.send(self.number, header.receiver, what)

    def _begin(self, task: Task) -> None:
        assert self.machine is not None, "effects are carried out by a live process"
        attempt = self.machine.delivery_state.attempt
        takes, fails = self._world.task_time(self.number)
        self._world.after(takes, self._alive(lambda: self._fail(attempt) if fails else self._finish(attempt, task)))

    def _fail(self, attempt: int) -> None:
        assert self.machine is not None, "a task fails in the process that began it"
        if self.machine.delivery_state.running and self.machine.delivery_state.attempt == attempt:
            self.feed(TimedOut())

    def _finish(self, attempt: int, task: Task) -> None:
        assert self.machine is not None, "a task ends in the process that began it"
        running = self.machine.delivery_state.running and self.machine.delivery_state.attempt == attempt
        root = hashlib.sha256(f"{self.number} {attempt} {task.out}".encode()).digest()
        if self._bench is not None and running:
            root = self._bench.work(task)
        self.feed(Done(attempt, task.task, root))

    def _erase(self) -> None:
        self._outbox.clear()
        self._delivering = None
        if self._bench:
            self._bench.vectors.clear()
        self.durable.vector, self.durable.shares, self.durable.fake_seed = None, None, b""


def because(cause: Event) -> str:
    """Why a collection ended, for the operator."""
    match cause:
        case Deadline():
            return "the time to shuffle by has passed"
        case Expired():
            return "the time to erase by has passed"
        case Heard(notice) if notice.kind is NoticeKind.TOMBSTONE:
            return f"shuffler {notice.sender} gave up"
        case Receipt(attempt):
            return f"the analyzer has attempt {attempt}"
        case _:
            return ""
