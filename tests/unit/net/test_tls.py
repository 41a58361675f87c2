"""TLS as the parties use it, on real loopback connections: who is let in, and who is refused, within two seconds."""

import asyncio
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from peos.collection.freeze import FrozenDigest
from peos.errors import PeosError, Refused, RemoteFault
from peos.net.certificates import Certificate, fingerprint
from peos.net.client import blocking_channel
from peos.net.errors import from_rpc_error
from peos.net.guard import Context, peer_fingerprint
from peos.net.tls import Trust, grpc, peer_port, pinned, user_port
from peos.wire.methods import GET_FROZEN_DIGEST
from tests.raising import raises
from tests.sources import ROOT
from tests.unit.net.ports import (
    DIGEST,
    EXPIRED,
    PEER,
    SECONDS,
    SERVER,
    STRANGER,
    asked,
    caller,
    listening,
    run,
)


def test_a_pinned_peer_is_answered_and_known_by_its_certificate() -> None:
    seen: list[bytes] = []
    versions: list[list[bytes]] = []

    async def behaviour(request: bytes, context: Context) -> FrozenDigest:
        seen.append(peer_fingerprint(context))
        versions.append(list(context.auth_context()["ssl_tls_version"]))
        return FrozenDigest(request, request, bytes(64))

    async def whole() -> None:
        async with listening(Trust([PEER.pem]), behaviour) as running:
            assert await asked(running, PEER) == FrozenDigest(DIGEST, DIGEST, bytes(64))

    run(whole())
    assert seen == [fingerprint(PEER.pem)]
    assert versions == [[b"TLSv1.3"]]


@pytest.mark.parametrize(
    ("own", "trusted"),
    [(None, [PEER]), (STRANGER, [PEER]), (STRANGER, []), (EXPIRED, [PEER, EXPIRED]), (SERVER, [PEER])],
    ids=[
        "no certificate",
        "a stranger's",
        "a stranger's where no peer is trusted",
        "an expired one",
        "the server's own",
    ],
)
def test_the_peer_port_refuses(own: Certificate | None, trusted: list[Certificate]) -> None:
    called: list[bytes] = []

    async def behaviour(request: bytes, _: Context) -> FrozenDigest:
        called.append(request)
        return FrozenDigest(request, request, bytes(64))

    async def whole() -> None:
        async with listening(Trust([one.pem for one in trusted]), behaviour) as running:
            started = time.monotonic()
            with pytest.raises(PeosError) as turned_away:
                await asked(running, own)
            assert turned_away.value.where == "shuffler 1, freeze"
            assert turned_away.value.id in {"network.closed", "network.not_trusted", "network.not_valid"}
            assert time.monotonic() - started < SECONDS

    run(whole())
    assert called == []


@pytest.mark.parametrize("own", [None, PEER], ids=["user port", "peer port"])
def test_a_channel_refuses_a_server_with_another_certificate_than_the_pinned_one(own: Certificate | None) -> None:
    async def whole() -> None:
        async with listening(Trust([PEER.pem]) if own else None, own=STRANGER) as running:
            started = time.monotonic()
            with raises("network.certificate"):
                await asked(running, own)
            assert time.monotonic() - started < SECONDS

    run(whole())


def test_a_channel_refuses_a_server_whose_certificate_has_expired() -> None:
    async def whole() -> None:
        async with listening(own=EXPIRED) as running:
            with raises("network.certificate"):
                await asked(running, pin=EXPIRED.pem)

    run(whole())


def test_trust_admits_and_drops_while_the_server_runs_and_a_connection_is_open() -> None:
    async def whole() -> None:
        trust = Trust()
        async with listening(trust) as running:
            with pytest.raises(RemoteFault):
                await asked(running, PEER)
            trust.admit([PEER.pem])
            async with caller(running, PEER) as connected:
                assert await connected.ask(GET_FROZEN_DIGEST, DIGEST)
                trust.drop()
                with raises("network.not_trusted", kind=Refused):
                    await connected.ask(GET_FROZEN_DIGEST, DIGEST)
            with pytest.raises(PeosError):
                await asked(running, PEER)
            trust.admit([PEER.pem])
            assert await asked(running, PEER)

    run(whole())


def test_users_need_no_certificate_on_their_port() -> None:
    async def whole() -> None:
        async with listening() as running:
            assert await asked(running) == FrozenDigest(DIGEST, DIGEST, bytes(64))

    run(whole())


@pytest.mark.parametrize("peers", [False, True])
def test_a_client_that_stops_at_tls_1_2_is_refused_and_the_same_at_1_3_is_not(tmp_path: Path, peers: bool) -> None:
    (tmp_path / "own.pem").write_bytes(PEER.pem + PEER.key)

    def handshake(version: ssl.TLSVersion, port: int) -> str:
        context = ssl.create_default_context(cadata=SERVER.pem.decode())
        context.check_hostname = False
        context.load_cert_chain(tmp_path / "own.pem")
        context.set_alpn_protocols(["h2"])
        context.minimum_version = context.maximum_version = version
        with socket.create_connection(("127.0.0.1", port), SECONDS) as plain, context.wrap_socket(plain) as secured:
            return secured.version() or ""

    async def whole() -> None:
        async with listening(Trust([PEER.pem]) if peers else None) as running:
            assert handshake(ssl.TLSVersion.TLSv1_3, running.port) == "TLSv1.3"
            with pytest.raises((ssl.SSLError, ConnectionError)):
                handshake(ssl.TLSVersion.TLSv1_2, running.port)

    run(whole())


