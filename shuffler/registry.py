"""All collections of this shuffler: proposals taken in, sessions kept going, ended ones found when they are asked for.

A collection that has ended here has no task and no channels, and is not decoded: it is read from the store when
another party asks about it. Only the time after which no party can ask is kept in memory.
"""

import asyncio
import contextlib
import heapq
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final

from peos.collection.cards import Card, check_roster
from peos.collection.document import Document
from peos.collection.lifecycle import OVER, State
from peos.collection.policy import DAY
from peos.collection.replies import Status
from peos.collection.summary import Summary
from peos.compute import Background, Engine
from peos.crypto.randomness import system
from peos.errors import Closed, PeosError, Refused, Unknown, WrongInput
from peos.ldp.base import Question
from peos.net.calls import Caller
from peos.net.client import channel
from peos.net.observer import CollectionFound, Observer
from peos.net.retry import FOREVER, retrying
from peos.net.tls import Trust
from peos.store.base import Collection, ShufflerStore
from peos.wire.documents import SignedDocument, decode_signed_document, erase_by_of, study_of
from peos.wire.parties import Proposal, decode_proposal, encode_proposal
from shuffler.config import Config
from shuffler.events import Finished, RowsKept, StoppedSession, Unreadable
from shuffler.evidence import sweep
from shuffler.freeze_runner import FreezeRunner
from shuffler.keys import Keys
from shuffler.meter import Meter
from shuffler.session import CollectionSession
from shuffler.status import ended, status
from shuffler.store_thread import StoreThread
from shuffler.zero_pool import ZeroPool

AGAIN: Final = 2.0  # seconds, after rows that could not be erased
LOOK: Final = 600.0  # seconds between looks at the clock, which may be set
ASKED_FOR: Final = 8  # ended collections that stay decoded after they were asked for


