"""The layer under every store: how a file of an older version is brought up, step by step, and whole or not at all."""

import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from peos.errors import LocalFault
from peos.store.database import Database, Layout

FIRST = Layout(what="the shelf", version=1, application=7, tables=("CREATE TABLE books (title TEXT) STRICT",))
THIRD = replace(
    FIRST,
    version=3,
    tables=("CREATE TABLE books (name TEXT, pages INTEGER) STRICT",),
    steps={
        1: ("ALTER TABLE books RENAME COLUMN title TO name",),
        2: ("ALTER TABLE books ADD COLUMN pages INTEGER", "UPDATE books SET pages = length(name)"),
    },
)


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    path = tmp_path / "shelf.sqlite"
    opened = Database(path, FIRST)
    opened.run("INSERT INTO books VALUES ('Emma')")
    opened.close()
    return path


def test_the_steps_are_taken_in_their_order_and_once(shelf: Path) -> None:
    for _ in range(2):
        opened = Database(shelf, THIRD)
        assert [tuple(row) for row in opened.rows("SELECT name, pages FROM books")] == [("Emma", 4)]
        assert opened.row("PRAGMA user_version")[0] == 3
        opened.close()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda steps: {**steps, 2: (*steps[2], "UPDATE books SET nothing = 1")},
        lambda steps: {**steps, 2: ("CREATE TABLE books (a TEXT)",)},
        lambda steps: {2: steps[2]},
    ],
    ids=["its last statement fails", "its second step fails", "its first step is unknown"],
)
def test_a_way_that_breaks_off_leaves_the_file_as_it_was(
    shelf: Path, spoil: Callable[[dict[int, tuple[str, ...]]], dict[int, tuple[str, ...]]]
) -> None:
    with pytest.raises(LocalFault):
        Database(shelf, replace(THIRD, steps=spoil(dict(THIRD.steps))))
    opened = Database(shelf, FIRST)
    assert [tuple(row) for row in opened.rows("SELECT title FROM books")] == [("Emma",)]
    opened.close()


def test_what_a_step_deletes_is_in_no_file_afterwards(tmp_path: Path) -> None:
    path, needle = tmp_path / "shelf.sqlite", "what nobody is to read" * 9
    opened = Database(path, FIRST)
    opened.run("INSERT INTO books VALUES (?)", needle)
    opened.close()
    assert needle.encode() in path.read_bytes()
    Database(path, replace(FIRST, version=2, steps={1: ("UPDATE books SET title = ''",)})).close()
    assert not any(needle.encode() in file.read_bytes() for file in tmp_path.iterdir())


def test_tables_of_another_program_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "theirs.sqlite"
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute("CREATE TABLE anything (a)")
    path.chmod(0o600)
    before = path.read_bytes()
    with pytest.raises(LocalFault) as caught:
        Database(path, FIRST)
    assert caught.value.id == "store.not_ours"
    assert path.read_bytes() == before


def test_an_interrupt_while_a_transaction_begins_leaves_none_open(shelf: Path) -> None:
    opened = Database(shelf, FIRST)
    begins = threading.Event()
    with closing(sqlite3.connect(shelf, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")  # so that the beginning takes a while

        def interrupt() -> None:
            begins.wait()
            time.sleep(0.2)  # until it waits in its first statement
            signal.raise_signal(signal.SIGINT)
            other.execute("COMMIT")

        def begin() -> None:
            begins.set()
            with opened.transaction():
                pass

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            begin()
        thread.join()
    with opened.transaction():
        opened.run("INSERT INTO books VALUES ('Persuasion')")
    assert opened.row("SELECT count(*) FROM books")[0] == 2
    opened.close()


def test_a_new_file_that_another_process_is_making_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "shelf.sqlite"
    path.touch(0o600)
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")  # the log is not turned on yet
        ending = threading.Timer(0.3, other.execute, ("COMMIT",))
        ending.start()
        opened = Database(path, FIRST)
        ending.join()
    assert opened.row("PRAGMA journal_mode")[0] == "wal"
    opened.run("INSERT INTO books VALUES ('Emma')")
    opened.close()