_UNCONFINED = """
import grpc, pathlib, socket, ssl, sys
from concurrent.futures import ThreadPoolExecutor
pem, key = (pathlib.Path(sys.argv[1], name).read_bytes() for name in ("pem", "key"))
server = grpc.server(ThreadPoolExecutor(1))
port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, pem)]))
server.start()
context = ssl.create_default_context(cadata=pem.decode())
context.check_hostname = False
context.set_alpn_protocols(["h2"])
context.maximum_version = ssl.TLSVersion.TLSv1_2
with context.wrap_socket(socket.create_connection(("127.0.0.1", port), 5)) as secured:
    print(secured.version())
server.stop(0)
"""


def test_without_the_setting_the_client_at_tls_1_2_would_be_let_in(tmp_path: Path) -> None:
    (tmp_path / "pem").write_bytes(SERVER.pem)
    (tmp_path / "key").write_bytes(SERVER.key)
    plain = subprocess.run(  # noqa: S603 (a fixed program)
        [sys.executable, "-c", _UNCONFINED, str(tmp_path)],
        env={"PATH": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert plain.stdout == "TLSv1.2\n", plain.stderr


def test_a_blocking_channel_is_pinned_in_the_same_way() -> None:
    def blocking(port: int, pin: bytes) -> bytes:
        with blocking_channel(f"127.0.0.1:{port}", pin) as opened:
            call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = opened.unary_unary(GET_FROZEN_DIGEST.path)

            try:
                return call(GET_FROZEN_DIGEST.encode(DIGEST), timeout=SECONDS)
            except grpc.RpcError as error:
                raise from_rpc_error(error, "shuffler 1", "freeze") from None

    async def whole() -> None:
        async with listening() as running:
            answer = await asyncio.to_thread(blocking, running.port, SERVER.pem)
            assert GET_FROZEN_DIGEST.decode_response(answer) == FrozenDigest(DIGEST, DIGEST, bytes(64))
            with raises("network.certificate"):
                await asyncio.to_thread(blocking, running.port, STRANGER.pem)

    run(whole())


def certificate_like(
    model: bytes, public: ec.EllipticCurvePublicKey, signer: ec.EllipticCurvePrivateKey, *, serial: int = 7
) -> bytes:
    """A certificate with the subject, dates and extensions of another, for a key and by a key of one's own choice."""
    found = x509.load_pem_x509_certificate(model)
    builder = x509.CertificateBuilder(found.subject, found.subject, public, serial)
    builder = builder.not_valid_before(found.not_valid_before_utc).not_valid_after(found.not_valid_after_utc)
    for extension in found.extensions:
        builder = builder.add_extension(extension.value, extension.critical)
    return builder.sign(signer, SHA256()).public_bytes(Encoding.PEM)


OWN_KEY = ec.derive_private_key(12345, ec.SECP256R1())


def public_key_of(certificate: bytes) -> ec.EllipticCurvePublicKey:
    found = x509.load_pem_x509_certificate(certificate).public_key()
    assert isinstance(found, ec.EllipticCurvePublicKey)
    return found


@pytest.mark.parametrize("foreign_key", [False, True], ids=["its own key", "the other's key"])
def test_nobody_can_make_a_certificate_that_hides_anothers(foreign_key: bool) -> None:
    public = public_key_of(PEER.pem) if foreign_key else OWN_KEY.public_key()
    forged = certificate_like(PEER.pem, public, OWN_KEY)

    async def whole() -> None:
        trust = Trust()
        async with listening(trust) as running:
            with raises("certificate.signature" if foreign_key else "certificate.subject"):
                trust.admit([forged], b"the forger's collection")
            trust.admit([PEER.pem], b"a collection")
            assert await asked(running, PEER) == FrozenDigest(DIGEST, DIGEST, bytes(64))

    run(whole())


def test_two_certificates_of_one_key_are_not_both_admitted() -> None:
    key = load_pem_private_key(PEER.key, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    twin = certificate_like(PEER.pem, key.public_key(), key)
    trust = Trust([PEER.pem])
    with raises("certificate.same_subject"):
        trust.admit([STRANGER.pem, twin])
    assert trust.is_trusted(fingerprint(PEER.pem))
    assert not trust.is_trusted(fingerprint(STRANGER.pem)), "all of them, or none"


def test_a_certificate_is_accepted_as_long_as_one_collection_needs_it() -> None:
    async def whole() -> None:
        trust = Trust()
        trust.admit([PEER.pem, STRANGER.pem], b"one")
        trust.admit([PEER.pem], b"other")
        async with listening(trust) as running:
            trust.drop(b"one")
            assert await asked(running, PEER) == FrozenDigest(DIGEST, DIGEST, bytes(64))
            with pytest.raises(PeosError):
                await asked(running, STRANGER)
            trust.drop(b"other")
            with pytest.raises(PeosError):
                await asked(running, PEER)

    run(whole())


@pytest.mark.parametrize("make", [user_port, lambda own: peer_port(own, Trust()), lambda own: pinned(SERVER.pem, own)])
def test_a_key_that_does_not_belong_to_its_certificate_is_refused_at_once(make: object) -> None:
    assert callable(make)
    with raises("certificate.pair"):
        make(Certificate(PEER.pem, STRANGER.key))
    with raises("certificate.key_unreadable"):
        make(Certificate(PEER.pem, b"no key"))


def test_grpc_imported_first_is_noticed() -> None:
    command = [sys.executable, "-c", "import grpc, peos.net.tls"]
    late = subprocess.run(  # noqa: S603 (a fixed command)
        command, cwd=ROOT, env={"PATH": ""}, capture_output=True, text=True, check=False
    )
    assert late.returncode != 0
    assert "grpc was imported before TLS was confined to version 1.3" in late.stderr
