"""A shuffler after the freeze: events in, effects out.

`Delivery` says which attempt may run and what may be sent; `Attempt` runs it. What is not in a `Persist` is lost with
the process, on purpose: an attempt that was interrupted is left, never continued, so no randomness is used twice.
"""

from peos.crypto.kdf import Context
from peos.crypto.randomness import Randomness
from peos.errors import LocalFault, RemoteFault
from peos.shuffle.attempt import Attempt, Waiting, awaited
from peos.shuffle.delivery import Decision, Delivery
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.shuffle.effects import (
    Deadline,
    Done,
    Effect,
    Erase,
    Event,
    Receipt,
    Received,
    ReceivedVector,
    Report,
    TimedOut,
)
from peos.shuffle.inspect.machine import Record
from peos.shuffle.messages import Header, Kind, Step
from peos.shuffle.schedule import Schedule


class Shuffler:
    """One shuffler of one frozen collection. `context` names both; its attempt is 0.

    `kept` is the attempt that the process before this one kept for the inspection, if any.
    """

    attempt_type = Attempt

    def __init__(
        self,
        me: int,
        schedule: Schedule,
        context: Context,
        rng: Randomness,
        delivery_state: DeliveryState | None = None,
        *,
        kept: int = 0,
    ) -> None:
        self._delivery = Delivery(me, schedule, delivery_state or DeliveryState())
        self._context = context
        self._rng = rng
        self._attempt: Attempt | None = None
        self._record: Record | None = None  # of the attempt that was completed, and may be delivered
        self._kept = kept
        self._awaited = awaited(schedule, me)
        self._early: dict[tuple[Step, int], Received | ReceivedVector] = {}  # of the attempt to be opened next
        self._early_for = 0  # its number

    @property
    def delivery_state(self) -> DeliveryState:
        """Where this shuffler stands; a `Persist` made the same durable."""
        return self._delivery.delivery_state

    @property
    def record(self) -> Record | None:
        """What the inspection needs of the attempt that was delivered; nothing if it was not worked in this process."""
        return self._record if self.delivery_state.phase is Phase.DONE else None

    @property
    def finished(self) -> Record | None:
        """What the inspection will need of this delivery state's attempt, once this shuffler's own part of it is done.

        It is to be durable before anything more is said: the others may need no more than that to deliver.
        """
        if self._attempt is not None and self._attempt.completed is not None:
            return Record(tuple(self._attempt.trail), self._attempt.said)
        return self._record

    def keep(self, attempt: int) -> None:
        """What the inspection will need of this attempt is durable: also if it is left, others may deliver it."""
        self._kept = attempt

    @property
    def waiting(self) -> Waiting | None:
        """Within an attempt: the step that is waited for, and from whom."""
        return self._attempt.waiting if self._attempt else None

    @property
    def step(self) -> Step | None:
        """The part of an attempt's script that is under way; the delivery, once all of it is done."""
        if self._attempt is not None:
            return self._attempt.step
        is_done = self.delivery_state.phase in (Phase.STORED, Phase.SENDING, Phase.DONE)
        return Step(len(self._delivery.schedule.rounds), Kind.DELIVERY) if is_done else None

    @property
    def missing(self) -> tuple[int, ...]:
        """Between attempts: who has yet to say where it stands."""
        return self._delivery.missing

    def handle(self, event: Event) -> list[Effect]:
        """What to do about `event`, in order."""
        effects = self._handled(event)
        if isinstance(event, Deadline):
            self._kept = 0  # nothing is kept longer than that
        if isinstance(event, Receipt) and self._is_inspected(event.attempt):
            return [effect for effect in effects if not isinstance(effect, Erase)]
        return effects

    def _is_inspected(self, attempt: int) -> bool:
        """Whether the attempt that was delivered can be shown, from memory or from what was kept."""
        return self.delivery_state.phase is Phase.DONE and (self.record is not None or self._kept == attempt)

    def _handled(self, event: Event) -> list[Effect]:
        if not isinstance(event, Received | ReceivedVector | Done):
            return self._decided(self._delivery.on(event))
        try:
            return self._worked(event)
        except RemoteFault as fault:
            return [Report(str(fault)), *self._decided(self._delivery.on(TimedOut()))]

    def _worked(self, event: Received | ReceivedVector | Done) -> list[Effect]:
        attempt = self._attempt
        if isinstance(event, Done):
            if attempt is None or event.attempt != attempt.context.attempt:
                return []  # of an attempt that was left meanwhile
            return self._completed(attempt, attempt.done(event.task, event.root))
        header = event.statement.header if isinstance(event, Received) else event.header
        self._check(header)
        if header.context.attempt > self.delivery_state.attempt:
            # The sender has seen the opening already. No shuffler is two attempts ahead: all leave one before the next.
            if (
                header.context.attempt == self.delivery_state.attempt + 1
                and (header.step, header.sender) in self._awaited
            ):
                if self._early_for != header.context.attempt:  # what came for an attempt that was never entered here
                    self._early, self._early_for = {}, header.context.attempt
                self._early.setdefault((header.step, header.sender), event)
            return []
        if attempt is None or header.context.attempt != attempt.context.attempt:
            return []
        if isinstance(event, Received):
            return self._completed(attempt, attempt.receive(event.statement))
        return self._completed(attempt, attempt.receive_vector(event.header, event.vector))

    def _check(self, header: Header) -> None:
        here = self._context
        if (header.context.collection, header.context.frozen) != (here.collection, here.frozen):
            raise LocalFault("shuffle.other_collection", "a message of another collection was given to this one")
        if header.receiver != self._delivery.me:
            raise LocalFault("shuffle.other_receiver", "a message to another shuffler was given to this one")

    def _decided(self, decision: Decision) -> list[Effect]:
        """Carry the decision out on the attempt: forget one that was left, begin one that was opened."""
        self._delivery, effects = decision
        running = self._attempt.context.attempt if self._attempt else 0
        if not self.delivery_state.running:
            if self._attempt is not None and self._attempt.completed is not None:
                self._record = Record(tuple(self._attempt.trail), self._attempt.said)
            if self.delivery_state.phase not in (Phase.STORED, Phase.SENDING, Phase.DONE):
                self._record = None
            self._attempt = None
            return list(effects)
        if running == self.delivery_state.attempt:
            return list(effects)
        return [*effects, *self._begin(self.delivery_state.attempt)]

    def _begin(self, number: int) -> list[Effect]:
        context = Context(self._context.collection, self._context.frozen, number)
        self._kept = self._kept if self._kept == number else 0
        self._attempt = self.attempt_type(self._delivery.me, self._delivery.schedule, context, self._rng)
        effects = self._completed(self._attempt, self._attempt.start())
        early, self._early = self._early, {}
        for event in early.values():
            effects += self.handle(event)
        return effects

    def _completed(self, attempt: Attempt, effects: list[Effect]) -> list[Effect]:
        """Once a last hider has its vector, it is for `Delivery` to say when it may leave."""
        done = attempt.completed
        if done is None or done.vector is None or self.delivery_state.phase is not Phase.FREE:
            return effects
        return [*effects, *self._decided(self._delivery.stored(done.transcript, done.vector))]
