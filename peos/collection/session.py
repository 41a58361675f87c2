"""The life of a collection with one shuffler, as a machine: events in, effects out (protocol.md §6, decisions/0024).

Effects are carried out in their order. When all of them are done, or the wait is over, the caller feeds `Clock`; when
one fails, `Failed`, and the others of the list are dropped. Each may be repeated, and a change that is there already is
a success (decisions/0015). So the machine never asks what was done: it reads what is durable (`Read`, answered by
`Known`) before it concludes anything from an error, and before it ends a collection.

What may pass by itself (a party that does not answer, a full disk) is waited for until `shuffle_by`. What does not
pass ends the collection: too few reports, another shuffler that ended it or breaks the freeze again and again, a lost
store, faults of this party's own that stay.
"""

from dataclasses import dataclass, field
from typing import Final, Protocol

from peos.collection.freeze import check_minimum
from peos.collection.lifecycle import OVER, State
from peos.crypto.kdf import Context
from peos.errors import Closed, LocalFault, NotYet, PeosError, Refused
from peos.shuffle.delivery import Delivery
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.shuffle.effects import Expired, Heard, Notify, Persist
from peos.shuffle.messages import Notice, NoticeKind
from peos.shuffle.schedule import Schedule

ORDERED: Final = "the analyzer aborted the collection"
LOST: Final = "its store was lost or restored from a backup: nothing is signed for it any more"
RETRY: Final = 2.0  # seconds
FAULTS: Final = 5  # of this party's own, one after another, that do not pass by themselves any more
ENDS: Final = (Phase.DONE, Phase.DEAD, Phase.ABORTED)
_REASON: Final = 500  # characters
_UNFROZEN: Final = (State.DRAFT, State.OPEN, State.CLOSED)


@dataclass(frozen=True)
class Durable:
    """What the store says of the collection."""

    state: State
    reason: str = ""
    delivery_state: DeliveryState = field(default_factory=DeliveryState)
    frozen: bytes | None = None  # the digest
    lost: bool = False  # restored from a backup past its opening: nothing may be signed for it any more


class Terms(Protocol):
    """What the machine reads of a collection document."""

    @property
    def closes_at(self) -> int:
        """When it closes at the latest."""

    @property
    def shuffle_by(self) -> int:
        """When it must be shuffled."""

    @property
    def minimum(self) -> int:
        """The fewest reports that are shuffled."""

    @property
    def schedule(self) -> Schedule:
        """Who hides when."""


# Events.


@dataclass(frozen=True)
class Clock:
    """Nothing is under way: all effects were carried out, or the wait is over."""

    now: float


@dataclass(frozen=True)
class Known:
    """The answer to `Read`."""

    kept: Durable
    now: float


@dataclass(frozen=True)
class Moved:
    """A change of state is durable."""

    state: State
    reason: str = ""


@dataclass(frozen=True)
class Accepted:
    """The operator takes part."""


@dataclass(frozen=True)
class Ordered:
    """The analyzer closes the collection before its time, or aborts it."""

    abort: bool


@dataclass(frozen=True)
class Compared:
    """So many rows are in the lists of all shufflers, and among them no more than so many dummies."""

    count: int
    dummies: int


@dataclass(frozen=True)
class Denied:
    """What was agreed cannot be frozen: the question is being answered, or was."""

    why: str


@dataclass(frozen=True)
class Noted:
    """The proof that a shuffler signed two lists is in the audit log."""


@dataclass(frozen=True)
class ShuffleEnded:
    """The shuffle has come to an end here; why, if not with a receipt."""

    delivery_state: DeliveryState
    reason: str = ""


@dataclass(frozen=True)
class Inspected:
    """This shuffler's part in the inspection is over."""


@dataclass(frozen=True)
class Failed:
    """An effect was not carried out. `is_broken`: another broke the freeze for good; `proof`: by two signed lists."""

    error: Exception
    is_broken: bool = False
    proof: bool = False


Event = Clock | Known | Moved | Accepted | Ordered | Compared | Denied | Noted | ShuffleEnded | Inspected | Failed


# Effects, besides `Persist` and `Tell` of the shuffle.


@dataclass(frozen=True)
class Read:
    """Read what is durable, and answer with `Known`."""


@dataclass(frozen=True)
class SetState:
    """Make a state durable, if the collection is still `here`; then `Moved`."""

    here: State
    there: State
    reason: str = ""


@dataclass(frozen=True)
class Wait:
    """Nothing to do before `until`, unless an order or the operator's word comes."""

    until: float


@dataclass(frozen=True)
class Pause:
    """Let so much time pass before the next try."""

    seconds: float


@dataclass(frozen=True)
class Freeze:
    """Compare the lists of all shufflers, and ask which dummies were not sent if that decides; then `Compared`."""


@dataclass(frozen=True)
class Fix:
    """Have all shufflers sign what counts, and make it durable; then `Moved` to FROZEN, or `Denied`."""


@dataclass(frozen=True)
class LayOut:
    """Lay the frozen vector out."""


