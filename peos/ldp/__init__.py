"""Local-model mechanisms: what a user's device does to her value, and what may be concluded from many reports.

    m = LocalHash(domain=915, epsilon=4.5, d_prime=45)
    words = m.randomize(values, rng)
    m.estimate(m.support_counts(words), users=len(words)).frequency

SOLH is LocalHash with the d' that is best in the shuffled model; the planner knows it.
"""

from collections.abc import Mapping

from peos.errors import WrongInput
from peos.ldp.base import MAX_ENUMERABLE, UNASKED, Mechanism, PureMechanism, Question, require_collectable
from peos.ldp.choice import choose, choose_sampled, choose_thesis
from peos.ldp.grr import GRR
from peos.ldp.hadamard import HadamardResponse
from peos.ldp.local_hash import LocalHash
from peos.ldp.mixture import MAX_EPSILON
from peos.ldp.olh import BLH, OLH
from peos.ldp.rappor import RAPPOR
from peos.ldp.rmp import RandomMatrixProjection
from peos.ldp.sampled import SampledGRR, SampledHash, Sets
from peos.ldp.she import SHE
from peos.ldp.subset import SubsetSelection
from peos.ldp.sue import SUE
from peos.ldp.the import THE
from peos.ldp.ue import OUE, UE
from peos.registry import KEYED, MECHANISMS

__all__ = [
    "BLH",
    "GRR",
    "MAX_ENUMERABLE",
    "MAX_EPSILON",
    "OLH",
    "OUE",
    "RAPPOR",
    "SHE",
    "SUE",
    "THE",
    "UE",
    "HadamardResponse",
    "LocalHash",
    "Mechanism",
    "PureMechanism",
    "Question",
    "RandomMatrixProjection",
    "SampledGRR",
    "SampledHash",
    "Sets",
    "SubsetSelection",
    "choose",
    "choose_sampled",
    "choose_thesis",
    "from_parameters",
]


def from_parameters(name: str, domain: int, parameters: Mapping[str, int], question: Question = UNASKED) -> Mechanism:
    """The mechanism that a collection document describes; WrongInput if any part of the description is out of range.

    The inverse of (`name`, `domain`, `parameters`, `question`) of a mechanism: digest and ε_l come back the same.
    """
    require_collectable(name)
    kind = MECHANISMS.get(name) or KEYED.get(name)
    if kind is None or kind.name != name:
        known = (each for each, one in MECHANISMS.items() if one.name == each)
        raise WrongInput("mechanism.name", f"a mechanism is one of {', '.join(known)}")
    return kind.from_parameters(domain, parameters, question)
