"""A whole sequential shuffle in memory: nothing is lost or doubled, and what it costs is what protocol.md §9 says."""

from functools import partial

import numpy as np
import pytest

from peos.collection.submission import bind
from peos.crypto.randomness import U64, Randomness
from peos.ldp import GRR, SUE, LocalHash, Mechanism
from peos.privacy.sequential import SequentialGuarantees
from peos.protocols.sequential import SEQUENTIAL, OnionEncryption
from peos.shuffle.delivery_state import Phase
from peos.shuffle.messages import Kind
from peos.shuffle.relay import PRESENT
from peos.simulate import Simulation, run_collection
from peos.wire.submissions import encode_part
from tests.full import full
from tests.raising import raises

sequential = partial(Simulation, protocol=SEQUENTIAL)


def shuffled(simulation: Simulation, words: U64) -> U64:
    """The words that come out, fakes among them."""
    simulation.submit(words)
    simulation.freeze()
    simulation.shuffle()
    return simulation.publish(submitted=len(words)).reports


@pytest.mark.parametrize("shufflers", [3, 4, 5, 7])
def test_every_report_and_every_fake_comes_out_exactly_once(shufflers: int, rng: Randomness) -> None:
    simulation = sequential(GRR(64, 4.0), shufflers=shufflers, fakes=10, rng=rng)
    words = np.arange(1000, 1040, dtype=np.uint64).reshape(-1, 1)
    out = shuffled(simulation, words)
    fakes = np.concatenate([node.fake_shares(node.fake_seed) for node in simulation.nodes])
    assert sorted(out[:, 0].tolist()) == sorted([*words[:, 0].tolist(), *fakes[:, 0].tolist()])
    assert len(fakes) == 10


def test_rows_of_several_words_stay_together(rng: Randomness) -> None:
    mechanism = SUE(100, 4.0)
    simulation = sequential(mechanism, fakes=3, rng=rng)
    words = np.arange(30 * mechanism.words, dtype=np.uint64).reshape(30, -1)
    rows = {tuple(row) for row in shuffled(simulation, words).tolist()}
    assert {tuple(row) for row in words.tolist()} <= rows


@pytest.mark.parametrize("shufflers", [3, 7])
def test_passes_vectors_and_bytes(shufflers: int, rng: Randomness) -> None:
    users, fakes = 60, 3 * shufflers
    simulation = sequential(GRR(8, 3.0), shufflers=shufflers, fakes=fakes, rng=rng)
    simulation.submit(simulation.mechanism.randomize(np.zeros(users, np.int64), rng))
    onion = next(iter(simulation.nodes[0].parts.values())).share
    assert len(onion) == 8 + 49 * (shufflers + 1)  # thesis §9.6.4: 32 + 96(r + 1), with ElGamal and padding
    simulation.freeze()
    before, said = simulation.traffic.sent.total(), simulation.traffic.messages.total()
    simulation.shuffle()
    result = simulation.publish(submitted=users)
    assert (result.rounds, result.passes) == (shufflers, shufflers)
    assert result.traffic.vectors == {Kind.HANDOVER: shufflers - 1, Kind.DELIVERY: 1}
    reports = users + len(simulation.dummies)
    payload = sum((reports + 3 * who) * (8 + 49 * (shufflers + 1 - who)) for who in range(1, shufflers + 1))
    sent, messages = simulation.traffic.sent.total() - before, simulation.traffic.messages.total() - said
    assert payload < sent < payload + 400 * messages


def test_everything_is_erased_once_the_analyzer_has_it(rng: Randomness) -> None:
    simulation = sequential(GRR(8, 3.0), fakes=6, rng=rng)
    simulation.run([1, 2, 3])
    for node in simulation.nodes:
        assert node.delivery_state.phase is Phase.DONE
        assert not node.parts
        assert not node.bench.vectors
        assert node.machine.record is None
        assert node.durable is None


