"""Collections of a sequential shuffle: what a document and a roster must say, and what is claimed."""

from dataclasses import replace

import pytest

from peos.collection.cards import Card, check_roster
from peos.collection.document import Document
from peos.collection.policy import Policy
from peos.crypto.identity import Identity
from peos.crypto.onion import ONION, OnionKeys, OnionPrivateKey
from peos.privacy import guarantees
from peos.privacy.sequential import sequential_guarantees
from peos.protocols import DEFAULT, NEEDS_NO_LEAVE, protocol_named
from peos.protocols.peos import PEOS, ShareEncryption
from peos.protocols.sequential import SEQUENTIAL, OnionEncryption
from peos.registry import PROTOCOLS
from peos.shuffle.schedule import Schedule
from peos.shuffle.sequential import SequentialSchedule
from tests.raising import raises
from tests.unit.collection.made import ANALYZER, DOCUMENT, PUBLIC, SHUFFLERS

POINTS = tuple(OnionPrivateKey.of(identity).point for identity in SHUFFLERS)
OWN = OnionPrivateKey(b"\x07" * 32).point
ONIONS = replace(DOCUMENT, scheme=ONION, public_key=OWN, protocol=SEQUENTIAL, onion_keys=POINTS)


def card(name: str, identity: Identity, onion_key: bytes = b"") -> Card:
    return Card(name, identity.public, f"{name}:1", name.encode(), f"{name}:2", b"users", onion_key)


CARDS = tuple(
    card(f"shuffler {number}", identity, point)
    for number, (identity, point) in enumerate(zip(SHUFFLERS, POINTS, strict=True), start=1)
)
ANALYZERS = card("analyzer", ANALYZER)
DOCUMENTED: Document = replace(ONIONS, shufflers=tuple(one.member for one in CARDS), analyzer=ANALYZERS.member)


def test_a_document_says_how_it_is_shuffled_and_under_which_keys() -> None:
    assert type(ONIONS.schedule) is SequentialSchedule
    assert type(DOCUMENT.schedule) is Schedule
    assert ONIONS.encryption() == OnionEncryption(OnionKeys((*POINTS, OWN)), 1)
    assert DOCUMENT.encryption(floor=512) == ShareEncryption(PUBLIC, 1, Schedule(3))


@pytest.mark.parametrize(
    "changes",
    [
        {"scheme": "paillier"},
        {"onion_keys": POINTS[:2]},
        {"onion_keys": (*POINTS, OWN)},
        {"protocol": PEOS},
        {"protocol": PEOS, "onion_keys": ()},
    ],
)
def test_a_document_that_mixes_the_two_shuffles_is_refused(changes: dict[str, object]) -> None:
    with raises("document.onions"):
        replace(ONIONS, **changes)  # type: ignore[arg-type] # of the right types, each


def test_a_roster_must_show_each_shufflers_own_onion_key() -> None:
    check_roster(DOCUMENTED, (*CARDS, ANALYZERS))
    for wrong in (b"", OWN):
        cards = (CARDS[0], replace(CARDS[1], onion_key=wrong), CARDS[2], ANALYZERS)
        with raises("proposal.onion_key", "shuffler 2"):
            check_roster(DOCUMENTED, cards)
    exchanged = (replace(CARDS[0], onion_key=POINTS[1]), replace(CARDS[1], onion_key=POINTS[0]), CARDS[2], ANALYZERS)
    with raises("proposal.onion_key", "shuffler 1"):
        check_roster(DOCUMENTED, exchanged)


def test_an_operator_who_does_not_say_so_takes_no_part() -> None:
    policy = Policy((ANALYZER.public,), most_eps_local=2.0, least_reports=1)
    with raises("policy.protocol", "ss", "peos"):
        policy.check(ONIONS, me=SHUFFLERS[0].public, now=0.5)
    allowed = replace(policy, protocols=(PEOS.name, SEQUENTIAL.name))
    assert allowed.check(ONIONS, me=SHUFFLERS[0].public, now=0.5) == 1
    assert allowed.check(DOCUMENT, me=SHUFFLERS[0].public, now=0.5) == 1
    with raises("policy.protocol", "peos", "ss"):
        replace(policy, protocols=(SEQUENTIAL.name,)).check(DOCUMENT, me=SHUFFLERS[0].public, now=0.5)


def test_limits_on_guarantees_are_compared_with_the_fakes_of_the_honest() -> None:
    """Between what 900 fakes guarantee by PEOS, and what the 600 of the honest do by the sequential shuffle."""
    document = replace(ONIONS, fakes=900, minimum=100)
    peos = guarantees(document.mechanism, 68, 900, document.delta, 3).users.epsilon
    here = sequential_guarantees(document.mechanism, 68, 900, document.delta, 3).users.epsilon
    assert peos < here
    limit = (peos + here) / 2
    policy = Policy((ANALYZER.public,), 2.0, 1, protocols=(PEOS.name, SEQUENTIAL.name), most_eps_users=limit)
    with raises("policy.guarantee", "1 of the 3 shufflers", "600"):
        policy.check(document, me=SHUFFLERS[0].public, now=0.5)
    same = replace(DOCUMENT, fakes=900, minimum=100)
    assert policy.check(same, me=SHUFFLERS[0].public, now=0.5) == 1


def test_claims_follow_the_protocol() -> None:
    for document, found in ((DOCUMENT, guarantees), (ONIONS, sequential_guarantees)):
        assert document.claims(50) == found(document.mechanism, 50, document.fakes, document.delta, 3)
    assert (DOCUMENT.hiding_fakes, ONIONS.hiding_fakes) == (10, 6)


def test_a_scheme_belongs_to_peos() -> None:
    assert (PEOS.scheme(None), PEOS.scheme("jl"), SEQUENTIAL.scheme(None)) == ("paillier", "jl", ONION)
    with raises("plan.scheme_unused"):
        SEQUENTIAL.scheme("paillier")


def test_an_unknown_protocol_is_refused_and_only_the_default_needs_no_leave() -> None:
    assert [protocol_named(name) for name in PROTOCOLS] == [PEOS, SEQUENTIAL]
    assert (PEOS, (PEOS.name,)) == (DEFAULT, NEEDS_NO_LEAVE)
    for name in ("mix", "", "PEOS"):
        with raises("input.protocol"):
            protocol_named(name)
