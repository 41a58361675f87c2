"""A shuffler does its step wrong: the inspection names the step, and the party or the two of which it is one.

Who: one shuffler, whose deviation is in what it computes, in what it hands over or in what it shows afterwards. The
dummies alone show that something went wrong, and not even that of a holder that does not re-randomise. What an
inspection must never do is accuse an honest party alone, or open a user's row; both have their tests here.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from peos.crypto.kdf import Context, StreamKey
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes import packing as packed
from peos.crypto.schemes.base import Packed
from peos.crypto.schemes.paillier import PaillierPrivateKey
from peos.ldp import GRR
from peos.shuffle import effects
from peos.shuffle.attempt import Attempt
from peos.shuffle.effects import Mix, Pass, Split, Task
from peos.shuffle.inspect.evidence import Nothing, Opening, Slot, What
from peos.shuffle.inspect.machine import Effect, Inspection
from peos.shuffle.inspect.verdict import judge, not_seen
from peos.shuffle.schedule import HandOver, Hide, Leave
from peos.simulate.node import ANALYZER
from tests.raising import raises
from tests.security.deviants import deviating, miscalculating
from tests.security.laid import Laid, WatchedBench, WatchedNode

SEEDS = b"\x0b" * 32


def other_stream(key: StreamKey) -> StreamKey:
    return StreamKey(hashlib.sha256(key.secret).digest())


def inspected(key: PaillierPrivateKey, nodes: type[WatchedNode], *, shufflers: int = 3, reports: int = 100) -> Laid:
    """A collection shuffled and inspected."""
    laid = Laid(key, Randomness(SEEDS), nodes=nodes, shufflers=shufflers, fakes=10, mechanism=GRR(16, 4.0))
    laid.lay(laid.mechanism.randomize(np.arange(reports) % 16, laid.rng))
    laid.shuffle()
    laid.inspect()
    return laid


def names(laid: Laid, by: int = ANALYZER) -> set[str]:
    """What one party found."""
    return {str(finding) for finding in laid.findings[by]}


def unseen(laid: Laid, openings: Mapping[int, Opening]) -> tuple[int, ...]:
    """Whose rows these openings do not show."""
    return not_seen(laid.opened.schedule, laid.opened.rows, laid.opened.start, openings)


def assert_named(laid: Laid, finding: str, *, by_shufflers: bool = True, refused: str = "result.dummies_lost") -> None:
    """All who judge found this and nothing else, and nothing is published."""
    judges = [ANALYZER, *(node.number for node in laid.nodes)] if by_shufflers else [ANALYZER]
    for by in judges:
        assert names(laid, by) == {finding}, f"{by} found {names(laid, by)}"
    with raises(refused, finding):
        laid.publish(submitted=len(laid.reports))


@pytest.mark.parametrize("shufflers", [3, 4, 5])
def test_an_honest_shuffle_is_opened_at_every_step_and_nobody_is_accused(
    key: PaillierPrivateKey, shufflers: int
) -> None:
    laid = inspected(key, WatchedNode, shufflers=shufflers)
    assert all(not found for found in laid.findings.values()), laid.findings
    assert set(laid.findings) == set(range(shufflers + 1))
    schedule = laid.document.schedule
    for who, opening in laid.openings.items():
        places = opening.shown
        assert {place.round for place in places if place.what is What.MIXED} == {
            number for number, hiders in enumerate(schedule.rounds, start=1) if who in hiders
        }
        assert len([place for place in places if place.what is What.PASSED]) == (who in dict(schedule.passes))
    laid.publish(submitted=100)


# Wrong work.


class OtherPermutation(Attempt):
    """Permutes by another seed in round 1, though it masks and confirms by the right one; shows what it did."""

    def _round_key(self, purpose: str, round_: int, secret: bytes, low: int = 0, high: int = 0) -> StreamKey:
        wrong = purpose == "permutation" and round_ == 1
        return super()._round_key(purpose, round_, hashlib.sha256(secret).digest() if wrong else secret, low, high)


class DeniesIt(OtherPermutation):
    """Does the same, and shows the rows as if it had permuted like the others."""

    def _worked(self, action: Leave | Hide | HandOver, task: Task) -> list[effects.Effect]:
        done = super()._worked(action, task)
        if isinstance(task, Mix) and action.round == 1:
            assert self._round is not None, "it is in the midst of its round"
            right = super(OtherPermutation, self)._round_key("permutation", 1, self._round.seed)
            self.trail[-1] = (action, replace(task, permutation=right))
        return done


@pytest.mark.parametrize("who", [1, 2])
def test_a_hider_with_another_permutation_is_one_of_the_round_that_is_named(key: PaillierPrivateKey, who: int) -> None:
    laid = inspected(key, deviating(OtherPermutation, who=who))
    assert_named(laid, "round 1, confirm: shuffler 1 or shuffler 2 did not permute as the others of the round did")


def test_a_hider_that_denies_its_other_permutation_is_named_alone(key: PaillierPrivateKey) -> None:
    laid = inspected(key, deviating(DeniesIt, who=2))
    assert_named(laid, "round 1, root: shuffler 2 has rows that do not follow from those before")


class Replaces(WatchedBench):
    """Replaces a part of its rows after round 1."""

    share = 1.0

    def _mix(self, task: Mix) -> U64:
        out = super()._mix(task)
        if task.out.endswith("round/1"):
            out[: int(self.share * len(out))] += np.uint64(1)
        return out


class Drops(WatchedBench):
    """Puts another row in the place of one after round 1, for many rows."""

    def _mix(self, task: Mix) -> U64:
        out = super()._mix(task)
        if task.out.endswith("round/1"):
            out[::2] = out[1::2][: len(out[::2])]
        return out


class OtherParts(WatchedBench):
    """Leaves with seeds that do not belong to its remainder."""

    def work(self, task: Task) -> bytes:
        if isinstance(task, Split):
            task = replace(task, streams=tuple(map(other_stream, task.streams)))
        return super().work(task)


class OtherPass(WatchedBench):
    """Permutes the ciphertexts otherwise than the round's hiders agreed."""

    def _pass(self, task: Pass) -> Packed:
        return super()._pass(replace(task, permutations=tuple(map(other_stream, task.permutations))))


