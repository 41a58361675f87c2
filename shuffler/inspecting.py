"""After the receipt: this shuffler's part in the inspection of the dummies' rows (protocol.md §7.2).

Whatever goes wrong here costs the inspection and never the output, which is delivered: a shuffler that was started anew
has nothing left to show and says so; one that is not heard of is waited for no longer than a step of the shuffle.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.collection.document import Document
from peos.collection.reveal import proved_case
from peos.collection.submission import Triple
from peos.crypto.kdf import Context
from peos.errors import Closed, PeosError
from peos.net.calls import Caller
from peos.net.logs import Log
from peos.shuffle.inspection import ANALYZER, Effect, Follow, Inspection, Open, Record, Tell, after
from peos.shuffle.judging import Case
from peos.shuffle.messages import Header, Kind, SignedReceipt, Step, VectorHeader
from peos.shuffle.opening import Opening, open_rows
from peos.wire import inspections
from peos.wire.methods import DELIVER, GET_DUMMIES
from peos.wire.shuffles import VectorReader
from shuffler.background import in_background
from shuffler.bench import Bench
from shuffler.post import Post, send_vector

LOST: Final = "this shuffler was started anew after its part of the shuffle: it has no rows left to show"
_AGAIN: Final = 1.0
_ROWS_A_SECOND: Final = 500


class Inspecting:
    """One output's inspection here. `bench` and `record` are what is left of the attempt, if anything is."""

    def __init__(
        self,
        *,
        number: int,
        document: Document,
        receipt: SignedReceipt,
        bench: Bench | None,
        record: Record | None,
        post: Post,
        analyzer: Caller,
        patience: float,
        log: Log,
    ) -> None:
        self.context: Context = receipt.context
        self.findings: list[str] = []
        self.trouble = ""
        self.since = time.monotonic()
        self._number = number
        self._document = document
        self._receipt = receipt
        self._bench = bench
        self._record = record
        self._post = post
        self._analyzer = analyzer
        self._patience = patience + (bench.rows / _ROWS_A_SECOND if bench else 0.0)
        self._log = log
        self._came: asyncio.Queue[tuple[Header, NDArray[np.uint8]]] = asyncio.Queue(maxsize=2000)
        self._inspection: Inspection | None = None

    @property
    def has_rows(self) -> bool:
        """Whether anything is left of the attempt."""
        return self._record is not None and self._bench is not None

    @property
    def waiting(self) -> tuple[int, ...]:
        """Which shufflers have not shown their rows; nobody, where this one does not look."""
        inspection = self._inspection
        return tuple(who for who in inspection.waiting if who != self._number) if inspection else ()

    async def run(self, triples: Sequence[Triple]) -> None:
        """Until all have shown what they have, or are waited for no longer."""
        try:
            async with asyncio.timeout(self._patience):
                if self._record is None or self._bench is None:
                    self._log.info("nothing to open", reason=LOST)
                    await self._show(Opening(self._number, lost=True))
                else:
                    await self._inspect(self._record, self._bench, triples)
        except TimeoutError:
            self.trouble = f"the inspection took longer than {self._patience:.0f} s"
            if self._inspection is not None:
                missing = ", ".join(f"shuffler {who}" for who in self.waiting) or "the analyzer"
                self.trouble += f", waiting for {missing}"
            self._log.warning("the inspection is not complete", reason=self.trouble)
        except Closed as over:
            self.trouble = str(over)
            self._log.info("the inspection is over", reason=str(over))
        except Exception as error:
            self._cannot(error)
        if self._inspection is not None:
            try:
                await in_background(self._judge)
            except Exception as error:
                self._cannot(error)

    async def take(self, vector: VectorHeader, chunks: AsyncIterator[bytes]) -> None:
        """A path or an opening from another shuffler; acknowledged once it is whole."""
        inspections.check_announced(vector)
        reader = VectorReader(vector)
        async for chunk in chunks:
            reader.feed(chunk)
        await self._came.put((vector.header, reader.finish()))

    async def _inspect(self, record: Record, bench: Bench, triples: Sequence[Triple]) -> None:
        case = await self._revealed(triples, bench)
        inspection = self._inspection = Inspection(self._number, case, record)
        await self._carry_out(inspection.start(), inspection, record, bench)
        while inspection.waiting:
            header, rows = await self._came.get()
            try:
                effects = self._read(inspection, header, rows)
            except PeosError as error:  # as good as nothing shown
                self._log.warning("shown in a wrong form", error, peer=f"shuffler {header.sender}")
                effects = inspection.opened(header.sender, Opening(header.sender, lost=True))
            await self._carry_out(effects, inspection, record, bench)
        await self._post.sent()

    def _read(self, inspection: Inspection, header: Header, rows: NDArray[np.uint8]) -> list[Effect]:
        if header.step.kind is Kind.OPENING:
            return inspection.opened(header.sender, inspections.decode_opening(header.sender, rows))
        return inspection.told(header.sender, header.step.round, inspections.decode_path(rows))

    async def _revealed(self, triples: Sequence[Triple], bench: Bench) -> Case:
        """The dummies, as the analyzer shows and proves them."""
        while True:
            try:
                parts = [
                    part
                    async for part in self._analyzer.stream(GET_DUMMIES, self.context.collection, step="inspection")
                ]
            except Closed:
                raise
            except PeosError as error:
                self.trouble = str(error)
                await asyncio.sleep(_AGAIN)
            else:
                break
        self.trouble = ""
        revealed, transcript = inspections.gathered(parts), self._receipt.transcript
        return await in_background(
            lambda: proved_case(self._document, bench.public, self.context, transcript, triples, revealed)
        )

    async def _carry_out(self, effects: list[Effect], inspection: Inspection, record: Record, bench: Bench) -> None:
        for effect in effects:
            match effect:
                case Follow():
                    await self._carry_out(await self._follow(effect, inspection, bench), inspection, record, bench)
                case Tell(round_, places):
                    for other in self._others():
                        self._post.vector(self._header(Step(round_, Kind.PATH), other), inspections.encode_path(places))
                case Open():
                    opening = await self._opening(effect, record, bench)
                    inspection.opened(self._number, opening)
                    await self._show(opening)

    async def _follow(self, follow: Follow, inspection: Inspection, bench: Bench) -> list[Effect]:
        went = await in_background(lambda: after(follow.permutation, bench.rows, follow.places))
        return inspection.followed(follow.round, went)

    async def _opening(self, what: Open, record: Record, bench: Bench) -> Opening:
        return await in_background(
            lambda: open_rows(self._number, record.trail, bench.vectors, what.places, record.said, what.claims)
        )

    async def _show(self, opening: Opening) -> None:
        """To the other shufflers in the background; to the analyzer, which publishes, until it is there."""
        rows = inspections.encode_opening(opening)
        step = Step(len(self._document.schedule.rounds), Kind.OPENING)
        for other in self._others():
            self._post.vector(self._header(step, other), rows)
        while True:
            try:
                await send_vector(self._analyzer, DELIVER, self._header(step, ANALYZER), rows)
            except Closed:
                return  # it has published without it
            except PeosError as error:
                self.trouble = str(error)
                await asyncio.sleep(_AGAIN)
            else:
                self.trouble = ""
                break
        if opening.lost:
            await self._post.sent()

    def _cannot(self, error: Exception) -> None:
        self.trouble = str(error) if isinstance(error, PeosError) else type(error).__name__
        self._log.warning("the inspection cannot be made", error)

    def _judge(self) -> None:
        assert self._inspection is not None, "there is something to judge"
        self.findings = [str(finding) for finding in self._inspection.findings]
        for finding in self.findings:
            self._log.error("the shuffle was not done as it must be", reason=finding)

    def _others(self) -> list[int]:
        return [who for who in range(1, len(self._document.shufflers) + 1) if who != self._number]

    def _header(self, step: Step, receiver: int) -> Header:
        return Header(self.context, step, self._number, receiver)
