"""The tables of errors in the documents, written from the code: `python -m tests.errors_table --write`.

docs/operations.md gets the table of classes, between two markers; docs/errors.md is the registry of ids, by topic.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from peos import errors
from peos.errors import PeosError
from peos.net.errors import TABLE
from tests.sources import nodes

ROOT: Final = Path(__file__).parent.parent
TOPS: Final = ("peos", "analyzer", "shuffler", "user_client")
CLASSES: Final[dict[str, type[PeosError]]] = {
    name: one for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, PeosError)
}
OPERATIONS: Final = ROOT / "docs" / "operations.md"
ERRORS: Final = ROOT / "docs" / "errors.md"
BEGIN: Final = "<!-- errors: written by `python -m tests.errors_table --write` -->"
END: Final = "<!-- /errors -->"

# What to do about an error of a class, where neither its hint nor its row of docs/errors.md says more.
ADVICE: Final[dict[str, str]] = {
    "PeosError": "read the sentence: it says what failed; the same command may be given again",
    "WrongInput": "correct what the sentence names, and give the command again; nothing was done",
    "Refused": "ask for something else: the same again is refused again",
    "Unknown": "compare the digest, or fetch the invitation again",
    "Closed": "wait for another collection: this one is past that",
    "Conflict": "use what was kept first; nothing of it was changed",
    "NotYet": "wait; programs ask again by themselves",
    "Full": "make room if it is yours; programs send the same again by themselves, later and later",
    "ProtocolError": "look at the log of the party that says it",
    "LocalFault": "look at this party's log and its disk; if neither explains it, report it with the log",
    "RemoteFault": "tell the operator of the party that it names; the attempt is left, and the next begins by itself",
    "BadEncoding": "run the same version everywhere; if they are the same, it came from another program",
}
REGISTRY: Final[dict[str, dict[str, dict[str, str]]]] = tomllib.loads(
    (ROOT / "peos" / "errors.toml").read_text("utf-8")
)
IDS: Final = {
    f"{topic}.{name}": CLASSES[row["class"]] for topic, rows in REGISTRY.items() for name, row in rows.items()
}


class Made(NamedTuple):
    """A place where an error is made: its id, if the place gives it one, and its class."""

    place: str
    id: str | None
    kind: str


def paths() -> list[Path]:
    """The programs' own files."""
    found = (path for top in TOPS for path in (ROOT / top).rglob("*.py"))
    return sorted(path for path in found if not path.name.endswith("_pb2.py"))


def made(path: Path) -> Iterator[Made]:
    """Every error that a file makes: by its class, or by a helper that is given the id as `id_`."""
    kinds = {name: name for name in CLASSES} | dict(_helpers(path))
    for node in nodes(path):
        if isinstance(node, ast.Call) and (kind := kinds.get(called(node))) and path.name != "errors.py":
            first = node.args[0] if node.args else None
            place = f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name}:{node.lineno}"
            if isinstance(first, ast.Constant):
                yield Made(place, str(first.value), kind)
            elif not re.search(r"(^|[._])id_?$", ast.unparse(first) if first else ""):  # an id that is passed on
                yield Made(place, None, kind)


def _helpers(path: Path) -> Iterator[tuple[str, str]]:
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef) and any(one.arg == "id_" for one in node.args.args):
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and called(call) in CLASSES:
                    yield node.name, called(call)


def called(node: ast.Call) -> str:
    """The last name of what is called."""
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def mentioned(path: Path) -> set[str]:
    """Every text of a file that has the form of an id, under a topic of the registry."""
    form = re.compile(rf"({'|'.join(REGISTRY)})\.[a-z0-9_]+")
    texts = {node.value for node in nodes(path) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {text for text in texts if form.fullmatch(text)}


def classes() -> str:
    """One row for each class: what it means, how it travels, how a command ends with it, and what to do."""
    rows = [
        "| class | it means | on the wire | the caller raises | exit | repeated by the programs | to do |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind, row in TABLE.items():
        told = f"{row.status.name}, “{row.text}” (`{row.id}`)" if row.text else f"{row.status.name}, id and sentence"
        again = "yes, later and later" if row.retry else "no"
        cells = (f"`{kind.__name__}`", _first_line(kind), told, f"`{row.there.__name__}`", str(kind.exit_code), again)
        rows.append(f"| {' | '.join(cells)} | {ADVICE[kind.__name__]} |")
    return "\n".join(rows)


def ids() -> str:
    """The page of every id."""
    page = [_HEAD]
    for topic, rows in REGISTRY.items():
        page += [f"## {topic}\n", "| id | exit | it means | to do |", "|---|---|---|---|"]
        for name, row in rows.items():
            kind = CLASSES[row["class"]]
            to_do = row.get("do", f"[{kind.__name__}](operations.md#errors)")
            page.append(f"| `{topic}.{name}` | {kind.exit_code} | {row['means']} | {to_do} |")
        page.append("")
    return "\n".join(page)


def written(page: str) -> str:
    """docs/operations.md with the table as it must be."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{classes()}\n{END}{rest.split(END)[1]}"


def _first_line(kind: type[PeosError]) -> str:
    line = (kind.__doc__ or "").splitlines()[0].rstrip(".")
    return f"{line[0].lower()}{line[1:]}"


_HEAD: Final = """# Errors

Every error has an id that does not change when its sentence does. A command prints
`peos ROLE COMMAND: sentence (what to do) [id]` on standard error, with `--json` an object of `id`,
`error`, `where` and `hint`; logs have the id with the sentence. An id travels with the error: what a
shuffler refuses has the same id at the caller, where the exit code is that of the class
[that the caller raises](operations.md#errors). A party tells others nothing of its own troubles but
`network.internal`; its log has the id. Where a row names a class, the advice for that class holds.

Written from `peos/errors.toml` by `python -m tests.errors_table --write`; a test compares.
"""


def main() -> int:
    """Write both, or say that `--write` does."""
    if sys.argv[1:] != ["--write"]:
        print("python -m tests.errors_table --write")  # noqa: T201 - a command's own words
        return 2
    OPERATIONS.write_text(written(OPERATIONS.read_text(encoding="utf-8")), encoding="utf-8")
    ERRORS.write_text(ids(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
