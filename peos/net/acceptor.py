"""The public side of a port: who may connect, and how many, is settled before a server sees a connection.

gRPC can limit the connections of a port and the time of a handshake, but not the connections of one address: an
outsider who opens many would keep everybody else out. So connections are accepted here, counted by address, and carried
over loopback to where gRPC listens, byte for byte: TLS is between the caller and gRPC, and nothing is read here.

When a port or an address has as many as it may, the newcomer takes the place of the connection that has been silent
longest among those that have not finished a handshake. So no connection between parties that has outlived the time for
a handshake, which only one with a certificate does, is ever lost to an outsider.

On a port for strangers anybody finishes a handshake, and places go round: a newcomer takes the place of an address that
has wasted more of the port's time than its own has, which is how long its connections were kept lately without a word;
or of an address that has more than its share. Addresses that hold places, and come back for others, lose them to users,
and a user's handshake is not lost to them. Else the newcomer is turned away.
"""

import asyncio
import contextlib
import errno
import math
import socket
import struct
import threading
from collections import Counter
from itertools import islice
from typing import Any, Final

from peos.errors import WrongInput
from peos.net.limits import Limits
from peos.net.observer import NotAccepting, Observer, PortFull

_CHUNK: Final = 256 << 10
_BACKLOG: Final = 512
_AT_ONCE: Final = 64  # connections accepted before anything else gets its turn
_SWEEP: Final = 0.5  # seconds between looks at the clock
_REST: Final = 0.2  # seconds without accepting when the system has no descriptor left
_SILENT: Final = 0.1  # seconds after which a stranger's connection wastes its place
_MARGIN: Final = 0.4  # seconds by which it must have wasted more than a newcomer that gets it
_HALVED: Final = 30.0  # seconds in which half of what an address has wasted is forgotten
_LOOKED_AT: Final = 64  # of the longest silent, for one that must give way: the port may be flooded
_LAST: Final = 2.0  # seconds for the caller to hear that gRPC has ended
_RESET: Final = struct.pack("ii", 1, 0)  # close at once, without a state that lingers
_TOLD_EVERY: Final = 60.0
_NOTHING: Final = memoryview(b"")


