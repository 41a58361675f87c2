"""Powers of one fixed base: tables whose row j holds base^(i·2^(width·j)), so that a power is one product a row.

All powers lie in the group that the base generates. Where that is what hides something, the scheme says why it may be.
"""

from functools import lru_cache
from typing import Final

import gmpy2
import numpy as np
from gmpy2 import mpz

from peos.crypto.randomness import U64
from peos.crypto.schemes import windows

# At 3072 bits a table for words costs 4.6 ms, a power by exponentiation 0.146 ms and one from the table 0.016 ms, so
# that it pays from about 35 words. A user who sends one report has no use for it.
WORD_TABLE_PAYS_FROM: Final = 35
_BYTE: Final = 8


def table(base: mpz, width: int, rows: int, modulus: mpz) -> windows.Table:
    """`rows` rows of 2^width powers each, for exponents of width·rows bits."""
    found = []
    for _ in range(rows):
        row = windows.powers(base, width, modulus)
        found.append(row)
        base = row[-1] * base % modulus
    return found


@lru_cache(maxsize=2)
def word_table(base: mpz, modulus: mpz) -> windows.Table:
    """The table for exponents of 64 bits, a byte a row; under 1 MB at 3072 bits.

    It is kept for the process and not with a key: engines hand every chunk of a vector its own copy of the key.
    """
    return table(base, _BYTE, 8, modulus)


def word_powers(base: mpz, words: U64, modulus: mpz) -> list[mpz]:
    """base^w mod modulus for each word w."""
    if len(words) < WORD_TABLE_PAYS_FROM:
        return list(gmpy2.powmod_exp_list(base, words.tolist(), modulus))
    digits = np.ascontiguousarray(words, dtype="<u8").view(np.uint8).reshape(-1, 8)
    return windows.products(word_table(base, modulus), digits.T.tolist(), modulus)
