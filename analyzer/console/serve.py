"""The console, started and drained. It reads the configuration and, if there is one, the token: no key, no store."""

import asyncio
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from cryptography import x509

from analyzer.config import Config
from analyzer.console.app import Console
from analyzer.console.remote import Remote
from analyzer.console.sessions import Sessions
from peos import configuration
from peos.crypto.randomness import system
from peos.errors import WrongInput
from peos.net.limits import Limits
from peos.net.logs import Log
from peos.net.observer import Drains, Observer, Stopped
from peos.net.server import stop_at_signals
from peos.net.web import Pair, serve_web

GRACE: Final = 1.0
LOOKS: Final = 1.0  # seconds between looks for those who watch
LIMITS: Final = Limits.for_users(128, 64)
LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
LEAST_TOKEN: Final = 24  # characters, so that guessing is hopeless


async def run(config: Config, log: Log, *, stop: asyncio.Event | None = None) -> None:
    """Until SIGINT or SIGTERM, or until `stop` is set."""
    asked, observer = config.console, Observer(log)
    if asked is None:
        raise WrongInput(
            "config.no_console", f"{config.path} sets no listen.console", hint='write console = "127.0.0.1:8080"'
        )
    token = None if asked.token_file is None else _token(config, asked.token_file)
    remote = Remote(config.console_socket)
    console = Console(
        remote,
        Sessions(token, system(), time.monotonic),
        LOOPBACK if asked.pair is None else LOOPBACK | frozenset(names(asked.pair)),
        is_secure=asked.pair is not None,
        observer=observer,
        pause=lambda: asyncio.sleep(LOOKS),
    )
    running = await serve_web(lambda _: console, asked.address, asked.pair, observer=observer, limits=LIMITS)
    try:
        await (stop or stop_at_signals(observer)).wait()
        observer.note(Drains())
    finally:
        await running.stop(GRACE)
        await remote.close()
    observer.note(Stopped())


def names(pair: Pair) -> Iterable[str]:
    """The names under which a certificate may be reached."""
    certificate = x509.load_pem_x509_certificate(pair.certificate.read_bytes())
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    own = found.get_values_for_type(x509.DNSName)
    return [*map(str.lower, own), *map(str, found.get_values_for_type(x509.IPAddress))]


def _token(config: Config, file: Path) -> bytes:
    found = configuration.read_passphrase(config.path, file, "listen.console_token_file")
    if len(found) < LEAST_TOKEN:
        raise WrongInput(
            "config.console_token",
            f"the token in {file} has {len(found)} characters, and at least {LEAST_TOKEN} are needed",
            hint="write a random one into it, such as 32 hex digits",
        )
    return found
