"""Cards, proposals, invitations, orders, answers and status as hypothesis draws them."""

from hypothesis import strategies as st

from peos.collection.cards import Card, Invitation
from peos.collection.lifecycle import Order
from peos.collection.receipts import MAX_GROUP, Receipt
from peos.collection.replies import Answer, Status
from peos.crypto.identity import Identity
from peos.crypto.onion import OnionPrivateKey
from peos.v1 import services_pb2 as pb
from peos.wire import parties
from peos.wire.strict import VERSION, serialize

SIGNERS = {signer.public: signer for signer in (Identity(bytes([number]) * 32) for number in range(9))}

digests = st.binary(min_size=32, max_size=32)
ids = st.binary(min_size=16, max_size=16)
lines = st.text(max_size=40)
sentences = st.text(min_size=1, max_size=40)
certificates = st.binary(min_size=1, max_size=60)
user_ports = st.tuples(sentences, certificates)


@st.composite
def cards(draw: st.DrawFn, *, for_users: bool) -> Card:
    """A card of one of the signers."""
    ports = draw(user_ports if for_users else st.one_of(user_ports, st.just(("", b""))))
    onion_key = draw(st.sampled_from([b"", *(OnionPrivateKey.of(signer).point for signer in SIGNERS.values())]))
    named = draw(sentences), draw(st.sampled_from(sorted(SIGNERS)))
    return Card(*named, draw(lines), draw(certificates), *ports, onion_key)


@st.composite
def proposals(draw: st.DrawFn) -> parties.Proposal:
    """A document's bytes, whatever they are, and cards."""
    named = tuple(draw(st.lists(cards(for_users=False), min_size=4, max_size=10)))
    return parties.Proposal(draw(st.binary(max_size=60)), named, tuple(map(sign_card, named)))


@st.composite
def orders(draw: st.DrawFn) -> Order:
    """An order with some signature."""
    return Order(draw(digests), draw(st.booleans()), draw(st.binary(min_size=64, max_size=64)))


invitations = st.builds(Invitation, digests, st.lists(cards(for_users=True), min_size=3, max_size=9).map(tuple))
receipts = st.builds(
    Receipt,
    st.integers(0, MAX_GROUP - 1),
    st.integers(1, MAX_GROUP),
    st.lists(digests, max_size=12).map(tuple),
    st.binary(min_size=64, max_size=64),
)
acknowledged = st.builds(
    lambda collection, row, receipt: Answer(collection, row[:16], row, receipt=receipt),
    digests,
    st.binary(min_size=48, max_size=48),
    receipts,
)
refusals = st.sampled_from(("submit.closed", "submit.ticket_used", "topic.of_another_version"))
refused = st.builds(Answer, st.just(bytes(32)), ids, st.just(b""), sentences, lines, st.booleans(), st.none(), refusals)
answers = st.one_of(acknowledged, refused)
several = st.lists(lines, max_size=3).map(tuple)
u32, u64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)
statuses = st.builds(Status, digests, lines, st.booleans(), lines, u32, lines, several, u64, u64, u32, several)


def sign_card(card: Card) -> bytes:
    """The card, signed by its own identity."""
    return parties.sign_card(card, SIGNERS[card.identity])


def encode_proposal(proposal: parties.Proposal) -> bytes:
    """The proposal as it was signed."""
    return parties.encode_proposal(proposal.document, proposal.signed_cards)


def encode_invitation(invitation: Invitation) -> bytes:
    """The invitation with every card signed."""
    return parties.encode_invitation(invitation.collection, tuple(map(sign_card, invitation.shufflers)))


def encode_order(order: Order) -> bytes:
    """An order with the signature that it has."""
    return serialize(
        pb.Order(version=VERSION, collection=order.collection, abort=order.abort, signature=order.signature)
    )
