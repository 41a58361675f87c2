"""Collections under the schemes that are not the default, with real processes from `peos demo` to the published page.

That every dummy came back exactly, among the demo's checks, is what decryption to the wrong words would break.
"""

from pathlib import Path
from typing import Any

import pytest

from peos.privacy.costs import cost
from tests.e2e.town import command

pytestmark = pytest.mark.full  # another whole collection by processes


def demo(scheme: str, users: int, folder: Path) -> Any:
    """The result of a demo, which exits with 0 only if every check holds."""
    asked = ["--scheme", scheme, "--users", users, "--domain", 16, "--out", folder, "--json", "--seed", 1]
    if users < 100:  # which is too few for the demo's own targets
        asked += ["--fakes", 10, "--mechanism", "grr", "--eps-server", 4, "--eps-users", 4]
    ran = command("demo", *asked, folder=folder)
    assert ran.code == 0, ran.err
    return ran.json


@pytest.mark.parametrize("scheme", ["jl", pytest.param("dgk", marks=pytest.mark.long)])
def test_a_collection_under_the_scheme_counts_everybody_and_every_dummy(scheme: str, tmp_path: Path) -> None:
    users = 20
    result = demo(scheme, users, tmp_path)
    assert result["ok"]
    assert all(result["checks"].values()), result["checks"]
    assert result["parameters"]["scheme"] == scheme
    assert (result["users"], result["dropped"]) == (users, 0)
    (sent,) = (row["sent"] for row in result["cost"] if row["party"] == "users")
    assert sent == users * cost(1, users, 0, 3, scheme).user_bytes, "384 bytes a ciphertext, as the key says"
    assert sent < users * cost(1, users, 0, 3, "paillier").user_bytes


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["jl", "dgk"])
def test_a_demo_of_300_users_holds(scheme: str, tmp_path: Path) -> None:
    """`pytest -m long tests/e2e/test_schemes.py`: 300 users, 16 values, the planner's own choice of fakes."""
    result = demo(scheme, 300, tmp_path)
    assert result["ok"]
    assert (result["users"], result["parameters"]["scheme"]) == (300, scheme)
