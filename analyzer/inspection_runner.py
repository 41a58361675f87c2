"""The inspection at the analyzer: the dummies revealed once an output is here, the openings kept, and judged.

Blocking: called from threads. The openings lie with the vectors and are erased with them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from analyzer.delivery_receiver import VECTORS
from analyzer.store import CollectionRow
from analyzer.workspace import Workspace
from peos.collection.delivery_rules import require_sender
from peos.collection.document import Dummy
from peos.collection.lifecycle import OVER, State
from peos.collection.publication import PATIENCE, Openings, awaited_until
from peos.collection.reveal import Revealed, known_case, reveal, sign_reveal
from peos.crypto.randomness import U64
from peos.crypto.schemes.base import Packed, PrivateKey
from peos.errors import BadEncoding, Closed, NotYet, Refused
from peos.shuffle.inspect.evidence import Opening
from peos.shuffle.inspect.verdict import Delivered, Finding, common_start, judge, unseen
from peos.shuffle.messages import SignedReceipt, SignedReveal, VectorHeader
from peos.store.private_files import private_folder, write_durably
from peos.wire.inspections import RevealedPart, check_announced, decode_opening, revealed_parts
from peos.wire.shuffles import decode_receipt


@dataclass(frozen=True)
class Inspected:
    """The inspection's outcome: its findings, and the shufflers whose rows were not seen."""

    dummies: int  # whose rows were opened
    missing: tuple[int, ...]  # who showed nothing, or less than the others
    findings: tuple[Finding, ...]


