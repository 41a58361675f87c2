"""The analyzer's one port, where the shufflers deliver, ask for the receipt, and are shown the dummies."""

import asyncio
from collections.abc import AsyncIterator, Callable

from analyzer.delivery_receiver import DeliveryReceiver, IncomingVector
from analyzer.inspection_runner import InspectionRunner
from peos.collection.document import Dummy
from peos.errors import BadEncoding
from peos.net.calls import Service, service
from peos.net.guard import Context, peer_fingerprint
from peos.shuffle.messages import Kind, SignedReceipt, SignedReveal, VectorHeader
from peos.wire.inspections import RevealedPart
from peos.wire.methods import DELIVER, GET_DUMMIES, GET_RECEIPT, GET_UNSENT, VECTOR_HEADER
from peos.wire.shuffles import VectorReader, decode_vector_header


class AnalystService:
    """Answers `peos.v1.AnalystService`."""

    def __init__(
        self, receiver: DeliveryReceiver, inspection_runner: InspectionRunner, changed: Callable[[], None]
    ) -> None:
        self._receiver = receiver
        self._inspection_runner = inspection_runner
        self._changed = changed  # called when something has come in

    def service(self) -> Service:
        """The calls, with what answers them."""
        return service(
            {DELIVER: self.deliver, GET_RECEIPT: self.receipt, GET_UNSENT: self.unsent, GET_DUMMIES: self.dummies}
        )

    async def deliver(self, chunks: AsyncIterator[bytes], context: Context) -> None:
        """A last hider's vector, or a shuffler's opening; answered once it is durable."""
        header = decode_vector_header(_vector_header(context))
        if header.header.step.kind is Kind.OPENING:
            await self._opening(header, chunks, peer_fingerprint(context))
            return
        incoming = await asyncio.to_thread(self._receiver.begin, header, peer_fingerprint(context))
        if incoming is None:
            return
        try:
            async for chunk in chunks:
                await asyncio.to_thread(incoming.feed, chunk)
        except BaseException:
            incoming.discard()
            raise
        # Once it is whole it is kept, whether or not the sender still waits for the answer.
        await asyncio.shield(asyncio.to_thread(self._finish, incoming))
        self._changed()

    async def receipt(self, digest: bytes, context: Context) -> SignedReceipt:
        """The signed receipt, once the output is complete."""
        return await asyncio.to_thread(self._receiver.receipt, digest, peer_fingerprint(context))

    async def unsent(self, digest: bytes, context: Context) -> AsyncIterator[Dummy]:
        """The dummies that were not sent, for the freeze."""
        for dummy in await asyncio.to_thread(self._inspection_runner.unsent, digest, peer_fingerprint(context)):
            yield dummy

    async def dummies(self, digest: bytes, context: Context) -> AsyncIterator[RevealedPart | SignedReveal]:
        """The dummies, for the inspection."""
        for part in await asyncio.to_thread(self._inspection_runner.reveal, digest, peer_fingerprint(context)):
            yield part

    async def _opening(self, header: VectorHeader, chunks: AsyncIterator[bytes], certificate: bytes) -> None:
        await asyncio.to_thread(self._inspection_runner.expect, header, certificate)
        reader = VectorReader(header)
        async for chunk in chunks:
            reader.feed(chunk)
        await asyncio.to_thread(self._inspection_runner.keep, header, reader.finish())
        self._changed()

    def _finish(self, incoming: IncomingVector) -> None:
        try:
            self._receiver.finish(incoming)
        finally:
            incoming.discard()


def _vector_header(context: Context) -> bytes:
    found = [value for key, value in context.invocation_metadata() or () if key == VECTOR_HEADER]
    if len(found) != 1 or not isinstance(found[0], bytes):
        raise BadEncoding("shuffle.headless", "a vector came without its header")
    return found[0]
