"""After the receipt: this shuffler's part in the inspection of the dummies' rows (protocol.md §7.2).

The output is delivered, and nothing here can spoil it; but it is published only if all have shown their rows, or at the
analyst's word. Another shuffler that is not heard of is waited for no longer than two steps of the shuffle; then the
others show what they can. The analyzer, without which there is nothing to show, is waited for until `shuffle_by`, when
what was kept for the inspection is forgotten.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.collection.document import Document
from peos.collection.reveal import proved_case
from peos.crypto.kdf import Context
from peos.crypto.randomness import system
from peos.errors import BadEncoding, Closed, Full, NotYet, PeosError, Refused, RemoteFault
from peos.net.calls import Caller
from peos.net.observer import Observer
from peos.net.retry import Retry, is_refused, retrying
from peos.protocols import Encryption
from peos.shuffle.inspect.evidence import Nothing, Opening, open_rows
from peos.shuffle.inspect.machine import Effect, Follow, Inspection, Open, Record, SendPath, after
from peos.shuffle.inspect.verdict import ANALYZER, Case
from peos.shuffle.messages import Header, Kind, SignedReceipt, SignedReveal, Step, VectorHeader
from peos.wire import inspections
from peos.wire.inspections import RevealedPart
from peos.wire.methods import DELIVER, GET_DUMMIES, GET_RECEIPT
from peos.wire.shuffles import VectorReader
from shuffler.background import in_background
from shuffler.events import (
    DummiesNotShown,
    InspectionGoesOn,
    InspectionIncomplete,
    InspectionOver,
    InspectionWaits,
    NothingToOpen,
    NotInspected,
    OpeningUnread,
    ShuffleWrong,
)
from shuffler.evidence import Evidence, Told
from shuffler.outbox import Outbox, send_vector
from shuffler.workbench import InProcess

_AGAIN: Final = Retry(ceiling=2.0, final=is_refused)
_ROWS_A_SECOND: Final = 500


class InspectionRunner:
    """One output's inspection here. `bench` and `record` are what is left of the attempt, if anything is."""

    def __init__(
        self,
        *,
        number: int,
        document: Document,
        encryption: Encryption,
        receipt: SignedReceipt,
        bench: InProcess | None,
        record: Record | None,
        evidence: Evidence | None = None,
        post: Outbox,
        analyzer: Caller,
        step_seconds: float,
        observer: Observer,
    ) -> None:
        self.context: Context = receipt.context
        self.findings: list[str] = []
        self.since = time.monotonic()
        self._number = number
        self._document = document
        self._encryption = encryption
        self._receipt = receipt
        self._bench = bench
        self._record = record
        self._evidence = evidence
        self._post = post
        self._analyzer = analyzer
        self._patience = 2 * step_seconds + (bench.rows / _ROWS_A_SECOND if bench else 0.0)
        self._observer = observer
        self._came: asyncio.Queue[tuple[Header, NDArray[np.uint8]]] = asyncio.Queue(maxsize=2000)
        self._inspection: Inspection | None = None

    @property
    def has_rows(self) -> bool:
        """Whether anything is left of the attempt."""
        return self._record is not None and self._bench is not None

    @property
    def waiting(self) -> tuple[int, ...]:
        """The shufflers that have not shown their rows; empty where this one does not inspect."""
        inspection = self._inspection
        return tuple(who for who in inspection.waiting if who != self._number) if inspection else ()

    async def run(self, frozen: Sequence[bytes]) -> None:
        """Until all have shown what they have, or are waited for no longer."""
        try:
            async with asyncio.timeout(max(self._patience, self._document.shuffle_by - time.time())):
                if self._record is None or self._bench is None:
                    self._observer.note(NothingToOpen(str(Nothing.LOST)))
                    await self._show(Opening(self._number, nothing=Nothing.LOST))
                else:
                    await self._inspect(self._record, self._bench, frozen)
        except TimeoutError:
            self._observer.note(InspectionIncomplete("the analyzer did not take part in the inspection in time"))
        except Closed as over:
            self._observer.note(InspectionOver(over.id, str(over)))
        except Exception as error:
            self._observer.note(NotInspected(error))
            await self._show_nothing()
        if self._inspection is not None:
            try:
                await in_background(self._judge)
            except Exception as error:
                self._observer.note(NotInspected(error))

    async def _show_nothing(self) -> None:
        """What cannot be opened any more, for whatever reason, is as good as lost, and not waited for."""
        try:
            async with asyncio.timeout(self._patience):
                await self._show(Opening(self._number, nothing=Nothing.LOST))
        except (TimeoutError, PeosError) as error:
            self._observer.note(NotInspected(error))

    async def take(self, vector: VectorHeader, chunks: AsyncIterator[bytes]) -> None:
        """A path or an opening from another shuffler; acknowledged once it is whole."""
        inspections.check_announced(vector)
        reader = VectorReader(vector)
        async for chunk in chunks:
            reader.feed(chunk)
        rows = reader.finish()
        if self._evidence is not None:
            evidence = self._evidence
            await in_background(lambda: evidence.hear(vector.header, rows))
        await self._came.put((vector.header, rows))

    async def _inspect(self, record: Record, bench: InProcess, frozen: Sequence[bytes]) -> None:
        for told in await in_background(self._heard):
            self._came.put_nowait(told)
        case = await self._revealed(frozen)
        if case is None:
            return
        inspection = self._inspection = Inspection(self._number, case, record)
        ends = asyncio.get_running_loop().time() + self._patience
        await self._carry_out(inspection.start(), inspection, record, bench)
        while inspection.waiting:
            try:
                async with asyncio.timeout_at(ends):
                    header, rows = await self._came.get()
            except TimeoutError:
                missing = ", ".join(f"shuffler {who}" for who in inspection.waiting)
                late = f"the inspection took longer than {self._patience:.0f} s, waiting for {missing}"
                self._observer.note(InspectionIncomplete(late))
                await self._carry_out(inspection.given_up(), inspection, record, bench)
                break
            try:
                effects = self._read(inspection, header, rows)
            except PeosError as error:  # as good as nothing shown
                self._observer.note(OpeningUnread(error, f"shuffler {header.sender}"))
                effects = inspection.opened(header.sender, Opening(header.sender, nothing=Nothing.LOST))
            await self._carry_out(effects, inspection, record, bench)
        await self._sent()

    async def _sent(self) -> None:
        """Until the other shufflers have what was shown to them, for no longer than they wait for it."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                await self._post.sent()

    def _read(self, inspection: Inspection, header: Header, rows: NDArray[np.uint8]) -> list[Effect]:
        if header.step.kind is Kind.OPENING:
            return inspection.opened(header.sender, inspections.decode_opening(header.sender, rows))
        return inspection.told(header.sender, header.step.round, *inspections.decode_path(rows))

    def _heard(self) -> list[Told]:
        """Replay the messages of other shufflers from before this process started."""
        return list(self._evidence.heard(self.context)) if self._evidence else []

    async def _revealed(self, frozen: Sequence[bytes]) -> Case | None:
        """The dummies, as the analyzer shows and proves them; nothing, and that said to all, if it does not."""
        signed: SignedReveal | None = None
        try:
            parts = await self._shown()
            revealed, signed = inspections.gathered(parts)
            document, transcript, own = self._document, self._receipt.transcript, signed
            return await in_background(
                lambda: proved_case(document, self._encryption, self.context, transcript, frozen, revealed, own)
            )
        except (NotYet, Full, Closed):
            raise
        except (RemoteFault, Refused) as fault:
            self.findings.append(str(fault))
            self._observer.note(DummiesNotShown(fault))
            is_proof = signed is not None and signed.verifies(self._document.analyzer.identity, self.context)
            shown = signed if is_proof else None
            await self._show(Opening(self._number, revealed=shown, nothing=Nothing.UNREVEALED))
            return None

    async def _shown(self) -> list[RevealedPart | SignedReveal]:
        """All that the analyzer streams, once it can be reached."""

        async def streamed() -> list[RevealedPart | SignedReveal]:
            asked = self._analyzer.stream(GET_DUMMIES, self.context.collection, step="inspection")
            return [part async for part in asked]

        policy = replace(_AGAIN, final=lambda error: is_refused(error) or isinstance(error, BadEncoding))
        parts = await retrying(streamed, policy, rng=system(), on_failure=self._failed)
        self._observer.note(InspectionGoesOn())
        return parts

    async def _carry_out(self, effects: list[Effect], inspection: Inspection, record: Record, bench: InProcess) -> None:
        for effect in effects:
            match effect:
                case Follow():
                    await self._carry_out(await self._follow(effect, inspection, bench), inspection, record, bench)
                case SendPath(round_, places):
                    rows = inspections.encode_path(places, inspection.revealed)
                    for other in self._others():
                        self._post.vector(self._header(Step(round_, Kind.PATH), other), rows)
                case Open():
                    opening = await self._opening(effect, inspection, record, bench)
                    inspection.opened(self._number, opening)
                    await self._show(opening)

    async def _follow(self, follow: Follow, inspection: Inspection, bench: InProcess) -> list[Effect]:
        went = await in_background(lambda: after(follow.permutation, bench.rows, follow.places))
        return inspection.followed(follow.round, went)

    async def _opening(self, what: Open, inspection: Inspection, record: Record, bench: InProcess) -> Opening:
        return await in_background(
            lambda: open_rows(
                self._number,
                record.trail,
                bench.vectors,
                what.places,
                record.said,
                claim=what.claim,
                revealed=inspection.revealed,
                dummies=inspection.dummies,
            )
        )

    async def _show(self, opening: Opening) -> None:
        """To the other shufflers in the background; to the analyzer, which publishes, until it is there."""
        rows = inspections.encode_opening(opening)
        step = Step(len(self._document.schedule.rounds), Kind.OPENING)
        for other in self._others():
            self._post.vector(self._header(step, other), rows)
        try:
            await retrying(
                lambda: send_vector(self._analyzer, DELIVER, self._header(step, ANALYZER), rows),
                replace(_AGAIN, final=lambda error: isinstance(error, Closed) or not isinstance(error, PeosError)),
                rng=system(),
                on_failure=self._failed,
            )
        except Closed:
            return  # it has published without it
        self._observer.note(InspectionGoesOn())
        if opening.nothing:
            await self._sent()

    def _failed(self, error: Exception, _: float) -> None:
        self._observer.note(InspectionWaits(error))

    def _judge(self) -> None:
        assert self._inspection is not None, "there is something to judge"
        found = [str(finding) for finding in self._inspection.findings]
        self.findings += found
        for finding in found:
            self._observer.note(ShuffleWrong(finding))

    def _others(self) -> list[int]:
        return [who for who in range(1, len(self._document.shufflers) + 1) if who != self._number]

    def _header(self, step: Step, receiver: int) -> Header:
        return Header(self.context, step, self._number, receiver)


async def receipt_of(
    analyzer: Caller, document: Document, collection: bytes, patience: float, observer: Observer
) -> SignedReceipt | None:
    """The analyzer's receipt, asked for again for as long as `patience` lasts; None if there is none to be had."""
    try:
        found: SignedReceipt = await retrying(
            lambda: analyzer.ask(GET_RECEIPT, collection, step="inspection"),
            replace(_AGAIN, seconds=patience),
            rng=system(),
            on_failure=lambda error, _: observer.note(InspectionWaits(error)),
        )
    except PeosError:
        return None
    observer.note(InspectionGoesOn())
    return found if found.verifies(document.analyzer.identity) else None