class CollectionRegistry:
    """Where proposals arrive and collections are found."""

    def __init__(
        self,
        *,
        config: Config,
        keys: Keys,
        store: StoreThread,
        trust: Trust,
        engine: Engine,
        observer: Observer,
    ) -> None:
        self.live: dict[bytes, CollectionSession] = {}
        self.store = store
        self._config = config
        self._keys = keys
        self._trust = trust
        self._engine = engine
        self._ahead = ZeroPool(
            statistical=config.statistical,
            megabytes=int(config.zeros_megabytes),
            workers=lambda: Background(config.workers),
        )
        self._observer = observer
        self._tasks: dict[bytes, asyncio.Task[None]] = {}
        self._asked_for: dict[bytes, CollectionSession] = {}  # the one used last at the end
        self._leaving: list[tuple[float, bytes]] = []  # a heap: when no party can ask about a collection any more
        self._showing: dict[bytes, CollectionSession] = {}  # ended in a freeze that others are still in
        self._left = asyncio.Event()  # the two above have grown
        self._ended: set[bytes] = set()  # what is in the store, and not live
        self._past: dict[bytes, dict[str, Any]] = {}  # the status of what has ended
        self._has_all_past = False
        self._policy = config.policy()
        self._proposing = asyncio.Lock()

    @property
    def zeros(self) -> int:
        """Zeros that are made ahead, of all collections."""
        return self._ahead.ready

    @property
    def workers(self) -> int:
        """How many work the passes."""
        return self._engine.workers

    @property
    def past_bytes(self) -> tuple[int, int]:
        """Bytes sent and received by this process of collections that are over."""
        past = self._past.values()
        return sum(line["sent"] for line in past), sum(line["received"] for line in past)

    async def resume(self) -> None:
        """Go on with what is not over; let the parties of what is over in for as long as they may ask about it."""
        unfinished, finished = await self.store(lambda store: (store.unfinished(), store.finished()))
        await asyncio.to_thread(sweep, self._config.folder, {kept.digest for kept in unfinished})
        now = time.time()
        for over in finished:
            self._ended.add(over.digest)
            try:
                erase_by = erase_by_of(over.signed)
                if now < erase_by:
                    self._trust.admit(self._others(decode_proposal(over.roster).cards), over.digest)
            except PeosError as error:
                self._observer.of(over.digest).note(Unreadable(error))
                continue
            if now < erase_by or over.has_rows:
                self._leaving.append((erase_by, over.digest))
        heapq.heapify(self._leaving)
        for kept in unfinished:
            try:
                signed, cards = await asyncio.to_thread(_decoded, kept)
                self._trust.admit(self._others(cards), kept.digest)
                self._start(self._session(signed, cards, kept))
            except PeosError as error:
                self._observer.of(kept.digest).note(Unreadable(error))

    async def find(self, digest: bytes) -> CollectionSession:
        """A collection that is known here, whether or not it is over."""
        session = self.live.get(digest) or self._showing.get(digest)
        if session is not None:
            return session
        session = self._asked_for.pop(digest, None) or await self._read(digest)
        self._asked_for[digest] = session
        if len(self._asked_for) > ASKED_FOR:
            await self._asked_for.pop(next(iter(self._asked_for))).close()
        return session

    def refusal(self, digest: bytes) -> Refused:
        """Why nothing is taken in for a collection that is not live."""
        if digest in self._ended:
            sentence = "the collection takes no more submissions: it was erased"
            return Closed("submit.erased", sentence, hint="wait for the next one")
        return Unknown(
            "collection.unknown_here",
            "this shuffler knows no such collection",
            hint="compare the digest with the analyzer's",
        )

    async def signed_bytes(self, digest: bytes) -> bytes:
        """The signed document's bytes as they came."""
        self._require_known(digest)
        return await self.store(lambda store: store.collection(digest).signed)

    def _require_known(self, digest: bytes) -> None:
        """Refuse unknown digests without asking the store: any caller may invent them."""
        if digest not in self.live and digest not in self._ended:
            raise self.refusal(digest)

    async def _read(self, digest: bytes) -> CollectionSession:
        self._require_known(digest)
        kept = await self.store(lambda store: store.collection(digest))
        signed, cards = await asyncio.to_thread(_decoded, kept)
        return self._asked_for.pop(digest, None) or self._session(signed, cards, kept)

    def count(self, collection: bytes, sent: int, received: int) -> None:
        """Note bytes that were sent or received of a collection, if it is not over."""
        session = self.live.get(collection)
        if session is not None:
            session.meter.count(sent, received)

    async def propose(self, proposal: Proposal) -> None:
        """Take a collection in, if the policy allows; the same again changes nothing."""
        begun = time.time()
        signed = await asyncio.to_thread(decode_signed_document, proposal.document)
        async with self._proposing:  # one after another: how many are open is counted
            await self._propose(proposal, signed, begun)

    async def _propose(self, proposal: Proposal, signed: SignedDocument, begun: float) -> None:
        document, digest = signed.document, signed.digest
        check_roster(document, proposal.cards)
        is_known = await self.store(partial(_is_kept, digest))
        if not is_known:
            open_ = sum(
                session.state not in OVER and session.document.analyzer.identity == document.analyzer.identity
                for session in self.live.values()
            )
            number = self._policy.check(document, me=self._keys.identity.public, now=time.time(), open_=open_)
            if not document.protocol.is_own_key(document, number, self._keys.card.onion_key):
                raise Refused(
                    "policy.onion_key",
                    "the collection is not accepted: the document names a different onion key for this shuffler",
                    hint="send the analyzer this shuffler's current card",
                )
            try:
                self._trust.check(self._others(proposal.cards))
            except WrongInput as wrong:
                raise Refused(
                    "policy.certificates", f"the collection is not accepted: {wrong}", hint="make the certificates anew"
                ) from None
        is_open = is_known or not self._config.ask_operator or await self._was_accepted(document)
        state = State.OPEN if is_open else State.DRAFT
        question = Question(document.analyzer.identity, document.question, document.epoch)
        roster = encode_proposal(proposal.document, proposal.signed_cards)
        await self.store(lambda store: self._keep(store, signed, proposal.document, roster, question, state))
        kept = await self.store(lambda store: store.collection(digest))
        if digest not in self.live and not (is_known and kept.state in OVER):
            self._trust.admit(self._others(proposal.cards), digest)
            self._start(self._session(signed, proposal.cards, kept), begun)

    async def _was_accepted(self, document: Document) -> bool:
        """Whether the operator has accepted the study that it is a round of, by accepting another round."""
        if document.study is None:
            return False
        study = document.study.id
        others = await self.store(
            lambda store: [one for one in store.collections() if _was_open(one) and study_of(one.signed) == study]
        )

        def is_so() -> bool:
            return any(
                self._policy.needs_no_word(document, decode_signed_document(one.signed).document) for one in others
            )

        return await asyncio.to_thread(is_so)

    def _keep(
        self,
        store: ShufflerStore,
        signed: SignedDocument,
        given: bytes,
        roster: bytes,
        question: Question,
        state: State,
    ) -> None:
        """Keep a proposal, if it is not one too many a day: counted and kept in one go, as the store's thread does."""
        if not _is_kept(signed.digest, store):
            self._policy.check_often(signed.document, store.asked_since(question.analyzer, time.time() - DAY))
        store.put_collection(signed.digest, given, roster, question, state)

    async def accept_from(self, folder: Path, found: Callable[[bytes], None]) -> None:
        """Take the operator's word, left in a folder of its own by `peos shuffler accept`."""
        for path in sorted(folder.glob("*")):
            session = self.live.get(bytes.fromhex(path.name)) if _is_digest(path.name) else None
            if session is not None:
                await session.accept()
                found(session.digest)
            if not path.is_dir():
                path.unlink()

    async def forget(self, forgotten: Callable[[bytes], None]) -> None:
        """Close collections to callers and erase what is kept for users, once no question can come; runs on."""
        while True:
            self._left.clear()
            now, pause = time.time(), LOOK
            try:
                while self._leaving and self._leaving[0][0] <= now:
                    digest = self._leaving[0][1]
                    self._trust.drop(digest)
                    await self.store(partial(_forget_rows, digest))
                    forgotten(digest)
                    heapq.heappop(self._leaving)
            except Exception as error:
                self._observer.note(RowsKept(error))
                pause = AGAIN
            for session in [one for one in self._showing.values() if one.document.shuffle_by <= now]:
                del self._showing[session.digest]
            due = [until for until, _ in self._leaving[:1]]
            due += [session.document.shuffle_by for session in self._showing.values()]
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, min(pause, *(until - now for until in due), pause))):
                    await self._left.wait()

    async def statuses(self, *, everything: bool) -> list[dict[str, Any]]:
        """Where collections stand: those that ended before this process started only if `everything` is wanted."""
        if everything and not self._has_all_past:
            finished = await self.store(lambda store: store.finished())
            for over in finished:
                if over.digest not in self._past:
                    self._past[over.digest] = _line(await ended(self.store, over.digest), Meter())
            self._has_all_past = True
        sessions = list(self.live.values())
        live = [_line(await status(one), one.meter, Summary.of(one.document)) for one in sessions]
        return [*self._past.values(), *live]

    async def close(self) -> None:
        """Stop everything; what is durable goes on at the next start."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.to_thread(self._ahead.close)
        for session in (*self.live.values(), *self._showing.values(), *self._asked_for.values()):
            await session.close()

    def _others(self, cards: tuple[Card, ...]) -> list[bytes]:
        """The certificates of the others who take part."""
        return [card.peer_certificate for card in cards if card.identity != self._keys.identity.public]

    def _session(self, signed: SignedDocument, cards: tuple[Card, ...], kept: Collection) -> CollectionSession:
        document = signed.document
        number = [member.identity for member in document.shufflers].index(self._keys.identity.public) + 1
        meter = Meter()
        *shufflers, analyzer = cards
        callers = {
            who: self._caller(card, f"shuffler {who} ({card.name})", meter)
            for who, card in enumerate(shufflers, start=1)
            if who != number
        }
        return CollectionSession(
            signed=signed,
            number=number,
            cards=cards,
            identity=self._keys.identity,
            kept=kept,
            store=self.store,
            callers=callers,
            analyzer=self._caller(analyzer, f"the analyzer ({analyzer.name})", meter),
            engine=self._engine,
            ahead=self._ahead if kept.state not in OVER else None,
            step_seconds=self._config.step_seconds,
            statistical=self._config.statistical,
            folder=self._config.folder,
            vault=self._keys.vault,
            observer=self._observer,
            meter=meter,
        )

    def _start(self, session: CollectionSession, begun: float = 0.0) -> None:
        digest, party = session.digest, f"shuffler {session.number}"
        self._observer.of(digest).note(CollectionFound(session.state.value, party, begun, session.document.study))
        self._asked_for.pop(digest, None)
        self.live[digest] = session
        self._tasks[digest] = asyncio.get_running_loop().create_task(self._run(session))

    async def _run(self, session: CollectionSession) -> None:
        """Until it is over; then it is left to the store."""
        digest = session.digest
        # Nothing of a collection ends unheard: it goes on from what is durable.
        note = self._observer.of(digest).note
        await retrying(session.run, FOREVER, rng=system(), on_failure=lambda error, _: note(StoppedSession(error)))
        await session.close_when_sent()
        self._past[digest] = _line(await status(session), session.meter)
        if isinstance(session.freeze_runner, FreezeRunner):  # a shuffler that signed two lists is shown to all that ask
            self._showing[digest] = session
        del self.live[digest], self._tasks[digest]
        self._ended.add(digest)
        heapq.heappush(self._leaving, (session.document.erase_by, digest))
        self._left.set()
        self._observer.of(digest).note(Finished())

    def _caller(self, card: Card, name: str, meter: Meter) -> Caller:
        """Its channel is opened at the first call."""
        reach = partial(channel, card.peer_address, card.peer_certificate, self._keys.peers)
        return Caller(reach, name, system(), meter=meter.count)


def _decoded(kept: Collection) -> tuple[SignedDocument, tuple[Card, ...]]:
    return decode_signed_document(kept.signed), decode_proposal(kept.roster).cards


def _line(found: Status, meter: Meter, summary: Summary | None = None) -> dict[str, Any]:
    """One collection's entry in the status file; `summary` is of a collection that is not over."""
    sizes = {"sent": meter.sent, "received": meter.received}
    asked = summary.to_json() if summary else None
    return asdict(found) | {"collection": found.collection.hex(), "document": asked} | sizes


def _was_open(kept: Collection) -> bool:
    """Whether a collection was accepted here; of one that was aborted, what users sent shows it."""
    return kept.state not in (State.DRAFT, State.ABORTED) or kept.count > 0 or kept.frozen is not None


def _is_kept(digest: bytes, store: ShufflerStore) -> bool:
    try:
        store.collection(digest)
    except Unknown:
        return False
    return True


def _forget_rows(digest: bytes, store: ShufflerStore) -> None:
    store.forget_rows(digest)


def _is_digest(name: str) -> bool:
    return len(name) == 64 and all(character in "0123456789abcdef" for character in name)


def read_cards(config: Config, trust: Trust) -> None:
    """Let the analyzers of the policy in."""
    for card in config.analyzer_cards():
        trust.admit([card.peer_certificate])


def require_sender(session: CollectionSession, number: int, print_: bytes) -> None:
    """A message from shuffler `number` must come under that shuffler's certificate."""
    shufflers = session.document.shufflers
    if not 1 <= number <= len(shufflers) or shufflers[number - 1].certificate != print_:
        raise Refused("network.sender", "the message names another sender than the certificate it came under")
