"""The tables of errors in the documents, written from the code: `python -m tests.errors_table --write`.

docs/operations.md gets the table of classes, between two markers; docs/errors.md is every sentence, by who says it.
"""

import ast
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from peos import errors
from peos.errors import PeosError
from peos.net.errors import TABLE
from tests.errors_found import ROOT, Collector, Sentence, paths

OPERATIONS: Final = ROOT / "docs" / "operations.md"
ERRORS: Final = ROOT / "docs" / "errors.md"
BEGIN: Final = "<!-- errors: written by `python -m tests.errors_table --write` -->"
END: Final = "<!-- /errors -->"

# What whoever reads the sentence does, where the sentence brings no hint of its own.
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
    "BadEncoding": "run the same version everywhere; if they are the same, somebody sends what no program of ours does",
}
ROOMS: Final = (
    ("user_client", "The client", "A user, or whoever answers for many by file."),
    ("shuffler", "A shuffler", "Its operator, in the terminal and in the log; and whoever calls it."),
    ("analyzer", "The analyzer", "The analyst, in the terminal and in the log; and shufflers that deliver to it."),
    ("peos/configuration", "Every configuration", "Whoever wrote the file."),
    ("peos/cli", "`peos` itself", "Whoever gave the command."),
    ("peos/localcluster", "Processes of a demo", "Whoever runs `peos demo` or `peos localcluster`."),
    ("peos/store", "Folders and stores", "The party whose folder it is."),
    ("peos/net", "Ports, certificates and calls", "Both ends of a connection."),
    ("peos/collection", "Collections", "Analyst and shufflers; of submissions, the user who sent one."),
    ("peos/privacy", "Plans and guarantees", "Whoever plans a collection."),
    ("peos/ldp", "Mechanisms", "Whoever plans a collection, or calls the library."),
    ("peos/estimate", "Estimates", "Whoever calls the library."),
    ("peos/shuffle", "The shuffle", "The parties of a collection; most end an attempt, and the next begins."),
    ("peos/wire", "Bytes that came in", "The party that they came to; whoever sent them is told the same."),
    ("peos/crypto", "Keys and ciphertexts", "The party that reads them."),
    ("peos/compute", "Worker processes", "The party whose they are."),
    ("peos/simulate", "The simulation in memory", "Whoever calls the library."),
)


def classes() -> str:
    """One row for each class: what it means, how it travels, how a command ends with it, and what to do."""
    rows = [
        "| class | it means | on the wire | the caller raises | exit | repeated by the programs | to do |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind, row in TABLE.items():
        told = f"{row.status.name}, “{row.text}”" if row.text else f"{row.status.name}, with its sentence"
        again = "yes, later and later" if row.retry else "no"
        cells = (f"`{kind.__name__}`", _first_line(kind), told, f"`{row.there.__name__}`", str(kind.exit_code), again)
        rows.append(f"| {' | '.join(cells)} | {ADVICE[kind.__name__]} |")
    return "\n".join(rows)


def sentences() -> str:
    """The page of every sentence."""
    found = Collector(paths()).sentences()
    page = [_HEAD]
    for start, title, reader in ROOMS:
        here = [one for one in found if one.file == f"{start}.py" or one.file.startswith(f"{start}/")]
        page.append(f"## {title}\n\nWho reads it: {reader[0].lower()}{reader[1:]}\n")
        for file, those in groupby(here, key=lambda one: one.file):
            page.append(f"### {_purpose(ROOT / file)} (`{file}`)\n")
            page.append("| sentence | class | to do |\n|---|---|---|\n" + "\n".join(_rows(those)) + "\n")
    return "\n".join(page)


def written(page: str) -> str:
    """docs/operations.md with the table as it must be."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{classes()}\n{END}{rest.split(END)[1]}"


def _rows(those: Iterator[Sentence]) -> Iterator[str]:
    for one in those:
        kind = getattr(errors, one.name, None) or errors.WrongInput
        yield f"| {_cell(one.text)} | `{one.name}` | {_cell(one.hint) or f'*{ADVICE[kind.__name__]}*'} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def _first_line(kind: type[PeosError]) -> str:
    line = (kind.__doc__ or "").splitlines()[0].rstrip(".")
    return f"{line[0].lower()}{line[1:]}"


def _purpose(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or path.stem
    return " ".join(docstring.split("\n\n")[0].split()).rstrip(".")


_HEAD: Final = """# Every sentence that says what is wrong

Written from the source by `python -m tests.errors_table --write`; a test compares. ‹Words› stand for what is filled in.
A command prints `peos ROLE COMMAND: sentence (what to do)` on standard error, with `--json` an object of `error`,
`where` and `hint`. What another party said comes after that party's name and the step. What the classes mean, how a
command ends with each and what the programs repeat by themselves is the table in
[operations](operations.md#errors). *Slanted* is the advice for the class, where a sentence has none of its own. Errors
of a command line as such (an option that does not exist, or is missing) are worded by the command line's library, exit
with 2, and point to `--help`.
"""


def main() -> int:
    """Write both, or say that `--write` does."""
    if sys.argv[1:] != ["--write"]:
        print("python -m tests.errors_table --write")  # noqa: T201 - a command's own words
        return 2
    OPERATIONS.write_text(written(OPERATIONS.read_text(encoding="utf-8")), encoding="utf-8")
    ERRORS.write_text(sentences(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
