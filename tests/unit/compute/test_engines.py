"""The engines give the same words, and what comes from workers is as fresh as what is made here."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from threading import Thread
from time import sleep

import numpy as np
import pytest
from numpy.typing import NDArray

from peos.chunks import chunks
from peos.compute import Engine, Inline, Processes, engine
from peos.compute.engine import LONGEST_CHUNK, Decrypt, Encrypt, Job, Peel, Remask, chunk_length
from peos.compute.zeros import WorkerZeros
from peos.crypto.onion import Layer, OnionKeys, OnionPrivateKey
from peos.crypto.randomness import Randomness
from tests.keys import small_key
from tests.raising import raises
from tests.unit.compute.conftest import Eager

KEY = small_key()
LAYER = Layer(OnionPrivateKey(b"\x07" * 32), b"c" * 32, 1)
ROWS = 700  # more than two chunks, and not a multiple of one


@pytest.fixture(params=["inline", "processes"])
def either(request: pytest.FixtureRequest, eager: Eager, rng: Randomness) -> Engine:
    return Inline(rng) if request.param == "inline" else eager


def test_what_is_encrypted_and_remasked_decrypts_to_the_sum(either: Engine, rng: Randomness) -> None:
    words, masks = rng.uint64(ROWS), rng.uint64(ROWS)
    encrypted = either.encrypt(KEY.public, words)
    assert bool(np.all(KEY.public.check(encrypted)))
    remasked = either.remask(KEY.public, encrypted, masks, 1)
    assert np.array_equal(either.decrypt(KEY, remasked), words + masks)
    assert not np.any(np.all(encrypted == remasked, axis=1))


def test_engines_agree_on_every_decryption(eager: Eager, rng: Randomness) -> None:
    encrypted = Inline(rng).encrypt(KEY.public, rng.uint64(ROWS))
    by_workers = eager.decrypt(KEY, encrypted)
    assert np.array_equal(by_workers, Inline().decrypt(KEY, encrypted))
    assert np.array_equal(by_workers, KEY.decrypt(encrypted))


def test_engines_peel_the_same_from_the_same_onions(eager: Eager, rng: Randomness) -> None:
    """Each row in its place; zeros for those that do not open. The key goes to workers and is not shown by a job."""
    onions = OnionKeys((LAYER.private.point,)).wrap(LAYER.collection, rng.uint64((ROWS, 1)).view(np.uint8), rng)
    onions[::3, -1] ^= 1
    peeled = eager.peel(LAYER, onions)
    assert np.array_equal(peeled, Inline().peel(LAYER, onions))
    assert np.array_equal(peeled, LAYER.under(onions))
    assert peeled[:, 0].tolist() == [row % 3 != 0 for row in range(ROWS)]
    assert LAYER.private.secret.hex() not in repr(Peel(LAYER)) + repr(LAYER)


def test_no_two_rows_share_their_randomness_whichever_worker_made_them(either: Engine) -> None:
    same = either.encrypt(KEY.public, np.zeros(ROWS, dtype=np.uint64))
    assert len(np.unique(same, axis=0)) == ROWS


def test_statistical_remasking_decrypts_likewise(either: Engine, rng: Randomness) -> None:
    words, masks = rng.uint64(9), rng.uint64(9)
    encrypted = either.encrypt(KEY.public, words, statistical=True)
    remasked = either.remask(KEY.public, encrypted, masks, 2, statistical=True)
    assert np.array_equal(either.decrypt(KEY, remasked), words + masks)


def test_progress_rises_to_the_total(either: Engine, rng: Randomness) -> None:
    seen: list[tuple[int, int]] = []
    either.encrypt(KEY.public, rng.uint64(ROWS), progress=lambda done, total: seen.append((done, total)))
    assert [total for _, total in seen] == [ROWS] * len(seen)
    done = [count for count, _ in seen]
    assert done == sorted(set(done))
    assert done[-1] == ROWS


def test_what_is_made_of_pieces_is_added_up(either: Engine) -> None:
    values, weights = np.arange(1000) % 10, np.arange(1000)
    seen: list[tuple[int, int]] = []
    found = either.summed(weighed, (values, weights), 10, pieces=7, seconds=60.0, progress=lambda *at: seen.append(at))
    assert found.tolist() == np.bincount(values, weights).tolist()
    assert seen == [(done, 7) for done in range(1, 8)]
    assert either.summed(weighed, (values[:0], weights[:0]), 10, pieces=1, seconds=0.0).sum() == 0


@pytest.mark.parametrize("kind", [Inline, partial(Eager, 2)])
def test_adding_up_ends_after_the_piece_that_it_is_at(kind: Callable[[], Engine]) -> None:
    """The rest would take hours."""
    seen: list[int] = []
    with kind() as stopped:

        def stop(done: int, _: int) -> None:
            seen.append(done)
            if done == 1:
                Thread(target=stopped.close).start()
                sleep(0.2)

        with raises("compute.stopped"):
            stopped.summed(slow, (np.arange(100_000),), 1, pieces=100_000, seconds=0.0, progress=stop)
    assert len(seen) < 50


def weighed(values: NDArray[np.int64], weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sums of weights."""
    return np.bincount(values, weights, 10).astype(np.int64)


