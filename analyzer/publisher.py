"""A complete output on its way to a result: decrypted, combined, its dummies looked for, estimated, published, erased.

Nothing is published unless every dummy came out exactly. A fault of the output ends the collection; trouble of this
machine's own (memory, disk, a stop) does not, it is tried again.
"""

import json
import math
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from analyzer.decryption import decrypt
from analyzer.delivery_receiver import VECTORS, DeliveryReceiver
from analyzer.events import OutputRefused, Published, ReportsNotOpened, Withheld
from analyzer.inspection_runner import Inspected, InspectionRunner
from analyzer.ledger import together
from analyzer.lists import lists_of
from analyzer.report import REPORT, write_report
from analyzer.result import result_json
from analyzer.store import CollectionRow
from analyzer.workspace import Workspace
from peos.collection.document import Document
from peos.collection.dummies import LEAST_SENT
from peos.collection.lifecycle import State
from peos.compute import Engine
from peos.crypto.onion import Layer
from peos.crypto.randomness import U64
from peos.crypto.schemes.base import Packed, PrivateKey
from peos.errors import RemoteFault
from peos.net.observer import Observer
from peos.shuffle.combine import FinalVector, without_dummies
from peos.shuffle.vectors import as_words
from peos.store.private_files import write_durably

RESULT: Final = "result.json"
_WORDS: Final = "decrypted.words"
_TELL_EVERY: Final = 1.0  # seconds between two durable words about progress


