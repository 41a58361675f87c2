"""Users and the analyzer of a whole world, around the real rules of both: made-up processes that can be killed."""

from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar, Final

from peos.client.consent import Consent
from peos.client.ledger import Ledger, charge, charge_of
from peos.collection import analysis, publication
from peos.collection.delivery_rules import judge_delivery, output
from peos.collection.document import MechanismChoice
from peos.collection.dummies import LEAST_SENT
from peos.collection.lifecycle import OVER, State, way
from peos.collection.replies import Status
from peos.collection.submission import Verdict
from peos.collection.ticket import PLACES, StudyPart
from peos.crypto.kdf import Context
from peos.errors import PeosError, Refused, RemoteFault
from peos.ldp.grouped_hash import GroupedHash
from peos.shuffle.effects import Receipt
from peos.shuffle.messages import Header, Kind, Step, VectorHeader
from peos.shuffle.vectors import Vector
from peos.tasks.text_views import PrefixView
from tests.simulation.messages import Acknowledged, Answer, Ask, Shown, Submit
from tests.simulation.operations import ANALYZER
from tests.simulation.party import TICK, Delivered, IsThereAReceipt, Taken
from tests.unit.collection.made import COLLECTION, DOCUMENT, ENCRYPTION

if TYPE_CHECKING:
    from tests.simulation.whole import Whole

_ROUND: Final = replace(
    DOCUMENT,
    choice=MechanismChoice.of(GroupedHash([1, 2], 2.0, 4)),
    views=(PrefixView(0, 8, 16).describe(), PrefixView(8, 16, 16).describe()),
    study=StudyPart(b"s" * 32, 1, 0, PLACES),
)
PATIENCE: Final = 60  # ticks in which openings are awaited


class User:
    """One user: her report is made once, kept, and sent until every shuffler has acknowledged it."""

    consent: ClassVar[Consent] = Consent(COLLECTION, DOCUMENT, ENCRYPTION, ())

    def __init__(self, number: int, world: "Whole") -> None:
        self.number = number
        self.kept: bytes | None = None  # her row: durable
        self.acknowledged: set[int] = set()  # likewise
        self._world = world
        self._lives = 0
        self._up = False
        self.start()

    @property
    def id(self) -> bytes:
        """The id of her ticket."""
        return sha256(b"user %d" % self.number).digest()[:16]

    def ledger(self) -> Ledger:
        """What she has answered and spent."""
        cost = charge_of(self.consent.document.mechanism.epsilon_local)
        answered = (COLLECTION, self.id) if self.kept is not None else None
        return Ledger(10 * cost, cost if self.kept is not None else 0, answered)

    def start(self) -> None:
        """Her client comes up, and goes on with what is kept."""
        if self._up:
            return
        self._up, self._lives = True, self._lives + 1
        if self.kept is None:
            self.answer(self.id)
        self._again(self._lives)

    def kill(self, down: int) -> None:
        """Her client is killed."""
        self._up = False
        self._world.after(max(down, 1), self.start)
        self._world.disturbed(down)

    def answer(self, ticket: bytes) -> None:
        """Answer, under a ticket; refused by her own client if she has answered before."""
        try:
            charge(self.consent, self.ledger())
        except Refused:
            return
        made = ticket + sha256(b"row %d %d" % (self.number, self._lives) + ticket).digest()
        self._world.watch.makes(self.number, made)
        self.kept = made

    def _again(self, lives: int) -> None:
        if not self._up or lives != self._lives or self.kept is None:
            return
        missing = [who for who in self._world.parties if who not in self.acknowledged]
        for who in missing:
            self._world.send(self.number, who, Submit(self.kept, self._world.place(self.number)))
        if missing and self._world.now < self._world.horizon:
            self._world.after(TICK, lambda: self._again(lives))

    def hear(self, sender: int, what: object) -> None:
        """An acknowledgement, or a refusal for good."""
        if self._up and isinstance(what, Acknowledged) and what.row == self.kept:
            self.acknowledged.add(sender)


class OfAStudy(User):
    """One whose collection is the one round of a study, with a grouped question: that is what she remembers."""

    consent = Consent(COLLECTION, _ROUND, ENCRYPTION, ())

    def ledger(self) -> Ledger:
        """She has answered a round of the study."""
        known = super().ledger()
        return replace(known, answered=None, in_study=None if known.answered is None else (COLLECTION, 1))


