"""The analyst's orders: close a collection before its time, or abort it. Each is signed, and may be given again."""

import asyncio
import math
import time
from collections.abc import Callable

from analyzer.dummies import PATIENCE, Dummies
from analyzer.inspection_runner import InspectionRunner
from analyzer.shuffler_clients import ShufflerClients
from analyzer.store import CollectionRow
from analyzer.workspace import SERVING, Workspace
from peos.collection import analysis
from peos.collection.analysis import Answer
from peos.collection.dummies import SOONEST
from peos.collection.lifecycle import State
from peos.errors import PeosError
from peos.store.private_files import is_locked


def freeze(
    workspace: Workspace,
    kept: CollectionRow,
    tell: Callable[[str], None] = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
) -> None:
    """Have the dummies sent that are due, then tell every shuffler to close now; PeosError names those not reached.

    The serving process repeats the order to those: from here on the collection is closed. `tell` hears of every dummy,
    `say` of each step.
    """
    analysis.check_close(kept.name, kept.state)
    if kept.state is State.OPEN:
        _have_due_sent(workspace, kept, tell)
        kept = workspace.store.get(kept.digest)  # its time may have come meanwhile
    say("telling every shuffler to close")
    if kept.state is State.OPEN:
        workspace.store.move(kept.digest, State.CLOSED)
    _tell(workspace, kept, abort=False)


def abort(workspace: Workspace, kept: CollectionRow, reason: str = "the analyst aborted it") -> None:
    """End a collection: here at once and for good, then with every shuffler."""
    analysis.check_abort(kept.name, kept.state)
    workspace.store.move(kept.digest, State.ABORTED, reason)
    workspace.store.erase(kept.digest)  # the key first: whatever still arrives cannot be decrypted
    _tell(workspace, kept, abort=True)


def publish(workspace: Workspace, kept: CollectionRow, unopened: frozenset[int]) -> None:
    """Have an output published, also without the rows of `unopened`; Refused if others' rows were not seen either."""
    inspection_runner = InspectionRunner(workspace)
    is_delivered = kept.state is State.DELIVERED
    is_awaited = is_delivered and inspection_runner.openings(kept).are_awaited(time.time())
    unseen = inspection_runner.unseen(kept) if is_delivered else {}
    analysis.check_publish(kept.name, kept.state, unopened, unseen, is_awaited=is_awaited)
    if unopened:
        workspace.store.publish_without(kept.digest, unopened)


def _have_due_sent(workspace: Workspace, kept: CollectionRow, tell: Callable[[str], None]) -> None:
    """The dummies whose users have answered since the last look; the others are never sent.

    The serving process sends them, which knows what it has begun; if none serves, they are sent from here.
    """
    dummies, fewest, give_up_at = Dummies(workspace), math.inf, math.inf
    while workspace.store.get(kept.digest).state is State.OPEN:
        due = dummies.due(kept, dummies.answered(kept, asyncio.run(_statuses(workspace, kept))))
        if not due:
            return
        if not is_locked(workspace.config.folder / SERVING):
            dummies.send_all(kept, due, tell)
            return
        if len(due) < fewest:
            fewest, give_up_at = len(due), time.monotonic() + PATIENCE
        if time.monotonic() > give_up_at:
            raise PeosError(
                "dummies.not_accepted",
                f"{len(due)} dummies that are due were not taken within {PATIENCE:.0f} seconds",
                hint="`peos analyzer status` shows why; then give the order again",
            )
        tell(f"waiting for dummies that are due and being sent: {len(due)} left")
        time.sleep(SOONEST)


async def _statuses(workspace: Workspace, kept: CollectionRow) -> list[Answer]:
    async with ShufflerClients(workspace.keys, workspace.proposal(kept).cards[:-1]) as peers:
        return await peers.statuses(kept.digest)


def _tell(workspace: Workspace, kept: CollectionRow, *, abort: bool) -> None:
    workspace.store.note("order given", kept.digest, order="abort" if abort else "close")

    async def all_of_them() -> list[PeosError | None]:
        async with ShufflerClients(workspace.keys, workspace.proposal(kept).cards[:-1]) as peers:
            return await peers.order(kept.digest, abort=abort)

    missed = [error for error in asyncio.run(all_of_them()) if error is not None]
    if missed:
        what = "abort" if abort else "close"
        raise PeosError(
            "collection.order_missed",
            f"not every shuffler received the order to {what} {kept.name}: {'; '.join(map(str, missed))}",
            hint="the other shufflers have carried it out"
            + ("; repeat the order" if abort else "; `peos analyzer serve` repeats it until all have"),
        )
