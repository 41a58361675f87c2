"""What a pass multiplied its ciphertexts with, looked at from outside.

A holder that adds its masks and does not re-randomise leaves the output as right as it was, and every report linked to
its sender. The decryption key is not needed to see that of a row whose mask is known: with `before`, `after` and the
mask, the zero that was used is after / (before · E(mask)), E without randomness. All of it is looked at modulo N, where
Paillier's (1 + N)^m vanishes, so that the part of a mask that is not known there does not matter.
"""

from typing import Final

import gmpy2
import numpy as np

from peos.crypto.randomness import U64
from peos.crypto.schemes import packing
from peos.crypto.schemes.base import Packed, PublicKey

_UNIT: Final = 1


def zeros_used(public: PublicKey, before: Packed, after: Packed, masks: U64) -> list[int]:
    """The zero behind each row, modulo N; rows that passed `check`."""
    modulus, size = public.modulus, public.ciphertext_bytes
    plain = public.encrypt(np.ascontiguousarray(masks), packing.pack([_UNIT] * len(masks), size))
    return [
        int(new * gmpy2.invert(old * added % modulus, modulus) % modulus)
        for old, added, new in zip(
            packing.integers(before), packing.integers(plain), packing.integers(after), strict=True
        )
    ]


def is_fresh(public: PublicKey, before: Packed, after: Packed, masks: U64) -> bool:
    """Whether each row got a zero of its own: none is the unit, and no two are the same.

    It catches who leaves the work out or does it once for all rows. Zeros that a holder tells the analyzer look fresh:
    that holders and the analyzer do not work together is an assumption, not a check (protocol.md §1).
    """
    used = zeros_used(public, before, after, masks)
    return _UNIT not in used and len(set(used)) == len(used)
