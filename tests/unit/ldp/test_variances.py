"""What the mechanisms say of their variance, held against table 3.2 of the thesis to each digit that it prints."""

import math
from collections.abc import Callable

import pytest

from peos.ldp import BLH, GRR, OLH, OUE, SHE, SUE, THE, HadamardResponse, Mechanism, RandomMatrixProjection

LARGE = 1 << 20  # where hash functions of our family are as good as independent ones
EPSILONS = (0.5, 1.0, 2.0, 4.0)
# n times the variance of a frequency near 0; columns are ε = .5, 1, 2, 4. OLH is printed for ideal hash functions.
PRINTED: dict[str, tuple[Callable[[float], float], tuple[str, ...]]] = {
    "DE, d = 2": (lambda e: of(GRR(2, e)), ("3.92", "0.92", "0.18", "0.02")),
    "DE, d = 32": (lambda e: of(GRR(32, e)), ("75.20", "11.08", "0.92", "0.03")),
    "DE, d = 1024": (lambda e: of(GRR(1024, e)), ("2432.40", "347.07", "25.22", "0.37")),
    "SHE": (lambda e: of(SHE(32, e)), ("32.00", "8.00", "2.00", "0.50")),
    "THE, θ = 1": (lambda e: of(THE(32, e, theta=1.0, field_bits=16)), ("19.44", "5.46", "1.50", "0.34")),
    "SUE": (lambda e: of(SUE(32, e, field_bits=16)), ("15.92", "3.92", "0.92", "0.18")),
    "OUE": (lambda e: of(OUE(32, e, field_bits=16)), ("15.67", "3.68", "0.72", "0.08")),
    "BLH": (lambda e: of(BLH(LARGE, e)), ("16.67", "4.68", "1.72", "1.08")),
    "OLH": (lambda e: 4 * math.exp(e) / math.expm1(e) ** 2, ("15.67", "3.68", "0.72", "0.08")),
}


def of(mechanism: Mechanism) -> float:
    return mechanism.variance(1)


@pytest.mark.parametrize("name", PRINTED)
def test_table_3_2_has_each_digit(name: str) -> None:
    ours, printed = PRINTED[name]
    assert tuple(f"{ours(epsilon):.2f}" for epsilon in EPSILONS) == printed


def test_with_whole_numbers_of_hash_values_olh_is_close_to_it() -> None:
    for epsilon, cells, variance in ((0.5, 3, 15.82), (1.0, 4, 3.692), (2.0, 8, 0.7246), (4.0, 56, 0.07602)):
        mechanism = OLH(LARGE, epsilon)
        assert mechanism.d_prime == cells
        assert of(mechanism) == pytest.approx(variance, rel=3e-4)


def test_one_sign_is_binary_hashing_and_random_matrix_projection() -> None:
    for epsilon in EPSILONS:
        E = math.exp(epsilon)
        assert of(RandomMatrixProjection(64, epsilon)) == pytest.approx(((E + 1) / (E - 1)) ** 2, rel=1e-12)
        assert of(HadamardResponse(LARGE, epsilon, signs=1)) == pytest.approx(((E + 1) / (E - 1)) ** 2, rel=1e-5)
