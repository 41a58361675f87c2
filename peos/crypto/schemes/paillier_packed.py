"""Several Paillier plaintexts by one exponentiation modulo p², and a check that no user can hurt another by it.

An honest plaintext is far shorter than p. So t ciphertexts are packed into one, with slots of B bits,

    C = Π_i c_i^(2^(Bi)) mod p²,    an encryption of  M = Σ_i m_i 2^(Bi),

by Horner's rule, (t − 1)B squarings; one half decryption gives M mod p, and its digits to the base 2^B are the
plaintexts, if all of them are below 2^B.

**The check.** A user may encrypt any integer below N: 2^B adds one to her neighbour's slot, p − 1 disturbs all. What
the slots say, m'_i < 2^B, is therefore compared with the plaintexts, over a batch of packs, in one random linear form:
with fresh s_i, uniform below 2^72 and drawn once the ciphertexts are fixed,

    Σ_i s_i m_i ≡ Σ_i s_i m'_i  (mod N),    the left side by a full decryption of Π_i c_i^{s_i}.

Let e_i = m_i − m'_i mod N. If all e_i are 0, it holds always. If some e_j is not, then e_j is not 0 modulo p or not 0
modulo q; say modulo p (an error that shares a factor with N is one that is 0 modulo one prime and so not modulo the
other). Whatever the other terms are, s_j e_j has to be one certain element of Z_p, where e_j is invertible, so at most
one value of s_j mod p will do, and since s_j < 2^72 < p at most one s_j: probability 2^-72 at most. Negative numbers
and sums that wrap are elements of Z_N like any other.

**The fall-back.** A batch that fails is halved. The error of the left half is worked out from the same s_i, that of the
right half is the difference, since the form is linear. A pack that is left over as wrong is decrypted in full, row by
row. The halvings of a batch form one fixed tree of fewer than 2^8 parts, and a wrong pack is believed only if some part
around it has the form 0 by chance: 2^8 · 2^-72 = 2^-64 a batch at most, and for n rows n / 256 batches as much: 2^-52
for a million. So each row has its exact plaintext, the same as by full decryption; and a pack is believed if and only
if its plaintexts are below 2^B, which does not depend on p: neither the answers nor the course of the work tell
anything about the key.

**What an attacker can still do** is cost time. One oversized row costs up to seven halvings and t full decryptions.
Where nearly every row is oversized (only the last holder can arrange that) halving stops after one check in eight rows
and the rest of the batch is decrypted row by row: correct, and 1.3 to 1.4 times as long as without packing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import gmpy2
from gmpy2 import mpz

from peos.chunks import chunks
from peos.crypto.randomness import Randomness
from peos.crypto.schemes.multi_powers import multi_power
from peos.crypto.schemes.paillier_halves import Halves

BATCH: Final = 256  # rows that share a check, so that its full decryption costs 25 µs a row
COEFFICIENT_BYTES: Final = 9
_COEFFICIENT_BITS: Final = 8 * COEFFICIENT_BYTES
_ROWS_A_CHECK: Final = 8  # halving stops at one check in so many rows: a check costs about two full decryptions
_LEAST: Final = 4  # rows for which packing saves anything


@dataclass(frozen=True, repr=False)
class _Batch:
    """What is known of some ciphertexts: c mod p², c mod q², what their slots said, and the s_i of the check."""

    by_p: Sequence[mpz]
    by_q: Sequence[mpz]
    said: Sequence[mpz]
    coefficients: Sequence[int]


class PackedDecryption:
    """Decrypts rows whose honest plaintexts have `slot_bits` bits at most; the others cost more and are right too."""

    def __init__(self, halves: Halves, slot_bits: int, rng: Randomness) -> None:
        self._halves = halves
        self._slot_bits = slot_bits
        self._rng = rng
        # 2^(tB) ≤ 2^(|p|−1) ≤ p: the sum of honest plaintexts never wraps.
        self.slots = (int(halves.by_p.prime.bit_length()) - 1) // slot_bits

    def __repr__(self) -> str:
        return f"PackedDecryption({self.slots} slots)"

    def plaintexts(self, ciphertexts: Sequence[mpz]) -> list[mpz]:
        """The whole plaintexts, in [0, N), of rows that are units."""
        plain: list[mpz] = []
        for batch in chunks(len(ciphertexts), BATCH):
            given = ciphertexts[batch]
            pays = self.slots > 1 and len(given) >= _LEAST
            plain += self._batch(given) if pays else self._halves.plaintexts(given)
        return plain

    def _batch(self, ciphertexts: Sequence[mpz]) -> list[mpz]:
        halves = self._halves
        by_p, by_q = halves.by_p.reduced(ciphertexts), halves.by_q.reduced(ciphertexts)
        said = self._unpacked(by_p)
        drawn = self._rng.bytes(COEFFICIENT_BYTES * len(said))
        steps = range(0, len(drawn), COEFFICIENT_BYTES)
        coefficients = [int.from_bytes(drawn[at : at + COEFFICIENT_BYTES], "little") for at in steps]
        for where in self._wrong(_Batch(by_p, by_q, said, coefficients)):
            said[where] = halves.joined(by_p[where], by_q[where])
        return said

    def _unpacked(self, by_p: list[mpz]) -> list[mpz]:
        """What the slots say. The digit above the last slot is dropped: the check alone decides what is believed."""
        half, slots, width = self._halves.by_p, self.slots, self._slot_bits
        square, shift, mask = half.square, mpz(1) << width, (mpz(1) << width) - 1
        columns = [by_p[slot::slots] for slot in range(slots)]
        packed = columns[-1] + [mpz(1)] * (len(columns[0]) - len(columns[-1]))  # 1 encrypts 0
        for column in reversed(columns[:-1]):
            packed = gmpy2.powmod_base_list(packed, shift, square)
            packed = [c * one % square for c, one in zip(packed, column, strict=False)] + packed[len(column) :]
        together = half.plaintexts(packed)
        digits = [whole >> width * slot & mask for whole in together for slot in range(slots)]
        return digits[: len(by_p)]

    def _wrong(self, batch: _Batch) -> list[slice]:
        """The rows not to believe, in whole packs."""
        count, slots = len(batch.said), self.slots
        found: list[slice] = []
        waiting = [(slice(0, count), self._error(batch, slice(0, count)))]
        checks = 1
        while waiting:
            where, error = waiting.pop()
            if error == 0:
                continue
            packs = -(-(where.stop - where.start) // slots)
            if packs == 1 or checks * _ROWS_A_CHECK > count:
                found.append(where)
                continue
            middle = where.start + packs // 2 * slots
            left, right = slice(where.start, middle), slice(middle, where.stop)
            of_left = self._error(batch, left)
            checks += 1
            waiting += [(left, of_left), (right, (error - of_left) % self._halves.modulus)]
        return found

    def _error(self, batch: _Batch, where: slice) -> mpz:
        """Σ s_i (m_i − m'_i) mod N over some rows: 0 if the slots said the plaintexts."""
        halves, coefficients = self._halves, batch.coefficients[where]
        by_p, by_q = (
            multi_power(given[where], coefficients, _COEFFICIENT_BITS, half.square)
            for half, given in ((halves.by_p, batch.by_p), (halves.by_q, batch.by_q))
        )
        (true,) = halves.joined([by_p], [by_q])
        said = sum(s * m for s, m in zip(coefficients, batch.said[where], strict=True))
        return (true - said) % halves.modulus
