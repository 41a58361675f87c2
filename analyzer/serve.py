"""The analyzer, started and drained: its port, and its collections advanced until it is stopped."""

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING, Final

from analyzer.analyst_service import AnalystService
from analyzer.console_service import ConsoleService
from analyzer.creating import Creating
from analyzer.delivery_receiver import DeliveryReceiver
from analyzer.events import TRACED
from analyzer.inspection_runner import InspectionRunner
from analyzer.publisher import Publisher
from analyzer.scheduler import Scheduler
from analyzer.troubles import Troubles
from analyzer.workspace import SERVING, Admission, Workspace
from peos.compute import Engine, engine
from peos.configuration import bound
from peos.hardening import descriptors
from peos.net.certificates import require_current
from peos.net.limits import METRICS, Limits, fitted
from peos.net.local import LocalPort, serve_local
from peos.net.logs import Log
from peos.net.observer import DescriptorsFound, Drains, Event, Followers, Observer, Stopped, start_tracing, together
from peos.net.server import Running, serve, stop_at_signals
from peos.net.tls import Trust, peer_port
from peos.net.web import require_metrics
from peos.store.bell import Bell
from peos.store.private_files import lock

if TYPE_CHECKING:
    from analyzer.metrics import AnalyzerMetrics  # an extra, loaded if it is asked for
    from peos.net.metrics import MetricsPort

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
        workspace.keys.certificate,
        "shufflers",
        hint="set the clock; or draw another: `peos analyzer rotate-keys --keep-identity`",
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
    metrics = _metrics(workspace, working)
    counted: Followers = {Event: (metrics.follow,)} if metrics else {}
    config = workspace.config
    tracing = await asyncio.to_thread(start_tracing, config.tracing, "analyzer", config.name, log, counted)
    traced = tracing.followers(TRACED) if tracing else {}
    observer = Observer(log, together(Troubles(config.folder).followers(), counted, traced))
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
    found = descriptors()
    observer.note(DescriptorsFound(found))
    apart = METRICS.connections if metrics else 0
    (limits,) = fitted(found, Limits(workspace.config.peer_connections), apart=apart)
    analyst = AnalystService(receiver, inspection_runner, scheduler.look).service()
    address = bound(workspace.config.peers, workspace.config.bind)
    creating = Creating(workspace, observer)
    ports: list[Running | MetricsPort | LocalPort] = [
        await serve(address, port, [analyst], observer=observer, trust=trust, limits=limits)
    ]
    keeping = asyncio.ensure_future(scheduler.run(admission.look))
    stopping = asyncio.ensure_future(stop.wait())
    try:
        if workspace.config.console is not None:
            console = ConsoleService(workspace, creating).service()
            ports.append(await serve_local(workspace.config.console_socket, [console], observer=observer))
        if metrics and workspace.config.metrics:
            ports.append(await metrics.serve(workspace.config.metrics, observer))
        await asyncio.wait((stopping, keeping), return_when=asyncio.FIRST_COMPLETED)
        observer.note(Drains())
    finally:
        await asyncio.gather(*(port.stop(GRACE) for port in ports))
        await creating.stop()
        bell.close()
        stopping.cancel()
        keeping.cancel()
        # A decryption under way ends at its next chunk; what it has written is there at the next start.
        await asyncio.to_thread(working.close)
        with contextlib.suppress(asyncio.CancelledError):
            await keeping
        if tracing:
            await asyncio.to_thread(tracing.stop)


def _metrics(workspace: Workspace, working: Engine) -> "AnalyzerMetrics | None":
    """What a scraper will be shown, if there is a port for it."""
    if workspace.config.metrics is None:
        return None
    require_metrics()
    from analyzer.metrics import AnalyzerMetrics

    return AnalyzerMetrics(workspace, working.workers)
