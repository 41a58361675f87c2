"""The notebooks of examples/ run from top to bottom, and hold no outputs that could grow old."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.ipynb"))


def cells(path: Path) -> list[dict[str, Any]]:
    """Of a notebook of format 4."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    found: list[dict[str, Any]] = notebook["cells"]
    return found


def run(source: str, names: dict[str, Any]) -> Any:
    """A cell; what its last line comes to is shown, as a notebook does."""
    tree = ast.parse(source)
    match tree.body:
        case [*_, ast.Expr(value=value)]:
            tree.body.pop()
            shown = ast.Expression(value)
        case _:
            shown = ast.Expression(ast.Constant(None))
    exec(compile(tree, "cell", "exec"), names)  # noqa: S102 - our own notebook
    return eval(compile(ast.fix_missing_locations(shown), "cell", "eval"), names)  # noqa: S307 - likewise


def test_there_are_three_and_none_has_outputs() -> None:
    assert [path.stem for path in EXAMPLES] == ["plan", "study", "survey"]
    for path in EXAMPLES:
        code = [cell for cell in cells(path) if cell["cell_type"] == "code"]
        assert len(code) >= 5
        assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
        assert cells(path)[0]["source"][0].startswith("# ")


@pytest.mark.full
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_something_in_every_cell_that_ends_with_a_value(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for cell in cells(path):
        if cell["cell_type"] == "code":
            value = run("".join(cell["source"]), names)
            shown += [] if value is None else [getattr(value, "_repr_html_", lambda: repr(value))()]  # noqa: B023
    assert len(shown) >= 4
    assert all(len(one) > 10 for one in shown)
