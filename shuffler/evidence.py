"""Evidence for the inspection, on the disk before anything is delivered, so that a restart excuses no shuffler.

All of it is sealed under a key of the collection's, and that key under the vault's. What can be recomputed is kept all
the same: compared with the ciphertexts, which cannot, it is little. It is overwritten when the inspection is over, when
the collection ends, and by `shuffle_by` at the latest (docs/decisions/0019).
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peos.chunks import chunks, rows_of
from peos.crypto.kdf import Context, StreamKey
from peos.crypto.randomness import KEY_BYTES, system
from peos.crypto.schemes.base import Packed
from peos.crypto.vault import SEAL_BYTES, Vault
from peos.errors import LocalFault, in_words
from peos.shuffle.effects import Handle, Mix, Pass, Split
from peos.shuffle.inspect.evidence import Trail
from peos.shuffle.inspect.machine import Record
from peos.shuffle.messages import Header, Kind, Step
from peos.shuffle.schedule import Deliver, HandOver, Hide, Leave, Schedule
from peos.shuffle.vectors import Vector, as_words, in_rows
from peos.store.private_files import private_folder, wipe, write_durably

FOLDER: Final = "evidence"
_KEY: Final = "key"
_RECORD: Final = "record"
_ROWS: Final = "evidence rows"
_TASKS: Final[Mapping[str, type[Split | Mix | Pass]]] = {"split": Split, "mix": Mix, "pass": Pass}
Told = tuple[Header, NDArray[np.uint8]]


@dataclass(frozen=True, repr=False)
class Found:
    """The evidence kept of an attempt."""

    record: Record
    vectors: Mapping[Handle, Vector]


class Evidence:
    """One collection's, of one attempt at most. Blocking, and not for two threads at once."""

    def __init__(self, folder: Path, vault: Vault, me: int, schedule: Schedule, collection: bytes) -> None:
        self._parent = folder / FOLDER
        self._folder = self._parent / collection.hex()
        self._vault = vault
        self._me = me
        self._schedule = schedule
        self._collection = collection
        self._attempt: int | None = None

    @property
    def attempt(self) -> int:
        """The attempt that is kept whole; 0 if there is none. What cannot be opened any more is as good as lost."""
        if self._attempt is None:
            content = self._content()
            self._attempt = content["attempt"] if content else 0
        return self._attempt

    def keep(self, attempt: int, record: Record, vectors: Mapping[Handle, Vector]) -> None:
        """Make an attempt's durable; what was kept of one before is overwritten."""
        self.erase()
        private_folder(self._parent)
        private_folder(self._folder)
        secret = system().bytes(KEY_BYTES)
        write_durably(self._folder / _KEY, [self._vault.seal("evidence", self._collection, content=secret)])
        vault, shapes = Vault(secret, system()), {}
        for number, handle in enumerate(sorted(_needed(record.trail))):
            rows = in_rows(vectors[handle])
            write_durably(self._folder / str(number), _sealed(rows, vault, number))
            shapes[handle] = [*rows.shape, vectors[handle].dtype == np.uint64]
        content = {
            "attempt": attempt,
            "trail": [[type(task).__name__.lower(), _plain(task)] for _, task in record.trail],
            "said": [[step.round, step.kind, sender, body.hex()] for (step, sender), body in record.said.items()],
            "vectors": shapes,
        }
        # Last: what has no record does not count.
        sealed = vault.seal("evidence record", self._collection, content=json.dumps(content).encode())
        write_durably(self._folder / _RECORD, [sealed])
        self._attempt = attempt

    def load(self, room: Callable[[int, int], Packed]) -> Found | None:
        """The evidence, if it is complete; `room` allocates rows of so many bytes for ciphertexts."""
        content = self._content()
        vault = self._opened()
        if content is None or vault is None:
            return None
        vectors: dict[Handle, Vector] = {}
        for number, (handle, (count, width, is_plain)) in enumerate(sorted(content["vectors"].items())):
            rows = np.empty((count, width), np.uint8) if is_plain else room(count, width)
            try:
                self._fill(rows, number, vault)
            except (OSError, LocalFault):
                return None
            vectors[handle] = as_words(rows) if is_plain else rows
        said = {(Step(number, Kind(kind)), who): bytes.fromhex(body) for number, kind, who, body in content["said"]}
        tasks = [_task(name, values) for name, values in content["trail"]]
        return Found(Record(tuple(zip(self._actions(), tasks, strict=True)), said), vectors)

    def hear(self, header: Header, rows: NDArray[np.uint8]) -> None:
        """Persist another shuffler's message before acknowledging it: it will not be sent again."""
        vault = self._opened()
        if vault is None:
            return
        step, sender = header.step, header.sender
        name = f"{sender}.{step.round}.{step.kind.name.lower()}"
        write_durably(self._folder / name, [vault.seal("told", name.encode(), content=rows.tobytes())])

    def heard(self, context: Context) -> Iterator[Told]:
        """All that was kept of it; what is being kept at this moment comes to the inspection by itself."""
        vault = self._opened()
        for path in sorted(self._folder.glob("*.*.*")) if vault else ():
            sender, round_, kind, *partial = path.name.split(".")
            if vault and not partial and kind.upper() in Kind.__members__:
                try:
                    content = vault.open("told", path.name.encode(), sealed=path.read_bytes())
                except LocalFault:
                    continue
                header = Header(context, Step(int(round_), Kind[kind.upper()]), int(sender), self._me)
                yield header, np.frombuffer(content, np.uint8).reshape(-1, 1)

    def erase(self) -> None:
        """Overwrite everything, the key first. Nothing is left to be done for one that has nothing."""
        self._attempt = 0
        if not self._folder.exists():
            return
        try:
            wipe(self._folder / _KEY)
            for path in self._folder.iterdir():
                wipe(path)
            self._folder.rmdir()
        except OSError as error:
            raise LocalFault(
                "inspection.not_erased",
                f"what was kept for the inspection cannot be erased in {self._folder}: {in_words(error)}",
                hint="check the disk and the folder",
            ) from None

    def _opened(self) -> Vault | None:
        """The collection's own vault, if its key is here."""
        path = self._folder / _KEY
        if not path.exists():
            return None
        try:
            return Vault(self._vault.open("evidence", self._collection, sealed=path.read_bytes()), system())
        except LocalFault:
            return None  # as good as lost

    def _content(self) -> dict[str, Any] | None:
        vault, path = self._opened(), self._folder / _RECORD
        if vault is None or not path.exists():
            return None
        try:
            sealed = path.read_bytes()
            found: dict[str, Any] = json.loads(vault.open("evidence record", self._collection, sealed=sealed))
        except LocalFault:
            return None
        return found

    def _fill(self, rows: Packed, number: int, vault: Vault) -> None:
        count, width = rows.shape
        with (self._folder / str(number)).open("rb") as file:
            for where in chunks(count, rows_of(width)):
                size = (where.stop - where.start) * width
                content = vault.open(
                    _ROWS,
                    number.to_bytes(4, "big"),
                    where.start.to_bytes(4, "big"),
                    sealed=file.read(size + SEAL_BYTES),
                )
                rows[where] = np.frombuffer(content, np.uint8).reshape(-1, width)

    def _actions(self) -> list[Leave | Hide | HandOver]:
        """This shuffler's script, in order; the tasks belong to its steps."""
        script = [one.holds if isinstance(one, Deliver) else one for one in self._schedule.script(self._me)]
        return [one for one in script if one is not None]


