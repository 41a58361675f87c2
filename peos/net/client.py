"""Reaching another party: channels."""

from typing import Final, TypeVar

from peos.net.certificates import TARGET_NAME, Certificate
from peos.net.limits import OPTIONS
from peos.net.tls import grpc, pinned

T = TypeVar("T")
TIMEOUT: Final = 30.0  # seconds, of a call that says nothing else

_OPTIONS: Final = (
    *OPTIONS,
    ("grpc.ssl_target_name_override", TARGET_NAME),
    ("grpc.enable_retries", 0),  # `peos.net.retry` does it, and says whom it waits for
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 10_000),  # how long a connection may take: three turns of a line that is slow
    ("grpc.max_reconnect_backoff_ms", 5_000),
    ("grpc.enable_http_proxy", 0),  # no proxy between parties
)


def channel(address: str, server: bytes, own: Certificate | None = None) -> grpc.aio.Channel:
    """A channel to the party whose certificate is `server`; peers show their `own`."""
    return grpc.aio.secure_channel(address, pinned(server, own), options=_OPTIONS)


def blocking_channel(address: str, server: bytes, own: Certificate | None = None) -> grpc.Channel:
    """The same, for programs without an event loop."""
    return grpc.secure_channel(address, pinned(server, own), options=_OPTIONS)
