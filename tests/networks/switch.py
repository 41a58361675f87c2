"""A network of real packets between network namespaces: what a router does, and what goes wrong at one.

Each process is in a namespace of its own, in which there is nothing but a tunnel (/dev/net/tun) whose other end is
held here. A packet goes to the tunnel that has its destination's address, unless the link between the two parties
loses, delays or does not carry it. Nothing but these packets leaves or enters a namespace, and nothing of it stays
when its process has ended. Kernels without netem or a bridge can do this too.
"""

import heapq
import os
import random
import selectors
import socket
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

NETWORK: Final = "10.83"
_MOST: Final = 65_536  # bytes of a packet
_BURST: Final = 64  # packets of one tunnel, before the others are looked at
_HELD: Final = 20_000  # packets on their way; beyond that a router drops
_SOURCE, _DESTINATION = slice(12, 16), slice(16, 20)  # in the header of an IPv4 packet


@dataclass
class Link:
    """How packets between two parties fare, in both directions."""

    loss: float = 0.0  # the share that is lost
    delay: float = 0.0  # seconds
    jitter: float = 0.0  # seconds more, at most; packets overtake one another
    cut: bool = False


@dataclass
class Counted:
    """What became of the packets."""

    carried: int = 0
    lost: int = 0
    cut: int = 0
    delayed: int = 0


class Switch:
    """Runs in a thread of its own while it is open. Parties are known by name: one has the addresses 10.83.NUMBER.*."""

    def __init__(self, folder: Path, parties: tuple[str, ...], seed: int = 1) -> None:
        self.path = folder / "switch"
        self.counted = Counted()
        self._numbers = {name: number for number, name in enumerate(parties, start=1)}
        self._names = {number: name for name, number in self._numbers.items()}
        self._last = dict.fromkeys(parties, 1)  # of the addresses that were given; .1 is of the process that serves
        self._links: dict[frozenset[str], Link] = {}
        self._default = Link()
        self._lock = threading.Lock()
        self._rng = random.Random(seed)  # noqa: S311 - which packets are lost is no secret
        self._tunnels: dict[bytes, int] = {}
        self._later: list[tuple[float, int, bytes]] = []
        self._number = 0
        self._selector = selectors.DefaultSelector()
        self._door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._door.bind(str(self.path))
        self._door.listen(64)
        self._wake, self._woken = os.pipe()
        self._selector.register(self._door, selectors.EVENT_READ, b"")
        self._selector.register(self._wake, selectors.EVENT_READ, b"")
        self._open = True
        self._thread = threading.Thread(target=self._run, name="switch", daemon=True)
        self._thread.start()

    def __enter__(self) -> "Switch":
        return self

    def __exit__(self, *_: object) -> None:
        self._open = False
        os.write(self._woken, b"x")
        self._thread.join()
        for tunnel in self._tunnels.values():
            os.close(tunnel)
        self._selector.close()
        self._door.close()
        os.close(self._wake)
        os.close(self._woken)

    def host(self, name: str) -> str:
        """Where a party serves."""
        return f"{NETWORK}.{self._numbers[name]}.1"

    def other_host(self, name: str) -> str:
        """An address of the same party for one more process of its."""
        self._last[name] += 1
        return f"{NETWORK}.{self._numbers[name]}.{self._last[name]}"

    def set(self, one: str, other: str, link: Link) -> None:
        """From now on packets between the two fare so."""
        with self._lock:
            self._links[frozenset((one, other))] = link

    def set_all(self, link: Link) -> None:
        """All links are as this one."""
        with self._lock:
            self._links.clear()
            self._default = link

    def _run(self) -> None:
        while self._open:
            wait = max(0.0, self._later[0][0] - time.monotonic()) if self._later else None
            for key, _ in self._selector.select(wait):
                if key.fileobj is self._door:
                    self._admit()
                elif key.data:
                    self._drain(int(key.fd), key.data)
            self._send_due()

    def _admit(self) -> None:
        with self._door.accept()[0] as caller:
            address, descriptors, _, _ = socket.recv_fds(caller, 64, 1)
            (tunnel,) = descriptors
            os.set_blocking(tunnel, False)
            place = socket.inet_aton(address.decode())
            self._forget(place)
            self._tunnels[place] = tunnel
            self._selector.register(tunnel, selectors.EVENT_READ, place)
            caller.sendall(b"+")

    def _forget(self, place: bytes) -> None:
        tunnel = self._tunnels.pop(place, None)
        if tunnel is not None:
            self._selector.unregister(tunnel)
            os.close(tunnel)

    def _drain(self, tunnel: int, place: bytes) -> None:
        for _ in range(_BURST):
            try:
                packet = os.read(tunnel, _MOST)
            except BlockingIOError:
                return
            except OSError:  # its namespace has ended
                self._forget(place)
                return
            self._route(packet)

    def _route(self, packet: bytes) -> None:
        if packet[0] >> 4 != 4:
            return
        source, destination = packet[_SOURCE], packet[_DESTINATION]
        with self._lock:
            names = frozenset((self._names.get(source[2], ""), self._names.get(destination[2], "")))
            link = self._links.get(names, self._default)
        if link.cut:
            self.counted.cut += 1
        elif link.loss and self._rng.random() < link.loss:
            self.counted.lost += 1
        elif link.delay or link.jitter:
            self.counted.delayed += 1
            if len(self._later) < _HELD:
                self._number += 1
                due = time.monotonic() + link.delay + self._rng.random() * link.jitter
                heapq.heappush(self._later, (due, self._number, packet))
        else:
            self._send(packet)

    def _send_due(self) -> None:
        now = time.monotonic()
        while self._later and self._later[0][0] <= now:
            self._send(heapq.heappop(self._later)[2])

    def _send(self, packet: Any) -> None:
        tunnel = self._tunnels.get(packet[_DESTINATION])
        if tunnel is None:
            return
        self.counted.carried += 1
        try:
            os.write(tunnel, packet)
        except BlockingIOError:
            pass  # its queue is full: lost, as at any router
        except OSError:
            self._forget(packet[_DESTINATION])