def sweep(folder: Path, living: set[bytes]) -> None:
    """Overwrite what is kept of collections that are over or unknown."""
    for path in (folder / FOLDER).glob("*"):
        if path.name not in {digest.hex() for digest in living}:
            for file in path.iterdir():
                wipe(file)
            path.rmdir()


def _needed(trail: Trail) -> set[Handle]:
    """The vectors of which rows may be opened."""
    found: set[Handle] = set()
    for action, task in trail:
        match action, task:
            case Leave(), Split():
                found.add(task.out)
            case Hide(), Mix():
                found |= {task.out, *task.vectors}
            case HandOver(), Pass():
                found |= {task.out, *((task.ciphertexts,) if action.source else ())}
            case _:
                pass
    return found


def _sealed(rows: Any, vault: Vault, number: int) -> Iterator[bytes]:
    for where in chunks(len(rows), rows_of(rows.shape[1])):
        content = np.ascontiguousarray(rows[where]).tobytes()
        yield vault.seal(_ROWS, number.to_bytes(4, "big"), where.start.to_bytes(4, "big"), content=content)


def _plain(task: Any) -> dict[str, Any]:
    """A task as JSON has it."""

    def plain(value: Any) -> Any:
        if isinstance(value, StreamKey):
            return {"key": value.secret.hex()}
        return [plain(one) for one in value] if isinstance(value, tuple) else value

    return {field.name: plain(getattr(task, field.name)) for field in fields(task)}


def _task(name: str, values: Mapping[str, Any]) -> Split | Mix | Pass:
    def read(value: Any) -> Any:
        if isinstance(value, dict):
            return StreamKey(bytes.fromhex(value["key"]))
        return tuple(map(read, value)) if isinstance(value, list) else value

    return _TASKS[name](**{field: read(value) for field, value in values.items()})
