"""The analyzer, started and drained: its port, and its collections advanced until it is stopped."""

import asyncio
import contextlib
import os
from typing import Final

from analyzer.analyst_service import AnalystService
from analyzer.delivery_receiver import DeliveryReceiver
from analyzer.inspection_runner import InspectionRunner
from analyzer.publisher import Publisher
from analyzer.scheduler import Scheduler
from analyzer.troubles import Troubles
from analyzer.workspace import SERVING, Admission, Workspace
from peos.compute import Engine, engine
from peos.configuration import bound
from peos.hardening import descriptors
from peos.net.certificates import require_current
from peos.net.limits import Limits, fitted
from peos.net.logs import Log
from peos.net.observer import Drains, Observer, Stopped
from peos.net.server import serve, stop_at_signals
from peos.net.tls import Trust, peer_port
from peos.store.bell import Bell
from peos.store.private_files import lock

GRACE: Final = 5.0


async def run(
    workspace: Workspace,
    log: Log,
    *,
    stop: asyncio.Event | None = None,
    workers: Engine | None = None,
    inspection_runner: InspectionRunner | None = None,
) -> None:
    """Until SIGINT or SIGTERM, or until `stop` is set; what is durable goes on at the next start."""
    require_current(
        workspace.keys.certificate, "shufflers", hint="set the clock; or run `peos analyzer init` in a new folder"
    )
    held = lock(workspace.config.folder / SERVING)
    try:
        chosen = workers if workers is not None else await asyncio.to_thread(engine, None, workspace.config.compute)
        with chosen as working:
            stop = stop or stop_at_signals(Observer(log))
            await _serve(workspace, log, stop, working, inspection_runner or InspectionRunner(workspace))
    finally:
        os.close(held)
    Observer(log).note(Stopped())  # not after an error, which says itself that it has


async def _serve(
    workspace: Workspace, log: Log, stop: asyncio.Event, working: Engine, inspection_runner: InspectionRunner
) -> None:
    trust = Trust()
    admission = Admission(workspace, trust)
    observer = Observer(log, Troubles(workspace.config.folder).followers())
    receiver = DeliveryReceiver(workspace, observer)
    live = workspace.store.live()
    admission.look(live)
    for kept in live:  # before the port is open: what is coming in then is not half written, it is being written
        receiver.sweep(kept)
    scheduler = Scheduler(
        workspace, receiver, Publisher(workspace, receiver, inspection_runner, working, observer), observer
    )
    bell = Bell(workspace.config.folder, scheduler.look)
    port = peer_port(workspace.keys.certificate, trust)
    (limits,) = fitted(descriptors(), Limits(workspace.config.peer_connections))
    analyst = AnalystService(receiver, inspection_runner, scheduler.look).service()
    address = bound(workspace.config.peers, workspace.config.bind)
    running = await serve(address, port, [analyst], observer=observer, trust=trust, limits=limits)
    keeping = asyncio.ensure_future(scheduler.run(admission.look))
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait((stopping, keeping), return_when=asyncio.FIRST_COMPLETED)
        observer.note(Drains())
    finally:
        await running.stop(GRACE)
        bell.close()
        stopping.cancel()
        keeping.cancel()
        # A decryption under way ends at its next chunk; what it has written is there at the next start.
        await asyncio.to_thread(working.close)
        with contextlib.suppress(asyncio.CancelledError):
            await keeping
