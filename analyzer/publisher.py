"""A complete output on its way to a result: decrypted, combined, its dummies looked for, estimated, published, erased.

Nothing is published unless every dummy came out exactly. A fault of the output ends the collection; trouble of this
machine's own (memory, disk, a stop) does not, it is tried again.
"""

import json
import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
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
from analyzer.result import Found, result_json
from analyzer.store import CollectionRow
from analyzer.study import decoded, task_of
from analyzer.workspace import Workspace
from peos.collection import publication
from peos.collection.document import Document
from peos.collection.lifecycle import State
from peos.compute import Engine
from peos.crypto.onion import Layer
from peos.crypto.randomness import U64
from peos.crypto.schemes.base import Packed, PrivateKey
from peos.errors import RemoteFault
from peos.net.observer import Observer, StepReached
from peos.shuffle.combine import FinalVector, without_dummies
from peos.shuffle.vectors import as_words
from peos.store.private_files import write_durably

RESULT: Final = "result.json"
_WORDS: Final = "decrypted.words"
_STEPS: Final[Mapping[type[publication.Effect], str]] = {
    publication.Open: "decryption",
    publication.Inspect: "inspection",
    publication.Search: "search for the dummies",
    publication.Publish: "result",
    publication.Refuse: "refusal",
}
_TELL_EVERY: Final = 1.0  # seconds between two durable words about progress


@dataclass
class _Output:
    """One output, as far as it was read: the delivered vectors, their words, what was inspected, the reports."""

    kept: CollectionRow
    document: Document
    begun: float
    parts: Mapping[int, FinalVector] = field(default_factory=dict)
    received: int = 0  # bytes
    words: U64 | None = None
    inspected: Inspected | None = None
    reports: U64 | None = None


