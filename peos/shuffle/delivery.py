"""At most one output: what a shuffler does between attempts (protocol.md §6.5).

A second output with one row changed gives a victim away, one with other fakes strips them. So a last hider sends
attempt a only when all last hiders have signed that they stored a with one transcript; one that may still send a never
leaves it, and a + 1 is not opened before all have left a.

             all stored(a), equal           receipt
    stored ─────────────────────▶ sending ──────────▶ done
      ▲  │ lost(a) of a last hider,   │ a last hider's tombstone, or erase_by
      │  │ or unequal transcripts     ▼
      │  ▼                         aborted
     free ──────────▶ dead ◀─────── stored
           shuffle_by, or a tombstone seen

`Delivery` is a value and `on` a pure function: tests/unit/shuffle/test_delivery_model.py walks every state that r = 3
can reach with it. Each step persists before it speaks.
"""

from dataclasses import dataclass, field, replace

from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.shuffle.effects import (
    Deadline,
    Discard,
    Effect,
    Erase,
    Event,
    Expired,
    Heard,
    Notify,
    Output,
    Persist,
    Receipt,
    Report,
    Restarted,
    Tick,
    TimedOut,
)
from peos.shuffle.messages import Notice, NoticeKind
from peos.shuffle.schedule import Schedule

Decision = tuple["Delivery", tuple[Effect, ...]]
OPENER = 1  # the shuffler that alone opens attempts


