"""The tables of errors are complete, and are what the code says."""

import ast
import re
from pathlib import Path

import pytest

from peos import errors
from peos.errors import PeosError
from peos.net.errors import TABLE
from tests.errors_found import CLASSES, PASSED_ON, Collector, Source, Uncollected, paths
from tests.errors_table import ADVICE, ERRORS, OPERATIONS, ROOMS, sentences, written

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
    assert {kind.__name__ for kind in kinds} == CLASSES
    assert set(TABLE) == kinds
    assert set(ADVICE) == {kind.__name__ for kind in kinds}
    assert {kind.exit_code for kind in kinds} == {1, 2, 3}
    assert all(kind.__doc__ for kind in kinds)


def test_the_documents_are_what_the_code_says() -> None:
    told = "run `python -m tests.errors_table --write`"
    page = OPERATIONS.read_text(encoding="utf-8")
    assert written(page) == page, told
    assert ERRORS.read_text(encoding="utf-8") == sentences(), told


def test_every_sentence_can_be_read_off_the_source_and_no_explanation_is_left_over() -> None:
    collector = Collector(paths())
    found = collector.sentences()
    assert len(found) > 300
    assert {one.name for one in found} <= CLASSES | {"BadAnswers"}
    unused = {
        explained
        for (file, place), explained in PASSED_ON.items()
        if not any(one.file == file and one.text == explained for one in found)
    }
    assert not unused
    starts = tuple(f"{start}{end}" for start, *_ in ROOMS for end in ("/", ".py"))
    assert not [one.file for one in found if not one.file.startswith(starts)], "give the room its place in ROOMS"


def raised(source: Source, ours: set[str]) -> list[str]:
    """Every `raise` of something that is neither an error of ours, nor made elsewhere, nor in NOT_SAID."""
    unknown = []
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Raise) or node.exc is None:
            continue
        what = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        name = what.id if isinstance(what, ast.Name) else what.attr if isinstance(what, ast.Attribute) else ""
        is_held = (not isinstance(node.exc, ast.Call) and name[:1].islower()) or isinstance(what, ast.Subscript)
        is_held |= isinstance(what, ast.Attribute) and name.startswith("_")
        if name not in ours and name not in NOT_SAID and not is_held:
            unknown.append(f"{source.name}:{node.lineno}: {ast.unparse(node.exc)}")
    return unknown


def makers(collector: Collector) -> set[str]:
    """Functions that return an error of ours, or what such a function returns."""
    found = set(CLASSES | collector.own)
    while True:
        more = {
            name
            for name, those in collector.functions.items()
            for _, function in those
            for node in ast.walk(function)
            if isinstance(node, ast.Return)
            and isinstance(node.value, ast.Call)
            and isinstance(node.value.func, ast.Name)
            and node.value.func.id in found
        }
        if more <= found:
            return found
        found |= more


def test_nothing_is_raised_whose_text_is_not_collected() -> None:
    collector = Collector(paths())
    ours = makers(collector)
    assert not [line for source in collector.sources for line in raised(source, ours)]


@pytest.mark.parametrize(
    ("text", "collected"),
    [
        ("def f(x):\n    raise WrongInput(f'{x.name} is bad', hint='mend it')", [("‹name› is bad", "mend it")]),
        ("def f(x):\n    raise _g('this')\ndef _g(what):\n    return Refused(f'no: {what}')", [("no: this", "")]),
        ("A = 'much'\ndef f():\n    raise Full('too ' + A)", [("too much", "")]),
        ("def f(x):\n    said = 'one' if x else 'two'\n    raise Full(said)", [("one", ""), ("two", "")]),
    ],
)
def test_texts_are_followed_to_where_they_are_written(
    tmp_path: Path, text: str, collected: list[tuple[str, str]]
) -> None:
    (tmp_path / "planted.py").write_text(text)
    assert [(one.text, one.hint) for one in Collector([tmp_path / "planted.py"]).sentences()] == collected


def test_a_text_that_only_the_running_program_knows_is_seen(tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text("def f(x):\n    raise WrongInput(str(x))\n")
    with pytest.raises(Uncollected, match=re.escape("planted.py:2: str(x)")):
        Collector([tmp_path / "planted.py"]).sentences()
    (tmp_path / "planted.py").write_text("def f(x):\n    raise RuntimeError('no')\n")
    source = Source.read(tmp_path / "planted.py")
    assert raised(source, set(CLASSES)) == ["planted.py:2: RuntimeError('no')"]
