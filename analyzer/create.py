"""From a draft to an open collection: every shuffler accepts, the dummies are made, users are invited.

Each step is durable before the next begins, and each may be repeated: running the command again goes on.
"""

import asyncio
import time
from pathlib import Path
from typing import Final

from analyzer.draft import draft
from analyzer.dummies import Dummies
from analyzer.shuffler_clients import ShufflerClients
from analyzer.store import CollectionRow
from analyzer.workspace import Workspace
from peos.cli.progress import Progress
from peos.collection import analysis
from peos.collection.analysis import Answer
from peos.collection.cards import Card, party
from peos.collection.lifecycle import State
from peos.collection.replies import Status
from peos.errors import PeosError
from peos.net.errors import is_retryable
from peos.spec import CollectionSpec
from peos.store.private_files import PUBLIC, private_folder, write_durably
from peos.tasks.views import Catalogue
from peos.wire.parties import encode_invitation

ASK_EVERY: Final = 1.0


async def create(
    workspace: Workspace, spec: CollectionSpec, progress: Progress, *, wait: float, every: float = ASK_EVERY
) -> CollectionRow:
    """The collection of that spec, open: made now, or gone on with from wherever it is."""
    kept = await asyncio.to_thread(draft, workspace, spec, progress)
    return await open_collection(workspace, kept, progress, wait=wait, every=every)


async def open_collection(
    workspace: Workspace, kept: CollectionRow, progress: Progress, *, wait: float, every: float = ASK_EVERY
) -> CollectionRow:
    """Bring a collection from wherever it is to open, its dummies ready to be sent; PeosError says what is missing."""
    analysis.check_open(kept.name, kept.state, kept.reason)
    if kept.state is State.DRAFT:
        await _until_accepted(workspace, kept, progress, wait=wait, every=every)
        # Before it is open: the serving process sends them from then on.
        await asyncio.to_thread(Dummies(workspace).keep, kept)
        workspace.store.move(kept.digest, State.OPEN)
    return workspace.kept(kept.name)


def write_invitation(workspace: Workspace, kept: CollectionRow, folder: Path, catalogue: bytes | None = None) -> Path:
    """The invitation to hand to users, with the catalogue that goes with it, if one does; the same bytes each time."""
    path = folder / f"{kept.name}.invitation"
    if not folder.is_dir():
        private_folder(folder)
    if catalogue is not None:
        write_durably(path.with_suffix(Catalogue.suffix), [catalogue], mode=PUBLIC)
    signed_cards = workspace.proposal(kept).signed_cards[:-1]
    write_durably(path, [encode_invitation(kept.digest, signed_cards)], mode=PUBLIC)
    return path


async def _until_accepted(
    workspace: Workspace, kept: CollectionRow, progress: Progress, *, wait: float, every: float
) -> None:
    cards = workspace.proposal(kept).cards[:-1]
    document = workspace.signed(kept).document
    give_up_at = time.monotonic() + wait
    async with ShufflerClients(workspace.keys, cards) as peers:
        progress.say(f"proposing {kept.name} to {len(cards)} shufflers, as {kept.digest.hex()[:16]}…")
        unknown = set(range(1, len(cards) + 1))
        while True:
            refused = await peers.propose(kept.proposal, unknown)
            answers = dict(enumerate(await peers.statuses(kept.digest), start=1))
            unknown = {who for who, answer in answers.items() if not isinstance(answer, Status) or not answer.known}
            waiting = [
                sentence
                for who, answer in answers.items()
                if (sentence := _not_accepted(party(who, cards[who - 1]), answer, refused.get(who)))
            ]
            if not waiting:
                return
            if late := analysis.too_late(kept.name, document, time.time(), waiting):
                workspace.store.move(kept.digest, State.ABORTED, f"not accepted before it closed: {waiting[0]}")
                raise late
            if time.monotonic() >= give_up_at:
                raise PeosError(
                    "collection.waiting",
                    "; ".join(waiting),
                    hint="run the same command again to go on waiting, or abort the collection",
                )
            progress.waiting("; ".join(waiting))
            await asyncio.sleep(every)  # no retry: operators are waited for, who may take hours


def _not_accepted(name: str, answer: Answer, refused: PeosError | None) -> str:
    may_pass = refused is not None and is_retryable(refused)
    return analysis.not_accepted(name, answer, refused, may_pass=may_pass)


def invited(cards: tuple[Card, ...]) -> str:
    """The shufflers' names, for the analyst."""
    return ", ".join(party(number, card) for number, card in enumerate(cards, start=1))
