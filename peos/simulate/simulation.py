"""A collection's parties in memory, and the wires between them: submit, freeze, shuffle, inspect, publish."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from peos.collection.document import MIN_DUMMIES, Document, Dummy, MechanismChoice, Member
from peos.collection.freeze import Freeze, check_minimum
from peos.collection.prepare import prepare
from peos.collection.reveal import Revealed, proved_case, reveal, sign_reveal
from peos.collection.submission import Part
from peos.collection.ticket import StudyPart, Ticket, draw_id, issue
from peos.crypto.identity import Identity
from peos.crypto.onion import Layer
from peos.crypto.randomness import U64, Randomness
from peos.crypto.randomness import given as given_rng
from peos.crypto.schemes.base import KEY_BITS_FLOOR, Packed, PrivateKey
from peos.errors import RemoteFault, WrongInput
from peos.estimate.frequency import Frequencies
from peos.ldp.base import Mechanism
from peos.privacy.guarantees import Guarantees
from peos.protocols import DEFAULT, AnalyzerKey, Encryption, ShuffleProtocol
from peos.shuffle import combine
from peos.shuffle.effects import (
    Done,
    Effect,
    Event,
    Heard,
    Receipt,
    Received,
    Tick,
)
from peos.shuffle.inspect.evidence import Opening
from peos.shuffle.inspect.verdict import Case, Delivered, Finding, common_start, judge, not_seen
from peos.shuffle.messages import Header, SignedReceipt, SignedReveal
from peos.shuffle.schedule import Schedule
from peos.shuffle.vectors import Vector, as_rows, as_words
from peos.simulate.driver import InMemory
from peos.simulate.inspecting import Inspected
from peos.simulate.node import ANALYZER, USERS, Message, Node, Rpc, Traffic
from peos.tabular import Rows, Tabular
from peos.tasks.views import ViewChoice
from peos.wire import documents, freezes, inspections, shuffles, submissions

_DAY: Final = 86_400
_EPOCH: Final = 1_000_000_000  # a simulation has no clock: its deadlines only have to be in order


@dataclass(frozen=True, eq=False, repr=False)
class Collected(Tabular):
    """What came out of a collection."""

    estimate: Frequencies
    guarantees: Guarantees
    digest: bytes
    users: int  # counted
    dropped: int  # submitted, not counted
    fakes: int
    reports: U64  # as the analyzer sees them: shuffled, fakes among them, dummies taken out
    traffic: Traffic
    rounds: int
    passes: int

    @property
    def summary(self) -> str:
        """Of the estimate, and what is guaranteed."""
        return f"{self.estimate.summary}; {self.guarantees.summary}"

    def rows(self, labels: Sequence[str] | None = None) -> Rows:
        """Those of the estimate."""
        return replace(self.estimate.rows(labels), about=self.summary)


class Simulation:
    """All parties of one collection, and the wires between them."""

    node_type: type[Node] = Node
    protocol: ShuffleProtocol = DEFAULT

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        protocol: ShuffleProtocol | None = None,
        shufflers: int = 3,
        scheme: str | None = None,
        fakes: int = 0,
        minimum: int = 1,
        dummies: int = MIN_DUMMIES,
        delta: float = 1e-6,
        views: tuple[ViewChoice, ...] = (),
        study: StudyPart | None = None,
        rng: Randomness | None = None,
        key: PrivateKey | None = None,
    ) -> None:
        Schedule(shufflers)
        if not isinstance(mechanism, Mechanism):
            raise WrongInput(
                "mechanism.not_built",
                f"a collection is run with a mechanism, not with {mechanism!r}",
                hint="build one, such as peos.ldp.GRR(domain=8, epsilon=4.0)",
            )
        self.rng = given_rng(rng)
        self.traffic = Traffic()
        self.protocol = protocol or self.protocol
        self.floor = key.public.bits if key else KEY_BITS_FLOOR  # a key that the caller brings is the caller's
        named = self.protocol.scheme(scheme)
        self.analyzer_key: AnalyzerKey = key or self.protocol.generate(named, self.rng, bits=self.floor)
        named, public_key = self.protocol.public_part(self.analyzer_key)
        self.analyzer = Identity.generate(self.rng)
        self.enrolment = Identity.generate(self.rng)
        self.dummies = [
            Dummy(self.rng.bytes(32), draw_id(self.rng, study), self.rng.uint64(mechanism.words))
            for _ in range(dummies)
        ]
        identities = [Identity.generate(self.rng) for _ in range(shufflers)]
        question = mechanism.question
        if question.analyzer not in (b"", self.analyzer.public):
            raise WrongInput(
                "mechanism.salted",
                "the mechanism is salted for another analyzer",
                hint="leave its question's analyzer empty",
            )
        self.document = Document(
            question=question.question or "simulation",
            epoch=question.epoch,
            choice=MechanismChoice.of(mechanism),
            views=views,
            study=study,
            scheme=named,
            public_key=public_key,
            protocol=self.protocol,
            onion_keys=self.protocol.shufflers_keys([("", self.protocol.key_shown(one)) for one in identities]),
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
        self._tickets: dict[bytes, Ticket] = {}
        self.dummy_parts: list[tuple[Part, ...]] = []
        self.delivered: dict[int, combine.FinalVector] = {}
        self.openings: dict[int, Opening] = {}
        self.findings: dict[int, list[Finding]] = {}  # of the inspection, by who found them (0: the analyzer)
        self.refused: dict[int, RemoteFault] = {}  # why a shuffler does not take what was revealed to it
        self.unopened: set[int] = set()  # the analyst's word to publish without these shufflers' rows
        self.not_seen: tuple[int, ...] = ()  # whose rows the inspection did not see
        self.queue: deque[Message | tuple[Node, Done]] = deque()

    def run(self, answers: Any) -> Collected:
        """The whole collection, of what its mechanism randomises: values, or what the views give of records."""
        reports = self.mechanism.randomize(answers, self.rng)
        self.submit(reports)
        self.freeze()
        self.shuffle()
        self.inspect()
        return self.publish(submitted=len(reports))

    @cached_property
    def encryption(self) -> Encryption:
        """The document's keys."""
        return self.document.encryption(floor=self.floor)

    @property
    def key(self) -> PrivateKey:
        """The analyzer's key, under which rows are re-randomised."""
        assert isinstance(self.analyzer_key, PrivateKey), "only some protocols have one"
        return self.analyzer_key

    # Submit.

    def submit(self, reports: U64) -> None:
        """Users (and the analyzer, with its dummies) split, encrypt and send their reports."""
        owned = np.stack([dummy.words for dummy in self.dummies])
        ids = [draw_id(self.rng, self.document.study) for _ in range(len(reports))] + [
            dummy.id for dummy in self.dummies
        ]
        submitted = self.parts_of(np.concatenate((reports, owned)), ids)
        self.dummy_parts = submitted[len(reports) :]
        for parts in submitted:
            for part in parts:
                encoded = submissions.encode_part(part)
                self.traffic.count(USERS, [encoded])
                self.nodes[part.shuffler - 1].submit(encoded)

    def parts_of(self, reports: U64, ids: Sequence[bytes]) -> list[tuple[Part, ...]]:
        """Each report's parts, ready to send."""
        tickets = [self.ticket(id_) for id_ in ids]
        splitter = self.encryption.splitter(self.rng, len(reports))
        return prepare(self.digest, splitter, reports, tickets, self.rng)

    def ticket(self, id_: bytes) -> Ticket:
        """The ticket of a user: one for each id, with a key of hers."""
        if id_ not in self._tickets:
            self._tickets[id_] = issue(
                self.enrolment, self.document.scope(self.digest), id_, Identity.generate(self.rng)
            )
        return self._tickets[id_]

    # Freeze.

    def freeze(self) -> None:
        """All pairs of shufflers agree on what counts."""
        freezing = {node.number: node.start_freeze() for node in self.nodes}
        self._announce(freezing)  # each its own,
        self._announce(freezing)  # then what it has heard of all
        for sender, receiver in self._pairs():
            own = self.nodes[sender - 1].listed
            encoded_list = [freezes.encode_stretch(stretch) for stretch in freezes.stretches(self.digest, own)]
            self.traffic.count(sender, encoded_list)
            listing = freezing[receiver].listing(sender)
            for data in encoded_list:
                listing.feed(freezes.decode_stretch(data).rows)
            listing.finish()
        for sender, receiver in self._pairs():
            encoded = freezes.encode_frozen_digest(freezing[sender].sign())
            self.traffic.count(sender, [encoded])
            said = freezes.decode_frozen_digest(encoded)
            freezing[receiver].confirmed(sender, said.digest, said.signature)
        for node in self.nodes:
            counted = freezing[node.number].rows
            check_minimum(len(counted), len(self.dummies), self.document.minimum)
            node.begin(counted, freezing[node.number].context)

    def _announce(self, freezing: Mapping[int, Freeze]) -> None:
        """Every shuffler shows all others the announcements that it holds."""
        held = {who: freezes.encode_announcements(one.announcements) for who, one in freezing.items()}
        for sender, receiver in self._pairs():
            self.traffic.count(sender, [held[sender]])
            freezing[receiver].heard(sender, freezes.decode_announcements(held[sender]).held)

    # Shuffle.

    def shuffle(self) -> None:
        """Drive the machines until all is delivered and erased, or nothing moves any more."""
        for node in self.nodes:
            self.feed(node, Tick())
        while self.queue:
            message = self.queue.popleft()
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
        InMemory(self, node).carry_out(effect)

    def post_vector(self, node: Node, header: Header, vector: Vector, *, transcript: bytes = b"") -> None:
        """Put a vector on its way, encoded."""
        self.traffic.vectors[header.step.kind] += 1
        messages = list(shuffles.encode_vector(header, as_rows(vector), transcript=transcript))
        self.post(node.number, header.receiver, Rpc.VECTOR, messages)

    def post(self, sender: int, receiver: int, rpc: Rpc, messages: Sequence[bytes]) -> None:
        """Put messages on their way, counted."""
        self.traffic.count(sender, messages)
        self.queue.append(Message(sender, receiver, rpc, messages))

    def read(self, node: Node, sender: int, what: Rpc, messages: Sequence[bytes]) -> Event | None:
        """The event that arriving bytes are; a real caller knows the sender by its certificate."""
        match what:
            case Rpc.VECTOR:
                return node.read_vector(messages)
            case Rpc.WORD:
                return Received(shuffles.decode_statement(messages[0]))
            case Rpc.NOTICE:
                signed = shuffles.decode_notice(messages[0])
                if signed.context != node.context or not signed.verifies(node.identity_of(signed.notice.sender)):
                    raise RemoteFault(
                        "delivery.notice", "signed its notice wrongly", party=f"shuffler {sender}", step="delivery"
                    )
                return Heard(signed.notice)
            case Rpc.RECEIPT:
                receipt = shuffles.decode_receipt(messages[0])
                if not receipt.verifies(node.document.analyzer.identity):
                    raise RemoteFault(
                        "delivery.receipt", "signed its receipt wrongly", party="analyzer", step="delivery"
                    )
                return Receipt(receipt.context.attempt)

    # Deliver, inspect, and publish.

    def _collect(self, sender: int, messages: Sequence[bytes]) -> None:
        """The analyzer takes in a final vector; with all of them it signs a receipt, and the shufflers erase."""
        header, rows = shuffles.decode_vector(messages)
        context = header.header.context
        self.delivered[sender] = combine.FinalVector(context, header.transcript, self.take_in(sender, rows))
        if all(who in self.delivered for who in self.document.schedule.last):
            receipt = shuffles.encode_receipt(SignedReceipt.sign(self.analyzer, context, header.transcript))
            for node in self.nodes:
                self.post(ANALYZER, node.number, Rpc.RECEIPT, [receipt])

    def take_in(self, sender: int, rows: Packed) -> Vector:
        """A delivered vector, checked."""
        if (check := self.encryption.delivered_check(sender)) is not None and not check(rows):
            raise RemoteFault(
                "delivery.not_ciphertexts",
                "delivered rows that are not ciphertexts",
                party=f"shuffler {sender}",
                step="delivery",
            )
        return rows if sender == self.document.schedule.last[0] else as_words(rows)

    def inspect(self) -> None:
        """The analyzer reveals its dummies to the shufflers, who follow their rows; then all vectors are erased."""
        if not self.protocol.inspects:
            return
        cases, signed, self.refused = {}, {}, {}
        for node in self.nodes:
            encoded = [inspections.encode_revealed(one) for one in self.revealed(node.number)]
            self.traffic.count(ANALYZER, encoded)
            came, own = inspections.gathered([inspections.decode_revealed(data) for data in encoded])
            if own.verifies(node.document.analyzer.identity, self.output.context):
                signed[node.number] = own  # else it proves nothing
            try:
                cases[node.number] = self.case(node, came, own)
            except RemoteFault as fault:
                self.refused[node.number] = fault
        self.follow(cases, signed)

    def revealed(self, number: int) -> Iterator[inspections.RevealedPart | SignedReveal]:
        """The analyzer's stream of dummies to one shuffler."""
        revealed = self.reveal(number)
        return inspections.revealed_parts(revealed, sign_reveal(self.analyzer, self.output.context, revealed))

    def reveal(self, number: int) -> list[Revealed]:  # noqa: ARG002 - an analyzer that deviates may tell them apart
        """The dummies as the analyzer shows them to a shuffler."""
        row = self.mechanism.words * self.key.public.ciphertext_bytes
        return reveal(self.dummies, self.dummy_parts, row)

    def case(self, node: Node, revealed: Sequence[Revealed], signed: SignedReveal) -> Case:
        """What a shuffler may open of the output."""
        part = self.output
        return proved_case(node.document, node.encryption, part.context, part.transcript, node.frozen, revealed, signed)

    def follow(self, cases: Mapping[int, Case], signed: Mapping[int, SignedReveal]) -> None:
        """The inspection itself; what the shufflers and the analyzer find is kept for `publish`."""
        inspected = Inspected(self.nodes, self.output.context, cases, self.traffic, signed)
        self.openings = inspected.openings
        self.findings = inspected.findings
        start = common_start(self.document.schedule, self.openings)
        self.not_seen = tuple(node.number for node in self.nodes)
        if start is not None:
            # The analyzer knows its dummies; where they stood in the frozen list it learns from the openings.
            vectors = {who: part.vector for who, part in self.delivered.items()}
            case = replace(next(iter(cases.values())), dummies=start[0], start=start[1])
            self.findings[ANALYZER] = judge(case, self.openings, Delivered(self.key, vectors))
            self.not_seen = not_seen(case.schedule, case.rows, case.start, self.openings)
        for node in self.nodes:
            node.erase()

    @property
    def output(self) -> combine.FinalVector:
        """The last holder's part of what was delivered."""
        return self.delivered[self.document.schedule.last[0]]

    def publish(self, *, submitted: int) -> Collected:
        """Decrypt, look for the dummies, estimate, and state the guarantee for what was realised.

        Not without having seen the rows of every shuffler, but for those that are `unopened` at the analyst's word.
        """
        combined = self.decrypted()
        owned = np.stack([dummy.words for dummy in self.dummies])
        reports = combine.without_dummies(combined, owned, self.findings.get(ANALYZER, ()))
        if unseen := set(self.not_seen) - self.unopened:
            whom = ", ".join(f"shuffler {who}" for who in sorted(unseen))
            raise RemoteFault("result.not_seen", f"the rows of {whom} were not seen", step="the inspection")
        mechanism, document = self.mechanism, self.document
        users = len(reports) - document.fakes
        tally = mechanism.tally(reports)
        return Collected(
            estimate=mechanism.estimate(tally, users=users, fakes=document.fakes),
            guarantees=document.claims(users),
            digest=self.digest,
            users=users,
            dropped=submitted - users,
            fakes=document.fakes,
            reports=reports,
            traffic=self.traffic,
            rounds=len(document.schedule.rounds),
            passes=sum(node.passes for node in self.nodes),
        )

    def decrypted(self) -> U64:
        """All rows of the output, as words."""
        words, _ = self.encryption.opened(self.digest, self.delivered, self.analyzer_key, self)
        return words

    def decrypt(self, private: PrivateKey, rows: Packed, *, passes: int) -> U64:
        """The words behind rows of ciphertexts."""
        flat = rows.reshape(-1, private.public.ciphertext_bytes)
        return private.decrypt_shuffled(flat, passes=passes, rng=self.rng).reshape(len(rows), -1)

    def peel(self, layer: Layer, onions: Packed) -> Packed:
        """See `Layer.under`."""
        return layer.under(onions)

    def _pairs(self) -> list[tuple[int, int]]:
        numbers = range(1, len(self.nodes) + 1)
        return [(sender, receiver) for sender in numbers for receiver in numbers if sender != receiver]

    def _member(self, name: str, identity: Identity) -> Member:
        return Member(name, identity.public, self.rng.bytes(32))