class NoZeros(WatchedBench):
    """Passes the ciphertexts on with its masks and without re-randomising."""

    def remask(self, ciphertexts: Packed, masks: U64, hop: int) -> Packed:
        ones = packed.pack([1] * len(masks), self.public.ciphertext_bytes)
        return self.public.remask(ciphertexts, masks, ones, hop=hop, rng=self._rng)


class OneZero(WatchedBench):
    """Uses one zero for all rows."""

    def remask(self, ciphertexts: Packed, masks: U64, hop: int) -> Packed:
        same = np.repeat(self.zeros.zeros(1), len(masks), axis=0)
        return self.public.remask(ciphertexts, masks, same, hop=hop, rng=self._rng)


ROOT_1 = "round 1, root: shuffler {} has rows that do not follow from those before"


@pytest.mark.parametrize("bench", [Replaces, Drops])
@pytest.mark.parametrize("who", [1, 2])
def test_a_hider_that_replaces_or_drops_rows_is_named_alone(
    key: PaillierPrivateKey, bench: type[WatchedBench], who: int
) -> None:
    assert_named(inspected(key, miscalculating(bench, who=who)), ROOT_1.format(who))


def test_replacing_few_rows_is_named_as_often_as_it_touches_a_dummy(key: PaillierPrivateKey) -> None:
    """Of 32 dummies among 142 rows a replaced third is missed with probability C(110, 47) / C(142, 47) < 10⁻⁶."""

    class Few(Replaces):
        share = 1 / 3

    assert_named(inspected(key, miscalculating(Few, who=2)), ROOT_1.format(2))


@pytest.mark.parametrize(("who", "round_"), [(3, 1), (2, 2)])
def test_a_leaver_whose_parts_do_not_add_up_is_named_alone(key: PaillierPrivateKey, who: int, round_: int) -> None:
    laid = inspected(key, miscalculating(OtherParts, who=who))
    assert_named(laid, f"round {round_}, piece: shuffler {who} gave away pieces that do not add up to what it had")