def slow(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """A tenth of a second a piece."""
    sleep(0.1)
    return values[:1]


def test_nothing_is_nothing(either: Engine) -> None:
    assert either.decrypt(KEY, np.empty((0, KEY.public.ciphertext_bytes), dtype=np.uint8)).shape == (0,)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 255, 10_000])
@pytest.mark.parametrize("workers", [1, 2, 16])
def test_chunks_cover_every_row_once_and_are_short(count: int, workers: int) -> None:
    covered = [
        row
        for where in chunks(count, chunk_length(Peel(LAYER), count, workers))
        for row in range(where.start, where.stop)
    ]
    assert covered == list(range(count))
    assert all(
        where.stop - where.start <= LONGEST_CHUNK for where in chunks(count, chunk_length(Peel(LAYER), count, workers))
    )


def test_little_work_starts_no_process(rng: Randomness) -> None:
    with Processes(2) as idle:
        idle.encrypt(KEY.public, rng.uint64(50))
        assert idle.worker_ids == ()


@dataclass(frozen=True)
class _Sized:
    """As much of a key as decides where to work."""

    bits: int
    scheme: str = "paillier"

    @property
    def public(self) -> "_Sized":
        """Itself."""
        return self


def sized(job: Job, bits: int, scheme: str = "paillier") -> Job:
    """The job under a key of which nothing but its length and its scheme is asked."""
    name = "private" if isinstance(job, Decrypt) else "public"
    return replace(job, **{name: _Sized(bits, scheme)})  # type: ignore[arg-type] # as much as is asked of a key


@pytest.mark.parametrize(
    ("job", "never", "always"),
    [
        (Decrypt(KEY, 2), 900, 1500),
        (Encrypt(KEY.public, 10**6, False), 3000, 6000),
        (Encrypt(KEY.public, 0, False), 80_000, 150_000),
        (Remask(KEY.public, 1, 10**6, True), 50, 100),
    ],
)
def test_workers_are_started_where_they_save_more_than_their_start(job: Job, never: int, always: int) -> None:
    idle = Processes(2)
    assert not idle.pays(sized(job, 3072), never)
    assert idle.pays(sized(job, 3072), always)
    assert not idle.pays(sized(job, 512), always)


def test_a_scheme_that_is_sooner_done_needs_more_rows_for_workers_to_pay() -> None:
    idle = Processes(2)
    assert idle.pays(sized(Decrypt(KEY, 2), 3072, "paillier"), 2000)
    assert not idle.pays(sized(Decrypt(KEY, 2), 3072, "dgk"), 2000)
    assert idle.pays(sized(Decrypt(KEY, 2), 3072, "dgk"), 8000)
    assert not idle.pays(Peel(LAYER), 15_000)
    assert idle.pays(Peel(LAYER), 30_000)


def test_a_single_core_is_worked_without_processes() -> None:
    assert isinstance(engine(1), Inline)
    with engine(2) as two:
        assert isinstance(two, Processes)


@pytest.mark.full
def test_tables_are_kept_for_the_same_key_and_given_up_for_another(rng: Randomness) -> None:
    supply = WorkerZeros(rng)
    supply.zeros(KEY.public, 3, expected=200, statistical=False)
    first = supply._source
    supply.zeros(KEY.public, 3, expected=300, statistical=False)
    assert supply._source is first
    supply.zeros(small_key(768).public, 3, expected=1, statistical=False)
    assert supply._source is not first
