"""The analyst's orders: close a collection before its time, or abort it. Each is signed, and may be given again."""

import asyncio
from collections.abc import Callable
from typing import Final

from analyzer.dummies import Dummies
from analyzer.home import Home
from analyzer.peers import Answer, Peers
from analyzer.store import OVER, Kept
from peos.collection.lifecycle import State
from peos.errors import Closed, PeosError

_SHOWS: Final = "`peos analyzer result` shows what came of it"


def freeze(home: Home, kept: Kept, tell: Callable[[str], None] = lambda _: None) -> None:
    """Have the last dummies sent, then tell every shuffler to close now; PeosError names those that were not told."""
    if kept.state is State.DRAFT:
        raise Closed(f"{kept.name} is not open yet: there is nothing to close", hint="`peos analyzer abort` ends it")
    if kept.state in (*OVER, State.DELIVERED):
        raise Closed(f"{kept.name} is {kept.state}: there is nothing left to close", hint=_SHOWS)
    if kept.state is State.OPEN:
        dummies = Dummies(home)
        if dummies.left(kept):
            dummies.send_rest(kept, asyncio.run(_statuses(home, kept)), tell)
    _tell(home, kept, abort=False)
    if kept.state is State.OPEN:
        home.store.move(kept.digest, State.CLOSED)


def abort(home: Home, kept: Kept, reason: str = "the analyst aborted it") -> None:
    """End a collection: here at once and for good, then with every shuffler."""
    if kept.state is State.PUBLISHED:
        raise Closed(f"{kept.name} is published: that cannot be undone", hint=_SHOWS)
    home.store.move(kept.digest, State.ABORTED, reason)
    home.store.erase(kept.digest)  # the key first: whatever still arrives, nobody can decrypt it
    _tell(home, kept, abort=True)


async def _statuses(home: Home, kept: Kept) -> list[Answer]:
    async with Peers(home.keys, home.proposal(kept).cards[:-1]) as peers:
        return await peers.statuses(kept.digest)


def _tell(home: Home, kept: Kept, *, abort: bool) -> None:
    home.store.note("order given", kept.digest, order="abort" if abort else "close")

    async def all_of_them() -> list[PeosError | None]:
        async with Peers(home.keys, home.proposal(kept).cards[:-1]) as peers:
            return await peers.order(kept.digest, abort=abort)

    missed = [error for error in asyncio.run(all_of_them()) if error is not None]
    if missed:
        what = "abort" if abort else "close"
        raise PeosError(
            f"not every shuffler was told to {what} {kept.name}: {'; '.join(map(str, missed))}",
            hint="give the same order again; those that were told have carried it out",
        )
