"""What only the durable store promises: privacy of its folder, order of its writes, and that backups are noticed."""

import os
import shutil
import sqlite3
import threading
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

from peos.collection.lifecycle import State
from peos.collection.submission import Verdict
from peos.crypto.randomness import Randomness
from peos.errors import Closed, LocalFault
from peos.ldp.base import Question
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.store.sqlite import SqliteStore
from tests.raising import raises
from tests.unit.store.made import ANNOUNCED, DIGEST, FROZEN, OTHER, frozen, opened, sqlite, stored, submission
from tests.unit.store.made import vector as vector_of


def database(path: Path) -> Path:
    return path / "party" / "store.sqlite"


# The folder.


def test_everything_is_there_again_after_closing(tmp_path: Path, rng: Randomness) -> None:
    with sqlite(tmp_path) as store:
        made = frozen(store, 20)
        seed = store.fake_seed(DIGEST, rng)
        store.set_state(DIGEST, State.SHUFFLING)
        store.put_delivery_state(DIGEST, stored(3), vector_of(3))
        identity, generation, here = store.identity, store.generation, store.collection(DIGEST)
    with sqlite(tmp_path) as store:
        assert (store.identity, store.generation) == (identity, generation + 1)
        assert store.collection(DIGEST) == here
        assert list(store.shares(DIGEST)) == [one.share for one in made]
        assert store.fake_seed(DIGEST, rng) == seed
        assert np.array_equal(store.final_vector(DIGEST), vector_of(3))
        assert store.verify_audit() == 8


def test_folder_and_files_are_the_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with sqlite(tmp_path) as store:
            frozen(store)
            store.put_delivery_state(DIGEST, stored(1), vector_of(1))
            found = {path: path.stat().st_mode & 0o777 for path in (tmp_path / "party").rglob("*")}
    finally:
        os.umask(before)
    assert (tmp_path / "party").stat().st_mode & 0o777 == 0o700
    assert {path.suffix or path.name for path in found} >= {".sqlite", ".sqlite-wal", ".vector", "witness", "lock"}
    assert {mode for path, mode in found.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in found.items() if path.is_file()} == {0o600}


@pytest.mark.parametrize(("name", "mode"), [("", 0o750), ("", 0o701), ("store.sqlite", 0o640), ("vectors", 0o755)])
def test_a_folder_or_file_that_others_can_reach_is_refused(tmp_path: Path, name: str, mode: int) -> None:
    sqlite(tmp_path).close()
    target = tmp_path / "party" / name
    target.chmod(mode)
    with raises("store.open_to_others") as refused:
        sqlite(tmp_path)
    assert "chmod 0" in refused.value.hint


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sqlite(tmp_path).close()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with raises("store.owner"):
        sqlite(tmp_path)


def test_two_processes_do_not_use_one_folder_and_closing_lets_the_next_one_in(tmp_path: Path) -> None:
    with sqlite(tmp_path), raises("store.in_use"):
        sqlite(tmp_path)
    sqlite(tmp_path).close()


def test_a_store_belongs_to_the_thread_that_opened_it(tmp_path: Path) -> None:
    caught: list[BaseException] = []

    def elsewhere(store: SqliteStore) -> None:
        try:
            store.collections()
        except LocalFault as fault:
            caught.append(fault)

    with sqlite(tmp_path) as store:
        thread = threading.Thread(target=elsewhere, args=(store,))
        thread.start()
        thread.join()
    assert "another thread" in str(caught[0])


def test_use_after_closing_is_one_sentence(tmp_path: Path) -> None:
    store = sqlite(tmp_path)
    store.close()
    with raises("store.misused"):
        store.collections()


def test_settings_that_make_acknowledged_mean_durable(tmp_path: Path) -> None:
    with sqlite(tmp_path) as store:
        asked = {name: store._database.row(f"PRAGMA {name}")[0] for name in _SETTINGS}
    assert asked == _SETTINGS


_SETTINGS = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1, "busy_timeout": 30000}


