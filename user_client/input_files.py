"""Tickets and records as people and files give them. Faults are reported by line, and never repeat a record."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from peos.collection.cards import plain_text
from peos.collection.ticket import ID_BYTES, Ticket
from peos.crypto.identity import SECRET_BYTES, SIGNATURE_BYTES, Identity
from peos.errors import WrongInput, in_words
from peos.store.private_files import private_file, write_durably
from peos.tasks.labels import LABEL_LIMIT
from peos.tasks.views import Catalogue, Record

_TICKET: Final = re.compile(
    rf"([0-9a-f]{{{2 * ID_BYTES}}}):([0-9a-f]{{{2 * SIGNATURE_BYTES}}})(?::([0-9a-f]{{{2 * SECRET_BYTES}}}))?"
)
_KEY: Final = re.compile(rf"[0-9a-f]{{{2 * SECRET_BYTES}}}")
_FORM: Final = (
    f"a ticket is {2 * ID_BYTES} hex digits, a colon, {2 * SIGNATURE_BYTES} hex digits, and unless its user has a key "
    f"file a colon and {2 * SECRET_BYTES} hex digits"
)
_RECORD: Final = 'a record is one JSON value, such as "a text" or 17 or ["bread", "tea"], or the text of a .txt file'
_RECORDS: Final = "one answer a line, or of records a JSON value, a text (.txt), or a column of a .csv file"
_PUBLISHED: Final = "name the result.json that the analyzer published for this question"
_KEY_FORM: Final = f"a key file is {2 * SECRET_BYTES} hex digits, as `peos client key` writes them"


def read_ticket(text: str, key: Identity | None = None) -> Ticket:
    """A ticket as `peos enrol` writes it; `key` is the user's own, if the ticket was made for it."""
    found = _TICKET.fullmatch(text.strip().lower())
    if not found:
        raise WrongInput("ticket.unreadable", "the ticket cannot be read", hint=_FORM)
    id_, signature, seed = (bytes.fromhex(field or "") for field in found.groups())
    if bool(seed) is not (key is None):
        raise WrongInput(
            "ticket.key",
            "the ticket has a key of its own, and a key file was named too"
            if seed
            else "the ticket was made for a key that its user keeps",
            hint="leave --key-file out" if seed else "answer with `peos client submit --key-file FILE`",
        )
    return Ticket(id_, signature, key or Identity(seed))


def read_key(path: Path) -> Identity:
    """The user's own key."""
    if path.exists():
        private_file(path)
    (line, *others) = read_lines(path) or [""]
    if others or not _KEY.fullmatch(line.strip().lower()):
        raise WrongInput("input.key_file", f"{path} is not a key file", hint=_KEY_FORM)
    return Identity(bytes.fromhex(line.strip()))


def write_key(path: Path, key: Identity) -> None:
    """A new key file, which its owner alone can read."""
    if path.exists():
        raise WrongInput(
            "input.file_exists",
            f"{path} exists already",
            hint="name another file: a ticket made for a lost key is lost too",
        )
    if not path.parent.is_dir():
        raise WrongInput(
            "key.no_folder", f"the folder {path.parent} does not exist", hint="name a file in a folder that does"
        )
    private_file(path)
    write_durably(path, [f"{key.secret.hex()}\n".encode("ascii")])


def read_one_ticket(path: Path, key: Identity | None = None) -> Ticket:
    """The only ticket in a file."""
    lines = read_lines(path)
    if len(lines) != 1:
        raise WrongInput("ticket.several", f"{path} has {len(lines)} lines, and one ticket is needed", hint=_FORM)
    return read_ticket(lines[0], key)


@dataclass(frozen=True, repr=False)
class Given:
    """Records as a file has them: JSON values, or if they `are_words`, words that the question gives a meaning to."""

    path: Path
    records: Sequence[Record]
    lines: Sequence[int]  # where each stands in the file
    are_words: bool
    users: Sequence[str] | None = None  # their names, where the file has them
    faults: Sequence[str] = ()  # what cannot be read

    def __repr__(self) -> str:
        return f"Given({len(self.records)} records of {self.path})"


def read_values(path: Path) -> Given:
    """An answer a line: labels, or numbers where there are none."""
    found = read_lines(path)
    bad = [at for at, line in enumerate(found, start=1) if not 1 <= len(line.strip()) <= LABEL_LIMIT]
    faults = [f"{path}, {at_lines(bad)}: not an answer of 1 to {LABEL_LIMIT} characters"] if bad else []
    return Given(path, found, range(1, len(found) + 1), are_words=True, faults=faults)


def read_records(path: Path, column: str | None = None, users: str | None = None) -> Given:
    """A record a line: texts (.txt), a column of a file with commas (.csv), else JSON values.

    `users` is the column with the users' names.
    """
    kind = path.suffix.lower()
    if kind == ".csv":
        return _read_columns(path, column, users)
    if column is not None or users is not None:
        raise WrongInput("input.column", f"{path} has no columns by name", hint="name a .csv file")
    lines = _read_exact(path)
    return Given(path, lines, range(1, len(lines) + 1), are_words=True) if kind == ".txt" else _read_json(path, lines)


def read_record(path: Path) -> tuple[Record, bool]:
    """The only record of a file, and whether it is words: its text (.txt), or the JSON value that it is."""
    text = "\n".join(_read_exact(path))
    if path.suffix.lower() == ".txt":
        return text, True
    try:
        return json.loads(text), False
    except (ValueError, RecursionError):
        raise WrongInput("input.record", f"{path} is not one JSON value", hint=_RECORD) from None


