"""Tickets: who may submit, and once. A ticket is the enrolment key's signature over (scope, id, user key).

The scope is the collection's digest, or the id of a study, whose rounds ask different users: of a study's ticket the
place, a hash of study and id, says which round it is for, so that it fits one round and no shuffler has to remember
others (decisions/0028). The id is drawn by the organisation that enrols, and the user's key signs her
submission: a shuffler that sees her ticket before the others cannot use it there (protocol.md §6.3).

The holder of the enrolment key can fill a collection with users of its own; against that there are the fakes (ε_s), not
the tickets.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

from peos.crypto.identity import Identity, verifies
from peos.crypto.randomness import Randomness
from peos.errors import WrongInput

ID_BYTES: Final = 16
STUDY_BYTES: Final = 32
PLACES: Final = 1 << 64
_ROUND: Final = " (round {})"


@dataclass(frozen=True)
class StudyPart:
    """Which round of which study a collection is: it asks the tickets whose place is from `first` to before `end`."""

    id: bytes
    round: int
    first: int
    end: int

    def __post_init__(self) -> None:
        if len(self.id) != STUDY_BYTES:
            raise WrongInput("study.id", f"a study's id has {STUDY_BYTES} bytes, not {len(self.id)}")
        if not (0 <= self.first < self.end <= PLACES and 1 <= self.round < 1 << 31):
            raise WrongInput(
                "study.window", "a round has a number from 1 on, and asks the places from one to before a later one"
            )

    def asks(self, ticket_id: bytes) -> bool:
        """Whether this round is the one that a ticket is for."""
        return self.first <= place(self.id, ticket_id) < self.end

    def asked_in(self, question: str) -> str:
        """The study's question, of which a round's is one of its own."""
        return question.removesuffix(_ROUND.format(self.round))


def question_of_round(question: str, number: int) -> str:
    """A question of its own for each round, where a shuffler's operator limits how often one is asked a day."""
    return question + _ROUND.format(number)


def place(study: bytes, ticket_id: bytes) -> int:
    """Where a ticket stands among all of its study, uniform over ids that were drawn uniformly."""
    return int.from_bytes(hashlib.sha256(b"place" + study + ticket_id).digest()[:8], "little")


def draw_id(rng: Randomness, study: StudyPart | None = None) -> bytes:
    """A ticket's id; of a study, one that this round asks."""
    while True:
        id_ = rng.bytes(ID_BYTES)
        if study is None or study.asks(id_):
            return id_


@dataclass(frozen=True, repr=False)
class Ticket:
    """The right to submit once: an id, the signature that ties the user's key to it, and that key."""

    id: bytes
    signature: bytes
    key: Identity

    def __repr__(self) -> str:
        return f"Ticket({self.id.hex()[:8]}…)"


def mint(enrolment: Identity, scope: bytes, id_: bytes, user_key: bytes) -> bytes:
    """The signature of a ticket for one id and one user's public key."""
    return enrolment.sign("ticket", scope, id_, user_key)


def issue(enrolment: Identity, scope: bytes, id_: bytes, key: Identity) -> Ticket:
    """A ticket together with the user's key that it is for."""
    return Ticket(id_, mint(enrolment, scope, id_, key.public), key)


def admits(enrolment_key: bytes, signature: bytes, scope: bytes, id_: bytes, user_key: bytes) -> bool:
    """Whether the ticket is of this scope, for this id and this user's key."""
    return verifies(enrolment_key, signature, "ticket", scope, id_, user_key)
