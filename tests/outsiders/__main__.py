"""Outsiders against real shuffler processes: every attack in every phase, with few descriptors and from many addresses.

python -m tests.outsiders                                        every combination, in about half an hour
python -m tests.outsiders --attack idle half --phase frozen --descriptors 256
"""

import argparse
import asyncio
import itertools
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.integration.played import PlayedTown
from tests.outsiders.ground import ATTACKS, PHASES, Trial, count_for, restart, run

_ROW = "{:9} {:7} {:>11} {:>9} {:>5}  {:>7} {:>10} {:>9} {:>6}  {}"
_HEAD = ("attack", "phase", "descriptors", "addresses", "count")
_CAME = ("health", "unanswered", "most open", "s", "state")


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if every collection was completed and every question of health answered."""
    parser = argparse.ArgumentParser(prog="python -m tests.outsiders", description="Attacks without any credential.")
    parser.add_argument("--attack", nargs="+", choices=ATTACKS, default=list(ATTACKS))
    parser.add_argument("--phase", nargs="+", choices=PHASES, default=list(PHASES), help="when it begins")
    parser.add_argument("--descriptors", nargs="+", type=int, default=[256, 1024], help="the hard limit of a shuffler")
    parser.add_argument("--addresses", nargs="+", type=int, default=[1, 50], help="of the attacker, from 127.0.0.2 on")
    chosen = parser.parse_args(arguments)
    trials: list[Trial] = []
    say(_ROW.format(*_HEAD, *_CAME))
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        town = PlayedTown(Path(folder))
        for party in town.shufflers:  # every trial is a collection of one analyzer
            text = party.config.read_text(encoding="utf-8")
            raised = text.replace("[policy]\n", "[policy]\nmost_per_analyzer_and_day = 1000\n")
            party.config.write_text(raised, encoding="utf-8")
        with town.cluster:
            for most in chosen.descriptors:
                restart(town, most)
                for attack, phase, addresses in itertools.product(chosen.attack, chosen.phase, chosen.addresses):
                    trial = Trial(attack, phase, most, addresses, count_for(attack, most))
                    asyncio.run(run(town, trial))
                    trials.append(trial)
                    say(
                        _ROW.format(
                            *(attack, phase, most, addresses, trial.count, trial.health, len(trial.unanswered)),
                            *(trial.most_open, f"{trial.seconds:.0f}", trial.state),
                        )
                    )
    held = sum(trial.holds for trial in trials)
    completed = sum(trial.state == "published" for trial in trials)
    say(f"{held} of {len(trials)} held, {completed} collections were completed, in {time.monotonic() - begun:,.0f} s")
    return 0 if held == len(trials) else 1


def say(line: str) -> None:
    """To standard output, at once."""
    print(line, flush=True)  # noqa: T201 - a command line


if __name__ == "__main__":
    sys.exit(main())
