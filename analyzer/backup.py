"""`peos analyzer backup` and `restore`, and new keys: what is kept without secrets of collections, unless asked for."""

import os
import re
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from analyzer import keys as keys_
from analyzer.config import Config, read
from analyzer.delivery_receiver import VECTORS
from analyzer.store import LAYOUT, Store
from analyzer.workspace import COLLECTIONS, DATABASE, SERVING, Workspace
from peos.collection.lifecycle import OVER, State
from peos.collection.rotation import asked_until, require_rotatable
from peos.collection.study import StudyState
from peos.crypto.randomness import system
from peos.net.certificates import expiry
from peos.spec import require_name
from peos.store import backup
from peos.store.database import Database
from peos.store.private_files import lock
from peos.wire.documents import erase_by_of, shuffle_by_of
from peos.wire.parties import decode_proposal

ROLE: Final = "analyzer"
RESTORED: Final = "restored from a backup without its reports"
_KEYS: Final = (keys_.KEYS, keys_.CARD)
_VECTOR: Final = re.compile(rf"{backup.REPORTS}/{COLLECTIONS}/([^/]+)/({VECTORS}/[0-9]+-[0-9]+\.rows)")
_WITHOUT_SECRETS: Final = ("UPDATE collection SET key = NULL, parts = NULL, dummies = x''",)


def write(config: Config, out: Path, *, with_reports: bool) -> backup.Manifest:
    """A backup of this analyzer, whether or not it runs; the keys must open, or it would be of no use."""
    identity = keys_.load(config, system()).identity

    def add(writer: backup.BackupWriter) -> backup.Held:
        if not (config.folder / DATABASE).exists():
            return backup.Held()
        with closing(Database(config.folder / DATABASE, LAYOUT)) as database:
            writer.add(DATABASE, database.copied(() if with_reports else _WITHOUT_SECRETS))
            kept = database.rows("SELECT name, proposal, key, parts FROM collection")
        secret = [row for row in kept if with_reports and (row["key"] is not None or row["parts"] is not None)]
        for row in secret:
            _add_vectors(writer, config.folder, row["name"])
        ends = [erase_by_of(decode_proposal(row["proposal"]).document) for row in secret]
        return backup.Held(len(kept), min(ends, default=None))

    return backup.write(out, ROLE, config, identity.public, files=_KEYS, cards=config.shufflers, add=add)


def _add_vectors(writer: backup.BackupWriter, folder: Path, name: str) -> None:
    """What shufflers have delivered; it may be erased at this moment."""
    for path in sorted((folder / COLLECTIONS / name / VECTORS).glob("*.rows")):
        try:
            writer.add_file(f"{backup.REPORTS}/{COLLECTIONS}/{name}/{VECTORS}/{path.name}", path)
        except FileNotFoundError:
            continue


def restore(config_path: Path, archive: Path) -> backup.Restored:
    """Put a backup into the empty folder of a configuration, which is taken from the backup where there is none.

    Without the secrets of collections under way those can never be published: they are aborted here, and named.
    """
    manifest = backup.read_manifest(archive, ROLE)
    config = backup.configured(archive, config_path, read, lambda settings: settings.shufflers)
    with backup.into_empty(config.folder):
        backup.unpack(
            *(config.folder, archive, manifest),
            keys=_KEYS,
            database=DATABASE,
            secrets=_WITHOUT_SECRETS,
            place=_place,
        )
        keys_.load(config, system())
    return backup.Restored(config.folder, manifest, tuple(_given_up(config)))


def _place(name: str) -> str | None:
    vector = _VECTOR.fullmatch(name)
    return f"{COLLECTIONS}/{require_name(vector[1])}/{vector[2]}" if vector else None


def _given_up(config: Config) -> list[str]:
    """Abort, here, what cannot go on."""
    with closing(Store(config.folder / DATABASE)) as store:
        lost = [kept for kept in store.live() if kept.state not in OVER and not kept.dummies]
        for kept in lost:
            store.move(kept.digest, State.ABORTED, RESTORED)
        return [kept.name for kept in lost]


def rotate(config: Config, *, keep_identity: bool, early: bool) -> bytes:
    """New keys and a new card, of an analyzer that does not serve and has no collection or study under way."""
    reached_until = expiry(keys_.load(config, system()).certificate.pem)
    held = lock(config.folder / SERVING)
    try:
        with closing(Workspace(config)) as workspace:
            store = workspace.store
            running = [study for study in store.studies() if study.state is StudyState.RUNNING]
            ends = [
                asked_until(
                    shuffle_by=shuffle_by_of(signed),
                    erase_by=erase_by_of(signed),
                    has_answers=store.get(digest).receipt is not None,
                )
                for digest, proposal in store.over_proposals()
                if (signed := decode_proposal(proposal).document)
            ]
            unfinished = len(store.live()) + len(running)
            require_rotatable(unfinished, ends, time.time(), reached_until=reached_until, early=early)
            keys = keys_.rotate(config, system(), keep_identity=keep_identity)
            store.note("keys rotated", b"", identity=keys.identity.public.hex(), kept=int(keep_identity))
    finally:
        os.close(held)
    return keys.identity.public
