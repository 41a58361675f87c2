"""The analyzer asks again, to average, to intersect two outputs, or to compare two that differ by one user.

Each attack runs twice: on clients and shufflers as they are, and on ones that lack what stops it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from scipy.stats import binom

from peos.collection.document import MechanismChoice
from peos.collection.policy import PER_QUESTION
from peos.collection.submission import plain_share
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.paillier import PaillierPrivateKey
from peos.errors import Refused
from peos.ldp import GRR
from peos.simulate import Simulation
from tests.raising import raises
from tests.security.verdict import Verdict, of_flags, of_guesses
from tests.unit.user_client.town import NOW, FakeShufflers, full_key
from user_client.client import Client
from user_client.config import Config

pytestmark = pytest.mark.full  # `make security` runs it too

DOMAIN: Final = 16
EPSILON: Final = 2.5
ASKED: Final = 9  # times
TRIALS: Final = 12


@pytest.fixture
def town() -> Iterator[FakeShufflers]:
    with FakeShufflers().running() as here:
        yield here


def client(town: FakeShufflers, folder: Path, rng: Randomness) -> Client:
    """A user with this memory, who trusts the town's shufflers and would pay for two answers."""
    trusted = tuple(card.identity for card in town.cards)
    config = Config(
        folder=folder, shufflers=trusted, most_eps_local=EPSILON, least_reports=500, least_fakes=50, budget=2 * EPSILON
    )
    return Client(config, clock=lambda: float(NOW), fresh=lambda: Randomness(rng.bytes(32)))


def ask(town: FakeShufflers, epoch: str, **changes: Any) -> None:
    """A collection of the same question in another epoch."""
    town.publish(town.document(epoch=epoch, choice=MechanismChoice.of(GRR(DOMAIN, EPSILON)), **changes))


def reports(town: FakeShufflers, ticket: bytes) -> list[int]:
    """What all shufflers and the analyzer together make of what one user sent, each report once."""
    taken = [{part.collection: part for part in one.taken.values() if part.id == ticket} for one in town.shufflers]
    found = []
    for collection in taken[0].keys() & taken[1].keys() & taken[2].keys():
        first, *others = (parts[collection].share for parts in taken)
        word = int(full_key().decrypt(np.frombuffer(first, np.uint8).reshape(1, -1))[0])
        found.append((word + sum(int(plain_share(share)[0]) for share in others)) % 2**64)
    return found


def average(asked: list[int]) -> int:
    """The value that most of the reports tell."""
    told = GRR(DOMAIN, EPSILON).decode(np.array(asked, np.uint64)[:, np.newaxis])
    return int(np.bincount(told, minlength=DOMAIN).argmax())


# Averaging.


@pytest.mark.full
def test_without_a_memory_repeated_answers_average_to_her_value(
    town: FakeShufflers, tmp_path: Path, rng: Randomness
) -> None:
    values = (rng.uint64(TRIALS) % DOMAIN).astype(int)
    for again in range(ASKED):
        ask(town, str(again))
        for user, value in enumerate(values):
            forgetful = client(town, tmp_path / f"user {user}, {again}", rng)  # a memory that lasts for one answer
            assert forgetful.open(town.invitation).submit(int(value), town.ticket(user)).accepted
            forgetful.close()
    sent = [reports(town, town.ticket(user).id) for user in range(TRIALS)]
    assert {len(hers) for hers in sent} == {ASKED}
    right = int(np.sum(np.array([average(hers) for hers in sent]) == values))
    of_guesses(f"{ASKED} answers averaged", right, TRIALS, choices=DOMAIN).assert_succeeds()


def test_with_her_memory_the_analyzer_gets_what_her_budget_pays_for_and_in_one_collection_one_report(
    town: FakeShufflers, tmp_path: Path, rng: Randomness
) -> None:
    refused = 0
    for again in range(ASKED):
        ask(town, str(again))
        user = client(town, tmp_path / "user", rng)
        for number in range(3):  # tickets of one user; the first is used twice
            for _ in range(2 if not number else 1):
                try:
                    user.open(town.invitation).submit(3, town.ticket(number))
                except Refused:
                    refused += 1
        user.close()
    assert len(reports(town, town.ticket(0).id)) == 2, "her budget pays for two answers"
    assert reports(town, town.ticket(1).id) == reports(town, town.ticket(2).id) == []
    assert refused == 2 * 2 + (ASKED - 2) * 4
    for one in town.shufflers:
        assert len(one.parts) == len(set(one.parts)) == 2, "and the same bytes are not even sent again"


# Two outputs of the same users: what is in both is no fake, what is in one only is hers.

USERS, FAKES = 200, 200


