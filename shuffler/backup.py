"""`peos shuffler backup` and `restore`, and new keys: what is kept without reports and seeds, unless asked for."""

import re
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from peos.collection.rotation import asked_until, require_rotatable
from peos.crypto.randomness import system
from peos.errors import LocalFault
from peos.net.certificates import expiry
from peos.store import backup
from peos.store.database import Database
from peos.store.schema import LAYOUT
from peos.store.sqlite import SqliteStore
from peos.store.submissions import LAYOUT as SUBMISSIONS
from peos.wire.documents import erase_by_of, shuffle_by_of
from shuffler import keys as keys_
from shuffler.config import Config, read

ROLE: Final = "shuffler"
_STORE: Final = "store.sqlite"
_KEYS: Final = frozenset((*keys_.FILES, keys_.CARD))
_REPORTS: Final = re.compile(rf"{backup.REPORTS}/(submissions/[0-9a-f]{{64}}\.(?:sqlite|rows))")
_WITHOUT_SEEDS: Final = ("UPDATE collections SET fake_seed = NULL WHERE fake_seed IS NOT NULL",)


def write(config: Config, out: Path, *, with_reports: bool) -> backup.Manifest:
    """A backup of this shuffler, whether or not it runs; the keys must open, or it would be of no use."""
    identity = keys_.load(config).identity

    def add(writer: backup.BackupWriter) -> backup.Held:
        if not (config.folder / _STORE).exists():
            return backup.Held()
        with closing(Database(config.folder / _STORE, LAYOUT)) as database:
            writer.add(_STORE, database.copied(() if with_reports else _WITHOUT_SEEDS))
            kept = database.rows("SELECT digest, signed FROM collections ORDER BY number")
        reported = kept if with_reports else []
        ends = [erase_by_of(signed) for digest, signed in reported if _add_reports(writer, config.folder, digest)]
        return backup.Held(len(kept), min(ends, default=None))

    return backup.write(out, ROLE, config, identity.public, files=sorted(_KEYS), cards=config.analyzers, add=add)


def _add_reports(writer: backup.BackupWriter, folder: Path, digest: bytes) -> bool:
    """What there is of one collection; it may be erased at this moment."""
    path, rows = (folder / "submissions" / f"{digest.hex()}.{end}" for end in ("sqlite", "rows"))
    try:
        if path.exists():
            with closing(Database(path, SUBMISSIONS)) as database:
                writer.add_made(f"{backup.REPORTS}/submissions/{path.name}", database.copy_to)
            return True
        if rows.exists():
            writer.add_file(f"{backup.REPORTS}/submissions/{rows.name}", rows)
            return True
    except (LocalFault, FileNotFoundError):
        if path.exists():
            raise
    return False


def restore(config_path: Path, archive: Path) -> backup.Restored:
    """Put a backup into the empty folder of a configuration, which is taken from the backup where there is none.

    Reports of a backup that was to be destroyed by now stay out. There is no witness, so that `serve` wants the
    operator's `--restored`, which gives up what was unfinished.
    """
    manifest = backup.read_manifest(archive, ROLE)
    config = backup.configured(archive, config_path, read, lambda settings: settings.analyzers)
    with backup.into_empty(config.folder):
        backup.unpack(
            *(config.folder, archive, manifest), keys=_KEYS, database=_STORE, secrets=_WITHOUT_SEEDS, place=_place
        )
        keys_.load(config)
    return backup.Restored(config.folder, manifest)


def _place(name: str) -> str | None:
    report = _REPORTS.fullmatch(name)
    return report[1] if report else None


def rotate(config: Config, *, keep_identity: bool, early: bool) -> bytes:
    """New keys and a new card, of a shuffler that does not run and has no collection under way.

    What was pinned for a collection stays valid until that is over, so nothing is signed with two identities. Users ask
    for proofs until `erase_by`, and get them from the identity that signed: `early` does not wait for that.
    """
    kept = keys_.load(config)
    reached_until = max(expiry(kept.users.pem), expiry(kept.peers.pem))
    store = SqliteStore(config.folder, system())  # one process has the folder: a shuffler that runs refuses this
    try:
        ends = [
            asked_until(
                shuffle_by=shuffle_by_of(one.signed), erase_by=erase_by_of(one.signed), has_answers=one.has_rows
            )
            for one in store.finished()
        ]
        unfinished = len(store.unfinished())
        require_rotatable(unfinished, ends, time.time(), reached_until=reached_until, early=early)
        keys = keys_.rotate(config, keep_identity=keep_identity)
        store.audit("keys rotated", {"identity": keys.identity.public.hex(), "kept": int(keep_identity)})
    finally:
        store.close()
    return keys.identity.public
