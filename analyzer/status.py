"""Where collections stand, here and with each shuffler: what is waited for, from whom, how far, how long, and why."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from analyzer import troubles
from analyzer.inspection_runner import InspectionRunner
from analyzer.shuffler_clients import ShufflerClients
from analyzer.store import CollectionRow
from analyzer.workspace import Workspace
from peos.collection.analysis import Answer, in_their_place
from peos.collection.cards import Card, party, plain_text
from peos.collection.lifecycle import OVER, State
from peos.collection.replies import Status


def status(home: Workspace, found: Sequence[CollectionRow]) -> list[dict[str, Any]]:
    """Each collection as `status --json` shows it."""
    return [_one(home, kept) for kept in found]


def _one(home: Workspace, kept: CollectionRow) -> dict[str, Any]:
    cards = home.proposal(kept).cards[:-1]
    answers: list[Answer] = [] if kept.state in OVER else asyncio.run(_ask(home, kept, cards))
    shufflers = [
        _shuffler(number, card, answer)
        for number, (card, answer) in enumerate(zip(cards, answers, strict=False), start=1)
    ]
    return {
        "name": kept.name,
        "digest": kept.digest.hex(),
        "state": kept.state.value,
        "reason": kept.reason or _withheld(home, kept) or troubles.told(home.config.folder, kept.digest),
        "closes_at": home.signed(kept).document.closes_at,
        "waiting": _waiting(home, kept, shufflers),
        "refused": [f"{line['party']}: {one}" for line in shufflers for one in line["refused"]],
        "shufflers": shufflers,
    }


async def _ask(home: Workspace, kept: CollectionRow, cards: tuple[Card, ...]) -> list[Answer]:
    async with ShufflerClients(home.keys, cards) as peers:
        return await peers.statuses(kept.digest)


def _shuffler(number: int, card: Card, answer: Answer) -> dict[str, Any]:
    line: dict[str, Any] = {"party": party(number, card), "state": None, "reason": "", "reports": 0}
    line |= {"step": "", "from": [], "done": 0, "total": 0, "seconds": 0, "refused": []}
    if not isinstance(answer, Status):
        return line | {"reason": str(answer)}
    if not answer.known:
        return line | {"reason": "it does not know the collection"}
    return line | {
        "state": plain_text(answer.state),
        "reason": plain_text(answer.reason),
        "reports": answer.reports,
        "step": plain_text(answer.step),
        "from": [plain_text(one) for one in answer.waited_for],
        "done": answer.done,
        "total": answer.total,
        "seconds": answer.seconds,
        "refused": [plain_text(one) for one in answer.refused],
    }


def _withheld(home: Workspace, kept: CollectionRow) -> str:
    """Why an output that was inspected is not published, and what to do."""
    inspecting = InspectionRunner(home)
    if kept.state is not State.DELIVERED or not kept.total or kept.done < kept.total or inspecting.is_awaited(kept):
        return ""
    accepted = inspecting.accepted(kept)
    unseen = inspecting.unseen(kept)
    told = ", ".join(f"shuffler {who} showed nothing or too little ({why})" for who, why in sorted(unseen.items()))
    return f"not published: {told}. {in_their_place(kept.name, unseen)}" if unseen.keys() - accepted else ""


def _waiting(home: Workspace, kept: CollectionRow, shufflers: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The one thing that is waited for, or nothing."""
    seconds = max(0, int(time.time() - kept.since))
    document = home.signed(kept).document

    def wait(step: str, whom: list[str], done: int, total: int) -> dict[str, Any]:
        return {"step": step, "from": whom, "done": done, "total": total, "seconds": seconds}

    match kept.state:
        case State.DRAFT:
            missing = [line["party"] for line in shufflers if line["state"] in (None, State.DRAFT)]
            return wait("acceptance", missing, len(shufflers) - len(missing), len(shufflers))
        case State.OPEN:
            here = min((line["reports"] for line in shufflers if line["state"] is not None), default=0)
            return wait("submissions", ["users"], max(0, here - len(document.dummies)), document.minimum)
        case State.CLOSED | State.SHUFFLING:
            delivered = {header.header.sender for header in home.store.deliveries(kept.digest)}
            last = document.schedule.last
            behind = [line for number, line in enumerate(shufflers, start=1) if number in set(last) - delivered]
            # A shuffler that waits for others is not who holds things up.
            named = sorted({one for line in behind for one in line["from"]}) or [line["party"] for line in behind]
            steps = sorted({line["step"] for line in behind if line["step"]})
            return wait("; ".join(steps) or "delivery", named, len(delivered), len(last))
        case State.DELIVERED:
            if kept.total and kept.done == kept.total and document.protocol.inspects:
                inspecting = InspectionRunner(home)
                if not inspecting.is_awaited(kept) and inspecting.unseen(kept).keys() - inspecting.accepted(kept):
                    return wait("the analyst's word", ["the analyst"], 0, 1)
                silent = set(range(1, len(shufflers) + 1)) - inspecting.came(kept)
                whom = [shufflers[who - 1]["party"] for who in sorted(silent)]
                return wait("the inspection", whom, len(shufflers) - len(silent), len(shufflers))
            return wait("decryption", ["analyzer"], kept.done, kept.total)
        case _:
            return None


def in_words(line: dict[str, Any]) -> list[str]:
    """One collection for a person: a sentence, and one for each shuffler that has something to say."""
    told = f"{line['name']}  {line['digest'][:16]}…  {line['state']}"
    if line["reason"]:
        told += f": {line['reason']}"
    waiting = line["waiting"]
    if waiting:
        whom = f" from {', '.join(waiting['from'])}" if waiting["from"] else ""
        told += (
            f"; waiting for {waiting['step']}{whom}: {waiting['done']:,} of {waiting['total']:,}, "
            f"{waiting['seconds']:,} s"
        )
    sentences = [told]
    for shuffler in line["shufflers"]:
        here = f"  {shuffler['party']}: {shuffler['state'] or 'not reached'}, {shuffler['reports']:,} submissions"
        if shuffler["step"]:
            whom = f" from {', '.join(shuffler['from'])}" if shuffler["from"] else ""
            here += (
                f"; {shuffler['step']}{whom}, {shuffler['done']:,} of {shuffler['total']:,}, {shuffler['seconds']} s"
            )
        if shuffler["reason"]:
            here += f"; {shuffler['reason']}"
        sentences.append(here)
    return [*sentences, *(f"  refused: {one}" for one in line["refused"])]
