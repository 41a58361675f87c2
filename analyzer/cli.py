"""`peos analyzer`: init, serve, create, freeze, abort, publish, status, result, statement."""

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from peos.cli.options import POST_PROCESS, Log, examples, seconds, with_settings
from peos.cli.options import config as config_option
from peos.cli.upkeep import CardOut, Keeper, add_upkeep, show_card
from peos.errors import WrongInput
from peos.settings import load
from peos.spec import CollectionSpec

if TYPE_CHECKING:
    from analyzer.workspace import Workspace

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Create collections, receive the shuffled reports, publish estimates.",
)
Config = Annotated[Path, config_option("analyzer.toml")]
Name = Annotated[str, typer.Argument(help="Name of the collection.", metavar="NAME")]
PostProcess = Annotated[str | None, typer.Option("--post-process", help=POST_PROCESS, metavar="METHOD|auto[:GOAL]")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Html = Annotated[Path | None, typer.Option(help="File to write the page to.", metavar="FILE")]
Csv = Annotated[Path | None, typer.Option("--csv", help="File to write a row a value to.", metavar="FILE")]
Parquet = Annotated[
    Path | None, typer.Option("--parquet", help="The same as Parquet, with the extra parquet.", metavar="FILE")
]
Of = Annotated[str, typer.Option("--rows", help="What a row of these is of.", metavar="values|rounds")]

WAIT = "Time to wait for the shufflers to accept, like 90 or 2h [default: 10min]"


@contextmanager
def _workspace(config: Path) -> Iterator["Workspace"]:
    """The analyzer, opened; modules that take a moment to load are loaded only now."""
    from analyzer.config import read
    from analyzer.workspace import Workspace

    workspace = Workspace(read(config))
    try:
        yield workspace
    finally:
        workspace.close()


@app.command(epilog=examples("peos analyzer init --config analyzer.toml"))
def init(config: Config, card: CardOut = None) -> None:
    """Generate this analyzer's keys, and write its card; run it again to rewrite the card."""
    from analyzer import keys
    from analyzer.config import read
    from peos.crypto.randomness import system

    settings = read(config)
    made = keys.make(settings, system())
    show_card(settings.folder / keys.CARD, made.identity.public, card)


@app.command(epilog=examples("peos analyzer serve --config analyzer.toml --log analyzer.log"))
def serve(config: Config, log: Log = None) -> None:
    """Receive deliveries, decrypt and publish, until stopped."""
    from analyzer.serve import run
    from peos.ending import outlive_terminal
    from peos.net import logs

    outlive_terminal()
    with _workspace(config) as workspace:
        logs.configure(log)
        asyncio.run(run(workspace, logs.Log().bind(party=workspace.config.name)))


@app.command(epilog=examples("peos analyzer console --config analyzer.toml"))
def console(config: Config, log: Log = None) -> None:
    """Show pages to run collections from, until stopped; needs `peos analyzer serve`, and no passphrase."""
    from analyzer.config import read
    from analyzer.console.serve import run
    from peos.ending import outlive_terminal
    from peos.net import logs

    outlive_terminal()
    settings = read(config)
    logs.configure(log)
    asyncio.run(run(settings, logs.Log().bind(party=settings.name)))


@app.command(
    epilog=examples(
        "peos analyzer create --config analyzer.toml --out invitations --spec collection.toml",
        "peos analyzer create --config analyzer.toml --out invitations --name pets --question 'Who lives with you?' \\",
        "    --label nobody --label 'a dog' --users 20,000 --delta 1e-6 --eps-server 0.5 --closes-in 2d",
    )
)
@with_settings(CollectionSpec)
def create(
    config: Config,
    out: Annotated[Path, typer.Option(help="Folder for the invitation.", metavar="FOLDER")],
    spec: Annotated[
        Path | None,
        typer.Option(help="TOML file of the options below, as name = value; options given here win.", metavar="FILE"),
    ] = None,
    wait: Annotated[float, seconds("--wait", help=WAIT, show_default=False)] = 600.0,
    as_json: Json = False,
    **options: object,
) -> None:
    """Plan a collection, have every shuffler accept it, and write the invitation. Run it again to resume."""
    from analyzer.create import create as created
    from analyzer.create import write_invitation
    from peos.cli.progress import Progress
    from peos.store.private_files import writable_folder

    asked = load(spec, CollectionSpec, options)
    writable_folder(out)  # before anything is proposed
    with _workspace(config) as workspace, Progress() as progress:
        kept = asyncio.run(created(workspace, asked, progress, wait=wait))
        path = write_invitation(workspace, kept, out)
        guarantees = kept.words.splitlines()
    if as_json:
        shown = {"name": asked.name, "digest": kept.digest.hex(), "invitation": str(path), "guarantees": guarantees}
        typer.echo(json.dumps(shown, ensure_ascii=False))
        return
    typer.echo(f"invitation  {path}\ndigest      {kept.digest.hex()}")
    for sentence in guarantees:
        typer.echo(sentence)


@app.command(epilog=examples("peos analyzer freeze --config analyzer.toml pets"))
def freeze(config: Config, name: Name) -> None:
    """Close a collection now; only submissions that the shufflers hold by then count."""
    from analyzer import orders
    from peos.cli.progress import Progress

    with _workspace(config) as workspace, Progress() as progress:
        kept = workspace.kept(name)
        orders.freeze(workspace, kept, progress.waiting, progress.say)
    typer.echo(f"{name} is closed")


@app.command(epilog=examples("peos analyzer abort --config analyzer.toml pets"))
def abort(config: Config, name: Name) -> None:
    """End a collection without a result."""
    from analyzer import orders
    from peos.cli.progress import Progress

    with _workspace(config) as workspace, Progress() as progress:
        kept = workspace.kept(name)
        progress.say("telling every shuffler")
        orders.abort(workspace, kept)
    typer.echo(f"{name} is aborted")


@app.command(epilog=examples("peos analyzer publish --config analyzer.toml pets --unopened 2"))
def publish(
    config: Config,
    name: Name,
    unopened: Annotated[
        list[str] | None,
        typer.Option(help="Number of a shuffler whose rows were not inspected; several: 1,3.", metavar="N"),
    ] = None,
) -> None:
    """Publish a delivered collection; without --unopened only if every shuffler's rows were inspected."""
    from analyzer import orders

    numbers = [number.strip() for given in unopened or () for number in given.split(",")]
    if not all(number.isascii() and number.isdigit() for number in numbers):
        raise WrongInput(
            "input.unopened", f"--unopened takes numbers of shufflers, not {','.join(numbers)[:60]!r}", hint="like 1,3"
        )
    with _workspace(config) as workspace:
        orders.publish(workspace, workspace.kept(name), frozenset(map(int, numbers)))
    without = f" without the rows of {', '.join(f'shuffler {number}' for number in numbers)}" if numbers else ""
    typer.echo(f"{name} is being published{without}; `peos analyzer serve` does it")


@app.command(epilog=examples("peos analyzer status --config analyzer.toml pets"))
def status(
    config: Config,
    name: Annotated[str | None, typer.Argument(help="Name of one collection [default: all]", metavar="NAME")] = None,
    as_json: Json = False,
) -> None:
    """Show each collection's state, what it waits for, and what was refused."""
    from analyzer.status import status as found

    with _workspace(config) as workspace:
        lines = found(workspace, [workspace.kept(name)] if name else workspace.store.all())
    if as_json:
        shown = [line.to_json() for line in lines]
        typer.echo(json.dumps(shown[0] if name else shown, ensure_ascii=False))
        return
    for line in lines:
        typer.echo(str(line))
    if not lines:
        typer.echo("no collections yet")


@app.command(epilog=examples("peos analyzer audit --config analyzer.toml --json"))
def audit(config: Config, as_json: Json = False) -> None:
    """Verify the audit log's chain of hashes, and show the log."""
    with _workspace(config) as workspace:
        lines = workspace.store.audit_log()
    if as_json:
        shown = [{"number": one.number, "time": one.time, "event": one.event, **one.fields} for one in lines]
        typer.echo(json.dumps(shown, ensure_ascii=False))
        return
    for one in lines:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(one.time))
        told = ", ".join(f"{name} {value}" for name, value in sorted(one.fields.items()) if value != "")
        typer.echo(f"{one.number:6}  {when}  {one.event}: {told}")
    typer.echo(f"{len(lines):,} lines, each chained to the one before: nothing was changed or taken out")


