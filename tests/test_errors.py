"""Every error has an id, every id is in the registry under the class of its error, and the documents say so."""

import ast
import re
from pathlib import Path

import pytest

from peos import errors
from peos.errors import UNNAMED, PeosError, id_from
from peos.net.errors import TABLE
from tests.errors_table import (
    ADVICE,
    CLASSES,
    ERRORS,
    IDS,
    OPERATIONS,
    REGISTRY,
    called,
    ids,
    made,
    mentioned,
    paths,
    written,
)

# Raised on purpose and never shown: each ends in one of our own errors, in an exit code, or in a re-raise.
NOT_SAID = {
    "CancelledError": "asyncio's own end of a task",
    "Ended": "the command line's own end of a role's command: an exit code",
    "Exit": "typer's exit with a code; what is wrong was printed before",
    "KeyboardInterrupt": "becomes `interrupted`, 130",
    "TypeError": "caught where it is raised: a value of a wrong type",
    "ValueError": "caught where it is raised: a value that does not fit",
}


def test_every_class_has_its_row_its_advice_and_its_exit_code() -> None:
    kinds = {one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, PeosError)}
    assert set(TABLE) == kinds
    assert set(ADVICE) == {kind.__name__ for kind in kinds}
    assert {kind.exit_code for kind in kinds} == {1, 2, 3}
    assert all(kind.__doc__ for kind in kinds)


def test_the_documents_are_what_the_code_says() -> None:
    told = "run `python -m tests.errors_table --write`"
    page = OPERATIONS.read_text(encoding="utf-8")
    assert written(page) == page, told
    assert ERRORS.read_text(encoding="utf-8") == ids(), told


def wrong(path: Path) -> list[str]:
    """Errors of a file whose id is missing, or is registered for no class or for another."""
    return [
        f"{one.place}: {one.id}"
        for one in made(path)
        if one.id is None or one.id not in IDS or IDS[one.id] is not CLASSES[one.kind]
    ]


def test_every_error_has_an_id_that_is_registered_for_its_class() -> None:
    assert not [line for path in paths() for line in wrong(path)]
    assert sum(1 for path in paths() for _ in made(path)) > 400


def test_every_id_is_used_registered_and_fit_to_travel() -> None:
    assert not set(IDS) - {id_ for path in paths() for id_ in mentioned(path)}
    assert all(id_from(id_) == id_ for id_ in IDS)
    assert list(IDS) == sorted(IDS)
    rows = [row for those in REGISTRY.values() for row in those.values()]
    assert all({"class", "means"} <= set(row) <= {"class", "means", "do"} for row in rows)
    assert not [text for row in rows for text in row.values() if "|" in text or text.endswith(".")]


def test_what_the_wire_says_in_place_of_an_error_is_registered_for_what_the_caller_raises() -> None:
    assert all(IDS[row.id] is row.there for row in TABLE.values() if row.id)
    assert all(bool(row.id) == bool(row.text) for row in TABLE.values())


@pytest.mark.parametrize(
    "text", ["", "freeze", "freeze.", "Freeze.minimum", "freeze.minimum\n", "a.b.c", "f." + "x" * 33]
)
def test_what_is_no_id_is_not_taken_for_one(text: str) -> None:
    assert id_from(text) == UNNAMED


def raised(path: Path) -> list[str]:
    """Every `raise` of an exception class that is neither ours nor in NOT_SAID."""
    unknown = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Raise) or node.exc is None:
            continue
        what = called(node.exc) if isinstance(node.exc, ast.Call) else ast.unparse(node.exc)
        if what[:1].isupper() and what not in {*CLASSES, *NOT_SAID, "BadAnswers"}:
            unknown.append(f"{path.name}:{node.lineno}: {ast.unparse(node.exc)}")
    return unknown


def test_nothing_is_raised_that_is_neither_ours_nor_caught() -> None:
    assert not [line for path in paths() for line in raised(path)]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("raise WrongInput('no id', hint='mend it')", "planted.py:1: no id"),
        ("raise WrongInput('freeze.minimum', 'an id of another class')", "planted.py:1: freeze.minimum"),
        ("raise WrongInput(f'freeze.{x}', 'made up as it runs')", "planted.py:1: None"),
        ("raise Refused('freeze.mistyped', 'x')", "planted.py:1: freeze.mistyped"),
        (
            "def g(id_: str) -> Refused:\n    return Refused(id_, 'x')\nraise g('freeze.digest')",
            "planted.py:3: freeze.digest",
        ),
    ],
)
def test_a_planted_mistake_is_seen(tmp_path: Path, text: str, seen: str) -> None:
    (tmp_path / "planted.py").write_text(text)
    assert wrong(tmp_path / "planted.py") == [seen]


def test_a_strange_exception_is_seen(tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text("def f(x):\n    raise RuntimeError('no')\n")
    assert raised(tmp_path / "planted.py") == ["planted.py:2: RuntimeError('no')"]
    assert re.fullmatch(r"[a-z_]+\.[a-z_]+", UNNAMED)
