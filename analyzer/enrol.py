"""`peos enrol`: tickets for the users of one collection, each good for one submission under one user's key."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Annotated, Final

import typer

from analyzer import study as studies
from analyzer.workspace import Workspace
from peos.cli.options import config as config_option
from peos.cli.options import examples, whole
from peos.cli.progress import Progress
from peos.collection.lifecycle import State
from peos.collection.ticket import ID_BYTES, mint
from peos.crypto.identity import PUBLIC_BYTES, Identity, is_usable
from peos.errors import Closed, WrongInput, in_words

MOST: Final = 100_000_000
_TELL_EVERY: Final = 1000
_NAMED: Final = 20
_KEY: Final = re.compile(rf"[0-9A-Fa-f]{{{2 * PUBLIC_BYTES}}}")
_KEY_FORM: Final = f"one public key of {2 * PUBLIC_BYTES} hex digits a line, as `peos client key` prints it"

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command(epilog=examples("peos enrol --config analyzer.toml --collection pets --count 20,000 --out tickets.txt"))
def enrol(
    config: Annotated[Path, config_option("analyzer.toml")],
    out: Annotated[Path, typer.Option(help="File for the tickets, one a line; it must not exist.", metavar="FILE")],
    count: Annotated[
        int | None, whole("--count", least=1, most=MOST, help="Number of tickets, each with its own key.")
    ] = None,
    collection: Annotated[str | None, typer.Option(help="Name of the collection.", metavar="NAME")] = None,
    study: Annotated[
        str | None,
        typer.Option(help="Name of the study, in place of a collection: each ticket is for one round.", metavar="NAME"),
    ] = None,
    keys: Annotated[
        Path | None,
        typer.Option(help="File with users' own public keys, one in hex a line; replaces --count.", metavar="FILE"),
    ] = None,
) -> None:
    """Mint tickets for the users of a collection, or of a study."""
    from analyzer.config import read

    if (count is None) == (keys is None):
        raise WrongInput("input.tickets_how", "exactly one of --count and --keys is needed", hint="give one of the two")
    if (collection is None) == (study is None):
        raise WrongInput(
            "input.tickets_of", "exactly one of --collection and --study is needed", hint="give one of the two"
        )
    users = read_keys(keys) if keys is not None else []
    count = count or len(users)
    workspace = Workspace(read(config))
    try:
        with Progress() as progress:
            if study is not None:
                scope = scope_of_study(workspace, study)
            else:
                scope = scope_of_collection(workspace, collection or "")
            mint_tickets(workspace, scope, count, out, progress, users=users)
        is_draft = collection is not None and workspace.kept(collection).state is State.DRAFT
    finally:
        workspace.close()
    typer.echo(f"{count:,} tickets in {out}")
    if is_draft:
        typer.echo(
            f"{collection} is not open: a shuffler has not accepted it. Hand them out once `peos analyzer create` has "
            f"written its invitation; `peos analyzer status {collection}` names who is waited for",
            err=True,
        )


def read_keys(path: Path) -> list[bytes]:
    """Users' public keys out of a file; WrongInput names each line that has none."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = in_words(error) if isinstance(error, OSError) else "it is not text"
        raise WrongInput("input.unreadable", f"{path} cannot be read: {reason}", hint=_KEY_FORM) from None
    found = [bytes.fromhex(line) if _KEY.fullmatch(line) else b"" for line in map(str.strip, lines)]
    bad = [str(number) for number, key in enumerate(found, start=1) if not is_usable(key)]
    if bad or not found:
        what = f"line {', '.join(bad[:_NAMED])}: not a public key" if bad else "there are no keys"
        raise WrongInput("input.keys_line", f"{path}, {what}" if bad else f"{path}: {what}", hint=_KEY_FORM)
    if len(set(found)) < len(found):
        raise WrongInput(
            "input.keys_repeated",
            "a public key appears twice",
            hint="one ticket a user: leave the second line out",
            where=str(path),
        )
    return found


def scope_of_collection(workspace: Workspace, name: str) -> bytes:
    """What the tickets of a collection are for; Closed if it takes no submissions any more."""
    kept = workspace.kept(name)
    if kept.state not in (State.DRAFT, State.OPEN):
        raise Closed(
            "ticket.closed", f"{name} is {kept.state}: tickets would be useless", hint="create another collection"
        )
    if (study := workspace.store.study_of(kept.digest)) is not None:
        raise WrongInput(
            "ticket.of_study",
            f"{name} is a round of the study {study.name}, whose tickets are for all rounds",
            hint=f"peos enrol --study {study.name}",
        )
    return kept.digest


def scope_of_study(workspace: Workspace, name: str) -> bytes:
    """What the tickets of a study are for."""
    study = studies.kept(workspace, name)
    studies.require_running(study)
    return study.id


def mint_tickets(
    workspace: Workspace, scope: bytes, count: int, out: Path, progress: Progress, *, users: Sequence[bytes] = ()
) -> None:
    """Write `count` tickets of this scope: for the public keys of `users`, or with fresh keys if there are none.

    A line is the id, the signature and the seed of a fresh key in hexadecimal, colons between.
    """
    partial = out.with_name(f".{out.name}.partial")
    if out.exists():
        raise WrongInput(
            "input.file_exists",
            f"{out} exists already",
            hint="choose another file: tickets that were handed out stay valid",
        )
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            for number, line in enumerate(_tickets(workspace, scope, users or repeat(None, count)), start=1):
                file.write(line)
                if number % _TELL_EVERY == 0:
                    progress.waiting(f"minting tickets: {number:,} of {count:,}")
            file.flush()
            os.fsync(descriptor)
        workspace.store.note("tickets minted", scope, count=count)  # before any is handed out
        partial.rename(out)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise WrongInput(
            "input.file_unwritable", f"{out} cannot be written: {in_words(error)}", hint="give --out another file"
        ) from None
    except BaseException:  # an interrupt: none was handed out
        partial.unlink(missing_ok=True)
        raise


def _tickets(workspace: Workspace, scope: bytes, users: Iterable[bytes | None]) -> Iterator[str]:
    for user in users:
        id_ = workspace.rng.bytes(ID_BYTES)  # never derived from the key: every list shows it
        fresh = Identity.generate(workspace.rng) if user is None else None
        signature = mint(workspace.keys.enrolment, scope, id_, fresh.public if fresh else user or b"")
        yield ":".join(field.hex() for field in (id_, signature, *((fresh.secret,) if fresh else ()))) + "\n"
