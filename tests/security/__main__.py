"""`python -m tests.security`: every attack, with its defence and without it, as one table; exit 1 if any half fails.

--write keeps the figures in tests/security/results/attacks.json and writes docs/attacks.md from them. --only WORDS runs
the attacks whose row has these words; with --write the rows of the others stay, and the time is added to theirs. Runs
that take hours have commands of their own; the table names their figures.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from tests.full import VARIABLE
from tests.security.attack import Attack
from tests.security.attacks import ATTACKS

ROOT: Final = Path(__file__).parents[2]
RESULTS: Final = Path(__file__).with_name("results") / "attacks.json"
PAGE: Final = ROOT / "docs" / "attacks.md"
_BOUNDS: Final = re.compile(r"no less than ([+-][0-9.]+) and no more than ([+-][0-9.]+)")


@dataclass(frozen=True)
class Ran:
    """What the cases of one test function came to, and the verdicts that they printed."""

    cases: int
    failed: int
    bounds: tuple[tuple[float, float], ...]


def main() -> int:
    """Run the attacks and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.security", description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the figures and write docs/attacks.md")
    parser.add_argument("--only", default="", help="attacks whose row has these words")
    options = parser.parse_args()
    chosen = [one for one in ATTACKS if options.only.lower() in f"{one.attack} {one.who} {one.defence}".lower()]
    if not chosen:
        parser.error(f"no attack has the words {options.only!r}")
    begun = time.monotonic()
    ran = _run(sorted({test for one in chosen for test in one.tests}))
    rows = [_row(one, ran) for one in chosen]
    seconds = round(time.monotonic() - begun)
    for row in rows:
        print("\n".join(_shown(row)))  # noqa: T201 - a command's own words
    print(f"{len(rows)} attacks, {sum(one.cases for one in ran.values())} cases, {seconds} s")  # noqa: T201 - likewise
    if options.write:
        _keep(rows, seconds)
    return int(any(row["failed"] for row in rows))


def _keep(rows: Sequence[dict[str, object]], seconds: int) -> None:
    """Write the figures and the page; of attacks that were not run now, as they were kept."""
    if len(rows) < len(ATTACKS):
        kept = json.loads(RESULTS.read_text(encoding="utf-8"))
        known = {row["attack"]: row for row in (*kept["rows"], *rows)}
        rows, seconds = [known[one.attack] for one in ATTACKS if one.attack in known], seconds + kept["seconds"]
    RESULTS.write_text(json.dumps({"seconds": seconds, "rows": rows}, indent=1, ensure_ascii=False) + "\n", "utf-8")
    PAGE.write_text(page(rows, seconds), encoding="utf-8")


def _run(tests: Sequence[str]) -> dict[str, Ran]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "-m", "not long", f"--junit-xml={report}"]
        command += ["-o", "junit_logging=system-out", "-o", "junit_log_passing_tests=true", *tests]
        everything = {**os.environ, VARIABLE: "1"}
        ended = subprocess.run(command, cwd=ROOT, env=everything, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603 - our own
        if not report.exists():
            sys.exit(f"pytest did not run: {ended.stdout[-2000:]}")
        cases = ElementTree.parse(report).getroot().iter("testcase")  # noqa: S314 - written by pytest a moment ago
        found: dict[str, list[ElementTree.Element]] = {test: [] for test in tests}
        for case in cases:
            name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name', '').partition('[')[0]}"
            found.setdefault(name, []).append(case)
    return {name: _ran(cases) for name, cases in found.items()}


def _ran(cases: Sequence[ElementTree.Element]) -> Ran:
    failed = sum(any(child.tag in {"failure", "error", "skipped"} for child in case) for case in cases)
    said = "".join(child.text or "" for case in cases for child in case if child.tag == "system-out")
    return Ran(len(cases), failed, tuple((float(low), float(high)) for low, high in _BOUNDS.findall(said)))


def _row(attack: Attack, ran: Mapping[str, Ran]) -> dict[str, object]:
    with_it, without = ([ran[test] for test in half] for half in (attack.holds, attack.succeeds))
    failed = sum(one.failed + (one.cases == 0) for one in (*with_it, *without))
    upper = [high for one in with_it for _, high in one.bounds if high < 1]
    lower = [low for one in without for low, _ in one.bounds if low > 0]
    return {
        "attack": attack.attack,
        "who": attack.who,
        "defence": attack.defence,
        "with": _half("fails", with_it, f"advantage ≤ {max(upper):.3f}" if upper else ""),
        "without": _half("succeeds", without, f"advantage ≥ {min(lower):.3f}" if lower else ""),
        "evidence": [*dict.fromkeys(test.partition("::")[0] for test in attack.tests), *attack.kept],
        "failed": failed,
    }


def _half(verb: str, ran: Sequence[Ran], bound: str) -> str:
    if not ran:
        return "–"
    cases = sum(one.cases for one in ran)
    if any(one.failed or not one.cases for one in ran):
        return f"NOT SHOWN: {sum(one.failed for one in ran)} of {cases} cases fail"
    return f"{verb}, {cases} {'case' if cases == 1 else 'cases'}{f', {bound}' if bound else ''}"


def _shown(row: Mapping[str, object]) -> list[str]:
    words = [f"{row['attack']}", f"  by {row['who']}; against it: {row['defence']}"]
    return [*words, f"  with the defence it {row['with']}; without, {row['without']}"]


def page(rows: Sequence[Mapping[str, object]], seconds: int) -> str:
    """docs/attacks.md."""
    lines = [
        "# Attacks",
        "",
        f"Each of {len(rows)} attacks runs with its defence and without it (`make security`).",
        f"The recorded runs took {seconds} s in total. A bound of an advantage holds with 99.9 % confidence;",
        "where no advantage is named, the test is exact or counts. Written by",
        "`python -m tests.security --write` from tests/security/results/attacks.json.",
        "",
        "| attack | who | defence | with the defence | without it | evidence |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        evidence = row["evidence"]
        assert isinstance(evidence, list), "files"
        cells = [str(row[key]) for key in ("attack", "who", "defence", "with", "without")]
        lines.append(f"| {' | '.join([*cells, ', '.join(f'`{file}`' for file in evidence)])} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
