"""Kill each party at each fault point that it reaches, and see every collection through to its end.

python -m tests.faults                                    all points, 2,000 users, three times each
python -m tests.faults --point "round 2: mix done" --users 40 --runs 1
python -m tests.faults --only hand-over --json faults.json
python -m tests.faults --in-a-row --scheme jl              each party at all its points in one collection, three times
python -m tests.faults --failures --in-a-row --scheme jl --users 40 --runs 1
                                                           commits, witnesses and checkpoints that fail, in processes
                                                           that run on: every durable change of every party
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from peos.store.bell import NAME as BELL
from tests.faults import failures
from tests.faults.failures import FAILURES
from tests.faults.ground import QUESTIONS, Ground, ground
from tests.faults.points import POINTS, Armed, Point, Stage
from tests.faults.rows import points_of
from tests.faults.trial import Outcome, Trial


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if every collection ended as it must."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="Parties killed at named points.")
    parser.add_argument("--users", type=int, default=2000, help="reports, each a value of its own")
    parser.add_argument("--runs", type=int, default=3, help="how often each point is tried with each party")
    parser.add_argument("--failures", action="store_true", help="kill no process: let durable changes fail once each")
    parser.add_argument("--point", metavar="NAME", help="this point only")
    parser.add_argument("--only", default="", help="points whose name has this in it")
    parser.add_argument(
        "--in-a-row", action="store_true", help="all points of a party in one collection, where possible"
    )
    parser.add_argument("--scheme", default="paillier", help="the encryption scheme; jl decrypts and passes sooner")
    parser.add_argument("--question", choices=QUESTIONS, default="grr", help="grouped: a study of one round")
    parser.add_argument("--json", type=Path, help="write all outcomes to this file")
    parser.add_argument("--keep", type=Path, help="copy the parties' folders of failed runs to this folder")
    parser.add_argument("--list", action="store_true", help="print the points with their parties, and kill no process")
    chosen = parser.parse_args(arguments)
    points: Sequence[Point] = FAILURES if chosen.failures else POINTS
    points = [one for one in points if chosen.only in one.name and chosen.point in (None, one.name)]
    few = [point for point in points if point.least > chosen.users]
    for point in few:
        say(f"left out: `{point.name}` comes up with {point.least:,} users and more")
    points = [point for point in points if point not in few]
    if chosen.question == "grouped":
        points = [point for point in points if point.stage is not Stage.FRESH]
        say("left out: what comes before the study's round is open; tests/e2e/test_study.py kills that")
    pairs: list[Armed] = [(party, point) for point in points for party in point.parties]
    if chosen.list:
        for point in points:
            say(f"{point.name:45} {', '.join(point.parties)}")
        say(f"{len(points)} points, {len(pairs)} with their parties")
        return 0
    if not pairs:
        say("nothing is left to try")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        joined = failures.in_rows(pairs) if chosen.failures else in_rows(pairs)
        rows = joined if chosen.in_a_row else [[pair] for pair in pairs]
        with ground(Path(folder) / "ground", chosen.users, chosen.scheme, chosen.question) as here:
            outcomes = sweep(here, rows, chosen.runs, keep=chosen.keep)
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1) + "\n")
    return table(outcomes)


def in_rows(pairs: Sequence[Armed]) -> list[list[Armed]]:
    """Every party's points one after another; those that need a collection of their own alone."""
    rows = [[one for one in points_of(party) if one in pairs] for party in dict.fromkeys(party for party, _ in pairs)]
    joined = [one for row in rows for one in row]
    return [row for row in rows if row] + [[pair] for pair in pairs if pair not in joined]


def sweep(here: Ground, rows: Sequence[Sequence[Armed]], runs: int, *, keep: Path | None) -> list[Outcome]:
    """Every row of parties at their points, `runs` times, all from one preparation."""
    outcomes: list[Outcome] = []
    begun = time.monotonic()
    for run in range(1, runs + 1):
        for row in rows:
            outcome = Trial(here, row).run()
            outcomes.append(outcome)
            if outcome.fault and keep:
                shutil.copytree(here.cluster.folder, keep / str(len(outcomes)), ignore=shutil.ignore_patterns(BELL))
            total, done = runs * len(rows), len(outcomes)
            left = (time.monotonic() - begun) / done * (total - done)
            ending = f"FAILED: {outcome.fault}" if outcome.fault else f"{outcome.end}, {outcome.seconds:.1f} s"
            where = f"`{outcome.points[0]}`" + (f", {len(row)} points in a row" if len(row) > 1 else "")
            who = outcome.parties[0]
            say(f"{done}/{total} run {run}, {left / 60:.0f} min left: {who} at {where}: {ending}")
    return outcomes


def table(outcomes: Sequence[Outcome]) -> int:
    """A line for each party and point; 1 if anything failed."""
    pairs = dict.fromkeys(pair for one in outcomes for pair in zip(one.points, one.parties, strict=True))
    say(f"\n{'point':45} {'party':12} {'runs':>4} {'ended':10} {'most s after restart':>20}")
    for point, party in pairs:
        these = [one for one in outcomes if (point, party) in zip(one.points, one.parties, strict=True)]
        failed = sum(bool(one.fault) for one in these)
        ended = f"{failed} FAILED" if failed else "/".join(sorted({one.end for one in these}))
        say(f"{point:45} {party:12} {len(these):4} {ended:10} {max(one.seconds for one in these):20.1f}")
    failures = [one for one in outcomes if one.fault]
    workers, took = sum(one.workers for one in outcomes), sum(one.took for one in outcomes)
    say(
        f"\n{len(outcomes)} collections, {len(pairs)} points with their parties, {len(failures)} failed; "
        f"{workers} worker processes ended with their parties; {took:.0f} s"
    )
    return 1 if failures else 0


def say(line: str) -> None:
    """Print a line of progress."""
    print(line, flush=True)  # noqa: T201 - telling is what this is for


if __name__ == "__main__":
    sys.exit(main())
