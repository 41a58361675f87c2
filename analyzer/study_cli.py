"""`peos study`: create, run, status, result, abort."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from analyzer.cli import WAIT, Config, Csv, Html, Json, Of, Parquet, _workspace
from peos.cli.options import examples, seconds, with_settings, with_task_options
from peos.settings import load
from peos.spec import StudySpec

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Ask what one value of a list cannot say: frequent texts, item sets, tables; in one collection or in several.",
)
Name = Annotated[str, typer.Argument(help="Name of the study.", metavar="NAME")]
_SPEC: Final = "TOML file of the options below, as name = value, those of the task in a table [options]"


@app.command(
    epilog=examples(
        "peos study create --config analyzer.toml --name towns --task heavy-hitters --bytes 6 --top 8 \\",
        "    --users 20,000 --delta 1e-6 --eps-server 0.5",
    )
)
@with_task_options
@with_settings(StudySpec)
def create(
    config: Config,
    spec: Annotated[Path | None, typer.Option(help=f"{_SPEC}; options given here win.", metavar="FILE")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the invitations of `peos study run`.", metavar="FOLDER")
    ] = None,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Plan every round of a study, and say what is guaranteed, before anybody is asked. Run it again to see that."""
    from analyzer.study import create as created

    asked = load(spec, StudySpec, options)
    with _workspace(config) as workspace:
        study = created(workspace, asked)
    lines = study.words.splitlines()
    if as_json:
        shown = {"name": study.name, "id": study.id.hex(), "state": study.state, "guarantees": lines}
        typer.echo(json.dumps(shown, ensure_ascii=False))
        return
    for line in lines:
        typer.echo(line)
    where = f" --out {out}" if out is not None else ""
    typer.echo(f"peos enrol --config {config} --study {study.name} --count {asked.users} --out tickets.txt")
    typer.echo(f"peos study run --config {config}{where} {study.name}")


@app.command(epilog=examples("peos study run --config analyzer.toml towns --out invitations --wait 1h"))
def run(
    config: Config,
    name: Name,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the invitations [default: this one]", metavar="FOLDER")
    ] = None,
    wait: Annotated[float, seconds("--wait", help=WAIT, show_default=False)] = 600.0,
    as_json: Json = False,
) -> None:
    """Ask round after round until the study is over, from wherever it stands. `peos analyzer serve` must run."""
    from analyzer.study import run as ran
    from peos.cli.progress import Progress

    with _workspace(config) as workspace, Progress() as progress:
        study = ran(workspace, name, out or Path(), progress, wait=wait)
    found = json.loads(study.result) if study.result is not None else None
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False))
        return
    typer.echo(f"{name} is {study.state}" + (f": {study.reason}" if study.reason else ""))
    if found is not None:
        _show(found)


@app.command(epilog=examples("peos study status --config analyzer.toml towns"))
def status(
    config: Config,
    name: Annotated[str | None, typer.Argument(help="Name of one study [default: all]", metavar="NAME")] = None,
    as_json: Json = False,
) -> None:
    """Show each study's state, its rounds, and what is waited for."""
    from analyzer.status import status as found
    from analyzer.study import kept

    with _workspace(config) as workspace:
        studies = [kept(workspace, name)] if name else workspace.store.studies()
        shown = [(study, found(workspace, workspace.store.rounds(study.name))) for study in studies]
    if as_json:
        every = [
            {
                "name": study.name,
                "id": study.id.hex(),
                "state": study.state,
                "reason": study.reason,
                "rounds": [line.to_json() for line in lines],
            }
            for study, lines in shown
        ]
        typer.echo(json.dumps(every[0] if name else every, ensure_ascii=False))
        return
    for study, lines in shown:
        typer.echo(f"{study.name}: {study.state}" + (f", {study.reason}" if study.reason else ""))
        for line in lines:
            typer.echo(str(line))
    if not shown:
        typer.echo("no studies yet")


@app.command(epilog=examples("peos study result --config analyzer.toml towns --csv towns.csv"))
def result(
    config: Config,
    name: Name,
    as_json: Json = False,
    everything: Annotated[bool, typer.Option("--all", help="Show every row [default: the most frequent]")] = False,
    html: Html = None,
    csv: Csv = None,
    parquet: Parquet = None,
    of: Of = "values",
) -> None:
    """Show what a study found, with error bars and guarantees."""
    from analyzer.study import result as result_of
    from analyzer.takeaway import TakeAway
    from peos.cli.progress import Progress

    takes = TakeAway(html, csv, parquet, of)
    takes.require()
    with _workspace(config) as workspace:
        found = result_of(workspace, name)
    with Progress() as progress:
        takes.write(found, progress.say)
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False))
    else:
        _show(found, everything=everything)


@app.command(epilog=examples("peos study abort --config analyzer.toml towns"))
def abort(config: Config, name: Name) -> None:
    """End a study. What its rounds have published stays published, and counts."""
    from analyzer.study import abort as aborted
    from peos.cli.progress import Progress

    with _workspace(config) as workspace, Progress() as progress:
        aborted(workspace, name, progress.say)
    typer.echo(f"{name} is aborted")


def _show(found: Mapping[str, Any], *, everything: bool = False) -> None:
    from rich.console import Console

    from analyzer.result import show

    show(dict(found), Console(highlight=False), everything=everything)
