"""The project's own files as Python reads them, each read and walked once: several rules look at the same ones."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
ROLES: Final = ("analyzer", "shuffler", "user_client")


def sources(root: Path) -> list[Path]:
    """All Python files that are not generated."""
    tops = ("peos", "tests", "benchmarks", "experiments", *ROLES)
    found = (path for top in tops for path in (root / top).rglob("*.py"))
    return sorted(path for path in found if not path.name.endswith("_pb2.py"))


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Every node of a file; the first is the module."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imports(path: Path) -> Iterator[str]:
    """Every module that a file names in an import, wherever in the file; submodules imported by name included."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
