"""How large a message may be, how a connection shows that it is alive, and how many a port takes.

Every connection of a server costs three descriptors: where it came in, and the two ends of its way to gRPC
(`peos.net.acceptor`). Disk, workers and what this process itself opens have their own share of the table.
"""

from dataclasses import dataclass, replace
from typing import Final

from peos.wire.strict import MESSAGE_LIMIT

MESSAGE_BYTES: Final = MESSAGE_LIMIT + (64 << 10)  # the codec's own limit refuses first, and with a sentence
KEEPALIVE_MS: Final = 30_000
OPTIONS: Final = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES),
    ("grpc.max_send_message_length", MESSAGE_BYTES),
    ("grpc.max_metadata_size", 16 << 10),
    ("grpc.keepalive_time_ms", KEEPALIVE_MS),
    ("grpc.keepalive_timeout_ms", 10_000),
)
PER_CONNECTION: Final = 3
RESERVED: Final = 96  # descriptors at least that no connection may take; a quarter of the table if that is more


@dataclass(frozen=True)
class Limits:
    """What one port takes at a time. `strangers`: callers need no certificate, as on a port for users."""

    connections: int = 256
    per_address: int = 128
    streams: int = 128  # calls of one connection
    calls: int = 512  # of all connections; beyond, callers are asked to come back
    handshake: float = 10.0  # seconds for TLS
    stuck: float = 30.0  # seconds in which a caller takes none of what is sent to it
    strangers: bool = False
    idle: float = 60.0  # seconds without a call after which a stranger's connection is closed
    age: float = 900.0  # seconds after which a stranger's connection begins anew, whatever it does

    @classmethod
    def for_users(cls, connections: int, per_address: int) -> "Limits":
        """Limits of a port for users: few calls a connection, so that no address has many."""
        streams = 4  # a client has one stream of parts, and asks for the document
        return cls(connections, per_address, streams, connections * streams, strangers=True)


PEERS: Final = Limits()
METRICS: Final = Limits(connections=8, per_address=8, strangers=True)


def fitted(descriptors: int, *ports: Limits, apart: int = 0) -> tuple[Limits, ...]:
    """The limits of a process's ports, lowered to what its table of descriptors has room for.

    `apart`: connections of a port that keeps its limits.
    """
    left = descriptors - max(RESERVED, descriptors // 4)
    most = max(4, (left // PER_CONNECTION - apart) // len(ports))
    return tuple(replace(port, connections=min(port.connections, most)) for port in ports)
