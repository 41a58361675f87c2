"""A party's backup: one file that is there whole or not at all, and says what it is of and until when it may be kept.

It is a tar archive, so that an operator can look into it; the last member is the manifest, with the hash of each other.
Keys, policy, audit log and budgets are always in it. Reports (shares, rows, seeds, vectors, keys that decrypt) are in
it only if they were asked for, and then it bears the date by which it must be destroyed: the first day on which a
collection that is in it has promised that all is erased. What is kept for an inspection is never in it.
"""

import hashlib
import io
import json
import os
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final, Protocol, TypeVar

from peos.collection.cards import plain_text
from peos.errors import WrongInput, in_words
from peos.store.database import without
from peos.store.private_files import failure, private_folder, sync_folder, wipe, write_durably

MANIFEST: Final = "manifest.json"
CONFIGURATION: Final = (
    "configuration"  # the folder in the archive for the party's settings and the cards that they name
)
SETTINGS: Final = f"{CONFIGURATION}/settings.toml"
REPORTS: Final = "reports"  # the folder for what is left out once the date has passed
_FORMAT: Final = "peos backup 1"
_BLOCK: Final = 1 << 20
_MOST_MANIFEST: Final = 64 << 20


class Settings(Protocol):
    """What is asked of any party's configuration."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def name(self) -> str:
        """The organisation's."""

    @property
    def folder(self) -> Path:
        """Where the party lives."""


C = TypeVar("C", bound=Settings)


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a backup says of itself."""

    role: str
    name: str
    identity: str
    collections: int
    made: int  # seconds since 1970, as in documents
    destroy_by: int | None = None  # of one with reports
    files: Mapping[str, str] = field(default_factory=dict, repr=False)  # by name: the SHA-256 of each

    @property
    def is_outdated(self) -> bool:
        """Whether its reports were to be destroyed by now."""
        return self.destroy_by is not None and time.time() >= self.destroy_by

    def lines(self) -> Iterator[str]:
        """As an operator reads it."""
        yield f"{'of':12}  {self.role} {plain_text(self.name)}, identity {self.identity}"
        yield f"{'made':12}  {_moment(self.made)}"
        what = "keys, settings, audit log and budgets"
        reports = "" if self.destroy_by is None else "; reports, seeds and decryption keys of those not erased"
        yield f"{'holds':12}  {what}, {self.collections:,} collections{reports}"
        if self.destroy_by is not None:
            yield f"{'destroy by':12}  {_moment(self.destroy_by)}"


@dataclass(frozen=True)
class Held:
    """What a backup has of collections, and until when its reports may be kept, if it has any."""

    collections: int = 0
    destroy_by: int | None = None


@dataclass(frozen=True)
class Restored:
    """A party's folder from a backup, and the collections that were aborted because they cannot go on."""

    folder: Path
    manifest: Manifest
    aborted: tuple[str, ...] = ()


class BackupWriter:
    """Takes in a backup's files, one after another."""

    def __init__(self, archive: tarfile.TarFile, beside: Path) -> None:
        self._archive = archive
        self._beside = beside
        self._hashes: dict[str, str] = {}

    def add(self, name: str, content: bytes) -> None:
        """A file of this content."""
        self._add(name, io.BytesIO(content), len(content))

    def add_file(self, name: str, path: Path) -> None:
        """A file as it is on the disk."""
        with path.open("rb") as source:
            self._add(name, source, os.fstat(source.fileno()).st_size)

    def add_made(self, name: str, make: Callable[[Path], None]) -> None:
        """What `make` writes to the path that it gets, which is overwritten afterwards."""
        handle, made = tempfile.mkstemp(dir=self._beside, prefix=".backup-")  # 0600
        os.close(handle)
        try:
            make(Path(made))
            self.add_file(name, Path(made))
        finally:
            wipe(Path(made))

    def finish(self, manifest: Manifest) -> Manifest:
        """The last file: what all of it is."""
        done = Manifest(**{**asdict(manifest), "files": dict(self._hashes)})
        shown = {
            "format": _FORMAT,
            **asdict(done),
            "destroy_by_date": _moment(done.destroy_by),
            "made_at": _moment(done.made),
        }
        self.add(MANIFEST, json.dumps(shown, indent=1, ensure_ascii=False).encode())
        return done

    def _add(self, name: str, source: IO[bytes], size: int) -> None:
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = size, 0o600
        hashing = _Hashing(source)
        self._archive.addfile(entry, hashing)
        self._hashes[name] = hashing.digest.hexdigest()