def test_a_store_older_than_any_that_can_be_brought_up_is_refused(tmp_path: Path) -> None:
    sqlite(tmp_path).close()
    _tamper(tmp_path, "PRAGMA user_version = 1")
    with pytest.raises(LocalFault) as caught:
        sqlite(tmp_path)
    assert caught.value.id == "store.version_old"


def test_a_file_that_is_no_database_is_one_sentence(tmp_path: Path) -> None:
    sqlite(tmp_path).close()
    database(tmp_path).write_bytes(b"not a database, but long enough to have a header of its own" * 40)
    with raises("store.damaged", "store.sqlite", "SQLITE_NOTADB"):
        sqlite(tmp_path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE collections SET signed = x'00'",
        "UPDATE collections SET roster = x'00'",
        "UPDATE collections SET question = 'another'",
        "UPDATE collections SET frozen = x'00'",
        "UPDATE collections SET fake_seed = x'00'",
        "UPDATE collections SET attempt = 0",
        "UPDATE collections SET count = -1",
        "DELETE FROM collections",
        "UPDATE audit SET event = 'another'",
        "DELETE FROM audit",
        "UPDATE store SET identity = x'00'",
        "UPDATE store SET generation = 0",
    ],
)
def test_what_is_fixed_cannot_be_changed_by_a_slip(tmp_path: Path, rng: Randomness, statement: str) -> None:
    with sqlite(tmp_path) as store:
        frozen(store)
        store.fake_seed(DIGEST, rng)
        store.put_delivery_state(DIGEST, stored(1), vector_of(1))
        with raises("store.failed", "CONSTRAINT"):
            store._database.run(statement)


@pytest.mark.parametrize("statement", ["UPDATE submissions SET share = x'00'", "DELETE FROM submissions"])
def test_submissions_cannot_be_changed_by_a_slip(tmp_path: Path, statement: str) -> None:
    with sqlite(tmp_path) as store:
        frozen(store)
        with raises("store.failed", "CONSTRAINT"):
            store._file(DIGEST)._database.run(statement)


# The order of writes.


def test_a_final_vector_is_on_the_disk_before_the_row_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    with sqlite(tmp_path) as store:
        frozen(store)
        fsync, replace = os.fsync, Path.replace

        def noted_fsync(handle: int) -> None:
            steps.append("fsync " + Path(os.readlink(f"/proc/self/fd/{handle}")).name)
            fsync(handle)

        def noted_replace(self: Path, target: Path) -> Path:
            steps.append(f"rename {target.name}")
            return replace(self, target)

        monkeypatch.setattr(os, "fsync", noted_fsync)
        monkeypatch.setattr(Path, "replace", noted_replace)
        store._database._connection.set_trace_callback(
            lambda sql: steps.append(sql) if sql in ("BEGIN IMMEDIATE", "COMMIT") else None
        )
        store.put_delivery_state(DIGEST, stored(1), vector_of(1))
        (name,) = (path.name for path in (tmp_path / "party" / "vectors").iterdir())
    assert steps == [
        *(f"fsync {name}.partial", f"rename {name}", "fsync vectors"),
        *("BEGIN IMMEDIATE", "COMMIT"),
        *("fsync witness.partial", "rename witness", "fsync party"),
    ]


def test_vectors_that_no_row_names_are_removed_when_the_store_opens(tmp_path: Path) -> None:
    with sqlite(tmp_path) as store:
        frozen(store)
        store.put_delivery_state(DIGEST, stored(1), vector_of(1))
    vectors = tmp_path / "party" / "vectors"
    (named,) = vectors.iterdir()
    for name in (f"{DIGEST.hex()}.2.7.vector", f"{DIGEST.hex()}.3.7.vector.partial"):
        (vectors / name).write_bytes(b"cut short by a crash")
    with sqlite(tmp_path) as store:
        assert list(vectors.iterdir()) == [named]
        assert np.array_equal(store.final_vector(DIGEST), vector_of(1))


