"""What a demo leaves: result.json, the report, and what is said of them; and whether it held."""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from peos.errors import PeosError

if TYPE_CHECKING:
    from rich.console import Console

FOLDER: Final = Path("peos-demo")


def conclude(
    result: dict[str, Any],
    folder: Path,
    console: "Console",
    show: Callable[[dict[str, Any], Path, "Console"], None],
    *,
    as_json: bool,
) -> None:
    """Write the result, say it, `show`n by the demo's own table; PeosError if a check of it failed."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=2, ensure_ascii=False)
    (folder / "result.json").write_text(text, encoding="utf-8")
    report = import_module("analyzer.report")  # by name, as every role is loaded here
    (folder / report.REPORT).write_text(report.page(result), encoding="utf-8")
    if as_json:
        typer.echo(text)
    else:
        show(result, folder, console)
        for sentence in result["guarantees"]["coalitions"]:
            console.print(sentence)
        for name, held in result["checks"].items():
            console.print(f"{'holds' if held else 'FAILS'}  {name.replace('_', ' ')}")
    console.print(f"the report is {folder / report.REPORT}")
    if not result["ok"]:
        failed = ", ".join(name for name, held in result["checks"].items() if not held)
        raise PeosError("demo.failed", f"the demo failed its check: {failed}", hint=f"see {folder / 'result.json'}")
