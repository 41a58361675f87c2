"""A whole collection in memory: users, shufflers and analyzer through the same code and the same encodings.

    result = run_collection(values, mechanism=GRR(64, 4.0), shufflers=3, fakes=100)
    result.estimate.frequency

Every message is encoded by its sender and decoded by its receiver, and counted. `Simulation` holds the parties, so
that a test can look at one of them, or put a deviating one in its place.
"""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from peos.collection.document import (
    ID_BYTES,
    MIN_DUMMIES,
    Document,
    Dummy,
    MechanismChoice,
    Member,
)
from peos.collection.freeze import Announcement, Freeze, FrozenDigest, check_minimum
from peos.collection.prepare import Ticket, prepare
from peos.collection.submission import Acknowledgement, Part, Triple, Verdict, check_part, judge
from peos.collection.ticket import mint
from peos.crypto.identity import Identity
from peos.crypto.kdf import Context
from peos.crypto.randomness import U64, Randomness, system
from peos.crypto.schemes import scheme as scheme_named
from peos.crypto.schemes.base import KEY_BITS_FLOOR, PrivateKey
from peos.errors import RemoteFault, WrongInput
from peos.estimate.frequency import Estimate
from peos.ldp.base import Mechanism
from peos.privacy.guarantees import Guarantees, guarantees
from peos.shuffle import analyzer, fakes
from peos.shuffle.effects import (
    Discard,
    Done,
    Effect,
    Erase,
    Event,
    Heard,
    Mix,
    Output,
    Pass,
    Persist,
    Receipt,
    Received,
    ReceivedVector,
    Report,
    Send,
    SendVector,
    Split,
    Tell,
    Tick,
)
from peos.shuffle.messages import Header, Kind, SignedNotice, SignedReceipt, Step
from peos.shuffle.schedule import Schedule
from peos.shuffle.shuffler import Shuffler
from peos.shuffle.standing import Standing
from peos.shuffle.vectors import Vector, Workbench, as_rows, as_words
from peos.wire import documents, freezes, shuffles, submissions

ANALYZER: Final = 0
USERS: Final = -1
_DAY: Final = 86_400
_EPOCH: Final = 1_000_000_000  # a simulation has no clock: its deadlines only have to be in order


class Rpc(Enum):
    """What a message is; on a real wire the name of the call says it."""

    WORD = "word"
    VECTOR = "vector"
    NOTICE = "notice"
    RECEIPT = "receipt"


@dataclass(frozen=True)
class Message:
    """Encoded bytes under way from one party to another."""

    sender: int
    receiver: int
    rpc: Rpc
    encoded: Sequence[bytes] = field(repr=False)


@dataclass
class Traffic:
    """What was sent, by sender (0 the analyzer, −1 the users): bytes, messages, and whole vectors by kind."""

    sent: Counter[int] = field(default_factory=Counter)
    messages: Counter[int] = field(default_factory=Counter)
    vectors: Counter[Kind] = field(default_factory=Counter)

    def count(self, sender: int, encoded: Sequence[bytes]) -> None:
        """Note messages as they leave."""
        self.sent[sender] += sum(map(len, encoded))
        self.messages[sender] += len(encoded)


@dataclass(frozen=True, eq=False)
class Collected:
    """What came out of a collection."""

    estimate: Estimate
    guarantees: Guarantees
    digest: bytes
    users: int  # counted
    dropped: int  # submitted, not counted
    fakes: int
    reports: U64  # as the analyzer sees them: shuffled, fakes among them, dummies taken out
    traffic: Traffic
    rounds: int
    passes: int


