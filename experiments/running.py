"""`python -m experiments.NAME [--quick] [--json]`, the same for each."""

import argparse
import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from experiments.report import AGREES, DIFFERS, EXPLAINED, OURS, RESULTS, Result
from peos.crypto.randomness import Randomness

TEXTS: Final = "texts, one a line"
RECORDS: Final = "a file of {}, in place of the stand-in; nothing is written"
Run = Callable[[bool, Randomness], Result]
Over = Callable[[Path, bool, Randomness], Result]
Draw = Callable[[Result], str]


def keyed(name: str) -> Randomness:
    """An experiment's own stream: keyed by its name, so that another run gets the same figures."""
    return Randomness(hashlib.sha256(f"experiments.{name}".encode()).digest())


def progress(text: str) -> None:
    """Print a line of progress."""
    print(text, file=sys.stderr, flush=True)


def main(
    name: str, about: str, run: Run, draw: Draw, arguments: Sequence[str] | None = None, *, over: Over | None = None
) -> int:
    """Run one experiment; 0 if all agrees or is explained. In full it also writes the JSON and the drawing.

    With `over` it may be run on a file in place of its stand-in, and then nothing is written.
    """
    parser = argparse.ArgumentParser(prog=f"python -m experiments.{name}", description=about)
    parser.add_argument("--quick", action="store_true", help="the same parameters on few users; nothing is written")
    parser.add_argument("--json", action="store_true", help="the result as JSON on standard output")
    if over is not None:
        parser.add_argument("--records", type=Path, help=RECORDS.format(TEXTS))
    given = parser.parse_args(arguments)
    if over is not None and given.records is not None:
        with wrong_file(parser, given.records):
            result, keep = over(given.records, given.quick, keyed(name)), False
    else:
        result, keep = run(given.quick, keyed(name)), not given.quick
    output(result, draw(result) if keep else "", as_json=given.json, keep=keep)
    return 0 if result.agree else 1


@contextmanager
def wrong_file(parser: argparse.ArgumentParser, path: Path, form: str = TEXTS) -> Iterator[None]:
    """What a file is wrong by is said in a sentence, with exit code 2."""
    try:
        yield
    except (OSError, ValueError) as error:
        parser.error(f"{path} cannot be read as {form}: {error}")


def output(result: Result, drawn: str, *, as_json: bool, keep: bool) -> None:
    """Print a result; keep it with its drawing, if it has one."""
    if keep:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{result.name}.json").write_text(result.text(), encoding="utf-8")
        if drawn:
            (RESULTS / f"{result.name}.svg").write_text(drawn, encoding="utf-8")
    print(result.text() if as_json else summary(result), end="")


def summary(result: Result) -> str:
    """One line a row, and what it comes to."""
    lines = [result.paper]
    for row in result.rows:
        printed = f"  printed {row['printed']:g}" if row.get("printed") is not None else ""
        measured = f"  measured {row['measured']:g}" if row.get("measured") is not None else ""
        found = f"  {row['found']}" if "found" in row else ""
        lines.append(f"{row['verdict']:>9}  {row['what']}{printed}{measured}{found}")
    counted = ", ".join(
        f"{sum(row['verdict'] == verdict for row in result.rows)} {word}"
        for verdict, word in ((AGREES, "agree"), (EXPLAINED, "explained"), (OURS, "of our own"), (DIFFERS, "differ"))
    )
    return "\n".join([*lines, counted, *result.notes, ""])
