"""Running a command line, ours or a role's: the one place where an error becomes a sentence and an exit code.

Exit codes: 0 done, 1 failed, 2 wrong input, 3 refused by policy or infeasible, 130 interrupted. Errors go to standard
error, so that standard output holds results only; with --json as {"error", "where", "hint"}.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

import typer

from peos.errors import PeosError

INTERRUPTED: Final = 130
WRONG_INPUT: Final = 2

# The library under typer has moved between releases; the root of its errors is reached through a public name.
_MISUSE: Final[Any] = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")


def run(app: typer.Typer, given: Sequence[str], name: str) -> int:
    """Run `app` as the command `name` and return its exit code."""
    command: Any = typer.main.get_command(app)
    where = f"{name} {given[0]}" if given and given[0] in getattr(command, "commands", {}) else name
    try:
        outcome = command.main(args=list(given), prog_name=name, standalone_mode=False)
    except PeosError as error:
        _report(given, where, str(error), error.hint)
        return error.exit_code
    except _MISUSE as error:
        _report(given, where, _sentence(error.format_message()), f"see {where} --help")
        return WRONG_INPUT
    except (KeyboardInterrupt, typer.Abort):
        outcome = INTERRUPTED
    if outcome == INTERRUPTED:
        _report(given, where, "interrupted", "")
    return outcome if isinstance(outcome, int) else 0


def _report(given: Sequence[str], where: str, error: str, hint: str) -> None:
    if "--json" in given:
        line = json.dumps({"error": error, "where": where, "hint": hint}, ensure_ascii=False)
    else:
        line = f"{where}: {error} ({hint})" if hint else f"{where}: {error}"
    typer.echo(line, err=True)


def _sentence(message: str) -> str:
    """A library's message as ours are: one line, no capital, no full stop."""
    line = " ".join(message.split()).rstrip(".")
    return line[:1].lower() + line[1:]
