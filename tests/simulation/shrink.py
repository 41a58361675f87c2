"""From a failing trial to a small one that breaks the same rule: leave operations out, then make numbers smaller."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from tests.simulation.operations import GRACE, LATE, Operation, Trial, simpler

MOST_TRIES: Final = 3000


def shrunk(trial: Trial, fails: Callable[[Trial], bool]) -> Trial:
    """The smallest trial that was found to fail; `fails` decides, and is asked a bounded number of times."""
    tries = MOST_TRIES
    smaller = True
    while smaller:
        smaller = False
        for candidate in _candidates(trial):
            tries -= 1
            if tries < 0:
                return trial
            if fails(candidate):
                trial, smaller = candidate, True
                break
    return trial


def _candidates(trial: Trial) -> Iterator[Trial]:
    """Trials that are simpler in one respect, those first that leave out most."""
    operations = trial.operations
    size = len(operations)
    while size:
        for start in range(0, len(operations), size):
            yield replace(trial, operations=operations[:start] + operations[start + size :])
        size //= 2
    if trial.shufflers > 3:
        yield replace(trial, shufflers=3)
    if trial.vectors:
        yield replace(trial, vectors=False)
    if (trial.shuffle_by, trial.erase_by) != (LATE, LATE + GRACE):
        yield replace(trial, shuffle_by=LATE, erase_by=LATE + GRACE)
    if trial.seed:
        yield replace(trial, seed=0)
    for place, operation in enumerate(operations):
        for easier in simpler(operation):
            yield replace(trial, operations=_with(operations, place, easier))


def _with(operations: tuple[Operation, ...], place: int, other: Operation) -> tuple[Operation, ...]:
    changed = (*operations[:place], other, *operations[place + 1 :])
    return tuple(sorted(changed, key=lambda one: one.at))
