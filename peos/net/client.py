"""Reaching another party: channels, and calls that are repeated with growing pauses."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from peos.crypto.randomness import Randomness
from peos.errors import PeosError
from peos.net.certificates import TARGET_NAME, Certificate
from peos.net.errors import from_rpc_error, is_retryable
from peos.net.limits import OPTIONS
from peos.net.tls import grpc, pinned

T = TypeVar("T")
TIMEOUT: Final = 30.0  # seconds, of a call that says nothing else

_OPTIONS: Final = (
    *OPTIONS,
    ("grpc.ssl_target_name_override", TARGET_NAME),
    ("grpc.enable_retries", 0),  # `retrying` does it, and says whom it waits for
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 10_000),  # how long a connection may take: three turns of a line that is slow
    ("grpc.max_reconnect_backoff_ms", 5_000),
    ("grpc.enable_http_proxy", 0),  # parties talk through nobody else
)


def channel(address: str, server: bytes, own: Certificate | None = None) -> grpc.aio.Channel:
    """A channel to the party whose certificate is `server`; peers show their `own`."""
    return grpc.aio.secure_channel(address, pinned(server, own), options=_OPTIONS)


def blocking_channel(address: str, server: bytes, own: Certificate | None = None) -> grpc.Channel:
    """The same, for programs without an event loop."""
    return grpc.secure_channel(address, pinned(server, own), options=_OPTIONS)


@dataclass(frozen=True)
class Backoff:
    """How often to try, and how long to wait between: uniform up to base · 2^k, never beyond `ceiling` seconds.

    Full jitter: callers that failed together do not come back together.
    """

    attempts: int = 8
    base: float = 0.1
    ceiling: float = 10.0

    def pause(self, failures: int, rng: Randomness) -> float:
        """Seconds to wait after so many failures (at least 1)."""
        most = min(self.ceiling, self.base * 2 ** min(failures - 1, 32))
        return rng.integer_below(int(most * 1000) + 1) / 1000


STANDARD: Final = Backoff()
ONCE: Final = Backoff(attempts=1)
Waited = Callable[[PeosError, float], None]


async def retrying(
    call: Callable[[], Awaitable[T]],
    *,
    party: str,
    step: str,
    rng: Randomness,
    backoff: Backoff = STANDARD,
    waiting: Waited | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> T:
    """`call`'s answer, tried again while that may help; then the one sentence about what failed.

    `waiting` is told of each pause, for `status` and the log.
    """
    failures = 0
    while True:
        try:
            return await call()
        except grpc.RpcError as error:
            failures += 1
            pause = _pause(error, failures, backoff, rng)
            sentence = from_rpc_error(error, party, step)
        if pause is None:
            raise sentence from None
        if waiting is not None:
            waiting(sentence, pause)
        await sleep(pause)


def retrying_blocking(
    call: Callable[[], T],
    *,
    party: str,
    step: str,
    rng: Randomness,
    backoff: Backoff = STANDARD,
    waiting: Waited | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """`retrying` for a blocking channel."""
    failures = 0
    while True:
        try:
            return call()
        except grpc.RpcError as error:
            failures += 1
            pause = _pause(error, failures, backoff, rng)
            sentence = from_rpc_error(error, party, step)
        if pause is None:
            raise sentence from None
        if waiting is not None:
            waiting(sentence, pause)
        sleep(pause)


def _pause(error: grpc.RpcError, failures: int, backoff: Backoff, rng: Randomness) -> float | None:
    """How long to wait before the next attempt; None if there is none."""
    if failures >= backoff.attempts or not is_retryable(error):
        return None
    return backoff.pause(failures, rng)
