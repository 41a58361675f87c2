"""The analyzer names a user's report as one of its dummies, to have her rows opened and her word read.

Who: the analyzer, which also hands out the tickets: it commits to a dummy under an id, and gives the ticket of that id
to the victim. Without the proof that it knows all parts of what it reveals, every shuffler opens the victim's rows.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import pytest

from peos.collection.prepare import prepare
from peos.collection.reveal import Revealed, known_case, proved_case, reveal, sign_reveal
from peos.collection.ticket import ID_BYTES, issue
from peos.crypto.identity import Identity
from peos.crypto.kdf import Context
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.paillier import PaillierPrivateKey
from peos.ldp import GRR
from peos.shuffle.inspect.evidence import Slot, What
from peos.shuffle.inspect.verdict import Case
from peos.shuffle.messages import SignedReveal
from peos.simulate import Node, Simulation
from tests.full import many
from tests.raising import raises
from tests.security.verdict import of_guesses

pytestmark = pytest.mark.full  # `make security` runs it too

TRIALS = many(20, 40)
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

    def reveal(self, number: int) -> list[Revealed]:  # noqa: ARG002 - the same to all
        """See `forged`."""
        return self.forged

    @cached_property
    def forged(self) -> list[Revealed]:
        """What the analyzer can reveal: its true dummies, and for the victim's id parts of its own making."""
        ticket = issue(self.enrolment, self.digest, self.owned.id, Identity.generate(self.rng))
        words = self.owned.words[None, :]
        own = prepare(self.digest, self.encryption.splitter(self.rng, 1), words, [ticket], self.rng)
        return reveal(self.dummies, [*own, *self.dummy_parts[1:]], self.key.public.ciphertext_bytes)

    def victim_read(self, row: int) -> int | None:
        """The victim's word as far as her opened rows show it: what the last hiders hold of it, and the key."""
        last, hiders = len(self.document.schedule.rounds), self.document.schedule.last
        if Slot(last, What.PASSED) not in self.openings[hiders[0]].shown:
            return None
        ciphertext = self.openings[hiders[0]].shown[Slot(last, What.PASSED)].rows[row : row + 1]
        total = self.key.decrypt(np.ascontiguousarray(ciphertext))
        for who in hiders[1:]:
            words = np.ascontiguousarray(self.openings[who].shown[Slot(last, What.MIXED)].rows[row]).view("<u8")
            total = total + words[0]
        return int(total[0])


class Trusting(Weapon):
    """Shufflers that believe an id."""

    def case(self, node: Node, revealed: Sequence[Revealed], signed: SignedReveal) -> Case:
        """What is opened by id alone."""
        places = {row[:ID_BYTES]: place for place, row in enumerate(node.frozen)}
        start = tuple(range(len(revealed))), tuple(places[one.id] for one in revealed)
        part = self.output
        rows = len(node.frozen) + self.document.fakes
        return known_case(self.document, self.key.public, part.context, part.transcript, rows, start, revealed, signed)


Made = TypeVar("Made", bound=Simulation)


def armed(key: PaillierPrivateKey, kind: type[Made], seed: int) -> Made:
    """A collection whose output is delivered."""
    made = kind(GRR(DOMAIN, 4.0), rng=Randomness(seed.to_bytes(32, "big")), key=key)
    made.submit(made.mechanism.randomize(np.arange(USERS) % DOMAIN, made.rng))
    made.freeze()
    made.shuffle()
    return made


def word_read(made: Weapon) -> int | None:
    """What the analyzer reads of the victim after an inspection that reveals her as a dummy."""
    made.inspect()
    opened = made.openings[1].paths
    return made.victim_read(opened[0].index(_place(made))) if opened and _place(made) in opened[0] else None


def _place(made: Weapon) -> int:
    return [row[:ID_BYTES] for row in made.nodes[0].frozen].index(made.owned.id)


