"""One shuffler goes out of step with the others: what notices, and what comes out if nothing does.

Who: one shuffler, by fault or on purpose. Since every bit pattern is a valid report, an output in which rows and
masks do not fit together looks like a flat histogram, and no arithmetic fails.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from peos.crypto.kdf import StreamKey
from peos.crypto.randomness import Randomness
from peos.crypto.schemes.base import Packed
from peos.crypto.schemes.paillier import PaillierPrivateKey
from peos.ldp import GRR
from peos.shuffle import agreement
from peos.shuffle.attempt import Attempt
from peos.shuffle.delivery_state import Phase
from peos.shuffle.effects import CIPHERTEXTS, SHARES, Effect, Pass, Send, SendVector, Split, Task, TimedOut
from peos.shuffle.messages import Kind, Statement, Step
from peos.shuffle.schedule import HandOver, Leave
from tests.raising import raises
from tests.security.deviants import deviating, miscalculating
from tests.security.laid import Laid, WatchedBench, WatchedNode
from tests.security.verdict import of_rate

pytestmark = pytest.mark.full  # `make security` runs it too

ALPHA = 1e-6
REPORTS = 2_000
# Two independent permutations agree in a number of rows that is Poisson(1): more than 13 with probability 5e-12.
A_HANDFUL = 13


def laid_out(key: PaillierPrivateKey, nodes: type[WatchedNode], *, shufflers: int = 3, reports: int = 200) -> Laid:
    """A collection in which everybody's value is 0."""
    laid = Laid(key, Randomness(b"\x02" * 32), nodes=nodes, shufflers=shufflers, mechanism=GRR(16, 4.0))
    laid.lay(laid.mechanism.randomize(np.zeros(reports, dtype=np.int64), laid.rng))
    return laid


def shuffled(key: PaillierPrivateKey, nodes: type[WatchedNode], *, shufflers: int = 3, reports: int = 200) -> Laid:
    """The same, shuffled."""
    laid = laid_out(key, nodes, shufflers=shufflers, reports=reports)
    laid.shuffle()
    return laid


def survivors(laid: Laid) -> int:
    """How many of the reports came out."""
    return len(np.intersect1d(laid.reports, laid.combined()))


def assert_second_attempt_conserves(laid: Laid) -> None:
    """Nothing of attempt 1 was output; attempt 2, in which no party deviates, brought out every word once."""
    assert {part.context.attempt for part in laid.delivered.values()} == {2}, "something of attempt 1 was output"
    laid.assert_conserved()


def assert_reported(laid: Laid, sentence: str) -> None:
    """Some shuffler reported it to its operator."""
    found = {report for node in laid.nodes for report in node.reports}
    assert sentence in found, f"not among the reports: {found}"


# Another seed.


class OtherSeed(Attempt):
    """In attempt 1 takes round 1's seed to be another than the contributions give, and does not know it."""

    def _confirmation(self, secret: bytes) -> bytes:
        if self.context.attempt == 1 and self._round is not None and secret == self._round.seed:
            self._round.seed = secret = hashlib.sha256(secret).digest()
        return super()._confirmation(secret)


class Unconfirming(Attempt):
    """Tells all the same word, so that comparing confirmations shows nothing."""

    def _confirmation(self, secret: bytes) -> bytes:
        return bytes(len(super()._confirmation(secret)))


class OtherPermutation(Unconfirming):
    """Permutes by another seed in round 1, though it masks by the right one."""

    def _round_key(self, purpose: str, round_: int, secret: bytes, low: int = 0, high: int = 0) -> StreamKey:
        wrong = purpose == "permutation" and round_ == 1
        return super()._round_key(purpose, round_, hashlib.sha256(secret).digest() if wrong else secret, low, high)


class Liar(OtherPermutation):
    """Permutes by another seed and confirms the right one."""

    def _confirmation(self, secret: bytes) -> bytes:
        return Attempt._confirmation(self, secret)


