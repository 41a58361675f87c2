"""Shufflers, an analyzer, a network and a clock, all made up but the machines, in one deterministic loop.

    outcome = World(trial(7)).run()

Time is counted in ticks. A message takes one, a task two; the operations of the trial make both worse. The run ends
when everyone has ended who can, or when everyone should have; then `verdict` judges what became of it.
"""

import heapq
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Final

import numpy as np
from gmpy2 import mpz

from peos.crypto import sharing
from peos.crypto.kdf import Context
from peos.crypto.randomness import U64, Randomness
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.shuffle.effects import Deadline, Effect, Event, Receipt, TimedOut
from peos.shuffle.schedule import Schedule
from peos.shuffle.vectors import Vector, as_rows
from tests.security.linear.glass import Coins, GlassKey
from tests.simulation import telling
from tests.simulation.operations import (
    ANALYZER,
    Behind,
    Cut,
    Delay,
    Double,
    Drop,
    Gone,
    Hurried,
    Impatient,
    Kill,
    Mislaid,
    Operation,
    Partition,
    Scramble,
    Slow,
    Torn,
    Trial,
)
from tests.simulation.party import TICK, Delivered, Durable, Party, Taken
from tests.simulation.watch import ENDS, Violation, Watch, broken, words

FROZEN: Final = Context(b"c" * 32, b"f" * 32)
USERS: Final = 4
FAKES: Final = 2
PER_ROUND: Final = 12  # ticks a round may cost, all attempts and time-outs together, once the faults have stopped
TASK: Final = 2
Links = Drop | Delay | Double | Scramble | Partition


@dataclass(frozen=True)
class Outcome:
    """What became of a run: kept for counting, not for judging."""

    delivered: bool
    attempts: int
    settled: int  # the tick at which the last party ended
    places: tuple[Phase, ...]


