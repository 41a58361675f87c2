"""The analyzer names a user's report as one of its dummies, to have her rows opened and her word read.

Who: the analyzer, which also hands out the tickets: it commits to a dummy under an id, and gives the ticket of that id
to the victim. Without the proof that it knows all parts of what it reveals, every shuffler opens the victim's rows.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from peos.collection.document import ID_BYTES
from peos.collection.prepare import prepare
from peos.collection.reveal import Revealed, known_case, proved_case, reveal
from peos.collection.ticket import issue
from peos.crypto.identity import Identity
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.paillier import PaillierPrivateKey
from peos.errors import RemoteFault
from peos.ldp import GRR
from peos.shuffle.judging import Case
from peos.shuffle.opening import Place, What
from peos.simulate import Node, Simulation
from tests.security.verdict import of_guesses

TRIALS = 40
USERS = 30
DOMAIN = 64


class Weapon(Simulation):
    """A collection of which dummy 0 is a user: she was given its id, and submitted a report of her own under it."""

    def submit(self, reports: U64) -> None:
        """Everybody submits; the victim is the first user, in the place of dummy 0."""
        self.victim, self.owned = reports[:1], self.dummies[0]
        self.dummies[0] = replace(self.owned, words=self.victim[0])  # what goes in under the id is hers
        super().submit(reports[1:])
        self.dummies[0] = self.owned

    def forged(self) -> list[Revealed]:
        """What the analyzer can reveal: its true dummies, and for the victim's id parts of its own making."""
        ticket = issue(self.enrolment, self.digest, self.owned.id, Identity.generate(self.rng))
        zeros, words = self.key.public.zero_source(self.rng), self.owned.words[None, :]
        own = prepare(self.digest, len(self.nodes), self.key.public, zeros, words, [ticket], self.rng)
        return reveal(self.dummies, [*own, *self.dummy_parts[1:]], self.key.public.ciphertext_bytes)

    def victim_read(self) -> int | None:
        """The victim's word as far as her opened rows show it: what the last hiders hold of it, and the key."""
        last, hiders = len(self.document.schedule.rounds), self.document.schedule.last
        if Place(last, What.PASSED) not in self.openings[hiders[0]].shown:
            return None
        row = self.openings[hiders[0]].shown[Place(last, What.PASSED)].rows[:1]
        total = self.key.decrypt(np.ascontiguousarray(row))
        for who in hiders[1:]:
            total = (
                total + np.ascontiguousarray(self.openings[who].shown[Place(last, What.MIXED)].rows[:1]).view("<u8")[0]
            )
        return int(total[0])


class Trusting(Weapon):
    """Shufflers that believe an id."""

    def case(self, node: Node, revealed: Sequence[Revealed]) -> Case:
        """What is opened by id alone."""
        places = {row[:ID_BYTES]: place for place, row in enumerate(node.frozen)}
        start = tuple(places[one.parts[0].id] for one in revealed)
        part = self.output
        rows = len(node.frozen) + self.document.fakes
        return known_case(self.document, self.key.public, part.context, part.transcript, rows, start, revealed)


def armed(key: PaillierPrivateKey, kind: type[Weapon], seed: int) -> Weapon:
    """A collection whose output is delivered."""
    made = kind(GRR(DOMAIN, 4.0), rng=Randomness(seed.to_bytes(32, "big")), key=key)
    made.submit(made.mechanism.randomize(np.arange(USERS) % DOMAIN, made.rng))
    made.freeze()
    made.shuffle()
    return made


def word_read(made: Weapon) -> int | None:
    """What the analyzer reads of the victim after an inspection that reveals her as a dummy."""
    revealed = made.forged()
    made.follow({node.number: made.case(node, revealed) for node in made.nodes})
    return made.victim_read() if made.openings[1].paths[0][0] == _place(made) else None


def _place(made: Weapon) -> int:
    return [row[:ID_BYTES] for row in made.nodes[0].frozen].index(made.owned.id)


def test_a_user_named_as_a_dummy_is_not_opened_and_without_the_proof_her_word_is_read(key: PaillierPrivateKey) -> None:
    proved = [armed(key, Weapon, seed) for seed in range(TRIALS)]
    trusting = [armed(key, Trusting, seed) for seed in range(TRIALS)]
    hits = sum(word_read(made) == int(made.victim[0, 0]) for made in trusting)
    of_guesses("naming a user, shufflers that believe an id", hits, TRIALS, choices=DOMAIN).assert_succeeds()
    for made in proved:
        assert word_read(made) is None
        opened = {place for opening in made.openings.values() for place in opening.paths[0]}
        assert _place(made) not in opened, "the victim's row was opened"
        assert len(opened) == len(made.dummies) - 1, "the true dummies are opened all the same"


def test_what_the_document_did_not_commit_to_is_refused_as_a_dummy(key: PaillierPrivateKey) -> None:
    made = armed(key, Weapon, 1)
    stranger = replace(made.forged()[1], words=made.rng.uint64(1))
    with pytest.raises(RemoteFault, match="does not commit to as a dummy"):
        _case(made, [stranger])


def test_a_dummy_without_one_of_its_parts_or_with_another_s_or_twice_is_refused(key: PaillierPrivateKey) -> None:
    made = armed(key, Weapon, 1)
    one, other = made.forged()[1:3]
    with pytest.raises(RemoteFault, match="every part"):
        _case(made, [replace(one, parts=one.parts[:2])])
    first = one.parts[0]
    strange = replace(other.parts[2], id=first.id, ticket=first.ticket, user_key=first.user_key)
    strange = replace(strange, signature=made.ticket(first.id).key.sign("submission", strange.digest))
    mixed = replace(one, parts=(*one.parts[:2], strange))
    with pytest.raises(RemoteFault, match="not of one submission"):
        _case(made, [mixed])
    with pytest.raises(RemoteFault, match="or one twice"):
        _case(made, [one, one])
    with pytest.raises(RemoteFault, match="no dummies that were counted"):
        _case(made, made.forged()[:1])


def _case(made: Weapon, revealed: list[Revealed]) -> Case:
    part, node = made.output, made.nodes[0]
    return proved_case(made.document, node.public, part.context, part.transcript, node.frozen, revealed)
