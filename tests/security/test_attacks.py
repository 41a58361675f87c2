"""The table of attacks: every test that it names exists, and docs/attacks.md is what was last run."""

import ast
import json
from functools import cache
from pathlib import Path

import pytest

from tests.security.__main__ import PAGE, RESULTS, ROOT, page
from tests.security.attack import Attack
from tests.security.attacks import ATTACKS


@cache
def _functions(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.attack)
def test_the_tests_of_an_attack_exist(attack: Attack) -> None:
    assert attack.holds, "an attack that no test sees fail is no row of this table"
    for test in attack.tests:
        file, _, name = test.partition("::")
        assert name in _functions(file), f"{test} does not exist"
    for file in attack.kept:
        assert (ROOT / file).exists(), f"{file} does not exist"


def test_the_page_is_what_was_run_and_nothing_of_it_failed() -> None:
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    told = "run `python -m tests.security --write`"
    assert [row["attack"] for row in kept["rows"]] == [attack.attack for attack in ATTACKS], told
    assert PAGE.read_text(encoding="utf-8") == page(kept["rows"], kept["seconds"]), told
    assert not [row["attack"] for row in kept["rows"] if row["failed"]]
    assert kept["seconds"] < 20 * 60


def test_every_attack_of_the_room_is_in_the_table() -> None:
    """A file of attacks that no row names would not be run by `make security`."""
    named = {test.partition("::")[0] for attack in ATTACKS for test in attack.tests}
    room = {str(path.relative_to(ROOT)) for path in (Path(ROOT) / "tests" / "security").rglob("test_*.py")}
    apart = {"tests/security/test_attacks.py", "tests/security/linear/test_criterion.py"}
    assert room - named == apart
