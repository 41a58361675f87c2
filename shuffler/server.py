"""The shuffler, started and drained: its store, its ports, its collections."""

import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from peos.compute import Engine, engine
from peos.configuration import bound
from peos.crypto.randomness import system
from peos.hardening import descriptors
from peos.net.certificates import require_current
from peos.net.limits import METRICS, Limits, fitted
from peos.net.logs import Log
from peos.net.observer import (
    DescriptorsFound,
    Drains,
    Event,
    FewDescriptors,
    Followers,
    Observer,
    StateReached,
    Stopped,
    start_tracing,
    together,
)
from peos.net.server import Running, serve, stop_at_signals
from peos.net.tls import Trust, peer_port, user_port
from peos.net.web import RunningWeb, require_metrics, serve_web
from peos.store.bell import Bell
from peos.store.sqlite import SqliteStore
from shuffler import keys as keys_
from shuffler.config import Config
from shuffler.events import (
    TRACED,
    Accepted,
    Finished,
    NoPassphrase,
    StatusUnwritten,
    StatusWritten,
)
from shuffler.intake import Intake
from shuffler.peer_service import PeerService
from shuffler.proving import Proving
from shuffler.registry import CollectionRegistry, read_cards
from shuffler.store_thread import StoreThread
from shuffler.user_service import UserService
from shuffler.web import WebPort

if TYPE_CHECKING:
    from peos.net.metrics import MetricsPort  # an extra, loaded if it is asked for
    from shuffler.metrics import ShufflerMetrics

GRACE: Final = 2.0  # seconds for calls and for work that are under way
AGAIN: Final = 2.0  # seconds, after an error
STATUS: Final = "status.json"
UNLOCKED: Final = (
    "a thief of this disk has this shuffler's identity, can act in its name, and sees its masks and permutations of "
    "every shuffle whose inspection is not over"
)
ACCEPTED: Final = "accept"


async def run(config: Config, log: Log, *, restored: bool = False) -> None:
    """Until SIGINT or SIGTERM; what is durable goes on at the next start."""
    keys = keys_.load(config)
    for port, own in (("users", keys.users), ("peers", keys.peers)):
        require_current(own, port, hint="set the clock; or draw others: `peos shuffler rotate-keys --keep-identity`")
    stop = stop_at_signals(Observer(log))
    trust = Trust()
    read_cards(config, trust)
    workers = await asyncio.to_thread(engine, config.workers, config.compute)
    try:
        store = StoreThread(lambda: SqliteStore(config.folder, system(), restored=restored))
    except BaseException:
        _end(workers)
        raise
    tracing = None
    try:
        metrics = await asyncio.to_thread(_metrics, config, keys)
        counted: Followers = {Event: (metrics.follow,)} if metrics else {}
        tracing = await asyncio.to_thread(start_tracing, config.tracing, "shuffler", config.name, log, counted)
        traced = tracing.followers(TRACED) if tracing else {}
        attendant = Attendant(config.folder, Observer(log, counted))
        attending = dict.fromkeys((StateReached, Finished), (attendant.follow,))
        observer = Observer(log, together(attending, counted, traced), store.keep)
        registry = CollectionRegistry(
            config=config, keys=keys, store=store, trust=trust, engine=workers, observer=observer
        )
        try:
            intake = Intake(store, observer, keys.identity)
            if metrics:
                metrics.watch(registry, intake)
            await _serve(config, keys, registry, attendant, intake, trust, stop, observer, metrics)
        finally:
            await registry.close()
    finally:
        if tracing:
            await asyncio.to_thread(tracing.stop)
        _end(workers)
        store.close()
    Observer(log).note(Stopped())  # not after an error, which says itself that it has


async def _serve(
    config: Config,
    keys: keys_.Keys,
    registry: CollectionRegistry,
    attendant: "Attendant",
    intake: Intake,
    trust: Trust,
    stop: asyncio.Event,
    observer: Observer,
    metrics: "ShufflerMetrics | None",
) -> None:
    proving = Proving(registry.store, keys.identity)
    await registry.resume()  # before the ports open: no caller hears that a known collection is unknown
    running = (intake.run(), attendant.run(registry), registry.forget(proving.forget))
    beside = [asyncio.ensure_future(one) for one in running]
    ports: list[Running | RunningWeb | MetricsPort] = []
    try:
        to_users, to_peers, *to_web = _limits(config, observer)
        of_users, peers = (
            UserService(registry, intake, proving, config.silent_seconds),
            PeerService(registry, proving).service(),
        )
        users, shown = of_users.service(), user_port(keys.users)
        ports.append(await serve(bound(config.users, config.bind), shown, [users], observer=observer, limits=to_users))
        mutual = peer_port(keys.peers, trust)
        ports.append(
            await serve(
                bound(config.peers, config.bind), mutual, [peers], observer=observer, trust=trust, limits=to_peers
            )
        )
        for limits in to_web:
            ports.append(await _serve_web(config, of_users, registry, limits, observer))
        if metrics and config.metrics:
            ports.append(await metrics.serve(config.metrics, observer))
        if config.passphrase_file is None:
            observer.note(NoPassphrase(UNLOCKED))
            sys.stderr.write(f"{config.path} sets no passphrase_file: {UNLOCKED}\n")
        await stop.wait()
        observer.note(Drains())
    finally:
        await asyncio.gather(*(port.stop(GRACE) for port in ports))
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        with contextlib.suppress(OSError):
            (config.folder / STATUS).unlink()


