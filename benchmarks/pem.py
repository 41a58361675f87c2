"""The prefix extending method against pure-ldp's: the same texts, ε, prefixes and k, in the same run.

    python -m benchmarks.pem [--users 1000] [--environment FOLDER] [--json]

Texts are 16 random bits, by Zipf's law; each user is asked for the first 8, 12 or 16 of them, and the k best of each
length are kept. They are short and few since the other library hashes all texts that there could be for each report.
Both hash locally without a shuffle. Processor seconds from texts to the answer, users' part included. The other library
is in the environment of `benchmarks.peers`.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.measuring import Row, machine
from benchmarks.peers import ENVIRONMENT, environment, ran
from peos.simulate import run_study
from peos.tasks import PrefixSearch
from peos.tasks.scoring import score

USERS: Final = 1_000
BITS, FIRST, STEP, TOP, EPSILON = 16, 8, 4, 16, 4.0
LEAST: Final = 50.0  # times faster
_WORKER: Final = Path(__file__).with_name("pem_worker.py")
_DISTINCT: Final = 200


def texts(users: int) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
    """Strings of so many bits, by Zipf's law with exponent 1.2."""
    seeded = np.random.default_rng(31)
    names = seeded.choice(2**BITS, _DISTINCT, replace=False).astype(np.uint64)
    chances = 1 / np.arange(1, _DISTINCT + 1) ** 1.2
    return np.asarray(seeded.choice(names, users, p=chances / chances.sum()))


def measure(users: int, folder: Path = ENVIRONMENT) -> Row:
    """Both, on the same texts."""
    held = texts(users)
    written = [f"{value:0{BITS}b}" for value in held.tolist()]
    with tempfile.TemporaryDirectory(prefix="peos-pem-") as scratch:
        path = Path(scratch) / "texts"
        path.write_text("\n".join(written), encoding="ascii")
        asked = [str(path), *map(str, (EPSILON, TOP, FIRST, STEP))]
        theirs: Row = json.loads(ran([str(environment(folder)), str(_WORKER), *asked]))
    cuts = range(FIRST, BITS + 1, STEP)
    task = PrefixSearch(BITS, [*cuts], TOP, users=users, delta=1e-9, eps_local=EPSILON, fakes=0)
    _ = task.plan  # theirs has none
    begun = time.process_time()
    answer = run_study(task, held, shuffle=False)
    seconds = time.process_time() - begun
    return {
        "machine": machine(),
        "users": users,
        "epsilon": EPSILON,
        "top": TOP,
        "seconds": seconds,
        "seconds_of_theirs": theirs["seconds"],
        "times_faster": theirs["seconds"] / seconds,
        "bar": LEAST,
        "f1": answer.score(held)["f1"],
        "f1_of_theirs": score(written, TOP, theirs["found"])["f1"],
        "versions": theirs["versions"],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 0 if the bar is held."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pem", description="PEM against pure-ldp's")
    parser.add_argument("--users", type=int, default=USERS)
    parser.add_argument("--environment", type=Path, default=ENVIRONMENT, help="where the other library is installed")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    found = measure(given.users, given.environment)
    if given.json:
        print(json.dumps(found, indent=1))
    else:
        print(f"{found['times_faster']:.0f} times faster (bar {LEAST:g}), F1 {found['f1']:.2f}, theirs ", end="")
        print(f"{found['f1_of_theirs']:.2f}")
    return 0 if found["times_faster"] >= LEAST else 1


if __name__ == "__main__":
    raise SystemExit(main())
