"""What the tests of stores are made of: submissions, questions, a clock."""

from pathlib import Path
from typing import Final

import numpy as np

from peos.collection.lifecycle import State
from peos.crypto.randomness import Randomness
from peos.ldp.base import Question
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.store.base import ShufflerStore, Submission, Vector
from peos.store.sqlite import SqliteStore

DIGEST: Final = b"\x01" * 32
OTHER: Final = b"\x02" * 32
FROZEN: Final = b"\x0f" * 32
ANNOUNCED: Final = b"announcements"
TRANSCRIPT: Final = b"\x0e" * 32
ASKED: Final = Question(b"\x0a" * 32, "Which browser?", "2030-01")
SEED: Final = b"\x05" * 32


def submission(number: int, collection: bytes = DIGEST, *, share: bytes = b"") -> Submission:
    """The submission that belongs to a number, the same each time."""
    words = Randomness(number.to_bytes(32, "big"))
    return Submission(collection, words.bytes(48), share or words.bytes(24))


def opened(store: ShufflerStore, digest: bytes = DIGEST, question: Question = ASKED) -> None:
    """A collection that takes submissions."""
    store.put_collection(digest, b"signed", b"roster", question, State.OPEN)


def frozen(
    store: ShufflerStore, count: int = 5, digest: bytes = DIGEST, question: Question = ASKED
) -> list[Submission]:
    """A frozen collection of `count` submissions, all of which count; returned in the order of the rows."""
    opened(store, digest, question)
    made = [submission(number, digest) for number in range(count)]
    store.submit_many(made)
    store.set_state(digest, State.CLOSED)
    made.sort(key=lambda one: one.row)
    store.put_frozen(digest, FROZEN, ANNOUNCED, [one.row for one in made])
    return made


def stored(attempt: int, place: Phase = Phase.STORED) -> DeliveryState:
    """A last hider's delivery state with a vector."""
    return DeliveryState(place, attempt, 0, TRANSCRIPT)


def vector(attempt: int, rows: int = 50) -> Vector:
    """The final vector of an attempt."""
    return np.frombuffer(Randomness(attempt.to_bytes(32, "big")).bytes(rows * 24), np.uint8).reshape(rows, 24)


def sqlite(path: Path, *, restored: bool = False, witness: Path | None = None) -> SqliteStore:
    """The store in a folder."""
    return SqliteStore(path / "party", Randomness(SEED), restored=restored, witness=witness)
