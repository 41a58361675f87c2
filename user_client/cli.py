"""`peos client`: key, show, submit, submit-file, verify, status, ledger."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from peos.cli.options import config as config_option
from peos.cli.options import examples
from peos.errors import BadEncoding, Refused, WrongInput, in_words

if TYPE_CHECKING:
    from peos.client.ledger import Charge
    from peos.collection.cards import Invitation
    from user_client.client import Client, Collection
    from user_client.input_files import Given
    from user_client.results import Result

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Answer questions: randomise once, store the report, submit it.",
)
REFUSED: Final = Refused.exit_code
_INVITED: Final = "name the file that the analyzer gave out for this question"
Config = Annotated[Path, config_option("client.toml")]
InvitationFile = Annotated[
    Path, typer.Option("--invitation", help="Invitation file for this question, from the analyzer.", metavar="FILE")
]
CatalogueFile = Annotated[
    Path | None,
    typer.Option(
        "--catalogue",
        help="List that came with the invitation [default: NAME.catalogue next to NAME.invitation]",
        metavar="FILE",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command(epilog=examples("peos client key --out my.key"))
def key(out: Annotated[Path, typer.Option(help="File for the key; it must not exist.", metavar="FILE")]) -> None:
    """Generate your own key, and print its public half; a ticket made for it is useless without the file."""
    from peos.crypto.identity import Identity
    from peos.crypto.randomness import system
    from user_client.input_files import write_key

    made = Identity.generate(system())
    write_key(out, made)
    typer.echo(made.public.hex())


@app.command(
    epilog=examples(
        "peos client submit --config client.toml --invitation pets.invitation \\",
        "    --ticket-file ticket.txt",
    )
)
def submit(
    config: Config,
    invitation: InvitationFile,
    ticket_file: Annotated[Path | None, typer.Option(help="File with your ticket.", metavar="FILE")] = None,
    ticket: Annotated[
        str | None,
        typer.Option(
            metavar="ID:SIG[:KEY]", help="Ticket itself; other users of this machine may see it, so a file is safer."
        ),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(
            help="File with your own key, if the ticket was made for one (see `peos client key`).", metavar="FILE"
        ),
    ] = None,
    value: Annotated[
        str,
        typer.Option(
            help="Answer: a label, or 0 … d−1 where there are none; - prompts for it, or for a record.", metavar="LABEL"
        ),
    ] = "-",
    record_file: Annotated[
        Path | None,
        typer.Option(help="File with your record: one JSON value, or the text of a .txt file.", metavar="FILE"),
    ] = None,
    catalogue: CatalogueFile = None,
    as_json: Json = False,
) -> None:
    """Answer a question. Run it again to resume; it sends the same report."""
    from peos.net.submit import in_one
    from user_client.input_files import read_key, read_one_ticket, read_record, read_ticket

    if (ticket is None) == (ticket_file is None):
        raise WrongInput(
            "input.one_ticket", "one ticket is needed, by --ticket-file or by --ticket", hint="prefer the file"
        )
    key = read_key(key_file) if key_file is not None else None
    own = read_one_ticket(ticket_file, key) if ticket_file is not None else read_ticket(ticket or "", key)
    if record_file is not None and value != "-":
        raise WrongInput("input.one_record", "a value and a record were given", hint="leave one of them out")
    record, is_words = read_record(record_file) if record_file is not None else (value, True)
    with _client(config) as client:
        collection = _opened(client, invitation, catalogue)
        if record_file is None and value != "-" and not collection.has_values:
            raise WrongInput(
                "input.record_shown",
                "this collection asks for a record, which is not given on the command line, where others may see it",
                hint="type it when asked, or name a file by --record-file",
            )
        if value == "-" and record_file is None:
            collection.require_answerable(own)
        if value == "-" and record_file is None and sys.stdin.isatty():
            _tell(collection.terms)
        else:
            _say_what(collection, as_json=as_json)
        if record_file is None and value == "-":
            record = _asked(collection)
        result = collection.submit(collection.record_of(str(record)) if is_words else record, own, waiting=_tell)
    if as_json:
        typer.echo(json.dumps(_shown(result, collection.digest), ensure_ascii=False))
    elif result.accepted:
        typer.echo(f"accepted by all {len(collection.shufflers)} shufflers, collection {collection.digest.hex()[:16]}…")
        if ticket_file is not None:
            unless = f", and {key_file} unless another ticket was made for it" if key_file is not None else ""
            typer.echo(f"This device has forgotten your ticket; delete {ticket_file}{unless}.")
    if result.repeated and not as_json:
        typer.echo(
            "An answer was given already: that one was sent, or was there; what was given now was not used.", err=True
        )
    if not result.accepted:
        ids = {refusal.error_id for refusal in result.refusals}
        refused_id = ids.pop() if len(ids) == 1 else "submit.refused"
        raise Refused(
            refused_id,
            f"not accepted: {in_one(result.refusals)}",
            hint="; ".join(dict.fromkeys(refusal.hint for refusal in result.refusals if refusal.hint)),
        )


@app.command(epilog=examples("peos client show --config client.toml --invitation pets.invitation"))
def show(config: Config, invitation: InvitationFile, catalogue: CatalogueFile = None, as_json: Json = False) -> None:
    """Show what is asked, what is guaranteed to you and who shuffles; nothing is sent."""
    with _client(config) as client:
        collection = _opened(client, invitation, catalogue)
        typer.echo(json.dumps(collection.terms_json, ensure_ascii=False) if as_json else collection.terms)
        if collection.closed_at:
            _tell(f"It takes no new answers any more: it has closed at {collection.closed_at}.")


@app.command(
    "submit-file",
    epilog=examples(
        "peos client submit-file --config client.toml --invitation pets.invitation \\",
        "    --tickets tickets.txt --values answers.txt",
    ),
)
def submit_file(
    config: Config,
    invitation: InvitationFile,
    tickets: Annotated[Path, typer.Option(help="File with a ticket a line, as written by peos enrol.", metavar="FILE")],
    values: Annotated[
        Path | None, typer.Option(help="File with an answer a line, in the tickets' order.", metavar="FILE")
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option(
            help="File with a record a line: JSON; texts in a .txt file; a column of a .csv file.", metavar="FILE"
        ),
    ] = None,
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column of the .csv file with the records.")
    ] = None,
    users: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Column of the .csv file with the users' names [default: a user is her ticket]"
        ),
    ] = None,
    catalogue: CatalogueFile = None,
    as_json: Json = False,
) -> None:
    """Answer for many users, each with her own ticket, store, budget and randomness."""
    from peos.cli.progress import bar
    from peos.net.submit import in_one
    from user_client.client import BadAnswers
    from user_client.input_files import located, read_answers

    given, own, unused = read_answers(tickets, lambda: _given(values, records, column, users))
    with _client(config) as client:
        collection = _opened(client, invitation, catalogue)
        _say_what(collection, as_json=as_json)
        meant = [collection.record_of(str(one)) if given.are_words else one for one in given.records]
        try:
            with bar("submissions") as progress:
                results = collection.submit_many(
                    list(zip(meant, own, strict=True)), users=given.users, progress=progress, waiting=_tell
                )
        except BadAnswers as bad:
            raise WrongInput(bad.id, located(bad.faults, given, tickets), hint=bad.hint) from None
    numbered = list(zip(given.lines, results, strict=True))
    asked = [(line, result) for line, result in numbered if result.is_asked]
    refused = [(line, result) for line, result in asked if not result.accepted]
    others = len(numbered) - len(asked)
    if as_json:
        typer.echo(json.dumps(_summary(numbered, collection), ensure_ascii=False))
    else:
        typer.echo(f"{len(asked) - len(refused):,} of {len(asked):,} accepted by all shufflers")
        if others:
            typer.echo(f"{others:,} have tickets for other rounds of this study, and were not asked")
        if unused:
            typer.echo(f"the last {unused:,} tickets were not used: there are no records for them", err=True)
        for line, result in refused:
            typer.echo(f"{given.path}, line {line}: {in_one(result.refusals)}", err=True)
    if refused:
        raise typer.Exit(REFUSED)


@app.command(epilog=examples("peos client status --config client.toml"))
def status(
    config: Config,
    invitation: Annotated[
        Path | None, typer.Option("--invitation", help="Invitation of one collection [default: all]", metavar="FILE")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show each collection's reports: prepared, acknowledged, missing. Works offline."""
    only = _invited(invitation).collection if invitation is not None else None
    with _client(config) as client:
        standings = [one for one in client.status() if only in (None, one.collection)]
    if as_json:
        typer.echo(json.dumps([one.to_json() for one in standings], ensure_ascii=False))
        return
    if not standings:
        typer.echo("nothing was prepared" + (" for this collection" if only else ""))
    for one in standings:
        typer.echo(
            f"{one.collection.hex()[:16]}…  {one.question}: {one.prepared:,} prepared, {one.accepted:,} accepted"
        )
        for name, count in one.acknowledged.items():
            missing = f", {one.prepared - count:,} missing" if count < one.prepared else ""
            typer.echo(f"  {name}: {count:,} acknowledged{missing}")
        for line in one.refused:
            typer.echo(f"  refused: {line}")


