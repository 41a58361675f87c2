"""Heavy work off the event loop, in threads that do not delay the end of the process.

`asyncio.to_thread` would: its threads are waited for, and a pass over many ciphertexts takes minutes. Nothing that is
worked here is durable, so at the end it is simply left.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Final, TypeVar

R = TypeVar("R")
_NAME: Final = "heavy work"


async def in_background(work: Callable[[], R]) -> R:
    """The result of `work`, or its exception."""
    loop = asyncio.get_running_loop()
    settled: asyncio.Future[R] = loop.create_future()

    def settle(how: Callable[[], None]) -> None:
        if not settled.done():
            how()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            caught = error
            how: Callable[[], None] = lambda: settled.set_exception(caught)  # noqa: E731 - one of two
        else:
            how = lambda: settled.set_result(result)  # noqa: E731
        with contextlib.suppress(RuntimeError):  # the loop has ended: there is no waiter left
            loop.call_soon_threadsafe(settle, how)

    threading.Thread(target=run, name=_NAME, daemon=True).start()
    return await settled


def is_left() -> bool:
    """Whether abandoned work is still going on."""
    return any(thread.name == _NAME for thread in threading.enumerate())
