"""Collections whose parties reach one another over links that fail, and whose clocks and disks are wrong.

python -m tests.networks                          all cases; needs what tests/needs.py says of `namespaces`
python -m tests.networks --only cuts --only clocks
python -m tests.networks --named "20 % lost" --runs 5
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from peos.store.bell import NAME as BELL
from tests.needs import NEEDS
from tests.networks.cases import GROUPS, Outcome, run
from tests.networks.town import far_town


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if every collection ended as it must."""
    parser = argparse.ArgumentParser(prog="python -m tests.networks", description="Networks that fail.")
    parser.add_argument("--only", action="append", choices=sorted(GROUPS), help="these groups of cases only")
    parser.add_argument("--named", default="", help="cases whose name has this in it")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="copy the parties' folders there at the end")
    chosen = parser.parse_args(arguments)
    if missing := NEEDS["namespaces"]():
        say(missing)
        return 2
    groups = chosen.only or list(GROUPS)
    cases = [case for group in groups for case in GROUPS[group]() if chosen.named in case.name]
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as folder:
        with far_town(Path(folder) / "far") as town:
            for case in cases * chosen.runs:
                outcomes.append(run(town, case))
                one = outcomes[-1]
                say(f"{len(outcomes)}/{len(cases) * chosen.runs} {one.case}: {one.ended}, {one.took} s. {one.fault}")
        if chosen.keep:
            shutil.copytree(folder, chosen.keep, ignore=shutil.ignore_patterns("switch", BELL))
    say(f"\n{'case':58} {'ended':10} {'closing to end s':>16} {'in all s':>9} packets carried/lost/cut/delayed")
    for one in outcomes:
        say(
            f"{one.case:58} {'FAILED' if one.fault else one.ended:10} {one.seconds:16.1f} {one.took:9.1f} {one.packets}"
        )
    failed = sum(bool(one.fault) for one in outcomes)
    say(f"\n{len(outcomes)} collections, {failed} failed, {sum(one.took for one in outcomes):.0f} s")
    return 1 if failed else 0


def say(line: str) -> None:
    """To the person who waits."""
    print(line, flush=True)  # noqa: T201 - telling is what this is for


if __name__ == "__main__":
    sys.exit(main())
