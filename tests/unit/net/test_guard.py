"""The checks before each call, on contexts as a changed environment or a stale connection would show them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from peos.net.certificates import fingerprint
from peos.net.guard import Guard, peer_fingerprint, speaks_tls13
from peos.net.logs import Log
from peos.net.observer import Observer
from peos.net.tls import Trust, grpc
from tests.unit.net.ports import EXPIRED, PEER, STRANGER, run

TLS13 = {"ssl_tls_version": [b"TLSv1.3"]}


class Aborted(Exception):  # what a context raises
    """A call that was refused."""


class Context:
    """A call's context with the given properties."""

    def __init__(self, shown: Mapping[str, Sequence[bytes]]) -> None:
        self._shown = shown

    def auth_context(self) -> Mapping[str, Sequence[bytes]]:
        """What TLS found."""
        return self._shown

    async def abort(self, code: grpc.StatusCode, details: str, _: object = ()) -> None:
        """Refuse."""
        raise Aborted(code.name, details)


def context(shown: Mapping[str, Sequence[bytes]]) -> Any:
    return Context(shown)


def passed(shown: Mapping[str, Sequence[bytes]], trust: Trust | None, *, streams: bool = False) -> bool:
    """Whether a call reaches its handler; the handler says so itself."""
    reached: list[bytes] = []

    async def behaviour(request: bytes, _: Any) -> bytes:
        reached.append(request)
        return request

    async def streaming(request: bytes, _: Any) -> Any:
        reached.append(request)
        yield request

    handler: Any = (
        grpc.unary_stream_rpc_method_handler(streaming) if streams else grpc.unary_unary_rpc_method_handler(behaviour)
    )

    async def continuation(_: object) -> Any:
        return handler

    class Details:
        method = "/peos.v1.Peers/Say"
        invocation_metadata = ()

    async def whole() -> None:
        details: Any = Details()
        guarded: Any = await Guard(Observer(Log("test")), trust).intercept_service(continuation, details)
        if streams:
            assert [one async for one in guarded.unary_stream(b"x", context(shown))] == [b"x"]
        else:
            await guarded.unary_unary(b"x", context(shown))

    run(whole())
    return bool(reached)


@pytest.mark.parametrize("version", [[], [b"TLSv1.2"], [b"TLSv1.1"], [b"TLSv1.3", b"TLSv1.2"], [b""]])
@pytest.mark.parametrize("streams", [False, True])
def test_a_call_over_anything_but_tls_1_3_never_reaches_its_handler(version: list[bytes], streams: bool) -> None:
    with pytest.raises(Aborted, match=r"TLS 1\.3 is required"):
        passed({"ssl_tls_version": version}, None, streams=streams)
    assert passed(TLS13, None, streams=streams)
    assert not speaks_tls13(context({}))


@pytest.mark.parametrize(
    ("shown", "sentence"),
    [
        ([], "a certificate is required"),
        ([b"not a certificate"], "a certificate is required"),
        ([PEER.pem, PEER.pem], "a certificate is required"),
        ([STRANGER.pem], "this certificate is not accepted here"),
        ([EXPIRED.pem], "this certificate has expired, or is not valid yet by the clock here"),
    ],
    ids=["none", "not one", "two", "a stranger's", "expired"],
)
@pytest.mark.parametrize("streams", [False, True])
def test_a_call_on_the_peer_port_needs_a_certificate_that_is_trusted_now(
    shown: list[bytes], sentence: str, streams: bool
) -> None:
    trust = Trust([PEER.pem, EXPIRED.pem])
    with pytest.raises(Aborted, match=sentence):
        passed({**TLS13, "x509_pem_cert": shown}, trust, streams=streams)
    assert passed({**TLS13, "x509_pem_cert": [PEER.pem]}, trust, streams=streams)


def test_the_fingerprint_is_the_one_that_documents_name() -> None:
    assert peer_fingerprint(context({"x509_pem_cert": [PEER.pem]})) == fingerprint(PEER.pem)
    assert peer_fingerprint(context({})) == b""


def test_a_call_that_nobody_offers_stays_so() -> None:
    async def continuation(_: object) -> None:
        return None

    async def whole() -> object:
        details: Any = None
        return await Guard(Observer(Log("test"))).intercept_service(continuation, details)

    assert run(whole()) is None
