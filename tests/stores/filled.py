"""Stores as they were written: one archive for each version of each store, with what was in it.

`python -m tests.stores.filled` fills the stores of this program and adds an archive for each version that has none. An
archive is never written again: later programs are held to it (test_past_versions).
"""

import dataclasses
import json
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from analyzer.store import Store
from peos.client.answering import Submission
from peos.client.ledger import Charge
from peos.collection.lifecycle import State
from peos.collection.receipts import Receipt
from peos.collection.study import StudyState
from peos.collection.submission import Part
from peos.collection.ticket import StudyPart
from peos.crypto.kdf import Context
from peos.crypto.randomness import Randomness
from peos.ldp.base import Question
from peos.shuffle.messages import Header, Kind, Step, VectorHeader
from peos.store.sqlite import SqliteStore
from peos.wire.submissions import encode_part, encode_receipt
from tests.unit.store.made import frozen, opened, sqlite, stored, submission, vector
from user_client.store import OWNER, ClientStore, StoredSubmission, named

HERE: Final = Path(__file__).parent
DRAFT, OPEN, SHUFFLING, OVER = (bytes([number]) * 32 for number in range(1, 5))
ROUND: Final = b"\x05" * 32
STUDY: Final = StudyPart(b"\x57" * 32, 2, 1 << 62, 1 << 64)
CONTENT: Final = "content.json"


@dataclass(frozen=True)
class StoreKind:
    """One of the stores: its database in its folder, how it is filled, and how all of it is read back."""

    database: str
    fill: Callable[[Path], None]
    read: Callable[[Path], dict[str, Any]]


def asked(number: int) -> Question:
    """The question of a shuffler's collection."""
    return Question(b"\x0a" * 32, f"Question {number}?", "2030-01")


def fill_shuffler(folder: Path) -> None:
    """One collection that is not accepted, one that is open, one in the middle of its shuffle, and one erased."""
    with sqlite(folder) as store:
        store.put_collection(DRAFT, b"signed draft", b"roster", asked(1))
        opened(store, OPEN, asked(2))
        store.submit_many([submission(number, OPEN) for number in range(4)])
        store.note_refused(OPEN, {"conflict": 2, "closed": 1})
        opened(store, SHUFFLING, asked(3))
        made = sorted((submission(number, SHUFFLING) for number in range(6)), key=lambda one: one.row)
        store.submit_many(made)
        store.set_state(SHUFFLING, State.CLOSED)
        store.put_frozen(SHUFFLING, b"\x0f" * 32, b"announcements", [one.row for one in made[:-1]])
        store.set_state(SHUFFLING, State.SHUFFLING, "everybody is here")
        store.fake_seed(SHUFFLING, Randomness(b"\x06" * 32))
        store.put_delivery_state(SHUFFLING, stored(2), vector(2))
        frozen(store, 3, OVER, asked(4))
        for state in (State.SHUFFLING, State.DELIVERED, State.PUBLISHED):
            store.set_state(OVER, state)
        store.erase(OVER)
        store.audit("started", {"version": "0.1.0", "collections": 4})


def read_shuffler(folder: Path) -> dict[str, Any]:
    """All that a shuffler's store says."""
    with sqlite(folder) as store:
        found = [_collection(store, one.digest) for one in store.collections()]
        log = _plain(list(store.audit_entries()))
        assert store.verify_audit() == len(log)
        return {"identity": store.identity.hex(), "collections": found, "audit": log[:-1]}  # the last is this opening


def _collection(store: SqliteStore, digest: bytes) -> dict[str, Any]:
    found = {"kept": _plain(store.collection(digest)), "refused": store.refused(digest)}
    if digest != OVER:
        found["rows"] = _plain(list(store.rows(digest)))
    if digest in (SHUFFLING, OVER):
        lists = store.lists(digest)
        found["lists"] = _plain([list(lists.own), list(lists.counted)])
    if digest == SHUFFLING:
        found["shares"] = _plain(list(store.shares(digest)))
        found["fake_seed"] = store.fake_seed(digest, Randomness(bytes(32))).hex()
        found["vector"] = store.final_vector(digest).tobytes().hex()
    return found


def delivery(sender: int) -> VectorHeader:
    """What an analyzer knows of a vector that came."""
    place = Header(Context(SHUFFLING, b"\x0f" * 32, 2), Step(5, Kind.DELIVERY), sender, 0)
    return VectorHeader(place, 50, 24, bytes([sender]) * 32, b"\x0e" * 32)


