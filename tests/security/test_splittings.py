"""Users who send one splitting of their report to some shufflers and another to the rest, under one ticket and id.

Who: a third of the users, or a client that forgot what it had sent. Each shuffler alone sees nothing wrong; shares of
two splittings add up to a uniform word, which is a valid report.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pytest

from peos.collection.submission import Part
from peos.collection.ticket import ID_BYTES
from peos.crypto.kdf import DIGEST_BYTES
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.paillier import PaillierPrivateKey
from peos.ldp import GRR
from peos.shuffle import combine
from peos.simulate import Node, Simulation
from peos.wire import submissions
from tests.raising import raises
from tests.security.verdict import of_rate

USERS = 2_000
MIXERS = 667  # every third


class WithoutDigest(Part):
    """A part whose row says nothing of the submission's digest."""

    @property
    def row(self) -> bytes:
        return self.id + bytes(DIGEST_BYTES)


class ByIdAlone(Node):
    """Keeps no digest of a submission, and so freezes by ticket and id alone."""

    def submit(self, encoded: bytes) -> bytes:
        """Take in a part and forget which splitting it belongs to."""
        acknowledgement = super().submit(encoded)
        part = submissions.decode_part(encoded)
        self.parts[part.id] = WithoutDigest(**vars(part))
        return acknowledgement


class OverIds(Simulation):
    """A collection whose shufflers freeze by id alone."""

    node_type = ByIdAlone


def send(simulation: Simulation, parts: Iterable[Part]) -> None:
    """Each part to the shuffler that it names."""
    for part in parts:
        simulation.nodes[part.shuffler - 1].submit(submissions.encode_part(part))


def collect(kind: type[Simulation], key: PaillierPrivateKey) -> tuple[U64, U64, U64]:
    """(honest users' reports, mixers' reports, what came out without dummies)."""
    rng = Randomness(b"\x03" * 32)
    simulation = kind(GRR(16, 4.0), rng=rng, key=key)
    reports = rng.uint64((USERS, 1))
    ids = [rng.bytes(ID_BYTES) for _ in range(USERS)]
    mixing = np.arange(USERS) % 3 == 0
    assert mixing.sum() == MIXERS
    one, another = simulation.parts_of(reports, ids), simulation.parts_of(reports, ids)
    for row, (first, second) in enumerate(zip(one, another, strict=True)):
        send(simulation, (first[0], *second[1:]) if mixing[row] else first)
    simulation.submit(np.empty((0, 1), dtype=np.uint64))  # the dummies
    simulation.freeze()
    simulation.shuffle()
    combined = combine.combine(simulation.document.schedule, simulation.delivered, simulation.key, simulation.rng)
    dummies = np.stack([dummy.words for dummy in simulation.dummies])
    return reports[~mixing], reports[mixing], combine.without_dummies(combined, dummies)


def test_mixed_splittings_are_not_counted_and_everybody_elses_reports_come_out_exactly(key: PaillierPrivateKey) -> None:
    honest, _, found = collect(Simulation, key)
    assert len(np.unique(honest)) == len(honest)
    assert np.array_equal(np.sort(found, axis=0), np.sort(honest, axis=0)), "reports were lost, doubled or changed"
    mixtures = len(np.setdiff1d(found, honest))
    of_rate("mixed splittings", mixtures, USERS, "counted reports that no user made").assert_fails()


@pytest.mark.full
def test_freezing_by_id_alone_destroys_the_reports_of_all_mixers_unnoticed(key: PaillierPrivateKey) -> None:
    honest, mixed, found = collect(OverIds, key)
    assert len(found) == USERS, "every user is counted and no error says otherwise"
    assert len(np.intersect1d(found, honest)) == USERS - MIXERS
    destroyed = MIXERS - len(np.intersect1d(found, mixed))
    of_rate("mixed splittings, frozen by id alone", destroyed, MIXERS, "mixers' reports destroyed").assert_succeeds()


@pytest.fixture
def open_collection(key: PaillierPrivateKey, rng: Randomness) -> tuple[Simulation, Sequence[Part], Sequence[Part]]:
    """A collection and two splittings of one report under one ticket, none of them sent."""
    simulation = Simulation(GRR(16, 4.0), rng=rng, key=key)
    reports, ids = rng.uint64((1, 1)), [rng.bytes(ID_BYTES)]
    return simulation, simulation.parts_of(reports, ids)[0], simulation.parts_of(reports, ids)[0]


@pytest.mark.parametrize("shuffler", [1, 2, 3])
def test_a_shuffler_refuses_another_submission_under_a_used_ticket_and_acknowledges_the_identical_repeat(
    open_collection: tuple[Simulation, Sequence[Part], Sequence[Part]], shuffler: int
) -> None:
    simulation, first, second = open_collection
    node = simulation.nodes[shuffler - 1]
    sent, other = (submissions.encode_part(parts[shuffler - 1]) for parts in (first, second))
    acknowledged = node.submit(sent)
    with raises("submit.ticket_used"):
        node.submit(other)
    assert node.submit(sent) == acknowledged
    assert list(node.parts.values()) == [first[shuffler - 1]]


def test_a_report_that_some_shufflers_did_not_get_is_not_counted(key: PaillierPrivateKey, rng: Randomness) -> None:
    simulation = Simulation(GRR(16, 4.0), rng=rng, key=key)
    reports = rng.uint64((30, 1))
    given = simulation.parts_of(reports, [rng.bytes(ID_BYTES) for _ in reports])
    for row, parts in enumerate(given):
        send(simulation, parts if row % 3 else parts[: 1 + row // 3 % 2])
    simulation.submit(np.empty((0, 1), dtype=np.uint64))
    simulation.freeze()
    simulation.shuffle()
    published = simulation.publish(submitted=len(reports))
    whole = reports[np.arange(30) % 3 > 0]
    assert np.array_equal(np.sort(published.reports, axis=0), np.sort(whole, axis=0))
    assert (published.users, published.dropped) == (20, 10)
