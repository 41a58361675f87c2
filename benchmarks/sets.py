"""Item sets: randomising a million sets, matching them against candidate sets, and a whole search in memory.

python -m benchmarks.sets [--quick] [--json]

Of one core, in processor seconds, so that what else the machine does counts for little; kept in results/sets.json.
"""

import argparse
import json
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from peos.bench.machine import machine
from peos.crypto.randomness import Randomness
from peos.ldp.sampled import SampledGRR, SampledHash, Sets
from peos.simulate import run_study
from peos.tasks import SVIM
from peos.tasks.items.views import Lists, SubsetsView, label_of

RESULT: Final = Path(__file__).parent / "results" / "sets.json"
ITEMS: Final = 42_178
MEAN: Final = 8
BARS: Final = {
    "randomise, by randomised response": 5.0,
    "randomise, by hashing": 5.0,
    "match against 128 item sets": 10.0,
    "a whole search": 60.0,
}
MOST_MEGABYTES: Final = 1_500


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds, and what came of it."""
    before = time.process_time()
    made = work()
    return time.process_time() - before, made


def lists_of(users: int) -> list[list[int]]:
    """Lists of a mean of eight items, drawn by Zipf's law."""
    rng = np.random.default_rng(1)
    sizes = np.clip(rng.poisson(MEAN, users), 1, None)
    weights = 1.0 / (np.arange(1, ITEMS + 1) + 8.0)
    keys = np.unique(
        np.repeat(np.arange(users), sizes) * ITEMS + rng.choice(ITEMS, sizes.sum(), p=weights / weights.sum())
    )
    flat = (keys % ITEMS).tolist()
    ends = np.cumsum(np.bincount(keys // ITEMS, minlength=users)).tolist()
    return [flat[first:last] for first, last in zip([0, *ends], ends, strict=False)]


def measure(users: int) -> dict[str, Any]:
    """Each figure that a bar is of."""
    rng, lists = Randomness(bytes(32)), lists_of(users)
    task = SVIM(ITEMS, 64, users=users, delta=1e-9, eps_local=2.0, fakes=0)
    svim, _ = timed(lambda: run_study(task, lists, shuffle=False, rng=rng))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sets: Sets = Lists.of(lists).sets(ITEMS)
    grr, _ = timed(lambda: SampledGRR(ITEMS, MEAN, 2.0).randomize(sets, rng))
    hashed, _ = timed(lambda: SampledHash(ITEMS, MEAN, 2.0).randomize(sets, rng))
    pairs = [label_of((str(one), str(other))) for one in range(16) for other in range(one + 1, 17)][:128]
    view = SubsetsView(tuple(pairs))
    matching, _ = timed(lambda: view.answers(view.read(lists), rng))
    seconds = dict(zip(BARS, (grr, hashed, matching, svim), strict=True))
    return {
        "users": users,
        "items": ITEMS,
        "mean_size": MEAN,
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "megabytes": round(peak),
        "bars": BARS,
        "machine": machine(),
    }


def main() -> int:
    """Print the figures; 0 if all bars are held."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sets", description="speed of item sets")
    parser.add_argument("--quick", action="store_true", help="20,000 users; nothing is kept")
    parser.add_argument("--json", action="store_true", help="as JSON, which is also kept")
    given = parser.parse_args()
    found = measure(20_000 if given.quick else 1_000_000)
    if given.json:
        print(json.dumps(found, indent=1))
    else:
        for name, value in found["seconds"].items():
            print(f"{name:36} {value:8.2f} s   at most {BARS[name]:g}")
        print(f"{'memory':36} {found['megabytes']:8,} MB  at most {MOST_MEGABYTES:,}")
    if given.json and not given.quick:
        RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    held = all(value <= BARS[name] for name, value in found["seconds"].items())
    return 0 if held and found["megabytes"] < MOST_MEGABYTES else 1


if __name__ == "__main__":
    raise SystemExit(main())
