"""Window tables: a product of random powers of fixed bases, one look-up and one multiplication for each row.

Row j of a table holds y_j^i for all i in [0, 2^width). One digit drawn for each row gives Π_j y_j^{i_j}. What the
bases y_j must be for that product to hide anything is each scheme's own business.
"""

from typing import Any, Final

import numpy as np
from gmpy2 import mpz

from peos.crypto.randomness import Randomness

LEAST_ROWS: Final = 54
LEAST_BITS: Final = 640  # of exponent in all: protocol.md §5
Table = list[list[mpz]]


def rows_for(width: int) -> int:
    """How many rows a table of this width needs: 54 at least, and 640 bits at least."""
    return max(LEAST_ROWS, -(-LEAST_BITS // width))


def digits(rows: int, width: int, count: int, rng: Randomness) -> Any:
    """(rows, count) uniform digits below 2^width, width ≤ 16: the exponents of `count` products."""
    drawn = np.frombuffer(rng.bytes(2 * rows * count), dtype="<u2").reshape(rows, count)
    return drawn & np.uint16((1 << width) - 1)


def powers(base: mpz, width: int, modulus: mpz) -> list[mpz]:
    """base^i mod modulus for i in [0, 2^width)."""
    row = [mpz(1)]
    for _ in range((1 << width) - 1):
        row.append(row[-1] * base % modulus)
    return row


def products(table: Table, chosen: list[list[int]], modulus: mpz) -> list[mpz]:
    """Π_j table[j][chosen[j][k]] mod modulus for each k. Row by row, so that a row stays in the cache for all k."""
    first, *others = zip(table, chosen, strict=True)
    result = [first[0][digit] for digit in first[1]]
    for row, column in others:
        result = [u * row[digit] % modulus for u, digit in zip(result, column, strict=True)]
    return result


def sums(table: Table, chosen: list[list[int]]) -> list[mpz]:
    """Σ_j table[j][chosen[j][k]] for each k, not reduced."""
    first, *others = zip(table, chosen, strict=True)
    result = [first[0][digit] for digit in first[1]]
    for row, column in others:
        result = [u + row[digit] for u, digit in zip(result, column, strict=True)]
    return result
