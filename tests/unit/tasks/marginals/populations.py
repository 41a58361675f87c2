"""Users with binary attributes that depend on one factor, as arrays of records."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Cells = NDArray[np.int64]
Floats = NDArray[np.float64]


def one_factor(users: int, attributes: int, seed: int = 0, loading: float = 0.5) -> Cells:
    """(users, attributes) of 0 and 1: probit with one factor, the i-th is 1 with max(.6·.78^i, .04)."""
    rng = np.random.default_rng(seed)
    chances = np.maximum(0.6 * 0.78 ** np.arange(attributes), 0.04)
    factor, own = rng.standard_normal((users, 1)), rng.standard_normal((users, attributes))
    held: Cells = (loading * factor + math.sqrt(1 - loading**2) * own < ndtri(chances)).astype(np.int64)
    return held


def schema(attributes: int) -> dict[str, object]:
    """a0, a1, …: no or yes."""
    return {f"a{at}": ["no", "yes"] for at in range(attributes)}


def records(cells: Cells) -> NDArray[Any]:
    """As an array with a field for each attribute."""
    kinds = [(f"a{at}", np.int8) for at in range(cells.shape[1])]
    return np.array([tuple(row) for row in cells.tolist()], dtype=kinds)


def counted(cells: Cells, places: tuple[int, ...], sizes: tuple[int, ...] | None = None) -> Floats:
    """The true table of some attributes."""
    shape = tuple(2 if sizes is None else sizes[one] for one in places)
    where = np.ravel_multi_index([cells[:, one] for one in places], shape)
    return np.bincount(where, minlength=math.prod(shape)).reshape(shape) / len(cells)