def test_a_user_named_as_a_dummy_is_not_opened_and_without_the_proof_her_word_is_read(key: PaillierPrivateKey) -> None:
    proved = [armed(key, Weapon, seed) for seed in range(TRIALS)]
    trusting = [armed(key, Trusting, seed) for seed in range(TRIALS)]
    hits = sum(word_read(made) == int(made.victim[0, 0]) for made in trusting)
    of_guesses("naming a user, shufflers that believe an id", hits, TRIALS, choices=DOMAIN).assert_succeeds()
    for made in proved:
        assert word_read(made) is None
        assert not [opening for opening in made.openings.values() if opening.shown], "a row was opened"
        assert {fault.party for fault in made.refused.values()} == {"analyzer"}
        assert len(made.refused) == len(made.nodes), "every shuffler names the analyzer"


def test_a_dummy_that_the_document_does_not_commit_to_or_in_another_place_or_left_out_is_refused(
    key: PaillierPrivateKey,
) -> None:
    made = armed(key, Weapon, 1)
    first, second, *rest = Simulation.reveal(made, 1)
    stranger = replace(second, words=made.rng.uint64(1))
    for wrong in ([first, stranger, *rest], [second, first, *rest], [first, *rest], [first, first, *rest]):
        with raises("inspection.dummies", "32"):
            _case(made, wrong)


def test_a_dummy_without_one_of_its_parts_or_with_another_s_is_refused(key: PaillierPrivateKey) -> None:
    made = armed(key, Simulation, 1)
    one, other, *rest = made.reveal(1)
    with raises("inspection.parts"):
        _case(made, [replace(one, parts=one.parts[:2]), other, *rest])
    first = one.parts[0]
    strange = replace(other.parts[2], id=first.id, ticket=first.ticket, user_key=first.user_key)
    strange = replace(strange, signature=made.ticket(first.id).key.sign("submission", strange.digest))
    mixed = replace(one, parts=(*one.parts[:2], strange))
    with raises("inspection.mixed_parts"):
        _case(made, [mixed, other, *rest])
    broken = replace(one, parts=(*one.parts[:2], replace(one.parts[2], share=bytes(8))))
    with raises("inspection.part", "analyzer"):
        _case(made, [broken, other, *rest])


def test_what_the_analyzer_did_not_sign_is_refused(key: PaillierPrivateKey) -> None:
    made = armed(key, Simulation, 1)
    one, other, *rest = revealed = made.reveal(1)
    part, node = made.output, made.nodes[0]
    for signed in (
        sign_reveal(made.analyzer, part.context, [other, one, *rest]),
        sign_reveal(made.enrolment, part.context, revealed),
        sign_reveal(made.analyzer, Context(made.digest, b"another list".ljust(32)), revealed),
    ):
        with raises("inspection.signature"):
            proved_case(made.document, node.encryption, part.context, part.transcript, node.frozen, revealed, signed)


def test_a_dummy_that_was_not_frozen_is_left_out_and_the_others_stand_in_the_order_of_the_list(
    key: PaillierPrivateKey,
) -> None:
    made = armed(key, Simulation, 1)
    revealed, node, part = made.reveal(1), made.nodes[0], made.output
    rows = [row for row in node.frozen if row[:ID_BYTES] != revealed[3].id]
    signed = sign_reveal(made.analyzer, part.context, revealed)
    case = proved_case(made.document, node.encryption, part.context, part.transcript, rows, revealed, signed)
    ids = [row[:ID_BYTES] for row in rows]
    assert case.start == tuple(sorted(ids.index(one.id) for one in revealed if one.id != revealed[3].id))
    users = [row for row in rows if row[:ID_BYTES] not in {one.id for one in revealed}]
    with raises("inspection.none_frozen") as none:
        proved_case(made.document, node.encryption, part.context, part.transcript, users, revealed, signed)
    assert not none.value.party, "others may have left them out"


def _case(made: Simulation, revealed: list[Revealed]) -> Case:
    part, node = made.output, made.nodes[0]
    signed = sign_reveal(made.analyzer, part.context, revealed)
    return proved_case(made.document, node.encryption, part.context, part.transcript, node.frozen, revealed, signed)
