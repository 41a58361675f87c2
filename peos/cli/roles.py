"""The roles' command lines under `peos`: their packages are loaded by name, and only when called."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import typer

from peos.cli.running import Ended, run

MODULES: Final = {
    "analyzer": ("analyzer.cli", "Create collections, receive the shuffled reports, publish estimates."),
    "shuffler": ("shuffler.cli", "Run a shuffler: accept submissions, shuffle with the others, deliver."),
    "client": ("user_client.cli", "Answer questions: randomise once, store the report, submit it."),
    "study": ("analyzer.study_cli", "Ask more than one value of a list, in one collection or in several."),
    "enrol": ("analyzer.enrol", "Mint tickets for the users of a collection, or of a study."),
}

# Options and --help belong to the role's own command line.
_PASSED_ON: Final = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": list[str]()}


def _role(name: str, module: str) -> Callable[[typer.Context], None]:
    def call(context: typer.Context) -> None:
        app: Any = import_module(module).app
        raise Ended(run(app, context.args, f"peos {name}"))

    return call


def register(app: typer.Typer) -> None:
    """Add the roles to the command `peos`."""
    for name, (module, purpose) in MODULES.items():
        app.command(name, help=purpose, context_settings=_PASSED_ON, add_help_option=False)(_role(name, module))
