"""A whole collection in memory: nothing is lost or doubled, and what it costs is what protocol.md says."""

import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from peos.estimate.bits import BitFrequencies
from peos.ldp import (
    BLH,
    GRR,
    OLH,
    OUE,
    RAPPOR,
    SUE,
    THE,
    UE,
    HadamardResponse,
    LocalHash,
    Mechanism,
    Question,
    RandomMatrixProjection,
    SubsetSelection,
)
from peos.ldp.grouped_hash import GroupedHash
from peos.ldp.grouped_tables import GroupedTables
from peos.shuffle.delivery_state import Phase
from peos.shuffle.messages import Kind
from peos.shuffle.schedule import Schedule
from peos.simulate import ANALYZER, Collected, Simulation, run_collection
from peos.tasks.cell_views import Axis, LevelView
from peos.tasks.schema import Attribute
from peos.tasks.text_views import PrefixView
from peos.tasks.views import View
from tests.full import full, many
from tests.keys import small_key
from tests.raising import raises


def collected(simulation: Simulation, words: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]) -> Collected:
    """Run a collection of reports that are given, not drawn."""
    simulation.submit(words)
    simulation.freeze()
    simulation.shuffle()
    return simulation.publish(submitted=len(words))


PREFIXES = PrefixView(0, 8, 16), PrefixView(8, 16, 16)
NUMBERS = tuple(LevelView((Axis(Attribute(name, (), 0, most)),)) for name, most in (("a", 3), ("b", 59)))


@pytest.mark.parametrize(
    ("mechanism", "views", "shufflers"),
    [
        *((GRR(64, 4.0), (), many) for many in (3, 4, 5, 7)),
        full(GroupedHash([1, 2], 4.0, 16), PREFIXES, 3),
        full(GroupedTables([4, 60], 4.0), NUMBERS, 3),
    ],
)
def test_every_report_comes_out_exactly_once(
    mechanism: Mechanism, views: tuple[View, ...], shufflers: int, rng: Randomness
) -> None:
    described = tuple(view.describe() for view in views)
    simulation = Simulation(mechanism, shufflers=shufflers, fakes=7, views=described, key=small_key(), rng=rng)
    words = np.arange(1000, 1040, dtype=np.uint64).reshape(-1, 1)
    result = collected(simulation, words)
    out = result.reports[:, 0]
    assert sorted(out[np.isin(out, words[:, 0])].tolist()) == words[:, 0].tolist()
    assert len(out) == len(words) + 7
    assert (result.users, result.dropped, result.fakes) == (40, 0, 7)


@pytest.mark.parametrize("shufflers", [3, 5])
def test_rows_of_several_words_stay_together(shufflers: int, rng: Randomness) -> None:
    mechanism = SUE(100, 4.0)
    assert mechanism.words > 1
    simulation = Simulation(mechanism, shufflers=shufflers, fakes=3, key=small_key(), rng=rng)
    words = np.arange(30 * mechanism.words, dtype=np.uint64).reshape(30, -1)
    rows = {tuple(row) for row in collected(simulation, words).reports.tolist()}
    assert {tuple(row) for row in words.tolist()} <= rows


@pytest.mark.parametrize("shufflers", [3, 4, 5, 7])
def test_rounds_passes_vectors_and_bytes(shufflers: int, rng: Randomness) -> None:
    """Counted, not timed: passes over ciphertexts, explicit vectors, and bytes that rows explain."""
    users, fakes = 150, 50
    key = small_key()
    simulation = Simulation(GRR(8, 3.0), shufflers=shufflers, fakes=fakes, key=key, rng=rng)
    simulation.submit(simulation.mechanism.randomize(np.zeros(users, np.int64), rng))
    simulation.freeze()
    before = simulation.traffic.sent.total()
    messages_before = simulation.traffic.messages.total()
    simulation.shuffle()
    result = simulation.publish(submitted=users)

    schedule = Schedule(shufflers)
    rows = users + fakes + len(simulation.dummies)
    passes = schedule.shufflers - schedule.threshold + 1
    assert result.rounds == {3: 3, 4: 4, 5: 10, 7: 35}[shufflers]
    assert result.passes == passes == {3: 2, 4: 2, 5: 3, 7: 4}[shufflers]
    vectors = result.traffic.vectors
    assert vectors[Kind.HANDOVER] == passes - 1
    plain = vectors[Kind.PIECE] + vectors[Kind.DELIVERY] - 1
    assert plain == schedule.explicit_vectors == {3: 3, 4: 5, 5: 13, 7: 48}[shufflers]

    sent = simulation.traffic.sent.total() - before
    payload = rows * (passes * key.public.ciphertext_bytes + plain * 8)
    # Everything else is words of a fixed size: what a round says does not grow with the number of reports.
    words = simulation.traffic.messages.total() - messages_before
    assert payload < sent < payload + 400 * words
    hiders, others = schedule.threshold, shufflers - 1
    said = len(schedule.rounds) * hiders * (2 * (hiders - 1) + 2 * others) + passes * others
    assert words < said + 20 * shufflers**2 + 4 * sum(vectors.values()) + schedule.explicit_vectors * shufflers