def read_answers(tickets: Path, read: Callable[[], Given]) -> tuple[Given, list[Ticket], int]:
    """The records, the tickets of their lines, and how many tickets are left over.

    All lines of both files that cannot be read are named.

    What records mean, only the collection's document says.
    """
    given = read()
    faults, lines = list(given.faults), read_lines(tickets)
    if len(given.records) > len(lines):
        shown = len(given.records), len(lines)
        faults.append(f"{given.path} has {shown[0]} records, and {tickets} has {shown[1]} tickets for them")
    found = [_TICKET.fullmatch(line.strip().lower()) for line in lines]
    bad = [at for at, ticket in enumerate(found, start=1) if not ticket]
    if bad:
        faults.append(f"{tickets}, {at_lines(bad)}: not a ticket")
    bad = [at for at, ticket in enumerate(found, start=1) if ticket and not ticket[3]]
    if bad:
        faults.append(f"{tickets}, {at_lines(bad)}: a ticket whose user keeps the key, and answers herself")
    if not given.records and not given.faults:
        faults.append(f"{given.path} has no records")
    if faults:
        table = "a table is named by --records, with its --column; " if given.path.suffix.lower() == ".csv" else ""
        raise WrongInput("input.lines", "; ".join(faults), hint=f"nothing was sent; {table}{_RECORDS}; {_FORM}")
    own = [read_ticket(line) for line in lines[: len(given.records)]]
    return given, own, len(lines) - len(own)


def read_catalogue(path: Path | None, invitation: Path) -> bytes | None:
    """The catalogue that is named, or else the one next to the invitation, if there is one."""
    if path is None:
        path = invitation.with_suffix(Catalogue.suffix)
        if not path.exists():
            return None
    return _read_bytes(path)


def _read_columns(path: Path, column: str | None, users: str | None) -> Given:
    if column is None:
        raise WrongInput("input.column", f"{path} has columns, and none is named", hint="name one by --column")
    rows = csv.reader(io.StringIO(_decoded(path), newline=""), strict=True)
    head: list[str] = []
    found: list[tuple[int, str, str]] = []
    bad: list[int] = []
    try:
        head = next(rows, [])
        at = {name: _place(path, head, name) for name in (column, users or column)}
        for row in filter(None, rows):
            if len(row) == len(head):
                found.append((rows.line_num, row[at[column]], row[at[users or column]]))
            else:
                bad.append(rows.line_num)
    except csv.Error:
        bad.append(rows.line_num)
    faults = [f"{path}, {at_lines(bad)}: not as many fields with commas between them as the first line"] if bad else []
    lines, records, names = zip(*found, strict=True) if found else ((), (), ())
    return Given(path, records, lines, are_words=True, users=names if users is not None else None, faults=faults)


def _place(path: Path, head: Sequence[str], name: str) -> int:
    if head.count(name) != 1:
        raise WrongInput(
            "input.column",
            f"{path} has no column {plain_text(name)}, or two of them",
            hint=f"its first line names {', '.join(map(plain_text, head)) or 'none'}",
        )
    return head.index(name)


def _read_json(path: Path, lines: Sequence[str]) -> Given:
    records: list[Record] = []
    bad = []
    for number, line in enumerate(lines, start=1):
        try:
            records.append(json.loads(line))
        except (ValueError, RecursionError):
            records.append(None)
            bad.append(number)
    faults = [f"{path}, {at_lines(bad)}: not a JSON value"] if bad else []
    return Given(path, records, range(1, len(records) + 1), are_words=False, faults=faults)


def located(faults: Sequence[tuple[int, str]], given: Given, tickets: Path) -> str:
    """Faults by position, as lines of the two files."""
    lines: dict[str, list[int]] = {}
    for position, reason in faults:
        lines.setdefault(reason, []).append(position)
    return "; ".join(
        f"{tickets}, {at_lines(at + 1 for at in found)}: {reason}"
        if reason.startswith("the ticket")
        else f"{given.path}, {at_lines(given.lines[at] for at in found)}: {reason}"
        for reason, found in lines.items()
    )


def at_lines(numbers: Iterable[int]) -> str:
    """ "line 7", "lines 3, 5-9": every one of ascending numbers, runs drawn together."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
    return f"line {shown}" if shown.isdigit() else f"lines {shown}"


def read_lines(path: Path) -> list[str]:
    """The lines of a text file; a last newline ends the last line."""
    return _decoded(path).splitlines()


def _read_exact(path: Path) -> list[str]:
    """Its lines where newlines alone end them, since a text may hold any other mark that ends one elsewhere."""
    text = _decoded(path).removesuffix("\n")
    return [line.removesuffix("\r") for line in text.split("\n")] if text else []


def _decoded(path: Path) -> str:
    try:
        return _read_bytes(path).decode()
    except UnicodeDecodeError:
        raise WrongInput("input.not_text", f"{path} is not text", hint="save it as UTF-8, one entry a line") from None


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise WrongInput(
            "input.unreadable", f"{path} cannot be read: {in_words(error)}", hint="name a text file, one entry a line"
        ) from None


def read_published_root(path: Path, collection: bytes) -> bytes:
    """The root of the frozen list in a published result of this collection."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        digest, root = found["digest"], bytes.fromhex(found["lists"]["root"])
    except OSError as error:
        raise WrongInput(
            "input.result_missing", f"the result {path} cannot be read: {in_words(error)}", hint=_PUBLISHED
        ) from None
    except (ValueError, KeyError, TypeError):
        raise WrongInput("input.result", f"{path} is not a published result with its lists", hint=_PUBLISHED) from None
    if digest != collection.hex():
        raise WrongInput(
            "input.other_result", f"{path} is the result of another collection than the invitation's", hint=_PUBLISHED
        )
    return root
