"""The command `peos`: one file a command; `running` turns errors into sentences and exit codes."""

import sys
from collections.abc import Sequence
from typing import Annotated, Any, Final

import typer
import typer.core

from peos import __version__
from peos.cli import bench, card, roles
from peos.cli.completion import completion
from peos.cli.demo import demo
from peos.cli.localcluster import localcluster
from peos.cli.options import examples
from peos.cli.plan import OF_A_TASK, plan
from peos.cli.running import PEOS, run

GROUPS: Final = {
    "To try things out": ("demo", "plan", "localcluster", "bench"),
    "For an analyst": ("analyzer", "study", "enrol"),
    "For the operator of a shuffler": ("shuffler",),
    "For a user": ("client",),
    "For all": ("card", "completion", "version"),
}
FIRST: Final = """Statistics from many users without seeing any user's answer.

Four things to try:

  peos plan --users 100,000 --domain 16 --delta 1e-6 --eps-server 0.5
      what a question would cost, how exact its answer would be, and what is guaranteed
  peos demo --users 400 --domain 16 --scheme jl
      a whole collection on this machine in half a minute, its estimates next to the truth
  peos localcluster --analyzer analyzer.card --dir cluster
      three shufflers on this machine, for an analyzer and users of your own
  peos bench schemes
      how fast this machine is at it

`peos --help` lists every command, `peos COMMAND --help` shows how one is used."""


class Grouped(typer.core.TyperGroup):
    """A command whose help lists its commands by who uses them."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - the library's signature
        """Called by the library."""
        width = max(map(len, self.commands))
        for title, names in GROUPS.items():
            with formatter.section(title):
                rows = [(name, self.commands[name].get_short_help_str(formatter.width - 6 - width)) for name in names]
                formatter.write_dl([(name.ljust(width), text) for name, text in rows])


# Help is plain text: it must be readable in a pipe, and quick.
app = typer.Typer(cls=Grouped, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
_TRIED: Final = "peos demo --users 400 --domain 16 --scheme jl"
app.command("demo", epilog=examples(_TRIED), context_settings=OF_A_TASK)(demo)
_PLANNED: Final = "peos plan --users 100,000 --domain 16 --delta 1e-6 --eps-server 0.5"
app.command("plan", epilog=examples(_PLANNED), context_settings=OF_A_TASK)(plan)
roles.register(app)
app.command(
    "localcluster",
    epilog=examples(
        "peos localcluster --analyzer state/analyzer.card --dir cluster",
        "peos localcluster --analyzer state/analyzer.card --dir cluster \\",
        "    --web-origin http://localhost:8000",
    ),
)(localcluster)
app.add_typer(bench.app, name="bench")
app.add_typer(card.app, name="card")
app.command("completion", epilog=examples("peos completion bash > ~/.local/share/bash-completion/completions/peos"))(
    completion
)


@app.command("version", epilog=examples("peos version"))
def _version() -> None:
    """Show the version of this program, and of the wire that it speaks."""
    from peos.wire.strict import VERSION

    typer.echo(f"peos {__version__}, wire version {VERSION}")


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
        typer.echo(FIRST)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    return run(app, sys.argv[1:] if arguments is None else arguments, PEOS)
