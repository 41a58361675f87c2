"""`with raises("freeze.minimum"):`, since an error is known by its id and not by its sentence."""

import re
from typing import Any

import pytest

from peos.errors import PeosError
from tests.errors_table import IDS


def raises(id_: str, *says: str, kind: type[PeosError] | None = None) -> "pytest.RaisesExc[Any]":
    """The error of this id, which shows the names and numbers `says`.

    Its class is the registered one, unless `kind` names that of the error at the caller of another party.
    """

    def is_it(error: PeosError) -> bool:
        assert error.id == id_, f"{error.id} in place of {id_}: {error}"
        require_said(str(error), *says)
        return True

    return pytest.RaisesExc(kind or IDS[id_], check=is_it)


def require_shown(line: str, id_: str, *says: str) -> None:
    """A line of a command on standard error is about this id, and shows the names and numbers `says`."""
    assert line.rstrip().endswith(f" [{id_}]"), line
    require_said(line, *says)


def require_said(text: str, *says: str) -> None:
    """Every name, and every number as a whole."""
    for value in says:
        before, after = (r"(?<!\d)" * value[0].isdigit(), r"(?!\d)" * value[-1].isdigit())
        assert re.search(f"{before}{re.escape(value)}{after}", text), f"no {value!r} in: {text}"
