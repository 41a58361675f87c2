"""A way to an address through a proxy: SOCKS5 (RFC 1928, without a password) or HTTP CONNECT.

A channel connects to a port on this machine, and what it sends comes out of the proxy at the address: the other end
sees the proxy's address. Through the tunnel goes TLS to a pinned certificate, so neither the proxy nor another program
of this machine that finds the port can read or change it. Names are resolved by the proxy.
"""

import re
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from peos.errors import RemoteFault, WrongInput

SOCKS5: Final = "socks5"
HTTP: Final = "http"
_FORM: Final = re.compile(r"(socks5|http)://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})/?")
_SECONDS: Final = 20.0  # to reach the proxy, and for its answer
_BLOCK: Final = 1 << 16
_HEAD: Final = 1 << 13  # bytes of an HTTP proxy's answer


@dataclass(frozen=True)
class Proxy:
    """Where a proxy is, and how it is spoken to."""

    kind: str
    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Proxy":
        """From socks5://host:port or http://host:port."""
        found = _FORM.fullmatch(text)
        if not found or not 0 < int(found[3]) < 1 << 16:
            raise WrongInput(
                "config.proxy",
                f"{text[:80]!r} is not a proxy",
                hint="a proxy is socks5://host:port or http://host:port",
            )
        return cls(found[1], found[2].strip("[]"), int(found[3]))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.kind}://{host}:{self.port}"

    def fault(self, id_: str, sentence: str) -> RemoteFault:
        """What is wrong with it."""
        return RemoteFault(id_, sentence, party=f"the proxy {self}", step="connecting", hint="see [dummies] through")

    def connect(self, host: str, port: int) -> socket.socket:
        """A connection to host:port as the proxy makes it."""
        try:
            link = socket.create_connection((self.host, self.port), timeout=_SECONDS)
        except OSError as error:
            raise self.fault("proxy.unreachable", f"cannot be reached: {error.strerror or error}") from None
        try:
            (self._ask_socks if self.kind == SOCKS5 else self._ask_http)(link, host, port)
            link.settimeout(None)
        except OSError as error:
            link.close()
            raise self.fault("proxy.broke_off", f"broke off: {error.strerror or error}") from None
        except BaseException:
            link.close()
            raise
        return link

    def _ask_socks(self, link: socket.socket, host: str, port: int) -> None:
        link.sendall(b"\x05\x01\x00")  # version 5, one way to log in: none
        if self._read(link, 2) != b"\x05\x00":
            raise self.fault("proxy.login", "wants a password, or does not speak SOCKS5")
        name = host.encode("idna")
        link.sendall(b"\x05\x01\x00\x03" + bytes([len(name)]) + name + struct.pack(">H", port))
        version, reply, _, kind = self._read(link, 4)
        if version != 5 or reply:
            raise self.fault("proxy.target", f"does not connect to {host}:{port} (SOCKS5 reply {reply})")
        length = {1: 4, 3: 0, 4: 16}.get(kind)
        if length is None:
            raise self.fault("proxy.protocol", "does not speak SOCKS5")
        self._read(link, (length or self._read(link, 1)[0]) + 2)

    def _ask_http(self, link: socket.socket, host: str, port: int) -> None:
        where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        link.sendall(f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n\r\n".encode("ascii"))
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            if len(head) >= _HEAD:
                raise self.fault("proxy.protocol", "does not speak HTTP")
            head += self._read(link, 1)  # not a byte of what follows the head may be read here
        status = head.split(b"\r\n", 1)[0].split(b" ")
        if len(status) < 2 or not status[0].startswith(b"HTTP/1.") or status[1] != b"200":
            shown = head.split(b"\r\n", 1)[0][:60].decode("ascii", "replace")
            raise self.fault("proxy.target", f"does not connect to {where} ({shown!r})")

    def _read(self, link: socket.socket, count: int) -> bytes:
        found = b""
        while len(found) < count:
            block = link.recv(count - len(found))
            if not block:
                raise self.fault("proxy.closed", "closed the connection")
            found += block
        return found


class Tunnel:
    """A port of this machine that leads through a proxy to one address; closed at the end of a `with`."""

    def __init__(self, proxy: Proxy, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._proxy, self._host, self._port = proxy, host.strip("[]"), int(port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._closed = False
        self.trouble = ""  # why the proxy was of no use, if it was not
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept, name="tunnel", daemon=True)]
        self._threads[0].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the port and every connection, and end the threads."""
        with self._lock:
            self._closed = True
            ending = [self._listener, *self._open]
        for one in ending:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in list(self._threads):
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return  # closed
            self._start(self._serve, near)

    def _serve(self, near: socket.socket) -> None:
        try:
            far = self._proxy.connect(self._host, self._port)
        except RemoteFault as fault:
            self.trouble = str(fault)
            near.close()
            return
        with self._lock:
            if self._closed:
                near.close()
                far.close()
                return
            self._open |= {near, far}
        self._start(self._pump, near, far)
        self._pump(far, near)

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while block := source.recv(_BLOCK):
                sink.sendall(block)
        for one in (source, sink):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _start(self, work: Callable[..., None], *arguments: socket.socket) -> None:
        with self._lock:
            if self._closed:
                for one in arguments:
                    one.close()
                return
            thread = threading.Thread(target=work, args=arguments, name="tunnel", daemon=True)
            self._threads.append(thread)
        thread.start()
