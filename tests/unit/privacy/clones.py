"""The clones bound of Feldman, McMillan and Talwar (FOCS 2021, theorem 3.1), numerically and by itself.

For any ε_0-private randomiser: C ~ Bin(n − 1, e^(−ε_0)) users are clones of one of the two values, A ~ Bin(C, ½) of the
first; the victim joins either side with probabilities e^(ε_0)/(1 + e^(ε_0)) and its rest. It knows nothing of the
mechanism but ε_0.
"""

import math

import numpy as np
from scipy.stats import binom


def clones_delta(epsilon: float, local: float, users: int) -> float:
    """δ(ε) of the pair (A + Δ, C − A + 1 − Δ) against its mirror image, C in steps of its standard deviation/20."""
    mean, deviation = (users - 1) * math.exp(-local), math.sqrt((users - 1) * math.exp(-local))
    step = max(1, int(deviation / 20))
    edges = np.arange(max(0, int(mean - 8 * deviation)), int(mean + 8 * deviation) + 2, step)
    beyond = binom.sf(edges - 1, users - 1, math.exp(-local))
    total = 1.0 - float(beyond[0])
    likely = math.exp(local) / (1 + math.exp(local))
    for at, clones in enumerate(edges.tolist()):
        weight = beyond[at] - (beyond[at + 1] if at + 1 < len(edges) else 0.0)
        if weight < 1e-14:
            total += weight * 1e-3
            continue
        reach = int(8 * math.sqrt(clones)) + 2
        a = np.arange(max(0, clones // 2 - reach), min(clones + 1, clones // 2 + reach) + 1)
        joined, apart = binom.pmf(a - 1, clones, 0.5), binom.pmf(a, clones, 0.5)
        first, second = likely * joined + (1 - likely) * apart, (1 - likely) * joined + likely * apart
        total += weight * float(np.sum(np.maximum(first - math.exp(epsilon) * second, 0.0)))
    return total


def clones_epsilon(local: float, users: int, delta: float) -> float:
    """The ε at which `clones_delta` comes to δ."""
    low, high = 0.0, local
    for _ in range(18):
        middle = (low + high) / 2
        low, high = (middle, high) if clones_delta(middle, local, users) > delta else (low, middle)
    return high
