"""Run schedules from seeds; on a failure print the seed and the shrunk list of operations, ready to be kept as a test.

python -m tests.simulation --schedules 100000 --seed 1      many, beginning with seed 1
python -m tests.simulation --seed 7 --trace                 one, step by step
python -m tests.simulation --planted RedrawsFakes           a machine with a mistake, until it is caught
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Final

from tests.simulation.faulty import PLANTED
from tests.simulation.operations import Trial, trial
from tests.simulation.party import Party
from tests.simulation.shrink import shrunk
from tests.simulation.watch import Violation
from tests.simulation.world import World, examined, failure

PROGRESS: Final = 5.0  # seconds between two lines


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if every rule held; 1, and a reproduction, if one was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description="Shufflers under faults, by seed.")
    parser.add_argument("--schedules", type=int, default=10_000, help="how many seeds")
    parser.add_argument("--seed", type=int, default=0, help="the first of them")
    parser.add_argument("--shufflers", type=int, default=0, help="so many in every schedule, not as the seed says")
    parser.add_argument("--trace", action="store_true", help="print this one seed's run step by step")
    parser.add_argument("--planted", choices=sorted(PLANTED), help="put machines with this mistake in everyone's place")
    chosen = parser.parse_args(arguments)
    kind = PLANTED[chosen.planted] if chosen.planted else Party
    if chosen.trace:
        return trace(trial(chosen.seed, chosen.shufflers), kind)
    return sweep(chosen.seed, chosen.schedules, chosen.shufflers, kind)


def everyone(drawn: Trial, kind: type[Party]) -> dict[int, type[Party]]:
    """The same kind of party in every place."""
    return dict.fromkeys(range(1, drawn.shufflers + 1), kind)


def trace(drawn: Trial, kind: type[Party]) -> int:
    """One run in words."""
    say(drawn.source())
    try:
        world = World(drawn, kinds=everyone(drawn, kind), say=say)
        outcome = world.run()
    except Violation as violation:
        say(f"\n{violation}")
        return 1
    places = ", ".join(f"{who} {place.value}" for who, place in enumerate(outcome.places, start=1))
    say(f"\n{'delivered' if outcome.delivered else 'not delivered'}, {outcome.attempts} attempts; {places}")
    return 0


def sweep(first: int, schedules: int, shufflers: int, kind: type[Party]) -> int:
    """Seeds one after another, until a rule is broken."""
    began = said = time.monotonic()
    reached: Counter[str] = Counter()
    for done, seed in enumerate(range(first, first + schedules)):
        drawn = trial(seed, shufflers)
        found, world = examined(drawn, everyone(drawn, kind))
        if found is not None:
            report(seed, done, drawn, found, kind)
            return 1
        reached["delivered" if world.watch.output() else "not delivered"] += 1
        reached.update(world.watch.reached)
        if time.monotonic() - said > PROGRESS:
            said = time.monotonic()
            say(f"{done + 1:,} of {schedules:,} schedules, {(done + 1) / (said - began):.0f} a second")
    say(f"{schedules:,} schedules from seed {first} in {time.monotonic() - began:.0f} s: every rule held")
    for what, times in sorted(reached.items()):
        say(f"  {times:9,}  {what}")
    return 0


def report(seed: int, before: int, drawn: Trial, found: Violation, kind: type[Party]) -> None:
    """The failure, and a smaller one that breaks the same rule."""
    say(f"seed {seed}, after {before:,} schedules: {found}")

    def fails(candidate: Trial) -> bool:
        again = failure(candidate, everyone(candidate, kind))
        return again is not None and again.rule == found.rule

    small = shrunk(drawn, fails)
    say(f"shrunk from {len(drawn.operations)} operations to {len(small.operations)}:\n")
    again = failure(small, everyone(small, kind))
    say(
        f"# {again}\nTRIAL = {small.source()}\n\n\ndef test_what_it_shows() -> None:\n    assert failure(TRIAL) is None"
    )


def say(line: str) -> None:
    """Print a line of progress."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
