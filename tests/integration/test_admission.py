"""Whose certificates a shuffler's port for peers accepts, over real TLS: those of collections that it keeps, until they
are over everywhere. And how many it keeps of one analyzer."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from peos.collection.cards import Card
from peos.crypto.identity import Identity
from peos.errors import PeosError
from peos.net.calls import Caller
from peos.net.certificates import Certificate, as_der, make_certificate
from peos.net.client import channel
from peos.net.retry import ONCE
from peos.wire import documents, parties
from peos.wire.methods import PROPOSE, STATUS
from tests.integration.played import RNG, Played, PlayedTown, played, run
from tests.raising import raises

pytestmark = pytest.mark.full  # a town of its own

STRANGER = Identity.generate(RNG)
OWN = make_certificate("stranger", RNG)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlayedTown]:
    """Three shufflers that keep at most three open collections of one analyzer."""
    made = PlayedTown(tmp_path_factory.mktemp("admission"))
    with made.cluster:
        first = made.shufflers[0]
        first.stop()
        text = first.config.read_text(encoding="utf-8")
        first.config.write_text(text.replace("[policy]\n", "[policy]\nmost_open = 3\n"), encoding="utf-8")
        made.cluster.restart(first)
        yield made


async def is_let_in(town: PlayedTown, own: Certificate) -> bool:
    """Whether the first shuffler answers a call under this certificate, whatever it answers."""
    card = town.cards[0]
    asking = Caller(channel(card.peer_address, card.peer_certificate, own), "shuffler 1", RNG, policy=ONCE)
    try:
        await asking.ask(STATUS, bytes(32))
    except PeosError:
        return False
    finally:
        await asking.close()
    return True


async def propose(town: PlayedTown, card: Card, identity: Identity, question: str, *, fakes: int = 8) -> None:
    """To the first shuffler: a collection in which a stranger is the third."""
    members = (*(one.member for one in town.cards[:2]), card.member)
    document = replace(town.document(question), shufflers=members, fakes=fakes)
    signed = documents.sign_document(document, town.identity)
    cards = (*town.signed_cards[:2], parties.sign_card(card, identity), town.signed_card)
    first = town.cards[0]
    asking = Caller(channel(first.peer_address, first.peer_certificate, town.certificate), "shuffler 1", RNG)
    try:
        await asking.ask(PROPOSE, parties.encode_proposal(signed, cards))
    finally:
        await asking.close()


def strangers_card(certificate: bytes) -> Card:
    model = "127.0.0.1:1"
    return Card("stranger", STRANGER.public, model, as_der(certificate), model, as_der(certificate))


def test_a_certificate_is_let_in_with_its_collection_and_not_before(town: PlayedTown) -> None:
    async def test() -> None:
        card = strangers_card(OWN.pem)
        assert not await is_let_in(town, OWN)
        with raises("policy.many_fakes", "100000001", "100000000"):
            await propose(town, card, STRANGER, "too many fakes", fakes=100_000_001)
        assert not await is_let_in(town, OWN), "what was refused lets no caller in"
        await propose(town, card, STRANGER, "with a stranger")
        assert await is_let_in(town, OWN)

    run(test())


def test_a_card_with_anothers_subject_is_refused_and_the_other_is_let_in(town: PlayedTown) -> None:
    theirs = make_certificate("the other", RNG)
    model, key = x509.load_pem_x509_certificate(theirs.pem), ec.derive_private_key(99, ec.SECP256R1())
    forged = x509.CertificateBuilder(model.subject, model.subject, key.public_key(), 7)
    forged = forged.not_valid_before(model.not_valid_before_utc).not_valid_after(model.not_valid_after_utc)
    for extension in model.extensions:
        forged = forged.add_extension(extension.value, extension.critical)
    der = forged.sign(key, SHA256()).public_bytes(Encoding.DER)

    async def test() -> None:
        card = replace(strangers_card(theirs.pem), peer_certificate=der)
        with pytest.raises(PeosError):
            await propose(town, card, STRANGER, "forged")
        await propose(town, strangers_card(theirs.pem), STRANGER, "the other itself")
        assert await is_let_in(town, theirs)

    run(test())


def test_of_one_analyzer_only_so_many_are_open_and_what_is_over_lets_nobody_in(town: PlayedTown) -> None:
    async def test() -> None:
        now = int(time.time())
        times = {"closes_at": now + 20, "shuffle_by": now + 21, "erase_by": now + 22}
        async with played(town, "the third that is open", listening=False, **times) as play:
            fourth = Played(town, town.document("the fourth", **times))
            with raises("policy.open", "3", "3"):
                await fourth.propose()
            assert await is_let_in(town, town.peer_certificate(3)), "its collection is open"
            await play.order(abort=True)
            await fourth.propose()  # there is room again
            await fourth.order(abort=True)
            await fourth.close()

            give_up = time.monotonic() + 120
            while time.time() < now + 22 or await is_let_in(town, town.peer_certificate(3)):
                assert time.monotonic() < give_up, "the certificate of a collection that is over is accepted still"
                await asyncio.sleep(0.5)
            assert await is_let_in(town, OWN), "another collection needs this one"

    run(test())