@pytest.mark.parametrize(("who", "round_"), [(1, 2), (2, 3)])
def test_a_holder_that_permutes_its_ciphertexts_otherwise_is_named_by_the_analyzer(
    key: PaillierPrivateKey, who: int, round_: int
) -> None:
    laid = inspected(key, miscalculating(OtherPass, who=who))
    finding = f"shuffler {who} has ciphertexts that do not hold what went in and what it added"
    assert_named(laid, f"round {round_}, cipher_root: {finding}", by_shufflers=False)


@pytest.mark.parametrize("bench", [NoZeros, OneZero])
@pytest.mark.parametrize(("who", "round_"), [(1, 2), (2, 3)])
def test_a_holder_that_does_not_rerandomise_is_named_though_every_dummy_came_out(
    key: PaillierPrivateKey, bench: type[WatchedBench], who: int, round_: int
) -> None:
    laid = inspected(key, miscalculating(bench, who=who))
    laid.assert_conserved()
    finding = f"round {round_}, cipher_root: shuffler {who} did not re-randomise its ciphertexts"
    assert_named(laid, finding, refused="result.shuffle_wrong")


def test_without_the_inspection_nobody_notices_a_holder_that_does_not_rerandomise(key: PaillierPrivateKey) -> None:
    laid = Laid(key, Randomness(SEEDS), nodes=miscalculating(NoZeros, who=1), mechanism=GRR(16, 4.0))
    laid.lay(laid.mechanism.randomize(np.arange(100) % 16, laid.rng))
    laid.shuffle()
    assert laid.publish(submitted=100).users == 100


def test_a_vector_delivered_otherwise_than_it_was_committed_to_names_its_deliverer(key: PaillierPrivateKey) -> None:
    class Delivers(Laid):
        def _collect(self, sender: int, messages: object) -> None:
            super()._collect(sender, messages)  # type: ignore[arg-type]  # passed on as it came
            if sender == 3:
                part = self.delivered[3]
                self.delivered[3] = replace(part, vector=part.vector[::-1].copy())

    laid = Delivers(key, Randomness(SEEDS), mechanism=GRR(16, 4.0))
    laid.lay(laid.mechanism.randomize(np.arange(100) % 16, laid.rng))
    laid.shuffle()
    laid.inspect()
    assert_named(
        laid, "round 3, delivery: shuffler 3 delivered other rows than it had committed to", by_shufflers=False
    )


# False statements about right work.

OTHER_PART = "round 1, piece: shuffler {} or shuffler {} misstated the piece that one gave the other"


def pointing(inspection: type[Inspection], *, who: int) -> type[WatchedNode]:
    """Nodes of which `who` works as it should and says something else of it."""

    class Placed(WatchedNode):
        def begin(self, frozen: Sequence[bytes], context: Context) -> None:
            self.inspection_type = inspection if self.number == who else Inspection
            super().begin(frozen, context)

    return Placed


class OtherPath(Inspection):
    """Says that the dummies went where others' rows are."""

    def followed(self, round_: int, places: tuple[int, ...]) -> list[Effect]:
        return super().followed(round_, tuple((place + 1) % self._case.rows for place in places))


@pytest.mark.parametrize("who", [1, 2])
def test_a_hider_that_points_at_other_rows_makes_nobody_open_them(key: PaillierPrivateKey, who: int) -> None:
    laid = inspected(key, pointing(OtherPath, who=who))
    dispute = "round 1, confirm: shuffler 1 or shuffler 2 did not permute as the others of the round did"
    assert names(laid) == {dispute}
    for number, opening in laid.openings.items():
        rounds = {place.round for place in opening.shown if place.what in (What.MIXED, What.PASSED, What.MASK)}
        assert not rounds, f"shuffler {number} opened rows of rounds {rounds} at places that are not agreed on"


