"""Both cores: re-randomising, decrypting and peeling a vector by the engine's processes, against one core, elapsed.

    python -m benchmarks.cores [--json] [--count N]

The one benchmark that needs a quiet machine: what it compares is elapsed. Both ways have their tables before the clock
starts, and alternate.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from benchmarks.measuring import Row, machine
from peos.compute import Engine, Inline, Processes
from peos.crypto.onion import ONION, Layer, OnionKeys, OnionPrivateKey
from peos.crypto.randomness import system
from peos.crypto.schemes import SCHEMES, scheme
from peos.crypto.schemes.base import KEY_BITS_FLOOR

COUNT: Final = 24_000  # of which one core and each of two make zeros from equally wide tables
REPETITIONS: Final = 3
BAR: Final = 1.8
WORKERS: Final = 2
_PASSES: Final = 2
_ONIONS: Final = 3  # of them for a ciphertext: they are sooner peeled
Work = Callable[[Engine], object]


def measure(count: int, *, bits: int = KEY_BITS_FLOOR) -> Row:
    """Each scheme's two operations on `count` ciphertexts; `bits` is for tests."""
    found: list[Row] = []
    for name in SCHEMES:
        with Inline() as one, Processes(WORKERS) as two:
            found += _of_scheme(name, count, bits, one, two)
    with Inline() as one, Processes(WORKERS) as two:
        found += _of_onions(_ONIONS * count, one, two)
    return {"machine": machine(), "count": count, "workers": WORKERS, "bar": BAR, "rows": found}


def _of_scheme(name: str, count: int, bits: int, one: Engine, two: Engine) -> list[Row]:
    rng = system()
    private: Any = scheme(name).generate(rng, bits=bits)
    public, words = private.public, rng.uint64(count)
    sent = two.encrypt(public, words)
    passed = two.remask(public, two.remask(public, sent, words, 1), words, 2)
    works: dict[str, Work] = {
        "rerandomise": lambda engine: engine.remask(public, sent, words, 1),
        "decrypt": lambda engine: engine.decrypt(private, passed, passes=_PASSES),
    }
    return [_compared(name, operation, work, one, two) for operation, work in works.items()]


def _of_onions(count: int, one: Engine, two: Engine) -> list[Row]:
    """The sequential shuffle's work: one layer of onions that hold a word."""
    layer = Layer(OnionPrivateKey.generate(system()), bytes(32), 1)
    each = OnionKeys((layer.private.point,)).wrap(layer.collection, np.zeros((count, 8), np.uint8), system())
    return [_compared(ONION, "peel", lambda engine: engine.peel(layer, each), one, two)]


def _compared(name: str, operation: str, work: Work, one: Engine, two: Engine) -> Row:
    samples: dict[Engine, list[float]] = {one: [], two: []}
    for repetition in range(REPETITIONS + 1):
        for engine, taken in samples.items():
            begun = time.perf_counter()
            work(engine)
            if repetition:  # the first one starts processes and builds tables
                taken.append(time.perf_counter() - begun)
    single, both = (statistics.median(taken) for taken in samples.values())
    row = {"scheme": name, "operation": operation, "one_core_s": single, "two_cores_s": both}
    return row | {"times": single / both}


def show(rows: Sequence[Row]) -> None:
    """The figures as text."""
    for row in rows:
        print(
            f"{row['scheme']:10}{row['operation']:14}{row['one_core_s']:8.2f} s on one core{row['two_cores_s']:8.2f} s "
            f"on {WORKERS}   {row['times']:.2f} times (bar {BAR})"
        )


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cores", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--count", type=int, default=COUNT, help=f"ciphertexts (default {COUNT})")
    options = parser.parse_args()
    found = measure(options.count)
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        show(found["rows"])


if __name__ == "__main__":
    main()
