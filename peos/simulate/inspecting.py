"""The inspection in memory: paths and openings encoded by one shuffler and decoded by the others."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.crypto.kdf import Context
from peos.shuffle.inspect.evidence import Nothing, Opening, open_rows
from peos.shuffle.inspect.machine import Effect, Follow, Open, SendPath, after
from peos.shuffle.inspect.verdict import Case, Finding
from peos.shuffle.messages import Header, Kind, SignedReveal, Step
from peos.simulate.node import ANALYZER, Node, Traffic
from peos.wire import inspections, shuffles


class Inspected:
    """All shufflers' inspections of one output. A node without a record has nothing to show.

    One that has no case was not shown the dummies as it must be; `signed` is what the analyzer signed of those.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        context: Context,
        cases: Mapping[int, Case],
        traffic: Traffic,
        signed: Mapping[int, SignedReveal],
    ) -> None:
        self.openings: dict[int, Opening] = {}  # as the analyzer gets them
        self._nodes = {node.number: node for node in nodes}
        self._traffic = traffic
        self._context = context
        self._letters: deque[Sequence[bytes]] = deque()
        self._inspections: Final = {
            number: node.inspection_type(number, cases[number], node.machine.record)
            for number, node in self._nodes.items()
            if node.machine.record is not None and number in cases
        }
        for number in self._nodes:
            if number in self._inspections:
                self._carry_out(number, self._inspections[number].start())
            else:
                why = Nothing.LOST if number in cases else Nothing.UNREVEALED
                self._show(number, Opening(number, revealed=signed.get(number), nothing=why))
        while self._letters:
            self._arrive(self._letters.popleft())

    @property
    def findings(self) -> dict[int, list[Finding]]:
        """What each shuffler found."""
        return {number: inspection.findings for number, inspection in self._inspections.items()}

    def _carry_out(self, number: int, effects: list[Effect]) -> None:
        node, inspection = self._nodes[number], self._inspections[number]
        for effect in effects:
            match effect:
                case Follow(round_, permutation, places):
                    self._carry_out(number, inspection.followed(round_, after(permutation, node.rows, places)))
                case SendPath(round_, places):
                    for other in self._others(number):
                        rows = inspections.encode_path(places, inspection.revealed)
                        self._post(number, other, Step(round_, Kind.PATH), rows)
                case Open(places, claim):
                    record = node.machine.record
                    assert record is not None, "only who has a record inspects"
                    of = inspection.revealed, inspection.dummies
                    vectors, trail, said = node.bench.vectors, record.trail, record.said
                    opening = open_rows(
                        number, trail, vectors, places, said, claim=claim, revealed=of[0], dummies=of[1]
                    )
                    self._show(number, opening)
                    self._carry_out(number, inspection.opened(number, opening))

    def _show(self, number: int, opening: Opening) -> None:
        last = Step(len(self._nodes[number].document.schedule.rounds), Kind.OPENING)
        for other in (*self._others(number), ANALYZER):
            self._post(number, other, last, inspections.encode_opening(opening))

    def _post(self, sender: int, receiver: int, step: Step, rows: NDArray[np.uint8]) -> None:
        encoded = list(shuffles.encode_vector(Header(self._context, step, sender, receiver), rows))
        self._traffic.count(sender, encoded)
        self._letters.append(encoded)

    def _arrive(self, encoded: Sequence[bytes]) -> None:
        vector, rows = shuffles.decode_vector(encoded)
        inspections.check_announced(vector)
        header = vector.header
        opening = inspections.decode_opening(header.sender, rows) if header.step.kind is Kind.OPENING else None
        if opening is not None and header.receiver == ANALYZER:
            self.openings[header.sender] = opening
        elif header.receiver in self._inspections:
            inspection = self._inspections[header.receiver]
            if opening is not None:
                effects = inspection.opened(header.sender, opening)
            else:
                effects = inspection.told(header.sender, header.step.round, *inspections.decode_path(rows))
            self._carry_out(header.receiver, effects)

    def _others(self, number: int) -> list[int]:
        return [other for other in self._nodes if other != number]
