"""What the console asks of the serving process."""

import asyncio
import time
from pathlib import Path
from typing import Any, Final

from peos.crypto.randomness import system
from peos.errors import PeosError, RemoteFault, id_from, named
from peos.net.calls import Caller
from peos.net.local import local_channel
from peos.net.retry import ONCE
from peos.wire.consoles import ConsoleQuestion, Terms, joined
from peos.wire.methods import Method

PARTY: Final = "the analyzer's serving process"
PATIENCE: Final = 120.0  # seconds: a key is drawn, a plan is sought
FRESH: Final = 1.0  # seconds for which several readers share one answer


class Remote:
    """The serving process, behind its socket."""

    def __init__(self, socket: Path) -> None:
        self._caller = Caller(lambda: local_channel(socket), PARTY, system(), policy=ONCE)
        self._shared: dict[tuple[str, str], tuple[float, asyncio.Future[Any]]] = {}

    async def close(self) -> None:
        """Close the channel."""
        await self._caller.close()

    async def ask(self, method: Method, name: str = "", terms: Terms | None = None) -> Any:
        """The answer; or the refusal, raised as the serving process had it."""
        question = ConsoleQuestion(name, terms or {})
        parts = [part async for part in self._caller.stream(method, question, step=method.name, timeout=PATIENCE)]
        found = joined(parts)
        if "refused" in found:
            raise _refused(found["refused"])
        return found["answer"]

    async def standing(self, method: Method, name: str = "") -> Any:
        """How things stand, at most a moment old: however many look, the shufflers are asked once."""
        key = (method.name, name)
        now = time.monotonic()
        self._shared = {one: old for one, old in self._shared.items() if not old[1].done() or now - old[0] < FRESH}
        if key not in self._shared:
            asked = asyncio.ensure_future(self.ask(method, name))
            asked.add_done_callback(lambda done: done.cancelled() or done.exception())  # though every reader has left
            self._shared[key] = now, asked
        return await asyncio.shield(self._shared[key][1])  # a reader that leaves takes nothing from the others


def _refused(said: dict[str, Any]) -> PeosError:
    kind, id_ = named(str(said["kind"])), id_from(str(said["id"]))
    sentence, hint, where = str(said["error"]), str(said["hint"]), str(said["where"])
    if issubclass(kind, RemoteFault):
        return kind(id_, sentence, hint=hint, party=where)
    return kind(id_, sentence, hint=hint, where=where)
