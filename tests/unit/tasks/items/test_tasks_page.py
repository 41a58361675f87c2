"""The example of docs/tasks.md on baskets runs, and finds what it says."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[4] / "docs" / "tasks.md"


def test_the_example_on_baskets_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = (one for one in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL) if "SVSM" in one)
    exec(compile(code, str(PAGE), "exec"), {})  # noqa: S102 # the page's own example
    said = capsys.readouterr().out
    for part in ('["bread", "butter"]', "bread → butter", "ε_l", "Items: "):
        assert part in said, part
