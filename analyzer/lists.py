"""The lists behind an output, as their shufflers signed them: their roots are published with the result.

With them every user can check that what her shufflers show her is what the result is of (`peos client verify`).
"""

import asyncio
from typing import Any

from analyzer.events import ListsNotShown, ListsOfAnotherOutput
from analyzer.shuffler_clients import ShufflerClients
from analyzer.store import CollectionRow
from analyzer.workspace import Workspace
from peos.collection.membership import FrozenLists
from peos.errors import PeosError
from peos.net.observer import Observer


def lists_of(workspace: Workspace, kept: CollectionRow, frozen: bytes, observer: Observer) -> dict[str, Any] | None:
    """For result.json: all announced roots and the frozen one, signed; None if no shuffler shows them.

    One shuffler's word is enough, since all lists are signed; those that do not answer are asked a few times.
    """
    document = workspace.signed(kept).document
    identities = [member.identity for member in document.shufflers]
    shown: dict[int, FrozenLists] = {}
    for number, found in enumerate(asyncio.run(_asked(workspace, kept, observer)), start=1):
        if isinstance(found, PeosError):
            observer.note(ListsNotShown(found))
        elif found.is_signed(number, kept.digest, identities) and found.frozen.digest == frozen:
            shown[number] = found
        else:
            observer.note(ListsOfAnotherOutput(f"shuffler {number}"))
    if not shown:
        return None
    first = next(iter(shown.values()))
    return {
        "rows": first.count,
        "root": first.root.hex(),
        "frozen": frozen.hex(),
        "signed": [
            {"shuffler": number, "signature": lists.frozen.signature.hex()} for number, lists in sorted(shown.items())
        ],
        "announced": [
            {
                "shuffler": one.shuffler,
                "name": document.shufflers[one.shuffler - 1].name,
                "rows": one.count,
                "root": one.root.hex(),
                "signature": one.signature.hex(),
            }
            for one in first.announcements.held
        ],
    }


async def _asked(workspace: Workspace, kept: CollectionRow, observer: Observer) -> list[FrozenLists | PeosError]:
    async with ShufflerClients(workspace.keys, workspace.proposal(kept).cards[:-1]) as peers:
        return await peers.frozen_lists(kept.digest, lambda error, _: observer.note(ListsNotShown(error)))
