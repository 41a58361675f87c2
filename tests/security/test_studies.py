"""A study's analyzer asks one user twice, shows users different questions, or asks in order to single one out.

Each attack runs twice: on clients and shufflers as they are, and on ones that lack what stops it.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from peos.client.answering import answer
from peos.client.consent import Consent
from peos.client.ledger import Ledger
from peos.collection.document import digest
from peos.collection.submission import check_part
from peos.collection.ticket import PLACES, StudyPart, Ticket, draw_id, issue
from peos.crypto.identity import Identity
from peos.crypto.randomness import Randomness
from peos.errors import PeosError, Refused, RemoteFault
from peos.ldp.grouped_hash import Candidates, GroupedHash
from peos.net.submit import Described
from peos.simulate import Simulation
from peos.tasks.text_views import PrefixView
from peos.tasks.views import CandidatesView, answers_of
from peos.wire import documents
from peos.wire.documents import encode_document
from tests.keys import small_key
from tests.raising import raises
from tests.unit.collection.made import DOCUMENT, ENCRYPTION, ENROLMENT
from tests.unit.user_client.questions import PREFIXES, ROUNDS, STUDY, asking, round_of, ticket_of
from tests.unit.user_client.town import NOW, FakeShufflers
from user_client.client import Client
from user_client.config import Config
from user_client.store import ClientStore


@pytest.fixture
def town() -> Iterator[FakeShufflers]:
    with FakeShufflers().running() as here:
        yield here


def client(town: FakeShufflers, folder: Path, **changes: Any) -> Client:
    """A user who would pay for many answers."""
    trusted = tuple(card.identity for card in town.cards)
    config = Config(
        folder=folder, shufflers=trusted, most_eps_local=9.0, least_reports=500, least_fakes=50, budget=99.0
    )
    return Client(replace(config, **changes), clock=lambda: float(NOW))


# One user in two rounds, with a ticket for each: the organisation that enrols gave her both.


def asked_in_both(town: FakeShufflers, folder: Path) -> list[str]:
    """What becomes of each round: "" if she answers it, or the id of her refusal."""
    found = []
    for number in (1, 2):
        town.publish(round_of(town, number))
        user = client(town, folder)
        try:
            assert user.open(town.invitation).submit("secret", ticket_of(town, 1, within=number)).accepted
            found.append("")
        except Refused as refused:
            found.append(refused.id)
        user.close()
    return found


def test_a_user_answers_one_round_though_she_is_given_tickets_for_two(town: FakeShufflers, tmp_path: Path) -> None:
    assert asked_in_both(town, tmp_path / "user") == ["", "consent.other_round"]


def test_a_client_without_memory_of_studies_answers_both(
    town: FakeShufflers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = ClientStore.keep
    monkeypatch.setattr(ClientStore, "keep", lambda self, *given: keep(self, *given[:4]))
    assert asked_in_both(town, tmp_path / "user") == ["", ""]


# The tickets of one round in the next: the same users are asked again, by clients that do as the analyzer says.


def first_round() -> list[Ticket]:
    """Tickets of its users."""
    rng = Randomness(b"\x04" * 32)
    return [issue(ENROLMENT, STUDY, draw_id(rng, ROUNDS[0]), Identity(rng.bytes(32))) for _ in range(20)]


def replayed(tickets: list[Ticket]) -> set[str]:
    """What the second round's shuffler says to tickets of the first: "" to those that it takes."""
    rng, said = Randomness(b"\x05" * 32), set()
    second = replace(DOCUMENT, study=StudyPart(STUDY, 2, PLACES // 2, PLACES))
    collection = digest(encode_document(second))
    consent = Consent(collection, second, ENCRYPTION, ())
    for ticket in tickets:
        part = answer(consent, 3, ticket, Ledger(10**9), rng).parts[1]
        try:
            check_part(part, second, collection, ENCRYPTION, 2)
            said.add("")
        except RemoteFault as fault:
            said.add(fault.id)
    return said


def test_tickets_of_one_round_are_of_no_use_in_the_next() -> None:
    assert replayed(first_round()) == {"submit.other_round"}


def test_shufflers_that_do_not_look_at_places_take_them_all(monkeypatch: pytest.MonkeyPatch) -> None:
    tickets = first_round()
    monkeypatch.setattr(StudyPart, "asks", lambda *_: True)
    assert replayed(tickets) == {""}


# A window so narrow that hardly one user has a ticket in it; the analyzer's own dummies, which count for none, are 32.


class Unminded(Simulation):
    """Its shufflers go on with as few as there are."""

    def freeze(self) -> None:
        self.document = replace(self.document, minimum=1)
        for node in self.nodes:
            node.document = self.document
        super().freeze()


def narrowed(kind: type[Simulation]) -> tuple[str, int]:
    """The id of why nothing came of a round that asks three, and whose minimum is 20; or what the analyzer got."""
    views, rng = (PrefixView(0, 8, 16),), Randomness(b"\x07" * 32)
    narrow = StudyPart(STUDY, 1, 0, PLACES // 1000)
    described = tuple(view.describe() for view in views)
    round_ = kind(
        GroupedHash([1], 2.0, 4), views=described, study=narrow, minimum=20, rng=rng, key=small_key(), fakes=5
    )
    try:
        found = round_.run(round_.mechanism.gathered(answers_of(views, ["zq", "ab", "ab"], rng)))
    except PeosError as error:
        assert not round_.delivered
        return error.id, 0
    return "", found.users


def test_a_round_of_a_window_with_fewer_users_than_the_minimum_has_no_output() -> None:
    assert narrowed(Simulation) == ("freeze.minimum", 0)


def test_shufflers_that_do_not_mind_the_minimum_shuffle_a_round_of_three() -> None:
    assert narrowed(Unminded) == ("", 3)


# Other labels, or other views, for one user than for all others.


def shown_otherwise(town: FakeShufflers, number: int) -> bytes:
    """Shuffler `number`, who works with the analyzer, describes a document with other views; the invitation to that."""
    town.publish(asking(town, CandidatesView(("bread", "tea", "salt"))))
    other = asking(town, CandidatesView(("bread", "tea", "hers")))
    town.shufflers[number - 1].signed = documents.sign_document(other, town.analyzer)
    return town.invitation


@pytest.mark.parametrize("number", [1, 2, 3])
def test_two_users_cannot_be_shown_different_labels(town: FakeShufflers, tmp_path: Path, number: int) -> None:
    user = client(town, tmp_path / "user")
    with pytest.raises((RemoteFault, Refused)):
        user.open(shown_otherwise(town, number))
    user.close()
    assert not any(one.parts for one in town.shufflers)


def test_a_client_that_asks_one_shuffler_alone_is_shown_others(town: FakeShufflers, tmp_path: Path) -> None:
    trusted = tuple(card.identity for card in town.cards)
    config = Config(
        folder=tmp_path / "user", shufflers=trusted, most_eps_local=9.0, least_reports=500, least_fakes=50, budget=99.0
    )
    invitation = shown_otherwise(town, 1)  # whose digest is the first shuffler's
    first = town.shufflers[0].signed
    user = Client(config, clock=lambda: float(NOW), describe=lambda *_: Described(first))
    assert user.open(invitation).asked == ("whether the text is one of bread, tea, hers, or another",)
    user.close()


def test_views_are_part_of_the_digest_and_of_the_salt(town: FakeShufflers) -> None:
    plain, other = asking(town, *PREFIXES), asking(town, *PREFIXES[::-1])
    assert digest(encode_document(plain)) != digest(encode_document(other))
    assert plain.mechanism.digest != other.mechanism.digest, "one answer a question stays one answer"


# A view that asks for the bits by which one person differs from all others.

_TRIALS: Final = 40_000
_EPSILON: Final = 1.0


class Honest(GroupedHash):
    """As it is."""


class Telling(GroupedHash):
    """Randomises nothing: what a client would send that trusts its analyzer."""

    def randomize(self, values: Any, rng: Randomness | None = None) -> Any:
        return self.encode(values, self._rng(rng))


def guessed(kind: type[GroupedHash]) -> tuple[int, int]:
    """Of reports of hers and of another's, how often the report says that it is hers; the analyzer knows its user."""
    rng = Randomness(b"\x06" * 32)
    view = PrefixView(0, 16, 48)
    mechanism = kind([1], _EPSILON, 2)
    found = []
    for text in ("zq", "ab"):
        keys = mechanism.gathered(answers_of([view], [text] * _TRIALS, rng))
        words = mechanism.randomize(keys, rng)
        _, seeds, cells = mechanism.decode(words)
        wanted = Candidates(np.zeros(1, np.uint64), np.array([int.from_bytes(b"zq", "big")], np.uint64))
        found.append(int(mechanism.support_counts(seeds, cells, wanted)[0]))
    return found[0], found[1]


def test_a_view_made_for_one_person_gains_no_more_than_epsilon_allows() -> None:
    hers, others = guessed(Honest)
    bound = np.exp(_EPSILON)
    # P[says so | hers] ≤ e^ε · P[says so | another's], and the same of saying nothing.
    slack = 5.0 * np.sqrt(_TRIALS)
    assert hers <= bound * others + slack
    assert _TRIALS - others <= bound * (_TRIALS - hers) + slack
    assert hers > others + slack, "it does tell something, as ε says"


def test_a_report_that_is_not_randomised_tells_which_person_it_is() -> None:
    hers, others = guessed(Telling)
    assert hers == _TRIALS
    assert _TRIALS - others > np.exp(_EPSILON) * (_TRIALS - hers) + 5.0 * np.sqrt(_TRIALS)


def test_a_client_refuses_kinds_of_views_that_she_does_not_answer(town: FakeShufflers, tmp_path: Path) -> None:
    town.publish(asking(town, *PREFIXES))
    user = client(town, tmp_path / "user", views=("value",))
    with raises("consent.views"):
        user.open(town.invitation)
    user.close()
