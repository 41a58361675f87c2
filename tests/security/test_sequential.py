"""Attacks on the sequential shuffle: those that its own defences stop, and those that succeed (protocol.md §9).

PEOS is the answer to the second kind: skewed fakes are in tests/security/test_fakes.py, replaced rows in
tests/security/test_inspection.py.
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from peos.collection.submission import Part, bind
from peos.crypto.kdf import Context, StreamKey
from peos.crypto.onion import Layer, OnionKeys, OnionPrivateKey
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.base import Packed
from peos.errors import RemoteFault
from peos.ldp import GRR
from peos.protocols.sequential import SEQUENTIAL
from peos.shuffle.combine import without_dummies
from peos.shuffle.effects import CIPHERTEXTS, Peel
from peos.shuffle.fakes import fake_shares, wrapping
from peos.shuffle.relay import Line, Relay, peeled
from peos.simulate import Node, Simulation
from peos.wire.submissions import encode_part
from tests.raising import raises
from tests.security.verdict import of_flags, of_guesses, of_rate

pytestmark = pytest.mark.full  # `make security` runs it too

ALPHA = 1e-6
CONTEXT = Context(b"c" * 32, b"f" * 32)
PRIVATE = [OnionPrivateKey.generate(Randomness(bytes([number]) * 32)) for number in range(1, 5)]
KEYS = OnionKeys(tuple(one.point for one in PRIVATE))
SALT = StreamKey(b"\x05" * 32)


def wrapped(words: U64, rng: Randomness, first: int = 1) -> Packed:
    """Words as onions that come to shuffler `first`."""
    return KEYS.wrap(CONTEXT.collection, words.astype("<u8").view(np.uint8).reshape(-1, 8), rng, first=first)


def relay(kind: type[Relay], number: int, *, frozen: int, fakes: int = 0, wrap: Randomness | None = None) -> Relay:
    """A shuffler of three; `wrap` in place of the randomness under which its fakes must be wrapped."""
    line = Line(KEYS, CONTEXT, 8, frozen, fakes, least=1)
    found = kind(number, line, PRIVATE[number - 1])
    seed = bytes([number]) * 32
    own = fake_shares(seed, CONTEXT, line.own_fakes(number), 1)
    found.lay_out(np.empty((0, line.row_bytes(1)), np.uint8), own, wrap or wrapping(seed, CONTEXT))
    return found


def handed_on(shuffler: Relay, came: Packed, attempt: int = 1) -> Packed:
    """What a shuffler hands on."""
    out = f"{attempt}/pass/1"
    shuffler.vectors[CIPHERTEXTS] = came
    shuffler.work(Peel(1, CIPHERTEXTS, StreamKey(bytes([attempt]) * 32), SALT, out))
    return shuffler.vectors[out]


# Who sent what. Who: the analyzer and two of three shufflers, who follow each row up to the third and again from it on.

ROWS = 1_500


class Straight(Relay):
    """Does not permute."""

    def work(self, task: Any) -> bytes:
        """Hand on in the order that came."""
        self.vectors[task.out] = self._peeled(self.vectors[task.source])
        return b""


def guessed(kind: type[Relay], rng: Randomness) -> dict[str, int]:
    """How many users' words are guessed rightly, by ways of matching what went into a shuffler with what came out."""
    words = rng.uint64((ROWS, 1))
    came = wrapped(words, rng, first=2)
    out, _ = peeled(handed_on(relay(kind, 2, frozen=ROWS), came), Layer(PRIVATE[2], CONTEXT.collection, 3).under)
    final, _ = peeled(out, Layer(PRIVATE[3], CONTEXT.collection, 4).under)
    read = final.copy().view("<u8")[:, 0]

    def by(before: NDArray[np.intp], after: NDArray[np.intp]) -> int:
        return int(np.sum(words[before, 0] == read[after]))

    ranks = [np.lexsort(rows[:, :33].T) for rows in (came, out)]
    return {"position": by(np.arange(ROWS), np.arange(ROWS)), "rank of the point": by(*ranks)}


def test_one_honest_shuffler_hides_who_sent_what(rng: Randomness) -> None:
    for way, hits in guessed(Relay, rng).items():
        of_guesses(f"sequential shuffle, {way}", hits, ROWS, choices=ROWS).assert_fails()


def test_a_shuffler_that_does_not_permute_hides_nobody(rng: Randomness) -> None:
    hits = guessed(Straight, rng)["position"]
    of_guesses("sequential shuffle without a permutation", hits, ROWS, choices=ROWS).assert_succeeds()


