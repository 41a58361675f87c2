"""Calls to the shufflers of one collection: proposals, orders, status."""

import asyncio
from types import TracebackType
from typing import Final, Self

from analyzer.keys import Keys
from peos.collection.analysis import Answer
from peos.collection.cards import Card, party
from peos.collection.membership import FrozenLists
from peos.collection.replies import Status
from peos.crypto.randomness import Randomness, system
from peos.errors import PeosError, RemoteFault
from peos.net.calls import Caller
from peos.net.client import channel
from peos.net.retry import ONCE, OnFailure, Retry, retrying
from peos.wire.methods import CLOSE, GET_FROZEN_LISTS, PROPOSE, STATUS
from peos.wire.parties import sign_order

STATUS_TIMEOUT: Final = 5.0
PROPOSE_TIMEOUT: Final = 60.0  # a shuffler checks the key, which takes a while
LISTS: Final = Retry(attempts=5, base=2.0)  # a result without them is published all the same
A_FEW: Final = Retry(attempts=4, base=0.5)  # the analyst may repeat an order


class ShufflerClients:
    """Channels to every shuffler, open for the length of a `with`."""

    def __init__(self, keys: Keys, cards: tuple[Card, ...], rng: Randomness | None = None) -> None:
        self._keys = keys
        self._cards = cards
        self._rng = rng or system()
        self._callers: list[tuple[Caller, Caller]] = []

    async def __aenter__(self) -> Self:
        for number, card in enumerate(self._cards, start=1):
            reach = channel(card.peer_address, card.peer_certificate, self._keys.certificate)
            name = party(number, card)
            self._callers.append(
                (Caller(reach, name, self._rng, policy=A_FEW), Caller(reach, name, self._rng, policy=ONCE))
            )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for caller, _ in self._callers:
            await caller.close()

    async def propose(self, proposal: bytes, to: set[int]) -> dict[int, PeosError]:
        """Propose once to shufflers by number; a refusal, or why one cannot be reached, by its number."""

        async def one(number: int) -> tuple[int, PeosError | None]:
            try:
                await self._callers[number - 1][1].ask(PROPOSE, proposal, step="proposal", timeout=PROPOSE_TIMEOUT)
            except PeosError as error:
                return number, error
            return number, None

        answers = await asyncio.gather(*(one(number) for number in sorted(to)))
        return {number: error for number, error in answers if error is not None}

    async def order(self, collection: bytes, *, abort: bool) -> list[PeosError | None]:
        """The signed order to close, or to abort, to all at once."""
        order = sign_order(collection, self._keys.identity, abort=abort)

        async def one(caller: Caller) -> PeosError | None:
            try:
                await caller.ask(CLOSE, order, step="order")
            except PeosError as error:
                return error
            return None

        return list(await asyncio.gather(*(one(caller) for caller, _ in self._callers)))

    async def frozen_lists(self, collection: bytes, on_failure: OnFailure) -> list[FrozenLists | PeosError]:
        """Each shuffler's frozen lists, asked for a few times; `on_failure` hears of all but the last."""

        async def one(caller: Caller) -> FrozenLists | PeosError:
            try:
                found: FrozenLists = await retrying(
                    lambda: caller.ask(GET_FROZEN_LISTS, collection, step="lists"),
                    LISTS,
                    rng=self._rng,
                    on_failure=on_failure,
                )
            except PeosError as error:
                return error
            return found

        return list(await asyncio.gather(*(one(quick) for _, quick in self._callers)))

    async def statuses(self, collection: bytes) -> list[Answer]:
        """Where the collection stands with each, asked once."""

        async def one(caller: Caller) -> Answer:
            try:
                found: Status = await caller.ask(STATUS, collection, step="status", timeout=STATUS_TIMEOUT)
            except PeosError as error:
                return error
            if found.collection != collection:
                return RemoteFault(
                    "status.collection", "answered about another collection", party=caller.party, step="status"
                )
            return found

        return list(await asyncio.gather(*(one(quick) for _, quick in self._callers)))