class Node:
    """One shuffler: its store of submissions, its side of the freeze, its machine and its vectors."""

    shuffler_type = Shuffler
    workbench_type = Workbench

    def __init__(self, number: int, signed: bytes, identity: Identity, rng: Randomness, *, floor: int) -> None:
        self.number = number
        self.identity = identity
        self.rng = rng
        self.signed = documents.decode_signed_document(signed, floor=floor)
        self.document = self.signed.document
        self.public = self.document.encryption_key(floor=floor)
        self.fake_seed = rng.bytes(32)
        self.parts: dict[bytes, tuple[Triple, Part]] = {}  # by ticket
        self.standing = Standing()
        self.durable: Vector | None = None  # the final vector, once stored
        self.reports: list[str] = []
        self.passes = 0

    def submit(self, encoded: bytes) -> bytes:
        """Take in a user's part; the acknowledgement, or RemoteFault."""
        part = submissions.decode_part(encoded)
        triple = check_part(part, self.document, self.signed.digest, self.public, self.number)
        stored = self.parts.get(part.ticket)
        if judge(stored[0] if stored else None, triple) is Verdict.CONFLICT:
            raise RemoteFault("another submission was made under this ticket", party="user", step="submission")
        self.parts[part.ticket] = (triple, part)
        acknowledgement = Acknowledgement(self.signed.digest, triple.id, triple.digest)
        return submissions.encode_acknowledgement(acknowledgement)

    def start_freeze(self) -> Freeze:
        """This shuffler's list, against the others'."""
        identities = tuple(member.identity for member in self.document.shufflers)
        own = [triple for triple, _ in self.parts.values()]
        return Freeze(self.number, identities, self.signed.digest, own)

    def begin(self, triples: Sequence[Triple], context: Context) -> None:
        """Lay out the frozen vectors, fakes last, and wait for the first attempt to be opened."""
        document, words = self.document, self.document.mechanism.words
        self.context = context
        self.rows = len(triples) + document.fakes
        self.machine = self.shuffler_type(self.number, document.schedule, context, self.rng)
        self.bench = self.workbench_type(self.rows, words, self.public, self.rng)
        shares = b"".join(self.parts[triple.ticket][1].share for triple in triples)
        rows = np.frombuffer(shares, np.uint8).reshape(len(triples), -1)
        self.bench.lay_out(self.number, rows, self.fake_shares(self.fake_seed))

    def fake_shares(self, seed: bytes) -> U64:
        """This shuffler's shares of the fakes."""
        return fakes.fake_shares(seed, self.context, self.document.fakes, self.document.mechanism.words)

    def identity_of(self, number: int) -> bytes:
        """The identity key of a shuffler."""
        return self.document.shufflers[number - 1].identity

    def read_vector(self, messages: Sequence[bytes]) -> Event | None:
        """Take in a vector from another shuffler; nothing is to be done about one that is here already."""
        header, rows = shuffles.decode_vector(messages)
        handle = self.bench.expect(header)
        if handle is None:
            return None
        self.bench.take_in(handle, header, rows)
        return ReceivedVector(header.header, handle)