# Copies. Who: shuffler 1, which follows the protocol but tells what it sees; users who then send a victim's onion
# again; the analyzer, who looks for the word that came out most often, and shuffler 3, who helps it. 2 is honest.

COPIES, OTHERS, TRIED, VICTIMS = 3, 20, 500, 20


class WithCopies(Relay):
    """Keeps what came twice."""

    def _peeled(self, came: Packed) -> Packed:
        return np.concatenate((with_copies(came, self._layer), self._fakes))


def with_copies(came: Packed, layer: Layer) -> Packed:
    """A layer of each row removed, however often it is there."""
    rows = layer.under(came)
    return rows[rows[:, 0] == 1, 1:]


def most_frequent(kind: type[Relay], victim: int, rng: Randomness) -> bool:
    """Whether the word that comes out most often is the victim's; ties are broken by chance."""
    words = rng.uint64((OTHERS, 1))
    onions = wrapped(words, rng, first=2)
    rows = np.concatenate((onions, np.repeat(onions[[victim]], COPIES, axis=0)))
    honest = relay(kind, 2, frozen=len(rows))
    rows = handed_on(honest, rows)
    for layer in (3, 4):
        rows = with_copies(rows, Layer(PRIVATE[layer - 1], CONTEXT.collection, layer))
    last = rows.view("<u8")[:, 0]
    found, counts = np.unique(last, return_counts=True)
    likeliest = found[counts == counts.max()]
    return bool(likeliest[rng.integer_below(len(likeliest))] == words[victim, 0])


def test_a_copied_onion_does_not_show_its_report(rng: Randomness) -> None:
    hits = sum(most_frequent(Relay, trial % OTHERS, rng) for trial in range(TRIED))
    of_guesses("copied onions", hits, TRIED, choices=OTHERS).assert_fails()


def test_without_looking_for_copies_a_copied_onion_shows_its_report(rng: Randomness) -> None:
    hits = sum(most_frequent(WithCopies, victim, rng) for victim in range(VICTIMS))
    of_guesses("copied onions, copies kept", hits, VICTIMS, choices=OTHERS).assert_succeeds()


# Fakes told from reports by a shuffler that sees two attempts of the one before it.

REPORTS, FAKES = 100, 300


def flagged(rng: Randomness, *, fresh: bool) -> tuple[int, int]:
    """(fakes, reports) that are new in the second attempt: shuffler 1's 100 fakes, and 100 users' reports."""
    onions = wrapped(rng.uint64((REPORTS, 1)), rng)
    outs = []
    for attempt in (1, 2):
        wrap = Randomness(bytes([attempt]) * 32) if fresh else None
        outs.append(handed_on(relay(Relay, 1, frozen=REPORTS, fakes=FAKES, wrap=wrap), onions, attempt))
    reports = {PRIVATE[0].open(CONTEXT.collection, 1, onion.tobytes()) for onion in onions}
    new = {row.tobytes() for row in outs[1]} - {row.tobytes() for row in outs[0]}
    return len(new - reports), len(new & reports)


