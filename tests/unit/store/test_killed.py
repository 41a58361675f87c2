"""kill −9 while a store is being written: everything acknowledged is there, and nothing that was not sent."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from peos.collection.lifecycle import State
from peos.crypto.randomness import Randomness
from tests.sources import ROOT
from tests.unit.store.made import ANNOUNCED, DIGEST, FROZEN, frozen, opened, sqlite, submission, vector
from tests.unit.store.victim import BATCH, ROWS

KILLS = 6


def killed(what: str, folder: Path, first: int, rng: Randomness) -> int:
    """Run a victim from `first` on, kill it at some moment, and return what it acknowledged last."""
    command = [sys.executable, "-m", "tests.unit.store.victim", what, str(folder), str(first)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as victim:  # noqa: S603 (our own)
        assert victim.stdout is not None
        said = [victim.stdout.readline() for _ in range(1 + rng.integer_below(20))]
        time.sleep(rng.integer_below(5_000) / 1e6)
        victim.send_signal(signal.SIGKILL)
        said += victim.stdout.readlines()
        assert victim.wait() == -signal.SIGKILL, f"it ended by itself after {said[-1:]}"
    whole = [int(line) for line in said if line.endswith("\n")]
    return whole[-1]


def test_no_acknowledged_submission_is_lost_and_none_is_invented(tmp_path: Path, rng: Randomness) -> None:
    with sqlite(tmp_path) as store:
        opened(store)
    numbers: set[int] = set()  # acknowledged
    may: set[int] = set()  # in the batch that was under way
    first = 0
    for _ in range(KILLS):
        last = killed("submit", tmp_path, first, rng)
        numbers |= set(range(first, last))
        under_way = range(last, last + BATCH)
        may |= set(under_way)
        with sqlite(tmp_path) as store:
            here = {row[:16] for row in store.rows(DIGEST)}
        found = [submission(number).row[:16] in here for number in under_way]
        assert len(set(found)) == 1, f"half a batch is kept: {found}"
        first = last + BATCH
    with sqlite(tmp_path) as store:
        kept = sorted(store.rows(DIGEST))
        by_row = {submission(number).row: number for number in numbers | may}
        there = {by_row[row] for row in kept}  # a KeyError would be an invented submission
        assert numbers <= there <= numbers | may, f"lost {sorted(numbers - there)[:5]} of {len(numbers)}"
        assert len(kept) == len(there) == store.count(DIGEST)
        assert store.verify_audit() > KILLS
        store.set_state(DIGEST, State.CLOSED)
        store.put_frozen(DIGEST, FROZEN, ANNOUNCED, kept)
        shares = list(store.shares(DIGEST))
    assert shares == [submission(by_row[row]).share for row in kept]


def test_a_standing_and_its_vector_are_kept_together(tmp_path: Path, rng: Randomness) -> None:
    with sqlite(tmp_path) as store:
        frozen(store)
    first = 1
    for _ in range(KILLS):
        last = killed("stand", tmp_path, first, rng)
        with sqlite(tmp_path) as store:
            attempt = store.delivery_state(DIGEST).attempt
            assert attempt in (last, last + 1), f"acknowledged {last}, kept {attempt}"
            assert np.array_equal(store.final_vector(DIGEST), vector(attempt, ROWS))
            (kept,) = (tmp_path / "party" / "vectors").iterdir()
            assert kept.name.startswith(f"{DIGEST.hex()}.{attempt}.")
        first = attempt + 1


@pytest.mark.long
@pytest.mark.parametrize("batch", [1, 64, 256])
def test_durable_submissions_a_second(tmp_path: Path, batch: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Shares of 768 bytes, one Paillier-3072 ciphertext; the figure is printed, the floor is far below it."""
    count = 40 * batch if batch < 64 else 40_960
    made = [submission(number, share=number.to_bytes(4, "big") * 192) for number in range(count)]
    with sqlite(tmp_path) as store:
        opened(store)
        started, used = time.perf_counter(), time.process_time()
        for first in range(0, count, batch):
            store.submit_many(made[first : first + batch])
        seconds, cpu = time.perf_counter() - started, time.process_time() - used
        assert store.count(DIGEST) == count
    with capsys.disabled():
        sys.stdout.write(f"\n{count} in batches of {batch}: {count / seconds:,.0f}/s ({cpu / seconds:.0%} of a core)\n")
    assert count / seconds > (50 if batch == 1 else 1_000)
