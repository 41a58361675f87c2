"""A bench whose ciphertexts lie in files does what one in memory does, and no step makes another copy of a vector."""

import gc
import hashlib
import os
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import pytest
from gmpy2 import mpz
from numpy.typing import NDArray

from peos.chunks import chunks, rows_of
from peos.compute import Inline
from peos.crypto.kdf import StreamKey
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.base import Packed, PublicKey, ZeroSource
from peos.errors import Full
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.shuffle.effects import CIPHERTEXTS, SHARES, Pass
from peos.shuffle.inspect.evidence import open_rows
from peos.shuffle.messages import Header, Kind, SignedReveal, Step, VectorHeader
from peos.shuffle.schedule import HandOver
from peos.shuffle.streaming import Moved, cut_bytes
from peos.shuffle.vectors import in_rows
from peos.store.mapped import OneWayReader, let_go, mapped
from peos.wire import shuffles
from shuffler.inbox import Inbox
from shuffler.spill import SpillFile
from shuffler.workbench import Bench
from tests.keys import small_key
from tests.raising import raises
from tests.unit.collection.made import DOCUMENT
from tests.unit.shuffler_process.played import HERE, run

SMALL: Final = small_key(512, "jl").public
ROWS, FAKES, WORDS = 600, 70, 2


def key(number: int) -> StreamKey:
    return StreamKey(bytes([number]) * 32)


def laid(public: PublicKey, folder: Path | None, rng: Randomness) -> Bench:
    """Shuffler 1's frozen vector; the same in each run."""
    bench = Bench(ROWS, WORDS, public, Inline(Randomness(b"\x07" * 32)), folder=folder, long_from=0)
    users = ROWS - FAKES
    shares = Inline(Randomness(b"\x08" * 32)).encrypt(public, rng.uint64(users * WORDS)).reshape(users, -1)
    bench.lay_out(1, shares, rng.uint64((FAKES, WORDS)))
    bench.vectors[SHARES] = rng.uint64((ROWS, WORDS))
    return bench


def test_files_and_memory_give_the_same_bytes_roots_and_openings(tmp_path: Path) -> None:
    task = Pass(1, CIPHERTEXTS, (key(1), key(2)), SHARES, 1, key(5), "1/pass/1")
    over = HandOver(1, first_round=1, source=0, receiver=2, hop=1)
    found = []
    for folder in (None, tmp_path):
        bench = laid(SMALL, folder, Randomness(b"\x09" * 32))
        root = bench.work(task)
        out: Any = bench.vectors[task.out]
        assert isinstance(out, SpillFile) is (folder is not None)
        sent = hashlib.sha256(b"".join(shuffles.encode_vector(HEADER, in_rows(out), chunk=1000))).digest()
        opening = open_rows(1, [(over, task)], bench.vectors, [(5, 9), (300, 2)], {}, **OF)
        shown = [(place, one.rows.tobytes(), one.proofs) for place, one in sorted(opening.shown.items())]
        found.append((root, sent, bytes(out[:].reshape(-1)), shown))
    assert found[0] == found[1]
    assert list(tmp_path.iterdir()) == [], "no file has a name"


OF: Final[dict[str, Any]] = {"claim": None, "revealed": SignedReveal(bytes(32), bytes(64)), "dummies": (0, 1)}
HEADER: Final = Header(replace(HERE, attempt=1), Step(1, Kind.HANDOVER), 1, 2)
WIDE: Final = 768


@dataclass(frozen=True)
class Wide(PublicKey):
    """As long as Paillier's ciphertexts, and next to no work: the word, and its coins."""

    scheme: ClassVar[str] = "wide"
    bits = 0
    ciphertext_bytes = WIDE

    def encode(self) -> bytes:
        return b""

    def zero_source(self, rng: Randomness, *, expected: int = 1, statistical: bool = False) -> ZeroSource:  # noqa: ARG002 - PublicKey's signature
        return _Coins(rng)

    def encrypt(self, plain: U64, zeros: Packed) -> Packed:
        return self.remask(zeros, plain, zeros, hop=0, rng=Randomness(bytes(32)))

    def remask(self, ciphertexts: Packed, masks: U64, zeros: Packed, *, hop: int, rng: Randomness) -> Packed:  # noqa: ARG002 - PublicKey's signature
        out = np.array(ciphertexts)
        out[:, :8] = (out[:, :8].copy().view(np.uint64).reshape(-1) + masks).reshape(-1, 1).view(np.uint8)
        out[:, 8:] = zeros[:, 8:]
        return out

    def check(self, ciphertexts: Packed) -> NDArray[np.bool_]:
        return np.asarray(ciphertexts[:, 8] != 255)

    def is_fresh(self, before: Packed, after: Packed, masks: U64) -> bool:  # noqa: ARG002 - PublicKey's signature
        return len(np.unique(after[:, 8:], axis=0)) == len(after)