class World:
    """One trial. `kinds` puts a deviating party in a shuffler's place."""

    watch_type: type[Watch] = Watch

    def __init__(
        self,
        trial: Trial,
        *,
        kinds: Mapping[int, type[Party]] | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.trial = trial
        self.schedule = Schedule(trial.shufflers)
        self.context = FROZEN
        self.fakes = FAKES if trial.vectors else 0
        self.now = 0
        self.calm = trial.faults_end  # when the last fault is past, so far
        self.opened: dict[int, int] = {}  # when an attempt was first entered
        self._say = say
        self._order = count()
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._links = [one for one in trial.operations if isinstance(one, Links)]
        self._slow = [one for one in trial.operations if isinstance(one, Slow)]
        self._behind: dict[int, int] = {}
        self._mislay: set[int] = set()
        durables, expected = self.frozen()
        self.watch = self.watch_type(self.schedule, self.context, expected)
        kinds = kinds or {}
        for operation in trial.operations:
            if isinstance(operation, Behind):
                self._behind[operation.who] = max(self._behind.get(operation.who, 0), operation.by)
        self._part = kinds
        self.parties = {who: self._party(who, durables[who]) for who in durables}
        for operation in trial.operations:
            self.after(operation.at, lambda fault=operation: self._apply(fault))  # type: ignore[misc] # bound by default

    def _party(self, who: int, durable: Durable) -> Party:
        return self._part.get(who, Party)(who, self, durable)

    def frozen(self) -> tuple[dict[int, Durable], U64 | None]:
        """What everyone holds durably when the shuffle begins, and the rows that must come out."""
        numbers = range(1, self.trial.shufflers + 1)
        if not self.trial.vectors:
            return {who: Durable() for who in numbers}, None
        rng = Randomness(self.trial.seed.to_bytes(32, "big"))
        reports = rng.uint64(USERS)
        seeds = [rng.bytes(32) for _ in numbers]
        durables = {}
        fakes = []
        for who, share, seed in zip(numbers, sharing.split(reports, self.trial.shufflers, rng), seeds, strict=True):
            glass = GlassKey(mpz(1)).encrypt(share, Coins(rng).zeros(USERS))
            durables[who] = Durable(shares=glass if who == 1 else as_rows(share.reshape(-1, 1)), fake_seed=seed)
            fakes.append(Party.shares_of_fakes(self, seed))
        return durables, np.concatenate((reports, sharing.combine(fakes).reshape(-1)))

    # The loop.

    def run(self) -> Outcome:
        """Until everyone has ended who can; Violation if a rule is broken."""
        while self._agenda and self._agenda[0][0] <= self.horizon:
            self.now, _, happens = heapq.heappop(self._agenda)
            happens()
            if self.now > self.calm and self.is_over():
                break
        self.verdict()
        places = tuple(party.durable.delivery_state.phase for party in self.parties.values())
        return Outcome(self.watch.output() is not None, self.watch.entered, self.now, places)

    @property
    def bound(self) -> int:
        """How long after the last fault a collection may take."""
        return 120 + PER_ROUND * len(self.schedule.rounds)

    @property
    def horizon(self) -> int:
        """When everybody must have ended."""
        if self.trial.must_deliver:
            return self.calm + self.bound
        late = max(self._behind.values(), default=0)
        return max(self.trial.erase_by + late, self.calm) + 4 * TICK

    def is_over(self) -> bool:
        """Whether everyone that is not gone has ended, and no party inspects any more."""
        return all(
            party.gone or (party.durable.delivery_state.phase in ENDS and not party.inspecting)
            for party in self.parties.values()
        )

    def verdict(self) -> None:
        """Delivered, or ended for a reason: within bounded time, whatever happened."""
        open_ = [who for who, party in self.parties.items() if not party.gone and self._place(who) not in ENDS]
        if open_:
            where = ", ".join(f"{who} is {words(self.parties[who].durable.delivery_state)}" for who in open_)
            broken("everybody ends", f"{self.now - self.calm} ticks after the last fault {where}")
        if self.trial.must_deliver:
            undone = [who for who in self.parties if self._place(who) is not Phase.DONE]
            if undone or not self.watch.output():
                broken("what can be delivered is delivered", f"{[(who, self._place(who).value) for who in undone]}")
            calm = [attempt for attempt, tick in self.opened.items() if tick > self.calm]
            if calm and min(calm) < self.watch.entered:
                broken("an undisturbed attempt is not left", f"attempt {min(calm)} was begun after the last fault")
        in_time = self.trial.erase_by >= self.calm + self.bound and not any(one.gone for one in self.parties.values())
        if self.watch.all_sent() and in_time and not self.watch.output():
            broken("what all send arrives", f"all last hiders sent attempt {next(iter(self.watch.sent.values()))[0]}")
        for who, party in self.parties.items():
            if not party.gone and self._place(who) in ENDS:
                self._check_end(who, party)

    def _check_end(self, who: int, party: Party) -> None:
        if not party.durable.reason:
            broken("an end has its reason", f"shuffler {who} is {words(party.durable.delivery_state)}")
        if party.durable.vector is not None or party.durable.shares is not None or party.durable.fake_seed:
            broken("an end erases", f"shuffler {who} still has vectors or the seed of the fakes")
        if self._place(who) is Phase.DONE and not self.watch.output():
            broken("done means received", f"shuffler {who}")

    def _place(self, who: int) -> Phase:
        return self.parties[who].durable.delivery_state.phase

    # What parties ask of their world.

    def after(self, ticks: int, happens: Callable[[], None]) -> None:
        """Put something on the agenda; what is due at one tick happens in the order of planning."""
        heapq.heappush(self._agenda, (self.now + ticks, next(self._order), happens))

    def clock(self, who: int) -> int:
        """What a party takes the time to be."""
        return self.now - self._behind.get(who, 0)

    def task_time(self, who: int) -> tuple[int, bool]:
        """How long the task takes that a party begins now, and whether it is lost then."""
        lost = who in self._mislay
        self._mislay.discard(who)
        slow = (one.by for one in self._slow if one.who == who and one.at <= self.now < one.at + one.lasts)
        takes = TASK + sum(slow)
        self.disturbed(takes if lost or takes > TASK else 0)
        return takes, lost

    def disturbed(self, ticks: int) -> None:
        """A fault that was planned earlier came now, and is past in that many ticks; 0 is no fault."""
        if ticks:
            self.calm = max(self.calm, self.now + ticks)

    def send(self, sender: int, receiver: int, what: object) -> None:
        """Put a message on its way, through whatever is wrong with the network now."""
        late, copies = 1, []
        for fault in self._links:
            if not fault.at <= self.now < fault.at + fault.lasts:
                continue
            match fault:
                case Partition():
                    if (sender in fault.group) != (receiver in fault.group):
                        self._lose(sender, receiver, what)
                        return
                case Scramble():
                    # The same message through the same fault takes as long in every run; the next one does not.
                    late += zlib.crc32(b"%d %d %d" % (self.trial.seed, self.now, next(self._order))) % (
                        fault.spread + 1
                    )
                case _ if (fault.sender, fault.receiver) != (sender, receiver):
                    pass
                case Drop():
                    self._lose(sender, receiver, what)
                    return
                case Delay():
                    late += fault.by
                case Double():
                    copies.append(fault.by)
        for ticks in (late, *(late + by for by in copies)):
            self.after(ticks, lambda: self._arrive(sender, receiver, what))

    def _lose(self, sender: int, receiver: int, what: object) -> None:
        if self._say and telling.matters(what):
            self.note(sender, f"loses to {receiver} {telling.message(what)}")

    def _arrive(self, sender: int, receiver: int, what: object) -> None:
        if receiver != ANALYZER:
            self.parties[receiver].hear(sender, what)
        elif isinstance(what, Delivered):
            self._take(sender, what.delivery_state, what.vector)
        elif (output := self.watch.output()) is not None:
            self.send(ANALYZER, sender, Receipt(output[0]))

    def _take(self, sender: int, delivery_state: DeliveryState, vector: Vector | None) -> None:
        self.note(ANALYZER, f"has the vector of attempt {delivery_state.attempt} from {sender}")
        self.watch.delivered(sender, (delivery_state.attempt, delivery_state.transcript), vector)
        self.send(ANALYZER, sender, Taken())

    # Faults.

    def _apply(self, operation: Operation) -> None:
        self.note(None, f"{operation}")
        match operation:
            case Kill(who=who, down=down):
                self.parties[who].kill(down, "")
            case Gone(who=who):
                self.parties[who].kill(None, "for good")
            case Cut(who=who) | Torn(who=who):
                self.parties[who].arm(operation)
            case Impatient(who=who):
                self.parties[who].feed(TimedOut())
            case Hurried(who=who):
                self.parties[who].feed(Deadline())
            case Mislaid(who=who):
                self._mislay.add(who)
            case _:
                pass  # what lasts is looked up when it matters

    # The trace.

    def note(self, who: int | None, what: str) -> None:
        """A line of the trace."""
        if self._say:
            self._say(telling.line(self.now, who, what))

    def note_event(self, who: int, event: Event) -> None:
        """What a party hears."""
        if self._say:
            self.note(who, telling.event(event))

    def note_effect(self, who: int, effect: Effect) -> None:
        """What a party does about it."""
        if self._say:
            self.note(who, "  " + telling.effect(effect))


def failure(trial: Trial, kinds: Mapping[int, type[Party]] | None = None) -> Violation | None:
    """The rule that a trial breaks, if it breaks one; an exception of any other kind counts as one."""
    return examined(trial, kinds)[0]


def examined(trial: Trial, kinds: Mapping[int, type[Party]] | None = None) -> tuple[Violation | None, World]:
    """The same, and the world in which it happened."""
    world = World(trial, kinds=kinds)
    try:
        world.run()
    except Violation as violation:
        return violation, world
    except Exception as error:
        return Violation("nothing breaks down", f"{type(error).__name__}: {error}"), world
    return None, world
