"""A shuffler votes with the tickets of users whose parts reach it first.

Who: any one shuffler. A user's parts come one after another (her line is slow, or a connection breaks); whoever has the
first of them has her id, her ticket, her public key and her signature, and sends parts of its own making to the others.
"""

from dataclasses import replace

import numpy as np
import pytest

from peos.collection import submission
from peos.collection.submission import Part, bind
from peos.collection.ticket import ID_BYTES, Ticket
from peos.crypto import sharing
from peos.crypto.identity import Identity
from peos.crypto.randomness import Randomness
from peos.crypto.schemes.paillier import PaillierPrivateKey
from peos.errors import RemoteFault
from peos.ldp import GRR
from peos.simulate import Simulation
from peos.wire.submissions import encode_part
from tests.security.verdict import of_rate

USERS = 150
CHOICE = 0xC0FFEE  # the thief's report


def forged(simulation: Simulation, seen: Part, rng: Randomness) -> tuple[Part, ...]:
    """Parts of the thief's report under what it has seen of a user's: all but a signature with her key."""
    key, shufflers = simulation.key.public, len(simulation.nodes)
    first, *others = sharing.split(np.array([[CHOICE]], np.uint64), shufflers, rng)
    encrypted = key.encrypt(first.reshape(-1), key.zero_source(rng).zeros(1))
    shares = (encrypted.tobytes(), *(share.astype("<u8").tobytes() for share in others))
    own = bind(seen.collection, Ticket(seen.id, seen.ticket, Identity(rng.bytes(32))), shares, rng)
    return tuple(replace(part, user_key=seen.user_key, signature=seen.signature) for part in own)


def sent(simulation: Simulation, parts: tuple[Part, ...]) -> int:
    """How many shufflers took these parts."""
    taken = 0
    for part in parts:
        try:
            simulation.nodes[part.shuffler - 1].submit(encode_part(part))
            taken += 1
        except RemoteFault:
            pass
    return taken


def votes(thief: int, key: PaillierPrivateKey) -> tuple[int, int]:
    """How often the thief's choice is counted, and how many users' reports are."""
    rng = Randomness(bytes([thief]) * 32)
    simulation = Simulation(GRR(16, 4.0), rng=rng, key=key)
    reports = rng.uint64((USERS, 1))
    for parts in simulation.parts_of(reports, [rng.bytes(ID_BYTES) for _ in range(USERS)]):
        sent(simulation, forged(simulation, parts[thief - 1], rng))  # before her own
        sent(simulation, parts)
    simulation.submit(np.empty((0, 1), dtype=np.uint64))  # the dummies
    simulation.freeze()
    simulation.shuffle()
    found = simulation.publish(submitted=USERS).reports
    return int((found == CHOICE).sum()), len(np.intersect1d(found, reports))


@pytest.mark.parametrize("thief", [1, 2, 3])
def test_a_shuffler_that_saw_a_ticket_first_cannot_vote_with_it(thief: int, key: PaillierPrivateKey) -> None:
    stolen, counted = votes(thief, key)
    of_rate(f"ticket seen by shuffler {thief}", stolen, USERS, "votes of the thief").assert_fails()
    assert counted == USERS, "her own parts are taken all the same"


@pytest.mark.parametrize("thief", [1, 2, 3])
def test_without_the_users_signature_every_ticket_is_the_thiefs(
    thief: int, key: PaillierPrivateKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submission, "verifies", lambda *_: True)  # what `check_part` asks besides the ticket
    stolen, counted = votes(thief, key)
    of_rate(f"ticket seen by shuffler {thief}, no signature", stolen, USERS, "votes of the thief").assert_succeeds()
    assert (stolen, counted) == (USERS, 0)
