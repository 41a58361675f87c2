"""Binomial probabilities against fractions and against forty digits: within the error that the accounting adds."""

import decimal
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from peos.privacy.binomial import at_least, error_of, excess, point

FORTY = decimal.Context(prec=60)
CASES = [
    (n, p, z)
    for n, p in (
        (1000, 0.5),
        (12_345, 1 / 705),
        (329_000, 1 / 44),
        (10**6, 0.333),
        (10**9, 1 / 64),
        (10**9, 0.25),
        (10**9, 1e-8),
        (10**10, 2.0**-16),
    )
    for z in (-7.0, -1.0, 0.0, 2.5, 6.0, 9.0)
]


def log_factorial(n: int) -> Decimal:
    """ln n!, by Stirling's series shifted beyond 200: the terms left out are below 10^-40."""
    if n < 200:
        return FORTY.ln(Decimal(math.factorial(n)))
    x = Decimal(n)
    bernoulli = [(1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360_360), (1, 156), (-3617, 122_400)]
    series = sum(
        (FORTY.divide(Decimal(a), Decimal(b) * FORTY.power(x, 2 * j + 1)) for j, (a, b) in enumerate(bernoulli)),
        Decimal(0),
    )
    two_pi = Decimal("6.28318530717958647692528676655900576839433879875021164194988918")
    return (x + Decimal("0.5")) * FORTY.ln(x) - x + FORTY.ln(two_pi) / 2 + series


def to_forty_digits(x: int, n: int, p: float) -> Decimal:
    """Pr[Bin(n, p) = x] for the double p."""
    with decimal.localcontext(FORTY):
        chance = Decimal(p)
        logs = log_factorial(n) - log_factorial(x) - log_factorial(n - x)
        return (logs + x * chance.ln() + (n - x) * (1 - chance).ln()).exp()


def tail_and_excess(h: Decimal, n: int, p: float) -> tuple[Decimal, Decimal]:
    """Pr[X > h] and E(X − h)_+, summed from h upwards or taken from the other side, term by term."""
    with decimal.localcontext(FORTY):
        first = int(h) + 1
        odds = Decimal(p) / (1 - Decimal(p))
        term, tail, over = to_forty_digits(first, n, p), Decimal(0), Decimal(0)
        for a in range(first, n + 1):
            tail += term
            over += (a - h) * term
            if term * (a - h) < over * Decimal("1e-25"):
                break
            term = term * (n - a) / (a + 1) * odds
        return tail, over


@pytest.mark.parametrize("chance", [0.5, 1 / 3, 0.01, 0.99])
@pytest.mark.parametrize("n", [0, 1, 2, 9, 40])
def test_small_cases_are_those_of_fractions(n: int, chance: float) -> None:
    p = Fraction(chance)
    exact = [math.comb(n, x) * p**x * (1 - p) ** (n - x) for x in range(n + 1)]
    assert point(np.arange(n + 1), n, chance) == pytest.approx([float(e) for e in exact], rel=1e-13)
    tails = [float(sum(exact[x:])) for x in range(n + 2)]
    assert at_least(np.arange(n + 2), n, chance) == pytest.approx(tails, rel=1e-13)
    for h in (0.0, 0.5, 1.0, n / 2, n - 0.25, float(n), n + 3.0):
        if h < 0:
            continue
        truth = float(sum((max(Fraction(0), x - Fraction(h)) * e for x, e in enumerate(exact)), Fraction(0)))
        found = float(excess(h, n, chance)[0])
        assert truth <= found <= truth + 1e-11 * n, (h, truth, found)


def test_nothing_lies_outside_and_certain_outcomes_are_certain() -> None:
    assert point([-1, 8, 3], 7, 0.3)[:2].tolist() == [0.0, 0.0]
    assert point([6, 7], 7, 1.0).tolist() == [0.0, 1.0]
    assert point([0, 1], 7, 0.0).tolist() == [1.0, 0.0]
    assert at_least([-3, 0, 8], 7, 0.3).tolist() == [1.0, 1.0, 0.0]


@pytest.mark.parametrize(("n", "p", "z"), CASES)
def test_points_agree_with_forty_digits_up_to_ten_thousand_million_trials(n: int, p: float, z: float) -> None:
    x = min(n, max(0, round(n * p + z * math.sqrt(n * p * (1 - p)))))
    truth, found = to_forty_digits(x, n, p), float(point(x, n, p))
    assert abs(Decimal(found) / truth - 1) < float(error_of(n)) / 4, (truth, found)


@pytest.mark.parametrize(("n", "p", "z"), [case for case in CASES if case[2] > 2 and case[0] * case[1] < 2e7])
def test_tails_agree_with_forty_digits_and_the_excess_is_never_below_them(n: int, p: float, z: float) -> None:
    h = n * p + z * math.sqrt(n * p * (1 - p)) + 0.3
    tail, over = tail_and_excess(Decimal(h), n, p)
    found = float(at_least(math.floor(h) + 1, n, p))
    assert abs(Decimal(found) / tail - 1) < float(error_of(n)) / 4, (tail, found)
    ours = float(excess(h, n, p)[0])
    assert over <= Decimal(ours) <= over * (1 + Decimal(1000 * float(error_of(n)))), (over, ours)
