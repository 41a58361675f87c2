"""From the stored vector to the analyzer's receipt."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from peos.collection.document import Document
from peos.crypto.kdf import Context
from peos.crypto.randomness import system
from peos.errors import NotYet
from peos.net.calls import Caller
from peos.net.observer import Observer
from peos.net.retry import FOREVER, retrying
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.shuffle.effects import Receipt
from peos.shuffle.messages import Header, Kind, SignedReceipt, Step
from peos.store.mapped import OneWayReader
from peos.wire.methods import DELIVER, GET_RECEIPT
from shuffler.events import (
    Delivered,
    NoReceipt,
    ReceiptAnswered,
    ReceiptNotSigned,
    ReceiptOfAnotherAttempt,
    ReceiptOfAnotherList,
    VectorNotRead,
    VectorNotSent,
)
from shuffler.outbox import send_vector
from shuffler.store_thread import StoreThread

ANALYZER: Final = 0
_UNTIL_THERE: Final = replace(FOREVER, ceiling=30.0)


class DeliveryRunner:
    """One last hider's part of the output, sent again and again; and the receipt, for every shuffler."""

    def __init__(
        self,
        number: int,
        document: Document,
        context: Context,
        store: StoreThread,
        analyzer: Caller,
        observer: Observer,
    ) -> None:
        self.rows = 0  # that have left
        self.total = 0
        self.receipt: SignedReceipt | None = None
        self._number = number
        self._document = document
        self._context = context
        self._store = store
        self._analyzer = analyzer
        self._observer = observer

    async def send(self, delivery_state: DeliveryState) -> None:
        """Send the stored vector until the analyzer has it whole; LocalFault if it cannot be read any more."""
        collection = self._context.collection
        rows = await self._store.persistently(
            lambda store: store.final_vector(collection), lambda error: self._observer.note(VectorNotRead(error))
        )
        context = Context(self._context.collection, self._context.frozen, delivery_state.attempt)
        header = Header(context, Step(len(self._document.schedule.rounds), Kind.DELIVERY), self._number, ANALYZER)
        self.total = len(rows)
        given, progress = delivery_state.transcript, self._left
        await retrying(
            lambda: send_vector(
                self._analyzer, DELIVER, header, OneWayReader(rows), transcript=given, progress=progress
            ),
            _UNTIL_THERE,
            rng=system(),
            on_failure=lambda error, _: self._observer.note(VectorNotSent(error)),
        )
        self._observer.note(Delivered(delivery_state.attempt, int(rows.nbytes)))

    async def watch(
        self, delivery_state: Callable[[], DeliveryState], give: Callable[[Receipt], None], *, every: float
    ) -> None:
        """Ask for the receipt for as long as there may be one; who passes by learns from it that all is over."""
        last = self._document.schedule.last
        while True:
            await asyncio.sleep(every)  # no retry: others may have completed the output at any time
            here = delivery_state()
            if here.phase is not Phase.SENDING and (self._number in last or here.attempt == 0):
                continue
            await self._look(here, give)

    async def _look(self, here: DeliveryState, give: Callable[[Receipt], None]) -> None:
        try:
            receipt: SignedReceipt = await self._analyzer.ask(GET_RECEIPT, self._context.collection, step="receipt")
        except NotYet:
            self._observer.note(ReceiptAnswered())
            return
        except Exception as error:
            self._observer.note(NoReceipt(error))
            return
        self._observer.note(ReceiptAnswered())
        of = receipt.context
        if (of.collection, of.frozen) != (self._context.collection, self._context.frozen):
            self._observer.note(ReceiptOfAnotherList())
        elif not receipt.verifies(self._document.analyzer.identity):
            self._observer.note(ReceiptNotSigned())
        elif here.phase is Phase.SENDING and (of.attempt, receipt.transcript) != (here.attempt, here.transcript):
            self._observer.note(ReceiptOfAnotherAttempt(of.attempt))
        else:
            self.receipt = receipt
            give(Receipt(of.attempt))

    def _left(self, rows: int) -> None:
        self.rows = rows
