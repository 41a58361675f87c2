"""RAPPOR's second noise, drawn anew for each report of the same answer: for the local model alone.

A client of ours answers a question once, so its collections need none of it. Here it is as the literature has it: a
bit of the permanent answer that is 1 is reported as 1 with probability p, and one that is 0 with probability q.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.crypto.randomness import U64, Randomness, given
from peos.errors import WrongInput
from peos.estimate.bits import BitFrequencies, fit
from peos.ldp.base import Counts
from peos.ldp.rappor import RAPPOR

_WHOLE: Final = 2**64


class InstantaneousNoise:
    """Reports of permanent answers, which `permanent` makes, and what may be concluded from many."""

    def __init__(self, permanent: RAPPOR, p: float, q: float) -> None:
        if not 0.0 <= q < p <= 1.0:
            raise WrongInput(
                "mechanism.share",
                f"a bit that is 1 is sent as 1 with a higher probability than one that is 0, not with {p} and {q}",
            )
        self.permanent, self.p, self.q = permanent, p, q

    @property
    def oracle(self) -> tuple[float, float]:
        """p* = (1 − f/2)p + (f/2)q and q* = (f/2)p + (1 − f/2)q, f/2 being what the permanent answer flips."""
        flipped = float(self.permanent.flipped)
        return (1 - flipped) * self.p + flipped * self.q, flipped * self.p + (1 - flipped) * self.q

    @property
    def epsilon(self) -> float:
        """Of one report, m·ln(p*(1 − q*)/(q*(1 − p*))); of all of them together it is the permanent answer's."""
        p, q = self.oracle
        return min(self.permanent.hashes * math.log(p * (1 - q) / (q * (1 - p))), self.permanent.epsilon_local)

    def report(self, words: U64, rng: Randomness | None = None) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """(n, k) bits and (n,) cohorts of one round of reports of these permanent answers."""
        rng = given(rng)
        bits = self.permanent.decode(words)
        ones, zeros = (min(int(chance * _WHOLE), _WHOLE - 1) for chance in (self.p, self.q))
        coins = rng.uint64(bits.shape)
        return np.where(bits, coins < np.uint64(ones), coins < np.uint64(zeros)), self.permanent.cohorts_of(words)

    def tally(self, bits: NDArray[np.bool_], cohorts: NDArray[np.int64]) -> Counts:
        """(cohorts, k + 1): as RAPPOR's."""
        counts = np.zeros((self.permanent.cohorts, self.permanent.bits + 1), dtype=np.int64)
        np.add.at(counts, cohorts, np.concatenate((bits, np.ones((len(bits), 1), dtype=bool)), axis=1))
        return counts

    def estimate(self, tally: Counts, users: int) -> BitFrequencies:
        """Every bit's frequency, unbiased, and those of the values that explain them."""
        return fit(self.permanent.design, tally, *self.oracle, users=users, fakes=0, together=self.permanent.hashes)