class Publisher:
    """Blocking: the process runs it in a thread, one collection at a time."""

    def __init__(
        self,
        home: Workspace,
        receiving: DeliveryReceiver,
        inspecting: InspectionRunner,
        engine: Engine,
        observer: Observer,
    ) -> None:
        self._home = home
        self._receiving = receiving
        self._inspecting = inspecting
        self._engine = engine
        self._observer = observer
        self._withheld: dict[bytes, tuple[frozenset[int], frozenset[int]]] = {}  # what had been shown and said then
        self._clearing = threading.Lock()  # the scheduler sees an end before its thread has finished

    def publish(self, kept: CollectionRow) -> float:
        """From delivered to published, or to aborted with the reason; then nothing of the reports is left here.

        Returned is when to call it again, if nothing changes before that.

        While shufflers may still open their rows nothing is decided: this is called again. Nor is it if the rows of
        some were not seen and nothing is found, until the analyst gives the word, or until all must be erased.
        """
        note = self._observer.of(kept.digest).note
        is_decrypted = kept.total > 0 and kept.done == kept.total
        if is_decrypted and (self._inspecting.is_awaited(kept) or self._is_withheld(kept)):
            return self._again(kept)
        try:
            result = self._result(kept)
            if result is None:
                return self._again(kept)
        except RemoteFault as fault:
            note(OutputRefused(fault))
            self._home.store.move(kept.digest, State.ABORTED, str(fault))
        else:
            self._home.store.put_result(kept.digest, result)
            note(Published())
        self.clear(self._home.store.get(kept.digest))
        return math.inf

    def _again(self, kept: CollectionRow) -> float:
        if self._inspecting.is_awaited(kept):
            return self._inspecting.awaited_until(kept)
        return self._home.signed(kept).document.erase_by

    def uncleared(self) -> set[bytes]:
        """The collections that are over and of which a stop has left something."""
        found = set()
        for digest, name, is_published in self._home.store.over():
            folder = self._home.path(name)
            pages = () if not is_published else (folder / RESULT, folder / REPORT)
            if (folder / VECTORS).exists() or not all(page.exists() for page in pages):
                found.add(digest)
        return found

    def clear(self, kept: CollectionRow) -> None:
        """Finish an ended collection: write result.json and report.html, erase everything else. May be repeated."""
        with self._clearing:
            if kept.result is not None:
                path = self._home.folder(kept) / RESULT
                if not path.exists():
                    write_durably(path, [kept.result.encode()])
            self._receiving.erase(kept)
            # Last: no trouble with a page keeps reports from being erased.
            if kept.result is not None and not (page := self._home.folder(kept) / REPORT).exists():
                write_report(page, json.loads(kept.result))

    def _result(self, kept: CollectionRow) -> str | None:
        begun = time.monotonic()
        document = self._home.signed(kept).document
        parts, received = self._parts(kept)
        inspected: Inspected | None = None
        combined = self._opened(kept, parts)
        if document.protocol.inspects:
            if self._inspecting.is_awaited(kept):
                return None
            vectors = {sender: part.vector for sender, part in parts.items()}
            inspected = self._inspecting.judged(kept, vectors)
        owned = np.stack([dummy.words for dummy in self._home.dummies(kept)])
        taken = self._home.store.dummies_taken(kept.digest)
        if len(taken) < LEAST_SENT:
            raise RemoteFault(
                "result.dummies_few",
                f"only {len(taken)} of {len(owned)} dummies were acknowledged by every shuffler, at least {LEAST_SENT} "
                "must be looked for",
                step="check of the dummies",
                hint="create another collection, and keep `peos analyzer serve` running while it is open",
            )
        reports = without_dummies(combined, owned, inspected.findings if inspected else (), expected=taken)
        if inspected is not None and (unseen := set(inspected.missing) - self._inspecting.accepted(kept)):
            self._withhold(kept, document, unseen)
            return None
        users = len(reports) - document.fakes
        if users < document.minimum:  # all who were delivered were enough; onions may still not open
            raise RemoteFault(
                "result.minimum",
                f"only {max(users, 0)} reports open, the minimum is {document.minimum}",
                step="the last layer",
                hint="create another collection, for more users",
            )
        mechanism = document.mechanism
        estimate = mechanism.estimate(mechanism.tally(reports), users=users, fakes=document.fakes)
        result = result_json(
            kept.digest,
            document,
            estimate,
            document.claims(users),
            seconds=round(time.monotonic() - begun, 3),
            sent=len(document.shufflers) * len(kept.proposal) + self._home.store.dummy_bytes(kept.digest),
            received=received,
            published_at=int(time.time()),
            inspected=inspected,
            lists=lists_of(self._home, kept, self._frozen(kept), self._observer.of(kept.digest)),
            together=together(self._home, kept, users),
        )
        return json.dumps(result, ensure_ascii=False)

    def _frozen(self, kept: CollectionRow) -> bytes:
        """The frozen digest of the output."""
        return self._home.store.deliveries(kept.digest)[0].header.context.frozen

    def _is_withheld(self, kept: CollectionRow) -> bool:
        """Whether nothing has changed since it was last found that this output cannot be published."""
        known = self._withheld.get(kept.digest)
        is_due = time.time() >= self._home.signed(kept).document.erase_by
        return known == self._shown(kept) and not is_due

    def _shown(self, kept: CollectionRow) -> tuple[frozenset[int], frozenset[int]]:
        return self._inspecting.came(kept), self._inspecting.accepted(kept)

    def _withhold(self, kept: CollectionRow, document: Document, unseen: set[int]) -> None:
        whom = ", ".join(f"shuffler {who}" for who in sorted(unseen))
        if time.time() >= document.erase_by:
            raise RemoteFault(
                "result.not_seen_in_time",
                f"the rows of {whom} were not seen, and no order to publish without them came before erasure",
                step="the inspection",
                hint="create another collection",
            )
        self._withheld[kept.digest] = self._shown(kept)
        self._observer.of(kept.digest).note(Withheld(whom))

    def _parts(self, kept: CollectionRow) -> tuple[dict[int, FinalVector], int]:
        """The delivered vectors by sender, and their size in bytes."""
        holder = self._home.signed(kept).document.schedule.last[0]
        found = self._receiving.vectors(kept)
        parts = {
            sender: FinalVector(header.header.context, header.transcript, rows if sender == holder else as_words(rows))
            for sender, (header, rows) in found.items()
        }
        return parts, sum(rows.nbytes for _, rows in found.values())

    def _opened(self, kept: CollectionRow, parts: dict[int, FinalVector]) -> U64:
        """The output's words, as (rows, words)."""
        document, private = self._home.signed(kept).document, self._home.private_key(kept)
        opens = _Opening(self._engine, self._receiving.folder(kept) / _WORDS, self._telling(kept))
        encryption = document.encryption(floor=self._home.floor)
        words, lost = encryption.opened(kept.digest, parts, private, opens)
        if lost:
            self._observer.of(kept.digest).note(ReportsNotOpened(lost))
        return words

    def _telling(self, kept: CollectionRow) -> "_Telling":
        return _Telling(self._home, kept.digest)


@dataclass(frozen=True)
class _Opening:
    """Opens rows with this process's workers; what is decrypted is kept in a file until the end."""

    engine: Engine
    file: Path
    tell: "_Telling"

    def decrypt(self, private: PrivateKey, rows: Packed, *, passes: int) -> U64:
        """See `decryption.decrypt`."""
        return decrypt(self.engine, private, rows, self.file, self.tell, passes=passes).reshape(len(rows), -1)

    def peel(self, layer: Layer, onions: Packed) -> Packed:
        """See `Layer.under`."""
        under = self.engine.peel(layer, onions, self.tell)
        self.tell(len(onions), len(onions))
        return under


class _Telling:
    """Writes progress down for `status`, not more often than somebody would look."""

    def __init__(self, home: Workspace, digest: bytes) -> None:
        self._home = home
        self._digest = digest
        self._told_at = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if done == total or now - self._told_at >= _TELL_EVERY:
            self._told_at = now
            self._home.store.progress(self._digest, done, total)
