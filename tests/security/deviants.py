"""Shufflers that follow the protocol but for one thing, to stand among honest ones."""

from collections.abc import Sequence

from peos.crypto.kdf import Context
from peos.shuffle.attempt import Attempt
from peos.shuffle.machine import Shuffler
from tests.security.laid import WatchedBench, WatchedNode


def deviating(attempt: type[Attempt], *, who: int, rest: type[Attempt] = Attempt) -> type[WatchedNode]:
    """Nodes of which `who` follows another attempt than the rest."""

    class One(Shuffler):
        attempt_type = attempt

    class Rest(Shuffler):
        attempt_type = rest

    class Placed(WatchedNode):
        def begin(self, frozen: Sequence[bytes], context: Context) -> None:
            self.shuffler_type = One if self.number == who else Rest
            super().begin(frozen, context)

    return Placed


def miscalculating(bench: type[WatchedBench], *, who: int) -> type[WatchedNode]:
    """Nodes of which `who` says what it should and works otherwise."""

    class Placed(WatchedNode):
        def begin(self, frozen: Sequence[bytes], context: Context) -> None:
            self.workbench_type = bench if self.number == who else WatchedBench
            super().begin(frozen, context)

    return Placed
