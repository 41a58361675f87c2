"""Local hashing by the names under which it was published: members of it, whose d' follows from ε_l alone."""

import math

import numpy as np
from numpy.typing import NDArray

from peos.ldp.base import UNASKED, Question
from peos.ldp.local_hash import MAX_CELLS, LocalHash
from peos.ldp.members import Floats, Grid, Members
from peos.ldp.mixture import checked_epsilon


class OLH(LocalHash):
    """Optimised local hashing (Wang et al. 2017): d' next to e^ε + 1. What it makes are members of local hashing."""

    short = "optimised local hashing"
    size_name = ""
    no_theorem = "its number of hash values follows from epsilon, where the theorem would choose both"

    def __init__(self, domain: int, epsilon: float, *, question: Question = UNASKED) -> None:
        super().__init__(domain, epsilon, d_prime=self._cells_at(checked_epsilon(epsilon)), question=question)

    @classmethod
    def _cells_at(cls, epsilon: float) -> int:
        return min(round(math.exp(min(epsilon, math.log(MAX_CELLS)))) + 1, MAX_CELLS)

    @classmethod
    def build(cls, domain: int, epsilon: float, size: int = 0) -> "LocalHash":  # noqa: ARG003 - ε_l decides it
        """With the d' of its ε_l."""
        return cls(domain, epsilon)

    @classmethod
    def is_proposed(cls, *, shuffled: bool) -> bool:  # noqa: ARG003 - see below
        """Never: local hashing has its members to offer, and others."""
        return False

    @classmethod
    def sizes_to_try(cls, domain: int, limit: float) -> NDArray[np.int64]:  # noqa: ARG003 - see `build`
        """None to choose from."""
        return np.zeros(1, dtype=np.int64)

    @classmethod
    def grid(cls, domain: int, sizes: NDArray[np.int64], local: Floats) -> Grid:  # noqa: ARG003 - see `build`
        """Local hashing's, at the d' of each ε_l."""
        cells = np.array([cls._cells_at(float(epsilon)) for epsilon in local.reshape(-1)])
        found = super().grid(domain, cells, local)
        match, collision, least = (
            one.reshape(local.shape) for one in (found.match, found.collision, found.least_collision)
        )
        return Grid(match, collision, least)

    @classmethod
    def theorem_members(cls, domain: int, size: int = 0) -> Members | None:  # noqa: ARG003 - see `no_theorem`
        """None."""
        return None


class BLH(OLH):
    """Binary local hashing (Bassily and Smith 2015, as Wang et al. 2017 has it): two hash values."""

    short = "binary local hashing"

    @classmethod
    def _cells_at(cls, epsilon: float) -> int:  # noqa: ARG003 - the same for all
        return 2

    @classmethod
    def theorem_members(cls, domain: int, size: int = 0) -> Members | None:  # noqa: ARG003 - it has one
        """Local hashing's with two cells."""
        return LocalHash.theorem_members(domain, 2)
