"""What an engine does: decrypt, remask and encrypt whole vectors, and peel onions, cut into chunks.

A result does not depend on the engine where the operation has only one (decrypt, peel); where randomness enters, each
worker draws its own from the operating system and keeps its own supply of zeros, so no two workers share a stream.
Counts of searches are pieces that are added up.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import TracebackType
from typing import Any, Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from peos.compute.zeros import ReadyZeros, WorkerZeros, ZeroTaker
from peos.crypto.onion import Layer, under_bytes
from peos.crypto.randomness import U64
from peos.crypto.schemes.base import Packed, PrivateKey, PublicKey
from peos.errors import LocalFault

Places = NDArray[np.bool_]
Progress = Callable[[int, int], None]
"""Called with (done, total) rows, in the calling thread, after each chunk."""


class Cut(Protocol):
    """Rows that are made when they are cut."""

    def __getitem__(self, where: slice, /) -> Packed: ...


LONGEST_CHUNK: Final = 256  # rows: about a second of decryption, and under 200 kB to hand over
_CHUNKS_A_WORKER: Final = 4  # at least, so that no worker is left with nothing to do near the end


@dataclass(frozen=True, repr=False)
class Decrypt:
    """Plaintexts mod 2^64 of a chunk that came through so many passes."""

    private: PrivateKey
    passes: int

    def work(self, supply: WorkerZeros, rows: Packed) -> U64:
        """The words behind the rows; what is drawn checks the work and does not enter its result."""
        return self.private.decrypt_shuffled(np.ascontiguousarray(rows), passes=self.passes, rng=supply.rng)


@dataclass(frozen=True)
class Encrypt:
    """Ciphertexts of a chunk of words; `expected` is how many zeros one worker will have to make for this job."""

    public: PublicKey
    expected: int
    statistical: bool

    def work(self, supply: WorkerZeros, words: U64, ready: Packed) -> Packed:
        """The words encrypted, each with a zero of its own."""
        return self.public.encrypt(np.ascontiguousarray(words), _completed(self, supply, len(words), ready))


@dataclass(frozen=True)
class Remask:
    """Pass `hop` over a chunk of ciphertexts."""

    public: PublicKey
    hop: int
    expected: int
    statistical: bool

    def work(self, supply: WorkerZeros, rows: Packed, masks: U64, ready: Packed) -> Packed:
        """The rows with masks added and re-randomised, each with a zero of its own."""
        zeros = _completed(self, supply, len(masks), ready)
        given, added = np.ascontiguousarray(rows), np.ascontiguousarray(masks)
        return self.public.remask(given, added, zeros, hop=self.hop, rng=supply.rng)


@dataclass(frozen=True)
class Zeros:
    """Encryptions of zero, for later."""

    public: PublicKey
    expected: int
    statistical: bool

    def work(self, supply: WorkerZeros, places: Places) -> Packed:
        """A zero for each place."""
        return _completed(self, supply, len(places), np.empty((0, self.public.ciphertext_bytes), np.uint8))


@dataclass(frozen=True, repr=False)
class Peel:
    """A layer of a chunk of onions."""

    layer: Layer

    def work(self, _: WorkerZeros, onions: Packed) -> Packed:
        """See `Layer.under`."""
        return self.layer.under(onions)


@dataclass(frozen=True)
class Sum:
    """What a function makes of one piece of some arrays; `seconds` is about what all pieces take."""

    function: Callable[..., Any]  # that a worker process can load by its name
    seconds: float

    def work(self, _: WorkerZeros, *pieces: Sequence[Any]) -> Any:
        """(1, …): of one piece alone, after which a stop is heard."""
        ((*arrays,),) = zip(*pieces, strict=True)
        return self.function(*arrays)[np.newaxis]


class _Total:
    """Takes each piece's part in as it comes, and keeps their sum alone."""

    def __init__(self, pieces: int, size: int) -> None:
        self.sum, self.shape, self.dtype = np.zeros(size, np.int64), (pieces, size), np.dtype(np.int64)

    def __len__(self) -> int:
        return self.shape[0]

    def __setitem__(self, _: slice, came: NDArray[np.int64]) -> None:
        self.sum += came[0]


Job = Decrypt | Encrypt | Remask | Zeros | Peel | Sum


def _completed(job: Encrypt | Remask | Zeros, supply: WorkerZeros, count: int, ready: Packed) -> Packed:
    """The ready zeros and as many fresh ones as they fall short of `count`."""
    if len(ready) == count:
        return ready
    missing = count - len(ready)
    made = supply.zeros(job.public, missing, expected=max(missing, job.expected), statistical=job.statistical)
    return np.concatenate((ready, made))