class _Coins(ZeroSource):
    def __init__(self, rng: Randomness) -> None:
        self._rng = rng

    def zeros(self, count: int) -> Packed:
        made = np.frombuffer(self._rng.bytes(count * WIDE), np.uint8).reshape(count, WIDE).copy()
        made[:, :9] = 0
        return made


MANY: Final = 20_000
VECTOR: Final = MANY * WIDE


@pytest.fixture
def traced() -> Iterator[None]:
    """numpy tells tracemalloc of every array."""
    gc.collect()
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.parametrize(("in_files", "most"), [(False, 2.4), (True, 0.5)])
@pytest.mark.usefixtures("traced")
def test_laying_out_a_pass_and_its_root_hold_no_third_copy(
    in_files: bool, most: float, tmp_path: Path, rng: Randomness
) -> None:
    """Besides vectors there are blocks of a megabyte, and the words."""
    bench = Bench(MANY, 1, Wide(mpz(1)), Inline(rng), folder=tmp_path if in_files else None, long_from=0)
    frozen = bench.frozen_room(1)
    for where in chunks(MANY - 500, rows_of(WIDE)):
        frozen[where] = bench.zeros.zeros(where.stop - where.start)
    bench.complete(1, frozen, rng.uint64((500, 1)))
    bench.vectors[SHARES] = rng.uint64((MANY, 1))
    task = Pass(1, CIPHERTEXTS, (key(1),), SHARES, 1, key(5), "1/pass/1")
    bench.work(task)
    sent = sum(len(message) for message in shuffles.encode_vector(HEADER, in_rows(bench.vectors[task.out])))
    peak = tracemalloc.get_traced_memory()[1] / VECTOR
    assert sent > VECTOR
    assert peak < most, f"{peak:.2f} vectors of {VECTOR} bytes at the peak"


def test_a_pass_that_gathers_first_would_be_seen(traced: None, rng: Randomness) -> None:  # noqa: ARG001 - it runs
    """The control: a copy of the permuted vector is a third one."""

    class Gathering(Bench):
        def remask(self, ciphertexts: Packed | Moved, masks: U64, hop: int) -> Packed:
            return super().remask(np.asarray(ciphertexts), masks, hop)

    bench = Gathering(MANY, 1, Wide(mpz(1)), Inline(rng))
    bench.vectors[CIPHERTEXTS] = bench.zeros.zeros(MANY)
    bench.vectors[SHARES] = rng.uint64((MANY, 1))
    tracemalloc.reset_peak()
    bench.work(Pass(1, CIPHERTEXTS, (key(1),), SHARES, 1, key(5), "1/pass/1"))
    peak = tracemalloc.get_traced_memory()[1] / VECTOR
    assert peak > 2.9, f"{peak:.2f} vectors at the peak"


def arriving(rows: int) -> tuple[VectorHeader, list[bytes]]:
    """A hand-over from shuffler 1 to shuffler 2, in chunks of 64 KiB."""
    vector = np.zeros((rows, WIDE), np.uint8)
    vector[:, 0] = np.arange(rows)
    messages = list(shuffles.encode_vector(replace_attempt(HEADER), vector, chunk=1 << 16))
    return shuffles.decode_vector_header(messages[0]), messages[1:]


def replace_attempt(header: Header) -> Header:
    return replace(header, context=replace(HERE, attempt=2), step=Step(HANDED_OVER, Kind.HANDOVER))


HANDED_OVER: Final = next(over.round for _, over in DOCUMENT.schedule.passes if over.receiver == 2)
RUNNING: Final = DeliveryState(Phase.FREE, 2, 1)


