"""What the rounds of a study cost beyond one collection of all its users: both by real processes on this machine.

    python -m benchmarks.rounds [--users 2000 …] [--json]

A study of two rounds asks for the frequent ones of eight items, first a fifth of the users how many they have and then
all others for one of them; the collection asks the same users for one of eight values. Each has three shufflers, JL and
no fakes. Seconds are of a clock, from the first process to the result; processor seconds are of all processes.
"""

import argparse
import json
import os
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from benchmarks.measuring import Row, machine
from peos.localrun import Clock, local_spec, run_locally, run_study_locally, zipf_values
from peos.spec import StudySpec

USERS: Final = (2_000,)
ITEMS: Final = 8
MOST_LONGER: Final = 20.0  # seconds
_ASKED: Final[dict[str, Any]] = {"delta": 1e-6, "eps_local": 4.0, "fakes": "0", "scheme": "jl"}


def timed(run: Callable[[Path, Console], tuple[Row, Clock]]) -> Row:
    """A whole run: its steps, and what it took."""
    with tempfile.TemporaryDirectory(prefix="peos-rounds-") as folder:
        begun, spent = time.monotonic(), _processor()
        result, clock = run(Path(folder), Console(stderr=True, highlight=False))
        taken, spent = time.monotonic() - begun, _processor() - spent
    return {
        "counted": result["users"],
        "rounds": [one["users"] for one in result["rounds"]],
        "seconds": round(taken, 1),
        "processor_seconds": round(spent, 1),
        "steps": clock.steps,
    }


def _processor() -> float:
    """Of every process that this one, or one of those, has started and seen end."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def of_users(users: int) -> Row:
    """The study and the collection of so many."""
    lists = [[value, (value + 1) % ITEMS] for value in zipf_values(users, ITEMS, 1)]
    spec = StudySpec(name="demo", task="items", options={"items": ITEMS, "top": ITEMS // 2}, users=users, **_ASKED)
    load = os.getloadavg()[0]  # of other programs: it lengthens what a clock says
    flat = local_spec(users, ITEMS, mechanism="grr", **_ASKED)
    values = zipf_values(users, ITEMS, 1)
    study = timed(lambda folder, console: run_study_locally(folder, spec, lists, shufflers=3, console=console))
    alone = timed(
        lambda folder, console: run_locally(folder, values, shufflers=3, spec=flat, console=console),
    )
    longer = {name: round(study[name] - alone[name], 1) for name in ("seconds", "processor_seconds")}
    return {"users": users, "load": load, "study": study, "collection": alone, "longer": longer}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 0 if a study of the fewest users was not longer than it may be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rounds", description="rounds of a study")
    parser.add_argument("--users", type=int, nargs="+", default=list(USERS))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    rows = [of_users(users) for users in given.users]
    if given.json:
        print(json.dumps({"machine": machine(), "most_longer": MOST_LONGER, "rows": rows}, indent=1))
    else:
        for row in rows:
            print(f"{row['users']:,} users: {row['longer']['seconds']} s longer, at most {MOST_LONGER:g}")
    return 0 if rows[0]["longer"]["seconds"] <= MOST_LONGER else 1


if __name__ == "__main__":
    raise SystemExit(main())
