"""Real shuffler processes, and an analyzer that the test plays over the real wire.

Every report is a word of its own, so that a run can be checked for conservation: each word comes out exactly once.
"""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from peos.collection.cards import Card
from peos.collection.delivery_rules import check_delivery, judge_delivery
from peos.collection.document import Document, Dummy, MechanismChoice
from peos.collection.prepare import prepare
from peos.collection.replies import Status
from peos.collection.reveal import Revealed, known_case, reveal, sign_reveal
from peos.collection.submission import Part, Verdict
from peos.collection.ticket import issue
from peos.crypto.identity import Identity
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes import scheme
from peos.crypto.schemes.base import PrivateKey
from peos.errors import Closed, NotYet, PeosError
from peos.ldp import GRR
from peos.localcluster import LocalCluster, free_port
from peos.net.calls import Caller, service
from peos.net.certificates import Certificate, as_der, make_certificate
from peos.net.client import channel
from peos.net.guard import Context
from peos.net.logs import Log
from peos.net.observer import Observer
from peos.net.retry import ONCE, Retry
from peos.net.server import Running, serve
from peos.net.submit import send_parts
from peos.net.tls import Trust, peer_port
from peos.protocols.peos import ShareSplitter
from peos.shuffle import combine
from peos.shuffle.inspect.evidence import Opening
from peos.shuffle.inspect.verdict import Delivered, Finding, common_start, judge, not_seen
from peos.shuffle.messages import Kind, SignedReceipt, SignedReveal, VectorHeader
from peos.shuffle.vectors import as_words
from peos.wire import documents, inspections, parties, shuffles
from peos.wire.methods import CLOSE, DELIVER, GET_DUMMIES, GET_RECEIPT, GET_UNSENT, PROPOSE, STATUS, VECTOR_HEADER
from shuffler import config, keys
from tests.e2e.town import Town

RNG: Final = Randomness(b"\x2a" * 32)
DUMMIES: Final = 32
FAKES: Final = 8
PATIENCE: Final = 180.0
PATIENT: Final = Retry(base=0.1, ceiling=1.0, seconds=PATIENCE)  # a shuffler that was killed takes its time to be back


@cache
def key() -> PrivateKey:
    """A key as long as shufflers ask for; made once, since that takes a second."""
    return scheme("paillier").generate(RNG)


class PlayedTown(Town):
    """A town whose analyzer the test plays, with the keys, the certificate and the port that are here."""

    def __init__(self, folder: Path, *, least_reports: int = 1) -> None:
        self.identity = Identity.generate(RNG)
        self.certificate: Certificate = make_certificate("analyzer", RNG)
        self.port = free_port()
        card = Card("analyzer", self.identity.public, f"127.0.0.1:{self.port}", as_der(self.certificate.pem))
        self.member = card.member
        self.signed_card = parties.sign_card(card, self.identity)
        path = folder / "analyzer.card"
        path.write_bytes(self.signed_card)
        super().__init__(LocalCluster(folder / "cluster", analyzer_card=path))
        self.cluster.init(most_eps_local=5.0, least_reports=least_reports)
        self.cluster.start()
        self.signed_cards = tuple(party.card.read_bytes() for party in self.shufflers if party.card)
        self.cards = tuple(map(parties.decode_card, self.signed_cards))

    def peer_certificate(self, number: int) -> Certificate:
        """What a shuffler shows to others, with its key: the test may pose as it."""
        return keys.load(config.read(self.shufflers[number - 1].config)).peers

    def document(self, question: str, **changes: Any) -> Document:
        """A collection that the shufflers accept, but for what a test changes."""
        now = int(time.time())
        made = Document(
            question=question,
            epoch="2031",
            choice=MechanismChoice.of(GRR(16, 4.0)),
            scheme="paillier",
            public_key=key().public.encode(),
            shufflers=tuple(card.member for card in self.cards),
            analyzer=self.member,
            fakes=FAKES,
            minimum=1,
            delta=1e-6,
            enrolment_key=ENROLMENT.public,
            dummies=tuple(dummy.commitment for dummy in OWNED),
            closes_at=now + 3600,
            shuffle_by=now + 7200,
            erase_by=now + 9000,
        )
        return replace(made, **changes)