@app.command(epilog=examples("peos analyzer ledger --config analyzer.toml"))
def ledger(config: Config, as_json: Json = False) -> None:
    """Show the privacy loss of all collections together, and the budget, for each population."""
    from analyzer.ledger import ledger_of, populations, shown, to_json
    from peos.privacy.guarantees import power, rounded_up

    with _workspace(config) as workspace:
        budget = workspace.config.budget
        if budget is None:
            raise WrongInput(
                "budget.none",
                f"{workspace.config.path} sets no budget",
                hint="give budget.epsilon and budget.delta for a ledger to be kept",
            )
        books = [(population, ledger_of(workspace, population, budget)) for population in populations(workspace)]
        if as_json:
            typer.echo(json.dumps([to_json(*book) for book in books], ensure_ascii=False))
            return
        for population, book in books:
            names = ", ".join(release.name for release in book.releases)
            spent = f"{rounded_up(book.spent.epsilon)} of {budget.epsilon:g} at δ = {power(budget.delta)}"
            typer.echo(f"{shown(population)}: ε = {spent}, spent by {names}")
            typer.echo(f"  if all other users were the analyzer's: ε = {rounded_up(book.spent_alone.epsilon)}")
    if not books:
        typer.echo("no collections yet")


@app.command(
    epilog=examples(
        "peos analyzer result --config analyzer.toml pets --wait 2h --html pets.html",
        "peos analyzer result --config analyzer.toml pets-2025 --compare pets-2024 --html pets.html",
        "peos analyzer result --result result.json --csv pets.csv --post-process norm_sub",
    )
)
def result(
    config: Annotated[Path | None, config_option("analyzer.toml")] = None,
    name: Annotated[str | None, typer.Argument(help="Name of the collection.", metavar="NAME")] = None,
    file: Annotated[
        Path | None,
        typer.Option("--result", help="Path of a result.json, in place of --config and a name.", metavar="FILE"),
    ] = None,
    asked: PostProcess = None,
    as_json: Json = False,
    wait: Annotated[
        float, seconds("--wait", help="Time to wait for the result, like 90 or 2h [default: 0]", show_default=False)
    ] = 0.0,
    everything: Annotated[bool, typer.Option("--all", help="Show every value [default: the most frequent]")] = False,
    html: Html = None,
    csv: Csv = None,
    parquet: Parquet = None,
    of: Of = "values",
    others: Annotated[
        list[str] | None,
        typer.Option(
            "--compare",
            help="Another epoch of the same question, to show next to it; repeat it for several.",
            metavar="NAME|FILE",
        ),
    ] = None,
) -> None:
    """Show a collection's estimates, with error bars and guarantees, and what post-processing makes of them."""
    from rich.console import Console

    from analyzer.report import compared
    from analyzer.result import read, show
    from analyzer.takeaway import TakeAway
    from peos.cli.progress import Progress

    if (None in (config, name)) if file is None else name is not None:
        raise WrongInput(
            "input.which_result",
            "which result to show is not said, or said twice",
            hint="give --config and the collection's NAME, or --result FILE and no name",
        )
    takes = TakeAway(html, csv, parquet, of)
    takes.require()
    epochs: list[dict[str, Any]] = []
    with Progress() as progress:
        if file is not None:
            found = read(file)
            epochs = [read(Path(other)) for other in others or ()]
        elif config is not None and name is not None:
            with _workspace(config) as workspace:
                found = _awaited(workspace, name, wait, progress)
                epochs = [_awaited(workspace, other, 0.0, progress) for other in others or ()]
                workspace.store.note("result read", workspace.kept(name).digest)
        if epochs:
            found["compared"] = compared(found, epochs)
        if asked is not None:
            from peos.estimate.post_processing.published import post_processed

            found["post_processed"] = post_processed(found, asked)
        takes.write(found, progress.say)
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False))
    else:
        show(found, Console(highlight=False), everything=everything)


