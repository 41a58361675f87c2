"""The command `peos`: one file a command; `running` turns errors into sentences and exit codes."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from peos import __version__
from peos.cli import bench, roles
from peos.cli.demo import demo
from peos.cli.localcluster import localcluster
from peos.cli.plan import plan
from peos.cli.running import PEOS, run

# Help is plain text: it must be readable in a pipe, and quick.
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.command("demo")(demo)
app.command("plan")(plan)
roles.register(app)
app.command("localcluster")(localcluster)
app.add_typer(bench.app, name="bench")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"peos {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _peos(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback does the work
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Statistics from many users without seeing any user's answer."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    return run(app, sys.argv[1:] if arguments is None else arguments, PEOS)