@dataclass(frozen=True)
class Shuffle:
    """Drive the shuffle to its end here; then `ShuffleEnded`."""


@dataclass(frozen=True)
class Inspect:
    """Take part in the inspection; then `Inspected`."""


@dataclass(frozen=True)
class NoteEvidence:
    """Write the two lists that a shuffler signed into the audit log; then `Noted`."""


@dataclass(frozen=True)
class ForgetEvidence:
    """Erase what was kept for the inspection."""


@dataclass(frozen=True)
class Erase:
    """Erase shares, vectors and the seed of the fakes."""


@dataclass(frozen=True)
class Interrupt:
    """Leave the step that is under way: end the shuffle if it is one, with this reason."""

    reason: str


@dataclass(frozen=True)
class Finish:
    """Nothing is left to do for this collection."""


Effect = (
    Read
    | SetState
    | Wait
    | Pause
    | Freeze
    | Fix
    | LayOut
    | Shuffle
    | Inspect
    | NoteEvidence
    | ForgetEvidence
    | Erase
    | Interrupt
    | Finish
    | Persist
    | Notify
)
Effects = tuple[Effect, ...]


class Session:
    """One collection with one shuffler."""

    def __init__(
        self, number: int, document: Terms, kept: Durable, *, inspects: bool = True, retry: float = RETRY
    ) -> None:
        self.state = kept.state
        self.reason = kept.reason
        self.lost = kept.lost
        self.stalled = ""  # why the last step was not taken
        self.doom = LOST if kept.lost and kept.state not in OVER else ""  # why it must end
        self._number = number
        self._document = document
        self._retry = retry
        self._inspects = inspects  # and has not done so yet
        self._failure: Failed | None = None  # to be judged once the store is read
        self._failed = False  # in this step
        self._faults = 0
        self._has_proof = False

    def on(self, event: Event) -> Effects:
        """What follows from an event; NotYet or Closed if an order cannot be carried out now."""
        match event:
            case Clock(now):
                if not self._failed:
                    self.stalled, self._faults = "", 0
                self._failed = False
                # No evidence is kept beyond that, also where the store fails; what is delivered is inspected first.
                is_due = now >= self._document.shuffle_by and self.state is not State.DELIVERED
                return (*((ForgetEvidence(),) if is_due else ()), *self._next(now))
            case Known(kept, now):
                return self._on_known(kept, now)
            case Moved(state, reason):
                self._moved(state, reason)
            case Accepted():
                return (SetState(State.DRAFT, State.OPEN),)
            case Ordered(abort):
                return self._on_abort() if abort else self._on_close()
            case Compared():
                return self._on_compared(event)
            case Denied(why):
                self.doom = why
            case Noted():
                self._has_proof = False
            case ShuffleEnded():
                return self._on_ended(event)
            case Inspected():
                self._inspects = False
            case Failed():
                return self._on_failed(event)
        return ()

    def _next(self, now: float) -> Effects:
        document = self._document
        if self.doom:
            return (Read(),)
        if self.state in OVER:  # an error or a crash may have come between the end and the erasure
            return (ForgetEvidence(), Erase(), Finish())
        if self.state in _UNFROZEN and now >= document.shuffle_by:
            return self._die(f"the time to shuffle by has passed{f': {self.stalled}' if self.stalled else ''}")
        match self.state:
            case State.DRAFT if now >= document.closes_at:
                return self._die("it was not accepted before it closed")
            case State.OPEN if now >= document.closes_at:
                return (SetState(State.OPEN, State.CLOSED),)
            case State.DRAFT | State.OPEN:
                return (Wait(document.closes_at),)
            case State.CLOSED:
                return (Freeze(),)
            case State.FROZEN | State.SHUFFLING:
                return (Read(),)
            case _:
                inspection: Effects = (Inspect(),) if self._inspects else ()
                return (*inspection, ForgetEvidence(), Erase(), SetState(State.DELIVERED, State.PUBLISHED))

    def _die(self, why: str) -> Effects:
        self.doom = why
        return (Read(),)

    def _on_known(self, kept: Durable, now: float) -> Effects:
        is_further = kept.state is not self.state
        if is_further:
            self._moved(kept.state, kept.reason)
        failure, self._failure = self._failure, None
        if failure is not None:
            return self._judge(failure, kept.delivery_state, now, is_further=is_further)
        if self.state in OVER:
            return ()
        if self.doom:
            return self._end(kept)
        if self.state not in (State.FROZEN, State.SHUFFLING):
            return ()
        if kept.delivery_state.phase in ENDS:
            return self._on_ended(ShuffleEnded(kept.delivery_state, "it was given up before a restart"))
        # One that is sending has nothing left to shuffle.
        laid: Effects = () if kept.delivery_state.phase is Phase.SENDING else (LayOut(),)
        return (*laid, SetState(State.FROZEN, State.SHUFFLING), Shuffle())

    def _on_abort(self) -> Effects:
        if self.state in OVER:
            return ()
        if self.state is State.DELIVERED:
            raise Closed("collection.delivered", "the output was delivered: there is nothing left to abort")
        self.doom = self.doom or ORDERED
        return (Interrupt(ORDERED),)

    def _on_close(self) -> Effects:
        if self.state is State.DRAFT:
            raise NotYet("collection.not_accepted_yet", "this shuffler's operator has not accepted the collection yet")
        return (SetState(State.OPEN, State.CLOSED),)

    def _on_compared(self, found: Compared) -> Effects:
        try:
            check_minimum(found.count, found.dummies, self._document.minimum)
        except Refused as too_few:
            self.doom = str(too_few)
            return ()
        return (Fix(),)

    def _on_ended(self, ended: ShuffleEnded) -> Effects:
        """Let the state follow the delivery state in which the shuffle ended."""
        if ended.delivery_state.phase is Phase.DONE:
            return (SetState(State.SHUFFLING, State.DELIVERED),)
        self.doom = ended.reason or f"the shuffle ended as {ended.delivery_state.phase.value}"
        return ()

    def _on_failed(self, failed: Failed) -> Effects:
        self._failed = True
        if self._failure is not None:  # the store cannot be asked now: nothing is concluded
            self._failure = None
            return self._pause(failed.error)
        error = failed.error
        known = isinstance(error, PeosError)
        self.stalled = str(error) if known else f"a step failed ({type(error).__name__}): see the log"
        self._failure = failed
        return (Read(),)

    def _judge(self, failed: Failed, delivery_state: DeliveryState, now: float, *, is_further: bool) -> Effects:
        """Try again, or decide that this collection cannot go on; after a look at what is durable."""
        error = failed.error
        is_own = isinstance(error, LocalFault) or not isinstance(error, PeosError)
        self._faults = self._faults + 1 if is_own and not is_further else 0
        if is_further:
            return ()
        if not self.doom and self._is_hopeless(failed, delivery_state, now):
            self.doom, self._has_proof = self.stalled, failed.proof
        return self._pause(error)

    def _is_hopeless(self, failed: Failed, delivery_state: DeliveryState, now: float) -> bool:
        if self.state is State.CLOSED:
            return failed.is_broken or isinstance(failed.error, Closed)  # that another has ended it is final too
        if self.state not in (State.FROZEN, State.SHUFFLING):
            return False
        if delivery_state.phase is Phase.SENDING:  # irrevocable: it goes on once the store does
            return False
        return self._faults >= FAULTS or now >= self._document.shuffle_by

    def _pause(self, error: Exception) -> Effects:
        soon = isinstance(error, NotYet) and self.state is State.CLOSED
        return (Pause(self._retry / 4 if soon else self._retry),)

    def _end(self, kept: Durable) -> Effects:
        """End it, durably; a delivery state that may still send ends without a tombstone, any other with one.

        The delivery state comes before the state: from then on nothing reminds a restart to make it durable.
        """
        if kept.delivery_state.phase is Phase.DONE and not kept.lost:  # nothing to end: it is delivered
            return (SetState(self.state, State.DELIVERED),)
        proof: Effects = (NoteEvidence(),) if self._has_proof else ()
        return (*proof, *self._last_standing(kept), SetState(self.state, State.ABORTED, self.doom[:_REASON]))

    def _last_standing(self, kept: Durable) -> Effects:
        """What is persisted and signed at the end: nothing before the freeze, or if the store was lost."""
        if kept.frozen is None or kept.lost:
            return ()
        schedule = self._document.schedule
        after, effects = Delivery(self._number, schedule, kept.delivery_state).on(Expired())
        persists: Effects = tuple(effect for effect in effects if isinstance(effect, Persist))
        if after.delivery_state.phase is not Phase.DEAD:
            return persists
        others = tuple(who for who in range(1, schedule.shufflers + 1) if who != self._number)
        tombstone = Notice(NoticeKind.TOMBSTONE, self._number, after.delivery_state.attempt)
        return (*persists, Notify(tombstone, others))

    def _moved(self, state: State, reason: str) -> None:
        self.state, self.reason, self.stalled = state, reason, ""
        if state in (State.DELIVERED, *OVER):
            self.doom = ""


def last_words(number: int, schedule: Schedule, kept: Durable, context: Context, notice: Notice) -> tuple[Notify, ...]:
    """What a shuffler that has ended says to one that still asks; a store that was lost may have said otherwise."""
    if kept.lost:
        raise Closed("collection.lost", f"the collection has ended here: {LOST}")
    delivery_state = kept.delivery_state
    if kept.frozen is None:
        # Aborted before it was frozen here: of whatever list the others froze, nothing will ever be delivered.
        delivery_state = DeliveryState(Phase.DEAD)
    elif kept.frozen != context.frozen:
        raise Refused("freeze.notice_other", "the notice is about another frozen list")
    _, effects = Delivery(number, schedule, delivery_state).on(Heard(notice))
    if any(isinstance(effect, Persist) for effect in effects):
        return ()  # what would have to be durable first is not said any more
    return tuple(effect for effect in effects if isinstance(effect, Notify))