async def _serve_web(
    config: Config, users: UserService, registry: CollectionRegistry, limits: Limits, observer: Observer
) -> RunningWeb:
    """The port for browsers: what it is asked, the port for users answers."""
    assert config.web is not None, "it has limits"
    port = WebPort(
        config.web,
        users.described,
        users.submit,
        users.prove,
        limits=limits,
        silence=config.silent_seconds,
        observer=observer,
        meter=registry.count,
    )
    pair, proxies = config.web.pair, config.web.callers
    return await serve_web(
        port.application,
        bound(config.web.address, config.bind),
        pair,
        observer=observer,
        limits=limits,
        proxies=proxies,
    )


def _limits(config: Config, observer: Observer) -> tuple[Limits, ...]:
    """Limits of the ports, which together leave descriptors for the disk and for calls to others."""
    found = descriptors()
    to_users = Limits.for_users(config.user_connections, config.connections_per_address)
    wanted = {"users": to_users, "peers": Limits(config.peer_connections)} | ({"web": to_users} if config.web else {})
    limits = fitted(found, *wanted.values(), apart=METRICS.connections if config.metrics else 0)
    observer.note(DescriptorsFound(found))
    for (port, asked), given in zip(wanted.items(), limits, strict=True):
        if given.connections < asked.connections:
            observer.note(FewDescriptors(port, given.connections))
    return limits


def _metrics(config: Config, keys: keys_.Keys) -> "ShufflerMetrics | None":
    """What a scraper will be shown, if there is a port for it."""
    if config.metrics is None:
        return None
    require_metrics()
    from shuffler.metrics import ShufflerMetrics

    certificates = {"users": keys.users.pem, "peers": keys.peers.pem}
    if config.web is not None and config.web.pair is not None:
        certificates["web"] = config.web.pair.certificate.read_bytes()
    return ShufflerMetrics(certificates)


def _end(workers: Engine) -> None:
    """End the worker processes: in a while if they are at work, and at once if that takes too long.

    Nothing that they hold is durable, and building tables alone may take ten seconds.
    """
    at_work = getattr(workers, "worker_ids", ())
    closing = threading.Thread(target=workers.close, daemon=True)
    closing.start()
    closing.join(GRACE)
    if closing.is_alive():
        for process in at_work:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        closing.join(GRACE)


class Attendant:
    """Takes the operator's word and writes the status down, when a command rings or a state has changed."""

    def __init__(self, folder: Path, observer: Observer) -> None:
        self._folder = folder
        self._observer = observer
        self._look = asyncio.Event()
        self._rung = False  # by a command, which wants to see everything

    def follow(self, _: bytes, __: Event) -> None:
        """A state has changed."""
        self._look.set()

    async def run(self, registry: CollectionRegistry) -> None:
        """Until it is cancelled."""
        bell = Bell(self._folder, self._ring)
        self._look.set()  # for orders left before the bell was heard
        try:
            while True:
                await self._look.wait()
                self._look.clear()
                try:
                    await self._attend(registry)
                    self._observer.note(StatusWritten())
                except Exception as error:  # the collections go on without it
                    self._observer.note(StatusUnwritten(error))
                    self._look.set()
                    await asyncio.sleep(AGAIN)  # no retry: what is written then is the status of then
        finally:
            bell.close()

    def _ring(self) -> None:
        self._rung = True
        self._look.set()

    async def _attend(self, registry: CollectionRegistry) -> None:
        accepted = self._folder / ACCEPTED
        accepted.mkdir(mode=0o700, exist_ok=True)
        await registry.accept_from(accepted, lambda digest: self._observer.of(digest).note(Accepted()))
        lines = await registry.statuses(everything=self._rung)
        new = self._folder / f"{STATUS}.new"
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(lines, file, ensure_ascii=False)
        new.replace(self._folder / STATUS)  # whole at every moment
