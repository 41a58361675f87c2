"""A user's memory on the disk: what is replaced or deleted in it is overwritten, in its log too."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from user_client.store import NAME, ClientStore

COLLECTION, TICKET = b"\x01" * 32, b"\x02" * 16
NEEDLE = "what a shuffler said before it took the part"


def is_somewhere(folder: Path, secret: bytes) -> bool:
    """Whether these bytes are in any file of the folder."""
    return any(secret in path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("length", [1, 40], ids=["in a page", "over several pages"])
def test_an_answer_that_is_replaced_is_in_no_file_any_more(tmp_path: Path, length: int) -> None:
    folder, needle = tmp_path / "memory", NEEDLE.encode()
    with ClientStore(folder) as memory:
        memory.note_answers(COLLECTION, [(TICKET, 1, NEEDLE * 4 * length, None)])
        assert is_somewhere(folder, needle)
        memory.note_answers(COLLECTION, [(TICKET, 1, "", None)])
    assert not is_somewhere(folder, needle)


def test_what_a_reader_keeps_in_the_log_goes_when_the_memory_is_next_opened(tmp_path: Path) -> None:
    folder, needle = tmp_path / "memory", NEEDLE.encode()
    with ClientStore(folder) as memory:
        memory.note_answers(COLLECTION, [(TICKET, 1, NEEDLE, None)])
        with closing(sqlite3.connect(folder / NAME, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM answers").fetchone()
            memory.note_answers(COLLECTION, [(TICKET, 1, "", None)])
            memory.close()
            assert is_somewhere(folder, needle), "or the test shows nothing"
            reader.execute("COMMIT")
            ClientStore(folder).close()
            assert not is_somewhere(folder, needle)
