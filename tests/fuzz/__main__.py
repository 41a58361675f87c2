"""Inputs that are nearly right into everything that reads: decoders in this process, calls to parties that run.

python -m tests.fuzz decoders --inputs 10000000
python -m tests.fuzz decoders --inputs 100000 --only toml --seed 7
python -m tests.fuzz rpcs --inputs 100000
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.decoders import targets
from tests.fuzz.running import Run, growth


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if nothing was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Inputs that are nearly right.")
    parser.add_argument("what", choices=["decoders", "rpcs"])
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same inputs")
    parser.add_argument("--only", default="", help="readers or calls whose name has this in it")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        if chosen.what == "rpcs":
            from tests.fuzz.rpcs import over_the_wire

            return over_the_wire(Path(folder), chosen.inputs, chosen.seed, chosen.only, say)
        return _decoders(Path(folder), chosen.inputs, chosen.seed, chosen.only)


def _decoders(folder: Path, inputs: int, seed: int, only: str) -> int:
    begun = time.monotonic()
    run = Run([target for target in targets(folder) if only in target.name], seed)
    run.run(inputs, say)
    say(f"\n{'reader':34} {'inputs':>10} {'read':>9} {'outcomes':>8} {'µs each':>8} {'slowest ms':>10}")
    for name, one in run.figures.items():
        each, slowest = one.seconds / one.inputs * 1e6, one.slowest * 1e3
        say(f"{name:34} {one.inputs:10,} {one.read:9,} {len(one.outcomes):8} {each:8.1f} {slowest:10.1f}")
    grown = growth(run.before, run.after)
    for finding in run.findings:
        say(f"\nFOUND in {finding.target}: {finding.what}\n  {finding.data.hex()}")
    before, after = run.before, run.after
    say(
        f"\n{sum(one.inputs for one in run.figures.values()):,} inputs, {len(run.figures)} readers,"
        f" {sum(len(one.outcomes) for one in run.figures.values())} distinct outcomes,"
        f" {len(run.findings)} findings, {time.monotonic() - begun:.0f} s;"
        f" memory {before.memory >> 20} -> {after.memory >> 20} MiB,"
        f" descriptors {before.descriptors} -> {after.descriptors}, threads {before.threads} -> {after.threads}"
    )
    for line in grown:
        say(line)
    return 1 if run.findings or grown else 0


def say(line: str) -> None:
    """To the person who waits."""
    print(line, flush=True)  # noqa: T201 - telling is what this is for


if __name__ == "__main__":
    sys.exit(main())
