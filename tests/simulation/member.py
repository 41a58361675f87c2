"""One shuffler with a whole collection: the real machine of its life, and within it the shuffle as `party` runs it.

It takes submissions in, freezes with the others by pulling what they hold, shuffles, delivers, takes part in the
inspection and erases. Each change of what is durable is one write, and may fail before or behind it.
"""

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from peos.collection import session as life
from peos.collection.freeze import Announcements, Freeze, FrozenDigest, Stretch
from peos.collection.lifecycle import OVER, State
from peos.collection.replies import Status
from peos.crypto.kdf import Context
from peos.errors import Closed, LocalFault, NotYet, PeosError
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.shuffle.effects import Deadline, Event, Expired, Heard, Notify, Persist, Receipt
from peos.shuffle.messages import Header, Statement
from peos.shuffle.vectors import Vector
from tests.simulation.messages import Acknowledged, Answer, Ask, Life, Shown, Submit
from tests.simulation.operations import ANALYZER, Cut, Faulty, Torn
from tests.simulation.party import TICK, CarriedVector, Party, Taken
from tests.simulation.watch import ENDS, words

if TYPE_CHECKING:
    from tests.simulation.whole import Whole

PATIENCE: Final = 40  # ticks in which the inspection must be over
_LASTING: Final = (life.Wait, life.Pause, life.Freeze, life.Fix, life.Shuffle, life.Inspect)
_DURABLE: Final = (life.SetState, life.Fix, life.Erase, life.ForgetEvidence, Persist)


class Shuffling(Party):
    """The shuffle within a member's life."""

    def __init__(self, member: "Member", durable: Life) -> None:
        self._member = member
        self._durable_life = durable
        super().__init__(member.number, member.world, durable, lives=member.lives - 1)

    def kill(self, down: int | None, why: str) -> None:
        """The whole process is killed."""
        self._member.kill(down, why)

    def persist(self, delivery_state: DeliveryState, vector: Vector | None, reason: str) -> None:
        """Make a delivery state durable; what an inspection may ask for is kept before anything is said of it."""
        if delivery_state.phase in (Phase.STORED, Phase.SENDING):
            self._durable_life.evidence = delivery_state.attempt
        super().persist(delivery_state, vector, reason)