def test_everything_is_erased_once_the_analyzer_has_it(rng: Randomness) -> None:
    simulation = Simulation(GRR(8, 3.0), key=small_key(), rng=rng)
    simulation.run([1, 2, 3])
    for node in simulation.nodes:
        assert node.delivery_state.phase is Phase.DONE
        assert not node.parts
        assert not node.bench.vectors
        assert node.durable is None


@pytest.mark.parametrize(
    "mechanism",
    [
        *(full(GRR(12, 3.0)), LocalHash(40, 3.0, d_prime=8), full(LocalHash(40, 3.0, d_prime=11)), full(SUE(20, 4.0))),
        *(full(HadamardResponse(40, 3.0)), full(SubsetSelection(40, 3.0)), full(OUE(20, 3.0)), full(OLH(20, 3.0))),
        *(full(BLH(20, 3.0)), full(THE(20, 3.0)), full(UE(20, 3.0, share=0.4)), full(RandomMatrixProjection(20, 3.0))),
    ],
    ids=repr,
)
def test_estimates_are_right_within_their_error_bars(mechanism: Mechanism, rng: Randomness) -> None:
    """And the mechanism's own of the same words, bit for bit."""
    users, fakes = many(1000, 3000), 400
    values = rng.below(np.full(users, 5, np.uint64)).astype(np.int64)
    simulation = Simulation(mechanism, fakes=fakes, key=small_key(), rng=rng)
    result = simulation.run(values)
    own = simulation.mechanism.estimate(simulation.mechanism.tally(result.reports), users=users, fakes=fakes)
    assert np.array_equal(result.estimate.frequency, own.frequency)
    truth = np.bincount(values, minlength=mechanism.domain) / users
    off = np.abs(result.estimate.frequency - truth) / result.estimate.stderr
    # α = 1e-6 over at most 40 values and 12 mechanisms, Bonferroni: z = 6.4 (scipy: norm.isf(0.5e-6 / 480) = 6.0).
    assert off.max() < 6.4, f"largest |estimate − truth| / stderr = {off.max():.2f} of {mechanism.domain} values"


@pytest.mark.full
def test_bits_of_filters_are_right_within_their_error_bars(rng: Randomness) -> None:
    users, fakes = 1500, 200
    values = rng.below(np.full(users, 5, np.uint64)).astype(np.int64)
    mechanism = RAPPOR(20, 4.0, bits=24, cohorts=4)
    result = run_collection(values, mechanism=mechanism, fakes=fakes, key=small_key(), rng=rng)
    own = mechanism.estimate(mechanism.tally(result.reports), users=users, fakes=fakes)
    assert isinstance(own, BitFrequencies)
    assert np.array_equal(result.estimate.frequency, own.frequency)
    expected = mechanism.design.matrix @ (np.bincount(values, minlength=20) / users)
    off = np.abs(own.bits.reshape(-1) - expected) / np.sqrt(own.bit_variance.reshape(-1))
    assert off.max() < 6.4, f"largest |estimate − truth| / stderr = {off.max():.2f} of 96 bits"
    claims = result.guarantees
    assert (claims.server.theorem, claims.server.exact, claims.users.theorem, claims.users.exact) == (None,) * 4
    assert claims.local == mechanism.epsilon_local
    assert all("more than two levels" in sentence for sentence in claims.in_words()[:2])


def test_the_guarantee_is_for_what_was_realised(rng: Randomness) -> None:
    result = run_collection(np.zeros(500, np.int64), mechanism=GRR(4, 2.0), fakes=2000, key=small_key(), rng=rng)
    assert result.guarantees.users.theorem is not None
    assert result.guarantees.local == GRR(4, 2.0).epsilon_local


def test_a_full_size_key_is_made_unless_one_is_given(rng: Randomness) -> None:
    simulation = Simulation(GRR(4, 2.0), rng=rng)
    assert simulation.key.public.bits == simulation.floor == 3072


def test_the_collection_salts_its_mechanism(rng: Randomness) -> None:
    mechanism = LocalHash(40, 3.0, d_prime=8, question=Question(question="which one?", epoch="2026-11"))
    simulation = Simulation(mechanism, key=small_key(), rng=rng)
    assert simulation.mechanism.digest != mechanism.digest
    assert simulation.mechanism.question.analyzer == simulation.analyzer.public


def test_below_the_minimum_nothing_is_shuffled(rng: Randomness) -> None:
    simulation = Simulation(GRR(4, 2.0), minimum=10, key=small_key(), rng=rng)
    with raises("freeze.minimum", "9", "10"):
        simulation.run([0] * 9)
    assert simulation.traffic.sent[ANALYZER] == 0


def test_values_outside_the_domain_are_refused_before_anything_is_sent(rng: Randomness) -> None:
    simulation = Simulation(GRR(4, 2.0), key=small_key(), rng=rng)
    with raises("mechanism.domain"):
        simulation.run([0, 4])
    assert not simulation.traffic.sent
