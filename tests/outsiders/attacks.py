"""What outsiders may do to a port without a ticket or a certificate, as a process of its own, until its input ends.

python -m tests.outsiders.attacks KIND COUNT ADDRESSES DIGEST HOST:PORT ...

COUNT connections are kept up against each port, or streams over six connections, from the source addresses 127.0.0.2
on; what the other end drops is begun again half a second later. Sockets and bytes only: no client library would do it.
"""

import asyncio
import contextlib
import json
import ssl
import sys
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from itertools import count
from typing import Any, Final

from peos.wire.methods import DESCRIBE, SUBMIT_MANY, Method

AGAIN: Final = 0.5
_AT_ONCE: Final = 32  # handshakes at a time: the attacker's own processor is not what is tested
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _CONTINUATION = 0, 1, 3, 4, 6, 9
_END_STREAM, _END_HEADERS, _ACK = 1, 4, 1
_WINDOW: Final = 4  # the setting of how much may come before it is asked for
_FRAME: Final = 16_384
METADATA: Final = 1 << 20
STREAMS_OVER: Final = 6  # connections

seen: Counter[str] = Counter()


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame of HTTP/2 (RFC 9113, 4.1)."""
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def field(name: str, value: str) -> bytes:
    """A header as a literal that is not remembered (RFC 7541, 6.2.2), without Huffman's code."""
    return b"\0" + b"".join(_length(len(text)) + text.encode() for text in (name, value))


def _length(size: int) -> bytes:
    if size < 127:
        return bytes([size])
    rest, encoded = size - 127, [127]
    while rest >= 128:
        encoded.append(rest % 128 + 128)
        rest //= 128
    return bytes([*encoded, rest])


def headers(method: Method) -> bytes:
    """The headers of a call."""
    of = {":method": "POST", ":scheme": "https", ":path": method.path, ":authority": "peos.party"}
    return b"".join(field(*one) for one in (*of.items(), ("content-type", "application/grpc"), ("te", "trailers")))


