"""The rules of a user's answer without a store or a network: once only, within the budget, randomised once."""

import pytest

from peos.client.answering import answer, faults_of, is_ticket_of
from peos.client.consent import Consent, Limits, check, require_open, require_pinned
from peos.client.ledger import Charge, Ledger, charge, charge_of
from peos.collection.cards import Card, Invitation
from peos.collection.document import Document
from peos.collection.submission import check_part
from peos.crypto.randomness import Randomness
from peos.errors import Refused
from tests.raising import raises
from tests.unit.collection.made import COLLECTION, DOCUMENT, ENCRYPTION, SHUFFLERS, ticket

CARDS = tuple(Card(f"shuffler {number}", one.public, "", b"x") for number, one in enumerate(SHUFFLERS, start=1))
CONSENT = Consent(COLLECTION, DOCUMENT, ENCRYPTION, CARDS)
COST = charge_of(DOCUMENT.mechanism.epsilon_local)
RICH = Ledger(budget=10 * COST)


def rng(seed: int = 1) -> Randomness:
    return Randomness(bytes([seed]) * 32)


def test_an_answer_is_one_part_a_shuffler_each_of_which_it_takes() -> None:
    made = answer(CONSENT, 3, ticket("she"), RICH, rng())
    assert (made.ticket, made.cost, len(made.parts)) == (ticket("she").id, COST, 3)
    rows = {check_part(part, DOCUMENT, COLLECTION, ENCRYPTION, me) for me, part in enumerate(made.parts, start=1)}
    assert len(rows) == 1
    assert "3" not in repr(made).removeprefix("Submission(").replace(made.ticket.hex()[:8], "")


def test_the_same_coins_give_the_same_submission_and_others_another() -> None:
    first, again, other = (answer(CONSENT, 3, ticket("she"), RICH, rng(seed)).encoded for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("ledger", "id_"),
    [
        (Ledger(10 * COST, COST, (COLLECTION, b"t" * 16)), "consent.answered"),
        (Ledger(10 * COST, COST, (b"c" * 32, b"t" * 16)), "consent.answered_question"),
        (Ledger(10 * COST, COST, in_study=(b"c" * 32, 1)), "consent.other_round"),
        (Ledger(COST - 1), "consent.budget"),
        (Ledger(10 * COST, 9 * COST + 1, None, (Charge(b"c" * 32, "Which?", 1, 9 * COST + 1),)), "consent.budget"),
    ],
)
def test_a_second_answer_and_one_beyond_the_budget_are_refused_before_a_coin_is_drawn(ledger: Ledger, id_: str) -> None:
    class NoCoins(Randomness):
        def __getattribute__(self, name: str) -> object:
            raise AssertionError(f"{name} is drawn")

    with pytest.raises(Refused) as caught:
        answer(CONSENT, 3, ticket("she"), ledger, NoCoins(bytes(32)))
    assert caught.value.id == id_


def test_the_last_of_the_budget_may_be_spent() -> None:
    assert charge(CONSENT, Ledger(10 * COST, 9 * COST)) == COST


def test_all_that_is_wrong_with_answers_is_found_before_any_is_given() -> None:
    last = DOCUMENT.mechanism.domain - 1
    given = [(0, ticket("a")), (last + 1, ticket("b")), (True, ticket("c")), (1, ticket("a")), (last, ticket("d"))]
    assert [position for position, _ in faults_of(CONSENT, given, frozenset())] == [1, 2, 3]
    strange = Consent(b"\x01" * 32, DOCUMENT, ENCRYPTION, CARDS)
    assert not is_ticket_of(strange, ticket("a"))
    assert faults_of(strange, given[:1], frozenset())
    assert not faults_of(strange, given[:1], {ticket("a").id}), "what was used here was valid then"


def test_documents_that_differ_and_parties_that_are_not_pinned_are_refused() -> None:
    invitation, pins = Invitation(COLLECTION, CARDS), {card.identity for card in CARDS}
    require_pinned(invitation, pins)
    for wrong, trusted in ((invitation, pins - {CARDS[1].identity}), (Invitation(COLLECTION, CARDS[:1] * 3), pins)):
        with pytest.raises(Refused):
            require_pinned(wrong, trusted)
    with raises("consent.document"):
        check(invitation, [b"x"] * 3, pins, _limits(DOCUMENT), 0.0)
    with raises("consent.closed"):
        require_open(DOCUMENT, DOCUMENT.closes_at)


def _limits(document: Document) -> Limits:
    return Limits(document.mechanism.epsilon_local, document.minimum, document.fakes, (document.protocol.name,))