class InspectionRunner:
    """Reveals, keeps and judges."""

    def __init__(self, workspace: Workspace, *, patience: float = PATIENCE) -> None:
        self._workspace = workspace
        self._patience = patience

    def unsent(self, digest: bytes, certificate: bytes) -> list[Dummy]:
        """The dummies that were not sent, for a shuffler of the collection, and never while they may still be."""
        kept = self._for_shuffler(digest, certificate)
        if kept.state in (State.DRAFT, State.OPEN):
            raise NotYet("freeze.early", "the collection is not closed at the analyzer yet")
        if kept.state in OVER:
            raise Closed("freeze.late", f"the collection is {kept.state}: its dummies are erased")
        sent = self._workspace.store.dummies_taken(digest)
        return [one for number, one in enumerate(self._workspace.dummies(kept)) if number not in sent]

    def reveal(self, digest: bytes, certificate: bytes) -> Iterator[RevealedPart | SignedReveal]:
        """The dummies, for a shuffler of the collection, and never before the output is complete."""
        kept = self._for_shuffler(digest, certificate)
        document = self._workspace.signed(kept).document
        if not document.protocol.inspects:
            raise Refused(
                "inspection.none", f"nothing is inspected in a shuffle by the protocol {document.protocol.name}"
            )
        self._require_delivered(kept)
        revealed = self._revealed(kept)
        return revealed_parts(revealed, self._signed(kept, revealed))

    def expect(self, header: VectorHeader, certificate: bytes) -> None:
        """Whether an opening with this header is to be taken in."""
        kept = self._workspace.store.get(header.header.context.collection)
        require_sender(self._workspace.signed(kept).document, header.header.sender, certificate)
        self._require_delivered(kept)
        if _receipt(kept).context != header.header.context:
            raise Refused("inspection.opening_output", "the opening is of another output")
        check_announced(header)

    def keep(self, header: VectorHeader, rows: NDArray[np.uint8]) -> None:
        """Keep an opening that came whole; of one shuffler the first stays."""
        kept = self._workspace.store.get(header.header.context.collection)
        decode_opening(header.header.sender, rows)
        self._require_delivered(kept)
        path = self._path(kept, header.header.sender)
        private_folder(path.parent)
        if not path.exists():
            write_durably(path, [rows.tobytes()])

    def openings(self, kept: CollectionRow) -> Openings:
        """What the shufflers have opened so far."""
        document = self._workspace.signed(kept).document
        if not document.protocol.inspects:
            return Openings()
        everybody = range(1, len(document.shufflers) + 1)
        rows = max((header.rows for header in self._workspace.store.deliveries(kept.digest)), default=0)
        return Openings(
            came=frozenset(who for who in everybody if self._path(kept, who).exists()),
            expected=len(everybody),
            until=awaited_until(kept.since, rows, self._patience),
            accepted=self._workspace.store.unopened(kept.digest),
        )

    def unseen(self, kept: CollectionRow) -> dict[int, str]:
        """Whose rows were not seen, and why, as far as it is known here."""
        document = self._workspace.signed(kept).document
        if not document.protocol.inspects:
            return {}
        openings = self._openings(kept, len(document.shufflers))
        rows = max((header.rows for header in self._workspace.store.deliveries(kept.digest)), default=0)
        return {who: _why(openings.get(who)) for who in unseen(document.schedule, rows, openings)}

    def judged(self, kept: CollectionRow, vectors: Mapping[int, U64 | Packed]) -> Inspected:
        """The findings of the openings received so far."""
        document = self._workspace.signed(kept).document
        openings = self._openings(kept, len(document.shufflers))
        rows, start = len(next(iter(vectors.values()))), common_start(document.schedule, openings)
        missing = unseen(document.schedule, rows, openings)
        if start is None:
            return Inspected(0, missing, ())
        key = self._workspace.private_key(kept)
        assert isinstance(key, PrivateKey), "rows are followed where they are re-randomised under a key"
        receipt, revealed = _receipt(kept), self._revealed(kept)
        signed = self._signed(kept, revealed)
        case = known_case(document, key.public, receipt.context, receipt.transcript, rows, start, revealed, signed)
        found = tuple(judge(case, openings, Delivered(key, vectors)))
        return Inspected(len(case.start), missing, found)

    def _for_shuffler(self, digest: bytes, certificate: bytes) -> CollectionRow:
        kept = self._workspace.store.get(digest)
        if certificate not in {member.certificate for member in self._workspace.signed(kept).document.shufflers}:
            raise Refused("inspection.caller", "the dummies are shown to the collection's shufflers only")
        return kept

    def _revealed(self, kept: CollectionRow) -> list[Revealed]:
        assert kept.parts is not None, "they are erased when the collection ends"
        document = self._workspace.signed(kept).document
        row = document.mechanism.words * document.encryption_key(floor=self._workspace.floor).ciphertext_bytes
        return reveal(self._workspace.dummies(kept), self._workspace.open_parts(kept, kept.parts), row)

    def _signed(self, kept: CollectionRow, revealed: list[Revealed]) -> SignedReveal:
        return sign_reveal(self._workspace.keys.identity, _receipt(kept).context, revealed)

    def _openings(self, kept: CollectionRow, shufflers: int) -> dict[int, Opening]:
        """Those that are here; none of a collection that is over, whose files another process may be overwriting."""
        found = {}
        try:
            for who in range(1, shufflers + 1):
                path = self._path(kept, who)
                if path.exists():
                    found[who] = decode_opening(who, np.frombuffer(path.read_bytes(), np.uint8).reshape(-1, 1))
        except (BadEncoding, FileNotFoundError):
            if self._workspace.store.get(kept.digest).state not in OVER:
                raise
            return {}
        return found

    def _path(self, kept: CollectionRow, sender: int) -> Path:
        return self._workspace.folder(kept) / VECTORS / f"{sender}.opening"

    def _require_delivered(self, kept: CollectionRow) -> None:
        if kept.state in (State.PUBLISHED, State.ABORTED):
            raise Closed("inspection.over", f"the collection is {kept.state}: the inspection is over")
        if kept.state is not State.DELIVERED:
            raise NotYet("delivery.incomplete", "the output is not complete yet")


def _why(opening: Opening | None) -> str:
    if opening is None:
        return "nothing was heard of it"
    return str(opening.nothing) if opening.nothing else "it showed less than the others"


def _receipt(kept: CollectionRow) -> SignedReceipt:
    assert kept.receipt is not None, "what is delivered has one"
    return decode_receipt(kept.receipt)
