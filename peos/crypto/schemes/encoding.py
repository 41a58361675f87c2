"""How the keys of all schemes are laid out: u8 version ‖ u16 bits of the modulus ‖ integers of fixed widths.

Everything is big-endian, and each width follows from `bits`, so that a key has exactly one encoding.
"""

import struct
from typing import Any, Final

from gmpy2 import mpz

from peos.errors import BadEncoding, WrongInput

LEAST_BITS: Final = 256  # a policy's floor is far above; below this the arithmetic of the schemes has no room
MOST_BITS: Final = 16384  # a longer key only serves to keep its readers busy


def length_fault(bits: int) -> str:
    """What is wrong with a modulus of this length, or nothing."""
    if bits % 64:
        return f"a modulus of {bits} bits is not a whole number of 64-bit words"
    if not LEAST_BITS <= bits <= MOST_BITS:
        return f"a modulus has between {LEAST_BITS} and {MOST_BITS} bits, not {bits}"
    return ""


def require_length(bits: int) -> None:
    """WrongInput unless a key of `bits` bits can be made."""
    if fault := length_fault(bits):
        raise WrongInput("input.key_bits", fault)


def encode_key(version: int, bits: int, *fields: tuple[Any, int]) -> bytes:
    """A key of pairs (integer, width in bytes)."""
    return struct.pack(">BH", version, bits) + b"".join(value.to_bytes(width, "big") for value, width in fields)


class KeyReader:
    """Reads what `encode_key` wrote, and refuses everything else. `what` names the key in its errors."""

    def __init__(self, data: bytes, what: str) -> None:
        self._data = data
        self._what = what
        self._at = 0

    def __repr__(self) -> str:
        return f"KeyReader({self._what})"

    def header(self, version: int, floor: int) -> int:
        """The length of the modulus, once version, length and floor are right."""
        found = self._take(1)[0]
        if found != version:
            raise BadEncoding("key.version", f"the {self._what} has version {found}, where only {version} is known")
        bits = int.from_bytes(self._take(2), "big")
        if fault := length_fault(bits):
            raise BadEncoding("key.unfit", fault)
        if bits < floor:
            raise BadEncoding("key.too_short", f"the modulus has {bits} bits, under the floor of {floor}")
        return bits

    def integer(self, width: int) -> mpz:
        """The next `width` bytes."""
        return mpz.from_bytes(self._take(width), "big")

    def end(self) -> None:
        """Nothing may follow."""
        left = len(self._data) - self._at
        if left:
            raise BadEncoding("key.leftover", f"bytes are left over after the {self._what}: {left}")

    def _take(self, count: int) -> bytes:
        part = self._data[self._at : self._at + count]
        if len(part) < count:
            raise BadEncoding("key.truncated", f"the {self._what} ends too early, after {len(self._data)} bytes")
        self._at += count
        return part