@pytest.mark.parametrize("who", [1, 2])
def test_a_hider_with_another_seed_is_named_with_its_step_before_anything_is_output(
    key: PaillierPrivateKey, who: int
) -> None:
    laid = shuffled(key, deviating(OtherSeed, who=who))
    assert_reported(laid, f"shuffler {who}, round 1, confirm: confirmed another seed")
    assert_second_attempt_conserves(laid)


def test_without_confirmation_the_dummies_alone_notice_another_seed(key: PaillierPrivateKey) -> None:
    laid = shuffled(key, deviating(OtherPermutation, who=2, rest=Unconfirming))
    assert all(not node.reports and node.delivery_state.phase is Phase.DONE for node in laid.nodes)
    assert survivors(laid) <= A_HANDFUL
    with raises("result.dummies_lost"):
        laid.publish(submitted=REPORTS)


@pytest.mark.full
def test_without_confirmation_and_dummies_a_handful_of_reports_survives_in_a_flat_histogram_and_no_error(
    key: PaillierPrivateKey,
) -> None:
    honest = shuffled(key, WatchedNode, reports=REPORTS)
    broken = shuffled(key, deviating(OtherPermutation, who=2, rest=Unconfirming), reports=REPORTS)
    limit = float(chi2.isf(ALPHA, honest.mechanism.domain - 1))
    assert flatness(honest) > limit, "everybody's value is 0: the true histogram is anything but flat"
    found = flatness(broken)
    assert found < limit, f"chi² {found:.1f}, at alpha {ALPHA} under {limit:.1f} if flat, n {REPORTS}"
    assert all(not node.reports for node in broken.nodes), "it went unnoticed"
    alive = survivors(broken)
    assert alive <= A_HANDFUL, f"{alive} of {REPORTS} reports survived"
    of_rate("another seed, no defence", REPORTS - alive, REPORTS, "reports destroyed unnoticed").assert_succeeds()


def test_a_hider_that_confirms_one_seed_and_permutes_by_another_is_caught_by_the_dummies(
    key: PaillierPrivateKey,
) -> None:
    laid = shuffled(key, deviating(Liar, who=2))
    with raises("result.dummies_lost"):
        laid.publish(submitted=len(laid.reports))


def flatness(laid: Laid) -> float:
    """χ² of the histogram that an analyzer publishes who looks for no dummies."""
    counts = laid.mechanism.tally(laid.combined())
    return float(np.sum((counts - counts.mean()) ** 2) / counts.mean())


# Different things to different parties, or twice to one.


class TwoFaced(Attempt):
    """In round 1 of attempt 1 commits to, and reveals, another contribution to shuffler 3."""

    def _once(self, round_: int, kind: Kind, receivers: Iterable[int], body: bytes) -> list[Effect]:
        effects = super()._once(round_, kind, receivers, body)
        if round_ != 1 or self.context.attempt != 1:
            return effects
        other = bytes(32)
        told = agreement.commitment(self.context, round_, self._me, other) if kind is Kind.COMMIT else other
        return [
            Send(Statement(effect.statement.header, told))
            if isinstance(effect, Send) and effect.statement.header.receiver == 3
            else effect
            for effect in effects
        ]


class TwoRoots(Attempt):
    """In attempt 1 tells the other shufflers different roots of round 1."""

    def _say(self, step: Step, body: bytes) -> list[Effect]:
        effects = super()._say(step, body)
        if step != Step(1, Kind.ROOT) or self.context.attempt != 1:
            return effects
        return [
            Send(Statement(effect.statement.header, bytes([effect.statement.header.receiver] * 32)))
            if isinstance(effect, Send)
            else effect
            for effect in effects
        ]


class TwoWords(Attempt):
    """In attempt 1 commits in round 1 twice, to different contributions."""

    def _once(self, round_: int, kind: Kind, receivers: Iterable[int], body: bytes) -> list[Effect]:
        effects = super()._once(round_, kind, receivers, body)
        if (round_, kind, self.context.attempt) == (1, Kind.COMMIT, 1):
            effects += [Send(Statement(sent.statement.header, bytes(32))) for sent in effects if isinstance(sent, Send)]
        return effects