ENROLMENT: Final = Identity.generate(RNG)
OWNED: Final = [Dummy(RNG.bytes(32), RNG.bytes(16), RNG.uint64(1)) for _ in range(DUMMIES)]


class Played:
    """The analyzer of one collection: proposes, submits for its users, takes the output, signs the receipt."""

    def __init__(self, town: PlayedTown, document: Document) -> None:
        self.town = town
        self.document = document
        self.signed = documents.sign_document(document, town.identity)
        self.digest = documents.decode_signed_document(self.signed).digest
        channels = [channel(card.peer_address, card.peer_certificate, town.certificate) for card in town.cards]
        names = [card.name for card in town.cards]
        self.callers = [Caller(one, name, RNG, policy=PATIENT) for one, name in zip(channels, names, strict=True)]
        self._asking = [Caller(one, name, RNG, policy=ONCE) for one, name in zip(channels, names, strict=True)]
        self.expected: list[int] = []
        self.headers: list[VectorHeader] = []
        self.parts: dict[int, combine.FinalVector] = {}
        self.openings: dict[int, Opening] = {}
        self.holds_dummies_back = False
        self._revealed: list[Revealed] = []
        self._server: Running | None = None

    async def propose(self) -> None:
        """Ask every shuffler to take part."""
        encoded = parties.encode_proposal(self.signed, (*self.town.signed_cards, self.town.signed_card))
        for caller in self.callers:
            await caller.ask(PROPOSE, encoded)

    def prepared(self, count: int) -> list[tuple[Part, ...]]:
        """Submissions of so many users with distinct reports."""
        reports = RNG.uint64((count, 1))
        self.expected += [int(word) for word in reports[:, 0]]
        return self._prepare(reports, [RNG.bytes(16) for _ in range(count)])

    def _prepare(self, reports: U64, ids: list[bytes]) -> list[tuple[Part, ...]]:
        public = key().public
        tickets = [issue(ENROLMENT, self.digest, id_, Identity.generate(RNG)) for id_ in ids]
        splitter = ShareSplitter(len(self.town.cards), public, public.zero_source(RNG, expected=len(ids)))
        return prepare(self.digest, splitter, reports, tickets, RNG)

    async def submit(self, count: int) -> None:
        """So many users with distinct reports, and the dummies."""
        dummies = self._prepare(np.stack([dummy.words for dummy in OWNED]), [dummy.id for dummy in OWNED])
        self._revealed = reveal(OWNED, dummies, key().public.ciphertext_bytes)
        outcomes = await asyncio.to_thread(
            send_parts,
            self.town.cards,
            [*self.prepared(count), *dummies],
            rng=Randomness(RNG.bytes(32)),
            deadline=120.0,
        )
        assert all(outcome.accepted for outcome in outcomes), outcomes[0]

    async def order(self, *, abort: bool = False) -> None:
        """Tell every shuffler to close, or to abort."""
        for caller in self.callers:
            await caller.ask(CLOSE, parties.sign_order(self.digest, self.town.identity, abort=abort))

    async def listen(self) -> None:
        """Take deliveries from now on."""
        trust = Trust(card.peer_certificate for card in self.town.cards)
        calls = service(
            {
                DELIVER: self._deliver,
                GET_RECEIPT: self._receipt,
                GET_UNSENT: self._unsent,
                GET_DUMMIES: self._dummies,
            }
        )
        credentials = peer_port(self.town.certificate, trust)
        self._server = await serve(f"127.0.0.1:{self.town.port}", credentials, [calls], observer=QUIET, trust=trust)

    async def close(self) -> None:
        """Close everything."""
        for caller in self.callers:
            await caller.close()
        if self._server is not None:
            await self._server.stop(0)

    async def _deliver(self, chunks: AsyncIterator[bytes], context: Context) -> None:
        (encoded,) = [value for name, value in context.invocation_metadata() or () if name == VECTOR_HEADER]
        assert isinstance(encoded, bytes), "the name says that it is binary"
        header = shuffles.decode_vector_header(encoded)
        reader = shuffles.VectorReader(header)
        if header.header.step.kind is Kind.OPENING:
            async for chunk in chunks:
                reader.feed(chunk)
            who = header.header.sender
            self.openings[who] = inspections.decode_opening(who, reader.finish())
            return
        check_delivery(self.document, self.digest, self.document.encryption(), header)
        async for chunk in chunks:
            reader.feed(chunk)
        rows, who = reader.finish(), header.header.sender
        if judge_delivery(self.headers, header) is Verdict.STORE:  # a second output would be a Conflict
            self.headers.append(header)
            vector = rows if who == self.document.schedule.last[0] else as_words(rows)
            self.parts[who] = combine.FinalVector(header.header.context, header.transcript, vector)

    async def _unsent(self, _digest: bytes, _: Context) -> AsyncIterator[Dummy]:
        """All were sent."""
        return
        yield  # so that it is a stream, of nothing

    async def _dummies(self, digest: bytes, _: Context) -> AsyncIterator[inspections.RevealedPart | SignedReveal]:
        if digest != self.digest or not self._revealed:
            raise Closed("test.closed", "nothing is inspected here")
        if self.holds_dummies_back:
            raise NotYet("test.notyet", "the dummies are not revealed yet")
        for part in inspections.revealed_parts(self._revealed, self._signed()):
            yield part

    def _signed(self) -> SignedReveal:
        return sign_reveal(self.town.identity, self.parts[self.document.schedule.last[0]].context, self._revealed)

    def findings(self) -> list[Finding]:
        """What the openings show; all shufflers have sent theirs."""
        start = common_start(self.document.schedule, self.openings)
        assert start is not None, "no shuffler has shown anything"
        part = self.parts[self.document.schedule.last[0]]
        place = part.context, part.transcript, len(part.vector)
        case = known_case(self.document, key().public, *place, start, self._revealed, self._signed())
        assert not not_seen(case.schedule, case.rows, case.start, self.openings), "a shuffler showed less than all"
        return judge(case, self.openings, Delivered(key(), {who: one.vector for who, one in self.parts.items()}))

    async def _receipt(self, digest: bytes, _: Context) -> SignedReceipt:
        if digest != self.digest or len(self.parts) < len(self.document.schedule.last):
            raise NotYet("test.notyet", "the output is not complete")
        part = next(iter(self.parts.values()))
        return SignedReceipt.sign(self.town.identity, part.context, part.transcript)

    async def status(self) -> list[Status]:
        """Where the collection stands with each shuffler; one that does not answer has the state "down"."""
        return [await self._status_of(caller) for caller in self._asking]

    async def _status_of(self, caller: Caller) -> Status:
        try:
            found: Status = await caller.ask(STATUS, self.digest, timeout=30.0)
        except PeosError:
            return Status(self.digest, "down", known=False)
        return found

    async def until(self, holds: Callable[[list[Status]], bool], what: str) -> list[Status]:
        """Wait until the shufflers' statuses are as they should become."""
        give_up = time.monotonic() + PATIENCE
        while True:
            here = await self.status()
            if holds(here):
                return here
            assert time.monotonic() < give_up, f"{what} did not come: {here}"
            await asyncio.sleep(0.1)

    async def until_all(self, state: str) -> list[Status]:
        """Wait until all shufflers are in a state."""
        return await self.until(lambda here: all(status.state == state for status in here), state)

    def reports(self) -> U64:
        """What came out but the dummies, each of which must be there: reports and fakes."""
        combined = combine.combine(self.document.schedule, self.parts, key(), RNG)
        return combine.without_dummies(combined, np.stack([dummy.words for dummy in OWNED]))[:, 0]

    def check_conservation(self) -> None:
        """Every report and every dummy exactly once, and besides nothing but the fakes."""
        reports = self.reports()
        seen = Counter(int(word) for word in reports)
        wrong = {word: seen[word] for word in self.expected if seen[word] != 1}
        assert not wrong, f"{len(wrong)} of {len(self.expected)} reports did not come out exactly once: {wrong}"
        assert len(reports) == len(self.expected) + self.document.fakes


def run(test: Awaitable[None]) -> None:
    """Run an asynchronous test to its end."""

    async def whole() -> None:
        await test

    asyncio.run(whole())


QUIET: Final = Observer(Log("played"))


@contextlib.asynccontextmanager
async def played(town: PlayedTown, question: str, *, listening: bool = True, **changes: Any) -> AsyncIterator[Played]:
    """A collection that all shufflers have accepted."""
    made = Played(town, town.document(question, **changes))
    try:
        if listening:
            await made.listen()
        await made.propose()
        yield made
    finally:
        await made.close()
