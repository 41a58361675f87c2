"""A backup has what a shuffler needs to be itself again, and no report unless asked; what was changed is refused."""

import io
import json
import tarfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest

from peos.collection.document import Document
from peos.collection.lifecycle import State
from peos.crypto import vault
from peos.crypto.randomness import Randomness
from peos.net.certificates import DAYS
from peos.store.base import Submission
from peos.store.private_files import wipe
from peos.store.sqlite import SqliteStore
from peos.wire.documents import sign_document
from shuffler import backup, keys
from shuffler.config import Config, read
from tests.raising import raises
from tests.unit.collection.made import ANALYZER, DOCUMENT
from tests.unit.shuffler_process.test_config import MINIMAL, written
from tests.unit.store.made import ASKED, DIGEST, FROZEN, OTHER, submission

RNG: Final = Randomness(b"\x0b" * 32)
WEEK: Final = 604_800


@pytest.fixture(autouse=True)
def _quick_passphrases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vault, "COST", 10)


@dataclass(frozen=True)
class Party:
    """A shuffler with a collection that is frozen and one that is open, its store in use by this process."""

    config: Config
    store: SqliteStore
    submissions: list[Submission]
    seed: bytes

    def needles(self) -> list[bytes]:
        """What must not be found: shares, ids and commitments of every submission, and the seed of the fakes."""
        rows = [one.row for one in self.submissions]
        return [
            *(one.share for one in self.submissions),
            *(row[:16] for row in rows),
            *(row[16:] for row in rows),
            self.seed,
        ]


def signed(erase_by: int) -> bytes:
    """A document that ends then."""
    document: Document = replace(DOCUMENT, closes_at=erase_by - 20, shuffle_by=erase_by - 10, erase_by=erase_by)
    return sign_document(document, ANALYZER)


def folder_for(path: Path) -> Path:
    path.mkdir()
    (path / "passphrase").write_text("a passphrase of this test", encoding="utf-8")
    (path / "passphrase").chmod(0o600)
    return path


@pytest.fixture
def party(tmp_path: Path, request: pytest.FixtureRequest) -> Party:
    """`erase_by` of the frozen collection is in a week, or as the test's parameter says."""
    until = int(time.time()) + getattr(request, "param", WEEK)
    folder = folder_for(tmp_path / "north")
    config = read(
        written(folder, MINIMAL.replace('folder = "north"', 'folder = "state"\npassphrase_file = "passphrase"'))
    )
    (folder / "analyzer.card").write_bytes(b"a card")
    keys.make(config)
    store = SqliteStore(config.folder, RNG)
    store.put_collection(DIGEST, signed(until), b"roster", ASKED, State.OPEN)
    store.put_collection(OTHER, signed(until + WEEK), b"roster", replace(ASKED, epoch="later"), State.OPEN)
    made = [submission(number, of) for of in (DIGEST, OTHER) for number in range(8)]
    store.submit_many(made)
    store.set_state(DIGEST, State.CLOSED)
    rows = sorted(one.row for one in made if one.collection == DIGEST)
    store.put_frozen(DIGEST, FROZEN, b"announcements", rows)
    return Party(config, store, made, store.fake_seed(DIGEST, RNG))