@dataclass(frozen=True)
class Delivery:
    """One shuffler's delivery state, and what it has heard of the current attempt since it started."""

    me: int
    schedule: Schedule
    delivery_state: DeliveryState = field(default_factory=DeliveryState)
    heard: frozenset[Notice] = frozenset()

    def on(self, event: Event) -> Decision:
        """The next delivery state, and what to do: in this order, each persisted before anything is said."""
        match event:
            case Heard(notice):
                return self._on_notice(notice)
            case Restarted():
                return self._on_restart()
            case TimedOut():
                return self._leave() if self.delivery_state.running else self._stay()
            case Tick():
                return self, self._ask()
            case Deadline():
                return self._die()
            case Receipt(attempt):
                return self._on_receipt(attempt)
            case Expired():
                return self._abort() if self.delivery_state.phase is Phase.SENDING else self._die()
            case _:
                return self._stay()

    def stored(self, transcript: bytes, vector: str) -> Decision:
        """The attempt under way has come to its end here: make its vector durable, then say so."""
        delivery_state = replace(self.delivery_state, phase=Phase.STORED, transcript=transcript)
        now = replace(self, delivery_state=delivery_state)
        said = Notify(Notice(NoticeKind.STORED, self.me, delivery_state.attempt, transcript), now._fellows)
        after, effects = now._send_if_all_stored()
        return after, (Persist(delivery_state, vector), said, *effects)

    @property
    def missing(self) -> tuple[int, ...]:
        """Who has yet to speak before this shuffler can go on; empty while an attempt is under way."""
        if self.delivery_state.phase is Phase.STORED:
            spoken = {notice.sender for notice in self.heard}
            return tuple(who for who in self._fellows if who not in spoken)
        if self.me == OPENER and self.delivery_state.phase is Phase.FREE and not self.delivery_state.running:
            left = {notice.sender for notice in self.heard if notice.kind is NoticeKind.LOST}
            return tuple(who for who in self._others if who not in left)
        return ()

    @property
    def _others(self) -> tuple[int, ...]:
        return tuple(who for who in range(1, self.schedule.shufflers + 1) if who != self.me)

    @property
    def _fellows(self) -> tuple[int, ...]:
        """The other last hiders."""
        return tuple(who for who in self.schedule.last if who != self.me)

    def _stay(self) -> Decision:
        return self, ()

    def _on_notice(self, notice: Notice) -> Decision:
        match notice.kind:
            case NoticeKind.TOMBSTONE:
                if self.delivery_state.phase is not Phase.SENDING:
                    return self._die()
                # Only a last hider's tombstone makes the output impossible; a passer-by's must not undo a delivery.
                return self._abort() if notice.sender in self.schedule.last else self._stay()
            case NoticeKind.ASK:
                return self._answer(notice.sender, notice.attempt)
            case NoticeKind.OPEN:
                return self._open(notice)
            case NoticeKind.STORED | NoticeKind.LOST:
                return self._remember(notice)

    def _answer(self, who: int, attempt: int) -> Decision:
        """Say where this shuffler is in `attempt`; while it is under way there is nothing to say yet."""
        delivery_state = self.delivery_state
        if delivery_state.phase is Phase.DEAD:
            return self, (Notify(Notice(NoticeKind.TOMBSTONE, self.me, delivery_state.attempt), (who,)),)
        if attempt <= delivery_state.left:
            return self, (Notify(Notice(NoticeKind.LOST, self.me, attempt), (who,)),)
        if delivery_state.phase is not Phase.FREE:
            # Only while the vector is here: one that gave up has erased it, and its word would have others deliver.
            here = delivery_state.phase in (Phase.STORED, Phase.SENDING)
            if here and attempt == delivery_state.attempt and self.me in self.schedule.last:
                return self, (Notify(Notice(NoticeKind.STORED, self.me, attempt, delivery_state.transcript), (who,)),)
            return self._stay()
        if attempt > delivery_state.attempt and not delivery_state.running:
            # Its opening was never seen here. Saying so binds: this attempt will not be entered any more.
            passed = replace(
                self, delivery_state=replace(delivery_state, attempt=attempt, left=attempt), heard=frozenset()
            )
            return passed, (Persist(passed.delivery_state), Notify(Notice(NoticeKind.LOST, self.me, attempt), (who,)))
        return self._stay()

    def _open(self, notice: Notice) -> Decision:
        delivery_state = self.delivery_state
        if (
            notice.sender != OPENER
            or delivery_state.phase is not Phase.FREE
            or delivery_state.running
            or notice.attempt <= delivery_state.attempt
        ):
            return self._stay()
        opened = replace(self, delivery_state=replace(delivery_state, attempt=notice.attempt), heard=frozenset())
        return opened, (Persist(opened.delivery_state),)

    def _remember(self, notice: Notice) -> Decision:
        delivery_state = self.delivery_state
        lost = notice.kind is NoticeKind.LOST
        if notice.attempt != delivery_state.attempt or not self._concerned(lost=lost):
            return self._stay()
        # Of one sender the first word stands, but that a lost attempt is lost whatever was said before.
        known = {other for other in self.heard if other.sender == notice.sender}
        if known and not lost:
            return self._stay()
        now = replace(self, heard=(self.heard - known) | {notice})
        if lost:
            if delivery_state.running or (delivery_state.phase is Phase.STORED and notice.sender in self.schedule.last):
                return now._leave()
            return now._open_if_all_left()
        if delivery_state.phase is Phase.STORED:
            return now._send_if_all_stored()
        return now._stay()

    def _concerned(self, *, lost: bool) -> bool:
        """Whether it matters here that another left the attempt, or stored its vector."""
        if self.delivery_state.phase is Phase.STORED or self.delivery_state.running:
            return lost or self.me in self.schedule.last
        return lost and self.delivery_state.phase is Phase.FREE and self.me == OPENER

    def _send_if_all_stored(self) -> Decision:
        said = [notice for notice in self.heard if notice.sender in self._fellows]
        stored = [notice.transcript for notice in said if notice.kind is NoticeKind.STORED]
        # In both cases this attempt can never be sent: that needs stored(a) of all, with one transcript.
        if len({self.delivery_state.transcript, *stored}) > 1:
            after, effects = self._leave()
            return after, (Report("the last hiders were sent different roots of one vector"), *effects)
        if len(stored) < len(said):
            return self._leave()
        if len(stored) < len(self._fellows):
            return self._stay()
        sending = self._at(Phase.SENDING)
        return sending, (Persist(sending.delivery_state), Output(sending.delivery_state))

    def _leave(self) -> Decision:
        attempt = self.delivery_state.attempt
        free = replace(self, delivery_state=DeliveryState(Phase.FREE, attempt, attempt))
        lost = Notify(Notice(NoticeKind.LOST, self.me, attempt), self._others)
        after, effects = free._open_if_all_left()
        return after, (Persist(free.delivery_state), Discard(attempt), lost, *effects)

    def _open_if_all_left(self) -> Decision:
        if (
            self.me != OPENER
            or self.missing
            or self.delivery_state.running
            or self.delivery_state.phase is not Phase.FREE
        ):
            return self._stay()
        attempt = self.delivery_state.attempt + 1
        opened = replace(self, delivery_state=replace(self.delivery_state, attempt=attempt), heard=frozenset())
        return opened, (Persist(opened.delivery_state), Notify(Notice(NoticeKind.OPEN, self.me, attempt), self._others))

    def _ask(self) -> tuple[Effect, ...]:
        """Ask the awaited shufflers, and repeat that an attempt was left, or opened.

        One that is sending needs no question, its transport retries. But a shuffler that has finished its part of an
        attempt waits for none: if it missed lost(a), only a repeat releases it. And who died before an opening
        was durable knows of nothing that it could ask for, while the others wait for its words.
        """
        delivery_state, missing = self.delivery_state, self.missing
        if self.me == OPENER and delivery_state.running:
            return (Notify(Notice(NoticeKind.OPEN, self.me, delivery_state.attempt), self._others),)
        asked = (Notify(Notice(NoticeKind.ASK, self.me, delivery_state.attempt), missing),) if missing else ()
        if delivery_state.phase is not Phase.FREE or delivery_state.running or not delivery_state.left:
            return asked
        unheard = missing if self.me == OPENER else (OPENER,)
        return (Notify(Notice(NoticeKind.LOST, self.me, delivery_state.left), unheard), *asked)

    def _on_restart(self) -> Decision:
        now = replace(self, heard=frozenset())
        if self.delivery_state.running:
            return now._leave()
        if self.delivery_state.phase is Phase.SENDING:
            return now, (Output(self.delivery_state),)
        return now, now._ask()

    def _on_receipt(self, attempt: int) -> Decision:
        sent = self.delivery_state.phase is Phase.SENDING and attempt == self.delivery_state.attempt
        served = self.me not in self.schedule.last and self.delivery_state.phase is Phase.FREE
        if not (sent or served):
            return self._stay()
        done = self._at(Phase.DONE)
        return done, (Persist(done.delivery_state), Erase())

    def _die(self) -> Decision:
        if self.delivery_state.phase not in (Phase.FREE, Phase.STORED):
            return self._stay()
        dead = self._at(Phase.DEAD)
        return dead, (
            Persist(dead.delivery_state),
            Erase(),
            Notify(Notice(NoticeKind.TOMBSTONE, self.me, dead.delivery_state.attempt), self._others),
        )

    def _abort(self) -> Decision:
        aborted = self._at(Phase.ABORTED)
        return aborted, (Persist(aborted.delivery_state), Erase())

    def _at(self, phase: Phase) -> "Delivery":
        """There, with nothing left to hear of others."""
        return replace(self, delivery_state=replace(self.delivery_state, phase=phase), heard=frozenset())
