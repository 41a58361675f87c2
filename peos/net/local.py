"""A port that only programs of this machine reach: a socket in a folder, open to whom its folder and mode let in.

There is no TLS, and none is needed: what is said does not leave the machine, and the system says who may open the file.
"""

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from peos.errors import WrongInput
from peos.net.calls import Service
from peos.net.errors import Public
from peos.net.guard import Context, Guard
from peos.net.limits import OPTIONS
from peos.net.observer import Listens, Observer
from peos.net.tls import grpc

MODE: Final = 0o660
_LONGEST: Final = 100  # bytes; the system's own limit is 107


class _LocalGuard(Guard):
    """The file's permissions have let the caller in; errors are said as on every port."""

    def _refusal(self, context: Context) -> Public | None:  # noqa: ARG002 - whatever came over the socket
        return None


class LocalPort:
    """A server that is answering."""

    def __init__(self, server: grpc.aio.Server, path: Path) -> None:
        self._server, self._path = server, path

    async def stop(self, grace: float) -> None:
        """Take no new calls, and give those under way `grace` seconds."""
        await self._server.stop(grace)
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()


async def serve_local(path: Path, services: Iterable[Service], *, observer: Observer) -> LocalPort:
    """Answer `services` at the socket `path`; one that an earlier process left is replaced."""
    _require_short(path)
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise WrongInput(
                "config.console_socket", f"{path} is no socket", hint="remove it, or name another console_socket"
            )
        path.unlink()
    server = grpc.aio.server(interceptors=[_LocalGuard(observer)], options=OPTIONS)
    server.add_generic_rpc_handlers([service.handler for service in services])
    before = os.umask(0o777 & ~MODE)  # the file is never open to more
    try:
        server.add_secure_port(f"unix:{path}", grpc.local_server_credentials(grpc.LocalConnectionType.UDS))
        await server.start()
    except RuntimeError:
        raise WrongInput(
            "config.console_socket", f"{path} cannot be listened at", hint="name a console_socket in a folder of yours"
        ) from None
    finally:
        os.umask(before)
    observer.note(Listens(str(path), 0))
    return LocalPort(server, path)


def local_channel(path: Path) -> grpc.aio.Channel:
    """A channel to the program that listens there."""
    _require_short(path)
    credentials = grpc.local_channel_credentials(grpc.LocalConnectionType.UDS)
    return grpc.aio.secure_channel(f"unix:{path}", credentials, options=OPTIONS)


def _require_short(path: Path) -> None:
    if len(os.fsencode(path)) > _LONGEST:
        raise WrongInput(
            "config.console_socket",
            f"the path of the socket {path} is longer than {_LONGEST} bytes",
            hint="name a shorter one by listen.console_socket",
        )
