"""A byte of a store's files that is not what was written: everything reads as it was, or the store says that it is not.

Bytes are flipped one at a time, everywhere in turn, as a disk would: while the store is closed.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from peos.collection.lifecycle import State
from peos.collection.ticket import ID_BYTES
from peos.errors import LocalFault
from peos.ldp.base import Question
from peos.store.sqlite import SqliteStore
from peos.store.submissions import SubmissionFile
from tests.raising import raises
from tests.unit.store.made import ANNOUNCED, DIGEST, FROZEN, OTHER, opened, sqlite, stored, submission
from tests.unit.store.made import vector as vector_of

_EVERY = 97  # bytes between two that are flipped; small, odd, and no divisor of what pages are made of
_FEW = 1009


def _made(path: Path) -> None:
    """Two collections: one stored, with some left out, and one that is open."""
    with sqlite(path) as store:
        opened(store)
        made = sorted((submission(number) for number in range(9)), key=lambda one: one.row)
        store.submit_many(made)
        store.set_state(DIGEST, State.CLOSED)
        store.put_frozen(DIGEST, FROZEN, ANNOUNCED, [one.row for one in made[:-2]])
        store.set_state(DIGEST, State.SHUFFLING)
        store.put_delivery_state(DIGEST, stored(3), vector_of(3))
        store.put_collection(OTHER, b"other", b"roster", _QUESTION, State.OPEN)
        store.submit_many([submission(number, OTHER) for number in range(5)])


_QUESTION = Question(b"\x0b" * 32, "Which tree?", "2030-02")


def _read(store: SqliteStore) -> list[object]:
    """All that a shuffler goes by."""
    return [
        store.collections(),
        [list(store.rows(digest)) for digest in (DIGEST, OTHER)],
        list(store.frozen_rows(DIGEST)),
        list(store.shares(DIGEST)),
        store.final_vector(DIGEST).tobytes(),
        store.delivered_before(_QUESTION),
        store.verify_audit() > 0,
    ]


def _flips(path: Path, every: int) -> Iterator[tuple[Path, int]]:
    for file in sorted(path.rglob("*.sqlite")):
        for at in range(0, file.stat().st_size, every):
            yield file, at


def _damaged(path: Path, every: int) -> dict[str, int]:
    _made(path)
    with sqlite(path) as store:
        whole = _read(store)
    shutil.copytree(path / "party", path / "whole")
    found = {"damaged": 0, "as it was": 0}
    for file, at in list(_flips(path / "party", every)):
        data = bytearray(file.read_bytes())
        data[at] ^= 0x5A
        file.write_bytes(data)
        try:
            with sqlite(path) as store:
                here = _read(store)
        except LocalFault:
            found["damaged"] += 1
        else:
            assert here == whole, f"{file.name}, byte {at}, was flipped, and the store reads otherwise"
            found["as it was"] += 1
        shutil.rmtree(path / "party")
        shutil.copytree(path / "whole", path / "party")
    return found


def test_no_flipped_byte_makes_a_store_say_something_else(tmp_path: Path) -> None:
    found = _damaged(tmp_path, _FEW)
    assert found["damaged"] > 5, found


@pytest.mark.long  # python -m pytest -m long tests/unit/store/test_damage.py
def test_no_flipped_byte_makes_a_store_say_something_else_at_each_of_thousands(tmp_path: Path) -> None:
    found = _damaged(tmp_path, _EVERY)
    assert found["damaged"] > 50, found


@pytest.mark.parametrize("share", [True, False], ids=["a share", "an id"])
def test_a_changed_submission_is_named_with_its_file_and_what_to_do(tmp_path: Path, share: bool) -> None:
    _made(tmp_path)
    (file,) = (tmp_path / "party" / "submissions").glob(f"{OTHER.hex()}.sqlite")
    one = submission(3, OTHER)
    data, there = file.read_bytes(), one.share if share else one.row[ID_BYTES:]
    file.write_bytes(data.replace(there, bytes([there[0] ^ 1]) + there[1:]))
    what = "the share of submission 4" if share else "submission 4"
    with raises("store.damaged", f"submissions/{OTHER.hex()}.sqlite", what) as found:
        sqlite(tmp_path)
    assert "from a backup" in found.value.hint


def test_a_standing_that_was_changed_sends_nothing(tmp_path: Path) -> None:
    """A place that reads `free` again where a vector was stored would let this shuffler begin anew."""
    _made(tmp_path)
    file = tmp_path / "party" / "store.sqlite"
    data = file.read_bytes()
    assert data.count(b"stored") >= 1
    file.write_bytes(data.replace(b"stored", b"passed"))
    with raises("store.damaged", "store.sqlite"):
        sqlite(tmp_path)


def test_what_is_damaged_after_the_start_is_seen_when_it_is_read(tmp_path: Path) -> None:
    _made(tmp_path)
    path = tmp_path / "party" / "submissions" / f"{OTHER.hex()}.sqlite"
    there = submission(3, OTHER)
    data = path.read_bytes()
    for cell, read, what in (
        (there.share, SubmissionFile.counted_shares, "the share of submission 4"),
        (there.row[ID_BYTES:], SubmissionFile.rows, "submission 4"),
    ):
        path.write_bytes(data.replace(cell, bytes(len(cell))))
        file = SubmissionFile(path)  # as it is opened again and again next to those of other collections
        with raises("store.damaged", f"{what}"):
            list(read(file))
        file.close()
