"""An analyzer opened: its configuration, keys and store, and what is sealed in the store read back."""

import heapq
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from analyzer import keys as keys_
from analyzer.config import Config
from analyzer.store import CollectionRow, Store
from peos.collection.document import Dummy
from peos.collection.lifecycle import OVER
from peos.collection.submission import Part
from peos.collection.ticket import ID_BYTES
from peos.crypto.randomness import Randomness, system
from peos.crypto.schemes.base import KEY_BITS_FLOOR
from peos.errors import LocalFault, WrongInput
from peos.net.tls import Trust
from peos.protocols import AnalyzerKey
from peos.spec import require_name
from peos.store.bell import ring
from peos.store.private_files import private_folder
from peos.wire.documents import SignedDocument, decode_signed_document, erase_by_of
from peos.wire.parties import Proposal, decode_proposal
from peos.wire.submissions import decode_part, encode_part

DATABASE: Final = "analyzer.sqlite"
COLLECTIONS: Final = "collections"
SERVING: Final = "serving"  # locked by the process that serves
_SALT_BYTES: Final = 32
_LENGTH_BYTES: Final = 4


class Workspace:
    """Open for one command or for the serving process. `floor` is the policy for keys; tests use smaller ones."""

    def __init__(self, config: Config, *, floor: int = KEY_BITS_FLOOR, rng: Randomness | None = None) -> None:
        self.config = config
        self.floor = floor
        self.rng = rng or system()
        self.keys = keys_.load(config, self.rng)
        self.store = Store(config.folder / DATABASE, changed=lambda: ring(config.folder))

    def __repr__(self) -> str:
        return f"Workspace({self.config.folder})"

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def kept(self, name: str) -> CollectionRow:
        """The collection of that name."""
        found = self.store.named(require_name(name))
        if found is None:
            raise WrongInput(
                "input.no_collection",
                f"there is no collection {name}",
                hint="`peos analyzer status` lists those that there are",
            )
        return found

    def folder(self, kept: CollectionRow) -> Path:
        """Where a collection's vectors and its result lie."""
        private_folder(self.config.folder / COLLECTIONS)
        path = self.path(kept.name)
        private_folder(path)
        return path

    def path(self, name: str) -> Path:
        """The same folder by the collection's name, whether or not it is there."""
        return self.config.folder / COLLECTIONS / name

    def proposal(self, kept: CollectionRow) -> Proposal:
        """The proposal to the shufflers: the signed document and every party's card."""
        return decode_proposal(kept.proposal)

    def signed(self, kept: CollectionRow) -> SignedDocument:
        """The collection's document."""
        return decode_signed_document(self.proposal(kept).document, floor=self.floor)

    def private_key(self, kept: CollectionRow) -> AnalyzerKey:
        """The key that opens the output, as long as it is kept."""
        document = self.signed(kept).document
        return document.protocol.private_key(document.scheme, self._secret(kept), floor=self.floor)

    def _secret(self, kept: CollectionRow) -> bytes:
        if kept.key is None:
            raise LocalFault(
                "key.erased",
                f"the decryption key of {kept.name} was erased",
                hint="nothing of it can be decrypted any more; create another collection",
            )
        return self.keys.vault.open("key", kept.name.encode(), sealed=kept.key)

    def dummies(self, kept: CollectionRow) -> list[Dummy]:
        """The reports that the analyzer owns; they must be those that the document commits to."""
        document = self.signed(kept).document
        encoded = self.keys.vault.open("dummies", kept.name.encode(), sealed=kept.dummies)
        found = unpack_dummies(encoded, document.mechanism.words)
        if tuple(dummy.commitment for dummy in found) != document.dummies:
            raise LocalFault(
                "dummies.not_those",
                "the dummies that are kept are not those of the document",
                hint="restore the analyzer's folder",
            )
        return found

    def seal_parts(self, kept: CollectionRow, prepared: list[tuple[Part, ...]]) -> bytes:
        """The dummies' parts, as the store keeps them."""
        encoded = [encode_part(part) for parts in prepared for part in parts]
        content = b"".join(len(one).to_bytes(_LENGTH_BYTES, "big") + one for one in encoded)
        return self.keys.vault.seal("parts", kept.digest, content=content)

    def open_parts(self, kept: CollectionRow, sealed: bytes) -> list[tuple[Part, ...]]:
        """The dummies' parts, one tuple a dummy."""
        content, at, found = self.keys.vault.open("parts", kept.digest, sealed=sealed), 0, []
        while at < len(content):
            end = at + _LENGTH_BYTES + int.from_bytes(content[at : at + _LENGTH_BYTES], "big")
            found.append(decode_part(content[at + _LENGTH_BYTES : end]))
            at = end
        shufflers = len(self.signed(kept).document.shufflers)
        return [tuple(found[first : first + shufflers]) for first in range(0, len(found), shufflers)]


class Admission:
    """Lets in the shufflers of every collection until it is over everywhere."""

    def __init__(self, workspace: Workspace, trust: Trust) -> None:
        self._workspace = workspace
        self._trust = trust
        self._known: set[bytes] = set()
        self._leaving: list[tuple[float, bytes]] = []  # a heap: when no party can ask about a collection any more
        now = time.time()
        for digest, proposal in workspace.store.over_proposals():
            until = erase_by_of(decode_proposal(proposal).document)
            if now < until:
                self._admit(digest, decode_proposal(proposal), until)

    def look(self, live: Sequence[CollectionRow]) -> float:
        """Let in the shufflers of new collections, and those of ended ones no longer; when to look again."""
        for kept in live:
            if kept.digest not in self._known:
                self._admit(kept.digest, self._workspace.proposal(kept), self._workspace.signed(kept).document.erase_by)
        going_on = {kept.digest for kept in live if kept.state not in OVER}
        later, now = [], time.time()
        while self._leaving and self._leaving[0][0] <= now:
            until, digest = heapq.heappop(self._leaving)
            if digest in going_on:
                later.append((until, digest))
            else:
                self._trust.drop(digest)
        due = self._leaving[0][0] if self._leaving else math.inf
        for one in later:
            heapq.heappush(self._leaving, one)
        return due

    def _admit(self, digest: bytes, proposal: Proposal, until: float) -> None:
        self._trust.admit([card.peer_certificate for card in proposal.cards[:-1]], digest)
        self._known.add(digest)
        heapq.heappush(self._leaving, (until, digest))


def pack_dummies(dummies: list[Dummy]) -> bytes:
    """Salt, id and words of each, one after another."""
    return b"".join(dummy.salt + dummy.id + dummy.words.astype("<u8").tobytes() for dummy in dummies)


def unpack_dummies(content: bytes, words: int) -> list[Dummy]:
    """The inverse of `pack_dummies`."""
    size = _SALT_BYTES + ID_BYTES + 8 * words
    rows = [content[at : at + size] for at in range(0, len(content), size)]
    head = _SALT_BYTES + ID_BYTES
    return [
        Dummy(row[:_SALT_BYTES], row[_SALT_BYTES:head], np.frombuffer(row[head:], "<u8").astype(np.uint64))
        for row in rows
    ]
