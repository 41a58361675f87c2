"""The port for the analyzer and the other shufflers: proposals, orders, status, the freeze and the shuffle."""

import time
from collections.abc import AsyncIterator

from peos.collection.freeze import Announcements, FrozenDigest, Stretch
from peos.collection.lifecycle import OVER, Order
from peos.collection.membership import FrozenLists
from peos.collection.replies import Status
from peos.errors import BadEncoding, Closed, NotYet, Refused, Unknown
from peos.net.calls import Behaviour, Service, service
from peos.net.guard import Context, peer_fingerprint
from peos.shuffle.effects import Received
from peos.shuffle.messages import Header, Kind, SignedNotice, Statement
from peos.wire import parties, shuffles
from peos.wire.methods import (
    CARRY,
    CLOSE,
    GET_ANNOUNCEMENTS,
    GET_FROZEN_DIGEST,
    GET_FROZEN_LISTS,
    GET_LIST,
    PROPOSE,
    SAY,
    STATUS,
    TELL,
    VECTOR_HEADER,
    Method,
)
from shuffler.freeze_runner import FreezeRunner, Frozen
from shuffler.inspection_runner import InspectionRunner
from shuffler.proving import Proving
from shuffler.registry import CollectionRegistry, require_sender
from shuffler.session import CollectionSession
from shuffler.shuffle_runner import ShuffleRunner
from shuffler.status import status


class PeerService:
    """Answers `peos.v1.PeerService`."""

    def __init__(self, registry: CollectionRegistry, proving: Proving) -> None:
        self._registry = registry
        self._proving = proving

    def service(self) -> Service:
        """The calls, with what answers them."""
        calls: dict[Method, Behaviour] = {
            PROPOSE: self.propose,
            CLOSE: self.close,
            STATUS: self.status,
            GET_ANNOUNCEMENTS: self.announcements,
            GET_LIST: self.stretches,
            GET_FROZEN_DIGEST: self.frozen_digest,
            GET_FROZEN_LISTS: self.frozen_lists,
            SAY: self.say,
            CARRY: self.carry,
            TELL: self.tell,
        }
        return service(calls, meter=self._registry.count)

    async def propose(self, proposal: parties.Proposal, context: Context) -> None:
        """A collection, from the analyzer that would run it."""
        if proposal.cards[-1].member.certificate != peer_fingerprint(context):
            raise Refused("proposal.caller", "a collection is proposed by its own analyzer")
        await self._registry.propose(proposal)

    async def close(self, order: Order, _: Context) -> None:
        """Close now, or abort, by the analyzer's signed order, whichever caller brings it."""
        session = await self._registry.find(order.collection)
        if not parties.order_verifies(order, session.document.analyzer.identity):
            raise Refused("collection.order", "the order is not signed by the collection's analyzer")
        await session.order(order)

    async def status(self, digest: bytes, context: Context) -> Status:
        """Where a collection stands here, for those who take part; one that is not known is an answer too."""
        try:
            session = await self._registry.find(digest)
        except Unknown:
            return Status(digest, state="", known=False)
        members = (*session.document.shufflers, session.document.analyzer)
        if peer_fingerprint(context) not in {member.certificate for member in members}:
            raise Refused("status.caller", "status is given to the collection's members only")
        return await status(session)

    async def announcements(self, digest: bytes, context: Context) -> Announcements:
        """All announcements of lists that this shuffler holds; the analyzer too may see how long lists are."""
        return await (await self._freezing(digest, context, analyzer=True)).announcements()

    async def stretches(self, digest: bytes, context: Context) -> AsyncIterator[Stretch]:
        """This shuffler's list."""
        async for stretch in (await self._freezing(digest, context)).stretches():
            yield stretch

    async def frozen_digest(self, digest: bytes, context: Context) -> FrozenDigest:
        """The signed digest of what this shuffler froze."""
        shown = await self._freezing(digest, context)
        _require_going_on(await self._registry.find(digest))
        return await shown.signed()

    async def frozen_lists(self, digest: bytes, context: Context) -> FrozenLists:
        """All signed lists once they are frozen, for those who take part: the analyzer publishes their roots."""
        document = (await self._registry.find(digest)).document
        if peer_fingerprint(context) not in {one.certificate for one in (*document.shufflers, document.analyzer)}:
            raise Refused("collection.lists_caller", "lists are shown to the collection's members only")
        return await self._proving.lists(digest)

    async def say(self, statement: Statement, context: Context) -> None:
        """Take in a statement of the shuffle."""
        session = await self._member(statement.header, context)
        _require_receiver(session, statement.header)
        _shuffle_runner(session, statement.header).take(Received(statement))

    async def carry(self, chunks: AsyncIterator[bytes], context: Context) -> None:
        """A vector; kept once it is whole and what it claims to be."""
        encoded = _vector_header(context)
        header = shuffles.decode_vector_header(encoded)
        session = await self._member(header.header, context)
        _require_receiver(session, header.header)
        session.meter.count(0, len(encoded))

        async def counted() -> AsyncIterator[bytes]:
            async for chunk in chunks:
                session.meter.count(0, len(chunk))
                yield chunk

        if header.header.step.kind in (Kind.PATH, Kind.OPENING):
            await _inspecting(session, header.header).take(header, counted())
        else:
            await _shuffle_runner(session, header.header).carry(header, counted())

    async def tell(self, signed: SignedNotice, context: Context) -> None:
        """A notice about an attempt, under its sender's signature."""
        session = await self._registry.find(signed.context.collection)
        number = signed.notice.sender
        require_sender(session, number, peer_fingerprint(context))
        if not signed.verifies(session.document.shufflers[number - 1].identity):
            raise Refused("freeze.notice_signature", "the notice is not signed by its sender")
        await session.hear(signed)

    async def _freezing(self, digest: bytes, context: Context, *, analyzer: bool = False) -> FreezeRunner | Frozen:
        session = await self._registry.find(digest)
        members = (*session.document.shufflers, session.document.analyzer) if analyzer else session.document.shufflers
        if peer_fingerprint(context) not in {member.certificate for member in members}:
            raise Refused("freeze.lists_caller", "lists are shown to the collection's shufflers only")
        if session.freeze_runner is None:
            _require_going_on(session)
            raise NotYet(
                "freeze.not_closed",
                f"the collection is not closed here yet: it closes {session.document.closing(time.time())}",
            )
        return session.freeze_runner

    async def _member(self, header: Header, context: Context) -> CollectionSession:
        session = await self._registry.find(header.context.collection)
        require_sender(session, header.sender, peer_fingerprint(context))
        return session


