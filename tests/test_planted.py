"""The planted mistakes can be planted, are seen by tests that `make test` runs, and are in the document."""

from collections import Counter

import pytest

from tests.planted import MISTAKES, PAGE, ROOT, Mistake, page


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.kind)
def test_the_line_is_there_once_and_the_tests_run_without_peos_full(mistake: Mistake) -> None:
    assert (ROOT / mistake.file).read_text(encoding="utf-8").count(mistake.right) == 1
    name, _, function = mistake.test.partition("::")
    files = [ROOT / name] if name.endswith(".py") else sorted((ROOT / name).glob("test_*.py"))
    texts = [file.read_text(encoding="utf-8") for file in files]
    assert any("pytestmark = pytest.mark.full" not in text for text in texts)
    if function:
        decorated, found, _ = texts[0].partition(f"\ndef {function}(")
        assert found
        assert "pytest.mark.full" not in decorated.rpartition("\n\n")[2]


def test_each_kind_is_named_once() -> None:
    assert max(Counter(mistake.kind for mistake in MISTAKES).values()) == 1


def test_the_document_lists_them() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.planted --write`"
