"""Unbiased, and of the variance that the formulas say, to 5 %; users are drawn anew for each of the runs."""

import math
from collections.abc import Sequence
from math import comb
from typing import Any

import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from peos.tasks import baselines
from peos.tasks.baselines.base import Draws, Floats
from peos.tasks.baselines.bits import coefficients, hadamard, subsets, summed, table_of
from peos.tasks.baselines.inputs import from_coefficients

D, K, EPSILON, USERS, RUNS = 4, 2, 1.1, 1000, 3000
E = math.exp(EPSILON)
FIVE_SIGMAS = 5.0
LAW = np.random.default_rng(1).dirichlet(np.full(2**D, 0.7))


def drawn(build: Any, sets: Sequence[tuple[int, ...]]) -> Floats:
    """(runs, sets, cells): every table of every run."""
    rng, draws = np.random.default_rng(2), Draws(Randomness(bytes(range(32))))
    made = build()
    found = []
    for _ in range(RUNS):
        table = made.decode(made.randomize(rng.choice(2**D, USERS, p=LAW), draws))
        found.append([table(attributes) for attributes in sets])
    return np.array(found)


def v(p: float, q: float) -> float:
    return q * (1 - q) / (p - q) ** 2


def hit(p: float, q: float) -> float:
    return (1 - p - q) / (p - q)


def of_inp_rr(table: Floats) -> Floats:
    root = math.sqrt(E)
    return np.asarray(2 ** (D - K) * root / (root - 1) ** 2 + table * (1 - table))


def of_inp_ps(table: Floats) -> Floats:
    p, q, s = E / (E + 2**D - 1), 1 / (E + 2**D - 1), 2 ** (D - K)
    own = p + (s - 1) * q
    noise = (1 - table) * s * q * (1 - s * q) + table * own * (1 - own)
    return np.asarray(noise / (p - q) ** 2 + table * (1 - table))


def of_inp_ht(table: Floats) -> Floats:
    θ = hadamard(K) @ table
    c = ((E + 1) / (E - 1)) ** 2
    return np.full(2**K, coefficients(D, K) * float(np.sum((c - θ**2)[1:])) / 4**K)


def of_marg_rr(table: Floats) -> Floats:
    root = math.sqrt(E)
    return comb(D, K) * (root / (root - 1) ** 2 + table * (1 - table))


def of_marg_ps(table: Floats) -> Floats:
    p, q = E / (E + 2**K - 1), 1 / (E + 2**K - 1)
    return comb(D, K) * (v(p, q) + table * hit(p, q) + table * (1 - table))


def of_marg_ht(table: Floats) -> Floats:
    θ = hadamard(K) @ table
    c = ((E + 1) / (E - 1)) ** 2
    return np.full(2**K, comb(D, K) * (2**K - 1) * float(np.sum((c - θ**2)[1:])) / 4**K)


def of_inp_olh(table: Floats) -> Floats:
    g = round(E + 1)
    p, q = E / (E + g - 1), 1 / g
    return np.asarray(2 ** (D - K) * v(p, q) + table * (p * (1 - p) / (p - q) ** 2 - v(p, q)) + table * (1 - table))


FAMILIES: dict[str, tuple[Any, Any]] = {
    "InpRR": (lambda: baselines.inp_rr(D, EPSILON), of_inp_rr),
    "InpPS": (lambda: baselines.inp_ps(D, EPSILON), of_inp_ps),
    "InpHT": (lambda: baselines.inp_ht(D, K, EPSILON), of_inp_ht),
    "InpOLH": (lambda: baselines.inp_olh(D, EPSILON), of_inp_olh),
    "MargRR": (lambda: baselines.marg_rr(D, K, EPSILON), of_marg_rr),
    "MargPS": (lambda: baselines.marg_ps(D, K, EPSILON), of_marg_ps),
    "MargHT": (lambda: baselines.marg_ht(D, K, EPSILON), of_marg_ht),
    "AM": (lambda: baselines.am(D, K, EPSILON), of_marg_ps),
}


@pytest.mark.full
@pytest.mark.parametrize("name", FAMILIES)
def test_tables_are_unbiased_and_vary_as_the_formula_says(name: str) -> None:
    build, formula = FAMILIES[name]
    sets = subsets(D, [K])
    truth = np.array([summed(LAW, range(D), attributes) for attributes in sets])
    found = drawn(build, sets)
    expected = np.array([formula(table) for table in truth]) / USERS
    off = np.abs(found.mean(axis=0) - truth) / np.sqrt(expected / RUNS)
    assert float(off.max()) < FIVE_SIGMAS
    ratio = float(found.var(axis=0, ddof=1).mean() / expected.mean())
    assert 0.95 < ratio < 1.05, f"the variance is {ratio:.3f} of the formula's"


def test_tables_from_true_coefficients_are_the_tables() -> None:
    records = np.random.default_rng(3).integers(0, 2**6, 500)

    def coefficient(mask: int) -> float:
        return float(np.mean(1 - 2 * (np.bitwise_count(records & mask) & 1).astype(np.int64)))

    for attributes in [(0,), (4, 1), (5, 0, 2), (3, 2, 1, 0)]:
        assert np.allclose(from_coefficients(coefficient, attributes), table_of(records, attributes))


def test_the_direct_inverse_and_the_fixed_point_find_the_table_of_many_reports() -> None:
    rng, draws = np.random.default_rng(4), Draws(Randomness(bytes(range(32))))
    records = rng.choice(2**3, 400_000, p=np.array([4, 1, 1, 2, 3, 1, 1, 3]) / 16)
    for build in (baselines.inp_em, baselines.em):
        made = build(3, 6.0)
        table = made.decode(made.randomize(records, draws))
        assert np.abs(table((0, 2)) - table_of(records, (0, 2))).max() < 0.01


def test_a_sketch_tells_frequent_records() -> None:
    rng, draws = np.random.default_rng(5), Draws(Randomness(bytes(range(32))))
    records = np.where(rng.random(300_000) < 0.6, 37, rng.integers(0, 64, 300_000))
    made = baselines.inp_htcms(6, 3.0)
    whole = made.decode(made.randomize(records, draws))(range(6))
    assert abs(whole[37] - table_of(records, range(6))[37]) < 0.05


def test_tables_without_a_report_are_finite() -> None:
    draws = Draws(Randomness(bytes(range(32))))
    several: list[Any] = [baselines.inp_ht(16, 3, 1.0), baselines.marg_ps(16, 3, 1.0), baselines.marg_ht(16, 3, 1.0)]
    for made in several:
        table = made.decode(made.randomize(np.arange(3), draws))((1, 2))
        assert np.all(np.isfinite(table))
        assert table.sum() == pytest.approx(1.0)
