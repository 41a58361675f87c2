"""Parts on their way to shufflers: the same bytes until each has its final answer, and errors that name who failed."""

import datetime
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from peos.collection.prepare import prepare
from peos.collection.replies import Answer
from peos.collection.submission import Part
from peos.crypto.randomness import Randomness
from peos.errors import Refused, RemoteFault
from peos.net.certificates import as_der, make_certificate
from peos.net.submit import WINDOW, Described, describe, send_parts
from peos.protocols.peos import ShareSplitter
from peos.wire.submissions import encode_part
from tests.raising import raises
from tests.unit.collection.made import receipt_of
from tests.unit.fake_shuffler import refuse
from tests.unit.user_client.town import FakeShufflers, full_key


@pytest.fixture
def town() -> Iterator[FakeShufflers]:
    with FakeShufflers().running() as here:
        yield here


def made(town: FakeShufflers, rng: Randomness, count: int, *, first: int = 1) -> list[tuple[Part, ...]]:
    """Submissions of users first … first + count − 1."""
    public = full_key().public
    zero = public.zero_source(rng).zeros(1)  # one zero for all: these tests do not ask whether ciphertexts hide

    class Same:
        def zeros(self, wanted: int) -> object:
            return zero.repeat(wanted, axis=0)

    tickets = [town.ticket(number) for number in range(first, first + count)]
    splitter = ShareSplitter(len(town.shufflers), public, Same())  # type: ignore[arg-type]  # a source for tests
    return prepare(town.digest, splitter, rng.uint64((count, 1)), tickets, rng)


def test_each_part_goes_to_its_shuffler_and_all_acknowledge_one_digest(town: FakeShufflers, rng: Randomness) -> None:
    submissions = made(town, rng, 600)
    answers: list[tuple[int, Answer]] = []
    outcomes = send_parts(town.cards, submissions, rng=rng, on_answer=lambda *answer: answers.append(answer))
    assert [outcome.id for outcome in outcomes] == [parts[0].id for parts in submissions]
    assert all(outcome.accepted for outcome in outcomes)
    held = town.connections()
    assert all(held[parts[0].id] == dict.fromkeys((1, 2, 3), parts[0].row) for parts in submissions)
    assert sorted(shuffler for shuffler, _ in answers) == sorted([1, 2, 3] * 600)
    assert [one.streams for one in town.shufflers] == [1, 1, 1]


@pytest.mark.full
def test_submissions_are_read_only_as_fast_as_they_are_answered(town: FakeShufflers, rng: Randomness) -> None:
    ready = made(town, rng, 3 * WINDOW)
    read = 0
    answered = {1: 0, 2: 0, 3: 0}

    def count(shuffler: int, _: Answer) -> None:
        answered[shuffler] += 1

    def given() -> Iterator[tuple[Part, ...]]:
        nonlocal read
        for parts in ready:
            assert read - min(answered.values()) <= WINDOW, f"{read} read, answered {answered}"
            read += 1
            yield parts

    assert len(send_parts(town.cards, given(), rng=rng, on_answer=count)) == len(ready)


def test_after_a_broken_stream_the_same_bytes_are_sent_again(town: FakeShufflers, rng: Randomness) -> None:
    submissions = made(town, rng, 50)
    north = town.shufflers[1]
    north.break_after, north.swallow = [10, 7], True
    assert all(outcome.accepted for outcome in send_parts(town.cards, submissions, rng=rng))
    assert north.streams == 3
    assert set(north.parts) == {encode_part(parts[1]) for parts in submissions}, "other bytes were sent"
    assert len(north.parts) > len(submissions), "nothing was sent twice, so nothing was tested"


def test_a_shuffler_that_comes_back_gets_the_rest(town: FakeShufflers, rng: Randomness) -> None:
    submissions = made(town, rng, 20)
    south = town.shufflers[2]

    def given() -> Iterator[tuple[Part, ...]]:
        for at, parts in enumerate(submissions):
            if at == 10:
                town.stop(3)
            if at == 15:
                town.start(3)
            yield parts

    assert all(outcome.accepted for outcome in send_parts(town.cards, given(), rng=rng, deadline=60))
    assert set(south.parts) == {encode_part(parts[2]) for parts in submissions}


