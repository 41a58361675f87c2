"""Proxies as an analyst would name them: SOCKS5 and HTTP CONNECT, in threads, leaving from an address of their own."""

import socket
import struct
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self


class Proxy:
    """One proxy on this machine; `asked` lists where it was asked to connect to."""

    def __init__(self, kind: str, *, source: str = "127.0.0.9", refuse: bool = False) -> None:
        self.kind, self.source, self.refuse = kind, source, refuse
        self.asked: list[tuple[str, int]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"{kind}://127.0.0.1:{self._listener.getsockname()[1]}"
        self._sockets: list[socket.socket] = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self._sockets.append(near)
                threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with suppress(OSError):
            target = self._socks(near) if self.kind == "socks5" else self._http(near)
            self.asked.append(target)
            if self.refuse:
                near.sendall(b"\x05\x02\x00\x01" + bytes(6) if self.kind == "socks5" else b"HTTP/1.1 403 No\r\n\r\n")
                near.close()
                return
            far = socket.create_connection(target, source_address=(self.source, 0))
            self._sockets.append(far)
            near.sendall(
                b"\x05\x00\x00\x01" + bytes(6) if self.kind == "socks5" else b"HTTP/1.1 200 OK\r\nX-By: test\r\n\r\n"
            )
            threading.Thread(target=_pump, args=(near, far), daemon=True).start()
            _pump(far, near)

    def _socks(self, near: socket.socket) -> tuple[str, int]:
        _, methods = near.recv(2, socket.MSG_WAITALL)
        near.recv(methods, socket.MSG_WAITALL)
        near.sendall(b"\x05\x00")
        *_, kind = near.recv(4, socket.MSG_WAITALL)
        assert kind == 3, "names are left to the proxy"
        name = near.recv(near.recv(1)[0], socket.MSG_WAITALL).decode()
        (port,) = struct.unpack(">H", near.recv(2, socket.MSG_WAITALL))
        return name, port

    def _http(self, near: socket.socket) -> tuple[str, int]:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += near.recv(1)
        host, _, port = head.split(b" ")[1].decode().rpartition(":")
        return host, int(port)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while block := source.recv(1 << 16):
            sink.sendall(block)
    for one in (source, sink):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