@pytest.mark.parametrize(
    ("who", "place", "finding"),
    [
        (2, Slot(1, What.MIXED), "round 1, root: shuffler 2 opened other rows than it had committed to"),
        (
            2,
            Slot(1, What.TAKEN, 3),
            OTHER_PART.format(3, 2),
        ),
        (
            3,
            Slot(1, What.GIVEN, 1),
            OTHER_PART.format(3, 1),
        ),
        (2, Slot(1, What.MASK, 1), "round 1, root: shuffler 1 or shuffler 2 did not use the mask that the two share"),
        (1, Slot(2, What.PASSED), "round 2, cipher_root: shuffler 1 opened other rows than it had committed to"),
        (
            2,
            Slot(2, What.CAME, 1),
            "round 2, handover: shuffler 1 or shuffler 2 misstated the ciphertexts that one handed to the other",
        ),
    ],
)
def test_who_shows_what_was_not_is_among_the_named_and_no_honest_party_is_named_alone(
    key: PaillierPrivateKey, who: int, place: Slot, finding: str
) -> None:
    laid = inspected(key, WatchedNode)
    shown = laid.openings[who].shown
    rows = shown[place].rows.copy()
    rows[0, 0] ^= 1
    altered = replace(laid.openings[who], shown={**shown, place: replace(shown[place], rows=rows)})
    findings = judge(laid.opened, {**laid.openings, who: altered})
    assert finding in map(str, findings), findings
    for found in findings:
        assert who in found.parties, f"an honest party is accused: {found}"


def test_who_was_told_something_else_of_the_rows_places_opens_less_and_is_not_accused(key: PaillierPrivateKey) -> None:
    laid = inspected(key, WatchedNode)
    whole = laid.openings[2]
    part = {place: shown for place, shown in whole.shown.items() if place.round == 0}
    short = replace(whole, paths=whole.paths[:1], claim=whole.paths[1], shown=part)
    openings = {**laid.openings, 2: short}
    assert not judge(laid.opened, openings)
    assert unseen(laid, openings) == (2,)


def test_who_says_nothing_of_the_rows_places_is_one_whose_rows_were_not_seen(key: PaillierPrivateKey) -> None:
    """A holder that did not re-randomise has reason to: nothing that it did can be held against what it shows."""
    laid = inspected(key, miscalculating(NoZeros, who=1))
    openings = {**laid.openings, 1: Opening(1, (laid.opened.start,), revealed=laid.opened.revealed)}
    assert not judge(laid.opened, openings)
    assert unseen(laid, openings) == (1,)


def test_a_shuffler_that_was_started_anew_shows_nothing_and_is_not_accused(key: PaillierPrivateKey) -> None:
    laid = Laid(key, Randomness(SEEDS), mechanism=GRR(16, 4.0))
    laid.lay(laid.mechanism.randomize(np.arange(100) % 16, laid.rng))
    laid.shuffle()
    laid.nodes[1].machine._record = None
    laid.inspect()
    assert all(not found for found in laid.findings.values()), laid.findings
    assert [who for who, opening in laid.openings.items() if opening.nothing is Nothing.LOST] == [2]
    assert laid.not_seen == (2,)
    assert not [place for place in laid.openings[1].shown if place.round > 1], "round 1 cannot be followed without it"
    with raises("result.not_seen", "shuffler 2"):
        laid.publish(submitted=100)
    laid.unopened = {2}
    assert laid.publish(submitted=100).users == 100


@pytest.mark.parametrize("bench", [NoZeros, OneZero])
@pytest.mark.parametrize("who", [1, 2])
def test_a_holder_that_does_not_rerandomise_and_says_that_it_was_started_anew_publishes_nothing(
    key: PaillierPrivateKey, bench: type[WatchedBench], who: int
) -> None:
    laid = Laid(key, Randomness(SEEDS), nodes=miscalculating(bench, who=who), mechanism=GRR(16, 4.0))
    laid.lay(laid.mechanism.randomize(np.arange(100) % 16, laid.rng))
    laid.shuffle()
    laid.nodes[who - 1].machine._record = None  # its word, which cannot be checked
    laid.inspect()
    assert not any(laid.findings.values()), "nothing shows what it did"
    assert laid.not_seen == (who,)
    for named in (set[int](), {3}):
        laid.unopened = named
        with raises("result.not_seen", f"shuffler {who}"):
            laid.publish(submitted=100)
    laid.unopened = {who}
    assert laid.publish(submitted=100).users == 100, "the analyst has said so"
