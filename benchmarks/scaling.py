"""How a collection's cost grows: with n from 10^3 to 10^5, and with r = 3, 5, 7.

    python -m benchmarks.scaling [--json] [--users N …] [--shufflers R …] [--scheme jl]

Measured as `peos bench overhead` does, in memory, processor time by party. Bytes and counts are exact; the straight
line through the times is that of least relative errors, and how far the points lie from it is said.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from benchmarks.measuring import Row, machine
from peos.bench.parties import measure as measure_parties
from peos.crypto.randomness import system
from peos.crypto.schemes import scheme as scheme_named
from peos.crypto.schemes.base import PrivateKey
from peos.protocols import DEFAULT
from peos.shuffle.schedule import Schedule

USERS: Final = (1_000, 3_000, 10_000, 30_000, 100_000)
SHUFFLERS: Final = (3, 5, 7)


def measure(
    users: Sequence[int],
    shufflers: Sequence[int],
    scheme: str,
    *,
    key: PrivateKey | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Row:
    """Every point, and the line through those of each r; `key` is for tests."""
    private = key or scheme_named(scheme).generate(system())
    points: list[Row] = []
    for number in shufflers:
        for count in users:
            progress(f"{number} shufflers, {count:,} users")
            found = measure_parties(count, number, DEFAULT, private, rng=system())
            points.append(
                {"shufflers": number, "users": count, "rows": found.counts["rows"]}
                | {"total_s": sum(found.shuffle_s) + found.decrypt_s}
                | found.costs()
                | {"passes": found.counts["passes"], "rerandomisations": found.counts["rerandomisations"]}
            )
    lines = [line(number, [point for point in points if point["shufflers"] == number]) for number in shufflers]
    return {"machine": machine(), "scheme": private.public.scheme, "points": points, "lines": lines}


def line(shufflers: int, points: Sequence[Row]) -> Row:
    """The straight line through one r's seconds, and the largest relative distance of a point from it."""
    rows, seconds = (np.array([point[name] for point in points], float) for name in ("rows", "total_s"))
    slope, fixed = np.polyfit(rows, seconds, 1, w=1 / seconds) if len(points) > 1 else (seconds[0] / rows[0], 0.0)
    schedule = Schedule(shufflers)
    return {
        "shufflers": shufflers,
        "microseconds_a_row": float(slope) * 1e6,
        "fixed_s": float(fixed),
        "largest_relative_error": float(np.max(np.abs(fixed + slope * rows - seconds) / seconds)),
        "passes": points[0]["passes"],
        "holders": shufflers - schedule.threshold + 1,  # r − t + 1, what the passes must be
    }


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--users", type=int, nargs="+", default=USERS)
    parser.add_argument("--shufflers", type=int, nargs="+", default=SHUFFLERS)
    parser.add_argument("--scheme", default="jl")
    options = parser.parse_args()
    found = measure(
        options.users,
        options.shufflers,
        options.scheme,
        progress=lambda said: print(said, file=sys.stderr, flush=True),
    )
    if options.json:
        print(json.dumps(found, indent=1))
        return
    for point in found["points"]:
        print(
            f"{point['shufflers']} shufflers{point['users']:9,} users{point['total_s']:9.2f} s, "
            f"{point['passes']} passes, {point['shuffler_mb']:8.2f} MB a shuffler"
        )
    for each in found["lines"]:
        print(
            f"{each['shufflers']} shufflers: {each['microseconds_a_row']:.0f} µs a row; every point within "
            f"{each['largest_relative_error']:.0%} of the line"
        )


if __name__ == "__main__":
    main()
