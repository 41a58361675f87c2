"""`peos analyzer`: init, serve, create, freeze, abort, publish, status, result."""

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from peos.errors import PeosError, WrongInput
from peos.registry import DEFAULT_PROTOCOL, DEFAULT_SCHEME, MECHANISMS, PROTOCOLS, SCHEMES

if TYPE_CHECKING:
    from analyzer.home import Home

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Create collections, receive what was shuffled, publish estimates.",
)
Config = Annotated[Path, typer.Option("--config", help="analyzer.toml")]
Name = Annotated[str, typer.Argument(help="The name of the collection.")]
Json = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]


@contextmanager
def _home(config: Path) -> Iterator["Home"]:
    """The analyzer, opened; modules that take a moment to load are loaded only now."""
    from analyzer.config import read
    from analyzer.home import Home

    home = Home(read(config))
    try:
        yield home
    finally:
        home.close()


@app.command()
def init(config: Config) -> None:
    """Draw this analyzer's keys, and write the card to hand out; again, write the card anew."""
    from analyzer import keys
    from analyzer.config import read
    from peos.crypto.randomness import system

    settings = read(config)
    made = keys.make(settings, system())
    typer.echo(f"card      {settings.folder / keys.CARD}")
    typer.echo(f"identity  {made.identity.public.hex()}")


@app.command()
def serve(
    config: Config, log: Annotated[Path | None, typer.Option(help="Write the log here, not to stderr.")] = None
) -> None:
    """Take in what is delivered, decrypt and publish, until told to stop."""
    from analyzer.serve import run
    from peos.net.logs import Log, configure

    with _home(config) as home:
        configure(log)
        asyncio.run(run(home, Log().bind(party=home.config.name)))


@app.command()
def create(
    config: Config,
    name: Annotated[str, typer.Option(help="A name of your own for the collection.")],
    question: Annotated[str, typer.Option(help="What is asked.")],
    domain: Annotated[int, typer.Option(help="How many values there are.")],
    users: Annotated[int, typer.Option(help="Honest users expected to take part.")],
    delta: Annotated[float, typer.Option(help="The probability that a guarantee is allowed to fail with.")],
    out: Annotated[Path, typer.Option(help="The folder for the invitation.")],
    epoch: Annotated[str, typer.Option(help="When it is asked; a question is answered once an epoch.")] = "",
    eps_server: Annotated[float | None, typer.Option(help="The most that the analyzer may learn.")] = None,
    eps_users: Annotated[float | None, typer.Option(help="The same, if all other users help it.")] = None,
    eps_local: Annotated[float | None, typer.Option(help="The most that anybody may learn.")] = None,
    fakes: Annotated[str, typer.Option(help="Fake reports that the shufflers add.", metavar="auto|K")] = "auto",
    mechanism: Annotated[str, typer.Option(help="How users randomise.", metavar=f"auto|{MECHANISMS.choices}")] = "auto",
    d_prime: Annotated[int | None, typer.Option(help="The answers that a hashed report tells apart.")] = None,
    minimum: Annotated[int | None, typer.Option(help="Fewer reports are not shuffled; half of the users.")] = None,
    scheme: Annotated[
        str | None,
        typer.Option(help=f"The encryption scheme; {DEFAULT_SCHEME} if none is named.", metavar=SCHEMES.choices),
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            help="The shuffle; all but the first protect less: docs/protocol.md §9.", metavar=PROTOCOLS.choices
        ),
    ] = DEFAULT_PROTOCOL,
    closes_in: Annotated[int, typer.Option(help="Seconds until it closes.")] = 3600,
    shuffle_within: Annotated[int, typer.Option(help="Seconds after that by which it is shuffled.")] = 86_400,
    erase_within: Annotated[int, typer.Option(help="Seconds after that by which all is erased.")] = 604_800,
    accounting: Annotated[
        str, typer.Option(help="How the plan meets its targets: see peos plan.", metavar="exact|theorem")
    ] = "exact",
    population: Annotated[
        str, typer.Option(help="Whom is asked, if not everybody: budgets are kept for each population.")
    ] = "",
    wait: Annotated[float, typer.Option(help="Seconds to wait for the shufflers to accept.")] = 600.0,
    as_json: Json = False,
) -> None:
    """Plan a collection, have every shuffler accept it, and write the invitation. Again, go on with it."""
    from analyzer.create import open_collection, write_invitation
    from analyzer.draft import Request, draft
    from analyzer.telling import Teller
    from peos.protocols import protocol_named

    _require_seconds(wait)
    request = Request(
        name=name,
        question=question,
        epoch=epoch,
        domain=domain,
        users=users,
        delta=delta,
        eps_server=eps_server,
        eps_users=eps_users,
        eps_local=eps_local,
        fakes=fakes,
        mechanism=mechanism,
        d_prime=d_prime,
        minimum=minimum,
        scheme=protocol_named(protocol).scheme(scheme),
        closes_in=closes_in,
        shuffle_within=shuffle_within,
        erase_within=erase_within,
        population=population,
        protocol=protocol,
        accounting=accounting,
    )
    with _home(config) as home, Teller() as teller:
        kept = open_collection(home, draft(home, request, teller), teller, wait=wait)
        path = write_invitation(home, kept, out)
        guarantees = kept.words.splitlines()
    if as_json:
        shown = {"name": name, "digest": kept.digest.hex(), "invitation": str(path), "guarantees": guarantees}
        typer.echo(json.dumps(shown, ensure_ascii=False))
        return
    typer.echo(f"invitation  {path}\ndigest      {kept.digest.hex()}")
    for sentence in guarantees:
        typer.echo(sentence)