class _Hashing:
    """A file that is hashed as it is read."""

    def __init__(self, source: IO[bytes]) -> None:
        self.digest = hashlib.sha256()
        self._source = source

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(size)
        self.digest.update(data)
        return data


@contextmanager
def writing(out: Path) -> Iterator[BackupWriter]:
    """A new backup under this path, 0600 and durable at the end; refused if anything is there."""
    if out.exists() or out.is_symlink():
        raise WrongInput(
            "input.file_exists", f"{out} exists already", hint="choose another file: no backup is replaced"
        )
    try:
        handle, made = tempfile.mkstemp(dir=out.absolute().parent, prefix=f".{out.name}-")  # 0600
    except OSError as error:
        raise WrongInput(
            "input.file_unwritable", f"{out} cannot be written: {in_words(error)}", hint="give --out another file"
        ) from None
    path = Path(made)
    try:
        with os.fdopen(handle, "wb") as file:
            with tarfile.open(fileobj=file, mode="w|", format=tarfile.PAX_FORMAT) as archive:
                yield BackupWriter(archive, path.parent)
            file.flush()
            os.fsync(file.fileno())
        path.rename(out)
        sync_folder(out.absolute().parent)
    except OSError as error:
        wipe(path)
        raise failure(error, out, "written") from None
    except BaseException:
        wipe(path)
        raise


def write(
    out: Path,
    role: str,
    settings: Settings,
    identity: bytes,
    *,
    files: Iterable[str],
    cards: Iterable[Path],
    add: Callable[[BackupWriter], Held],
) -> Manifest:
    """A party's backup: its settings, with the cards that they name, these files of its folder, and what `add` adds."""
    with writing(out) as writer:
        writer.add_file(SETTINGS, settings.path)
        for number, card in enumerate(cards):
            if card.is_file():
                writer.add_file(f"{CONFIGURATION}/{number}.card", card)
        for name in files:
            if (settings.folder / name).is_file():
                writer.add_file(name, settings.folder / name)
        held = add(writer)
        return writer.finish(
            Manifest(
                role=role,
                name=settings.name,
                identity=identity.hex(),
                made=int(time.time()),
                collections=held.collections,
                destroy_by=held.destroy_by,
            )
        )


def read_manifest(path: Path, role: str) -> Manifest:
    """What a backup of this role holds, once every hash was found right; WrongInput if it is not one."""
    hashes: dict[str, str] = {}
    content: dict[str, Any] = {}
    for name, source in _members(path):
        if name == MANIFEST:
            content = _parsed(path, source.read(_MOST_MANIFEST))
        else:
            hashes[name] = hashlib.file_digest(source, "sha256").hexdigest()  # type: ignore[arg-type]  # it is a reader
    try:
        if content.pop("format") != _FORMAT:
            raise ValueError
        manifest = Manifest(**{name: content[name] for name in Manifest.__dataclass_fields__})
        texts, times = (manifest.role, manifest.name, manifest.identity), (manifest.made, manifest.destroy_by or 0)
        if not (all(isinstance(one, str) for one in texts) and all(isinstance(one, int) for one in times)):
            raise ValueError
        if SETTINGS not in hashes or not isinstance(manifest.files, dict):
            raise ValueError
    except (KeyError, ValueError):
        raise _no_backup(path, "it has no manifest of this version") from None
    if dict(manifest.files) != hashes:
        wrong = sorted(name for name in {*hashes, *manifest.files} if hashes.get(name) != manifest.files.get(name))
        raise _no_backup(path, f"{wrong[0]} in it is not what was written")
    if manifest.role != role:
        raise WrongInput(
            "backup.role",
            f"{path} is the backup of a party of the role {plain_text(manifest.role)}",
            hint="`peos shuffler restore` and `peos analyzer restore` each take their own",
        )
    return manifest


