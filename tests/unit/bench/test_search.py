"""`peos bench search` on few users: every figure has its bar, and the search finds what it looks for."""

import json

import pytest

from peos.bench.search import BARS, measure
from peos.cli import main
from peos.crypto.randomness import Randomness


def test_every_figure_stands_next_to_its_bar() -> None:
    seen: list[int] = []
    found = measure(
        20_000, reports=400, rng=Randomness(b"\x01" * 32), workers=1, progress=lambda level, *_: seen.append(level)
    )
    assert {row["what"]: row["bar"] for row in found["rows"]} == BARS
    assert all(row["measured"] > 0 for row in found["rows"])
    assert [*dict.fromkeys(seen)] == [0, 1, 2, 3, 4, 5]
    assert found["search"]["f1"] > 0.0
    assert found["divided"]["f1"] > 0.0


@pytest.mark.full
def test_the_command_prints_json_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "search", "--users", "20000", "--reports", "400", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bench"] == "search"
