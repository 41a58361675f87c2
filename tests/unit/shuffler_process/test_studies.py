"""An operator who accepts by hand accepts a study once: later rounds open if they ask on terms that are no weaker."""

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from peos.client.answering import answer
from peos.client.consent import Consent
from peos.client.ledger import Ledger
from peos.collection.document import Document, MechanismChoice, digest
from peos.collection.lifecycle import State
from peos.collection.policy import PER_QUESTION, Policy
from peos.collection.submission import check_part
from peos.collection.ticket import PLACES, StudyPart, draw_id, issue, question_of_round
from peos.crypto.identity import Identity
from peos.crypto.randomness import Randomness
from peos.ldp import GRR
from peos.spec import StudySpec
from peos.wire.documents import encode_document, sign_document
from peos.wire.parties import decode_proposal, encode_proposal
from tests.raising import raises
from tests.unit.collection.made import ANALYZER, DOCUMENT, ENCRYPTION, ENROLMENT
from tests.unit.shuffler_process.played import run
from tests.unit.shuffler_process.test_registry import World, world  # noqa: F401 - a fixture

STUDY = b"\x57" * 32
QUARTER = PLACES // 4


def round_of(document: Document, number: int, **changes: object) -> Document:
    """The quarter of a study's places of that number, from 1 on."""
    part = StudyPart(STUDY, number, (number - 1) * QUARTER, number * QUARTER)
    now = int(time.time())
    times = {"closes_at": now + 600, "shuffle_by": now + 700, "erase_by": now + 800}
    return replace(document, **({"study": part, "epoch": f"round {number}"} | times | changes))  # type: ignore[arg-type] # of any field


async def propose(world: World, document: Document) -> State:  # noqa: F811 - the fixture's value
    """What becomes of a proposal."""
    proposal = decode_proposal(encode_proposal(sign_document(document, ANALYZER), world.signed_cards))
    await world.registry.propose(proposal)
    return world.memory.collection(digest(encode_document(document))).state


CHANGES: list[tuple[dict[str, object], State]] = [
    ({}, State.OPEN),
    ({"fakes": 11}, State.OPEN),
    ({"minimum": 6}, State.OPEN),
    ({"fakes": 9}, State.DRAFT),
    ({"minimum": 4}, State.DRAFT),
    ({"delta": 2e-6}, State.DRAFT),
    ({"question": "And whom did you vote for?"}, State.DRAFT),
    ({"question": question_of_round(DOCUMENT.question, 2)}, State.OPEN),
    ({"question": question_of_round(DOCUMENT.question, 3)}, State.DRAFT),
    ({"enrolment_key": bytes(32)}, State.DRAFT),
    ({"study": StudyPart(b"\x58" * 32, 2, QUARTER, 2 * QUARTER)}, State.DRAFT),
    ({"study": StudyPart(STUDY, 2, QUARTER - 1, 2 * QUARTER)}, State.DRAFT),
    ({"study": None}, State.DRAFT),
]


@pytest.mark.parametrize(("changes", "state"), CHANGES)
def test_a_later_round_opens_by_itself_on_terms_no_weaker_and_else_waits(
    world: World,  # noqa: F811 - the fixture's value
    changes: dict[str, object],
    state: State,
) -> None:
    async def test() -> None:
        first = round_of(world.document, 1)
        assert await propose(world, first) is State.DRAFT, "the first is the operator's to accept"
        second = round_of(world.document, 2, **changes)
        early = round_of(world.document, 3)
        assert await propose(world, early) is State.DRAFT, "and so is all else until she has"
        await world.registry.live[digest(encode_document(first))].accept()
        assert await propose(world, second) is state
        assert await propose(world, early) is State.DRAFT, "what waits goes on waiting"
        await world.registry.close()

    run(test())


@pytest.mark.parametrize("rounds", [3, 5])
def test_a_study_of_more_rounds_than_one_question_may_be_asked_a_day_is_accepted_once(
    world: World,  # noqa: F811 - the fixture's value
    rounds: int,
) -> None:
    """With the operator's limits as they are where none is named, and questions as `peos study run` words them."""
    spec = StudySpec(name="words", task="item-sets", users=1_000, delta=1e-6)
    part = PLACES // rounds

    def asked(number: int, attempt: int = 1) -> Document:
        window = StudyPart(STUDY, number, (number - 1) * part + attempt, number * part)
        terms = spec.round("words", 100, f"round {number}, attempt {attempt}", number=number)
        return round_of(world.document, 1, question=terms.question, epoch=terms.epoch, study=window)

    async def test() -> None:
        assert await propose(world, asked(1)) is State.DRAFT
        await world.registry.live[digest(encode_document(asked(1)))].accept()
        for number in range(2, rounds + 1):
            assert await propose(world, asked(number)) is State.OPEN, number
        for attempt in range(2, PER_QUESTION + 1):
            await propose(world, asked(rounds, attempt))
        with raises("policy.often"):
            await propose(world, asked(rounds, PER_QUESTION + 1))
        await world.registry.close()

    assert PER_QUESTION < 5
    run(test())


def test_the_policy_holds_for_every_round(world: World) -> None:  # noqa: F811 - the fixture's value
    async def test() -> None:
        first = round_of(world.document, 1)
        await propose(world, first)
        await world.registry.live[digest(encode_document(first))].accept()
        with raises("policy.eps_local"):
            await propose(world, round_of(world.document, 2, choice=MechanismChoice.of(GRR(16, 8.5))))
        await world.registry.close()

    run(test())


WEAKER: list[Callable[[Document], Document]] = [
    lambda document: replace(document, choice=replace(document.choice, parameters=dict(GRR(16, 2.5).parameters))),
    lambda document: replace(document, analyzer=replace(document.analyzer, identity=b"\x09" * 32)),
    lambda document: replace(document, shufflers=document.shufflers[::-1]),
]


@pytest.mark.parametrize("weakened", WEAKER)
def test_another_analyzer_other_shufflers_or_a_larger_epsilon_need_her_word(
    weakened: Callable[[Document], Document],
) -> None:
    first, second = round_of(DOCUMENT, 1), round_of(DOCUMENT, 2)
    assert Policy.needs_no_word(second, first)
    assert not Policy.needs_no_word(weakened(second), first)
    assert Policy.needs_no_word(second, weakened(first)) is (weakened is WEAKER[0]), "the other way it is stronger"


def test_a_part_is_taken_in_the_round_of_its_ticket_and_in_no_other() -> None:
    rng = Randomness(b"\x03" * 32)
    taken = 0
    for at in range(1, 5):
        document = round_of(DOCUMENT, at, closes_at=1, shuffle_by=2, erase_by=3)
        collection = digest(encode_document(document))
        for own in range(1, 5):
            key = Identity(rng.bytes(32))
            ticket = issue(ENROLMENT, STUDY, draw_id(rng, round_of(DOCUMENT, own).study), key)
            consent = Consent(collection, document, ENCRYPTION, ())
            part = answer(consent, 3, ticket, Ledger(10**9), rng).parts[1]
            if own == at:
                check_part(part, document, collection, ENCRYPTION, 2)
                taken += 1
            else:
                with raises("submit.other_round"):
                    check_part(part, document, collection, ENCRYPTION, 2)
    assert taken == 4
