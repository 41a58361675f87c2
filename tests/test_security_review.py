"""docs/security-review.md names every module that draws randomness, and nothing that does not exist."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.sources import nodes

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = (ROOT / "docs" / "security-review.md").read_text(encoding="utf-8")
DRAWS: Final = {"bytes", "uint64", "below", "bits", "integer_below", "permutation", "fill"}
APART: Final = (
    "peos/simulate/",
    "peos/bench/",
    "peos/crypto/randomness.py",
)  # what no party runs; the source itself


def _sources() -> Iterator[Path]:
    for room in ("peos", "shuffler", "analyzer", "user_client"):
        yield from sorted((ROOT / room).rglob("*.py"))


def _draws(path: Path) -> bool:
    """Whether a module asks an object named for randomness for some."""
    for node in nodes(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in DRAWS:
            asked = ast.unparse(node.func.value)
            if asked.rpartition(".")[2] in {"rng", "_rng"} or asked in {"own", "randomness"}:
                return True
    return False


def test_every_module_that_draws_randomness_is_on_the_page() -> None:
    drawing = [str(path.relative_to(ROOT)) for path in _sources() if _draws(path)]
    missing = [name for name in drawing if not name.startswith(APART) and f"`{name}`" not in PAGE]
    assert not missing, f"not in docs/security-review.md: {missing}"
    assert len(drawing) > 25, "or the test sees nothing"


def test_only_one_module_asks_the_operating_system() -> None:
    asking = [
        str(path.relative_to(ROOT))
        for path in _sources()
        if re.search(r"\burandom\b|\bsecrets\.|SystemRandom", path.read_text(encoding="utf-8"))
    ]
    assert asking == ["peos/crypto/randomness.py"], "streams come from system() alone"


def test_the_page_names_nothing_that_does_not_exist() -> None:
    for named in re.findall(r"`((?:peos|shuffler|analyzer|user_client|tests)/[\w/.]+\.py)(?:::([\w.]+))?`", PAGE):
        path, symbol = ROOT / named[0], named[1]
        assert path.exists(), named[0]
        if symbol:
            assert f" {symbol.rpartition('.')[2]}(" in path.read_text(encoding="utf-8"), named
