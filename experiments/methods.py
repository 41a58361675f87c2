"""The methods of thesis §9.6.1 at a given ε_c, with the parameters that the thesis' theorems give them.

Parameters follow from the data set's full n and d; the mechanism is built for the domain that a run uses.
Theorem 9.3.1, and with it RAP and RAP_R, does not hold for reports that are shuffled as whole vectors (privacy.md §1):
what their runs deserve is also said, by exact accounting.
"""

import math

from experiments.populations import DataSet
from peos.estimate.frequency import FrequencyOracle
from peos.ldp import GRR, SUE, LocalHash
from peos.ldp.sue import MAX_FIELD_BITS
from peos.privacy.theorem import fourteen, largest_epsilon_local, optimal_cells


def blanket_mean(epsilon: float, data: DataSet) -> float:
    """m = ε_c²(n − 1)/(14 ln(2/δ)) of thesis §9.3.3: what e^{ε_l} + d' − 1 may be."""
    return epsilon**2 * (data.users - 1) / fourteen(data.delta)


def sh_epsilon(epsilon: float, data: DataSet) -> float:
    """SH: the ε_l of GRR that the theorem amplifies to ε_c, or ε_c itself where nothing is amplified."""
    local = largest_epsilon_local(epsilon, data.domain, data.users, 0, data.delta)
    return epsilon if local is None else max(local, epsilon)


def sh(epsilon: float, data: DataSet, domain: int) -> GRR:
    """GRR as [51] uses it."""
    return GRR(domain, sh_epsilon(epsilon, data))


def sh_threshold(data: DataSet) -> float:
    """The ε_c below which SH is not amplified: √(14 ln(2/δ)·d/(n − 1))."""
    return math.sqrt(fourteen(data.delta) * data.domain / (data.users - 1))


def solh_cells(epsilon: float, data: DataSet) -> int:
    """The d' of SOLH: the thesis' optimum (9.4), to the nearest whole number as its table has it."""
    cells = optimal_cells(epsilon, data.users, 0, data.delta)
    if cells is None:
        raise ArithmeticError("without fakes the optimum of (9.4) always exists")
    return max(2, round(cells))


def local_hash(epsilon: float, cells: int, data: DataSet, domain: int) -> LocalHash:
    """Local hashing with d' given; where no ε_l meets ε_c by the theorem, unshuffled with d' = 2 as in the table."""
    local = largest_epsilon_local(epsilon, cells, data.users, 0, data.delta)
    return LocalHash(domain, epsilon, d_prime=2) if local is None else LocalHash(domain, local, d_prime=cells)


def solh(epsilon: float, data: DataSet, domain: int) -> LocalHash:
    """Shuffler-optimal local hashing."""
    return local_hash(epsilon, solh_cells(epsilon, data), data, domain)


def ideal_hash(mechanism: LocalHash) -> FrequencyOracle:
    """The same mechanism with a hash family whose values meet with probability 1/d', as the thesis' analysis has it."""
    share = 1 / mechanism.cells
    told = 1 - float(mechanism.gamma)
    return FrequencyOracle(p=told + (1 - told) * share, q=share, u=share)


def olh(epsilon: float, domain: int) -> LocalHash:
    """Local hashing best in the local model: d' = ⌊e^ε + 1⌋, which is 2 or 3 for the ε of the figure."""
    return LocalHash(domain, epsilon, d_prime=math.floor(math.exp(epsilon) + 1))


def unary(share: float, domain: int) -> SUE:
    """Symmetric unary encoding with q' next to 1/share, in steps of 2^-16, and so at an ε_l a hair off."""
    return SUE.from_parameters(domain, {"tau": round(2**MAX_FIELD_BITS / share), "field_bits": MAX_FIELD_BITS})


def rap(epsilon: float, data: DataSet, domain: int) -> SUE:
    """RAP by theorem 9.3.1: e^{ε_l/2} + 1 = ε_c²(n − 1)/(56 ln(4/δ))."""
    return unary(epsilon**2 * (data.users - 1) / (4 * fourteen(data.delta / 2)), domain)


def rap_removal(epsilon: float, data: DataSet, domain: int) -> SUE:
    """RAP_R as in table 9.2: removal changes one position, so e^{ε} + 1 = ε_c²(n − 1)/(14 ln(2/δ))."""
    return unary(blanket_mean(epsilon, data), domain)