def fill_analyzer(folder: Path) -> None:
    """One draft, one that is open with some of its dummies sent, one with one delivery of two, and one published.

    The last two are rounds of a study; another study is complete.
    """
    store = _analyzer(folder)
    for study in ("asked", "done"):
        store.add_study(study, study.encode() * 8, '{"task": "x"}', "one guarantee")
    store.end_study("done", StudyState.COMPLETE, result='{"labels": ["a"]}')
    for digest, name in ((DRAFT, "draft"), (OPEN, "open"), (SHUFFLING, "shuffling"), (OVER, "over")):
        store.add(
            digest=digest,
            name=name,
            request='{"users": 400}',
            words="one guarantee\nanother",
            proposal=b"proposal of " + digest,
            key=b"sealed key of " + digest,
            dummies=b"sealed dummies of " + digest,
            study="asked" if digest in (SHUFFLING, OVER) else None,
        )
    for digest in (OPEN, SHUFFLING, OVER):
        store.put_parts(digest, b"sealed parts of " + digest)
        store.move(digest, State.OPEN)
        store.dummy_taken(digest, 1, 900)
        store.dummy_taken(digest, 4, 901)
    store.move(SHUFFLING, State.SHUFFLING, "everybody is here")
    store.add_delivery(delivery(2))
    store.progress(SHUFFLING, 10, 50)
    store.publish_without(OVER, [3])
    store.put_receipt(OVER, b"receipt")
    store.put_result(OVER, '{"frequency": [0.5, 0.5]}')
    store.erase(OVER)
    store.note("ticket issued", OPEN, number=7)
    store.close()


def read_analyzer(folder: Path) -> dict[str, Any]:
    """All that an analyzer's store says."""
    store = _analyzer(folder)
    found = [
        {
            "kept": _plain(kept),
            "dummies": [sorted(store.dummies_taken(kept.digest)), store.dummy_bytes(kept.digest)],
            "deliveries": _plain(store.deliveries(kept.digest)),
            "unopened": sorted(store.unopened(kept.digest)),
        }
        for kept in store.all()
    ]
    log = _plain(store.audit_log())
    studies = [[_plain(one), [kept.name for kept in store.rounds(one.name)]] for one in store.studies()]
    store.close()
    return {"collections": found, "audit": log, **({"studies": studies} if studies else {})}


def _analyzer(folder: Path) -> Store:
    folder.mkdir(mode=0o700, exist_ok=True)
    return Store(folder / "analyzer.sqlite")


def parts_of(collection: bytes, number: int) -> tuple[Part, ...]:
    """A submission's parts, the same each time."""
    words = Randomness(number.to_bytes(32, "big"))
    ticket, key, signature = words.bytes(64), words.bytes(32), words.bytes(64)
    hashes = tuple(words.bytes(32) for _ in range(3))
    return tuple(
        Part(collection, shuffler, ticket[:16], ticket, key, signature, words.bytes(16), hashes, words.bytes(24))
        for shuffler in (1, 2, 3)
    )


def receipt(number: int) -> bytes:
    """A shuffler's receipt, as it is kept."""
    return encode_receipt(Receipt(0, 2, (bytes([number]) * 32,), bytes([number]) * 64))


def fill_client(folder: Path) -> None:
    """One that all have acknowledged, one that a shuffler is owed, one that was refused, the owner's, and a study's."""
    with ClientStore(folder) as memory:
        with memory.transaction():
            memory.note_collection(OPEN, "Which browser?", ["North", "South", "West"], 1_900_000_000)
            memory.note_collection(OVER, "Which tree?", ["North", "South", "West"], 1_800_000_000)
            memory.note_collection(ROUND, "Which word?", ["North", "South", "West"], 1_950_000_000, STUDY)
            submissions = (
                *((OPEN, 1, b"1", None), (OPEN, 2, b"2", None), (OPEN, 3, b"3", None), (OVER, 4, OWNER, None)),
                *((ROUND, 5, OWNER, STUDY), (ROUND, 6, named("Ada"), STUDY), (ROUND, 7, b"7", STUDY)),
            )
            for collection, number, user, study in submissions:
                parts = parts_of(collection, number)
                encoded = tuple(map(encode_part, parts))
                made = Submission(parts[0].id, 1_500_000 + number, parts, encoded, bytes([number]) * 64)
                memory.keep(collection, b"mechanism of " + collection, user, made, study)
        ids = {number: parts_of(OPEN, number)[0].id for number in (1, 2, 3)}
        memory.note_answers(OPEN, [(ids[1], shuffler, "", receipt(shuffler)) for shuffler in (1, 2, 3)])
        memory.note_answers(OPEN, [(ids[2], 1, "", receipt(1)), (ids[2], 3, "", receipt(3))])
        memory.note_answers(OPEN, [(ids[3], 2, "the collection is closed", None)])


