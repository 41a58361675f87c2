"""A party's own folder: private, used by one process, its files written whole or not at all.

The witness is a small file that counts a store's changes outside the database. A database that lags behind it was
restored from a backup: what it says of collections was overtaken, and acting on it could produce a second output.
Kept on another disk, the witness also tells when the whole folder was restored.
"""

import errno
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from peos.errors import Full, LocalFault, PeosError, WrongInput, in_words

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_BLOCK: Final = 1 << 20
_LEAST_ROOM: Final = 1 << 16
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)
_NO_DESCRIPTOR: Final = (errno.EMFILE, errno.ENFILE)
PUBLIC: Final = 0o644  # of what is made to be handed out: cards and invitations
_HEAD: Final = "peos store 1"


def private_folder(path: Path) -> None:
    """Make the folder, for its owner alone; refuse one that others can enter, or that holds or is another's."""
    _require_made_by_owner(path)
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise WrongInput(
            "store.folder",
            f"the folder {path} cannot be made: {in_words(error)}",
            hint="name a folder where this account may write",
        ) from None
    _require_private(path, "folder", "0700")
    with in_sentences(path, "listed"), os.scandir(path) as found:
        for one in found:
            with suppress(FileNotFoundError):  # another command's, which is done with it
                if one.stat(follow_symlinks=False).st_uid != os.geteuid():
                    raise _of_another(f"{path / one.name}, in this account's folder,")


def _require_made_by_owner(path: Path) -> None:
    """Root can write anywhere, and what it would make in an operator's folder the operator could not use."""
    there = next(one for one in (path, *path.absolute().parents) if one.exists())
    if os.geteuid() == 0 and there != path and there.stat().st_uid != 0:
        raise WrongInput(
            "store.owner",
            f"the folder {path} is not there yet, and {there} belongs to another user than root, who would own it",
            hint=f"run as the owner of {there}; or, if root is to go on with it, make it first: mkdir -m 700 {path}",
        )


def writable_folder(path: Path) -> Path:
    """Try whether files can be written to the folder, or it can be made, before anything is worth losing."""
    there = next(one for one in (path, *path.absolute().parents) if one.exists())
    try:
        with tempfile.TemporaryFile(dir=there):
            return path
    except OSError as error:
        raise WrongInput(
            "input.folder",
            f"nothing can be written to the folder {path}: {in_words(error)}",
            hint="give --out a folder where this account may write",
        ) from None


def private_file(path: Path) -> None:
    """Make an empty file for its owner alone, if there is none; refuse one that others can read."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        if error.errno in (*_NO_ROOM, *_NO_DESCRIPTOR):
            raise failure(error, path, "opened") from None
        raise WrongInput(
            "store.file_access",
            f"the file {path} cannot be opened: {in_words(error)}",
            hint="it must be this account's to read and write",
        ) from None
    _require_private(path, "file", "0600")


def _require_private(path: Path, what: str, mode: str) -> None:
    found = path.stat()
    if found.st_uid != os.geteuid():
        raise _of_another(f"the {what} {path}")
    if found.st_mode & _OTHERS:
        raise WrongInput(
            "store.open_to_others", f"the {what} {path} is open to other users", hint=f"chmod {mode} {path}"
        )


def _of_another(what: str) -> WrongInput:
    hint = "run as its owner, or give all of it to this account: chown -R"
    return WrongInput("store.owner", f"{what} belongs to another user", hint=hint)


def lock(path: Path) -> int:
    """Hold the folder for this process; the operating system lets go of it when the process ends, however it ends."""
    private_file(path)
    handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise WrongInput(
            "store.in_use", f"another process is using {path.parent}", hint="stop it first, or use another folder"
        ) from None
    return handle


def is_locked(path: Path) -> bool:
    """Whether a process holds it."""
    try:
        unlock(lock(path))
    except WrongInput:
        return True
    return False


def unlock(handle: int) -> None:
    """Let another process have the folder."""
    os.close(handle)


def write_durably(path: Path, data: Iterable[bytes | memoryview], *, mode: int = 0o600) -> None:
    """The file, whole and on the disk under its name, before this returns; its owner's alone unless it is public."""
    partial = path.with_name(path.name + ".partial")
    with in_sentences(path, "written"):
        try:
            handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
            with os.fdopen(handle, "wb", buffering=0) as file:
                if mode == PUBLIC:  # whatever this process's umask is
                    os.fchmod(handle, mode)
                for block in data:
                    left = memoryview(block)
                    while left:
                        left = left[file.write(left) :]
                os.fsync(file.fileno())
            partial.replace(path)
            sync_folder(path.parent)
        except OSError:
            partial.unlink(missing_ok=True)
            raise


