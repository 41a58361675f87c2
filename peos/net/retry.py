"""One policy for everything that is tried again: how long to wait, how often, until when, and what is final.

A pause is uniform up to base · 2^k, never beyond the ceiling (full jitter): parties that failed together do not come
back together. Every call here may be repeated, since the same bytes change nothing twice.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from peos.crypto.randomness import Randomness
from peos.errors import Full, NotYet, PeosError, Refused
from peos.net.errors import is_retryable

T = TypeVar("T")
OnFailure = Callable[[Exception, float], None]
"""Hears of a failure that is not the last, and how long the pause after it is."""


def is_final(error: Exception) -> bool:
    """Whether the same call would fail again, as the table of errors says."""
    return not is_retryable(error)


def is_refused(error: Exception) -> bool:
    """Whether another party said no for good; or something failed that is no error of ours to name."""
    return not isinstance(error, PeosError) or (isinstance(error, Refused) and not isinstance(error, NotYet | Full))


@dataclass(frozen=True)
class Retry:
    """What is tried again. Without `attempts` or `seconds` it goes on until the call succeeds or its error is final."""

    attempts: int | None = None
    base: float = 1.0  # seconds
    ceiling: float = 10.0
    seconds: float | None = None  # after the first try, in which another may begin
    final: Callable[[Exception], bool] = is_final

    def pause(self, failures: int, rng: Randomness) -> float:
        """Seconds to wait after so many failures (at least 1)."""
        most = min(self.ceiling, self.base * 2 ** min(failures - 1, 32))
        return rng.integer_below(int(most * 1000) + 1) / 1000

    def after(self, error: Exception, failures: int, since: float, rng: Randomness) -> float | None:
        """How long to wait before the next try, the first having begun at `since`; None if there is none."""
        is_over = self.attempts is not None and failures >= self.attempts
        is_late = self.seconds is not None and time.monotonic() > since + self.seconds
        return None if is_over or is_late or self.final(error) else self.pause(failures, rng)


STANDARD: Final = Retry(attempts=8, base=0.1)
FOREVER: Final = Retry(base=2.0, final=lambda _: False)
"""Whatever the error is: the caller is cancelled when the call is not wanted any more."""
ONCE: Final = Retry(attempts=1)


async def retrying(
    call: Callable[[], Awaitable[T]],
    policy: Retry,
    *,
    rng: Randomness,
    on_failure: OnFailure | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> T:
    """`call`'s answer, tried again as the policy says; `on_failure` hears of each failure that is not the last."""
    failures, since = 0, time.monotonic()
    while True:
        try:
            return await call()
        except Exception as error:
            failures += 1
            pause = policy.after(error, failures, since, rng)
            if pause is None:
                raise
            if on_failure is not None:
                on_failure(error, pause)
        await sleep(pause)


def retrying_blocking(
    call: Callable[[], T],
    policy: Retry,
    *,
    rng: Randomness,
    on_failure: OnFailure | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """`retrying` for threads."""
    failures, since = 0, time.monotonic()
    while True:
        try:
            return call()
        except Exception as error:
            failures += 1
            pause = policy.after(error, failures, since, rng)
            if pause is None:
                raise
            if on_failure is not None:
                on_failure(error, pause)
        sleep(pause)