@pytest.mark.parametrize("damage", ["changed", "cut", "gone"])
def test_a_damaged_vector_is_not_given_out(tmp_path: Path, damage: str) -> None:
    with sqlite(tmp_path) as store:
        frozen(store)
        store.put_delivery_state(DIGEST, stored(1), vector_of(1))
        (path,) = (tmp_path / "party" / "vectors").iterdir()
        whole = path.read_bytes()
        path.unlink()
        if damage != "gone":
            path.write_bytes(whole[:-1] + b"?" if damage == "changed" else whole[:-1])
        with raises("store.vector_damaged"):
            store.final_vector(DIGEST)


def test_a_full_disk_is_said_and_loses_nothing(tmp_path: Path) -> None:
    with sqlite(tmp_path) as store:
        opened(store)
        store.submit_many([submission(1)])
        database = store._file(DIGEST)._database
        pages = database.row("PRAGMA page_count")[0]
        database.row(f"PRAGMA max_page_count = {pages + 1}")
        with raises("store.no_room"):
            store.submit_many([submission(number, share=bytes(5_000)) for number in range(2, 20)])
        assert (store.count(DIGEST), len(list(store.rows(DIGEST)))) == (1, 1)
        database.row("PRAGMA max_page_count = 1000000")
        assert store.submit(DIGEST, submission(2).row, b"share") is Verdict.STORE


def test_more_collections_than_open_files_are_served(tmp_path: Path) -> None:
    digests = [bytes([number]) * 32 for number in range(1, 12)]
    with sqlite(tmp_path) as store:
        for number, digest in enumerate(digests):
            opened(store, digest, Question(b"a", str(number)))
        for number in range(30):
            store.submit_many([submission(number, digest) for digest in digests])
        assert [store.count(digest) for digest in digests] == [30] * len(digests)
        assert len(store._files) <= 4


def test_a_vector_is_not_written_over_the_one_that_is_named(tmp_path: Path) -> None:
    vectors = tmp_path / "party" / "vectors"
    with sqlite(tmp_path) as store:
        frozen(store)
        store.put_delivery_state(DIGEST, stored(1), vector_of(1))
        (first,) = vectors.iterdir()
        for again in (vector_of(1), vector_of(2)):
            with suppress(LocalFault):
                store.put_delivery_state(DIGEST, stored(1), again)
            assert list(vectors.iterdir()) == [first], "and what was written next to it is gone"
        assert np.array_equal(store.final_vector(DIGEST), vector_of(1))


# Erasure.


def test_nothing_of_what_is_erased_is_left_in_any_file(tmp_path: Path, rng: Randomness) -> None:
    with sqlite(tmp_path) as store:
        made = frozen(store, 500)
        seed = store.fake_seed(DIGEST, rng)
        store.put_delivery_state(DIGEST, stored(1), vector_of(1))
        secrets = [one.share for one in made[::50]] + [seed, vector_of(1)[3].tobytes()]
        assert [_is_somewhere(tmp_path, secret) for secret in (*secrets, made[7].row)] == [True] * len(secrets) + [True]
        store.erase(DIGEST)
        assert [_is_somewhere(tmp_path, secret) for secret in secrets] == [False] * len(secrets)
        assert _is_somewhere(tmp_path, made[7].row), "until all rows are forgotten, users may ask about theirs"
        store.forget_rows(DIGEST)
        assert not _is_somewhere(tmp_path, made[7].row)
    assert [_is_somewhere(tmp_path, secret) for secret in secrets] == [False] * len(secrets)


