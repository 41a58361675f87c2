"""Measure how far the key holder gets at linking, and keep the figures.

python -m tests.security.linking --shufflers 3        the kept run: some five minutes of one core
python -m tests.security.linking --shufflers 5        some fifteen minutes
python -m tests.security.linking --collections 20 --keep /tmp/some.json     a short one

Every collection loses one attempt and delivers the next. Half of the collections teach each coalition of c shufflers,
the analyzer and all users how to bet; the other half counts. Exit code 1 if a bound is not under 0.05.

How many pairs: with half of N bets right, Clopper and Pearson's 99.9 % bound of the advantage is under 0.05 from
N = 3,856 on (tests/security/linking/test_trials.py). A blind bet is right half of the time give or take √N/2, so N
has to be larger for a defence that is perfect to be shown to hold: with 16,000 pairs a blind bet is misjudged once in
some 1,600 verdicts.
"""

import argparse
import json
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.security.linking.chooser import Judged
from tests.security.linking.collection import FAKES, PairedCollection
from tests.security.linking.trials import KEY_BITS, run
from tests.security.verdict import FAILS_UNDER, Verdict

RESULTS: Final = Path(__file__).parents[1] / "results"
COLLECTIONS: Final = 320
PAIRS: Final = 100
SHUFFLERS: Final = (3, 5)
PROGRESS: Final = 20  # collections between two lines


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if every coalition's bound is under the bar."""
    parser = argparse.ArgumentParser(prog="python -m tests.security.linking", description="Linking by the key holder.")
    parser.add_argument("--shufflers", type=int, default=3, help="r")
    parser.add_argument("--collections", type=int, default=COLLECTIONS, help="half of them are held out")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="pairs of users in each")
    parser.add_argument("--workers", type=int, default=1, help="processes; the figures are the same with any number")
    parser.add_argument("--keep", type=Path, help="where the figures go [default: linking-R.json of the results]")
    chosen = parser.parse_args(arguments)
    found = measured(chosen.shufflers, chosen.collections, chosen.pairs, chosen.workers)
    options = " ".join(sys.argv[1:] if arguments is None else arguments)
    kept = {
        "command": f"python -m tests.security.linking {options}".strip(),
        "key_bits": KEY_BITS,
        "shufflers": chosen.shufflers,
        "fakes": FAKES,
        "pairs_in_a_collection": chosen.pairs,
        "lost_attempts_in_a_collection": 1,
        **found,
    }
    (chosen.keep or kept_at(chosen.shufflers)).write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    return int(any(one["upper"] >= FAILS_UNDER for one in found["coalitions"].values()))


def kept_at(shufflers: int) -> Path:
    """Where the figures of the kept run are."""
    return RESULTS / f"linking-{shufflers}.json"


def measured(shufflers: int, collections: int, pairs: int, workers: int) -> dict[str, Any]:
    """All coalitions' figures at one number of shufflers."""
    began, processor = time.monotonic(), _cpu_seconds()

    def progress(done: int) -> None:
        if done % PROGRESS == 0:
            sys.stdout.write(f"{shufflers} shufflers: {done} collections, {time.monotonic() - began:.0f} s\n")
            sys.stdout.flush()

    trials = run(PairedCollection, shufflers, collections, pairs, workers=workers, progress=progress)
    coalitions: dict[str, Any] = {}
    for coalition in trials.seen:
        members = ", ".join(map(str, sorted(coalition)))
        judged = trials.judged(coalition)
        verdict = judged.verdict(f"shufflers {members} of {shufflers}, the analyzer and all users")
        sys.stdout.write(f"{verdict}\n")
        coalitions[members] = figures_of(judged, verdict)
    return {
        "collections": collections,
        "held_out": collections - collections // 2,
        "traces": len(trials.traces),
        "cpu_seconds": round(_cpu_seconds() - processor),
        "coalitions": coalitions,
    }


def _cpu_seconds() -> float:
    """Of this process and of its workers that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def figures_of(judged: Judged, verdict: Verdict) -> dict[str, Any]:
    """What is kept of a coalition: enough to compute its bounds again."""
    return {
        "advantage": round(verdict.advantage, 5),
        "lower": round(verdict.lower, 5),
        "upper": round(verdict.upper, 5),
        "bet": judged.chosen,
        "hits_by_collection": " ".join(map(str, judged.hits)),
    }


if __name__ == "__main__":
    sys.exit(main())
