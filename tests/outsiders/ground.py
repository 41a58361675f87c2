"""Real shuffler processes under attack from outside: one collection from its first submission to its output."""

import asyncio
import contextlib
import functools
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from peos.collection.lifecycle import State
from peos.net.certificates import Certificate
from peos.net.client import channel
from peos.net.tls import grpc, health_pb2, health_pb2_grpc
from tests.integration.played import Played, PlayedTown, played

USERS: Final = 8
PHASES: Final = ("open", "closed", "frozen")
ATTACKS: Final = ("silent", "idle", "half", "slow", "metadata")
PEERS_TOO: Final = frozenset({"idle", "half"})  # the others need a handshake, which a port for peers refuses
HEALTH_SECONDS: Final = 30.0  # for one question, on a connection of its own: a loaded machine, not a service level
_FINAL: Final = frozenset({State.PUBLISHED.value, State.ABORTED.value})
_PATIENCE: Final = 240.0


@contextlib.contextmanager
def descriptors(most: int) -> Iterator[None]:
    """Processes that are started meanwhile have no more than so many."""
    limited = functools.partial(
        subprocess.Popen, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    )
    with patch("peos.localcluster.subprocess.Popen", limited):
        yield


def restart(town: PlayedTown, most: int) -> None:
    """All shufflers anew, with so many descriptors each."""
    for party in town.shufflers:
        party.stop()
    with descriptors(most):
        for party in town.shufflers:
            town.cluster.restart(party)


@contextlib.contextmanager
def attacked(kind: str, count: int, addresses: int, ports: list[str], digest: bytes) -> Iterator[dict[str, int]]:
    """The attack goes on for as long as this does; what it came to is there afterwards."""
    words = [kind, str(count), str(addresses), digest.hex(), *ports]
    found: dict[str, int] = {}
    with subprocess.Popen(  # noqa: S603 - our own program, with the tests' own words
        [sys.executable, "-m", "tests.outsiders.attacks", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as attack:
        assert attack.stdin is not None, "it was asked for"
        assert attack.stdout is not None, "it was asked for"
        try:
            assert attack.stdout.readline() == "ready\n"
            yield found
        finally:
            attack.stdin.close()
            found.update(json.loads(attack.stdout.readline() or "{}"))


@dataclass
class Trial:
    """One attack on one collection, and what came of it."""

    attack: str
    phase: str
    descriptors: int
    addresses: int
    count: int
    state: str = ""
    seconds: float = 0.0
    health: int = 0  # questions that were answered
    unanswered: list[str] = field(default_factory=list)
    most_open: int = 0  # descriptors of one shuffler at a time
    done: dict[str, int] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether the collection was completed and every question of health answered."""
        return self.state == State.PUBLISHED.value and self.health > 0 and not self.unanswered


async def _healthy(
    trial: Trial, address: str, certificate: bytes, own: Certificate | None, over: asyncio.Event
) -> None:
    """Ask again and again, each time on a connection of its own."""
    while not over.is_set():
        async with channel(address, certificate, own) as reached:
            stub: Any = health_pb2_grpc.HealthStub(reached)  # its types do not know its calls
            try:
                answer = await stub.Check(
                    health_pb2.HealthCheckRequest(), timeout=HEALTH_SECONDS, wait_for_ready=True
                )  # as any client that comes back when it was turned away
                assert answer.status == health_pb2.HealthCheckResponse.SERVING
                trial.health += 1
            except grpc.RpcError as error:
                trial.unanswered.append(f"{address}: {error.details()}")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), 0.5)


async def _counted(trial: Trial, town: PlayedTown, over: asyncio.Event) -> None:
    while not over.is_set():
        for party in town.shufflers:
            assert party.process is not None, "it runs"
            with contextlib.suppress(OSError):
                trial.most_open = max(trial.most_open, len(os.listdir(f"/proc/{party.process.pid}/fd")))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), 0.25)


@contextlib.asynccontextmanager
async def _observed(trial: Trial, town: PlayedTown) -> AsyncIterator[None]:
    """Health is asked for on both ports of every shuffler, and descriptors are counted, until it is over."""
    over = asyncio.Event()
    tasks = [asyncio.ensure_future(_counted(trial, town, over))]
    for card in town.cards:
        tasks.append(asyncio.ensure_future(_healthy(trial, card.user_address, card.user_certificate, None, over)))
        own = town.certificate
        tasks.append(asyncio.ensure_future(_healthy(trial, card.peer_address, card.peer_certificate, own, over)))
    try:
        yield
    finally:
        over.set()
        await asyncio.gather(*tasks)


def _ports(town: PlayedTown, kind: str) -> list[str]:
    ports = [card.user_address for card in town.cards]
    if kind in PEERS_TOO:
        ports += [card.peer_address for card in town.cards] + [f"127.0.0.1:{town.port}"]
    return ports


async def _until(play: Played, states: frozenset[str]) -> str:
    """Wait until one of the shufflers, or later all, are there; the state that all agree on, or all of them."""
    give_up = time.monotonic() + _PATIENCE
    while True:
        here = {status.state for status in await play.status()}
        if here <= states:
            return "/".join(sorted(here))
        if time.monotonic() > give_up:
            return f"{'/'.join(sorted(here))} after {_PATIENCE:.0f} s"
        await asyncio.sleep(0.2)


async def run(town: PlayedTown, trial: Trial) -> None:
    """A collection under attack from its phase on, until it is delivered."""
    begun = time.monotonic()
    name = f"{trial.attack} {trial.phase} {trial.descriptors} {trial.addresses} {time.monotonic_ns()}"
    async with played(town, name) as play, contextlib.AsyncExitStack() as stack:
        words = trial.attack, trial.count, trial.addresses, _ports(town, trial.attack), play.digest

        async def begin() -> None:
            trial.done = await asyncio.to_thread(stack.enter_context, attacked(*words))
            await stack.enter_async_context(_observed(trial, town))

        if trial.phase == "open":
            await begin()
        await play.submit(USERS)
        if trial.phase == "closed":
            await begin()
        await play.order()
        if trial.phase == "frozen":
            await _until(play, frozenset({State.FROZEN.value, State.SHUFFLING.value, State.DELIVERED.value, *_FINAL}))
            await begin()
        trial.state = await _until(play, _FINAL)
        if trial.state == State.PUBLISHED.value:
            play.check_conservation()
    trial.seconds = time.monotonic() - begun


def count_for(attack: str, most: int) -> int:
    """How many connections or streams a trial has."""
    if attack in PEERS_TOO:
        return 400 if most <= 256 else 1100
    return {"silent": 520, "slow": 60, "metadata": 12}[attack]
