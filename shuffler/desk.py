"""All collections of this shuffler: accepted, kept alive, found by digest."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from peos.collection.document import Document
from peos.collection.lifecycle import State
from peos.collection.party import Card, check_roster
from peos.collection.policy import DAY
from peos.compute import Background, Engine
from peos.crypto.randomness import system
from peos.errors import PeosError, Refused, Unknown, WrongInput
from peos.ldp.base import Question
from peos.net.calls import Caller
from peos.net.client import channel
from peos.net.logs import Log
from peos.net.tls import Trust
from peos.store.base import Collection, ShufflerStore
from peos.wire.documents import SignedDocument, decode_signed_document
from peos.wire.parties import Proposal, decode_proposal, encode_proposal
from shuffler.ahead import Ahead
from shuffler.config import Config
from shuffler.evidence import sweep
from shuffler.keys import Keys
from shuffler.life import OVER, Life
from shuffler.meter import Meter
from shuffler.storing import Stored

AGAIN: Final = 2.0  # seconds


class Desk:
    """Where proposals arrive and collections live."""

    def __init__(self, *, config: Config, keys: Keys, store: Stored, trust: Trust, engine: Engine, log: Log) -> None:
        self.lives: dict[bytes, Life] = {}
        self._config = config
        self._keys = keys
        self.store = store
        self._trust = trust
        self._engine = engine
        self._ahead = Ahead(
            statistical=config.statistical,
            megabytes=config.zeros_megabytes,
            workers=lambda: Background(config.workers),
        )
        self._log = log
        self._tasks: dict[bytes, asyncio.Task[None]] = {}
        self._policy = config.policy()
        self._without_rows: set[bytes] = set()
        self._proposing = asyncio.Lock()

    async def resume(self) -> None:
        """Go on with everything that is in the store."""
        found = await self.store(lambda store: store.collections())
        await asyncio.to_thread(sweep, self._config.folder, {kept.digest for kept in found})
        for kept in found:
            try:
                cards = decode_proposal(kept.roster).cards
                signed = decode_signed_document(kept.signed)
                if not _is_forgotten(kept.state, signed.document):
                    self._trust.admit(self._others(cards), kept.digest)
                self._live(signed, cards, kept)
            except PeosError as error:
                self._log.of(kept.digest).error("a stored collection cannot be resumed", error)

    def life(self, digest: bytes) -> Life:
        """A collection that is known here."""
        life = self.lives.get(digest)
        if life is None:
            raise Unknown(
                "collection.unknown_here",
                "this shuffler knows no such collection",
                hint="compare the digest with the analyzer's",
            )
        return life

    async def signed_bytes(self, digest: bytes) -> bytes:
        """The signed document's bytes as they came."""
        return await self.store(lambda store: store.collection(digest).signed)

    def count(self, collection: bytes, sent: int, received: int) -> None:
        """Note bytes that were sent or received of a collection, if it is known here."""
        life = self.lives.get(collection)
        if life is not None:
            life.meter.count(sent, received)

    async def propose(self, proposal: Proposal) -> None:
        """Take a collection in, if the policy allows; the same again changes nothing."""
        signed = await asyncio.to_thread(decode_signed_document, proposal.document)
        async with self._proposing:  # one after another: how many are open is counted
            await self._propose(proposal, signed)

    async def _propose(self, proposal: Proposal, signed: SignedDocument) -> None:
        document = signed.document
        check_roster(document, proposal.cards)
        if signed.digest not in self.lives:
            open_ = sum(
                life.state not in OVER and life.document.analyzer.identity == document.analyzer.identity
                for life in self.lives.values()
            )
            number = self._policy.check(document, me=self._keys.identity.public, now=time.time(), open_=open_)
            if not document.protocol.is_own_key(document, number, self._keys.card.onion_key):
                raise Refused(
                    "policy.onion_key",
                    "the collection is not accepted: another onion key than this shuffler's stands in its place",
                    hint="give the analyzer this shuffler's card of today",
                )
            try:
                self._trust.check(self._others(proposal.cards))
            except WrongInput as wrong:
                raise Refused(
                    "policy.certificates", f"the collection is not accepted: {wrong}", hint="make the certificates anew"
                ) from None
        state = State.DRAFT if self._config.ask_operator else State.OPEN
        question = Question(document.analyzer.identity, document.question, document.epoch)
        roster = encode_proposal(proposal.document, proposal.signed_cards)
        await self.store(lambda store: self._keep(store, signed, proposal.document, roster, question, state))
        kept = await self.store(lambda store: store.collection(signed.digest))
        if signed.digest not in self.lives:
            self._trust.admit(self._others(proposal.cards), signed.digest)
            self._live(signed, proposal.cards, kept)

    def forget(self) -> None:
        """Let nobody in any more on account of collections that are over everywhere; called now and then."""
        for digest, life in self.lives.items():
            if _is_forgotten(life.state, life.document):
                self._trust.drop(digest)

    def _others(self, cards: tuple[Card, ...]) -> list[bytes]:
        """The certificates of the others who take part."""
        return [card.peer_certificate for card in cards if card.identity != self._keys.identity.public]

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
        try:
            store.collection(signed.digest)
        except Unknown:
            self._policy.check_often(signed.document, store.asked_since(question.analyzer, time.time() - DAY))
        store.put_collection(signed.digest, given, roster, question, state)

    def _live(self, signed: SignedDocument, cards: tuple[Card, ...], kept: Collection) -> None:
        document = signed.document
        number = [member.identity for member in document.shufflers].index(self._keys.identity.public) + 1
        meter = Meter()
        *shufflers, analyzer = cards
        callers = {
            who: self._caller(card, f"shuffler {who} ({card.name})", meter)
            for who, card in enumerate(shufflers, start=1)
            if who != number
        }
        life = Life(
            signed=signed,
            number=number,
            cards=cards,
            identity=self._keys.identity,
            kept=kept,
            store=self.store,
            callers=callers,
            analyzer=self._caller(analyzer, f"the analyzer ({analyzer.name})", meter),
            engine=self._engine,
            ahead=self._ahead,
            step_seconds=self._config.step_seconds,
            statistical=self._config.statistical,
            folder=self._config.folder,
            vault=self._keys.vault,
            log=self._log,
            meter=meter,
        )
        self.lives[signed.digest] = life
        self._tasks[signed.digest] = asyncio.get_running_loop().create_task(self._watched(life))

    async def _watched(self, life: Life) -> None:
        while True:
            try:
                await life.run()
                return
            except asyncio.CancelledError:
                raise
            except Exception as error:  # nothing of a collection ends unheard: it goes on from what is durable
                life.stalled = f"a step failed for a reason of its own ({type(error).__name__}) and is tried again"
                self._log.of(life.signed.digest).error("a collection stopped, and is tried again", error)
                await asyncio.sleep(AGAIN)

    def _caller(self, card: Card, name: str, meter: Meter) -> Caller:
        reached = channel(card.peer_address, card.peer_certificate, self._keys.peers)
        return Caller(reached, name, system(), meter=meter.count)

    async def close(self) -> None:
        """Stop everything; what is durable goes on at the next start."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        await asyncio.to_thread(self._ahead.close)
        for life in self.lives.values():
            await life.close()

    async def forget_rows(self) -> list[bytes]:
        """Erase what is kept for users of collections whose time is over; which ones, each once."""
        over = [digest for digest, life in self.lives.items() if _is_forgotten(life.state, life.document)]
        due = [digest for digest in over if digest not in self._without_rows]
        for digest in due:
            await self.store(partial(_forget_rows, digest))
            self._without_rows.add(digest)
        return due

    async def accept_from(self, folder: Path, found: Callable[[bytes], None]) -> None:
        """Take the operator's word, left in a folder of its own by `peos shuffler accept`."""
        for path in sorted(folder.glob("*")):
            life = self.lives.get(bytes.fromhex(path.name)) if _is_digest(path.name) else None
            if life is not None:
                await life.accept()
                found(life.signed.digest)
            if not path.is_dir():
                path.unlink()


def _forget_rows(digest: bytes, store: ShufflerStore) -> None:
    store.forget_rows(digest)


def _is_digest(name: str) -> bool:
    return len(name) == 64 and all(character in "0123456789abcdef" for character in name)


def _is_forgotten(state: State, document: Document) -> bool:
    """Whether no other party can have anything to ask any more: until everything is erased, one may be late."""
    return state in OVER and time.time() >= document.erase_by


def read_cards(config: Config, trust: Trust) -> None:
    """Let the analyzers of the policy in."""
    for card in config.analyzer_cards():
        trust.admit([card.peer_certificate])


def require_sender(life: Life, number: int, print_: bytes) -> None:
    """A message from shuffler `number` must come under that shuffler's certificate."""
    shufflers = life.document.shufflers
    if not 1 <= number <= len(shufflers) or shufflers[number - 1].certificate != print_:
        raise Refused("network.sender", "the message names another sender than the certificate it came under")