class Member:
    """Shuffler `number` of a whole world."""

    session_type: type[life.Session] = life.Session

    def __init__(self, number: int, world: "Whole", durable: Life) -> None:
        self.number = number
        self.durable = durable
        self.gone = False
        self.world = world
        self.lives = 0
        self._up = False
        self.start()

    # The process.

    def start(self) -> None:
        """The process comes up, with what is durable."""
        if self._up or self.gone:
            return
        self._up = True
        self.lives += 1
        self.shuffle: Shuffling | None = None
        self.session = self.session_type(self.number, self.world.terms, self._known(), retry=TICK)
        self._queue: deque[life.Effect] = deque()
        self._busy: life.Effect | None = None
        self._freeze: Freeze | None = None
        self._rest = 0
        self._tries: list[Faulty] = []
        self._fuse: Cut | Torn | None = None
        self._burnt = 0
        self._owed: set[int] = set()  # who waits for the answer to an order to abort
        self._ordered = False
        self._inspecting = 0  # since when
        if self.lives > 1:
            self.world.note(self.number, f"comes back, {self.durable.state}")
            self.world.watch.reached[f"killed while {self.durable.state}"] += 1
        self.world.after(TICK, self._alive(self.tick))

    def kill(self, down: int | None, why: str) -> None:
        """The process is gone with all that was in memory, and comes back `down` ticks later, or never."""
        self.gone = self.gone or down is None
        if not self._up:
            return
        self.world.note(self.number, f"is killed {why}")
        self._up = False
        if self.shuffle is not None:
            self.shuffle.machine = None
        if down is not None:
            self.world.after(max(down, 1), self.start)
            self.world.disturbed(down)

    def arm(self, fuse: Cut | Torn) -> None:
        """The next effects may be its last."""
        if self.shuffle is not None:
            self.shuffle.arm(fuse)
        elif self._up:
            self._fuse, self._burnt = fuse, 0

    def fail(self, faulty: Faulty) -> None:
        """The next changes of the store fail."""
        if self._up:
            self._tries += [faulty] * faulty.times

    def feed(self, event: Event) -> None:
        """A clock jumps, in the midst of a shuffle."""
        if self.shuffle is not None and not (isinstance(event, Deadline) and self.durable.delivery_state.phase in ENDS):
            self.shuffle.feed(event)

    def _alive(self, then: Any) -> Any:
        life_ = self.lives

        def run() -> None:
            if self._up and self.lives == life_:
                then()

        return run

    def tick(self) -> None:
        """Time passes: go on with what is under way, or begin the next step."""
        if self.session.state in OVER and self._busy is None and not self._queue and self.is_cleared:
            for who in self._owed:
                self._say(who, Answer("abort", None))
            self._owed.clear()
            return  # until another party asks
        self.world.after(TICK, self._alive(self.tick))
        self._look()
        self.advance()

    @property
    def is_cleared(self) -> bool:
        """Whether all is erased that must be at an end."""
        kept = self.durable
        return kept.shares is None and kept.vector is None and not kept.fake_seed and not kept.evidence

    def advance(self) -> None:
        """Carry effects out until one takes time; the next step begins with the next tick."""
        if self._busy is None and not self._queue:
            self._queue.extend(self.session.on(life.Clock(self.world.clock(self.number))))
        life_ = self.lives
        while self._up and self.lives == life_ and self._queue and self._busy is None:
            effect = self._queue.popleft()
            if self._burns(effect, before=True):
                return
            try:
                event = self._one(effect)
            except PeosError as error:
                self._failed(error)
                return
            if self._burns(effect, before=False):
                return
            if event is not None:
                self._queue.extendleft(reversed(self.session.on(event)))

    def _ended(self, event: life.Event) -> None:
        """What took time is over."""
        self._busy = None
        self._queue.extendleft(reversed(self.session.on(event)))
        self.advance()

    def _failed(self, error: PeosError) -> None:
        broken = self._freeze is not None and bool(self._freeze.evidence)
        self._busy = None
        self._queue.clear()
        self._queue.extend(self.session.on(life.Failed(error, broken, broken)))
        self.world.note(self.number, f"cannot go on: {error}")

    def _burns(self, effect: life.Effect, *, before: bool) -> bool:
        """Whether the process dies here, before or after an effect."""
        fuse = self._fuse
        match fuse:
            case Cut() if before and self._burnt >= fuse.after:
                pass
            case Torn() if isinstance(effect, _DURABLE) and self._burnt + 1 >= fuse.nth and before != fuse.durable:
                pass
            case _:
                self._burnt += not before and (isinstance(fuse, Cut) or isinstance(effect, _DURABLE))
                return False
        self._fuse = None
        where = f"{'before' if before else 'after'} {type(effect).__name__}"
        self.world.watch.reached[f"killed {where}"] += 1
        self.kill(fuse.down, where)
        return True

    # What the machine asks for.

    def _known(self) -> life.Durable:
        kept = self.durable
        return life.Durable(kept.state, kept.why, kept.delivery_state, kept.frozen)

    def _change(self, change: Any) -> None:
        """One write, which may fail before it or behind it."""
        faulty = self._tries.pop() if self._tries else None
        if faulty is None or faulty.behind:
            change()
        if faulty is not None:
            self.world.disturbed(5 * TICK)
            self.world.watch.reached[f"a change that failed {'behind' if faulty.behind else 'before'} it"] += 1
            raise LocalFault("test.store", "the store failed")

    def _one(self, effect: life.Effect) -> life.Event | None:
        self.world.note(self.number, f"  {effect}")
        if isinstance(effect, _LASTING):
            self._busy = effect
        match effect:
            case life.Read():
                return life.Known(self._known(), self.world.clock(self.number))
            case life.SetState(here, there, reason) if self.session.state is here:
                self._set_state(here, there, reason)
                return life.Moved(there, reason)
            case life.Pause(seconds):
                self._rest = self.world.now + int(seconds)
            case life.Freeze():
                self.world.watch.goes_on(self.number, self._ordered)
                if self._freeze is None:
                    rows = sorted(self.durable.rows.values())
                    self.world.watch.announces(self.number, tuple(rows))
                    world = self.world
                    self._freeze = Freeze(
                        self.number, world.identities, world.collection, rows, world.keys[self.number]
                    )
            case life.LayOut():
                pass  # it is laid out as the shuffle starts
            case life.Shuffle():
                self._begin_shuffle()
            case life.Inspect():
                self._inspecting = self.world.now
            case life.ForgetEvidence():
                self._change(lambda: setattr(self.durable, "evidence", 0))
            case life.Erase():
                self._change(self._erase)
            case Persist(delivery_state):
                self._change(lambda: self._put_standing(delivery_state))
            case Notify(notice, receivers):
                self.world.watch.tells(self.number, notice)
                for receiver in receivers:
                    self._say(receiver, Heard(notice))
            case life.Interrupt(reason):
                self._interrupt(reason)
            case _:
                pass
        return None

    def _set_state(self, here: State, there: State, reason: str) -> None:
        def change() -> None:
            self.world.watch.moves(self.number, here, there, self.durable)
            self.durable.state, self.durable.why = there, reason

        self._change(change)

    def _put_standing(self, delivery_state: DeliveryState) -> None:
        self.world.watch.persisted(self.number, delivery_state, None, Deadline())
        self.durable.delivery_state = delivery_state
        self.durable.reason = self.durable.reason or self.session.doom

    def _erase(self) -> None:
        kept = self.durable
        self.world.watch.erases_at(self.number, kept.state)
        kept.shares, kept.vector, kept.fake_seed = None, None, b""
        kept.parts = {}

    def _interrupt(self, reason: str) -> None:
        if self.shuffle is not None:
            self.durable.reason = self.durable.reason or reason
            self.shuffle.feed(Expired())
            self._look()
        else:
            self._queue.clear()
            self._busy = None

    # The freeze: what others hold is pulled, and asked for again.

    def _look(self) -> None:
        """Go on with what takes time."""
        match self._busy:
            case life.Wait(until) if self.world.clock(self.number) >= until or self.session.state is not State.OPEN:
                self._busy = None
            case life.Pause() if self.world.now >= self._rest:
                self._busy = None
            case life.Freeze() | life.Fix():
                self._pull()
            case life.Shuffle() if self.shuffle is not None and self.durable.delivery_state.phase in ENDS:
                ended, self.shuffle = self.shuffle, None
                ended.machine = None
                self._ended(life.ShuffleEnded(self.durable.delivery_state, self.durable.reason))
            case life.Inspect():
                self._say(ANALYZER, Shown(self.durable.evidence))
                if self.world.now - self._inspecting >= PATIENCE:
                    self._ended(life.Inspected())

    def _pull(self, *, ask: bool = True) -> None:
        """Ask for what is missing, and go on once nothing is."""
        freeze = self._freeze
        assert freeze is not None, "a freeze is under way"
        if self.world.clock(self.number) >= self.world.terms.shuffle_by:
            self._failed(NotYet("test.late", "the others are not there"))
            return
        if isinstance(self._busy, life.Freeze):
            for who in freeze.uncompared if ask else ():
                self._say(who, Ask("announcements"))
            for who in freeze.unshown if ask and not freeze.uncompared else ():
                self._say(who, Ask("list"))
            if not freeze.unshown:
                self._ended(life.Compared(len(freeze.rows), len(self.world.terms.dummies)))
            return
        try:
            context = freeze.context
        except PeosError:
            freeze.sign()
            for who in self.world.others(self.number) if ask else ():
                self._say(who, Ask("digest"))
            return
        self._put_frozen(freeze, context)

    def _put_frozen(self, freeze: Freeze, context: Context) -> None:
        def change() -> None:
            self.world.watch.freezes(self.number, context.frozen, freeze.rows)
            self.durable.state, self.durable.frozen = State.FROZEN, context.frozen
            self.durable.counted, self.durable.announced = freeze.rows, freeze.announcements
            self.world.froze(self.number, self.durable)

        try:
            self._change(change)
        except PeosError as error:
            self._failed(error)
        else:
            self._ended(life.Moved(State.FROZEN))

    def _shows(self, what: str) -> Any:
        """What this shuffler shows of its freeze, as the freeze allows."""
        kept, freeze = self.durable, self._freeze
        if kept.frozen is not None:
            if kept.state is State.ABORTED and what != "announcements":
                raise Closed("test.ended", kept.why)
            signed = self.world.sign_frozen(self.number, kept.frozen)
            return {"announcements": kept.announced, "list": sorted(kept.rows.values()), "digest": signed}[what]
        if freeze is None or kept.state is State.ABORTED:
            if kept.state is State.ABORTED:
                raise Closed("test.ended", kept.why)
            raise NotYet("test.early", "it is not closed here")
        if what == "announcements":
            return freeze.announcements
        if what == "list":
            if not freeze.may_show_list:
                raise NotYet("test.early", "not all announcements are compared")
            return sorted(kept.rows.values())
        if not isinstance(self._busy, life.Fix):
            raise NotYet("test.early", "it is not signed")
        return freeze.sign()

    # The shuffle.

    def _begin_shuffle(self) -> None:
        """After a restart the shuffle sees a deadline that passed meanwhile, and then that it was restarted."""
        self.shuffle = Shuffling(self, self.durable)
        self._look()

    # What comes in.

    def hear(self, sender: int, what: object) -> None:
        """A message arrived."""
        if not self._up:
            return
        match what:
            case Submit():
                self._take(sender, what)
            case Ask("status"):
                reason = self.durable.why
                self._say(sender, Answer("status", Status(self.world.collection, self.durable.state, reason=reason)))
            case Ask("close" | "abort"):
                self._obey(sender, what.what == "abort")
            case Ask(asked):
                try:
                    self._say(sender, Answer(asked, self._shows(asked)))
                except PeosError as error:
                    self._say(sender, Answer(asked, error))
            case Answer():
                self._understand(sender, what)
            case Taken() if isinstance(self._busy, life.Inspect):
                self._ended(life.Inspected())
            case Heard(notice) if self.shuffle is None:
                if self.session.state in (State.DELIVERED, *OVER) and self.durable.frozen is not None:
                    here = Context(self.world.collection, self.durable.frozen)
                    for said in life.last_words(self.number, self.world.schedule, self._known(), here, notice):
                        self._one(said)
            case Statement() | CarriedVector() | Header() | Heard() | Receipt() | Taken() if self.shuffle is not None:
                self.shuffle.hear(sender, what)
                self._look()

    def _take(self, sender: int, part: Submit) -> None:
        """A user's part: acknowledged once it is durable, and refused after the closing."""
        known = self.durable.rows.get(part.row[:16])
        if known is None and self.takes:
            self.keep(part)
            known = part.row
        if known is None:
            self._say(sender, Acknowledged(part.row, refused=True))
        elif known == part.row:
            self.world.watch.acknowledges(self.number, part.row, self.durable.rows)
            self._say(sender, Acknowledged(part.row))

    @property
    def takes(self) -> bool:
        """Whether submissions are taken in."""
        return self.durable.state is State.OPEN and self.world.clock(self.number) < self.world.terms.closes_at

    def keep(self, part: Submit) -> None:
        """Make a part durable."""
        self.durable.rows[part.row[:16]] = part.row
        self.durable.parts[part.row] = part.share

    def _obey(self, sender: int, abort: bool) -> None:
        try:
            effects = self.session.on(life.Ordered(abort))
        except PeosError as error:
            self._say(sender, Answer("abort" if abort else "close", error))
            return
        if abort:
            self._ordered = self._ordered or bool(effects)
            self._owed.add(sender)
        for effect in effects:
            try:
                event = self._one(effect)
            except PeosError:
                return  # it is not answered, and so given again
            if event is not None:
                self.session.on(event)
        if not abort:
            self._say(sender, Answer("close", None))
        elif not effects:
            self._say(sender, Answer("abort", None))
            self._owed.discard(sender)

    def _understand(self, sender: int, answer: Answer) -> None:
        freeze, found = self._freeze, answer.found
        if freeze is None or not isinstance(self._busy, life.Freeze | life.Fix):
            return
        if isinstance(found, PeosError):
            if isinstance(found, Closed):
                self._failed(found)
            return
        try:
            if isinstance(found, Announcements):
                freeze.heard(sender, found.held)
            elif isinstance(found, FrozenDigest):
                freeze.confirmed(sender, found.digest, found.signature)
            elif sender in freeze.unshown and not freeze.uncompared:
                stretch = Stretch(self.world.collection, len(found), 0, tuple(found))
                listing = freeze.listing(sender)
                listing.feed(stretch.rows)
                listing.finish()
        except PeosError as error:
            self._failed(error)
        else:
            self._pull(ask=False)

    def _say(self, receiver: int, what: object) -> None:
        self.world.send(self.number, receiver, what)

    def told(self) -> str:
        """Where it stands, in words."""
        return f"{self.durable.state}, {words(self.durable.delivery_state)}"