def _shuffle_runner(session: CollectionSession, header: Header) -> ShuffleRunner:
    if session.shuffle_runner is None:
        _require_going_on(session)
        raise NotYet("shuffle.not_shuffling", "the collection is not being shuffled here")
    if session.shuffle_runner.context.frozen != header.context.frozen:
        raise Refused("shuffle.other_list", "the message is about another frozen list")
    return session.shuffle_runner


def _inspecting(session: CollectionSession, header: Header) -> InspectionRunner:
    if session.inspection_runner is None:
        _require_going_on(session)
        raise NotYet("inspection.not_here", "the collection is not inspected here yet")
    if session.inspection_runner.context != header.context:
        raise Refused("inspection.other_output", "the message is about another output")
    return session.inspection_runner


def _vector_header(context: Context) -> bytes:
    found = [value for key, value in context.invocation_metadata() or () if key == VECTOR_HEADER]
    if len(found) != 1 or not isinstance(found[0], bytes):
        raise BadEncoding("shuffle.headless", "a vector came without its header")
    return found[0]


def _require_going_on(session: CollectionSession) -> None:
    """Refuse calls about a collection that has ended here, with the reason."""
    if session.state in OVER:
        raise Closed(
            "collection.ended",
            f"the collection is {session.state} here{f': {session.reason}' if session.reason else ''}",
        )


def _require_receiver(session: CollectionSession, header: Header) -> None:
    if header.receiver != session.number:
        raise Refused("network.receiver", "the message is for another shuffler")