class Publisher:
    """Carries out what the machine of `peos.collection.publication` asks for.

    Blocking: the process runs it in a thread, one collection at a time.
    """

    def __init__(
        self,
        workspace: Workspace,
        receiver: DeliveryReceiver,
        inspection_runner: InspectionRunner,
        engine: Engine,
        observer: Observer,
    ) -> None:
        self._workspace = workspace
        self._receiver = receiver
        self._inspection_runner = inspection_runner
        self._engine = engine
        self._observer = observer
        self._publications: dict[bytes, publication.Publication] = {}
        self._clearing = threading.Lock()  # the scheduler sees an end before its thread has finished

    def publish(self, kept: CollectionRow) -> float:
        """From delivered to published, or to aborted with the reason; then nothing of the reports is left here.

        Returned is when to call it again, if nothing changes before that.
        """
        output = _Output(kept, self._workspace.signed(kept).document, time.monotonic())
        machine = self._publications.setdefault(kept.digest, publication.Publication(output.document))
        is_opened = kept.total > 0 and kept.done == kept.total
        effect = machine.on(publication.Clock(time.time(), self._inspection_runner.openings(kept), is_opened))
        observer = self._observer.of(kept.digest)
        while not isinstance(effect, publication.Wait):
            if not (isinstance(effect, publication.Open) and is_opened):  # it reads again what is decrypted already
                observer.note(StepReached(_STEPS[type(effect)]))
            try:
                event = self._carry_out(effect, output)
            except RemoteFault as fault:
                event = publication.Faulty(fault)
            if event is None:
                self.clear(self._workspace.store.get(kept.digest))
                return math.inf
            effect = machine.on(event)
        observer.note(StepReached(_STEPS[publication.Inspect], "the shufflers"))
        if effect.withheld:
            observer.note(Withheld(publication.shufflers(effect.withheld)))
        return effect.until

    def _carry_out(self, effect: publication.Work, output: _Output) -> publication.Event | None:
        """The event that answers an effect; None once the collection is over."""
        kept = output.kept
        match effect:
            case publication.Open():
                self._read(output)
                return publication.Opened(time.time(), self._inspection_runner.openings(kept))
            case publication.Inspect():
                missing = self._inspect(output)
                taken = self._workspace.store.dummies_taken(kept.digest)
                return publication.Inspected(missing, len(taken), len(output.document.dummies))
            case publication.Search():
                reports = self._search(output)
                accepted = self._inspection_runner.openings(kept).accepted
                return publication.Searched(time.time(), accepted, reports)
            case publication.Publish(users):
                self._workspace.store.put_result(kept.digest, self._result(output, users))
                self._observer.of(kept.digest).note(Published())
            case publication.Refuse(fault):
                self._observer.of(kept.digest).note(OutputRefused(fault))
                self._workspace.store.move(kept.digest, State.ABORTED, str(fault))
        return None

    def uncleared(self) -> set[bytes]:
        """The collections that are over and of which a stop has left something."""
        found = set()
        for digest, name, is_published in self._workspace.store.over():
            folder = self._workspace.path(name)
            pages = () if not is_published else (folder / RESULT, folder / REPORT)
            if (folder / VECTORS).exists() or not all(page.exists() for page in pages):
                found.add(digest)
        return found

    def clear(self, kept: CollectionRow) -> None:
        """Finish an ended collection: write result.json and report.html, erase everything else. May be repeated."""
        self._publications.pop(kept.digest, None)
        with self._clearing:
            if kept.result is not None:
                path = self._workspace.folder(kept) / RESULT
                if not path.exists():
                    write_durably(path, [kept.result.encode()])
            self._receiver.erase(kept)
            # Last: no trouble with a page keeps reports from being erased.
            if kept.result is not None and not (page := self._workspace.folder(kept) / REPORT).exists():
                write_report(page, json.loads(kept.result))

    def _read(self, output: _Output) -> None:
        """The delivered vectors, and the words in them."""
        output.parts, output.received = self._parts(output.kept)
        output.words = self._opened(output.kept, output.parts)

    def _inspect(self, output: _Output) -> frozenset[int]:
        """Judge the openings; whose rows were not seen."""
        if not output.document.protocol.inspects:
            return frozenset()
        vectors = {sender: part.vector for sender, part in output.parts.items()}
        output.inspected = self._inspection_runner.judged(output.kept, vectors)
        return frozenset(output.inspected.missing)

    def _search(self, output: _Output) -> int:
        """Take the dummies out; how many reports are left."""
        assert output.words is not None, "it is opened first"
        owned = np.stack([dummy.words for dummy in self._workspace.dummies(output.kept)])
        taken = self._workspace.store.dummies_taken(output.kept.digest)
        findings = output.inspected.findings if output.inspected else ()
        output.reports = without_dummies(output.words, owned, findings, expected=taken)
        return len(output.reports)

    def _result(self, output: _Output, users: int) -> str:
        assert output.reports is not None, "the dummies are taken out first"
        kept, document, observer = output.kept, output.document, self._observer.of(output.kept.digest)
        frozen = self._workspace.store.deliveries(kept.digest)[0].header.context.frozen
        reports = document.mechanism.reports(output.reports, users, document.fakes)
        study = self._workspace.store.study_of(kept.digest)
        if study is None:
            found = Found.of_values(document, reports.estimate())
        else:
            found = Found.of_table(decoded(self._workspace, study, kept, reports), reports.sizes)
        result = result_json(
            kept.digest,
            document,
            found,
            document.claims(users),
            name=kept.name,
            seconds=round(time.monotonic() - output.begun, 3),
            sent=len(document.shufflers) * len(kept.proposal) + self._workspace.store.dummy_bytes(kept.digest),
            received=output.received,
            published_at=int(time.time()),
            inspected=output.inspected,
            lists=lists_of(self._workspace, kept, frozen, observer),
            together=together(self._workspace, kept, users),
            task=None if study is None else task_of(study),
        )
        return json.dumps(result, ensure_ascii=False)

    def _parts(self, kept: CollectionRow) -> tuple[dict[int, FinalVector], int]:
        """The delivered vectors by sender, and their size in bytes."""
        holder = self._workspace.signed(kept).document.schedule.last[0]
        found = self._receiver.vectors(kept)
        parts = {
            sender: FinalVector(header.header.context, header.transcript, rows if sender == holder else as_words(rows))
            for sender, (header, rows) in found.items()
        }
        return parts, sum(rows.nbytes for _, rows in found.values())

    def _opened(self, kept: CollectionRow, parts: Mapping[int, FinalVector]) -> U64:
        """The output's words, as (rows, words)."""
        document, private = self._workspace.signed(kept).document, self._workspace.private_key(kept)
        opens = _Opening(self._engine, self._receiver.folder(kept) / _WORDS, self._progress_writer(kept))
        encryption = document.encryption(floor=self._workspace.floor)
        words, lost = encryption.opened(kept.digest, parts, private, opens)
        if lost:
            self._observer.of(kept.digest).note(ReportsNotOpened(lost))
        return words

    def _progress_writer(self, kept: CollectionRow) -> "_ProgressWriter":
        return _ProgressWriter(self._workspace, kept.digest)


@dataclass(frozen=True)
class _Opening:
    """Opens rows with this process's workers; what is decrypted is kept in a file until the end."""

    engine: Engine
    file: Path
    tell: "_ProgressWriter"

    def decrypt(self, private: PrivateKey, rows: Packed, *, passes: int) -> U64:
        """See `decryption.decrypt`."""
        return decrypt(self.engine, private, rows, self.file, self.tell, passes=passes).reshape(len(rows), -1)

    def peel(self, layer: Layer, onions: Packed) -> Packed:
        """See `Layer.under`."""
        under = self.engine.peel(layer, onions, self.tell)
        self.tell(len(onions), len(onions))
        return under


class _ProgressWriter:
    """Writes progress down for `status`, at most once a second."""

    def __init__(self, workspace: Workspace, digest: bytes) -> None:
        self._workspace = workspace
        self._digest = digest
        self._told_at = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if done == total or now - self._told_at >= _TELL_EVERY:
            self._told_at = now
            self._workspace.store.progress(self._digest, done, total)