def output(key: PaillierPrivateKey, words: U64, rng: Randomness) -> U64:
    """What the analyzer is delivered of a collection of these reports; fakes are drawn for each collection."""
    simulation = Simulation(GRR(DOMAIN, EPSILON), fakes=FAKES, rng=Randomness(rng.bytes(32)), key=key)
    simulation.submit(words)
    simulation.freeze()
    simulation.shuffle()
    simulation.inspect()
    return simulation.publish(submitted=len(words)).reports[:, 0]


def strip(first: U64, second: U64, sent: U64) -> Verdict:
    """Call a row of the first output a user's if its word is in the second too."""
    called, users = np.isin(first, second), np.isin(first, sent)
    return of_flags(
        "rows that are in two outputs", int(np.sum(called & users)), USERS, int(np.sum(called & ~users)), FAKES
    )


def test_clients_that_send_a_remembered_report_again_lose_the_fakes_and_show_who_was_missing(
    key: PaillierPrivateKey, rng: Randomness
) -> None:
    remembered = GRR(DOMAIN, EPSILON).randomize(np.arange(USERS) % DOMAIN, rng)
    first, second = output(key, remembered, rng), output(key, remembered[1:], rng)
    strip(first, second, remembered[:, 0]).assert_succeeds()
    # Of the first output's rows that are not in the second, all but hers are the fakes; a third output leaves one.
    third = output(key, remembered, rng)
    assert list(np.setdiff1d(np.intersect1d(first, third), second)) == [remembered[0, 0]]


def test_fresh_reports_in_every_collection_have_nothing_in_common(key: PaillierPrivateKey, rng: Randomness) -> None:
    mechanism, values = GRR(DOMAIN, EPSILON), np.arange(USERS) % DOMAIN
    sent = mechanism.randomize(values, rng)
    strip(output(key, sent, rng), output(key, mechanism.randomize(values, rng), rng), sent[:, 0]).assert_fails()


def test_the_client_sends_a_fresh_report_into_another_epoch_and_none_into_another_collection_of_the_same(
    town: FakeShufflers, tmp_path: Path, rng: Randomness
) -> None:
    """A report is never carried over, whatever became of the first collection."""
    user = client(town, tmp_path / "user", rng)
    for epoch in ("1", "2"):
        ask(town, epoch)
        assert user.open(town.invitation).submit(3, town.ticket(1)).accepted
    ask(town, "2", fakes=99)
    with raises("consent.answered_question"):
        user.open(town.invitation).submit(3, town.ticket(1))
    user.close()
    assert len(set(reports(town, town.ticket(1).id))) == 2


# Collections whose users differ by her alone. The analyzer knows all others' values: the worst case, Adv_u without
# fakes. Of K collections with her the sum of the supports of one value is a sufficient statistic: each report supports
# it with p or q, so her value moves a binomial sum by K·(p − q). The advantage of the best bet is the total variation
# distance of the two distributions, computed here from their exact probabilities.

OTHERS: Final = 400


def best_advantage(collections: int) -> float:
    """Of telling value 0 from value 1 after so many collections of a yes-or-no question at ε_l = 1."""
    oracle = GRR(2, 1.0).oracle
    most = OTHERS * collections
    others = binom.pmf(np.arange(most + 1), most, oracle.q)  # others hold the other value
    sums = [
        np.convolve(others, binom.pmf(np.arange(collections + 1), collections, chance))
        for chance in (oracle.p, oracle.q)
    ]
    return float(np.abs(sums[0] - sums[1]).sum()) / 2


def test_as_many_collections_as_shufflers_take_in_a_day_tell_little_of_her_and_many_tell_her_value() -> None:
    """The policy itself: tests/integration/test_shufflers.py, a fifth collection of a question is refused."""
    assert best_advantage(PER_QUESTION) < 0.05 < best_advantage(2 * PER_QUESTION)
    assert best_advantage(1000) > 0.5


def test_without_the_policy_a_thousand_collections_that_differ_by_her_tell_her_value(rng: Randomness) -> None:
    """The same by drawing reports: 1,000 collections a trial."""
    mechanism, trials, collections, others = GRR(2, 1.0), 60, 1000, 100
    values = (rng.uint64(trials) % 2).astype(np.int64)
    right = 0
    for value in values:
        counts = mechanism.support_counts(mechanism.randomize(np.ones(others * collections, np.int64), rng))
        hers = mechanism.support_counts(mechanism.randomize(np.full(collections, value), rng))
        between = others * collections * mechanism.oracle.q + collections / 2  # p + q = 1 here
        right += int((counts[0] + hers[0] > between) == (value == 0))
    of_guesses("a thousand collections that differ by her", right, trials).assert_succeeds()
