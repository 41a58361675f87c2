"""A process to be killed: it says on standard output what its store has acknowledged, and goes on until it is killed.

python -m tests.unit.store.victim submit|stand FOLDER FIRST
"""

import sys
from pathlib import Path

from peos.shuffle.delivery_state import DeliveryState, Phase
from tests.unit.store.made import DIGEST, TRANSCRIPT, sqlite, submission, vector

BATCH = 16
ROWS = 20_000  # half a megabyte: many a kill falls within the writing of a vector


def submit(folder: Path, first: int) -> None:
    """Submit batches, one number after another; say after each how far they are acknowledged."""
    with sqlite(folder) as store:
        while True:
            store.submit_many([submission(number) for number in range(first, first + BATCH)])
            first += BATCH
            sys.stdout.write(f"{first}\n")
            sys.stdout.flush()


def stand(folder: Path, first: int) -> None:
    """Store attempt after attempt with its vector; say after each which one is durable."""
    with sqlite(folder) as store:
        while True:
            store.put_delivery_state(DIGEST, DeliveryState(Phase.STORED, first, 0, TRANSCRIPT), vector(first, ROWS))
            sys.stdout.write(f"{first}\n")
            sys.stdout.flush()
            first += 1


if __name__ == "__main__":
    {"submit": submit, "stand": stand}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
