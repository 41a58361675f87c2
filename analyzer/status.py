"""Where collections stand, here and with each shuffler: what is waited for, from whom, how far, how long, and why."""

import asyncio
import json
import time
from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any

from analyzer import troubles
from analyzer.inspection_runner import InspectionRunner
from analyzer.shuffler_clients import ShufflerClients
from analyzer.store import CollectionRow
from analyzer.workspace import Workspace
from peos.collection import analysis
from peos.collection.analysis import Answer, in_their_place
from peos.collection.cards import Card, party, plain_text
from peos.collection.lifecycle import OVER, State
from peos.collection.replies import Status
from peos.collection.status import Line, Overview, Waiting
from peos.errors import PeosError


def status(workspace: Workspace, found: Sequence[CollectionRow]) -> list[Overview]:
    """Where each collection stands, as `status` shows it."""
    return [_one(workspace, kept) for kept in found]


def published(kept: CollectionRow) -> dict[str, Any] | None:
    """A collection's result, if there is one yet; PeosError if there never will be."""
    if kept.result is not None:
        found: dict[str, Any] = json.loads(kept.result)
        return found
    if kept.state is State.ABORTED:
        raise PeosError(
            "result.aborted",
            f"{kept.name} was aborted: {kept.reason}",
            hint="create another collection, under another name",
        )
    return None


def not_yet(standing: str) -> PeosError:
    """There is no result yet, and what it waits for."""
    return PeosError("result.not_yet", f"there is no result yet: {standing}", hint="--wait SECONDS waits for it")


def _one(workspace: Workspace, kept: CollectionRow) -> Overview:
    cards = workspace.proposal(kept).cards[:-1]
    answers: list[Answer] = [] if kept.state in OVER else asyncio.run(_ask(workspace, kept, cards))
    lines = tuple(
        _shuffler(number, card, answer)
        for number, (card, answer) in enumerate(zip(cards, answers, strict=False), start=1)
    )
    reason = kept.reason or _withheld(workspace, kept) or troubles.told(workspace.config.folder, kept.digest)
    name = f"{kept.name}  {kept.digest.hex()[:16]}…"
    here = Line(name, kept.state.value, reason, waiting=awaited(workspace, kept, lines))
    now = workspace.store.get(kept.digest)
    if now.state is not kept.state:  # it moved on while the shufflers were asked
        return _one(workspace, now)
    return Overview(kept.name, kept.digest, workspace.signed(kept).document.closes_at, here, lines)


async def _ask(workspace: Workspace, kept: CollectionRow, cards: tuple[Card, ...]) -> list[Answer]:
    async with ShufflerClients(workspace.keys, cards) as peers:
        return await peers.statuses(kept.digest)


def _shuffler(number: int, card: Card, answer: Answer) -> Line:
    name = party(number, card)
    if not isinstance(answer, Status):
        return Line(name, "", str(answer), 0)
    if not answer.known:
        return Line(name, "", "it does not know the collection", 0)
    waiting = Waiting(
        plain_text(answer.step),
        tuple(plain_text(one) for one in answer.waited_for),
        *(answer.done, answer.total, answer.seconds),
    )
    refused = tuple(plain_text(one) for one in answer.refused)
    return Line(name, plain_text(answer.state), plain_text(answer.reason), answer.reports, waiting, refused)


def _withheld(workspace: Workspace, kept: CollectionRow) -> str:
    """Why an output that was inspected is not published, and what to do."""
    inspection_runner = InspectionRunner(workspace)
    if kept.state is not State.DELIVERED or not kept.total or kept.done < kept.total:
        return ""
    openings = inspection_runner.openings(kept)
    if openings.are_awaited(time.time()):
        return ""
    unseen = inspection_runner.unseen(kept)
    told = ", ".join(f"shuffler {who} showed nothing or too little ({why})" for who, why in sorted(unseen.items()))
    return f"not published: {told}. {in_their_place(kept.name, unseen)}" if unseen.keys() - openings.accepted else ""


def awaited(workspace: Workspace, kept: CollectionRow, lines: Sequence[Line] = ()) -> Waiting:
    """What the collection waits for: as the shufflers say in their `lines`; without these, as far as is known here."""
    if not lines:
        cards = enumerate(workspace.proposal(kept).cards[:-1], start=1)
        lines = [Line(party(number, card), "") for number, card in cards]
    document, inspection_runner = workspace.signed(kept).document, InspectionRunner(workspace)
    opened: Set[int] | None = None
    is_withheld = False
    if kept.state is State.DELIVERED and kept.total and kept.done == kept.total and document.protocol.inspects:
        openings = inspection_runner.openings(kept)
        opened = openings.came
        unseen = inspection_runner.unseen(kept).keys() - openings.accepted
        is_withheld = bool(unseen) and not openings.are_awaited(time.time())
    delivered = {header.header.sender for header in workspace.store.deliveries(kept.digest)}
    dummies = len(workspace.store.dummies_taken(kept.digest))
    progress = analysis.Progress(dummies, delivered, (kept.done, kept.total), opened, is_withheld)
    found = analysis.waiting(document, kept.state, lines, progress)
    return replace(found, seconds=max(0.0, time.time() - kept.since)) if found.step else found
