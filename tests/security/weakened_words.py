"""DGK and Joye-Libert keys without one of their defences, under which the attacks on ciphertexts must succeed."""

from functools import cached_property
from typing import Any

import gmpy2
import numpy as np
from gmpy2 import mpz
from numpy.typing import NDArray

from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes import packing
from peos.crypto.schemes.base import Packed, ZeroSource
from peos.crypto.schemes.dgk import DGKPrivateKey, DGKPublicKey
from peos.crypto.schemes.joye_libert import JoyeLibertPrivateKey, JoyeLibertPublicKey
from peos.crypto.schemes.units import random_units
from peos.crypto.schemes.word_keys import WordPublicKey
from tests.security.words import SMALL, TWO_64


class Ones(ZeroSource):
    """The encryption of zero without randomness, 1."""

    def __init__(self, public: WordPublicKey) -> None:
        self._size = public.ciphertext_bytes

    def zeros(self, count: int) -> Packed:
        """`count` times 1."""
        return packing.pack([mpz(1)] * count, self._size)


class _Unrandomised(WordPublicKey):
    """Passes mask and never re-randomise: the thesis' shuffle."""

    def remask(self, ciphertexts: Packed, masks: U64, zeros: Packed, *, hop: int, rng: Randomness) -> Packed:
        """c·b^mask, whatever zeros are given."""
        return super().remask(ciphertexts, masks, Ones(self).zeros(len(zeros)), hop=hop, rng=rng)


class UnrandomisedDGK(_Unrandomised, DGKPublicKey):
    """DGK so."""


class UnrandomisedJoyeLibert(_Unrandomised, JoyeLibertPublicKey):
    """Joye-Libert so."""


class _ThirteenthPowers(ZeroSource):
    """x^(13·2^64): encryptions of zero that are thirteenth powers all."""

    def __init__(self, public: JoyeLibertPublicKey, rng: Randomness) -> None:
        self._public, self._rng = public, rng

    def zeros(self, count: int) -> Packed:
        """`count` of them."""
        n = self._public.modulus
        units = random_units(count, n, self._rng)
        return packing.pack(gmpy2.powmod_base_list(units, SMALL * TWO_64, n), self._public.ciphertext_bytes)


class OneCoset(JoyeLibertPublicKey):
    """Shufflers' zeros never leave the thirteenth powers, as with x drawn from too small a group."""

    def zero_source(self, rng: Randomness, *, expected: int = 1, statistical: bool = False) -> ZeroSource:  # noqa: ARG002  # the interface's
        """Such zeros."""
        return _ThirteenthPowers(self, rng)


class IntakeOnly(JoyeLibertPublicKey):
    """Looks at Jacobi symbols nowhere: what receivers after the intake would let in if only the intake looked."""

    def check(self, ciphertexts: Packed) -> NDArray[np.bool_]:
        """Range and common factors, as for Paillier."""
        n = self.modulus
        return np.array([0 < c < n and gmpy2.gcd(c, n) == 1 for c in packing.integers(ciphertexts)], dtype=np.bool_)


class IntakeOnlyPrivate(JoyeLibertPrivateKey):
    """The private key of an analyzer that does not look at delivery either."""

    @cached_property
    def public(self) -> IntakeOnly:
        """The public key without the check."""
        return IntakeOnly(self.p * self.q, self.y)


class Uncleared(DGKPrivateKey):
    """A key whose g has an element of order 13 mod p in it: a cofactor that was not cleared.

    Its public half passes every check that needs no secret, and sums decrypt as they should.
    """

    @classmethod
    def of(cls, key: DGKPrivateKey) -> "Uncleared":
        """That key with another g."""
        p, q, root = key.p, key.q, mpz(2)
        while (e := gmpy2.powmod(root, (p - 1) // SMALL, p)) == 1:
            root += 1
        in_n = e + p * ((1 - e) * gmpy2.invert(p, q) % q)
        return cls(p, q, key.v_p, key.v_q, key.g * in_n % (p * q), key.h)

    def decrypt(self, ciphertexts: Packed) -> U64:
        """As with the g that was cleared: ^13 and ^(1/13 mod 2^64) leave of g what its order should be."""
        n = self.p * self.q
        once = SMALL * gmpy2.invert(SMALL, TWO_64 * self.v_p * self.v_q)
        cleared: Any = DGKPrivateKey(self.p, self.q, self.v_p, self.v_q, gmpy2.powmod(self.g, once, n), self.h)
        words: U64 = cleared.decrypt(ciphertexts)
        return words