@pytest.mark.parametrize("mechanism", [GRR(12, 3.0), full(LocalHash(40, 3.0, d_prime=8))], ids=["grr", "solh"])
def test_estimates_are_right_within_their_error_bars(mechanism: Mechanism, rng: Randomness) -> None:
    users, fakes = 800, 300
    values = rng.below(np.full(users, 5, np.uint64)).astype(np.int64)
    result = run_collection(values, mechanism=mechanism, fakes=fakes, protocol="ss", rng=rng)
    truth = np.bincount(values, minlength=mechanism.domain) / users
    off = np.abs(result.estimate.frequency - truth) / result.estimate.stderr
    # α = 1e-6 over at most 40 values and 2 mechanisms, Bonferroni: z = 5.6 (scipy: norm.isf(0.5e-6 / 80) = 5.4).
    assert off.max() < 5.6, f"largest |estimate − truth| / stderr = {off.max():.2f} of {mechanism.domain} values"
    assert (result.users, result.dropped, result.fakes) == (users, 0, fakes)


def test_the_guarantee_counts_the_fakes_of_the_honest_only(rng: Randomness) -> None:
    result = run_collection(np.zeros(60, np.int64), mechanism=GRR(4, 2.0), fakes=300, protocol="ss", rng=rng)
    claims = result.guarantees
    assert isinstance(claims, SequentialGuarantees)
    assert [row.fakes for row in claims.colluding] == [300, 200, 100]
    epsilons = [row.users.epsilon for row in claims.colluding]
    assert epsilons == sorted(epsilons)
    assert epsilons[0] < epsilons[-1]


def spoilt(simulation: Simulation, count: int, *, layer: int) -> None:
    """Submissions of users whose onions open up to `layer`, and not there."""
    assert isinstance(simulation.encryption, OnionEncryption)
    keys = simulation.encryption.keys
    for _ in range(count):
        inner = simulation.rng.bytes(keys.row_bytes(8, layer))
        onion = np.frombuffer(inner, np.uint8).reshape(1, -1)
        for before in range(layer - 1, 0, -1):
            outer = type(keys)(keys.points[:before])  # as if that party were the last
            onion = outer.wrap(simulation.digest, onion, simulation.rng, first=before)
        ticket = simulation.ticket(simulation.rng.bytes(16))
        shares = (onion.tobytes(), *[PRESENT] * (len(simulation.nodes) - 1))
        for part in bind(simulation.digest, ticket, shares, simulation.rng):
            simulation.nodes[part.shuffler - 1].submit(encode_part(part))


@pytest.mark.parametrize("layer", [1, 2, 3, 4])
def test_an_onion_that_does_not_open_is_its_senders_loss_alone(layer: int, rng: Randomness) -> None:
    simulation = sequential(GRR(8, 3.0), fakes=6, rng=rng)
    spoilt(simulation, 2, layer=layer)
    words = np.arange(1000, 1010, dtype=np.uint64).reshape(-1, 1)
    out = shuffled(simulation, words)
    assert len(out) == 10 + 6
    assert set(words[:, 0].tolist()) <= set(out[:, 0].tolist())
    lost = [node.bench.lost for node in simulation.nodes]
    assert lost == [2 if layer == who else 0 for who in (1, 2, 3)]


def test_with_too_few_left_that_open_nothing_is_handed_on(rng: Randomness) -> None:
    simulation = sequential(GRR(8, 3.0), minimum=10, fakes=6, rng=rng)
    spoilt(simulation, 5, layer=2)
    simulation.submit(rng.uint64((5, 1)))
    simulation.freeze()  # ten were frozen
    with raises("shuffle.too_few"):
        simulation.shuffle()
    assert not simulation.delivered


def test_a_part_is_checked_as_far_as_it_can_be(rng: Randomness) -> None:
    simulation = sequential(GRR(8, 3.0), rng=rng)
    (parts,) = simulation.parts_of(rng.uint64((1, 1)), [rng.bytes(16)])
    for who, share, id_ in (
        (1, parts[0].share[:-1], "submit.share_length"),
        (2, b"\x01", "submit.share_present"),
        (3, PRESENT * 2, "submit.share_length"),
    ):
        shares = [part.share for part in parts]
        shares[who - 1] = share
        made = bind(simulation.digest, simulation.ticket(parts[0].id), tuple(shares), rng)
        with raises(id_):
            simulation.nodes[who - 1].submit(encode_part(made[who - 1]))


def test_a_protocol_that_does_not_exist_is_refused_before_anything_is_drawn() -> None:
    with raises("input.protocol", "'onion'"):
        run_collection([0], mechanism=GRR(4, 2.0), protocol="onion")
