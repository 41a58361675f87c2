"""Texts as strings of bits: cut to a length or filled up with zero bytes, and looked at by prefix.

The first s bits of a text are the *parent* of the bits that follow: as a number while they are few, else as the first
eight bytes of their SHA-256, with their number, which is what hash functions of keys take.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.crypto.randomness import U64
from peos.errors import WrongInput
from peos.ldp.grouped_hash import Candidates

MOST_BYTES: Final = 64
WORD: Final = 64  # bits
Bytes = NDArray[np.uint8]
Records = Sequence[object] | NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Texts:
    """(records, bytes): each record, if it `fits` what is asked."""

    rows: Bytes
    fits: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def of(cls, records: Records, bits: int) -> "Texts":
        """Of texts, or of an array of whole numbers, which are strings of so many bits."""
        width = (bits + 7) // 8
        if isinstance(records, np.ndarray) and records.dtype.kind in "iu":
            return cls._of_numbers(records, bits)
        rows, fits = np.zeros((len(records), width), np.uint8), np.ones(len(records), np.bool_)
        for number, record in enumerate(records):
            if isinstance(record, str):
                given = record.encode()[:width]
                rows[number, : len(given)] = np.frombuffer(given, np.uint8)
            else:
                fits[number] = False
        return cls(rows, fits)

    @classmethod
    def _of_numbers(cls, records: NDArray[np.integer], bits: int) -> "Texts":
        if bits > WORD:
            raise WrongInput("task.numbers", f"an array of numbers holds strings of at most {WORD} bits, not of {bits}")
        numbers = records.astype(np.uint64) << np.uint64(-bits % 8)
        fits = (records >= 0) & ((records.astype(np.uint64) >> np.uint64(bits % WORD) == 0) | (bits == WORD))
        width = (bits + 7) // 8
        return cls(numbers[:, np.newaxis].astype(">u8").view(np.uint8)[:, 8 - width :], np.asarray(fits))

    def labels(self, bits: int) -> list[str]:
        """What each record that fits is called in an answer."""
        found, counts = np.unique(self.rows[self.fits], axis=0, return_counts=True)
        named = [Prefix(int.from_bytes(row.tobytes(), "big") >> (-bits % 8), bits).label for row in found]
        return [label for label, count in zip(named, counts.tolist(), strict=True) for _ in range(count)]

    def parents(self, bits: int) -> U64:
        """What hash functions take of the first `bits` bits."""
        if bits <= WORD:
            return self._window(0, bits)
        heads = self.rows[:, : (bits + 7) // 8].copy()
        if bits % 8:
            heads[:, -1] &= np.uint8(0x100 - (1 << (8 - bits % 8)))
        found, place = np.unique(heads, axis=0, return_inverse=True)
        return np.array([_hashed(row.tobytes(), bits) for row in found], np.uint64)[place.reshape(-1)]

    def exts(self, first: int, last: int) -> U64:
        """The bits from `first` to before `last` as a number."""
        return self._window(first, last)

    def _window(self, first: int, last: int) -> U64:
        """At most 64 bits, from the nine bytes at most in which they are."""
        number = np.zeros(len(self.rows), np.uint64)
        if last == first:
            return number
        start, stop = first // 8, (last + 7) // 8
        for place in range(start, stop):
            byte = self.rows[:, place].astype(np.uint64)
            if place == start:
                byte &= np.uint64((1 << (8 - first % 8)) - 1)
            spare = stop * 8 - last if place == stop - 1 else 0
            number = (number << np.uint64(8 - spare)) | (byte >> np.uint64(spare))
        return number


@dataclass(frozen=True)
class Prefix:
    """The first `bits` bits of some text, as a number."""

    value: int
    bits: int

    @property
    def parent(self) -> int:
        """As hash functions take it."""
        return self.value if self.bits <= WORD else _hashed(self._bytes, self.bits)

    def then(self, ext: int, bits: int) -> "Prefix":
        """The longer prefix."""
        return Prefix(self.value << bits | ext, self.bits + bits)

    @property
    def label(self) -> str:
        """As a text without the zero bytes that filled it up; in hexadecimal digits if it is none."""
        try:
            text = self._bytes.rstrip(b"\0").decode()
        except UnicodeDecodeError:
            return self._bytes.hex()
        return text if text.isprintable() and self.bits % 8 == 0 else self._bytes.hex()

    @property
    def _bytes(self) -> bytes:
        return (self.value << (-self.bits % 8)).to_bytes((self.bits + 7) // 8, "big")


def split(texts: Sequence[Prefix], bits: int) -> Candidates:
    """Whole texts as keys of the view that asks for their last `bits` bits."""
    parents = [Prefix(text.value >> bits, text.bits - bits).parent for text in texts]
    exts = [text.value & (2**bits - 1) for text in texts]
    return Candidates(np.array(parents, np.uint64), np.array(exts, np.uint64), paired=True)


def _hashed(head: bytes, bits: int) -> int:
    return int.from_bytes(hashlib.sha256(bits.to_bytes(2, "big") + head).digest()[:8], "little")
