"""Tickets and values as people and files give them. Faults are reported by line, and never repeat a value."""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from peos.collection.document import ID_BYTES
from peos.collection.labels import LABEL_LIMIT
from peos.collection.ticket import Ticket
from peos.crypto.identity import SECRET_BYTES, SIGNATURE_BYTES, Identity
from peos.errors import WrongInput, in_words
from peos.store.private_files import private_file, write_durably

_TICKET: Final = re.compile(
    rf"([0-9a-f]{{{2 * ID_BYTES}}}):([0-9a-f]{{{2 * SIGNATURE_BYTES}}})(?::([0-9a-f]{{{2 * SECRET_BYTES}}}))?"
)
_KEY: Final = re.compile(rf"[0-9a-f]{{{2 * SECRET_BYTES}}}")
_FORM: Final = (
    f"a ticket is {2 * ID_BYTES} hex digits, a colon, {2 * SIGNATURE_BYTES} hex digits, and unless its user has a key "
    f"file a colon and {2 * SECRET_BYTES} hex digits"
)
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


def read_answers(tickets: Path, values: Path) -> list[tuple[str, Ticket]]:
    """The words of each line with the ticket of that line; all lines that cannot be read are named.

    What the words mean, only the collection's document says.
    """
    ticket_lines, value_lines = read_lines(tickets), read_lines(values)
    faults: list[str] = []
    if len(value_lines) > len(ticket_lines):
        faults.append(f"{values} has {len(value_lines)} values, and {tickets} has {len(ticket_lines)} tickets for them")
    bad = [at for at, line in enumerate(value_lines, start=1) if not 1 <= len(line.strip()) <= LABEL_LIMIT]
    if bad:
        faults.append(f"{values}, {at_lines(bad)}: not an answer of 1 to {LABEL_LIMIT} characters")
    found = [_TICKET.fullmatch(line.strip().lower()) for line in ticket_lines]
    bad = [at for at, ticket in enumerate(found, start=1) if not ticket]
    if bad:
        faults.append(f"{tickets}, {at_lines(bad)}: not a ticket")
    bad = [at for at, ticket in enumerate(found, start=1) if ticket and not ticket[3]]
    if bad:
        faults.append(f"{tickets}, {at_lines(bad)}: a ticket whose user keeps the key, and answers herself")
    if not value_lines:
        faults.append(f"{values} has no values")
    if faults:
        raise WrongInput("input.lines", "; ".join(faults), hint=f"nothing was sent; {_FORM}; one answer a line")
    return [(value, read_ticket(ticket)) for value, ticket in zip(value_lines, ticket_lines, strict=False)]


def located(faults: Sequence[tuple[int, str]], values: Path, tickets: Path) -> str:
    """Faults by position, as lines of the two files."""
    lines: dict[str, list[int]] = {}
    for position, reason in faults:
        lines.setdefault(reason, []).append(position + 1)
    return "; ".join(
        f"{values if reason.startswith('the value') else tickets}, {at_lines(found)}: {reason}"
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
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise WrongInput(
            "input.unreadable", f"{path} cannot be read: {in_words(error)}", hint="name a text file, one entry a line"
        ) from None
    except UnicodeDecodeError:
        raise WrongInput("input.not_text", f"{path} is not text", hint="save it as UTF-8, one entry a line") from None


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