def test_an_erasure_that_was_interrupted_is_completed_when_the_store_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = sqlite(tmp_path)
    made = frozen(store, 10)
    monkeypatch.setattr("peos.store.sqlite.wipe", _interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.erase(DIGEST)
    store.close()
    monkeypatch.undo()
    assert _is_somewhere(tmp_path, made[0].share)
    with sqlite(tmp_path) as store:
        assert store.collection(DIGEST).erased
        assert list(store.rows(DIGEST)) == []
        assert not _is_somewhere(tmp_path, made[0].share)


def test_an_erasure_that_a_reader_holds_up_is_not_called_done_and_is_completed_later(
    tmp_path: Path, rng: Randomness
) -> None:
    with sqlite(tmp_path) as store:
        frozen(store)
        seed = store.fake_seed(DIGEST, rng)
    with closing(sqlite3.connect(database(tmp_path), isolation_level=None)) as reader:
        with sqlite(tmp_path) as store:
            store.audit("operator", {"name": "alice"})
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM collections").fetchone()
            for _ in range(2):
                with raises("store.erasing"):
                    store.erase(DIGEST)
            assert "erased" not in [entry.event for entry in store.audit_entries()]
            assert _is_somewhere(tmp_path, seed), "or the test shows nothing"
            with raises("store.shares_state"):
                store.fake_seed(DIGEST, rng)
        with sqlite(tmp_path) as store:  # a reader does not keep it from opening
            assert _is_somewhere(tmp_path, seed)
            reader.execute("COMMIT")
            store.erase(DIGEST)
            assert not _is_somewhere(tmp_path, seed)
            assert [entry.event for entry in store.audit_entries()][-1] == "erased"


def _interrupted(*_: object) -> int:
    raise KeyboardInterrupt


# Backups.


def _unfinished(store: SqliteStore) -> dict[str, bytes]:
    """One collection in each state that matters, each with a question of its own."""
    digests = {}
    for number, state in enumerate(("draft", "open", "closed", "frozen", "shuffling", "delivered", "aborted")):
        digest, question = bytes([0x30 + number]) * 32, Question(b"a", state)
        digests[state] = digest
        if state in ("frozen", "shuffling", "delivered"):
            frozen(store, 2, digest, question)
        else:
            store.put_collection(digest, b"", b"", question, State.DRAFT if state == "draft" else State.OPEN)
        steps = {"closed": [State.CLOSED], "shuffling": [State.SHUFFLING], "aborted": [State.ABORTED]}
        steps["delivered"] = [State.SHUFFLING, State.DELIVERED]
        for step in steps.get(state, []):
            store.set_state(digest, step)
    return digests


def test_a_store_restored_from_a_backup_is_refused_and_once_accepted_signs_nothing_unfinished(
    tmp_path: Path, rng: Randomness
) -> None:
    backup = tmp_path / "backup.sqlite"
    with sqlite(tmp_path) as store:
        digests = _unfinished(store)
        identity = store.identity
    shutil.copy(database(tmp_path), backup)
    with sqlite(tmp_path) as store:
        store.set_state(digests["open"], State.CLOSED)  # after the backup: forgotten by it
    shutil.copy(backup, database(tmp_path))
    for _ in range(2):  # a refusal changes nothing
        with raises("store.older"):
            sqlite(tmp_path)
    with sqlite(tmp_path, restored=True) as store:
        lost = {state for state, digest in digests.items() if store.collection(digest).lost}
        assert lost == {"open", "closed", "frozen", "shuffling"}
        for state in lost:
            digest = digests[state]
            refused = (
                lambda digest=digest: store.put_delivery_state(digest, DeliveryState(Phase.FREE, 9, 9)),
                lambda digest=digest: store.put_frozen(digest, FROZEN, ANNOUNCED, []),
                lambda digest=digest: store.fake_seed(digest, rng),
                lambda digest=digest: store.set_state(digest, State.SHUFFLING),
            )
            for call in refused:
                with raises("collection.restored"):
                    call()
            assert store.delivered_before(Question(b"a", state)) == digest
            store.set_state(digest, State.ABORTED, "restored from a backup")
        with pytest.raises(Closed):
            store.submit(digests["open"], submission(1).row, b"share")
        store.set_state(digests["delivered"], State.PUBLISHED)
        opened(store, OTHER)
        assert (store.identity, store.collection(OTHER).lost) == (identity, False)
    with sqlite(tmp_path) as store:  # accepted once is enough
        assert store.collection(digests["frozen"]).lost
        assert store.verify_audit() > 0


@pytest.mark.parametrize("gone", ["database", "witness"])
def test_a_store_without_its_witness_or_a_witness_without_its_store_is_refused(tmp_path: Path, gone: str) -> None:
    witness = tmp_path / "elsewhere" / "witness"
    witness.parent.mkdir()
    with sqlite(tmp_path, witness=witness) as store:
        opened(store)
        generation = store.generation
    if gone == "witness":
        witness.unlink()
    else:
        shutil.rmtree(tmp_path / "party")  # with a backup of nothing at all, even the folder is new
    with raises("store.older"):
        sqlite(tmp_path, witness=witness)
    with sqlite(tmp_path, witness=witness, restored=True) as store:
        assert store.generation > generation
        assert [here.lost for here in store.collections()] == ([True] if gone == "witness" else [])


def test_a_crash_between_a_change_and_its_witness_is_not_mistaken_for_a_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = sqlite(tmp_path)
    opened(store)
    monkeypatch.setattr("peos.store.private_files.write_witness", _interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.set_state(DIGEST, State.CLOSED)
    monkeypatch.undo()
    store.close()
    with sqlite(tmp_path) as store:
        assert (store.collection(DIGEST).state, store.collection(DIGEST).lost) == (State.CLOSED, False)


def test_a_first_opening_cut_short_is_not_mistaken_for_a_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("peos.store.private_files.write_witness", _interrupted)
    with pytest.raises(KeyboardInterrupt):
        sqlite(tmp_path)
    monkeypatch.undo()
    sqlite(tmp_path).close()


def test_a_witness_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    sqlite(tmp_path).close()
    for text in ("", "peos store 1\nxyz\n", "peos store 2\n00\n1\n1\n00\n"):
        (tmp_path / "party" / "witness").write_text(text)
        with raises("store.witness"):
            sqlite(tmp_path)


def test_a_collection_whose_submissions_are_gone_is_noticed(tmp_path: Path) -> None:
    with sqlite(tmp_path) as store:
        frozen(store)
        frozen(store, 3, OTHER, Question(b"another"))
    (tmp_path / "party" / "submissions" / f"{OTHER.hex()}.sqlite").unlink()
    with raises("store.older", "1 collections"):
        sqlite(tmp_path)
    with sqlite(tmp_path, restored=True) as store:
        assert store.collection(OTHER).lost
        store.erase(OTHER)
    sqlite(tmp_path).close()


# The audit log.


@pytest.mark.parametrize(
    ("tampering", "mistake"),
    [
        ("UPDATE audit SET event = 'another' WHERE number = 3", ("store.audit_chain", "3")),
        ("UPDATE audit SET at = at + 1 WHERE number = 2", ("store.audit_chain", "2")),
        ("UPDATE audit SET fields = '{}' WHERE number = 2", ("store.audit_chain", "2")),
        ("DELETE FROM audit WHERE number = 2", ("store.audit_chain", "2")),
        ("DELETE FROM audit WHERE number = 1", ("store.audit_chain", "1")),
        ("DELETE FROM audit WHERE number > 3", ("store.audit_witness", "3")),
    ],
)
def test_an_audit_log_that_was_tampered_with_is_noticed(
    tmp_path: Path, tampering: str, mistake: tuple[str, ...]
) -> None:
    with sqlite(tmp_path) as store:
        frozen(store)
        assert store.verify_audit() == 4
        connection = store._database._connection
        for trigger in ("audit_fixed", "audit_stay"):
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute(tampering)
        with raises(*mistake):
            store.verify_audit()


def _is_somewhere(path: Path, secret: bytes) -> bool:
    return any(secret in file.read_bytes() for file in path.rglob("*") if file.is_file())


def _tamper(path: Path, statement: str) -> None:
    connection = sqlite3.connect(database(path))
    connection.execute(statement)
    connection.commit()
    connection.close()