class TwoVectors(Attempt):
    """In attempt 1 sends another vector after each one that it sends to a shuffler."""

    def _left(self, leave: Leave) -> list[Effect]:
        return self._twice(super()._left(leave), SHARES)

    def _passed(self, over: HandOver, root: bytes) -> list[Effect]:
        return self._twice(super()._passed(over, root), CIPHERTEXTS)

    def _twice(self, effects: list[Effect], other: str) -> list[Effect]:
        again = [SendVector(sent.header, other) for sent in effects if isinstance(sent, SendVector)]
        return [*effects, *again] if self.context.attempt == 1 else effects


class Repeating(TwoVectors):
    """Sends each vector twice, the same bytes."""

    def _twice(self, effects: list[Effect], other: str) -> list[Effect]:  # noqa: ARG002  # the parent's
        return [*effects, *(sent for sent in effects if isinstance(sent, SendVector))]


def test_two_contributions_to_two_hiders_of_a_round_end_the_attempt_at_its_confirmation(
    key: PaillierPrivateKey,
) -> None:
    laid = shuffled(key, deviating(TwoFaced, who=1), shufflers=5)
    # Shuffler 2 cannot know which of the others was lied to; shuffler 3, whose seed differs from both, names the liar.
    assert_reported(laid, "shuffler 1, round 1, confirm: confirmed another seed")
    assert_second_attempt_conserves(laid)


def test_two_roots_for_one_round_give_two_transcripts_and_no_output(key: PaillierPrivateKey) -> None:
    assert_second_attempt_conserves(shuffled(key, deviating(TwoRoots, who=1)))


def test_two_words_for_one_step_end_the_attempt_and_name_their_sender(key: PaillierPrivateKey) -> None:
    laid = shuffled(key, deviating(TwoWords, who=2))
    assert_reported(laid, "shuffler 2, round 1, commit: sent two different statements for one step")
    assert_second_attempt_conserves(laid)


@pytest.mark.parametrize(("who", "receiver", "step"), [(2, 3, "round 2, piece"), (1, 2, "round 2, handover")])
def test_two_vectors_for_one_step_are_refused_and_name_their_sender(
    key: PaillierPrivateKey, who: int, receiver: int, step: str
) -> None:
    laid = laid_out(key, deviating(TwoVectors, who=who))
    with raises("shuffle.two_vectors", f"shuffler {who}, {step}"):
        laid.shuffle()
    assert not laid.delivered
    laid.feed(laid.nodes[receiver - 1], TimedOut())
    laid.shuffle()
    assert_second_attempt_conserves(laid)


@pytest.mark.parametrize("who", [1, 2, 3])
def test_the_same_vector_sent_again_changes_nothing(key: PaillierPrivateKey, who: int) -> None:
    laid = shuffled(key, deviating(Repeating, who=who))
    assert {part.context.attempt for part in laid.delivered.values()} == {1}
    laid.assert_conserved()


# Wrong work, of which the others hear nothing.


class WrongRemainder(WatchedBench):
    """Leaves with seeds that do not belong to its remainder, as after a restart between the two."""

    def work(self, task: Task) -> bytes:
        if isinstance(task, Split):
            task = replace(task, streams=tuple(map(other_stream, task.streams)))
        return super().work(task)


class OtherPass(WatchedBench):
    """Permutes the ciphertexts otherwise than the round's hiders agreed."""

    def _pass(self, task: Pass) -> Packed:
        return super()._pass(replace(task, permutations=tuple(map(other_stream, task.permutations))))


def other_stream(key: StreamKey) -> StreamKey:
    """A stream that is not the one meant."""
    return StreamKey(hashlib.sha256(key.secret).digest())


@pytest.mark.parametrize(("bench", "who"), [(WrongRemainder, 3), (WrongRemainder, 2), (OtherPass, 1), (OtherPass, 2)])
def test_a_wrong_remainder_and_a_holder_with_another_permutation_are_caught_by_the_dummies(
    key: PaillierPrivateKey, bench: type[WatchedBench], who: int
) -> None:
    laid = shuffled(key, miscalculating(bench, who=who))
    assert survivors(laid) <= A_HANDFUL
    with raises("result.dummies_lost"):
        laid.publish(submitted=len(laid.reports))
