"""Marginals from reports on whole records (Cormode, Kulkarni, Srivastava, SIGMOD 2018): InpRR, InpPS, InpHT, FC, FT."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from peos.ldp.hashing import splitmix64
from peos.tasks.baselines.base import LOCAL, ONE, Baseline, Draws, Floats, Hashed, Ints, Response, Unary, adaptive
from peos.tasks.baselines.bits import hadamard, masks, parity, subsets, summed

Attributes = Sequence[int]
Marginals = Callable[[Attributes], Floats]


class Coefficients(NamedTuple):
    """Of each user which coefficient, by its place among all that are asked, and its bit."""

    places: Ints
    bits: Ints


def _whole(table: Floats, d: int) -> Marginals:
    """Every marginal from the table of all cells."""
    return lambda attributes: summed(table, range(d), attributes)


def inp_rr(d: int, epsilon: float, *, optimised: bool = False) -> Baseline[Ints, np.ndarray, Attributes]:
    """A bit for each of the 2^d cells, all perturbed; with OUE's probabilities ε_l is all that is claimed of it."""
    unary = Unary(2**d, epsilon, optimised)
    runs = LOCAL + "bits of two laws have no blanket of fair coins" if optimised else ONE
    return Baseline(
        "InpRR",
        runs,
        unary.drawn,
        lambda bits: _whole(unary.unbiased(bits.sum(axis=0), len(bits)), d),
    )


def inp_ps(d: int, epsilon: float) -> Baseline[Ints, Ints, Attributes]:
    """Randomised response over the 2^d cells."""
    response = Response(2**d, epsilon)
    return Baseline(
        "InpPS",
        ONE,
        response.drawn,
        lambda cells: _whole(response.unbiased(np.bincount(cells, minlength=2**d), len(cells)), d),
    )


def fc(d: int, epsilon: float) -> Baseline[Ints, np.ndarray, Attributes]:
    """All cells by whichever oracle is better (thesis 6.1.1); shuffled by randomised response or hashing."""
    oracle = adaptive(2**d, epsilon)
    made = inp_ps(d, epsilon) if isinstance(oracle, Response) else inp_rr(d, epsilon, optimised=True)
    return Baseline("FC", made.runs, made.randomize, made.decode)


def inp_ht(d: int, k: int, epsilon: float, name: str = "InpHT") -> Baseline[Ints, Coefficients, Attributes]:
    """One Hadamard coefficient of at most k attributes, drawn by the user: a hidden table of 2 cells each."""
    asked = masks(subsets(d, range(1, k + 1)))
    place = {int(mask): at for at, mask in enumerate(asked)}
    response = Response(2, epsilon)

    def randomize(records: Ints, draws: Draws) -> Coefficients:
        places = draws.below(len(asked), len(records))
        return Coefficients(places, response.drawn(parity(records, asked[places]), draws))

    def decode(sent: Coefficients) -> Marginals:
        each = np.bincount(sent.places, minlength=len(asked))
        odd = response.unbiased(np.bincount(sent.places, sent.bits, len(asked)).astype(np.int64), each)
        return lambda attributes: from_coefficients(lambda mask: 1.0 - 2.0 * float(odd[place[mask]]), attributes)

    return Baseline(name, ONE, randomize, decode)


def ft(d: int, k: int, epsilon: float) -> Baseline[Ints, Coefficients, Attributes]:
    """The Fourier transform of thesis 6.1.3, which is InpHT."""
    return inp_ht(d, k, epsilon, "FT")


def from_coefficients(at: Callable[[int], float], attributes: Attributes) -> Floats:
    """A table from its coefficients, Θ_0 being 1: C = 2^-k Σ (−1)^|α∧γ| Θ_α."""
    k = len(attributes)
    theta = np.ones(2**k)
    for alpha in range(1, 2**k):
        theta[alpha] = at(sum(1 << one for place, one in enumerate(attributes) if alpha >> place & 1))
    return np.asarray(hadamard(k) @ theta / 2**k)


def inp_olh(d: int, epsilon: float) -> Baseline[Ints, tuple[Ints, Ints], Attributes]:
    """Local hashing of the record; every one of the 2^d cells is held against every report."""
    hashed = Hashed(epsilon)

    def decode(sent: tuple[Ints, Ints]) -> Marginals:
        p, q = hashed.response.p, 1.0 / hashed.response.cells
        met = [np.mean(hashed.hash(sent[0], np.asarray(key)) == sent[1]) for key in np.arange(2**d, dtype=np.uint64)]
        return _whole((np.array(met) - q) / (p - q), d)

    return Baseline("InpOLH", ONE, lambda records, draws: hashed.drawn(records.astype(np.uint64), draws), decode)


class Sketched(NamedTuple):
    """Which of the hash functions, which coefficient of what it makes of the record, and its bit."""

    functions: Ints
    coefficients: Ints
    bits: Ints


def inp_htcms(d: int, epsilon: float, functions: int = 5, width: int = 256) -> Baseline[Ints, Sketched, Attributes]:
    """A count-min sketch by Hadamard coefficients: 5 functions of 256 values, each a hidden table of 2 (Apple)."""
    hashed = _three_wise(2**d, functions, width)
    response = Response(2, epsilon)

    def randomize(records: Ints, draws: Draws) -> Sketched:
        function = draws.below(functions, len(records))
        at = draws.below(width, len(records))
        return Sketched(function, at, response.drawn(parity(at, hashed[function, records]), draws))

    def decode(sent: Sketched) -> Marginals:
        places = sent.functions * width + sent.coefficients
        each = np.bincount(places, minlength=functions * width)
        odd = response.unbiased(np.bincount(places, sent.bits, functions * width).astype(np.int64), each)
        theta = (1.0 - 2.0 * odd).reshape(functions, width)
        theta[:, 0] = 1.0
        rows = theta @ hadamard(int(width).bit_length() - 1) / width
        found = np.mean([row[columns] for row, columns in zip(rows, hashed, strict=True)], axis=0)
        return _whole(width / (width - 1) * (found - 1.0 / width), d)

    return Baseline("InpHTCMS", ONE, randomize, decode)


def _three_wise(domain: int, functions: int, width: int) -> Ints:
    """(functions, domain): polynomials of degree 2 over the prime 2^31 − 1, three-wise independent."""
    prime = 2**31 - 1
    words = splitmix64(np.arange(3 * functions, dtype=np.uint64), 1) >> np.uint64(33)
    a, b, c = np.maximum(words.astype(np.int64) % prime, 1).reshape(3, functions, 1)
    x = np.arange(domain)
    return np.asarray(((a * x % prime + b) % prime * x % prime + c) % prime * width // prime)