class _Passage:
    """One connection, from outside to gRPC and back. A direction is read only once all it brought has been sent."""

    def __init__(self, acceptor: "Acceptor", outer: socket.socket, address: str) -> None:
        self.address = address
        self.is_answered = False
        self.is_settled = False  # it spoke after it was answered: it has finished its handshake, or gRPC ends it
        self.opened = self.heard = self.taken = acceptor.loop.time()
        self.finished = math.inf  # when gRPC ended it
        self.outward = _NOTHING  # for the caller, and not taken yet
        self.inner_port = 0  # from which it reaches gRPC, once it does
        self._inward = _NOTHING
        self._acceptor = acceptor
        self._loop = acceptor.loop
        self._outer = outer
        self._inner: socket.socket | None = None
        self._loop.add_reader(outer, self._from_outer)

    def close(self, *, at_once: bool = False) -> None:
        """Both sides; `at_once` also drops what the system would still send."""
        if self._outer.fileno() < 0:
            return
        for side in (self._outer, self._inner):
            if side is not None and side.fileno() >= 0:
                self._loop.remove_reader(side)
                self._loop.remove_writer(side)
                _close(side, at_once=at_once)
        self._acceptor.forget(self)

    def _from_outer(self) -> None:
        data = self._received(self._outer)
        if not data:
            return
        self._acceptor.note_heard(self)
        if self._inner is None and not self._connect():
            return
        self._inward = memoryview(data)
        self._to_inner()

    def _from_inner(self) -> None:
        assert self._inner is not None, "it is being read"
        data = self._received(self._inner)
        if not data:
            return
        self.is_answered = True
        self.taken = self._loop.time()
        self.outward = memoryview(data)
        self._to_outer()

    def _received(self, side: socket.socket) -> bytes:
        """What has come; nothing if the connection has ended, or there was nothing after all."""
        try:
            data = side.recv(_CHUNK)
        except (BlockingIOError, InterruptedError):
            return b""
        except OSError:
            data = b""
        if not data and side is self._inner:
            self._finish()
        elif not data:
            self.close()
        return data

    def _finish(self) -> None:
        """gRPC has ended it: the caller gets the last of it, which a close with something unread would cut off."""
        assert self._inner is not None, "it has ended"
        self._loop.remove_reader(self._inner)
        self._loop.remove_writer(self._inner)
        self._inner.close()
        self.finished = self._loop.time()
        try:
            self._outer.shutdown(socket.SHUT_WR)
        except OSError:
            self.close()
        else:
            self._loop.add_reader(self._outer, self._drain)

    def _drain(self) -> None:
        self._received(self._outer)

    def _connect(self) -> bool:
        """On towards gRPC, now that the caller has said something: silence costs one descriptor only."""
        try:
            self._inner = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            self._inner.setblocking(False)
            self._inner.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._inner.connect_ex(self._acceptor.inner)
            self.inner_port = self._inner.getsockname()[1]
        except OSError:
            self.close(at_once=True)
            return False
        self._acceptor.note_inner(self)
        self._loop.add_reader(self._inner, self._from_inner)
        return True

    def _to_inner(self) -> None:
        assert self._inner is not None, "it is connected before anything is sent"
        left = _sent(self._inner, self._inward)
        if left is None:  # gRPC takes no more; what it said last is still to be read
            self._loop.remove_writer(self._inner)
            self._loop.add_reader(self._outer, self._drain)
            return
        self._inward = left
        if left:
            self._loop.remove_reader(self._outer)
            self._loop.add_writer(self._inner, self._to_inner)
        elif self._loop.remove_writer(self._inner):
            self._loop.add_reader(self._outer, self._from_outer)

    def _to_outer(self) -> None:
        assert self._inner is not None, "what is sent outwards came from it"
        left = _sent(self._outer, self.outward)
        if left is None:
            self.close()
            return
        if len(left) < len(self.outward):
            self.taken = self._loop.time()
        self.outward = left
        if left:
            self._loop.remove_reader(self._inner)
            self._loop.add_writer(self._outer, self._to_outer)
        elif self._loop.remove_writer(self._outer):
            self._loop.add_reader(self._inner, self._from_inner)