@app.command(epilog=examples("peos analyzer statement --config analyzer.toml pets --html statement.html"))
def statement(
    config: Config,
    name: Annotated[str, typer.Argument(help="Name of a collection or a study.", metavar="NAME")],
    html: Html = None,
    as_json: Json = False,
) -> None:
    """State for a privacy officer who sees what, what is guaranteed and assumed, what is kept, and what is spent."""
    from analyzer.statement.contents import statement as stated
    from analyzer.statement.page import lines, write_statement
    from analyzer.takeaway import TakeAway
    from peos.cli.progress import Progress

    TakeAway(html).require()
    with _workspace(config) as workspace:
        shown = stated(workspace, name, time.time())
    if html is not None:
        write_statement(html, shown)
        with Progress() as progress:
            progress.say(f"the statement is {html}")
    typer.echo(json.dumps(shown.to_json(), ensure_ascii=False) if as_json else "\n".join(lines(shown)))


def _awaited(workspace: "Workspace", name: str, wait: float, progress: Any) -> dict[str, Any]:
    from analyzer.status import not_yet, published
    from analyzer.status import status as where

    give_up_at = time.monotonic() + wait
    while True:
        kept = workspace.kept(name)
        found = published(kept)
        if found is not None:
            return found
        standing = str(where(workspace, [kept])[0].here)
        left = give_up_at - time.monotonic()
        if left <= 0:
            raise not_yet(standing)
        progress.waiting(standing)
        time.sleep(min(left, 1.0))


def _keeper() -> Keeper:
    from analyzer import backup

    return backup


def _read(config: Path) -> Any:
    from analyzer.config import read

    return read(config)


add_upkeep(app, "analyzer", _keeper, _read, "analyzer.card")


def main() -> int:
    """`python -m analyzer`."""
    from peos.cli.running import run

    return run(app, sys.argv[1:], "analyzer")