class Engine(ABC):
    """Works vectors. Safe to call from several threads; a context manager that ends what it started."""

    workers: int = 1

    def decrypt(self, private: PrivateKey, rows: Packed, progress: Progress | None = None, *, passes: int = 0) -> U64:
        """The plaintexts mod 2^64 of rows that passed the key's `check`; `passes` as in `decrypt_shuffled`."""
        out = np.empty(len(rows), dtype=np.uint64)
        self._run(Decrypt(private, passes), (rows,), out, progress)
        return out

    def peel(self, layer: Layer, onions: Packed, progress: Progress | None = None) -> Packed:
        """See `Layer.under`."""
        out = np.empty((len(onions), under_bytes(onions)), dtype=np.uint8)
        self._run(Peel(layer), (onions,), out, progress)
        return out

    def encrypt(
        self,
        public: PublicKey,
        words: U64,
        *,
        statistical: bool = False,
        ready: ReadyZeros | None = None,
        progress: Progress | None = None,
        out: Packed | None = None,
    ) -> Packed:
        """Ciphertexts of the words, with ready zeros as far as there are any; `out` as in `remask`."""
        out = np.empty((len(words), public.ciphertext_bytes), dtype=np.uint8) if out is None else out
        taking = ZeroTaker(ready, public)
        job = Encrypt(public, self._share(taking.missing(len(words))), statistical)
        self._run(job, (words, taking), out, progress)
        return out

    def remask(
        self,
        public: PublicKey,
        rows: Packed | Cut,
        masks: U64,
        hop: int,
        *,
        statistical: bool = False,
        ready: ReadyZeros | None = None,
        progress: Progress | None = None,
        out: Packed | None = None,
    ) -> Packed:
        """Ciphertexts of plaintext + mask, unlinkable to `rows`; `hop` counts the passes from 1 (protocol.md §5).

        With ready zeros as far as there are any. They must have been made with the same `statistical`. `rows` is cut
        by slices, and may make what they hold when it is cut; `out` takes the results by slices, and is returned.
        """
        out = np.empty((len(masks), public.ciphertext_bytes), dtype=np.uint8) if out is None else out
        taking = ZeroTaker(ready, public)
        job = Remask(public, hop, self._share(taking.missing(len(masks))), statistical)
        self._run(job, (rows, masks, taking), out, progress)
        return out

    def zeros(self, public: PublicKey, count: int, *, expected: int, statistical: bool = False) -> Packed:
        """`count` encryptions of zero; `expected` is how many will be asked for in all."""
        out = np.empty((count, public.ciphertext_bytes), dtype=np.uint8)
        job = Zeros(public, self._share(max(expected, count)), statistical)
        self._run(job, (np.zeros(count, np.bool_),), out, None)
        return out

    def summed(
        self,
        function: Callable[..., Any],
        arrays: Sequence[NDArray[Any]],
        size: int,
        *,
        pieces: int,
        seconds: float,
        progress: Progress | None = None,
    ) -> NDArray[np.int64]:
        """(size,): what `function` makes of `pieces` pieces of the arrays, added up; `seconds` is about what it takes.

        `progress` is of pieces, and a call is given up after the piece that it is at.
        """
        total, rows = _Total(pieces, size), len(arrays[0])
        ends = [rows * piece // pieces for piece in range(pieces + 1)]
        cuts = tuple([array[first:end] for first, end in pairwise(ends)] for array in arrays)
        self._run(Sum(function, seconds), cuts, total, progress)
        return total.sum

    def _share(self, zeros: int) -> int:
        """What one worker makes of so many."""
        return -(-zeros // self.workers)

    @abstractmethod
    def close(self) -> None:
        """End the workers; a call that is under way in another thread is given up with LocalFault."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def _run(self, job: Job, inputs: tuple[Any, ...], out: Any, progress: Progress | None) -> None:
        """Fill `out` with the job's results on the inputs, chunk by chunk."""


def chunk_length(job: Job, count: int, workers: int) -> int:
    """Rows of a chunk: few enough that all workers finish `count` of them at about the same time."""
    if isinstance(job, Sum):
        return 1
    return max(1, min(LONGEST_CHUNK, -(-count // (_CHUNKS_A_WORKER * workers))))


def cut(inputs: Sequence[Any], where: slice) -> tuple[Any, ...]:
    """One chunk of every input."""
    return tuple(given[where] for given in inputs)


def given_up() -> LocalFault:
    """What a caller gets whose work was ended by `close`: nothing is wrong with the work, it can be done again."""
    return LocalFault(
        "compute.stopped",
        "the work was cancelled: this process is stopping",
        hint="it resumes at the next start",
    )
