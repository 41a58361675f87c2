"""The analyst's orders: close a collection before its time, or abort it. Each is signed, and may be given again."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from analyzer.dummies import Dummies
from analyzer.home import Home
from analyzer.inspecting import Inspecting
from analyzer.peers import Answer, Peers
from analyzer.store import OVER, Kept
from peos.collection.lifecycle import State
from peos.errors import Closed, NotYet, PeosError, Refused, WrongInput

_STANDS: Final = "`peos analyzer status` shows what is waited for"
_SHOWS: Final = "`peos analyzer result` shows what came of it"


def freeze(home: Home, kept: Kept, tell: Callable[[str], None] = lambda _: None) -> None:
    """Have the last dummies sent, then tell every shuffler to close now; PeosError names those that were not told."""
    if kept.state is State.DRAFT:
        raise Closed(
            "collection.not_open",
            f"{kept.name} is not open yet: there is nothing to close",
            hint="`peos analyzer abort` ends it",
        )
    if kept.state in (*OVER, State.DELIVERED):
        raise Closed("collection.closed", f"{kept.name} is {kept.state}: there is nothing left to close", hint=_SHOWS)
    if kept.state is State.OPEN:
        dummies = Dummies(home)
        if dummies.left(kept):
            dummies.send_rest(kept, asyncio.run(_statuses(home, kept)), tell)
    tell("telling every shuffler to close")
    _tell(home, kept, abort=False)
    if kept.state is State.OPEN:
        home.store.move(kept.digest, State.CLOSED)


def abort(home: Home, kept: Kept, reason: str = "the analyst aborted it") -> None:
    """End a collection: here at once and for good, then with every shuffler."""
    if kept.state is State.PUBLISHED:
        raise Closed("collection.published", f"{kept.name} is published: that cannot be undone", hint=_SHOWS)
    home.store.move(kept.digest, State.ABORTED, reason)
    home.store.erase(kept.digest)  # the key first: whatever still arrives, nobody can decrypt it
    _tell(home, kept, abort=True)


def publish(home: Home, kept: Kept, unopened: frozenset[int]) -> None:
    """Have an output published, also without the rows of `unopened`; Refused if others' rows were not seen either."""
    if kept.state in OVER:
        raise Closed("result.past", f"{kept.name} is {kept.state}: there is nothing left to publish", hint=_SHOWS)
    if kept.state is not State.DELIVERED:
        raise NotYet("result.early", f"{kept.name} is {kept.state}: there is nothing to publish yet", hint=_STANDS)
    inspecting = Inspecting(home)
    if inspecting.is_awaited(kept):
        raise NotYet(
            "result.inspecting",
            f"the inspection of {kept.name} is not over: shufflers may still show their rows",
            hint=_STANDS,
        )
    unseen = inspecting.unseen(kept)
    if seen := sorted(unopened - unseen.keys()):
        whom = ", ".join(f"shuffler {who}" for who in seen)
        raise WrongInput(
            "input.unopened_seen",
            f"--unopened names {whom}, whose rows were seen",
            hint=f"not seen: {_list(unseen) or 'nobody'}",
        )
    if left := {who: why for who, why in unseen.items() if who not in unopened}:
        raise Refused(
            "result.unopened",
            f"{kept.name} is not published: the rows of {_named(left)} were not seen",
            hint=in_their_place(kept.name, unseen),
        )
    if unopened:
        home.store.publish_without(kept.digest, unopened)


def in_their_place(name: str, unseen: Iterable[int]) -> str:
    """What an analyst may do about rows that were not seen."""
    return (
        f"`peos analyzer publish {name} --unopened {_list(unseen)}` publishes all the same, and the result says so; "
        f"`peos analyzer abort {name}` ends it"
    )


def _list(shufflers: Iterable[int]) -> str:
    return ",".join(map(str, sorted(shufflers)))


def _named(unseen: Mapping[int, str]) -> str:
    return ", ".join(f"shuffler {who} ({why})" for who, why in sorted(unseen.items()))


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
            "collection.order_missed",
            f"not every shuffler was told to {what} {kept.name}: {'; '.join(map(str, missed))}",
            hint="give the same order again; those that were told have carried it out",
        )
