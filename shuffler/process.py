"""The shuffler, started and drained: its store, its two ports, its collections."""

import asyncio
import contextlib
import json
import os
import signal
from dataclasses import asdict
from pathlib import Path
from typing import Final

from peos.compute import engine
from peos.crypto.randomness import system
from peos.net.logs import Log
from peos.net.server import serve
from peos.net.tls import Trust, peer_port, user_port
from peos.store.sqlite import SqliteStore
from shuffler import keys as keys_
from shuffler.config import Config
from shuffler.desk import Desk, read_cards
from shuffler.intake import Intake
from shuffler.peers import Peers
from shuffler.storing import Stored
from shuffler.users import Users

GRACE: Final = 5.0
GLANCE: Final = 0.5  # seconds between looks at the operator's folder, and writings of the status
STATUS: Final = "status.json"
ACCEPTED: Final = "accept"


async def run(config: Config, log: Log) -> None:
    """Until SIGINT or SIGTERM; what is durable goes on at the next start."""
    keys = keys_.load(config)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    trust = Trust()
    read_cards(config, trust)
    store = Stored(lambda: SqliteStore(config.folder, system()))
    try:
        with engine(config.workers) as workers:
            desk = Desk(config=config, keys=keys, store=store, trust=trust, engine=workers, log=log)
            await _serve(config, keys, desk, Intake(store), trust, stop, log)
    finally:
        store.close()
        log.info("stopped")


async def _serve(
    config: Config, keys: keys_.Keys, desk: Desk, intake: Intake, trust: Trust, stop: asyncio.Event, log: Log
) -> None:
    users = await serve(config.users, user_port(keys.users), [Users(desk, intake).service()], log=log)
    peers = await serve(config.peers, peer_port(keys.peers, trust), [Peers(desk).service()], log=log, trust=trust)
    committing = asyncio.ensure_future(intake.run())
    await desk.resume()
    glancing = asyncio.ensure_future(_glance(config.folder, desk, log))
    try:
        await stop.wait()
        log.info("draining")
    finally:
        await asyncio.gather(users.stop(GRACE), peers.stop(GRACE))
        await desk.close()
        for task in (committing, glancing):
            task.cancel()
        await asyncio.gather(committing, glancing, return_exceptions=True)
        with contextlib.suppress(OSError):
            (config.folder / STATUS).unlink()


async def _glance(folder: Path, desk: Desk, log: Log) -> None:
    """Look for the operator's word, and write down where everything stands."""
    accepted = folder / ACCEPTED
    accepted.mkdir(mode=0o700, exist_ok=True)
    before = ""
    while True:
        await desk.accept_from(accepted, lambda digest: log.of(digest).info("accepted by the operator"))
        lines = [{**asdict(await life.status()), "collection": digest.hex()} for digest, life in desk.lives.items()]
        now = json.dumps(lines, ensure_ascii=False)
        if now != before:
            new = folder / f"{STATUS}.new"
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(now)
            new.replace(folder / STATUS)
            before = now
        await asyncio.sleep(GLANCE)
