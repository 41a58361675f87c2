"""Local-model mechanisms: what a user's device does to her value, and what may be concluded from many reports.

    m = LocalHash(domain=915, epsilon=4.5, d_prime=45)
    words = m.randomize(values, rng)
    m.estimate(m.support_counts(words), users=len(words)).frequency

SOLH is LocalHash with the d' that is best in the shuffled model; the planner knows it.
"""

from collections.abc import Mapping
from typing import Final

from peos.errors import WrongInput
from peos.ldp.base import MAX_ENUMERABLE, UNASKED, Mechanism, Question
from peos.ldp.grr import GRR
from peos.ldp.local_hash import LocalHash
from peos.ldp.mixture import MAX_EPSILON
from peos.ldp.sue import SUE

__all__ = [
    "GRR",
    "MAX_ENUMERABLE",
    "MAX_EPSILON",
    "SUE",
    "LocalHash",
    "Mechanism",
    "Question",
    "from_parameters",
]

_BY_NAME: Final[Mapping[str, type[Mechanism]]] = {kind.name: kind for kind in (GRR, LocalHash, SUE)}


def from_parameters(name: str, domain: int, parameters: Mapping[str, int], question: Question = UNASKED) -> Mechanism:
    """The mechanism that a collection document describes; WrongInput if any part of the description is out of range.

    The inverse of (`name`, `domain`, `parameters`, `question`) of a mechanism: digest and ε_l come back the same.
    """
    kind = _BY_NAME.get(name)
    if kind is None:
        raise WrongInput("mechanism.name", f"a mechanism is one of {', '.join(_BY_NAME)}")
    return kind.from_parameters(domain, parameters, question)