class Acceptor:
    """Listens at an address, and carries what it lets in to `inner`, a port of this machine's loopback.

    In a thread of its own, so that connections live on while this process computes. `stop_accepting` and `close` are
    for the one who made it; everything else happens in that thread.
    """

    def __init__(
        self,
        address: str,
        inner: tuple[str, int],
        limits: Limits,
        observer: Observer,
        proxies: frozenset[str] = frozenset(),
    ) -> None:
        self._listeners = _listeners(address)
        self._proxies = proxies  # addresses with many callers behind each: no limit of their own
        self._callers: dict[int, str] = {}  # by the port from which they reach the inside
        self.loop = asyncio.new_event_loop()
        self.inner = inner
        self._limits = limits
        self._observer = observer
        # In the order in which they were heard of last, the longest silent first.
        self._unsettled: dict[_Passage, None] = {}
        self._settled: dict[_Passage, None] = {}
        self._by_address: dict[str, dict[_Passage, None]] = {}
        self._lately: Counter[str] = Counter()  # connections of each address in this second
        self._wasted: dict[str, float] = {}  # seconds, by address; of connections that are silent now it is yet to come
        self._turned_away = 0
        self._told_at = -_TOLD_EVERY
        self.port: int = self._listeners[0].getsockname()[1]
        self._ending = threading.Lock()
        self.loop.call_soon(self._listen)
        self.loop.call_soon(self._sweep)
        self.loop.call_soon(self._forget_attempts)
        self._thread = threading.Thread(target=self._run, name=f"port {self.port}", daemon=True)
        self._thread.start()

    def stop_accepting(self) -> None:
        """Accept no new connection; those that are open stay."""
        with self._ending:
            if self._thread.is_alive():
                done = threading.Event()
                self.loop.call_soon_threadsafe(self._stop_accepting, done)
                done.wait()

    def close(self) -> None:
        """Close all connections; a repeated call does nothing."""
        self.stop_accepting()
        with self._ending:
            if self._thread.is_alive():
                self.loop.call_soon_threadsafe(self.loop.stop)
                self._thread.join()

    def _run(self) -> None:
        self.loop.run_forever()
        for passage in (*self._unsettled, *self._settled):
            passage.close()
        self.loop.close()

    def _stop_accepting(self, done: threading.Event) -> None:
        for listener in self._listeners:
            self.loop.remove_reader(listener)
            listener.close()
        self._listeners = []
        done.set()

    def caller(self, port: int) -> str | None:
        """The address behind a connection that comes from this port of the loopback; None if it did not come by here.

        From any thread: one look into a dictionary.
        """
        return self._callers.get(port)

    def note_inner(self, passage: _Passage) -> None:
        """It is on its way inside."""
        self._callers[passage.inner_port] = passage.address

    def note_heard(self, passage: _Passage) -> None:
        """A caller has said something: it is the last that would have to give way."""
        self._count_silence(passage)
        passage.heard = self.loop.time()
        self._order(passage).pop(passage, None)
        passage.is_settled = passage.is_settled or passage.is_answered
        self._order(passage)[passage] = None
        own = self._by_address[passage.address]
        del own[passage]
        own[passage] = None

    def forget(self, passage: _Passage) -> None:
        """It is over."""
        self._count_silence(passage)
        self._order(passage).pop(passage, None)
        self._callers.pop(passage.inner_port, None)
        own = self._by_address[passage.address]
        del own[passage]
        if not own:
            del self._by_address[passage.address]

    def _order(self, passage: _Passage) -> dict[_Passage, None]:
        return self._settled if passage.is_settled else self._unsettled

    def _listen(self) -> None:
        for listener in self._listeners:
            self.loop.add_reader(listener, self._accept, listener)

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(_AT_ONCE):
            try:
                outer, found = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._rest(error)
                return
            address = caller_of(found[0])
            if not self._makes_room(address):
                _close(outer, at_once=True)
                self._tell()
                continue
            outer.setblocking(False)
            outer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            passage = _Passage(self, outer, address)
            self._unsettled[passage] = None
            self._by_address.setdefault(address, {})[passage] = None

    def _makes_room(self, address: str) -> bool:
        """Whether one more from this address may come in; another may have to go for it.

        An address makes no more handshakes in a second than it may have connections: each costs a signature.
        """
        most = self._limits.connections if address in self._proxies else self._limits.per_address
        if self._lately[address] >= most:
            return False
        self._lately[address] += 1
        own = self._by_address.get(address, {})
        if len(own) >= most:
            victim = next(iter(sorted(filter(self._must_yield, own), key=lambda one: one.is_settled)), None)
        elif len(self._unsettled) + len(self._settled) < self._limits.connections:
            return True
        elif self._limits.strangers:
            victim = self._most_wasteful(address)
            heaviest = max(self._by_address.values(), key=len)
            if victim is None and len(heaviest) > len(own) + 1:
                victim = next(iter(heaviest))
        else:
            victim = next(iter(self._unsettled), None) or next(filter(self._must_yield, self._settled), None)
        if victim is None:
            return False
        victim.close(at_once=True)
        self._tell()
        return True

    def _most_wasteful(self, address: str) -> _Passage | None:
        """The connection whose place a newcomer from this address may have."""
        unsettled, settled = islice(self._unsettled, _LOOKED_AT), islice(self._settled, _LOOKED_AT)
        found = max(
            (*unsettled, *filter(self._silence, settled)), key=lambda one: self._waste(one.address), default=None
        )
        enough = self._waste(address) + _MARGIN
        return found if found is not None and self._waste(found.address) > enough else None

    def _waste(self, address: str) -> float:
        """Seconds for which this address has kept places lately and said nothing."""
        here = sum(self._silence(one) for one in self._by_address.get(address, ()))
        return self._wasted.get(address, 0.0) + here

    def _silence(self, passage: _Passage) -> float:
        return max(0.0, self.loop.time() - passage.heard - _SILENT)

    def _count_silence(self, passage: _Passage) -> None:
        if silence := self._silence(passage):
            self._wasted[passage.address] = self._wasted.get(passage.address, 0.0) + silence

    def _must_yield(self, passage: _Passage) -> bool:
        """Whether a newcomer may have its place."""
        if not passage.is_settled:
            return True
        if self._limits.strangers:
            return self._silence(passage) > _MARGIN
        return self.loop.time() - passage.opened <= self._limits.handshake  # gRPC has not vouched for it by keeping it

    def _sweep(self) -> None:
        """End handshakes that take too long, and callers that take nothing of what is sent to them."""
        now = self.loop.time()
        late = [one for one in self._unsettled if now - one.opened > self._limits.handshake]
        late += [one for one in self._settled if one.outward and now - one.taken > self._limits.stuck]
        late += [one for one in (*self._unsettled, *self._settled) if now - one.finished > _LAST]
        for passage in late:
            passage.close(at_once=True)
        self.loop.call_later(_SWEEP, self._sweep)

    def _forget_attempts(self) -> None:
        self._lately.clear()
        rest = {address: seconds * 0.5 ** (1 / _HALVED) for address, seconds in self._wasted.items()}
        self._wasted = {address: seconds for address, seconds in rest.items() if seconds > 0.1}
        self.loop.call_later(1.0, self._forget_attempts)

    def _rest(self, error: OSError) -> None:
        """The system has nothing left to accept with: wait, and try again."""
        for listener in self._listeners:
            self.loop.remove_reader(listener)
        self.loop.call_later(_REST, self._listen)
        self._observer.note(NotAccepting(error))

    def _tell(self) -> None:
        """Note that a port is full, but not for each connection."""
        self._turned_away += 1
        now = self.loop.time()
        if now - self._told_at >= _TOLD_EVERY:
            self._observer.note(PortFull(self.port, self._turned_away))
            self._told_at, self._turned_away = now, 0