def client_hello() -> bytes:
    """The first flight of a handshake that is never finished."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        _context().wrap_bio(incoming, outgoing, server_hostname="peos.party").do_handshake()
    return outgoing.read()


def _context() -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    made.set_alpn_protocols(["h2"])
    return made


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _ended(streams: Streams) -> None:
    """Until the other end has had enough."""
    while await streams[0].read(1 << 16):
        pass


async def idle(streams: Streams, _: int, __: bytes) -> None:
    """A connection, and not a byte."""
    await _ended(streams)


async def half(streams: Streams, _: int, __: bytes) -> None:
    """The first flight of a handshake, and nothing more."""
    streams[1].write(client_hello())
    await _ended(streams)


async def silent(streams: Streams, calls: int, _: bytes) -> None:
    """Streams of submissions that never bring a part; one that ends is begun again."""
    reader, writer = streams
    ids = count(1, 2)

    def begin() -> None:
        seen["streams"] += 1
        writer.write(frame(_HEADERS, _END_HEADERS, next(ids), headers(SUBMIT_MANY)))

    writer.write(_PREFACE + frame(_SETTINGS, 0, 0))
    for _number in range(calls):
        begin()
    async for kind, flags, payload in _frames(reader):
        if kind == _SETTINGS and not flags & _ACK:
            writer.write(frame(_SETTINGS, _ACK, 0))
        elif kind == _PING and not flags & _ACK:
            writer.write(frame(_PING, _ACK, 0, payload))
        elif kind == _RESET or (kind == _HEADERS and flags & _END_STREAM):
            seen["streams ended"] += 1
            asyncio.get_running_loop().call_later(AGAIN, begin)


async def _frames(reader: asyncio.StreamReader) -> Any:
    with contextlib.suppress(asyncio.IncompleteReadError):
        while True:
            head = await reader.readexactly(9)
            yield head[3], head[4], await reader.readexactly(int.from_bytes(head[:3], "big"))


async def slow(streams: Streams, _: int, digest: bytes) -> None:
    """Calls whose answers are never taken: neither the window is opened, nor is anything read."""
    writer = streams[1]
    request = DESCRIBE.encode(digest)
    message = b"\0" + len(request).to_bytes(4, "big") + request
    writer.write(_PREFACE + frame(_SETTINGS, 0, 0, _WINDOW.to_bytes(2, "big") + bytes(4)))
    for stream in (1, 3, 5, 7):
        writer.write(frame(_HEADERS, _END_HEADERS, stream, headers(DESCRIBE)))
        writer.write(frame(_DATA, _END_STREAM, stream, message))
    while not writer.is_closing():
        await asyncio.sleep(AGAIN)


async def metadata(streams: Streams, _: int, __: bytes) -> None:
    """A call with a megabyte of metadata, as fast as it is taken."""
    reader, writer = streams
    block = headers(SUBMIT_MANY) + field("x-much", "x" * METADATA)
    first, *rest = [block[at : at + _FRAME] for at in range(0, len(block), _FRAME)]
    writer.write(_PREFACE + frame(_SETTINGS, 0, 0) + frame(_HEADERS, 0, 1, first))
    for part in rest:
        writer.write(frame(_CONTINUATION, _END_HEADERS if part is rest[-1] else 0, 1, part))
        await writer.drain()
    await asyncio.wait_for(reader.read(1 << 16), 5)


Attack = Callable[[Streams, int, bytes], Coroutine[Any, Any, None]]
KINDS: Final[dict[str, Attack]] = {
    "idle": idle,
    "half": half,
    "silent": silent,
    "slow": slow,
    "metadata": metadata,
}
WITH_TLS: Final = frozenset({"silent", "slow", "metadata"})


async def keep_up(
    kind: str, number: int, calls: int, addresses: int, digest: bytes, to: str, at_once: Any, over: asyncio.Event
) -> None:
    """One connection after another, from one address, until it is over: a cancellation may be lost on the way."""
    host, _, port = to.rpartition(":")
    source = f"127.0.0.{2 + number % addresses}"
    secured: dict[str, Any] = {"ssl": _context(), "server_hostname": "peos.party"} if kind in WITH_TLS else {}
    while not over.is_set():
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            async with at_once, asyncio.timeout(20):
                seen["tried"] += 1
                streams = await asyncio.open_connection(host, int(port), local_addr=(source, 0), **secured)
            seen["connected"] += 1
            try:
                await KINDS[kind](streams, calls, digest)
            finally:
                streams[1].transport.abort()
        await asyncio.sleep(AGAIN)


def _shares(kind: str, total: int, addresses: int) -> Iterator[tuple[int, int]]:
    """Number of a connection, and how many calls it makes."""
    if kind != "silent":
        yield from ((number, 0) for number in range(total))
        return
    connections = max(STREAMS_OVER, addresses if addresses > 1 else 0)
    for number in range(connections):
        yield number, total // connections + (number < total % connections)


async def main(kind: str, total: int, addresses: int, digest: bytes, ports: list[str]) -> None:
    """Attack until the input ends."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    loop.set_exception_handler(lambda *_: None)  # connections break here by the hundred
    threading.Thread(target=lambda: (sys.stdin.read(), loop.call_soon_threadsafe(over.set)), daemon=True).start()
    at_once = asyncio.Semaphore(_AT_ONCE)
    tasks = [
        loop.create_task(keep_up(kind, number, calls, addresses, digest, port, at_once, over))
        for port in ports
        for number, calls in _shares(kind, total, addresses)
    ]
    while seen["tried"] < len(tasks) and not over.is_set():
        await asyncio.sleep(0.05)
    print("ready", flush=True)  # noqa: T201 - to the process that started it
    await over.wait()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    print(json.dumps(seen), flush=True)  # noqa: T201 - likewise


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), bytes.fromhex(sys.argv[4]), sys.argv[5:]))
