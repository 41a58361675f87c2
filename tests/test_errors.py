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
from tests.sources import nodes

# Raised on purpose and never shown: each ends in one of our own errors, in an exit code, or in a re-raise.
NOT_SAID = {
    "AttributeError": "Python's own answer where an object or a module has no such name",
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
    for node in nodes(path):
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


# Tests in which the text of an error is itself the subject, by file and function.
TEXT_IS_MEANT = {
    "tests/e2e/test_deviating_shuffler.py::test_a_holder_that_leaves": "a status that quotes commands",
    "tests/unit/analyzer/test_commands.py::test_create_prints": "progress, which is no error",
    "tests/unit/cli/test_running.py::test_sigterm": "a whole line, with its id",
    "tests/unit/net/test_calls.py::": "a sentence of the test's own, which must arrive as it was sent",
    "tests/unit/net/test_tls.py::test_grpc": "a mistake of this program's own",
    "tests/unit/user_client/test_command_line.py::test_one_answer": "a note, which is no error",
}
ABOUT_AN_ERROR = re.compile(
    r"\.value\)|\.hint\b|\.refusals?\b|\['(error|hint)'\]|\.err\b|\.stderr\b|\berr(or)?\b|fault\b"
)


def text(node: ast.AST) -> str:
    """A string of a test, with a number in place of each value; empty for anything else."""
    match node:
        case ast.Constant(value=str(found)):
            return found
        case ast.JoinedStr(values=values):
            return "".join(text(value) or "0" for value in values)
    return ""


def sentences(path: Path, name: str) -> list[str]:
    """Every place where a test compares an error with four words or more, in place of its id, names and numbers."""
    found = []
    for test in nodes(path):
        if not isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(test):
            match node:
                case ast.Compare(left=left, comparators=others):
                    sides = [left, *others]
                    about = any(ABOUT_AN_ERROR.search(ast.unparse(side)) for side in sides if not text(side))
                    texts = [text(side) for side in sides] if about else []
                case ast.Call(args=[ast.Name(id="AssertionError")]):
                    continue  # of a harness
                case ast.Call(keywords=[ast.keyword(arg="match", value=value)]):
                    texts = [text(value)]
                case ast.Call(func=ast.Name(id="raises" | "require_shown" | "require_said"), args=[_, *says]):
                    texts = [text(one) for one in says]
                case _:
                    continue
            if any(len(re.findall(r"\b[a-z]{2,}\b", one)) >= 4 for one in texts):
                found.append(f"{name}::{test.name}: {ast.unparse(node)}")
    return found


def test_tests_match_ids_and_no_sentences() -> None:
    root = Path(__file__).parent
    found = [line for path in root.rglob("*.py") for line in sentences(path, f"tests/{path.relative_to(root)}")]
    assert not [line for line in found if not line.startswith(tuple(TEXT_IS_MEANT))]
    assert not [named for named in TEXT_IS_MEANT if not any(line.startswith(named) for line in found)]


@pytest.mark.parametrize(
    ("line", "is_seen"),
    [
        ("assert 'there is no room left' in caught.value.hint", True),
        ("assert f'only {n} reports have come in' in str(found.fault)", True),
        ("raises('freeze.minimum', 'fewer reports than the minimum came')", True),
        ("pytest.raises(RemoteFault, match='does not answer at its address')", True),
        ("raises('freeze.minimum', 'shuffler 2 (org-2), submission', '9')", False),
        ("assert 'there is no room left' in page", False),
        ("assert told['id'] == 'store.no_room'", False),
    ],
)
def test_a_planted_sentence_is_seen(tmp_path: Path, line: str, is_seen: bool) -> None:
    (tmp_path / "planted.py").write_text(f"def test():\n    {line}\n")
    assert bool(sentences(tmp_path / "planted.py", "planted.py")) is is_seen
