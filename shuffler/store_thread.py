"""The store behind its one thread."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from peos.collection.session import FAULTS
from peos.crypto.randomness import system
from peos.errors import Full, Refused
from peos.net.observer import Event
from peos.net.retry import FOREVER, retrying
from peos.store.base import ShufflerStore
from shuffler.events import TwoListsSigned

R = TypeVar("R")
PERSISTENT = FOREVER  # as long as `persistently` does not call an error final


class StoreThread:
    """Runs calls on the store, one after another, in the thread that opened it.

    A caller that is cancelled does not wait any more, but what had begun is finished: nothing durable is half done.
    """

    def __init__(self, open_: Callable[[], ShufflerStore]) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        try:
            self._store = self._thread.submit(open_).result()
        except BaseException:
            self._thread.shutdown()
            raise

    async def __call__(self, work: Callable[[ShufflerStore], R]) -> R:
        """Do this in the store's thread; an iterator that it returns is moved by further calls only."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, self._store)

    async def persistently(self, work: Callable[[ShufflerStore], R], on_failure: Callable[[Exception], None]) -> R:
        """Do this, and again after an error, which `on_failure` gets: a change that is there already is a success.

        Room is waited for as long as it takes; of faults the last of `FAULTS` is raised, and a refusal at once.
        """
        faults = 0

        def is_final(error: Exception) -> bool:
            nonlocal faults
            if isinstance(error, Full):
                return False
            faults += 1
            return faults >= FAULTS or isinstance(error, Refused)

        policy = replace(PERSISTENT, final=is_final)
        return await retrying(lambda: self(work), policy, rng=system(), on_failure=lambda error, _: on_failure(error))

    async def keep(self, _: bytes, event: Event) -> None:
        """Put an event into the audit log: the observer's keeper."""
        assert isinstance(event, TwoListsSigned), f"{type(event).__name__} has no entry in the audit log"
        await self(lambda store: store.audit(event.sentence, event.proof))

    def close(self) -> None:
        """Finish what was begun and let go."""
        self._thread.submit(self._store.close).result()
        self._thread.shutdown()
