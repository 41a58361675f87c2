"""The ports of running parties: nothing but TLS 1.3, and no peer that is not pinned."""

import asyncio
import socket
import ssl
from typing import Any

import pytest

from peos.collection.cards import Card
from peos.collection.replies import Status
from peos.crypto.randomness import Randomness
from peos.errors import Closed, PeosError, Refused
from peos.net.calls import Caller
from peos.net.certificates import Certificate, make_certificate
from peos.net.client import channel
from peos.net.retry import ONCE
from peos.net.submit import describe
from peos.net.tls import Trust
from peos.wire.methods import GET_RECEIPT, STATUS
from peos.wire.parties import decode_card
from shuffler import config, keys
from tests.e2e.whole_run import EXPIRED, GUEST, Concluded
from tests.raising import raises

DIGEST = bytes(32)
SECONDS = 30.0
RNG = Randomness(b"\x0f" * 32)


def cards(concluded: Concluded) -> list[Card]:
    """Everybody's card, the shufflers' first."""
    found = [party.card.read_bytes() for party in concluded.town.cluster.parties if party.card]
    assert len(found) == 4
    return [decode_card(card) for card in found]


def version(address: str, most: ssl.TLSVersion) -> str | None:
    """The version that a port and a client that speaks no more than `most` agree on."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    context.maximum_version = most
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=SECONDS) as plain, context.wrap_socket(plain) as secure:
        return secure.version()


def test_every_port_speaks_tls_1_3_and_refuses_1_2(concluded: Concluded) -> None:
    found = cards(concluded)
    ports = [card.peer_address for card in found] + [card.user_address for card in found if card.user_address]
    assert len(ports) == 4 + 3
    for port in ports:
        assert version(port, ssl.TLSVersion.TLSv1_3) == "TLSv1.3"
        with pytest.raises(ssl.SSLError):
            version(port, ssl.TLSVersion.TLSv1_2)


def asked(address: str, server: bytes, own: Certificate | None, method: Any = STATUS) -> Any:
    """The answer of a peer port to a call under `own`."""

    async def call() -> Any:
        caller = Caller(channel(address, server, own), "the port", RNG, policy=ONCE)
        try:
            return await caller.ask(method, DIGEST, step="status", timeout=SECONDS)
        finally:
            await caller.close()

    return asyncio.run(call())


def test_a_peer_port_answers_who_is_pinned(concluded: Concluded) -> None:
    for card in cards(concluded)[:3]:
        answer = asked(card.peer_address, card.peer_certificate, GUEST)
        assert answer == Status(DIGEST, state="", known=False)


@pytest.mark.parametrize(
    ("who", "own"),
    [("nobody", None), ("a stranger", make_certificate("stranger peers", RNG)), ("one who is late", EXPIRED)],
)
def test_a_peer_port_turns_others_away(concluded: Concluded, who: str, own: Certificate | None) -> None:
    for card in cards(concluded):
        method = STATUS if card.user_address else GET_RECEIPT
        with pytest.raises(PeosError) as turned_away:
            asked(card.peer_address, card.peer_certificate, own, method)
        # Not the service's own refusal: a caller that is let in hears that there is no such collection.
        assert not isinstance(turned_away.value, Refused), f"{who}: {turned_away.value}"


def test_the_certificate_of_the_late_one_is_pinned_and_only_its_date_is_wrong(concluded: Concluded) -> None:
    late = decode_card((concluded.town.folder / "late.card").read_bytes())
    print_ = late.member.certificate
    trust = Trust([late.peer_certificate])
    assert print_ in trust
    assert not trust.is_trusted(print_)
    for shuffler in concluded.town.cluster.shufflers:
        assert "late.card" in shuffler.config.read_text(encoding="utf-8")


def test_the_analyzers_port_knows_the_shufflers_and_nobody_else(concluded: Concluded) -> None:
    *_, analyzer = cards(concluded)
    with pytest.raises(PeosError) as turned_away:
        asked(analyzer.peer_address, analyzer.peer_certificate, GUEST, GET_RECEIPT)
    assert not isinstance(turned_away.value, Refused)
    own = keys.load(config.read(concluded.town.cluster.shufflers[0].config)).peers
    with raises("collection.unknown", kind=Refused):
        asked(analyzer.peer_address, analyzer.peer_certificate, own, GET_RECEIPT)


def test_swapped_certificates_are_noticed_by_whoever_calls(concluded: Concluded) -> None:
    first, second, *_ = cards(concluded)
    for address, other in (
        (first.peer_address, second.peer_certificate),
        (second.peer_address, first.peer_certificate),
        (first.peer_address, first.user_certificate),
    ):
        with raises("network.certificate"):
            asked(address, other, GUEST)


def test_a_user_notices_it_too(concluded: Concluded) -> None:
    first, second, *_ = cards(concluded)
    digest = bytes.fromhex(concluded.digests["grr"])
    for one in (first, second):
        with pytest.raises(Closed):  # which it says: the certificate is the one of its card
            describe(one, digest)
    swapped = Card(
        first.name,
        first.identity,
        first.peer_address,
        first.peer_certificate,
        first.user_address,
        second.user_certificate,
    )
    with raises("network.certificate"):
        describe(swapped, digest)


def test_the_users_port_offers_nothing_of_the_peers(concluded: Concluded) -> None:
    first = cards(concluded)[0]
    with raises("network.not_offered"):
        asked(first.user_address, first.user_certificate, GUEST)
