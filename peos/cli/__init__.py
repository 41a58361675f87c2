"""The command `peos`: one file a command; `running` turns errors into sentences and exit codes."""

import sys
from collections.abc import Sequence
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from peos import __version__
from peos.cli import roles
from peos.cli.demo import demo
from peos.cli.localcluster import localcluster
from peos.cli.plan import plan
from peos.cli.running import run
from peos.errors import WrongInput

_TO_COME: Final = frozenset({"bench"})


class _Commands(TyperGroup):
    """The commands that there are; those that are planned are refused by name, and not listed."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in _TO_COME:
            raise WrongInput(f"the command {cmd_name} does not exist yet", hint="peos --help lists what does")
        return super().get_command(ctx, cmd_name)


# Help is plain text: it must be readable in a pipe, and quick.
app = typer.Typer(cls=_Commands, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.command("demo")(demo)
app.command("plan")(plan)
roles.register(app)
app.command("localcluster")(localcluster)


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
    return run(app, sys.argv[1:] if arguments is None else arguments, "peos")
