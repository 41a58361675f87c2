"""How large a message may be and how a connection shows that it is alive, the same at both ends."""

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