@app.command()
def freeze(config: Config, name: Name) -> None:
    """Close a collection now: what the shufflers hold by then is what counts."""
    from analyzer import orders
    from analyzer.telling import Teller

    with _home(config) as home, Teller() as teller:
        kept = home.kept(name)
        orders.freeze(home, kept, teller.waiting)
    typer.echo(f"{name} is closed")


@app.command()
def abort(config: Config, name: Name) -> None:
    """End a collection without a result."""
    from analyzer import orders
    from analyzer.telling import Teller

    with _home(config) as home, Teller() as teller:
        kept = home.kept(name)
        teller.say("telling every shuffler")
        orders.abort(home, kept)
    typer.echo(f"{name} is aborted")


@app.command()
def publish(
    config: Config,
    name: Name,
    unopened: Annotated[
        list[str] | None,
        typer.Option(help="Although the rows of this shuffler, by number, were not seen; several: 1,3."),
    ] = None,
) -> None:
    """Say that a delivered collection is to be published; without --unopened only if all rows were seen."""
    from analyzer import orders

    numbers = [number.strip() for given in unopened or () for number in given.split(",")]
    if not all(number.isascii() and number.isdigit() for number in numbers):
        raise WrongInput(
            "input.unopened", f"--unopened takes numbers of shufflers, not {','.join(numbers)[:60]!r}", hint="like 1,3"
        )
    with _home(config) as home:
        orders.publish(home, home.kept(name), frozenset(map(int, numbers)))
    without = f" without the rows of {', '.join(f'shuffler {number}' for number in numbers)}" if numbers else ""
    typer.echo(f"{name} is being published{without}; `peos analyzer serve` does it")


@app.command()
def status(
    config: Config,
    name: Annotated[str | None, typer.Argument(help="One collection; all of them if none is named.")] = None,
    as_json: Json = False,
) -> None:
    """Say where each collection stands, what is waited for, and what was refused."""
    from analyzer.status import in_words
    from analyzer.status import status as found

    with _home(config) as home:
        lines = found(home, [home.kept(name)] if name else home.store.all())
    if as_json:
        typer.echo(json.dumps(lines[0] if name else lines, ensure_ascii=False))
        return
    for line in lines:
        for sentence in in_words(line):
            typer.echo(sentence)
    if not lines:
        typer.echo("no collections yet")


