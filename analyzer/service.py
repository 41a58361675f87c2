"""The analyzer's one port, where the shufflers deliver and ask for the receipt."""

import asyncio
from collections.abc import AsyncIterator

from analyzer.receiving import Incoming, Receiving
from peos.errors import BadEncoding
from peos.net.calls import Service, service
from peos.net.guard import Context, peer_fingerprint
from peos.shuffle.messages import SignedReceipt
from peos.wire.methods import DELIVER, GET_RECEIPT, VECTOR_HEADER
from peos.wire.shuffles import decode_vector_header


class Analyst:
    """Answers `peos.v1.Analyst`."""

    def __init__(self, receiving: Receiving) -> None:
        self._receiving = receiving

    def service(self) -> Service:
        """The calls, with what answers them."""
        return service({DELIVER: self.deliver, GET_RECEIPT: self.receipt})

    async def deliver(self, chunks: AsyncIterator[bytes], context: Context) -> None:
        """A last hider's vector; answered once it is durable."""
        header = decode_vector_header(_vector_header(context))
        incoming = await asyncio.to_thread(self._receiving.begin, header, peer_fingerprint(context))
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

    async def receipt(self, digest: bytes, context: Context) -> SignedReceipt:
        """The signed receipt, once the output is complete."""
        return await asyncio.to_thread(self._receiving.receipt, digest, peer_fingerprint(context))

    def _finish(self, incoming: Incoming) -> None:
        try:
            self._receiving.finish(incoming)
        finally:
            incoming.discard()


def _vector_header(context: Context) -> bytes:
    found = [value for key, value in context.invocation_metadata() or () if key == VECTOR_HEADER]
    if len(found) != 1 or not isinstance(found[0], bytes):
        raise BadEncoding("a vector came without its header")
    return found[0]
