"""Stores that older versions of this program wrote: all that was in them is there, and what was under way goes on."""

import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from analyzer import store as analyzer_store
from peos.collection.lifecycle import State
from peos.errors import LocalFault
from peos.shuffle.delivery_state import Phase
from peos.store import schema, submissions
from peos.wire.submissions import encode_part
from tests.full import full
from tests.stores.filled import OPEN, OVER, SHUFFLING, STORES, delivery, parts_of, past, receipt, unpack
from tests.unit.store.made import sqlite, stored, submission
from user_client import store
from user_client.store import ClientStore

LAYOUTS = {"shuffler": schema.LAYOUT, "analyzer": analyzer_store.LAYOUT, "client": store.LAYOUT}
STORED = [(name, version) for name in STORES for version in past(name)]
OLDER = [(name, version) for name, version in STORED if version != LAYOUTS[name].version]
NEXT_TO_LAST = [(name, version) for name, version in OLDER if version == LAYOUTS[name].version - 1]


def restored(name: str, version: int, folder: Path) -> dict[str, Any]:
    """Put a store back; returns what was in it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    return unpack(past(name)[version], folder)


def require_all_of_it(name: str, folder: Path, content: dict[str, Any]) -> None:
    """All that was in a store is still there; its audit log may have grown."""
    found = STORES[name].read(folder)
    log = content.get("audit", [])
    assert found.pop("audit", [])[: len(log)] == log
    assert found == {part: inner for part, inner in content.items() if part != "audit"}


def shape(database: Path) -> dict[str, Any]:
    """Version, columns, indices and triggers of a database."""
    with closing(sqlite3.connect(database)) as base:
        tables = [name for (name,) in base.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        found: dict[str, Any] = {name: base.execute(f"PRAGMA table_xinfo({name})").fetchall() for name in tables}
        found |= {f"indices of {name}": sorted(base.execute(f"PRAGMA index_list({name})")) for name in tables}
        rest = base.execute("SELECT name, sql FROM sqlite_schema WHERE type <> 'table' AND sql IS NOT NULL")
        found |= {name: " ".join(sql.split()) for name, sql in rest}
        for name in ("user_version", "application_id", "journal_mode"):
            found[name] = base.execute(f"PRAGMA {name}").fetchone()
        return found


@pytest.mark.parametrize("name", STORES)
def test_there_is_an_archive_of_every_version_that_this_program_reads(name: str) -> None:
    layout = LAYOUTS[name]
    assert sorted(past(name)) == list(range(min(layout.steps, default=layout.version), layout.version + 1)), (
        "run `python -m tests.stores.filled`, and commit what it adds"
    )
    assert submissions.LAYOUT.version == schema.LAYOUT.version, "one archive has both: raise them together"


@pytest.mark.parametrize(("name", "version"), STORED)
def test_all_that_was_in_it_is_there(tmp_path: Path, name: str, version: int) -> None:
    content = restored(name, version, tmp_path / "old")
    for _ in range(2):  # as it was opened the first time, and ever after
        require_all_of_it(name, tmp_path / "old", content)


@pytest.mark.parametrize(("name", "version"), STORED)
def test_it_has_become_what_a_new_one_is(tmp_path: Path, name: str, version: int) -> None:
    restored(name, version, tmp_path / "old")
    STORES[name].read(tmp_path / "old")
    (tmp_path / "new").mkdir(mode=0o700)
    STORES[name].fill(tmp_path / "new")
    assert shape(tmp_path / "old" / STORES[name].database) == shape(tmp_path / "new" / STORES[name].database)


# What was under way.


@pytest.mark.parametrize("version", past("shuffler"))
def test_a_shuffler_s_collections_go_on(tmp_path: Path, version: int) -> None:
    restored("shuffler", version, tmp_path)
    with sqlite(tmp_path) as store:
        store.submit_many([submission(number, OPEN) for number in range(2, 9)])  # some of them again
        assert store.count(OPEN) == 9
        store.set_state(OPEN, State.CLOSED)
        store.put_frozen(OPEN, b"\x0d" * 32, b"announcements", list(store.rows(OPEN)))
        assert len(list(store.shares(OPEN))) == 9
        with pytest.raises(LocalFault):
            store.put_delivery_state(SHUFFLING, stored(1))  # an attempt before the one that it had reached
        for place in (Phase.SENDING, Phase.DONE):
            store.put_delivery_state(SHUFFLING, stored(2, place))
        store.set_state(SHUFFLING, State.DELIVERED)
        store.erase(SHUFFLING)
        assert store.collection(SHUFFLING).erased
        assert len(store.lists(SHUFFLING).counted) == 5
    with sqlite(tmp_path) as store:  # and its witness goes along
        assert store.verify_audit() > 0


@pytest.mark.parametrize("version", past("analyzer"))
def test_an_analyzer_s_collections_go_on(tmp_path: Path, version: int) -> None:
    restored("analyzer", version, tmp_path)
    store = analyzer_store.Store(tmp_path / "analyzer.sqlite")
    store.dummy_taken(OPEN, 4, 901)  # again
    store.dummy_taken(OPEN, 5, 902)
    assert (sorted(store.dummies_taken(OPEN)), store.dummy_bytes(OPEN)) == ([1, 4, 5], 2703)
    store.add_delivery(delivery(2))  # again
    store.add_delivery(delivery(3))
    store.put_receipt(SHUFFLING, b"receipt")
    store.put_result(SHUFFLING, "{}")
    store.erase(SHUFFLING)
    kept = store.named("shuffling")
    assert kept is not None
    assert (kept.state, kept.result, kept.key, kept.parts) == (State.PUBLISHED, "{}", None, None)
    assert [line.event for line in store.audit_log()][-4:] == ["vector", "state", "state", "erased"]
    store.close()


@pytest.mark.parametrize("version", past("client"))
def test_a_user_s_submission_that_was_cut_off_is_completed_with_the_same_bytes(tmp_path: Path, version: int) -> None:
    restored("client", version, tmp_path)
    parts = parts_of(OPEN, 2)
    with ClientStore(tmp_path) as memory:
        found = memory.find(OPEN, parts[0].id)
        assert found is not None
        assert found.missing == {parts[1]: encode_part(parts[1])}
        memory.note_answers(OPEN, [(parts[0].id, 2, "", receipt(2))])
        done = memory.find(OPEN, parts[0].id)
        assert done is not None
        assert done.parts == (), "forgotten, as all have acknowledged it"
        assert memory.answered(b"2", b"mechanism of " + OPEN) == (OPEN, parts[0].id)
    assert not any(parts[1].share in path.read_bytes() for path in tmp_path.iterdir())


# What is refused, and what may come in between.


@pytest.mark.parametrize(
    ("pragma", "error", "hint"),
    [
        ("user_version = 99", "store.version", "install the version"),
        ("application_id = 7", "store.not_ours", "name another folder"),
    ],
)
@pytest.mark.parametrize("name", STORES)
def test_a_newer_one_and_a_foreign_one_are_refused_and_left_as_they_are(
    tmp_path: Path, name: str, pragma: str, error: str, hint: str
) -> None:
    restored(name, LAYOUTS[name].version, tmp_path)
    database = tmp_path / STORES[name].database
    with closing(sqlite3.connect(database)) as base:
        base.execute(f"PRAGMA {pragma}")
    before = database.read_bytes()
    with pytest.raises(LocalFault) as caught:
        STORES[name].read(tmp_path)
    assert caught.value.id == error
    assert hint in caught.value.hint
    assert database.read_bytes() == before


def _header(database: Path) -> tuple[int, int]:
    """The version that a file says it is of, and what it says it is for."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as base:
        version, application = (
            base.execute(f"PRAGMA {one}").fetchone()[0] for one in ("user_version", "application_id")
        )
    return int(version), int(application)


