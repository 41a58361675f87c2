"""Runs a role's own command in a network namespace of its own, and if asked with a clock that is wrong.

python -m tests.networks.launcher SWITCH ADDRESS SECONDS MODULE ARGUMENTS...

The namespace has the loopback and one tunnel, whose other end is given to the switch. The clock is Python's, which is
what the roles ask; TLS and gRPC go on with the machine's, since gRPC compares what Python tells it with its own.
"""

import ctypes
import datetime
import fcntl
import os
import runpy
import socket
import struct
import sys
import time
from typing import Final

CLONE_NEWNET: Final = 0x40000000
TUN: Final = "/dev/net/tun"
_TUNSETIFF: Final = 0x400454CA
_IFF_TUN_NO_PI: Final = 0x0001 | 0x1000
_SIOCSIFFLAGS, _SIOCSIFADDR, _SIOCSIFNETMASK, _SIOCSIFMTU = 0x8914, 0x8916, 0x891C, 0x8922
_UP_RUNNING: Final = 0x1 | 0x40
_MTU: Final = 1500
_NAME: Final = b"peos0"


def enter_namespace() -> None:
    """From here on there is no network; OSError if this process may not."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def tunnel(address: str) -> int:
    """A tunnel to everywhere under this address, up; its other end."""
    end = os.open(TUN, os.O_RDWR | os.O_CLOEXEC)
    fcntl.ioctl(end, _TUNSETIFF, struct.pack("16sH22x", _NAME, _IFF_TUN_NO_PI))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for name, where in ((b"lo", "127.0.0.1"), (_NAME, address)):
            mask = "255.0.0.0" if name == b"lo" else "255.255.0.0"
            _set(asked, _SIOCSIFADDR, name, _address(where))
            _set(asked, _SIOCSIFNETMASK, name, _address(mask))
            _set(asked, _SIOCSIFFLAGS, name, struct.pack("h", _UP_RUNNING))
        _set(asked, _SIOCSIFMTU, _NAME, struct.pack("i", _MTU))
    return end


def _address(where: str) -> bytes:
    return struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(where))


def _set(asked: socket.socket, request: int, name: bytes, value: bytes) -> None:
    fcntl.ioctl(asked, request, struct.pack("16s24s", name, value))


def join(switch: str, address: str) -> None:
    """Into a namespace with this address, with the switch at the other end."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.connect(switch)
        enter_namespace()
        end = tunnel(address)
        socket.send_fds(caller, [address.encode()], [end])
        os.close(end)
        if caller.recv(1) != b"+":
            raise OSError("the switch did not answer")


def shift_clock(seconds: float) -> None:
    """From now on this process takes it to be so much later."""
    true_time = time.time

    def wrong_time() -> float:
        asks = str(sys._getframe(1).f_globals.get("__name__", ""))
        return true_time() + (0.0 if asks.startswith("grpc") else seconds)

    class Shifted(datetime.datetime):
        """The class whose `now` is wrong."""

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> "Shifted":
            return cls.fromtimestamp(true_time() + seconds, tz)

    time.time = wrong_time
    datetime.datetime = Shifted  # type: ignore[misc]


def main(arguments: list[str]) -> None:
    """Go there and become the role."""
    switch, address, seconds, module, *rest = arguments
    join(switch, address)
    if float(seconds):
        shift_clock(float(seconds))
    sys.argv = [module, *rest]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