@app.command(
    epilog=examples(
        "peos client verify --config client.toml --invitation pets.invitation \\",
        "    --result result.json",
    )
)
def verify(
    config: Config,
    invitation: InvitationFile,
    result: Annotated[
        Path | None,
        typer.Option("--result", help="Published result.json, to compare with the signed lists.", metavar="FILE"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check with every shuffler, by receipts and signed lists, that your report was counted."""
    from user_client.input_files import read_published_root

    invited = _invited(invitation)
    root = read_published_root(result, invited.collection) if result is not None else None
    with _client(config) as client:
        found = client.verify(invited, root=root)
    if not found:
        raise WrongInput(
            "input.not_submitted",
            "nothing was submitted to this collection from here",
            hint="name the folder that submitted",
        )
    counted = sum(one.counted is True for one in found)
    told = list(dict.fromkeys(sentence for one in found for sentence in one.findings))
    if as_json:
        shown = {"collection": invited.collection.hex(), "submitted": len(found), "counted": counted, "findings": told}
        typer.echo(json.dumps(shown, ensure_ascii=False))
    else:
        typer.echo(f"{counted:,} of {len(found):,} reports were counted, collection {invited.collection.hex()[:16]}…")
        for sentence in told:
            typer.echo(f"  {sentence}")
    if counted < len(found):
        raise typer.Exit(REFUSED)


@app.command(epilog=examples("peos client ledger --config client.toml"))
def ledger(config: Config, as_json: Json = False) -> None:
    """Show what was spent of the budget, and on which questions."""
    from peos.client.ledger import shown

    with _client(config) as client:
        book = client.ledger()
    if as_json:
        typer.echo(json.dumps(book.to_json(), ensure_ascii=False))
        return
    typer.echo(f"spent {shown(book.own_spent)} of {shown(book.budget)}")
    for charge in book.own:
        typer.echo(f"  {charge.collection.hex()[:16]}…  {charge.question}: {shown(charge.cost)}{_of_study(charge)}")
    for charge in book.others:
        known = "name" if charge.is_named else "ticket"
        typer.echo(
            f"  {charge.collection.hex()[:16]}…  {charge.question}: {shown(charge.cost)} by each of {charge.users:,} "
            f"users of submit-file, known by {known}{_of_study(charge)}"
        )


def main() -> int:
    """`python -m user_client`."""
    from peos.cli.running import run

    return run(app, sys.argv[1:], "user_client")


def _client(config: Path) -> "Client":
    from user_client.client import Client
    from user_client.config import read

    return Client(read(config))


def _opened(client: "Client", invitation: Path, catalogue: Path | None) -> "Collection":
    from user_client.input_files import read_catalogue

    return client.open(_invited(invitation), read_catalogue(catalogue, invitation))


def _given(values: Path | None, records: Path | None, column: str | None, users: str | None) -> "Given":
    from user_client.input_files import read_records, read_values

    if (values is None) == (records is None):
        raise WrongInput("input.one_file", "one file is needed, by --values or by --records", hint="leave one out")
    if records is not None:
        return read_records(records, column, users)
    if values is None or column is not None or users is not None:
        raise WrongInput("input.column", "a file of values has no columns", hint="name a .csv file by --records")
    return read_values(values)


def _invited(path: Path) -> "Invitation":
    from peos.wire.parties import decode_invitation

    try:
        return decode_invitation(path.read_bytes())
    except OSError as error:
        raise WrongInput(
            "input.invitation_missing", f"the invitation {path} cannot be read: {in_words(error)}", hint=_INVITED
        ) from None
    except BadEncoding as bad:
        sentence = f"{path} cannot be read as an invitation: {bad}"
        raise WrongInput("input.invitation", sentence, hint=bad.hint or _INVITED) from None


def _say_what(collection: "Collection", *, as_json: bool) -> None:
    """What is asked of a record, before anything is sent; scripts have `show --json`."""
    if collection.has_values or as_json:
        return
    typer.echo(f"{collection.question} You are asked for:", err=True)
    for words in collection.asked:
        typer.echo(f"  {words}", err=True)


def _asked(collection: "Collection") -> str:
    if sys.stdin.isatty():
        what = collection.asked[0] if collection.has_values else "your record"
        return str(typer.prompt(f"{collection.question} ({what})", err=True))
    line = sys.stdin.readline()
    if not line:
        raise WrongInput("input.no_value", "no value was given", hint="type it when asked, or pipe it in")
    return line.removesuffix("\n")


def _of_study(charge: "Charge") -> str:
    return f", in round {charge.round} of study {charge.study.hex()[:16]}…" if charge.study else ""


def _tell(sentence: str) -> None:
    typer.echo(sentence, err=True)


def _shown(result: "Result", collection: bytes) -> dict[str, Any]:
    return {
        "collection": collection.hex(),
        "ticket": result.ticket.hex(),
        "accepted": result.accepted,
        "repeated": result.repeated,
        "refused": [_refusal(refusal) for refusal in result.refusals],
    }


def _summary(numbered: "list[tuple[int, Result]]", collection: "Collection") -> dict[str, Any]:
    asked = [(line, result) for line, result in numbered if result.is_asked]
    return {
        "collection": collection.digest.hex(),
        "submitted": len(asked),
        "accepted": sum(result.accepted for _, result in asked),
        "repeated": sum(result.repeated for _, result in asked),
        "other_rounds": [line for line, result in numbered if not result.is_asked],
        "sent": collection.sent,
        "refused": [{"line": line, **_refusal(refusal)} for line, result in asked for refusal in result.refusals],
    }


def _refusal(refusal: Any) -> dict[str, Any]:
    return {
        "shuffler": refusal.shuffler or None,
        "by": refusal.name,
        "id": refusal.error_id,
        "reason": refusal.sentence,
        "hint": refusal.hint,
    }