@dataclass
class Office:
    """The analyzer: its machine, and what is durable of it."""

    world: "Whole"
    state: State = State.OPEN
    reason: str = ""
    deliveries: list[VectorHeader] = field(default_factory=list)
    vectors: dict[int, Vector | None] = field(default_factory=dict)
    receipt: int = 0  # the attempt
    shown: dict[int, int] = field(default_factory=dict)  # what was opened, by shuffler
    since: int = 0
    orders: dict[int, str] = field(default_factory=dict)  # not carried out yet, by shuffler
    told: dict[int, Status] = field(default_factory=dict)
    asked: int = -1
    is_opened: bool = False
    accepted: set[int] = field(default_factory=set)  # without whose rows the analyst said to publish
    session_type: ClassVar[type[analysis.Session]] = analysis.Session
    publication_type: ClassVar[type[publication.Publication]] = publication.Publication

    def __post_init__(self) -> None:
        self.session = self.session_type(self.world.terms, ask_every=TICK)
        self.publication = self.publication_type(self.world.terms)
        self.world.after(TICK, self.tick)

    def tick(self) -> None:
        """Time passes."""
        if self.state in OVER and not self.vectors and not self.orders:
            return
        self.world.after(TICK, self.tick)
        for who, what in self.orders.items():
            self.world.send(ANALYZER, who, Ask(what))
        if self.asked >= 0:
            self.asked = -1
            silent = RemoteFault("test.silent", "says nothing")
            answers: list[analysis.Answer] = [self.told.get(who, silent) for who in self.world.parties]
            self._carry_out(self.session.on(analysis.Answered(self._durable(), answers)))
        self._carry_out(self.session.on(analysis.Clock(self._durable(), self.world.now)))

    def order(self, *, abort: bool) -> None:
        """The analyst's word."""
        try:
            (analysis.check_abort if abort else analysis.check_close)("it", self.state)
        except PeosError:
            return
        self.world.note(ANALYZER, f"orders to {'abort' if abort else 'close'}")
        self.world.disturbed(2 * TICK)
        self.orders = dict.fromkeys(self.world.parties, "abort" if abort else "close")
        self._move(State.ABORTED if abort else State.CLOSED, "the analyst aborted it" if abort else "", ordered=True)

    def _durable(self) -> analysis.Durable:
        return analysis.Durable(self.state, 0.0, tuple(self.deliveries))

    def _carry_out(self, effects: analysis.Effects) -> None:
        for effect in effects:
            match effect:
                case analysis.SetState(there, reason):
                    self._move(there, reason)
                case analysis.Complete():
                    found = output(self.world.schedule, self.deliveries)
                    assert found is not None, "the machine has seen it"
                    self.receipt = next(iter(found.values())).header.context.attempt
                    self._move(State.DELIVERED, "")
                    self.since = self.world.now
                case analysis.Ask():
                    self.asked, self.told = self.world.now, {}
                    for who in self.world.parties:
                        self.world.send(ANALYZER, who, Ask("status"))
                case analysis.Publish():
                    self._publish()
                case analysis.Clear():
                    self.vectors.clear()
                case _:
                    pass

    def _publish(self) -> None:
        """Publish as the machine says; the analyst gives her word where rows were not seen."""
        event: publication.Event = publication.Clock(self.world.now, self._openings(), self.is_opened)
        while not isinstance(effect := self.publication.on(event), publication.Wait):
            match effect:
                case publication.Open():
                    self.is_opened = True
                    event = publication.Opened(self.world.now, self._openings())
                case publication.Inspect():
                    missing = set(self.world.parties) - self.shown.keys()
                    event = publication.Inspected(missing, LEAST_SENT, LEAST_SENT)
                case publication.Search():
                    event = publication.Searched(self.world.now, self.accepted, self.world.terms.minimum)
                case publication.Publish():
                    self.world.watch.publishes(set(self.world.parties) - self.shown.keys(), self.accepted)
                    self._move(State.PUBLISHED, "")
                    return
                case publication.Refuse(fault):
                    self._move(State.ABORTED, str(fault))
                    return
        self.accepted |= effect.withheld

    def _openings(self) -> publication.Openings:
        parties = self.world.parties
        return publication.Openings(
            frozenset(self.shown), len(parties), self.since + PATIENCE, frozenset(self.accepted)
        )

    def _move(self, there: State, reason: str, *, ordered: bool = False) -> None:
        try:
            passed = way("analyzer", self.state, there)
        except PeosError:
            return
        if passed:
            excused = ordered or self.world.now >= self.world.terms.erase_by
            self.world.watch.concludes(self.state, there, excused=excused)
            self.world.note(ANALYZER, f"is {there}{f': {reason}' if reason else ''}")
            self.state, self.reason = there, reason

    def hear(self, sender: int, what: Any) -> None:
        """A message arrived."""
        match what:
            case Delivered(delivery_state, vector):
                self._take(sender, delivery_state.attempt, delivery_state.transcript, vector)
            case IsThereAReceipt() if self.receipt:
                self.world.send(ANALYZER, sender, Receipt(self.receipt))
            case Answer("status", Status() as status):
                self.told[sender] = status
            case Answer("close" | "abort" as order, found):
                if (found is None and self.orders.get(sender) == order) or (
                    self.orders.get(sender) == order and self.world.is_settled(sender)
                ):
                    del self.orders[sender]
            case Shown(attempt):
                if self.state is State.DELIVERED:
                    self.shown[sender] = attempt
                self.world.send(ANALYZER, sender, Taken())
            case _:
                pass

    def _take(self, sender: int, attempt: int, transcript: bytes, vector: Vector | None) -> None:
        world = self.world
        context = Context(world.collection, world.context.frozen, attempt)
        place = Header(context, Step(len(world.schedule.rounds), Kind.DELIVERY), sender, ANALYZER)
        rows = b"" if vector is None else vector.tobytes()
        header = VectorHeader(place, 1, 8, sha256(rows).digest(), transcript)
        try:
            verdict = judge_delivery(self.deliveries, header)
        except PeosError:
            return
        if verdict is Verdict.STORE and self.state in (State.OPEN, State.CLOSED, State.SHUFFLING):
            world.watch.delivered(sender, (attempt, transcript), vector)
            self.deliveries.append(header)
            self.vectors[sender] = vector
            world.note(ANALYZER, f"has the vector of attempt {attempt} from {sender}")
        elif verdict is Verdict.STORE:
            return  # it has ended here
        world.send(ANALYZER, sender, Taken())