def test_a_refusal_that_asks_for_patience_gets_it(town: FakeShufflers, rng: Randomness) -> None:
    submissions = made(town, rng, 5)
    asked: list[float] = []

    def full(part: Part) -> Answer | None:
        asked.append(time.monotonic())
        return refuse("full at the moment", retry=True)(part) if len(asked) <= 12 else None

    town.shufflers[0].before = full
    assert all(outcome.accepted for outcome in send_parts(town.cards, submissions, rng=rng, deadline=60))
    assert set(town.shufflers[0].parts) == {encode_part(parts[0]) for parts in submissions}


def test_who_asks_for_patience_for_ever_is_named_with_its_reason(town: FakeShufflers, rng: Randomness) -> None:
    town.shufflers[1].before = refuse("full at the moment", retry=True)
    with raises("submit.closed", "shuffler 2 (org-2), submission", "full", kind=RemoteFault):
        send_parts(town.cards, made(town, rng, 2), rng=rng, deadline=5.0)


def test_a_final_refusal_is_an_outcome_and_says_who_and_why(town: FakeShufflers, rng: Randomness) -> None:
    submissions = made(town, rng, 3)
    bad = replace(submissions[1][2], signature=bytes(64))
    outcomes = send_parts(town.cards, [submissions[0], (*submissions[1][:2], bad), submissions[2]], rng=rng)
    assert [outcome.accepted for outcome in outcomes] == [True, False, True]
    (refusal,) = outcomes[1].refusals
    assert str(refusal).startswith("shuffler 3 (org-3): ")
    assert refusal.error_id == "submit.signature"
    assert refusal.hint


def test_another_submission_under_a_used_ticket_is_refused_by_all(town: FakeShufflers, rng: Randomness) -> None:
    assert send_parts(town.cards, made(town, rng, 1), rng=rng)[0].accepted
    (second,) = send_parts(town.cards, made(town, rng, 1), rng=rng)
    assert [refusal.shuffler for refusal in second.refusals] == [1, 2, 3]
    assert {refusal.error_id for refusal in second.refusals} == {"submit.ticket_used"}


def test_an_acknowledgement_of_another_digest_does_not_count(town: FakeShufflers, rng: Randomness) -> None:
    town.shufflers[2].lie = town.ticket(1).id + b"\x05" * 32
    told: list[int] = []
    (outcome,) = send_parts(town.cards, made(town, rng, 1), rng=rng, on_answer=lambda who, _: told.append(who))
    assert [refusal.shuffler for refusal in outcome.refusals] == [3]
    assert outcome.refusals[0].error_id == "submit.acknowledgement"
    assert sorted(told) == [1, 2], "an acknowledgement of something else was passed on"


def test_an_answer_to_another_part_ends_it(town: FakeShufflers, rng: Randomness) -> None:
    town.shufflers[0].before = lambda part: Answer(
        part.collection, b"\x09" * 16, b"\x09" * 48, receipt=receipt_of(town.shufflers[0].identity, part)
    )
    with raises("submit.other_part", "shuffler 1 (org-1), submission"):
        send_parts(town.cards, made(town, rng, 1), rng=rng)


def test_a_shuffler_that_is_gone_is_named_after_the_others_have_answered(town: FakeShufflers, rng: Randomness) -> None:
    town.stop(2)
    started = time.monotonic()
    told: list[int] = []
    with raises("network.no_answer", "shuffler 2 (org-2), submission") as caught:
        send_parts(town.cards, made(town, rng, 4), rng=rng, deadline=5.0, on_answer=lambda who, _: told.append(who))
    assert caught.value.hint
    assert sorted(told) == [1, 1, 1, 1, 3, 3, 3, 3]
    assert time.monotonic() - started < 60


def test_a_shuffler_that_says_nothing_is_not_waited_for_beyond_the_deadline(
    town: FakeShufflers, rng: Randomness
) -> None:
    def sleep(_: Part) -> None:
        time.sleep(2.5)

    town.shufflers[1].before = sleep
    with raises("network.timeout", "shuffler 2 (org-2), submission"):
        send_parts(town.cards[:2], [made(town, rng, 1)[0][1:2]], rng=rng, deadline=0.5)


