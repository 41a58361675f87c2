"""The analyzer's work on the published words of a collection of hidden tables: from words to tables with errors.

    python -m benchmarks.marginals [--users 1000000] [--json]

32 binary attributes of one-factor people, 31 tables of 8 of them (the plan takes 20), a million reports, and 100 tables
of six attributes, on one core. Reports are made in pieces before; memory is what the process had at most, with them.
With `--json` the figures are also kept in benchmarks/results/marginals.json.
"""

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Final

import numpy as np

from peos.bench.machine import machine
from peos.chunks import chunks
from peos.crypto.randomness import U64, Randomness
from peos.tasks.marginals.answer import MarginalsAnswer
from peos.tasks.marginals.design import cover
from peos.tasks.marginals.task import Marginals

ATTRIBUTES: Final = 32
WAYS: Final = 6
ANSWERS: Final = 100
TABLES: Final = 31
_PIECE: Final = 20_000
RESULT: Final = Path(__file__).parent / "results" / "marginals.json"


def measured(users: int) -> dict[str, object]:
    """Seconds of processor time by step, and megabytes."""
    schema = {f"a{at}": ["no", "yes"] for at in range(ATTRIBUTES)}
    rng = np.random.default_rng(1)
    task = Marginals(schema, ways=3, tables=_tables(rng), users=users, delta=1e-6, eps_server=0.2)
    plan, words = task.plan, _reports(task, rng)
    seconds = {}
    began = time.process_time()
    table = task.decode(plan.mechanism.reports(words, users, plan.fakes))
    seconds["decode and count"] = time.process_time() - began
    began = time.process_time()
    answer = task.next([table])
    assert isinstance(answer, MarginalsAnswer)
    answer.table("a0")
    _ = answer.table("a0").frequency
    seconds["consistency"] = time.process_time() - began
    began = time.process_time()
    asked = [sorted(rng.choice(ATTRIBUTES, WAYS, replace=False).tolist()) for _ in range(ANSWERS)]
    tables = [answer.table(*(f"a{at}" for at in one)) for one in asked]
    for one in tables:
        _ = one.frequency
    seconds["answers"] = time.process_time() - began
    began = time.process_time()
    _ = tables[0].stderr
    seconds["errors of the first answer"] = time.process_time() - began
    began = time.process_time()
    _ = tables[1].stderr
    seconds["errors of another"] = time.process_time() - began
    return {
        "users": users,
        "tables": len(task.design.blocks),
        "cells": plan.mechanism.domain,
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
        "whole": round(sum(seconds[name] for name in ("decode and count", "consistency", "answers")), 3),
        "megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "machine": machine(),
    }


def _tables(rng: np.random.Generator) -> list[list[str]]:
    """Those that cover all pairs, and others at random."""
    blocks = {*cover(ATTRIBUTES, 2, 8)}
    while len(blocks) < TABLES:
        blocks.add(tuple(sorted(rng.choice(ATTRIBUTES, 8, replace=False).tolist())))
    return [[f"a{at}" for at in block] for block in sorted(blocks)]


def _reports(task: Marginals, rng: np.random.Generator) -> U64:
    """Real reports of people whose attributes have one factor in common, and the fakes."""
    draws, plan, made = Randomness(bytes(32)), task.plan, []
    for piece in chunks(task.users, _PIECE):
        count = piece.stop - piece.start
        held = rng.normal(size=(count, 1)) + rng.normal(size=(count, ATTRIBUTES)) < np.linspace(0.5, -2, ATTRIBUTES)
        cells = [np.ravel_multi_index(held[:, block].T.astype(int), (2,) * 8) for block in task.design.blocks]
        made.append(plan.mechanism.randomize(np.stack(cells, axis=1), draws))
    return np.concatenate((*made, draws.uint64((plan.fakes, 1))))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.marginals", description="the analyzer's work on tables")
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true", help="keep the figures")
    given = parser.parse_args()
    found = measured(given.users)
    print(json.dumps(found, indent=1))
    if given.json:
        RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