@pytest.mark.parametrize(("name", "version"), [one if one in NEXT_TO_LAST else full(*one) for one in OLDER])
def test_a_kill_at_any_statement_leaves_the_old_version_or_the_new_one(tmp_path: Path, name: str, version: int) -> None:
    content = restored(name, version, tmp_path / "content")
    command = [sys.executable, "-m", "tests.stores.victim", name, str(past(name)[version]), str(tmp_path / "deaths")]
    subprocess.run(command, cwd=Path(__file__).parents[2], check=True, timeout=120)  # noqa: S603 - our own command
    left = sorted((tmp_path / "deaths").iterdir(), key=lambda path: int(path.name))
    versions = []
    for folder in left:
        versions.append(_header(folder / STORES[name].database))
        require_all_of_it(name, folder, content)
    layout = LAYOUTS[name]
    assert set(versions) == {
        _header(tmp_path / "content" / STORES[name].database),
        (layout.version, layout.application),
    }, "each is one or the other"
    assert versions == sorted(versions)


def test_of_many_that_open_an_older_one_at_the_same_time_one_brings_it_up(tmp_path: Path) -> None:
    content = restored("analyzer", 0, tmp_path)
    start, failed = threading.Barrier(8), []

    def open_it() -> None:
        start.wait()
        try:
            analyzer_store.Store(tmp_path / "analyzer.sqlite").close()
        except LocalFault as error:
            failed.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    require_all_of_it("analyzer", tmp_path, content)
    assert OVER in {bytes.fromhex(one["kept"][0]) for one in content["collections"]}