def test_another_certificate_than_the_cards_is_refused_at_once(town: FakeShufflers, rng: Randomness) -> None:
    cards = list(town.cards)
    stranger = replace(cards[1], user_certificate=cards[0].user_certificate)
    with raises("network.certificate", "shuffler 2 (org-2), submission"):
        send_parts([cards[0], stranger, cards[2]], made(town, rng, 1), rng=rng)
    with raises("network.certificate", "org-2", "document"):
        describe(stranger, town.digest)
    assert not town.shufflers[1].parts


def test_parts_that_are_missing_alone_can_be_sent(town: FakeShufflers, rng: Randomness) -> None:
    (parts,) = made(town, rng, 1)
    assert send_parts(town.cards, [parts[:1]], rng=rng)[0].accepted
    assert send_parts(town.cards, [parts[1:]], rng=rng)[0].accepted
    assert [len(one.parts) for one in town.shufflers] == [1, 1, 1]


def test_parts_of_two_submissions_are_not_sent_as_one(town: FakeShufflers, rng: Randomness) -> None:
    first, second = made(town, rng, 2)
    with raises("submit.mixed_parts"):
        send_parts(town.cards, [(*first[:2], second[2])], rng=rng)
    with raises("submit.part_count"):
        send_parts(town.cards[:2], [first], rng=rng)
    assert not any(one.parts for one in town.shufflers)


def test_a_document_comes_as_it_was_signed(town: FakeShufflers) -> None:
    for one in town.shufflers:
        assert describe(one.card, town.digest) == Described(one.signed)
    town.shufflers[1].has_closed = True
    assert describe(town.cards[1], town.digest) == Described(town.shufflers[1].signed, has_closed=True)
    with raises("collection.unknown", "org-1", "document"):
        describe(town.cards[0], b"\x11" * 32)


def test_what_a_shuffler_says_is_one_printable_line(town: FakeShufflers, rng: Randomness) -> None:
    town.shufflers[0].before = refuse("no\x1b[2J\nfurther " + "x" * 900)
    (outcome,) = send_parts(town.cards, made(town, rng, 1), rng=rng)
    sentence = outcome.refusals[0].sentence
    assert sentence.startswith("no?[2J further x")
    assert len(sentence) <= 300


@pytest.mark.parametrize(
    ("years", "sentence"),
    [(10, "has expired"), (-10, "is not valid yet")],
    ids=["her clock is ahead", "her clock is behind"],
)
def test_a_certificate_that_is_not_valid_by_her_clock_is_told_with_the_clock(
    town: FakeShufflers, rng: Randomness, years: int, sentence: str
) -> None:
    """Ten years off: what she sees is a certificate of another time, and her clock is the likelier mistake."""
    now = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=365 * years)
    other = make_certificate("org-1", rng, now=now)
    cards = (replace(town.cards[0], user_certificate=as_der(other.pem)), *town.cards[1:])
    with raises("certificate.expired", "shuffler 1 (org-1)", sentence, kind=RemoteFault) as found:
        send_parts(cards, made(town, rng, 1), rng=rng)
    assert re.search(rf"{datetime.datetime.now(datetime.UTC):%Y-%m-}\d\d \d\d:\d\d UTC$", str(found.value))


def test_nothing_runs_on_after_the_caller_stopped_reading(town: FakeShufflers, rng: Randomness) -> None:
    def interrupted() -> Iterator[tuple[Part, ...]]:
        yield made(town, rng, 1)[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        send_parts(town.cards, interrupted(), rng=rng)
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("submit")]


def test_a_call_that_is_refused_is_not_repeated(town: FakeShufflers, rng: Randomness) -> None:
    def answer(_: Part) -> Answer:
        raise Refused("test.refused", "users are not served here")

    town.shufflers[1].before = answer
    with raises("test.refused", "shuffler 2 (org-2), submission", kind=Refused):
        send_parts(town.cards, made(town, rng, 1), rng=rng)
    assert town.shufflers[1].streams == 1