def _sent(side: socket.socket, data: memoryview) -> memoryview | None:
    """What is left after sending what can be sent now; None if the connection has ended."""
    try:
        return data[side.send(data) :]
    except (BlockingIOError, InterruptedError):  # a connection that is still being made says this too
        return data
    except OSError:
        return None


def _close(side: socket.socket, *, at_once: bool) -> None:
    if at_once:
        with contextlib.suppress(OSError):
            side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    side.close()


def _listeners(address: str) -> list[socket.socket]:
    """A socket for each address that the host's name has on this machine, all with one port."""
    host, _, port = address.rpartition(":")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise _cannot_listen(address) from None
    made: list[socket.socket] = []
    try:
        for family, (name, *more) in dict.fromkeys((one[0], one[4]) for one in found):
            if made:  # a port that is any is one for all
                more[0] = made[0].getsockname()[1]
            try:
                made.append(_listener(family, name, more))
            except OSError as error:
                if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                    raise
    except OSError:
        for listener in made:
            listener.close()
        raise _cannot_listen(address) from None
    if not made:
        raise _cannot_listen(address)
    return made


def _listener(family: int, name: object, more: list[Any]) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a restart need not wait for old connections
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if name == "::" else 1)
        listener.bind((name, *more))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def caller_of(host: str) -> str:
    """An address as it is counted: IPv4 over an IPv6 socket is IPv4, and a network of 2^64 addresses is one caller."""
    if ":" not in host:
        return host
    plain = host.partition("%")[0]
    packed = socket.inet_pton(socket.AF_INET6, plain)
    if packed[:12] == b"\0" * 10 + b"\xff\xff":
        return socket.inet_ntop(socket.AF_INET, packed[12:])
    return packed[:8].hex()


def _cannot_listen(address: str) -> WrongInput:
    return WrongInput(
        "network.listen",
        f"cannot listen at {address}",
        hint="another process has the port, or the host is not this machine's",
    )