def test_a_vector_that_arrives_is_written_as_it_comes_and_tried_again_after_a_full_disk(
    tmp_path: Path, rng: Randomness, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = 4000
    header, chunks = arriving(rows)

    async def test() -> None:
        bench = Bench(rows, 1, Wide(mpz(1)), Inline(rng), folder=tmp_path, long_from=0)
        arrivals = Inbox(bench, DOCUMENT.schedule, 2)
        written: list[int] = []
        honest = os.pwrite

        def pwrite(descriptor: int, data: Any, at: int) -> int:
            if len(written) == 10:
                written.append(-1)
                raise OSError(28, "No space left on device")
            written.append(len(data))
            return honest(descriptor, data, at)

        monkeypatch.setattr("shuffler.spill.os.pwrite", pwrite)

        async def sent() -> AsyncIterator[bytes]:
            for chunk in chunks:
                yield chunk

        with pytest.raises(Full):
            await arrivals.take(header, sent(), RUNNING)
        assert arrivals.progress == 0
        assert bench.vectors == {}
        handle = await arrivals.take(header, sent(), RUNNING)
        assert handle is not None
        assert max(written) <= 1 << 16, "nothing waits in memory for the rest"
        here: Any = bench.vectors[handle]
        assert isinstance(here, SpillFile)
        assert here[: rows + 5][:, 0].tolist() == [number % 256 for number in range(rows)]

    run(test())


def test_what_is_no_ciphertext_is_seen_in_a_file_too(tmp_path: Path, rng: Randomness) -> None:
    bench = Bench(MANY, 1, Wide(mpz(1)), Inline(rng), folder=tmp_path, long_from=0)
    rows = bench.room(MANY, WIDE)
    rows[MANY - 1 : MANY] = np.full((1, WIDE), 255, np.uint8)
    header = VectorHeader(HEADER, MANY, WIDE, bytes(32))
    with raises("shuffle.not_ciphertexts"):
        bench.take_in("1/from 1", header, rows)
    assert bench.vectors == {}


def test_short_vectors_and_shares_stay_in_memory(tmp_path: Path, rng: Randomness) -> None:
    short = Bench(100, 1, SMALL, Inline(rng), folder=tmp_path)
    assert isinstance(short.room(100, SMALL.ciphertext_bytes), np.ndarray)
    long = Bench(100, 1, SMALL, Inline(rng), folder=tmp_path, long_from=0)
    assert isinstance(long.frozen_room(2), np.ndarray)
    part = VectorHeader(replace(HEADER, step=Step(1, Kind.PIECE)), 100, 8, bytes(32))
    assert long.coming(part) is None


@pytest.mark.parametrize("words", [1, 3])
def test_moved_rows_are_cut_as_if_they_had_been_gathered(words: int, rng: Randomness) -> None:
    rows = np.frombuffer(rng.bytes(40 * 8 * words), np.uint8).reshape(40, -1)
    index = rng.permutation(40)
    gathered = rows[index].reshape(-1, 8)
    moved = Moved(rows, index, 8)
    assert len(moved) == len(gathered)
    for start in range(0, len(gathered), 7):
        assert np.array_equal(moved[start : start + 7], gathered[start : start + 7])
    assert np.array_equal(np.asarray(moved), gathered)


@pytest.mark.parametrize("length", [1, 5, 24, 100, 10**6])
def test_bytes_are_cut_the_same_whatever_the_rows(length: int, rng: Randomness) -> None:
    rows = np.frombuffer(rng.bytes(24 * 10), np.uint8).reshape(10, 24)
    pieces = [(at, bytes(piece)) for at, piece in cut_bytes(rows, length)]
    assert [at for at, _ in pieces] == list(range(0, 240, length))
    assert b"".join(piece for _, piece in pieces) == rows.tobytes()


def test_what_was_read_of_a_mapped_vector_does_not_stay_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "vector"
    path.write_bytes(bytes(8 << 20))
    vector = mapped(path, 1 << 13, 1 << 10)
    assert not vector.any()
    assert _resident(path) >= 4096, "kB"
    let_go(vector[3:].reshape(-1))
    assert _resident(path) == 0
    assert not vector.any()
    let_go(np.zeros(3, np.uint8))
    passing = OneWayReader(vector)
    assert not any(piece.tobytes().strip(b"\0") for _, piece in cut_bytes(passing, 1 << 20))
    assert _resident(path) == 0
    assert passing.shape == vector.shape


def _resident(path: Path) -> int:
    """kB of a mapped file that this process holds."""
    lines = iter(Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines())
    for line in lines:
        if line.endswith(str(path)):
            return next(int(found.split()[1]) for found in lines if found.startswith("Rss:"))
    return 0