def content(folder: Path) -> bytes:
    """Every byte of every file below a folder."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def restored(tmp_path: Path, archive: Path) -> Config:
    """On another machine: the passphrase was carried there, and nothing else."""
    there = folder_for(tmp_path / "elsewhere") / "shuffler.toml"
    assert backup.restore(there, archive).folder == there.parent / "state"
    return read(there)


def test_a_shuffler_is_itself_again_and_has_no_report(party: Party, tmp_path: Path) -> None:
    out = tmp_path / "north.backup"
    assert all(needle in content(party.config.folder) for needle in party.needles())
    manifest = backup.write(party.config, out, with_reports=False)
    assert (manifest.collections, manifest.destroy_by) == (2, None)
    assert out.stat().st_mode & 0o777 == 0o600
    party.store.set_state(DIGEST, State.ABORTED)
    party.store.erase(DIGEST)

    there = restored(tmp_path, out)
    found = content(there.folder.parent) + out.read_bytes()
    assert not [needle for needle in party.needles() if needle in found]
    assert (there.folder.parent / "analyzer.card").read_bytes() == b"a card"
    assert keys.load(there) == keys.load(party.config)
    assert not (there.folder / "witness").exists()
    with raises("store.older"):
        SqliteStore(there.folder, RNG)
    again = SqliteStore(there.folder, RNG, restored=True)
    try:
        assert [one.lost for one in again.collections()] == [True, True]
        assert again.verify_audit() >= 5
        assert again.asked_since(ASKED.analyzer, 0.0) == [ASKED.question] * 2, "the limits of a day remember them"
    finally:
        again.close()


def test_reports_are_in_it_if_asked_for_with_the_date_of_its_end(party: Party, tmp_path: Path) -> None:
    evidence = party.config.folder / "evidence" / DIGEST.hex()
    evidence.mkdir(parents=True)
    (evidence / "key").write_bytes(b"seeds of an inspection")
    out = tmp_path / "north.backup"
    manifest = backup.write(party.config, out, with_reports=True)
    with tarfile.open(out) as archive:
        shown = json.load(archive.extractfile("manifest.json") or io.BytesIO())
    day = time.strftime("%Y-%m-%d", time.gmtime(manifest.destroy_by))
    assert shown["destroy_by_date"].startswith(day)
    assert manifest.destroy_by is not None
    assert abs(manifest.destroy_by - time.time() - WEEK) < 3600, "the first of both collections"
    there = restored(tmp_path, out)
    found = content(there.folder)
    assert not [needle for needle in party.needles() if needle not in found]
    assert b"seeds of an inspection" not in out.read_bytes() + found
    assert not list(tmp_path.glob(".*")), "nothing half made is left"


@pytest.mark.parametrize("party", [-60], indirect=True)
def test_after_its_date_the_reports_stay_out(party: Party, tmp_path: Path) -> None:
    out = tmp_path / "north.backup"
    assert backup.write(party.config, out, with_reports=True).is_outdated
    there = restored(tmp_path, out)
    found = content(there.folder)
    assert not [needle for needle in party.needles() if needle in found]
    again = SqliteStore(there.folder, RNG, restored=True)
    assert len(again.collections()) == 2
    again.close()


@pytest.mark.parametrize("spoil", ["missing", "another"])
def test_without_its_passphrase_nothing_is_restored_and_with_it_the_same_command_is_enough(
    party: Party, tmp_path: Path, spoil: str
) -> None:
    out = tmp_path / "north.backup"
    backup.write(party.config, out, with_reports=True)
    folder = folder_for(tmp_path / "elsewhere")
    phrase = (folder / "passphrase").read_bytes()
    if spoil == "missing":
        (folder / "passphrase").unlink()
    else:
        (folder / "passphrase").write_bytes(b"not the one of these keys")
    with raises("config.passphrase_unreadable" if spoil == "missing" else "key.passphrase"):
        backup.restore(folder / "shuffler.toml", out)
    assert not list((folder / "state").iterdir())
    (folder / "passphrase").write_bytes(phrase)
    (folder / "passphrase").chmod(0o600)
    assert backup.restore(folder / "shuffler.toml", out).folder == folder / "state"


def test_nothing_is_replaced_and_nothing_is_mixed(party: Party, tmp_path: Path) -> None:
    out = tmp_path / "north.backup"
    backup.write(party.config, out, with_reports=False)
    before = out.read_bytes()
    with raises("input.file_exists"):
        backup.write(party.config, out, with_reports=False)
    assert out.read_bytes() == before
    held = content(party.config.folder)
    with raises("backup.folder_used", "state"):
        backup.restore(party.config.path, out)
    assert content(party.config.folder) == held
    with raises("input.file_unwritable"):
        backup.write(party.config, tmp_path / "none" / "north.backup", with_reports=False)


@pytest.mark.parametrize("at", [0.1, 0.5, 0.9])
def test_a_changed_byte_is_noticed_before_anything_is_written(party: Party, tmp_path: Path, at: float) -> None:
    out = tmp_path / "north.backup"
    backup.write(party.config, out, with_reports=False)
    damaged = bytearray(out.read_bytes())
    with tarfile.open(out) as archive:
        members = [one for one in archive.getmembers() if one.size and one.name != "manifest.json"]
    hit = members[int(at * len(members))]
    damaged[hit.offset_data + hit.size // 2] ^= 1
    out.write_bytes(damaged)
    with raises("backup.damaged", hit.name):
        restored(tmp_path, out)
    assert [one.name for one in (tmp_path / "elsewhere").iterdir()] == ["passphrase"]


@pytest.mark.parametrize("given", [b"", b"not an archive", b"\0" * 20480])
def test_what_is_no_backup_is_refused(tmp_path: Path, given: bytes) -> None:
    (tmp_path / "given").write_bytes(given)
    with raises("backup.damaged"):
        restored(tmp_path, tmp_path / "given")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'"made": 1', b'"made":"1'),
        (b"backup 1", b"backup 2"),
        (b'"files": {', b'"filed": {'),
        (b'"name": "', b'"name": 7"'),
    ],
)
def test_a_manifest_that_says_something_else_is_refused(
    party: Party, tmp_path: Path, before: bytes, after: bytes
) -> None:
    out = tmp_path / "north.backup"
    backup.write(party.config, out, with_reports=False)
    assert out.read_bytes().count(before) == 1
    out.write_bytes(out.read_bytes().replace(before, after))
    with raises("backup.damaged", "manifest"):
        restored(tmp_path, out)


def test_a_file_that_is_not_there_and_one_of_another_role_are_named(party: Party, tmp_path: Path) -> None:
    with raises("backup.unreadable"):
        backup.restore(tmp_path / "shuffler.toml", tmp_path / "none")
    backup.write(party.config, tmp_path / "north.backup", with_reports=False)
    text = (tmp_path / "north.backup").read_bytes().replace(b'"role": "shuffler"', b'"role": "analyzer"')
    (tmp_path / "north.backup").write_bytes(text)
    with raises("backup.role", "analyzer"):
        restored(tmp_path, tmp_path / "north.backup")


def test_keys_change_between_collections_only(party: Party) -> None:
    before = keys.load(party.config)
    with raises("store.in_use"):
        backup.rotate(party.config, keep_identity=False, early=True)
    party.store.close()
    with raises("key.rotation_under_way", "2"):
        backup.rotate(party.config, keep_identity=False, early=True)
    store = SqliteStore(party.config.folder, RNG)
    for digest in (DIGEST, OTHER):
        store.set_state(digest, State.ABORTED)
        store.erase(digest)
    store.close()
    with raises("key.rotation_early"):
        backup.rotate(party.config, keep_identity=False, early=False)
    assert keys.load(party.config) == before

    assert backup.rotate(party.config, keep_identity=True, early=True) == before.identity.public
    certificates = keys.load(party.config)
    assert {certificates.peers.pem, certificates.users.pem}.isdisjoint({before.peers.pem, before.users.pem})
    old = content(party.config.folder)
    identity = backup.rotate(party.config, keep_identity=False, early=True)
    anew = keys.load(party.config)
    assert identity == anew.identity.public
    assert anew.identity.public != before.identity.public
    assert (party.config.folder / keys.CARD).read_bytes() == anew.signed_card
    assert before.identity.public in old, "its card"
    assert before.identity.public not in (party.config.folder / keys.CARD).read_bytes()


def over(party: Party) -> None:
    """Both collections: the first was frozen, and its rows are kept for users; the other was not."""
    party.store.close()
    store = SqliteStore(party.config.folder, RNG)
    for digest in (DIGEST, OTHER):
        store.set_state(digest, State.ABORTED)
        store.erase(digest)
    store.close()


def test_who_has_nothing_to_show_is_asked_no_longer_than_the_others_shuffle(
    party: Party, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other collection would be shuffled by ten seconds before its `erase_by`, in two weeks."""
    over(party)
    ends = time.time() + 2 * WEEK
    monkeypatch.setattr(time, "time", lambda: ends - 100)
    with raises("key.rotation_early"):
        backup.rotate(party.config, keep_identity=True, early=False)
    monkeypatch.setattr(time, "time", lambda: ends - 5)
    backup.rotate(party.config, keep_identity=True, early=False)