class Simulation:
    """All parties of one collection, and the wires between them."""

    node_type: type[Node] = Node

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        shufflers: int = 3,
        scheme: str = "paillier",
        fakes: int = 0,
        minimum: int = 1,
        dummies: int = MIN_DUMMIES,
        delta: float = 1e-6,
        rng: Randomness | None = None,
        key: PrivateKey | None = None,
    ) -> None:
        Schedule(shufflers)
        self.rng = rng or system()
        self.traffic = Traffic()
        self.key = key or scheme_named(scheme).generate(self.rng)
        self.floor = self.key.public.bits if key else KEY_BITS_FLOOR  # a key that the caller brings is the caller's
        self.analyzer = Identity.generate(self.rng)
        self.enrolment = Identity.generate(self.rng)
        self.dummies = [
            Dummy(self.rng.bytes(32), self.rng.bytes(ID_BYTES), self.rng.uint64(mechanism.words))
            for _ in range(dummies)
        ]
        identities = [Identity.generate(self.rng) for _ in range(shufflers)]
        question = mechanism.question
        if question.analyzer not in (b"", self.analyzer.public):
            raise WrongInput("the mechanism is salted for another analyzer", hint="leave its question's analyzer empty")
        self.document = Document(
            question=question.question or "simulation",
            epoch=question.epoch,
            choice=MechanismChoice.of(mechanism),
            scheme=self.key.public.scheme,
            public_key=self.key.public.encode(),
            shufflers=tuple(self._member(f"shuffler {n}", one) for n, one in enumerate(identities, start=1)),
            analyzer=self._member("analyzer", self.analyzer),
            fakes=fakes,
            minimum=minimum,
            delta=delta,
            enrolment_key=self.enrolment.public,
            dummies=tuple(dummy.commitment for dummy in self.dummies),
            closes_at=_EPOCH,
            shuffle_by=_EPOCH + _DAY,
            erase_by=_EPOCH + 2 * _DAY,
        )
        self.signed = documents.sign_document(self.document, self.analyzer)
        self.digest = documents.decode_signed_document(self.signed, floor=self.floor).digest
        self.mechanism = self.document.mechanism  # salted with this collection's question
        self.nodes = [
            self.node_type(n, self.signed, one, Randomness(self.rng.bytes(32)), floor=self.floor)
            for n, one in enumerate(identities, start=1)
        ]
        self.delivered: dict[int, analyzer.Part] = {}
        self._queue: deque[Message | tuple[Node, Done]] = deque()

    def run(self, values: ArrayLike) -> Collected:
        """The whole collection."""
        given = np.asarray(values)
        self.submit(self.mechanism.randomize(given, self.rng))
        self.freeze()
        self.shuffle()
        return self.publish(submitted=len(given))

    # Submit.

    def submit(self, reports: U64) -> None:
        """Users (and the analyzer, with its dummies) split, encrypt and send their reports."""
        owned = np.stack([dummy.words for dummy in self.dummies])
        ids = [self.rng.bytes(ID_BYTES) for _ in range(len(reports))] + [dummy.id for dummy in self.dummies]
        for parts in self.parts_of(np.concatenate((reports, owned)), ids):
            for part in parts:
                encoded = submissions.encode_part(part)
                self.traffic.count(USERS, [encoded])
                self.nodes[part.shuffler - 1].submit(encoded)

    def parts_of(self, reports: U64, ids: Sequence[bytes]) -> list[tuple[Part, ...]]:
        """Each report's parts, ready to send."""
        tickets = [Ticket(id_, mint(self.enrolment, self.digest, id_)) for id_ in ids]
        public = self.key.public
        zeros = public.zero_source(self.rng, expected=reports.size)
        return prepare(self.digest, len(self.nodes), public, zeros, reports, tickets, self.rng)

    # Freeze.

    def freeze(self) -> None:
        """All pairs of shufflers agree on what counts."""
        freezing = {node.number: node.start_freeze() for node in self.nodes}
        for sender, receiver in self._pairs():
            encoded = freezes.encode_announcement(Announcement(self.digest, freezing[sender].announcement))
            self.traffic.count(sender, [encoded])
            freezing[receiver].announced(sender, freezes.decode_announcement(encoded).hash)
        for sender, receiver in self._pairs():
            own = tuple(sorted(triple for triple, _ in self.nodes[sender - 1].parts.values()))
            encoded_list = [freezes.encode_stretch(stretch) for stretch in freezes.stretches(self.digest, own)]
            self.traffic.count(sender, encoded_list)
            shown = [triple for data in encoded_list for triple in freezes.decode_stretch(data).triples]
            freezing[receiver].listed(sender, shown)
        for sender, receiver in self._pairs():
            here = freezing[sender]
            statement = FrozenDigest(self.digest, here.digest, here.sign(self.nodes[sender - 1].identity))
            encoded = freezes.encode_frozen_digest(statement)
            self.traffic.count(sender, [encoded])
            said = freezes.decode_frozen_digest(encoded)
            freezing[receiver].confirmed(sender, said.digest, said.signature)
        for node in self.nodes:
            triples = freezing[node.number].triples
            check_minimum(len(triples), len(self.dummies), self.document.minimum)
            node.begin(triples, freezing[node.number].context)

    # Shuffle.

    def shuffle(self) -> None:
        """Drive the machines until all is delivered and erased, or nothing moves any more."""
        for node in self.nodes:
            self.feed(node, Tick())
        while self._queue:
            message = self._queue.popleft()
            if isinstance(message, tuple):
                self.feed(*message)
            elif message.receiver == ANALYZER:
                self._collect(message.sender, message.encoded)
            else:
                node = self.nodes[message.receiver - 1]
                event = self.read(node, message.sender, message.rpc, message.encoded)
                if event is not None:
                    self.feed(node, event)

    def feed(self, node: Node, event: Event) -> None:
        """Give a machine an event and carry out what it asks."""
        for effect in node.machine.handle(event):
            self.carry_out(node, effect)

    def carry_out(self, node: Node, effect: Effect) -> None:
        """Do what a machine asks, in memory."""
        match effect:
            case Send(word):
                self._post(node.number, word.header.receiver, Rpc.WORD, [shuffles.encode_word(word)])
            case SendVector(header, handle):
                self._post_vector(node, header, node.bench.vectors[handle])
            case Tell(notice, receivers):
                signed = SignedNotice.sign(node.identity, node.context, notice)
                for receiver in receivers:
                    self._post(node.number, receiver, Rpc.NOTICE, [shuffles.encode_notice(signed)])
            case Persist(standing, vector):
                node.standing = standing
                node.durable = node.bench.vectors[vector] if vector else node.durable
            case Split() | Mix() | Pass():
                node.passes += isinstance(effect, Pass)
                done = Done(node.machine.standing.attempt, effect.task, node.bench.work(effect))
                self._queue.append((node, done))
            case Output(standing):
                self._deliver(node, standing)
            case Discard(attempt):
                node.bench.discard(attempt)
            case Erase():
                node.parts.clear()
                node.bench.vectors.clear()
                node.durable = None
            case Report(sentence):
                node.reports.append(sentence)

    def _deliver(self, node: Node, standing: Standing) -> None:
        assert node.durable is not None, "what is sent was stored"
        context = Context(node.context.collection, node.context.frozen, standing.attempt)
        header = Header(context, Step(len(node.document.schedule.rounds), Kind.DELIVERY), node.number, ANALYZER)
        self._post_vector(node, header, node.durable, transcript=standing.transcript)

    def _post_vector(self, node: Node, header: Header, vector: Vector, *, transcript: bytes = b"") -> None:
        self.traffic.vectors[header.step.kind] += 1
        messages = list(shuffles.encode_vector(header, as_rows(vector), transcript=transcript))
        self._post(node.number, header.receiver, Rpc.VECTOR, messages)

    def _post(self, sender: int, receiver: int, rpc: Rpc, messages: Sequence[bytes]) -> None:
        self.traffic.count(sender, messages)
        self._queue.append(Message(sender, receiver, rpc, messages))

    def read(self, node: Node, sender: int, what: Rpc, messages: Sequence[bytes]) -> Event | None:
        """The event that arriving bytes are; a real caller knows the sender by its certificate."""
        match what:
            case Rpc.VECTOR:
                return node.read_vector(messages)
            case Rpc.WORD:
                return Received(shuffles.decode_word(messages[0]))
            case Rpc.NOTICE:
                signed = shuffles.decode_notice(messages[0])
                if signed.context != node.context or not signed.verifies(node.identity_of(signed.notice.sender)):
                    raise RemoteFault("signed its notice wrongly", party=f"shuffler {sender}", step="delivery")
                return Heard(signed.notice)
            case Rpc.RECEIPT:
                receipt = shuffles.decode_receipt(messages[0])
                if not receipt.verifies(node.document.analyzer.identity):
                    raise RemoteFault("signed its receipt wrongly", party="analyzer", step="delivery")
                return Receipt(receipt.context.attempt)

    # Deliver, and publish.

    def _collect(self, sender: int, messages: Sequence[bytes]) -> None:
        """The analyzer takes in a final vector; with all of them it signs a receipt, and the shufflers erase."""
        header, rows = shuffles.decode_vector(messages)
        context = header.header.context
        encrypted = sender == self.document.schedule.last[0]
        if encrypted and not bool(np.all(self.key.public.check(rows.reshape(-1, self.key.public.ciphertext_bytes)))):
            raise RemoteFault("delivered what is no ciphertext", party=f"shuffler {sender}", step="delivery")
        vector: Vector = rows if encrypted else as_words(rows)
        self.delivered[sender] = analyzer.Part(context, header.transcript, vector)
        if all(who in self.delivered for who in self.document.schedule.last):
            receipt = shuffles.encode_receipt(SignedReceipt.sign(self.analyzer, context, header.transcript))
            for node in self.nodes:
                self._post(ANALYZER, node.number, Rpc.RECEIPT, [receipt])

    def publish(self, *, submitted: int) -> Collected:
        """Decrypt, look for the dummies, estimate, and state the guarantee for what was realised."""
        combined = analyzer.combine(self.document.schedule, self.delivered, self.key)
        reports = analyzer.without_dummies(combined, np.stack([dummy.words for dummy in self.dummies]))
        mechanism, document = self.mechanism, self.document
        users = len(reports) - document.fakes
        counts = mechanism.support_counts(reports)
        return Collected(
            estimate=mechanism.estimate(counts, users=users, fakes=document.fakes),
            guarantees=guarantees(mechanism, users, document.fakes, document.delta, len(self.nodes)),
            digest=self.digest,
            users=users,
            dropped=submitted - users,
            fakes=document.fakes,
            reports=reports,
            traffic=self.traffic,
            rounds=len(document.schedule.rounds),
            passes=sum(node.passes for node in self.nodes),
        )

    def _pairs(self) -> list[tuple[int, int]]:
        numbers = range(1, len(self.nodes) + 1)
        return [(sender, receiver) for sender in numbers for receiver in numbers if sender != receiver]

    def _member(self, name: str, identity: Identity) -> Member:
        return Member(name, identity.public, self.rng.bytes(32))


def run_collection(
    values: ArrayLike,
    *,
    mechanism: Mechanism,
    shufflers: int = 3,
    scheme: str = "paillier",
    fakes: int = 0,
    delta: float = 1e-6,
    rng: Randomness | None = None,
    key: PrivateKey | None = None,
) -> Collected:
    """Collect `values` from as many users. `rng` and `key` are for tests: by default all is fresh and of full size."""
    simulation = Simulation(mechanism, shufflers=shufflers, scheme=scheme, fakes=fakes, delta=delta, rng=rng, key=key)
    return simulation.run(values)