def read_files(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """The files of a backup that `read_manifest` has checked, in order, each to be read before the next."""
    return ((name, source) for name, source in _members(path) if name != MANIFEST)


def require_empty(folder: Path) -> None:
    """A folder to restore into: new, or empty; nothing is ever mixed with what is there."""
    private_folder(folder)
    if found := sorted(one.name for one in folder.iterdir()):
        raise WrongInput(
            "backup.folder_used",
            f"{folder} is not empty: it has {found[0]}",
            hint="name another folder in the configuration, or move this one away",
        )


@contextmanager
def into_empty(folder: Path) -> Iterator[None]:
    """Restore into a folder that is empty, and is again if that fails: the same command may be given once more."""
    require_empty(folder)
    try:
        yield
    except BaseException:
        for path in sorted(folder.rglob("*"), reverse=True):  # what a folder has comes before it
            if path.is_dir():
                path.rmdir()
            else:
                wipe(path)
        raise


def unpack(
    folder: Path,
    archive: Path,
    manifest: Manifest,
    *,
    keys: Iterable[str],
    database: str,
    secrets: Iterable[str],
    place: Callable[[str], str | None],
) -> None:
    """Put a backup's files where they belong; what was to be destroyed by now stays out.

    `secrets` are the statements that take it out of the database, and `place` is where a file of reports belongs.
    """
    for name, source in read_files(archive):
        if name in keys:
            put(folder, name, source)
        elif name == database:
            put(folder, name, without(source.read(), secrets) if manifest.is_outdated else source)
        elif not manifest.is_outdated and (found := place(name)):
            put(folder, found, source)


def put(folder: Path, name: str, source: IO[bytes] | bytes) -> None:
    """A file of a backup, durably in its place in a party's folder."""
    path = folder / name
    for parent in reversed(Path(name).parents):
        private_folder(folder / parent)
    read = io.BytesIO(source).read if isinstance(source, bytes) else source.read
    write_durably(path, iter(lambda: read(_BLOCK), b""))


def configured(archive: Path, config: Path, read: Callable[[Path], C], cards: Callable[[C], Iterable[Path]]) -> C:
    """The settings of the party to be restored, whose folder is empty.

    Where there are none, they are the backup's, and so are the cards that they name and that are missing.
    """
    is_new = not config.exists()
    held = {name: source.read() for name, source in _members(archive) if name.startswith(f"{CONFIGURATION}/")}
    if is_new:
        write_durably(config, [held[SETTINGS]])
    try:
        settings = read(config)
        require_empty(settings.folder)
    except BaseException:
        if is_new:
            config.unlink()
        raise
    for number, card in enumerate(cards(settings) if is_new else ()):
        if not card.exists() and (content := held.get(f"{CONFIGURATION}/{number}.card")):
            card.parent.mkdir(parents=True, exist_ok=True)
            write_durably(card, [content])
    return settings


def _members(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    try:
        with path.open("rb") as file, tarfile.open(fileobj=file, mode="r|") as archive:
            for entry in archive:
                source = archive.extractfile(entry) if entry.isfile() else None
                if source is None:
                    raise _no_backup(path, "it has more than files")
                yield entry.name, source
    except OSError as error:
        raise WrongInput(
            "backup.unreadable", f"{path} cannot be read: {in_words(error)}", hint="name the file of the backup"
        ) from None
    except tarfile.TarError as error:
        raise _no_backup(path, str(error)) from None


def _parsed(path: Path, text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
        if not isinstance(found, dict):
            raise ValueError
        return found
    except ValueError:
        raise _no_backup(path, "its manifest cannot be read") from None


def _no_backup(path: Path, why: str) -> WrongInput:
    return WrongInput("backup.damaged", f"{path} is no backup, or a damaged one: {why}", hint="take another copy of it")


def _moment(seconds: int | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