def test_a_second_attempt_does_not_tell_fakes_from_reports(rng: Randomness) -> None:
    fakes, reports = flagged(rng, fresh=False)
    of_flags("new in the second attempt", fakes, FAKES // 3, reports, REPORTS)
    assert (fakes, reports) == (0, 0)


def test_fakes_that_are_wrapped_anew_are_told_by_a_second_attempt(rng: Randomness) -> None:
    fakes, reports = flagged(rng, fresh=True)
    of_flags("new in the second attempt, wrapped anew", fakes, FAKES // 3, reports, REPORTS).assert_succeeds()


# Replaced rows. Who: shuffler 2. That succeeds; the dummies notice it with the probability that is claimed.

DUMMIES, TRIALS, SHARE = 32, 250, 0.0215


def replaced(out: Packed, words: U64, share: float, rng: Randomness) -> Packed:
    """Each row is the shuffler's own with probability `share`, and tells the word that it wants."""
    chosen = np.flatnonzero(rng.uint64(len(out)) < np.uint64(int(share * 2**64)))
    rows = out.copy()
    rows[chosen] = wrapped(words[rng.below(np.full(len(chosen), len(words), np.uint64))], rng, first=3)
    return rows


def test_dummies_notice_replaced_rows_as_often_as_predicted(rng: Randomness) -> None:
    """Rows are replaced with probability 0.0215 each: 32 dummies are predicted to miss it with 0.9785^32 = 0.499."""
    users, dummies = rng.uint64((16, 1)), rng.uint64((DUMMIES, 1))
    first = handed_on(relay(Relay, 1, frozen=48), wrapped(np.concatenate((users, dummies)), rng))
    second = handed_on(relay(Relay, 2, frozen=48), first)
    noticed = 0
    for _ in range(TRIALS):
        third = handed_on(relay(Relay, 3, frozen=48), replaced(second, np.array([[7]], np.uint64), SHARE, rng))
        rows, _ = peeled(third, Layer(PRIVATE[3], CONTEXT.collection, 4).under)
        try:
            without_dummies(rows.copy().view("<u8").astype(np.uint64), dummies)
        except RemoteFault:
            noticed += 1
    predicted = 1 - (1 - SHARE) ** DUMMIES
    bound = float(norm.isf(ALPHA / 2)) * (predicted * (1 - predicted) / TRIALS) ** 0.5
    assert abs(noticed / TRIALS - predicted) < bound, (
        f"noticed {noticed} of {TRIALS}, predicted {predicted:.3f} ± {bound:.3f} at alpha {ALPHA}"
    )


PROMOTED, DOMAIN, USERS = 5, 16, 400


class Replacing(Relay):
    """Replaces a third of the reports that come to shuffler 2 by reports of one value."""

    def _peeled(self, came: Packed) -> Packed:
        rows = super()._peeled(came)
        if self._number != 2:
            return rows
        keys, rng = self.line.keys, Randomness(b"\x11" * 32)
        word = np.full((len(came) // 3, 1), PROMOTED * 2**60 + 2**59, "<u8").view(np.uint8)
        rows[: len(word)] = keys.wrap(self.line.context.collection, word, rng, first=3)
        return rows


class ReplacingNode(Node):
    """A shuffler that does."""

    relay_type = Replacing


class Replaced(Simulation):
    """A collection with one."""

    protocol = SEQUENTIAL
    node_type = ReplacingNode


class Unchecked(Replaced):
    """The same, published without looking for the dummies."""

    def publish(self, *, submitted: int) -> Any:  # noqa: ARG002 - the parent's
        """Estimate from all that came out, dummies of the analyzer's own taken for users."""
        reports = self.decrypted()
        return self.mechanism.estimate(
            self.mechanism.tally(reports), users=len(reports) - self.document.fakes, fakes=self.document.fakes
        )


def test_replaced_rows_are_not_published_and_nobody_is_named(rng: Randomness) -> None:
    with raises("result.dummies_lost") as caught:
        Replaced(GRR(DOMAIN, 4.0), rng=rng).run(np.zeros(USERS, np.int64))
    assert "shuffler" not in str(caught.value).replace("shuffle;", "")


def test_without_the_dummies_replaced_rows_would_be_published(rng: Randomness) -> None:
    estimate: Any = Unchecked(GRR(DOMAIN, 4.0), rng=rng).run(np.zeros(USERS, np.int64))
    excess, stderr = float(estimate.frequency[PROMOTED]), float(estimate.stderr[PROMOTED])
    assert excess > 0.2 > 5 * stderr, f"promoted by {excess:+.3f} ± {stderr:.3f} of {USERS} users, none of whom said so"


# Onions of one collection in another. Who: shuffler 1 of the first, and users with tickets of the second.


def test_an_onion_is_bound_to_its_collection(rng: Randomness) -> None:
    here, there = (Simulation(GRR(8, 3.0), protocol=SEQUENTIAL, fakes=3, rng=rng) for _ in range(2))
    words = np.arange(50, 60, dtype=np.uint64).reshape(-1, 1)
    stolen = here.parts_of(words, [rng.bytes(16) for _ in words])
    sent = [part for parts in stolen for part in again(there, parts, rng)]
    for part in sent:
        there.nodes[part.shuffler - 1].submit(encode_part(part))
    there.submit(rng.uint64((5, 1)))
    there.freeze()
    there.shuffle()
    out = there.publish(submitted=5).reports[:, 0]
    hits = int(np.isin(words[:, 0], out).sum())
    of_rate("onions of another collection", hits, 10, "came out")
    assert (hits, len(out)) == (0, 5 + 3)


def again(simulation: Simulation, parts: tuple[Part, ...], rng: Randomness) -> tuple[Part, ...]:
    """The same shares under a ticket of another collection."""
    return bind(simulation.digest, simulation.ticket(rng.bytes(16)), tuple(part.share for part in parts), rng)
