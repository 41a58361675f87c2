"""Random words from AES-256 in counter mode, straight into uint64 vectors.

A stream is determined by its 32-byte key, so the same class serves secret randomness (keyed by the operating
system, `system()`) and the protocol's shared streams (keyed by HKDF, `peos.crypto.kdf`). The zero IV is safe because
a key never serves two streams: every key is either fresh or derived under its own label.
"""

import os
from collections.abc import Sequence
from typing import Final, NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from peos.chunks import chunks
from peos.errors import LocalFault, WrongInput

U64 = NDArray[np.uint64]
KEY_BYTES: Final = 32
_CHUNK: Final = 1 << 20
_ZEROS: Final = bytes(_CHUNK)  # encrypting zeros yields the key stream
_forks = 0  # grows in every forked child, whose copy of a stream would repeat its parent's


def _forked() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_forked)


class Randomness:
    """A cryptographic stream of random words; two objects with the same key yield the same words."""

    __slots__ = ("_encryptor", "_forks", "_keyed_by_system")

    def __init__(self, key: bytes, *, _keyed_by_system: bool = False) -> None:
        if len(key) != KEY_BYTES:
            raise LocalFault("random.key_length", f"a random stream is keyed by {KEY_BYTES} bytes, not {len(key)}")
        self._encryptor = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
        self._keyed_by_system = _keyed_by_system
        self._forks = _forks

    def __repr__(self) -> str:
        return "Randomness(...)"

    def __reduce__(self) -> NoReturn:
        raise LocalFault("random.copied", "a random stream is not copied: two copies would yield the same words")

    def fill(self, out: NDArray[np.uint8]) -> None:
        """Overwrite a contiguous byte vector with the next words of the stream."""
        if self._keyed_by_system and self._forks != _forks:
            raise LocalFault(
                "random.forked", "a random stream does not survive a fork", hint="spawn worker processes instead"
            )
        view = out.data
        for chunk in chunks(len(view), _CHUNK):
            part = view[chunk]
            self._encryptor.update_into(_ZEROS[: len(part)] if len(part) < _CHUNK else _ZEROS, part)

    def bytes(self, count: int) -> bytes:
        """The next `count` bytes."""
        out = np.empty(count, dtype=np.uint8)
        self.fill(out)
        return out.tobytes()

    def uint64(self, shape: int | Sequence[int]) -> U64:
        """Uniform 64-bit words (little-endian in the stream, whatever the machine)."""
        out = np.empty(shape, dtype="<u8")
        self.fill(out.reshape(-1).view(np.uint8))
        return out.astype(np.uint64, copy=False)

    def below(self, bounds: U64) -> U64:
        """Uniform words below each of `bounds` (all at least 1), exactly: by rejection, never by a biased remainder."""
        bounds = np.asarray(bounds, dtype=np.uint64)
        if bounds.size and int(bounds.min()) < 1:
            raise LocalFault("random.range", "a uniform word below zero was asked for")
        out = np.empty_like(bounds)
        waiting = np.arange(bounds.size)
        flat_bounds, flat_out = bounds.reshape(-1), out.reshape(-1)
        while waiting.size:
            limit = flat_bounds[waiting]
            draw = self.uint64(waiting.size)
            # The highest 2^64 mod bound words would make small remainders likelier: they are drawn again.
            surplus = (np.uint64(0) - limit) % limit
            kept = draw <= ~surplus
            flat_out[waiting[kept]] = draw[kept] % limit[kept]
            waiting = waiting[~kept]
        return out

    def bits(self, count: int) -> int:
        """A uniform integer of at most `count` bits."""
        whole = (count + 7) // 8
        return int.from_bytes(self.bytes(whole), "little") >> (8 * whole - count)

    def integer_below(self, bound: int) -> int:
        """A uniform integer in [0, bound), of any size."""
        if bound < 1:
            raise LocalFault("random.range", "a uniform integer below zero was asked for")
        width = (bound - 1).bit_length()
        while True:
            draw = self.bits(width) if width else 0
            if draw < bound:
                return draw

    def permutation(self, count: int) -> NDArray[np.intp]:
        """A uniform permutation: the order of 64-bit keys, drawn again if two keys are equal."""
        while True:
            keys = self.uint64(count)
            order = np.argsort(keys)
            ranked = keys[order]
            if not np.any(ranked[1:] == ranked[:-1]):
                return order


def system() -> Randomness:
    """A fresh secret stream, keyed by the operating system: the project's only source of entropy."""
    return Randomness(os.urandom(KEY_BYTES), _keyed_by_system=True)


def given(rng: Randomness | None) -> Randomness:
    """The stream that a caller gives, or a fresh one; a number or another library's generator is none."""
    if rng is None:
        return system()
    if not isinstance(rng, Randomness):
        raise WrongInput(
            "input.randomness",
            f"rng is a peos.crypto.randomness.Randomness, not {type(rng).__name__}",
            hint="leave it out; Randomness(32 bytes) gives the same draws again, for tests alone",
        )
    return rng
