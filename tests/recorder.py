"""A port that speaks TLS before another, and keeps what came: each caller's ClientHello, and its requests as sent.

What a shuffler's operator could see of a caller. JA4 is made of the same parts of a ClientHello.
"""

import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from types import TracebackType
from typing import Final, Self, TypeVar

from peos.localcluster import HOST, NAME

Link = TypeVar("Link", bound=socket.socket)
_HELLO: Final = 1 << 14
_BLOCK: Final = 1 << 16
_VERSIONS, _GROUPS, _SIGNATURES, _ALPN, _PADDING, _KEYS, _RESUMED = 43, 10, 13, 16, 21, 51, 41


@dataclass(frozen=True)
class Hello:
    """A ClientHello without what is random in it: values of GREASE, order of extensions, and lengths, so padding."""

    versions: tuple[int, ...]
    ciphers: tuple[int, ...]
    extensions: tuple[int, ...]  # sorted, that for resumption aside
    alpn: tuple[str, ...]
    signatures: tuple[int, ...]
    groups: tuple[int, ...]
    key_shares: tuple[int, ...]
    greased: bool
    resumes: bool  # an earlier connection, by a ticket of it

    @classmethod
    def parse(cls, record: bytes) -> "Hello":
        """From the first record of a connection."""
        at = 5 + 4 + 2 + 32  # record, handshake message, version, random
        at += 1 + record[at]  # session id
        ciphers, at = _vector(record, at, 2)
        _, at = _vector(record, at, 1)
        extensions, _ = _vector(record, at, 2)
        found, at = {}, 0
        while at < len(extensions):
            kind = struct.unpack_from(">H", extensions, at)[0]
            found[kind], at = _vector(extensions, at + 2, 2)
        names, at, alpn = found.get(_ALPN, b"\0\0")[2:], 0, []
        while at < len(names):
            name, at = _vector(names, at, 1)
            alpn.append(name.decode())
        return cls(
            _numbers(_vector(found[_VERSIONS], 0, 1)[0]),
            _numbers(ciphers),
            tuple(sorted(kind for kind in found if not _is_grease(kind) and kind not in (_PADDING, _RESUMED))),
            tuple(alpn),
            _numbers(_vector(found[_SIGNATURES], 0, 2)[0]),
            _numbers(_vector(found[_GROUPS], 0, 2)[0]),
            tuple(_shares(_vector(found[_KEYS], 0, 2)[0])),
            any(map(_is_grease, found)),
            _RESUMED in found,
        )


@dataclass
class Heard:
    """One connection."""

    source: str
    hello: bytes = b""
    records: list[bytes] = field(default_factory=list)  # what each record of the caller's had in it

    @property
    def requests(self) -> list[tuple[bytes, dict[str, str]]]:
        """The lines, and the headers in their order, as they were written."""
        return list(_requests(b"".join(self.records)))


class Recorder:
    """Takes connections with a folder's certificate, and passes on what comes to a port whose authority it trusts."""

    def __init__(
        self, folder: Path, target: int, authority: Path, *, newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
    ) -> None:
        self._target, self.heard = target, list[Heard]()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(folder / "web.pem", folder / "web.key")
        self._context.maximum_version = newest
        self._onwards = ssl.create_default_context(cafile=str(authority))
        self._listener = socket.create_server((HOST, 0))
        self._near: set[socket.socket] = set()
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _shut(self._listener)
        self._listener.close()
        self.hang_up()

    @property
    def open(self) -> int:
        """How many connections there are."""
        return sum(isinstance(one, ssl.SSLSocket) for one in self._near.copy())

    def hang_up(self) -> None:
        """Close every connection, as a shuffler does that hears nothing for a while."""
        for one in self._near.copy():
            _shut(one)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, (source, _) = self._listener.accept()
                threading.Thread(target=self._serve, args=(near, source), daemon=True).start()

    def _serve(self, raw: socket.socket, source: str) -> None:
        with suppress(OSError), ExitStack() as stack:
            self._keep(stack, raw)
            heard = Heard(source, _first_record(raw))
            self.heard.append(heard)
            near = self._keep(stack, self._context.wrap_socket(raw, server_side=True))
            onwards = socket.create_connection((HOST, self._target))
            far = stack.enter_context(self._onwards.wrap_socket(onwards, server_hostname=NAME))
            self._pass_on(near, far, heard.records)

    def _keep(self, stack: ExitStack, link: Link) -> Link:
        """As long as the stack is open."""
        self._near.add(link)
        stack.callback(self._near.discard, link)
        stack.enter_context(link)
        return link

    def _pass_on(self, near: ssl.SSLSocket, far: ssl.SSLSocket, records: list[bytes]) -> None:
        """In one thread, since two must not use one TLS connection at a time."""
        other = {near: far, far: near}
        with DefaultSelector() as selector:
            for link in other:
                selector.register(link, EVENT_READ, link)
            while True:
                waiting = [link for link in other if link.pending()]
                for link in waiting or [key.data for key, _ in selector.select()]:
                    block = _read(link)
                    if block == b"":
                        return
                    if block and link is near:
                        records.append(block)
                    other[link].sendall(block or b"")


def _first_record(raw: socket.socket) -> bytes:
    """What TLS will read first; it stays to be read."""
    wanted = 5
    while True:
        seen = raw.recv(_HELLO, socket.MSG_PEEK)
        if len(seen) >= 5:
            wanted = 5 + int.from_bytes(seen[3:5], "big")
        if len(seen) >= wanted or not seen:
            return seen[:wanted]


def _read(link: ssl.SSLSocket) -> bytes | None:
    """What came; nothing at the end, and None if it was for TLS alone."""
    link.setblocking(False)
    try:
        return link.recv(_BLOCK)
    except ssl.SSLWantReadError:
        return None
    finally:
        link.setblocking(True)


def _shut(link: socket.socket) -> None:
    with suppress(OSError):
        socket.socket.shutdown(link, socket.SHUT_RDWR)  # TLS's own would have another thread read what is encrypted


def _requests(said: bytes) -> Iterator[tuple[bytes, dict[str, str]]]:
    while said:
        head, _, said = said.partition(b"\r\n\r\n")
        line, *rest = head.split(b"\r\n")
        headers = dict(one.decode("latin-1").split(": ", 1) for one in rest)
        yield line, headers
        said = said[int(headers.get("Content-Length", 0)) :]


def _vector(data: bytes, at: int, width: int) -> tuple[bytes, int]:
    start = at + width
    end = start + int.from_bytes(data[at:start], "big")
    return data[start:end], end


def _numbers(data: bytes) -> tuple[int, ...]:
    return tuple(one for (one,) in struct.iter_unpack(">H", data) if not _is_grease(one))


def _shares(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        group = struct.unpack_from(">H", data, at)[0]
        _, at = _vector(data, at + 2, 2)
        if not _is_grease(group):
            yield group


def _is_grease(number: int) -> bool:
    return number & 0x0F0F == 0x0A0A and number >> 8 == number & 0xFF
