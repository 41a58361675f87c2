"""The store behind its one thread."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from peos.store.base import ShufflerStore

R = TypeVar("R")


class Stored:
    """Runs calls on the store, one after another, in the thread that opened it."""

    def __init__(self, open_: Callable[[], ShufflerStore]) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._store = self._thread.submit(open_).result()

    async def __call__(self, work: Callable[[ShufflerStore], R]) -> R:
        """Do this in the store's thread; what it returns must not be an iterator of the store's."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, self._store)

    def close(self) -> None:
        """Finish what was begun and let go."""
        self._thread.submit(self._store.close).result()
        self._thread.shutdown()