def read_client(folder: Path) -> dict[str, Any]:
    """All that a user's memory says."""
    with ClientStore(folder) as memory:
        found = {
            digest.hex(): {
                "submissions": {
                    ticket.hex(): _remembered(memory.find(digest, ticket)) for ticket in sorted(memory.tickets(digest))
                },
                "accepted": _plain(memory.accepted(digest)),
                "submitted": _plain(memory.submitted(digest)),
            }
            for digest in (OPEN, OVER)
        }
        standings = _plain(memory.standings())
        charges = [_charged(one) for one in (*memory.charges(OWNER), *memory.charges_of_others())]
        answered = _plain(memory.answered(OWNER, b"mechanism of " + OVER))
        rounds = [_plain(one) for user in (OWNER, named("Ada")) if (one := memory.round_of(user, STUDY.id))]
        studies = {"rounds": rounds} if rounds else {}
        return {"collections": found, "standings": standings, "charges": charges, "answered": answered, **studies}


def _charged(charge: Charge) -> list[Any]:
    """What every version has of it; rounds and names where there are some."""
    more = [charge.study, charge.round] if charge.study else []
    more += ["by name"] if charge.is_named else []
    return [_plain(one) for one in (charge.collection, charge.question, charge.users, charge.cost, *more)]


def _remembered(found: StoredSubmission | None) -> list[Any]:
    assert found is not None
    assert found.encoded == tuple(map(encode_part, found.parts))
    return [_plain(inner) for inner in (found.ticket, found.parts, found.acknowledged)]


STORES: Final = {
    "shuffler": StoreKind("party/store.sqlite", fill_shuffler, read_shuffler),
    "analyzer": StoreKind("analyzer.sqlite", fill_analyzer, read_analyzer),
    "client": StoreKind("memory.sqlite", fill_client, read_client),
}


def version_of(database: Path) -> int:
    """The version that a database says it is of; of a closed one, whose log is empty."""
    return int.from_bytes(database.read_bytes()[60:64], "big")  # its place in the header of SQLite


def past(name: str) -> dict[int, Path]:
    """The archives of a store, by version."""
    return {int(path.name.split("-")[1].split(".")[0]): path for path in sorted(HERE.glob(f"{name}-*.tar.gz"))}


def unpack(archive: Path, folder: Path) -> dict[str, Any]:
    """Put a store back as it was; returns what was in it."""
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="tar")  # with the modes of its folders
    content = folder / CONTENT
    found: dict[str, Any] = json.loads(content.read_text())
    content.unlink()
    return found


def add(name: str, kind: StoreKind) -> Path | None:
    """Add the archive of the present version, unless there is one."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / name
        folder.mkdir(mode=0o700)
        kind.fill(folder)
        archive = HERE / f"{name}-{version_of(folder / kind.database)}.tar.gz"
        if archive.exists():
            return None
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        content = json.dumps(kind.read(folder), sort_keys=True)
        for path, data in before.items():  # reading is an opening, which a store notes
            path.write_bytes(data)
        (folder / CONTENT).write_text(content)
        with tarfile.open(archive, "w:gz") as packed:
            packed.add(folder, ".", filter=_nobody)
        return archive


def _nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _plain(value: Any) -> Any:
    """The same in JSON's types."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, State):
        return value.value
    if isinstance(value, Question):  # of which stores keep this much
        return [value.analyzer.hex(), value.question, value.epoch]
    if dataclasses.is_dataclass(value):
        return [_plain(getattr(value, field.name)) for field in dataclasses.fields(value)]  # names may change
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(_plain(inner) for inner in value)
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return getattr(value, "value", value)


if __name__ == "__main__":
    for store_name, store_kind in STORES.items():
        print(store_name, add(store_name, store_kind) or "has its archive")  # noqa: T201 - a command
