"""An operator's limits: what is within them is accepted, and each limit refuses on its own."""

from dataclasses import replace
from typing import Final

import pytest

from peos.collection.document import Document, MechanismChoice
from peos.collection.freeze import check_minimum
from peos.collection.policy import Policy
from peos.ldp import GRR
from peos.privacy import guarantees
from tests.raising import raises
from tests.unit.collection.made import ANALYZER, DOCUMENT, SHUFFLERS

ME: Final = SHUFFLERS[1].public
POLICY: Final = Policy((ANALYZER.public,), most_eps_local=2.0, least_reports=5, least_fakes=10)
BEFORE: Final = 0.5  # it closes at 1


def test_a_document_at_every_limit_is_accepted_under_this_shufflers_number() -> None:
    assert POLICY.check(DOCUMENT, me=ME, now=BEFORE) == 2


@pytest.mark.parametrize(
    ("policy", "document", "mistake"),
    [
        (replace(POLICY, analyzers=()), DOCUMENT, ("policy.analyzer", "analyzer")),
        (POLICY, replace(DOCUMENT, choice=MechanismChoice.of(GRR(16, 2.001))), ("policy.eps_local", "2.001", "2")),
        (POLICY, replace(DOCUMENT, minimum=4), ("policy.minimum", "4", "5")),
        (POLICY, replace(DOCUMENT, fakes=9), ("policy.few_fakes", "9", "10")),
        (replace(POLICY, views=("prefix", "candidates")), DOCUMENT, ("policy.views", "value", "prefix", "candidates")),
        (replace(POLICY, most_fakes=10), replace(DOCUMENT, fakes=11), ("policy.many_fakes", "11", "10")),
        (POLICY, replace(DOCUMENT, fakes=2**31 - 1), ("policy.many_fakes", "2147483647", "100000000")),
        (
            replace(POLICY, most_days=2),
            replace(DOCUMENT, shuffle_by=10, erase_by=3 * 86_400),
            ("policy.duration", "3.0", "2"),
        ),
        (
            POLICY,
            replace(DOCUMENT, shuffle_by=2**39, erase_by=2**39 + 1),
            ("policy.duration", "6,362,914.5", "90"),
        ),
    ],
)
def test_each_limit_refuses_on_its_own(policy: Policy, document: Document, mistake: tuple[str, ...]) -> None:
    with raises(*mistake) as caught:
        policy.check(document, me=ME, now=BEFORE)
    assert caught.value.hint


def test_so_many_collections_of_one_analyzer_are_open_and_no_more() -> None:
    policy = replace(POLICY, most_open=3)
    assert policy.check(DOCUMENT, me=ME, now=BEFORE, open_=2) == 2
    with raises("policy.open", "3", "3"):
        policy.check(DOCUMENT, me=ME, now=BEFORE, open_=3)


def test_a_document_without_this_shuffler_is_refused() -> None:
    with raises("policy.not_named"):
        POLICY.check(DOCUMENT, me=bytes(32), now=BEFORE)


@pytest.mark.parametrize("now", [1.0, 2.0])
def test_a_document_that_has_closed_is_refused(now: float) -> None:
    with raises("policy.closed", "at 1970", "1970-01-01 00:00 UTC"):
        POLICY.check(DOCUMENT, me=ME, now=now)


def test_an_analyzer_is_known_by_its_identity_and_not_by_its_name() -> None:
    impostor = replace(DOCUMENT, analyzer=replace(DOCUMENT.analyzer, identity=bytes(31) + b"\x01"))
    with raises("policy.analyzer"):
        POLICY.check(impostor, me=ME, now=BEFORE)


def test_the_guarantees_are_computed_for_the_fewest_users_and_not_taken_from_anybody() -> None:
    """The document's minimum is of users: its dummies, which hide no user, do not count towards it."""
    document = replace(DOCUMENT, minimum=5000, fakes=300, choice=MechanismChoice.of(GRR(16, 2.0)))
    claims = guarantees(GRR(16, 2.0), 5000, 300, document.delta, len(document.shufflers))
    server, users = claims.server.epsilon, claims.users.epsilon
    assert server < users < 2.0
    within = replace(POLICY, most_eps_server=server, most_eps_users=users)
    assert within.check(document, me=ME, now=BEFORE) == 2
    for policy, who in (
        (replace(within, most_eps_server=server * 0.999), "the analyzer, alone or with 1 of the 3 shufflers"),
        (replace(within, most_eps_users=users * 0.999), "the analyzer with all other users and 1 of the 3 shufflers"),
    ):
        with raises("policy.guarantee", "5000", who) as caught:
            policy.check(document, me=ME, now=BEFORE)
        assert caught.value.hint
    fewer = replace(document, minimum=4000)
    with raises("policy.guarantee", "4000"):
        within.check(fewer, me=ME, now=BEFORE)


def test_dummies_are_taken_off_once_and_the_minimum_is_the_freezes() -> None:
    """What the freeze lets through with the least number of users is what the policy has judged."""
    document = replace(DOCUMENT, minimum=100, fakes=0, choice=MechanismChoice.of(GRR(16, 1.0)))
    claim = guarantees(GRR(16, 1.0), 100, 0, document.delta, len(document.shufflers)).server.epsilon
    policy = replace(POLICY, least_fakes=0, most_eps_server=claim)
    assert policy.check(document, me=ME, now=BEFORE) == 2
    check_minimum(100 + len(document.dummies), len(document.dummies), document.minimum)
    with raises("freeze.minimum", "100"):
        check_minimum(99 + len(document.dummies), len(document.dummies), document.minimum)
    with raises("policy.guarantee", "99"):
        policy.check(replace(document, minimum=99), me=ME, now=BEFORE)


def test_a_minimum_of_one_user_without_fakes_promises_nothing() -> None:
    document = replace(DOCUMENT, minimum=1, fakes=0)
    with raises("policy.guarantee", "would be 2"):
        replace(POLICY, least_reports=1, least_fakes=0, most_eps_server=1.0).check(document, me=ME, now=BEFORE)


@pytest.mark.parametrize(
    ("asked", "mistake"),
    [
        (["Which?"] * 4, ("policy.often", "this question", "4")),
        ([" which? ", "WHICH?", "Which?", "Which? "], ("policy.often", "this question", "4")),
        ([f"Question {n}" for n in range(32)], ("policy.often", "this analyzer", "32")),
    ],
)
def test_more_collections_a_day_than_the_limit_are_refused(asked: list[str], mistake: tuple[str, ...]) -> None:
    with raises(*mistake):
        POLICY.check_often(DOCUMENT, asked)


def test_as_many_collections_a_day_as_the_limit_are_accepted() -> None:
    POLICY.check_often(DOCUMENT, ["Which?"] * 3 + [f"Question {n}" for n in range(28)])
    with raises("policy.often", "this question"):
        replace(POLICY, most_per_question_and_day=1).check_often(DOCUMENT, ["Which?"])