@contextmanager
def in_sentences(path: Path, done: str) -> Iterator[None]:
    """The operating system's errors about a file as ours: `done` is what could not be done with it."""
    try:
        yield
    except OSError as error:
        raise failure(error, path, done) from None


def failure(error: OSError, path: Path, done: str) -> PeosError:
    """What the operating system met, in a sentence: room and descriptors come back by themselves, a fault does not."""
    if error.errno in _NO_ROOM:
        return Full(
            "store.folder_full", f"there is no room left in {path.parent}", hint="make room, and give the command again"
        )
    if error.errno in _NO_DESCRIPTOR:
        return Full(
            "store.open_files",
            f"{path.name} cannot be {done} in {path.parent}: {in_words(error)}",
            hint="raise the limit of open files (`ulimit -n`); servers go on by themselves",
        )
    return LocalFault(
        "store.file_failed",
        f"{path.name} cannot be {done} in {path.parent}: {in_words(error)}",
        hint="check the disk and the folder",
    )


def has_descriptors() -> bool:
    """Whether this process may open one more file."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def is_full(folder: Path) -> bool:
    """Whether there is next to no room for this account on the disk where the folder is."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize < _LEAST_ROOM


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable: a renamed file is only as safe as its folder's entry."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def wipe(path: Path) -> None:
    """Overwrite a file and remove it. Disks that write elsewhere (flash, journals) may keep a copy all the same."""
    with in_sentences(path, "erased"):
        try:
            with path.open("r+b", buffering=0) as file:
                left = os.fstat(file.fileno()).st_size
                while left > 0:
                    left -= file.write(bytes(min(left, _BLOCK)))
                os.fsync(file.fileno())
        except FileNotFoundError:
            return
        path.unlink()
        sync_folder(path.parent)


def wipe_all_but(path: Path, names: Set[str]) -> None:
    """Overwrite and remove every file of a folder but those of these names."""
    with in_sentences(path, "read"):
        found = [inner for inner in path.iterdir() if inner.name not in names]
    for inner in found:
        wipe(inner)


def wipe_folder(path: Path) -> None:
    """Overwrite and remove every file of a folder, and the folder."""
    if not path.exists():
        return
    wipe_all_but(path, frozenset())
    with in_sentences(path, "removed"):
        path.rmdir()
        sync_folder(path.parent)


@dataclass(frozen=True)
class Witness:
    """The content of the witness file: which store, its generation, and its audit log's length and last hash."""

    identity: bytes
    generation: int
    entries: int
    head: bytes


def read_witness(path: Path) -> Witness | None:
    """The witness; None if there is none."""
    try:
        text = path.read_text("ascii")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        text = ""
    except OSError as error:
        raise failure(error, path, "read") from None
    try:
        head, identity, generation, entries, last = text.splitlines()
        witness = Witness(bytes.fromhex(identity), int(generation), int(entries), bytes.fromhex(last))
    except ValueError:
        head = ""
    if head != _HEAD:
        raise LocalFault(
            "store.witness", f"the witness {path} cannot be read", hint="it is not a file to edit; see its backup"
        )
    return witness


def write_witness(path: Path, witness: Witness) -> None:
    """Set the witness, durably."""
    lines = (_HEAD, witness.identity.hex(), str(witness.generation), str(witness.entries), witness.head.hex())
    write_durably(path, ["".join(f"{line}\n" for line in lines).encode("ascii")])
