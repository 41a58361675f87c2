"""`peos client`: key, submit, submit-file, verify, status, ledger."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from peos.errors import BadEncoding, Refused, WrongInput, in_words

if TYPE_CHECKING:
    from peos.collection.cards import Invitation
    from user_client.client import Client
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
Config = Annotated[Path, typer.Option("--config", help="Path of client.toml.")]
InvitationFile = Annotated[
    Path, typer.Option("--invitation", help="Invitation file for this question, from the analyzer.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def key(out: Annotated[Path, typer.Option(help="File for the key; it must not exist.")]) -> None:
    """Generate your own key, and print its public half; a ticket made for it is useless without the file."""
    from peos.crypto.identity import Identity
    from peos.crypto.randomness import system
    from user_client.input_files import write_key

    made = Identity.generate(system())
    write_key(out, made)
    typer.echo(made.public.hex())


@app.command()
def submit(
    config: Config,
    invitation: InvitationFile,
    ticket_file: Annotated[Path | None, typer.Option(help="File with your ticket.")] = None,
    ticket: Annotated[
        str | None,
        typer.Option(
            metavar="ID:SIG[:KEY]", help="Ticket itself; other users of this machine may see it, so a file is safer."
        ),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(help="File with your own key, if the ticket was made for one (see `peos client key`)."),
    ] = None,
    value: Annotated[
        str,
        typer.Option(help="Answer: a label, or 0 … d−1 where there are none; - prompts for it."),
    ] = "-",
    as_json: Json = False,
) -> None:
    """Answer a question. Run it again to resume; it sends the same report."""
    from user_client.input_files import read_key, read_one_ticket, read_ticket

    if (ticket is None) == (ticket_file is None):
        raise WrongInput(
            "input.one_ticket", "one ticket is needed, by --ticket-file or by --ticket", hint="prefer the file"
        )
    key = read_key(key_file) if key_file is not None else None
    own = read_one_ticket(ticket_file, key) if ticket_file is not None else read_ticket(ticket or "", key)
    invited = _invited(invitation)
    with _client(config) as client:
        collection = client.open(invited)
        answer = _asked(collection.question, collection.expected) if value == "-" else value
        result = collection.submit(answer, own, waiting=_tell)
    if as_json:
        typer.echo(json.dumps(_shown(result, collection.digest), ensure_ascii=False))
    elif result.accepted:
        typer.echo(f"accepted by all {len(collection.shufflers)} shufflers, collection {collection.digest.hex()[:16]}…")
        if ticket_file is not None:
            unless = f", and {key_file} unless another ticket was made for it" if key_file is not None else ""
            typer.echo(f"This device has forgotten your ticket; delete {ticket_file}{unless}.")
    if result.repeated and not as_json:
        typer.echo(
            "An answer was given already: that one was sent, or was there; the value given now was not used.", err=True
        )
    if not result.accepted:
        ids = {refusal.error_id for refusal in result.refusals}
        refused_id = ids.pop() if len(ids) == 1 else "submit.refused"
        raise Refused(
            refused_id,
            "not accepted: " + "; ".join(map(str, result.refusals)),
            hint="; ".join(dict.fromkeys(refusal.hint for refusal in result.refusals if refusal.hint)),
        )


@app.command("submit-file")
def submit_file(
    config: Config,
    invitation: InvitationFile,
    tickets: Annotated[Path, typer.Option(help="File with a ticket a line, as written by peos enrol.")],
    values: Annotated[Path, typer.Option(help="File with an answer a line, in the tickets' order.")],
    as_json: Json = False,
) -> None:
    """Answer for many users, each with her own ticket, store, budget and randomness."""
    from peos.cli.progress import bar
    from user_client.client import BadAnswers
    from user_client.input_files import located, read_answers

    answers = read_answers(tickets, values)
    invited = _invited(invitation)
    with _client(config) as client:
        collection = client.open(invited)
        try:
            with bar("submissions") as progress:
                results = collection.submit_many(answers, progress=progress, waiting=_tell)
        except BadAnswers as bad:
            raise WrongInput(bad.id, located(bad.faults, values, tickets), hint=bad.hint) from None
    refused = [(line, result) for line, result in enumerate(results, start=1) if not result.accepted]
    if as_json:
        typer.echo(json.dumps(_summary(results, collection.digest, collection.sent), ensure_ascii=False))
    else:
        typer.echo(f"{len(results) - len(refused):,} of {len(results):,} accepted by all shufflers")
        for line, result in refused:
            typer.echo(f"{values}, line {line}: {'; '.join(map(str, result.refusals))}", err=True)
    if refused:
        raise typer.Exit(REFUSED)


@app.command()
def status(
    config: Config,
    invitation: Annotated[
        Path | None, typer.Option("--invitation", help="Invitation of one collection [default: all]")
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


@app.command()
def verify(
    config: Config,
    invitation: InvitationFile,
    result: Annotated[
        Path | None,
        typer.Option("--result", help="Published result.json, to compare with the signed lists."),
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


@app.command()
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
        typer.echo(f"  {charge.collection.hex()[:16]}…  {charge.question}: {shown(charge.cost)}")
    for charge in book.others:
        typer.echo(
            f"  {charge.collection.hex()[:16]}…  {charge.question}: {shown(charge.cost)} by each of {charge.users:,} "
            "users of submit-file"
        )


def main() -> int:
    """`python -m user_client`."""
    from peos.cli.running import run

    return run(app, sys.argv[1:], "user_client")


def _client(config: Path) -> "Client":
    from user_client.client import Client
    from user_client.config import read

    return Client(read(config))


def _invited(path: Path) -> "Invitation":
    from peos.wire.parties import decode_invitation

    try:
        return decode_invitation(path.read_bytes())
    except OSError as error:
        raise WrongInput(
            "input.invitation_missing", f"the invitation {path} cannot be read: {in_words(error)}", hint=_INVITED
        ) from None
    except BadEncoding as bad:
        raise WrongInput("input.invitation", f"{path} is not an invitation: {bad}", hint=_INVITED) from None


def _asked(question: str, expected: str) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt(f"{question} ({expected})", err=True))
    line = sys.stdin.readline()
    if not line:
        raise WrongInput("input.no_value", "no value was given", hint="type it when asked, or pipe it in")
    return line


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


def _summary(results: "list[Result]", collection: bytes, sent: int) -> dict[str, Any]:
    accepted = sum(result.accepted for result in results)
    return {
        "collection": collection.hex(),
        "submitted": len(results),
        "accepted": accepted,
        "repeated": sum(result.repeated for result in results),
        "sent": sent,
        "refused": [
            {"line": line, **_refusal(refusal)}
            for line, result in enumerate(results, start=1)
            for refusal in result.refusals
        ],
    }


def _refusal(refusal: Any) -> dict[str, Any]:
    return {
        "shuffler": refusal.shuffler or None,
        "by": refusal.name,
        "id": refusal.error_id,
        "reason": refusal.sentence,
        "hint": refusal.hint,
    }