@pytest.mark.parametrize("party", [900 * 86_400], indirect=True, ids=["erased in 900 days"])
def test_certificates_that_have_expired_are_exchanged_whatever_might_be_asked(
    party: Party, monkeypatch: pytest.MonkeyPatch
) -> None:
    over(party)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + (DAYS - 1) * 86_400)
    with raises("key.rotation_early"):
        backup.rotate(party.config, keep_identity=True, early=False)
    monkeypatch.setattr(time, "time", lambda: now + (DAYS + 1) * 86_400)
    backup.rotate(party.config, keep_identity=True, early=False)


def test_a_rotation_that_was_cut_off_is_completed_by_init(party: Party, monkeypatch: pytest.MonkeyPatch) -> None:
    over(party)
    before = keys.load(party.config)
    wiped = 0

    def cut_off(path: Path) -> None:
        nonlocal wiped
        if wiped == 3:
            raise KeyboardInterrupt
        wiped += 1
        wipe(path)

    monkeypatch.setattr(keys, "wipe", cut_off)
    with pytest.raises(KeyboardInterrupt):
        backup.rotate(party.config, keep_identity=False, early=True)
    monkeypatch.undo()
    monkeypatch.setattr(vault, "COST", 10)
    with raises("key.no_shuffler"):
        keys.load(party.config)
    assert keys.make(party.config).identity.public != before.identity.public
