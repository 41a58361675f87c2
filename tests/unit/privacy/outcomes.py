"""The truth for tiny collections: every outcome of every report, for every data set of the other users.

A report's law is a table {what it matches: probability}; what it matches is all that two values can be told apart by.
"""

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from peos.ldp import GRR, SUE, LocalHash
from peos.ldp.blanket import Blanket
from tests.unit.ldp.twins import Twin

Law = Mapping[tuple[int, ...], Fraction | float]
View = dict[tuple[tuple[tuple[int, ...], int], ...], float]


class NarrowGRR(GRR):
    """Cells of 2^4 words: three of them have 5, 5 and 6, as uneven as it gets."""

    _bits = 4
    _coin_bits = 64


def grr(d: int, epsilon: float) -> tuple[list[Law], Law, Blanket]:
    """The laws of a report of each value, that of a fake, and what the accounting makes of the mechanism."""
    mechanism = NarrowGRR(d, epsilon)
    γ = mechanism.gamma
    sizes = Counter((z * d >> 4) for z in range(16))
    fake: Law = {(y,): Fraction(sizes[y], 16) for y in range(d)}
    laws: list[Law] = [{cell: γ * share + (1 - γ) * (cell == (v,)) for cell, share in fake.items()} for v in range(d)]
    smallest, uneven = 16 // d, 16 % d != 0
    return (
        laws,
        fake,
        Blanket(
            share=float(γ),
            gain=float((1 - γ) / γ * 16 / smallest),
            own=(smallest + uneven) / 16,
            other=smallest / 16,
            both=0.0,
            uneven=smallest / (smallest + uneven),
            local=mechanism.epsilon_local,
        ),
    )


def local_hash(d: int, cells: int, epsilon: float) -> tuple[list[Law], Law, Blanket]:
    """Under all (a, b), each as often as any other, with 2^32 words a seed."""
    mechanism = LocalHash(d, epsilon, d_prime=cells)
    blanket = mechanism.blanket
    assert blanket is not None
    P, γ = mechanism.family.prime, mechanism.gamma
    starts = [-(-y * 2**32 // cells) for y in range(cells + 1)]
    fake: Counter[tuple[int, ...]] = Counter()
    laws: list[Counter[tuple[int, ...]]] = [Counter() for _ in range(d)]
    for a, b in itertools.product(range(1, P), range(P)):
        hashes = [(a * x + b) % P % cells for x in range(d)]
        for y in range(cells):
            share = Fraction(starts[y + 1] - starts[y], 2**32 * P * (P - 1))
            matches = tuple(int(h == y) for h in hashes)
            fake[matches] += share  # type: ignore[assignment] # Counter adds fractions as well as whole numbers
            for x in range(d):
                laws[x][matches] += γ * share + (1 - γ) * Fraction(hashes[x] == y, P * (P - 1))  # type: ignore[assignment]
    collision = float(mechanism.collision_probability)  # of all (a, b): here no seeds are drawn
    return list(laws), fake, replace(blanket, both=collision * blanket.other)


def sue(d: int, epsilon: float) -> tuple[list[Law], Law, Blanket]:
    """Whole vectors of d bits."""
    mechanism = SUE(d, epsilon)
    blanket = mechanism.blanket
    assert blanket is not None
    q = Fraction(mechanism.tau, 2**mechanism.field_bits)

    def law(value: int | None) -> Law:
        return {
            bits: math.prod(
                ((1 - q) if bit else q) if at == value else (q if bit else 1 - q) for at, bit in enumerate(bits)
            )
            for bits in itertools.product((0, 1), repeat=d)
        }

    return [law(v) for v in range(d)], law(None), blanket


def of_twin(twin: Twin) -> tuple[list[Law], Law, Blanket]:
    """A narrow twin by what its patterns support: (1 − γ)/|C_v| more on those that support v."""
    mechanism, γ = twin.mechanism, twin.mechanism.gamma
    blanket = mechanism.blanket
    assert blanket is not None
    supports = twin.supports()
    fake: Law = {
        tuple(int(bit) for bit in seen): int(count) * twin.chance
        for seen, count in zip(*np.unique(supports, axis=0, return_counts=True), strict=True)
    }
    sizes = supports.sum(axis=0)
    laws: list[Law] = [
        {seen: γ * share + (1 - γ) * share / twin.chance / int(sizes[v]) * seen[v] for seen, share in fake.items()}
        for v in range(mechanism.domain)
    ]
    return laws, fake, blanket


def view(laws: Sequence[Law]) -> View:
    """How likely each multiset of reports is: reports in random order tell nothing more."""
    found: View = {(): 1.0}
    for law in laws:
        outcomes = [(outcome, float(chance)) for outcome, chance in law.items() if chance]
        following: View = {}
        for seen, chance in found.items():
            for outcome, more in outcomes:
                counts = dict(seen)
                counts[outcome] = counts.get(outcome, 0) + 1
                key = tuple(sorted(counts.items()))
                following[key] = following.get(key, 0.0) + chance * more
        found = following
    return found


def true_delta(under: View, beside: View, epsilon: float) -> float:
    """Σ (P − e^ε Q)_+ over all outcomes."""
    factor = math.exp(epsilon)
    return math.fsum(max(0.0, p - factor * beside.get(key, 0.0)) for key, p in under.items())
