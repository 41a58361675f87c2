"""The command `peos`: one file a command, and the one place where an error becomes a sentence and an exit code.

Exit codes: 0 done, 1 failed, 2 wrong input, 3 refused by policy or infeasible, 130 interrupted. Errors go to standard
error, so that standard output holds results only; with --json as {"error", "where", "hint"}.
"""

import json
import sys
from collections.abc import Sequence
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from peos import __version__
from peos.cli.plan import plan
from peos.errors import PeosError, WrongInput

INTERRUPTED: Final = 130
WRONG_INPUT: Final = 2

_TO_COME: Final = frozenset(
    {"analyzer", "bench", "client", "demo", "enrol", "localcluster", "shuffler"},
)

# The library under typer has moved between releases; the root of its errors is reached through a public name.
_MISUSE: Final[Any] = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")


class _Commands(TyperGroup):
    """The commands that there are; those that are planned are refused by name, and not listed."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in _TO_COME:
            raise WrongInput(f"the command {cmd_name} does not exist yet", hint="peos --help lists what does")
        return super().get_command(ctx, cmd_name)


# Help is plain text: it must be readable in a pipe, and quick.
app = typer.Typer(cls=_Commands, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.command("plan")(plan)


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
    given = list(sys.argv[1:] if arguments is None else arguments)
    command: Any = typer.main.get_command(app)
    try:
        outcome = command.main(args=given, prog_name="peos", standalone_mode=False)
    except PeosError as error:
        _report(given, str(error), error.hint)
        return error.exit_code
    except _MISUSE as error:
        _report(given, _sentence(error.format_message()), f"see {_where(given)} --help")
        return WRONG_INPUT
    except (KeyboardInterrupt, typer.Abort):
        outcome = INTERRUPTED
    if outcome == INTERRUPTED:
        _report(given, "interrupted", "")
    return outcome if isinstance(outcome, int) else 0


def _report(given: Sequence[str], error: str, hint: str) -> None:
    where = _where(given)
    if "--json" in given:
        line = json.dumps({"error": error, "where": where, "hint": hint}, ensure_ascii=False)
    else:
        line = f"{where}: {error} ({hint})" if hint else f"{where}: {error}"
    typer.echo(line, err=True)


def _where(given: Sequence[str]) -> str:
    return f"peos {given[0]}" if given and given[0] in {command.name for command in app.registered_commands} else "peos"


def _sentence(message: str) -> str:
    """A library's message as ours are: one line, no capital, no full stop."""
    line = " ".join(message.split()).rstrip(".")
    return line[:1].lower() + line[1:]
