"""Which combinations of a matrix's rows vanish, over the integers and so over every ring, Z_{2^64} among them.

Gauss' elimination with pivots ±1 only: each step is invertible over the integers. It stops with an error where no
such pivot is left, rather than divide; a mask that enters with an even coefficient would leave a bit uncovered in
Z_{2^64}, and over a prime field it would go unnoticed.
"""

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


class NotUnimodularError(ArithmeticError):
    """No pivot of ±1 is left: whether the rows depend on one another differs from ring to ring."""


def vanishing(matrix: Integers) -> Integers:
    """A basis of all integer combinations of the rows that are zero: N with N · matrix = 0.

    The rows of N extend to a basis of Z^m, so the columns of `matrix` span exactly what N maps to zero.
    """
    rows, columns = matrix.shape
    work = np.concatenate((matrix, np.eye(rows, dtype=np.int64)), axis=1)
    kept = []
    for row in range(rows):
        filled = np.flatnonzero(work[row, :columns])
        if not filled.size:
            kept.append(row)
            continue
        units = filled[np.abs(work[row, filled]) == 1]
        if not units.size:
            raise NotUnimodularError(f"row {row} has no entry of ±1 left")
        pivot = units[0]
        below = row + 1 + np.flatnonzero(work[row + 1 :, pivot])
        factors = work[below, pivot] * work[row, pivot]
        work[below] -= factors[:, None] * work[row]
    assert np.abs(work).max(initial=0) < 2**31, "far from overflow: every number above is exact"
    found: Integers = work[kept, columns:]
    assert not np.any(found @ matrix), "what vanished vanishes"
    return found
