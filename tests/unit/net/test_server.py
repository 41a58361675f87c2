"""Ports: health, reflection, limits, and a stop that lets calls under way finish."""

import asyncio
import time
from typing import Any

import pytest

from peos.collection.freeze import FrozenDigest
from peos.errors import Full, RemoteFault
from peos.net import calls, server
from peos.net.client import channel
from peos.net.guard import Context
from peos.net.limits import Limits
from peos.net.logs import Log
from peos.net.observer import Observer
from peos.net.tls import Trust, grpc, health_pb2, health_pb2_grpc, reflection_pb2, reflection_pb2_grpc, user_port
from peos.wire.methods import DELIVER, GET_FROZEN_DIGEST, PROPOSE
from peos.wire.strict import MESSAGE_LIMIT
from tests.raising import raises
from tests.unit.net.ports import DIGEST, PEER, SERVER, asked, caller, listening, run

SERVICE = "peos.v1.Peers"


def reached(running: server.Running) -> grpc.aio.Channel:
    return channel(f"127.0.0.1:{running.port}", SERVER.pem, PEER)


def health(opened: grpc.aio.Channel) -> Any:
    """The health service's stub, whose types do not know its calls."""
    return health_pb2_grpc.HealthStub(opened)


def reflection(opened: grpc.aio.Channel) -> Any:
    """The reflection service's stub, likewise; it is the same for channels of both kinds."""
    made: Any = reflection_pb2_grpc.ServerReflectionStub
    return made(opened)


@pytest.mark.parametrize("peers", [False, True])
def test_health_answers_on_both_ports(peers: bool) -> None:
    async def whole() -> None:
        async with listening(Trust([PEER.pem]) if peers else None) as running, reached(running) as opened:
            stub = health(opened)
            for name in ("", SERVICE):
                request = health_pb2.HealthCheckRequest(service=name)
                assert (await stub.Check(request)).status == health_pb2.HealthCheckResponse.SERVING
            await running.set_serving(False)
            told = await stub.Check(health_pb2.HealthCheckRequest())
            assert told.status == health_pb2.HealthCheckResponse.NOT_SERVING
            watching = stub.Watch(health_pb2.HealthCheckRequest(service=SERVICE))
            assert (await watching.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
            watching.cancel()

    run(whole())


def test_reflection_names_the_services_and_describes_them() -> None:
    async def whole() -> None:
        async with listening() as running, reached(running) as opened:
            asking = [
                reflection_pb2.ServerReflectionRequest(list_services=""),
                reflection_pb2.ServerReflectionRequest(file_containing_symbol=SERVICE),
            ]
            stub = reflection(opened)
            listed, described = [answer async for answer in stub.ServerReflectionInfo(iter(asking))]
            names = {one.name for one in listed.list_services_response.service}
            assert names == {SERVICE, "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"}
            assert b"GetFrozenDigest" in b"".join(described.file_descriptor_response.file_descriptor_proto)

    run(whole())


def test_health_and_reflection_are_not_for_strangers_on_the_peer_port() -> None:
    async def whole() -> None:
        async with listening(Trust()) as running, reached(running) as opened:
            with pytest.raises(grpc.RpcError):
                await health(opened).Check(health_pb2.HealthCheckRequest())
            asking = [reflection_pb2.ServerReflectionRequest(list_services="")]
            with pytest.raises(grpc.RpcError):
                assert [answer async for answer in reflection(opened).ServerReflectionInfo(iter(asking))] == []

    run(whole())


def test_a_port_in_use_is_one_sentence() -> None:
    async def whole() -> None:
        async with listening() as running:
            address = f"127.0.0.1:{running.port}"
            with raises("network.listen", address):
                await server.serve(address, user_port(SERVER), [], observer=Observer(Log("test")))

    run(whole())


@pytest.mark.parametrize("address", ["", "7001", "localhost", "a b:1", "127.0.0.1:70000", "127.0.0.1:", "[::1:5"])
def test_an_address_is_host_and_port(address: str) -> None:
    with raises("config.address"):
        run(server.serve(address, user_port(SERVER), [], observer=Observer(Log("test"))))


def test_beyond_the_limit_callers_are_told_to_come_back() -> None:
    async def slow(request: bytes, _: Context) -> FrozenDigest:
        await asyncio.sleep(0.3)
        return FrozenDigest(request, request, bytes(64))

    async def whole() -> list[Any]:
        async with listening(behaviour=slow, limits=Limits(calls=2)) as running:
            return await asyncio.gather(*(asked(running) for _ in range(4)), return_exceptions=True)

    answers = run(whole())
    refused = [answer for answer in answers if isinstance(answer, Full)]
    assert len(refused) == 2, answers
    assert {one.id for one in refused} == {"network.busy"}
    assert answers.count(FrozenDigest(DIGEST, DIGEST, bytes(64))) == 2


@pytest.mark.parametrize(("grace", "lasts"), [(60.0, 0.5), (0.1, 60.0)])
def test_a_stop_lets_calls_under_way_finish_within_its_grace(grace: float, lasts: float) -> None:
    began = asyncio.Event()

    async def slow(request: bytes, _: Context) -> FrozenDigest:
        began.set()
        await asyncio.sleep(lasts)
        return FrozenDigest(request, request, bytes(64))

    async def whole() -> None:
        async with listening(behaviour=slow) as running:
            under_way = asyncio.create_task(asked(running))
            await began.wait()
            started = time.monotonic()
            stopping = asyncio.create_task(running.stop(grace))
            await asyncio.sleep(0.05)
            with pytest.raises(RemoteFault):
                await asked(running)
            if lasts < grace:
                assert await under_way == FrozenDigest(DIGEST, DIGEST, bytes(64))
            else:
                with pytest.raises(RemoteFault):
                    await under_way
            await stopping
            assert time.monotonic() - started < 30, "neither the grace nor the call is waited for to its end"

    run(whole())


@pytest.mark.parametrize(("length", "sentence"), [(MESSAGE_LIMIT, "not a Proposal"), (MESSAGE_LIMIT + 1, "too long")])
def test_the_codecs_limit_is_met_before_grpcs_and_beyond_both_the_call_is_refused(length: int, sentence: str) -> None:
    async def propose(_: object, __: Context) -> None:
        raise AssertionError("what is no proposal came through")

    async def whole() -> None:
        services = [calls.service({PROPOSE: propose})]
        running = await server.serve("127.0.0.1:0", user_port(SERVER), services, observer=Observer(Log("test")))
        async with caller(running) as made:
            with pytest.raises(Exception, match=sentence):
                await made.ask(PROPOSE, bytes(length))
            with pytest.raises(Exception, match="shuffler 1, Propose"):
                await made.ask(PROPOSE, bytes(2 * MESSAGE_LIMIT))
        await running.stop(0)

    run(whole())


def test_a_service_is_offered_by_itself() -> None:
    with raises("network.service", "2"):
        calls.service({DELIVER: None, GET_FROZEN_DIGEST: None})  # type: ignore[dict-item]  # never called
