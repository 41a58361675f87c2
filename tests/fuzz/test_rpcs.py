"""Calls that are nearly right leave every party as it was; the long run is `python -m tests.fuzz rpcs`."""

from pathlib import Path

import pytest

from tests.fuzz.rpcs import over_the_wire

pytestmark = pytest.mark.full  # a town of its own


def test_parties_refuse_what_is_nearly_right_and_the_result_is_the_users(tmp_path: Path) -> None:
    lines: list[str] = []
    code = over_the_wire(tmp_path, 600, 20310401, "", lines.append)
    assert code == 0, "\n".join(lines)
    assert any(line.startswith("/peos.v1.Analyst/Deliver") for line in lines), "every port was called"
