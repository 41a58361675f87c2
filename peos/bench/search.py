"""`peos bench search`: counting candidates of keys, and whole searches for frequent texts, on this machine.

Seconds are processor time of this process, but for two cores against one, which are of a clock. The search is figure
9.4's: half a million users and more, random texts of six bytes by Zipf's law, the 32 most frequent, ε_l = 5.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peos.bench.machine import REPETITIONS, Row, machine, peak_megabytes
from peos.compute import Engine, Inline, Processes
from peos.crypto.randomness import Randomness, system
from peos.ldp.key_hash import KeyHash
from peos.simulate import run_study
from peos.tasks import heavy_hitters

USERS: Final = 1_000_000
DISTINCT: Final = 120_000
BYTES, TOP = 6, 32
SHORT, LONG = 2**8, 2**16  # extensions
PARENTS: Final = 128
MANY_PARENTS: Final = 64
CELLS: Final = (2, 2**4, 2**8, 2**12, 2**16)
BARS: Final = {
    "pairs_a_second": 5e8,
    "milliseconds_a_report": 2.0,
    "search_seconds": 30.0,
    "megabytes": 400.0,
    "times_faster_with_two": 1.7,
}


def pairs_a_second(cells: int, reports: int, rng: Randomness) -> float:
    """Of a report and a candidate, at 2^8 extensions of 128 parents; the median of a few repetitions."""
    hashes = KeyHash(cells.bit_length() - 1, salt=1)
    took = _seconds(hashes, reports, PARENTS, SHORT, rng)
    return reports * PARENTS * SHORT / took


def milliseconds_a_report(reports: int, rng: Randomness) -> float:
    """For 64 parents with 2^16 extensions each, at d' = 2^16."""
    return _seconds(KeyHash(16, salt=1), reports, MANY_PARENTS, LONG, rng) / reports * 1e3


def _seconds(hashes: KeyHash, reports: int, parents: int, exts: int, rng: Randomness) -> float:
    seeds, answers = (
        rng.uint64(reports) >> np.uint64(32),
        (rng.uint64(reports) % np.uint64(2**hashes.bits)).astype(np.int64),
    )
    asked, listed = rng.uint64(parents), np.arange(exts, dtype=np.uint64)
    found = []
    for _ in range(REPETITIONS):
        begun = time.process_time()
        hashes.support_counts(seeds, answers, asked, listed)
        found.append(time.process_time() - begun)
    return statistics.median(found)


def _warmed(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """What a worker loads is loaded before it is measured."""
    return rows[:1]


def texts(users: int, rng: Randomness) -> Any:
    """(users,): random strings of 48 bits, by Zipf's law with exponent 1."""
    ends = np.cumsum(1 / np.arange(1, DISTINCT + 1))
    names = rng.uint64(DISTINCT) >> np.uint64(64 - 8 * BYTES)
    drawn = (rng.uint64(users) >> np.uint64(11)).astype(np.float64) * 2.0**-53 * ends[-1]
    return names[np.searchsorted(ends, drawn, side="right")]


def search(users: int, rng: Randomness, engine: Engine, progress: Callable[[int, int, int], None] | None = None) -> Row:
    """The default search, from records to the answer."""
    task = heavy_hitters(BYTES, TOP, users=users, delta=1e-9, eps_local=5.0, d_prime=256, fakes=0)
    records, begun = texts(users, rng), (time.process_time(), time.monotonic())
    answer = run_study(task, records, shuffle=False, rng=rng, engine=engine, progress=progress)
    of_processor, of_clock = time.process_time() - begun[0], time.monotonic() - begun[1]
    return {
        "users": users,
        "candidates": sum(task.tested),
        "seconds": of_processor,
        "clock_seconds": of_clock,
        "f1": answer.score(records)["f1"],
        "eps_server": task.plan.guarantees.server.epsilon,
        "megabytes": peak_megabytes(),
    }


def measure(
    users: int = USERS,
    *,
    reports: int = 20_000,
    rng: Randomness | None = None,
    workers: int = 2,
    progress: Callable[[int, int, int], None] | None = None,
) -> Row:
    """All of it; each figure with its bar."""
    rng = rng or system()
    with Inline() as one:
        alone = search(users, rng, one, progress)
    with Processes(workers) as several:
        several.summed(_warmed, (np.zeros(4 * workers, np.int64),), 1, pieces=4 * workers, seconds=60.0)  # they stay
        divided = search(users, rng, several)
    found: dict[str, float] = {
        "pairs_a_second": min(pairs_a_second(cells, reports, rng) for cells in CELLS),
        "milliseconds_a_report": milliseconds_a_report(max(1, reports // 200), rng),
        "search_seconds": alone["seconds"],
        "megabytes": alone["megabytes"],
        "times_faster_with_two": alone["clock_seconds"] / divided["clock_seconds"],
    }
    return {
        "machine": machine(),
        "reports": reports,
        "search": alone,
        "divided": {**divided, "workers": workers},
        "rows": [{"what": name, "measured": value, "bar": BARS[name]} for name, value in found.items()],
    }