@app.command()
def audit(config: Config, as_json: Json = False) -> None:
    """Show the audit log, once its chain of hashes is found whole."""
    with _home(config) as home:
        lines = home.store.audit_log()
    if as_json:
        shown = [{"number": one.number, "time": one.time, "event": one.event, **one.fields} for one in lines]
        typer.echo(json.dumps(shown, ensure_ascii=False))
        return
    for one in lines:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(one.time))
        told = ", ".join(f"{name} {value}" for name, value in sorted(one.fields.items()) if value != "")
        typer.echo(f"{one.number:6}  {when}  {one.event}: {told}")
    typer.echo(f"{len(lines):,} lines, each chained to the one before: nothing was changed or taken out")


@app.command()
def ledger(config: Config, as_json: Json = False) -> None:
    """Show what all collections together give away of each population, and what its budget is."""
    from analyzer.ledger import ledger_of, populations, shown, to_json
    from peos.privacy.guarantees import rounded_up

    with _home(config) as home:
        budget = home.config.budget
        if budget is None:
            raise WrongInput(
                "budget.none",
                f"{home.config.path} sets no budget",
                hint="give budget.epsilon and budget.delta for a ledger to be kept",
            )
        books = [(population, ledger_of(home, population, budget)) for population in populations(home)]
        if as_json:
            typer.echo(json.dumps([to_json(*book) for book in books], ensure_ascii=False))
            return
        for population, book in books:
            names = ", ".join(release.name for release in book.releases)
            spent = f"{rounded_up(book.spent.epsilon)} of {budget.epsilon:g} at δ = {budget.delta:g}"
            typer.echo(f"{shown(population)}: ε = {spent}, spent by {names}")
            typer.echo(f"  if all other users were the analyzer's: ε = {rounded_up(book.spent_alone.epsilon)}")
    if not books:
        typer.echo("no collections yet")


@app.command()
def result(
    config: Config,
    name: Name,
    as_json: Json = False,
    wait: Annotated[float, typer.Option(help="Seconds to wait for it.")] = 0.0,
    everything: Annotated[bool, typer.Option("--all", help="Show every value, not only the most frequent.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write the report page to this file, too.")] = None,
) -> None:
    """Show what a collection found, with error bars and guarantees."""
    from rich.console import Console

    from analyzer.report import write_report
    from analyzer.result import show
    from analyzer.telling import Teller

    _require_seconds(wait)
    if html is not None and (html.is_dir() or not html.parent.is_dir()):
        raise WrongInput(
            "input.page", f"the page cannot be written to {html}", hint="name a file in a folder that exists"
        )
    with _home(config) as home, Teller() as teller:
        found = _awaited(home, name, wait, teller)
        home.store.note("result read", home.kept(name).digest)
        if html is not None:
            write_report(html, found)
            teller.say(f"the report is {html}")
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False))
    else:
        show(found, Console(highlight=False), everything=everything)


def _awaited(home: "Home", name: str, wait: float, teller: Any) -> dict[str, Any]:
    from analyzer.status import in_words
    from analyzer.status import status as where
    from peos.collection.lifecycle import State

    give_up_at = time.monotonic() + wait
    while True:
        kept = home.kept(name)
        if kept.result is not None:
            found: dict[str, Any] = json.loads(kept.result)
            return found
        if kept.state is State.ABORTED:
            raise PeosError(
                "result.aborted",
                f"{name} was aborted: {kept.reason}",
                hint="create another collection, under another name",
            )
        standing = in_words(where(home, [kept])[0])[0]
        left = give_up_at - time.monotonic()
        if left <= 0:
            raise PeosError("result.not_yet", f"there is no result yet: {standing}", hint="--wait SECONDS waits for it")
        teller.waiting(standing)
        time.sleep(min(left, 1.0))


def _require_seconds(wait: float) -> None:
    if not wait >= 0.0:  # nor is it nan
        raise WrongInput("input.wait", f"--wait is a number of seconds from 0, not {wait:g}", hint="0 does not wait")


def main() -> int:
    """`python -m analyzer`."""
    from peos.cli.running import run

    return run(app, sys.argv[1:], "analyzer")
