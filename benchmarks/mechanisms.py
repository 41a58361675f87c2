"""What randomising and counting cost: by mechanism for a million reports, by the width of fields, and on 2^20 values.

    python -m benchmarks.mechanisms [--reports 1000000] [--json]

Every figure is of a process of its own, since its memory is a high-water mark. Reports are drawn and
counted piece by piece, with the randomness that users' devices draw from. Local hashing on 2^20 values is measured on
a thousand reports and scaled; what is made once for a domain is made before.
"""

import argparse
import json
import subprocess
import sys
from collections import ChainMap
from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from benchmarks.measuring import Row, machine, seconds
from benchmarks.memory import high_water
from peos.chunks import chunks, rows_of
from peos.crypto.randomness import system
from peos.ldp import UE, HadamardResponse, LocalHash
from peos.ldp.base import Mechanism
from peos.registry import LOCAL_ONLY, MECHANISMS

REPORTS: Final = 1_000_000
DOMAIN: Final = 1024
EPSILON: Final = 2.0
WIDEST: Final = 8
LARGE: Final = 1 << 20
EPSILONS: Final = (1.0, 2.0, 4.0)
FEW: Final = 1000
EVERY: Final = ChainMap(LOCAL_ONLY, MECHANISMS)
BYTES: Final = 16  # of a piece, in units of rows_of


def streamed(mechanism: Mechanism, reports: int) -> Row:
    """Processor seconds of drawing reports and of tallying them, a few megabytes at a time."""
    rng, spent = system(), {"randomise_s": 0.0, "tally_s": 0.0}
    mechanism.tally(mechanism.randomize(np.zeros(1, dtype=np.int64), rng))  # tables of the domain are made once
    for piece in chunks(reports, BYTES * rows_of(8 * mechanism.words)):
        values = np.arange(piece.start, piece.stop) % mechanism.domain
        words, drawn = seconds(partial(mechanism.randomize, values, rng))
        _, counted = seconds(partial(mechanism.tally, words))
        spent["randomise_s"] += drawn
        spent["tally_s"] += counted
    return spent | {"megabytes": high_water()}


def of_mechanism(name: str, reports: int) -> Row:
    """A mechanism of the registry, at d = DOMAIN."""
    mechanism = EVERY[name].build(DOMAIN, EPSILON)
    return {"mechanism": name, "words": mechanism.words} | streamed(mechanism, reports)


def of_fields(bits: str, reports: int) -> Row:
    """Unary reports with fields of so many bits."""
    mechanism = UE(DOMAIN, EPSILON, field_bits=int(bits))
    words = mechanism.randomize(np.arange(reports // 25) % DOMAIN)
    _, spent = min((seconds(partial(mechanism.tally, words)) for _ in range(3)), key=lambda one: one[1])
    return {"field_bits": int(bits), "words": mechanism.words, "microseconds_a_report": spent / len(words) * 1e6}


def of_large_domain(epsilon: str, reports: int) -> Row:
    """Hadamard response on 2^20 values, all reports counted at once, and local hashing of a few of them."""
    ours, theirs, rng = HadamardResponse(LARGE, float(epsilon)), LocalHash(LARGE, float(epsilon)), system()
    values = np.arange(reports) % LARGE
    ours.tally(ours.randomize(values[:1], rng))
    words, drawn = seconds(partial(ours.randomize, values, rng))
    _, counted = seconds(partial(ours.tally, words))
    held = high_water()
    few = theirs.randomize(values[: min(FEW, reports)], rng)
    theirs.tally(few[:1])
    _, hashed = seconds(partial(theirs.tally, few))
    scaled = hashed / len(few) * reports
    return {
        "epsilon": float(epsilon),
        "signs": ours.signs,
        "d_prime": theirs.cells,
        "randomise_s": drawn,
        "count_s": counted,
        "megabytes": held,
        "local_hashing_count_s": scaled,
        "times_faster": scaled / counted,
        "variance_ratio": ours.variance(reports) / theirs.variance(reports),
    }


PARTS: Final[dict[str, Callable[[str, int], Row]]] = {
    "mechanisms": of_mechanism,
    "fields": of_fields,
    "large": of_large_domain,
}


def one(part: str, which: str, reports: int) -> Row:
    """A figure, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.mechanisms", "--part", part, "--which", which]
    ran = subprocess.run([*command, "--reports", str(reports)], stdout=subprocess.PIPE, check=False)  # noqa: S603 - this file
    if ran.returncode:
        sys.exit(f"{part} {which}: exit code {ran.returncode}")
    told: Row = json.loads(ran.stdout)
    return told


def measure(reports: int = REPORTS) -> Row:
    """All figures."""
    asked = {
        "mechanisms": list(EVERY),
        "fields": [str(bits) for bits in range(1, WIDEST + 1)],
        "large": [str(epsilon) for epsilon in EPSILONS],
    }
    rows = {part: [one(part, which, reports) for which in names] for part, names in asked.items()}
    return {"machine": machine(), "reports": reports, "domain": DOMAIN, "epsilon": EPSILON} | rows


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mechanisms", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--reports", type=int, default=REPORTS)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--part", choices=tuple(PARTS), help=argparse.SUPPRESS)
    parser.add_argument("--which", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        print(json.dumps(PARTS[given.part](given.which, given.reports)))
        return
    found = measure(given.reports)
    if given.json:
        print(json.dumps(found, indent=1))
        return
    for part in PARTS:
        for row in found[part]:
            print(", ".join(f"{name} {value}" for name, value in row.items()))


if __name__ == "__main__":
    main()
