"""Randomising and counting against two other libraries, and what all err: the same values, the same ε, the same run.

    python -m benchmarks.peers [--seconds 20] [--environment FOLDER] [--errors] [--json]

The others (benchmarks/peers.txt) get a virtual environment of their own, from PyPI, which is kept for the next time.
They are given so many processor seconds each and scaled; ours draw a million reports with the randomness that users'
devices draw from, and tally them. A mean squared error is of all values and times n, so that blocks of different sizes
compare: there are so many that the standard error, which stands with it, is a quarter of a percent. `--errors` measures
these alone, and leaves the times as they were kept. Those of one library are the raw estimates that it clips before it
publishes them.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.bars import LIBRARIES
from benchmarks.measuring import Row, kept, machine
from benchmarks.mechanisms import streamed
from peos.ldp import BLH, GRR, OLH, OUE, SHE, SUE, THE, HadamardResponse, SubsetSelection
from peos.ldp.base import Mechanism

HERE: Final = Path(__file__).parent
REQUIREMENTS: Final = HERE / "peers.txt"
ENVIRONMENT: Final = HERE.parent / ".venv-peers"
DOMAIN: Final = 1024
EPSILON: Final = 2.0
REPORTS: Final = 1_000_000
EXPONENT: Final = 1.5
BLOCK: Final = 10_000  # reports of one measured error
BLOCKS: Final = 500
LONGEST: Final = 120.0  # processor seconds for the errors of one mechanism of theirs


@dataclass(frozen=True)
class Ours:
    """What we hold against mechanisms of theirs, and how many times faster it has to be at least."""

    what: str
    theirs: str
    mechanism: Mechanism
    times: float


def ours() -> list[Ours]:
    """Each line of the table."""
    return [
        Ours("grr", "GRR", GRR(DOMAIN, EPSILON), 4),
        Ours("sue", "SUE", SUE(DOMAIN, EPSILON), 15),
        Ours("oue", "OUE", OUE(DOMAIN, EPSILON), 15),
        Ours("the", "THE", THE.build(DOMAIN, EPSILON), 100),
        Ours("she", "SHE", SHE(DOMAIN, EPSILON), 2),
        Ours("blh", "BLH", BLH(DOMAIN, EPSILON), 1),
        Ours("hadamard, one sign", "BLH", HadamardResponse(DOMAIN, EPSILON, signs=1), 1000),
        Ours("olh", "OLH", OLH(DOMAIN, EPSILON), 500),
        Ours("hadamard", "OLH", HadamardResponse(DOMAIN, EPSILON), 1500),
        Ours("subset", "SS", SubsetSelection(DOMAIN, EPSILON), 150),
        Ours("hadamard", "HR", HadamardResponse(DOMAIN, EPSILON), 50),
        Ours("hadamard", "HM", HadamardResponse(DOMAIN, EPSILON), 40),
    ]


def zipf_values(count: int) -> NDArray[np.int64]:
    """The values of all users, the same for everybody."""
    weights = 1 / np.arange(1, DOMAIN + 1) ** EXPONENT
    return np.random.default_rng(24).choice(DOMAIN, count, p=weights / weights.sum()).astype(np.int64)


def errors(mechanism: Mechanism, values: NDArray[np.int64], blocks: int = BLOCKS) -> list[float]:
    """n times the mean squared error of each block."""
    found = []
    for number in range(blocks):
        held = values[np.arange(number * BLOCK, (number + 1) * BLOCK) % len(values)]
        estimate = mechanism.estimate(mechanism.tally(mechanism.randomize(held)), users=BLOCK)
        truth = np.bincount(held, minlength=DOMAIN) / BLOCK
        found.append(BLOCK * float(np.mean(np.square(estimate.frequency - truth))))
    return found


def mean(found: Sequence[float]) -> tuple[float, float]:
    """The mean, and its standard error; of a single block from how squares of d normal errors vary."""
    if len(found) == 1:
        return found[0], found[0] * math.sqrt(2 / DOMAIN)
    return float(np.mean(found)), float(np.std(found, ddof=1) / math.sqrt(len(found)))


def environment(folder: Path) -> Path:
    """Its interpreter; made unless it is there."""
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"making {folder} from {REQUIREMENTS.name}", file=sys.stderr)
        venv.create(folder, with_pip=True)
        ran([str(python), "-m", "pip", "install", "--quiet", "--requirement", str(REQUIREMENTS)])
    return python


def theirs(python: Path, what: str, values: NDArray[np.int64], seconds: float) -> Row:
    """What the other libraries take (`speeds`), or how much they err (`errors`)."""
    with tempfile.TemporaryDirectory(prefix="peos-peers-") as folder:
        path = Path(folder) / "values.npy"
        np.save(path, values)
        worker = str(HERE / "peers_worker.py")
        told: Row = json.loads(ran([str(python), worker, what, str(path), str(EPSILON), str(seconds)]))
    return told


def measure(folder: Path = ENVIRONMENT, *, seconds: float = 20.0, reports: int = REPORTS) -> Row:
    """All figures."""
    values = zipf_values(reports)
    others = theirs(environment(folder), "speeds", values, seconds)
    rows, spent = [], dict[str, Row]()
    for one in ours():
        if one.what not in spent:  # each is measured once, whatever it is held against
            spent[one.what] = streamed(one.mechanism, reports)
        each = (spent[one.what]["randomise_s"] + spent[one.what]["tally_s"]) / reports * 1e6
        peers = {row["library"]: row["microseconds"] for row in others["rows"] if row["mechanism"] == one.theirs}
        rows.append(
            {
                "ours": one.what,
                "theirs": one.theirs,
                "microseconds": each,
                **{name: peers.get(name) for name in LIBRARIES},
                "times_the_faster": min(peers.values()) / each,
                "bar": one.times,
            }
        )
    found = {
        "machine": machine(),
        "reports": reports,
        "domain": DOMAIN,
        "epsilon": EPSILON,
        "exponent": EXPONENT,
        "seconds": seconds,
        "versions": others["versions"],
        "reports_of_theirs": {f"{row['library']} {row['mechanism']}": row["reports"] for row in others["rows"]},
        "rows": rows,
    }
    return with_errors(found, folder)


def with_errors(found: Row, folder: Path = ENVIRONMENT) -> Row:
    """The same figures with errors that were measured now."""
    values = zipf_values(found["reports"])
    others = theirs(environment(folder), "errors", values, LONGEST)["rows"]
    erred = {one.what: mean(errors(one.mechanism, values)) for one in ours()}
    rows = []
    for row in found["rows"]:
        error, off = erred[row["ours"]]
        of = {one["library"]: mean(one["errors"]) for one in others if one["mechanism"] == row["theirs"]}
        against = {name: error / theirs_ for name, (theirs_, _) in of.items()}
        least = max(against, key=against.__getitem__)  # the library that errs least
        new = {
            "n_mse": error,
            "n_mse_stderr": off,
            "n_mse_theirs": of,
            "mse_ratio": against[least],
            "mse_ratio_stderr": against[least] * math.hypot(off / error, of[least][1] / of[least][0]),
        }
        rows.append({**row, **new})
    return {**found, "rows": rows}


def ran(command: list[str]) -> str:
    """What a command of ours printed; without it there is nothing to measure."""
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603 - our own
    if ended.returncode:
        sys.exit(f"{command[1]}: exit code {ended.returncode}")
    return ended.stdout


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="processor seconds for each mechanism of theirs")
    parser.add_argument("--environment", type=Path, default=ENVIRONMENT, help="where the other libraries are installed")
    parser.add_argument("--errors", action="store_true", help="measure errors alone; times are those that are kept")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    before = kept("peers") if given.errors else None
    if given.errors and before is None:
        parser.error("no times are kept")
    found = with_errors(before, given.environment) if before else measure(given.environment, seconds=given.seconds)
    if given.json:
        print(json.dumps(found, indent=1))
        return
    for row in found["rows"]:
        print(
            f"{row['ours']} against {row['theirs']}: {row['times_the_faster']:.1f} times faster (bar {row['bar']:g}), "
            f"error {row['mse_ratio']:.3f} ± {row['mse_ratio_stderr']:.3f} of theirs"
        )


if __name__ == "__main__":
    main()
