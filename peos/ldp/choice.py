"""Which mechanism is the most exact where nothing is shuffled: by its exact variance, and by the rule of the thesis."""

import math

from peos.errors import WrongInput
from peos.ldp.base import PureMechanism, whole_number
from peos.ldp.grr import GRR
from peos.ldp.olh import OLH
from peos.ldp.sampled import Sampled, SampledGRR, SampledHash
from peos.ldp.ue import OUE
from peos.registry import MECHANISMS


def choose(domain: int, epsilon: float, *, words: int | None = None) -> PureMechanism:
    """Of all pure mechanisms with reports of at most so many 64-bit words the one of least variance.

    Each is the member that is best at this ε, and the variance is that of a frequency near 0. In a shuffle ask
    `peos.privacy.plan`: there it is not ε alone that decides.
    """
    most = _limit(words)
    found: list[PureMechanism] = []
    refused: WrongInput | None = None
    for kind in MECHANISMS.values():
        if not issubclass(kind, PureMechanism):
            continue
        try:
            made = kind.build(domain, epsilon)
        except WrongInput as wrong:  # a domain or an ε that this one cannot have
            refused = refused or wrong
            continue
        assert isinstance(made, PureMechanism), "a kind makes members of its own"
        if made.words <= most:
            found.append(made)
    if not found:
        assert refused is not None, "some mechanism has reports of one word"
        raise refused
    return min(found, key=lambda one: (one.variance(1), one.words))


def choose_thesis(domain: int, epsilon: float, *, words: int | None = None) -> PureMechanism:
    """The rule of the thesis (§3.3): GRR if d < 3e^ε + 2, else OUE if its reports may be so long, else OLH."""
    most, direct = _limit(words), GRR(domain, epsilon)
    if domain < 3 * math.exp(epsilon) + 2:
        return direct
    unary = OUE(domain, epsilon)
    return unary if unary.words <= most else OLH(domain, epsilon)


def choose_sampled(domain: int, epsilon: float, slots: int) -> Sampled:
    """The rule of the thesis (5.3) for one of ℓ slots drawn: GRR if d < ℓ(4ℓ − 1)e^ε + 1, else OLH.

    It compares (5.1) and (5.2), of ideal hash functions, where nothing is shuffled.
    """
    direct = domain < slots * (4 * slots - 1) * math.exp(epsilon) + 1
    return SampledGRR(domain, slots, epsilon) if direct else SampledHash(domain, slots, epsilon)


def _limit(words: int | None) -> float:
    return math.inf if words is None else whole_number(words, "the limit on words", least=1, most=2**32)
