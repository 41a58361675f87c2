"""Paillier keys without one of their defences, under which the attacks on ciphertexts must succeed.

They exist so that a failed attack means something. Production code has no such switch.
"""

import gmpy2
import numpy as np
from gmpy2 import mpz

from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes import packing
from peos.crypto.schemes.base import Packed, ZeroSource
from peos.crypto.schemes.moduli import random_unit
from peos.crypto.schemes.paillier import PaillierPublicKey
from peos.crypto.schemes.paillier_zeros import WindowZeros, tables_pay_from, window_width


class Ones(ZeroSource):
    """The encryption of zero without randomness, 1: multiplying by it re-randomises nothing."""

    def __init__(self, public: PaillierPublicKey) -> None:
        self._size = public.ciphertext_bytes

    def zeros(self, count: int) -> Packed:
        """`count` times 1."""
        return packing.pack([mpz(1)] * count, self._size)


class Unrandomised(PaillierPublicKey):
    """Passes mask and never re-randomise: the thesis' shuffle. Fresh encryptions are as they should be."""

    def remask(self, ciphertexts: Packed, masks: U64, zeros: Packed, *, hop: int, rng: Randomness) -> Packed:
        """c · (1+N)^δ, whatever zeros are given."""
        return super().remask(ciphertexts, masks, Ones(self).zeros(len(zeros)), hop=hop, rng=rng)


class Bare(PaillierPublicKey):
    """Encryption without randomness, (1+N)^m = 1 + mN: an encoding of the share that everybody can read."""

    def zero_source(self, rng: Randomness, *, expected: int = 1, statistical: bool = False) -> ZeroSource:  # noqa: ARG002  # the interface's
        """Ones."""
        return Ones(self)


class Unburied(PaillierPublicKey):
    """Adds masks as they are, with nothing above bit 64."""

    @staticmethod
    def _buried(masks: U64, hop: int, rng: Randomness) -> list[mpz]:  # noqa: ARG004  # the interface's
        return [mpz(mask) for mask in masks.tolist()]


class OneWidth(PaillierPublicKey):
    """Adds ρ of the first pass' 72 bits at every pass, in place of 64 bits more each time."""

    @staticmethod
    def _buried(masks: U64, hop: int, rng: Randomness) -> list[mpz]:  # noqa: ARG004  # the interface's
        return PaillierPublicKey._buried(masks, 1, rng)


class Forty(PaillierPublicKey):
    """Adds ρ of 40 bits at every pass, which conventional statistical hiding would call enough."""

    @staticmethod
    def _buried(masks: U64, hop: int, rng: Randomness) -> list[mpz]:  # noqa: ARG004  # the interface's
        rho = rng.uint64(len(masks)) >> np.uint64(24)
        return [mpz(mask) + (mpz(high) << 64) for mask, high in zip(masks.tolist(), rho.tolist(), strict=True)]


class _OneSquaredBaseZeros(WindowZeros):
    """The usual fixed-base tables: one base h = (x²)^N, squared up from row to row."""

    def _bases(self, count: int) -> list[mpz]:
        h = gmpy2.powmod(random_unit(self._n, self._rng) ** 2, self._n, self._square)
        return [gmpy2.powmod(h, mpz(1) << self.width * row, self._square) for row in range(count)]


class OneSquaredBase(PaillierPublicKey):
    """Re-randomises with powers of one square: Legendre symbols stay as they were."""

    def zero_source(self, rng: Randomness, *, expected: int = 1, statistical: bool = False) -> ZeroSource:  # noqa: ARG002  # the interface's
        """The usual tables, whatever the number."""
        bits = self.modulus.bit_length()
        return _OneSquaredBaseZeros(self.modulus, rng, width=window_width(max(expected, tables_pay_from(bits)), bits))
