"""Summation: its integer table, the ε that follows from it, its draws, its estimates, and that no collection has it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from peos.cli import main
from peos.crypto.randomness import U64, Randomness
from peos.ldp import SHE, SUE, LocalHash, from_parameters
from peos.ldp.laplace import STEPS, Noise
from peos.ldp.mixture import logarithm_up
from peos.ldp.she import MAX_DOMAIN
from peos.privacy import plan
from peos.simulate import run_collection
from tests.keys import small_key
from tests.raising import raises, require_said

EPSILONS = (0.02, 0.1, 0.5, 1.0, 2.0, 4.0, 24.0)
REASON = ("she", "fakes would stand out", "sue", "is never worse")


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_epsilon_follows_from_the_table_and_is_met_from_below(epsilon: float) -> None:
    """Every pair of cells that may change, as fractions; the tables add up to 2^64 and leave nothing out."""
    mechanism = SHE(8, epsilon)
    noise = mechanism.noise
    zero, one = noise.law(0), noise.law(1)
    assert sum(noise.table) == sum(zero) == sum(one) == 2**64
    assert min(*noise.table, *zero, *one) > 0, "a cell betrays that it holds, or does not"
    assert noise.table == noise.table[::-1]
    assert len(zero) == len(one) == 2 * noise.range + 1
    up = max(Fraction(b, a) for a, b in zip(zero, one, strict=True))
    down = max(Fraction(a, b) for a, b in zip(zero, one, strict=True))
    assert mechanism.epsilon_local == logarithm_up(up * down)
    assert epsilon * (1 - 2e-9) - 1e-8 <= mechanism.epsilon_local <= epsilon


def test_range_and_moments_are_those_of_the_reference() -> None:
    for epsilon, reach in ((0.5, 1064), (1.0, 532), (2.0, 266), (4.0, 133)):
        mechanism = SHE(8, epsilon)
        assert mechanism.noise.range == reach
        assert mechanism.variance(1) == pytest.approx(8 / epsilon**2, rel=1.35e-3)
        assert abs(mechanism.noise.moments(0)[0]) == 0
        assert abs(mechanism.noise.moments(1)[0] / STEPS - 1) < 2e-7


def test_the_law_is_the_table_shifted_and_clamped() -> None:
    noise = SHE(8, 2.0).noise
    at = range(-noise.reach, noise.reach + 1)
    for one in (0, 1):
        counts = dict.fromkeys(range(-noise.range, noise.range + 1), 0)
        for x, count in zip(at, noise.table, strict=True):
            counts[min(max(x + STEPS * one, -noise.range), noise.range)] += count
        assert list(counts.values()) == noise.law(one)


class Coins(Randomness):
    """Tells what it is given."""

    def __init__(self, told: list[int]) -> None:
        super().__init__(bytes(32))
        self.told = told

    def uint64(self, shape: object) -> U64:
        """The low 48 bits of the coins that are not decided by their top."""
        assert shape == len(self.told)
        return np.array([coin << 16 & 2**64 - 1 for coin in self.told], dtype=np.uint64)


@pytest.mark.parametrize("epsilon", [0.02, 1.0, 24.0])
def test_each_coin_gives_the_x_whose_part_of_the_table_it_lies_in(epsilon: float) -> None:
    """At the first and the last coin of every x: by the guide where that decides, by the whole coin where not."""
    noise = Noise(Fraction(epsilon))
    ends, total = [], 0
    for x, count in zip(range(-noise.reach, noise.reach + 1), noise.table, strict=True):
        ends += [(total, x), (total + count - 1, x)]
        total += count
    coins = [coin for coin, _ in ends]
    top = np.array([coin >> 48 for coin in coins], dtype=np.uint16)
    undecided = [coin for coin in coins if noise._guide[coin >> 48] > noise.reach]
    assert len(undecided) >= len(ends) // 4
    assert noise.of_coins(top, Coins(undecided)).tolist() == [x for _, x in ends]


def drawn(mechanism: SHE, users: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    truth = np.bincount(np.arange(users) % mechanism.domain % 7, minlength=mechanism.domain) / users
    words = mechanism.randomize(np.arange(users) % mechanism.domain % 7, Randomness(b"\x05" * 32))
    found = mechanism.estimate(mechanism.tally(words[:100]) + mechanism.tally(words[100:]), users)
    inside = (found.interval()[:, 0] <= truth) & (truth <= found.interval()[:, 1])
    assert 0.93 <= inside.mean() <= 0.97
    assert found.significant() is None
    return (found.frequency - truth) / found.stderr, truth


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_estimates_are_unbiased_and_as_exact_as_said(epsilon: float) -> None:
    """4,096 cells of 2,000 users: the largest deviation at α = 1e-6, and the variance within 5 standard errors."""
    off, truth = drawn(SHE(4096, epsilon), 2000)
    assert truth[:7].min() > 0.1
    assert np.abs(off).max() < 6.4
    assert abs(off.mean()) < 5 / math.sqrt(4096)
    assert abs(np.square(off).mean() - 1) < 5 * math.sqrt(2 / 4096)


class Betraying(Noise):
    """Wrong: the noise stops where cells do, so that a cell of R or more than −R + 1 step tells what it holds."""

    def law(self, one: int) -> list[int]:
        """Shifted by what it holds, with nothing from beyond."""
        return [0] * (STEPS * one) + super().law(0)[: len(super().law(0)) - STEPS * one]


def test_a_table_that_is_not_drawn_beyond_the_range_is_caught() -> None:
    with pytest.raises(ZeroDivisionError):
        _ = Betraying(Fraction(2)).epsilon


def test_it_is_never_better_than_sue_and_is_blh_at_2_324() -> None:
    for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0):
        assert SHE(64, epsilon).variance(1) > SUE(64, epsilon, field_bits=16).variance(1)
    E = math.exp(2.324)
    blh = ((E + 1) / (E - 1)) ** 2
    assert blh == pytest.approx(8 / 2.324**2, rel=2e-4)
    for epsilon, better in ((2.32, False), (2.33, True)):  # over a large domain P/2 cells are as good as a half
        assert (SHE(1 << 20, epsilon).variance(1) < LocalHash(1 << 20, epsilon, 2).variance(1)) is better


def test_no_collection_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    with raises("mechanism.local_only", *REASON):
        from_parameters("she", 10, {"epsilon": 2**32})
    with raises("mechanism.local_only", *REASON):
        plan(1000, 10, 1e-6, eps_local=1.0, mechanism="she")
    with raises("document.unusable", *REASON) as caught:
        run_collection([1, 2, 3] * 50, mechanism=SHE(10, 1.0), key=small_key())
    assert "sue" in caught.value.hint
    with raises("mechanism.local_only", *REASON):
        SHE(10, 1.0).estimate(np.zeros(10, dtype=np.int64), 5, fakes=1)
    with raises("mechanism.local_only", *REASON):
        SHE(10, 1.0).variance(5, fakes=1)
    asked = ["--users", "1000", "--domain", "10", "--delta", "1e-6", "--eps-local", "1", "--mechanism", "she"]
    for command in (["plan", *asked], ["demo", "--users", "10", "--mechanism", "she"]):
        assert main(command) == 2
        error = capsys.readouterr().err
        require_said(error, *REASON)
        require_said(error, "sue")
        assert "Traceback" not in error


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 0.019, 24.1, float("nan"), float("inf"), "1"])
def test_an_epsilon_that_it_cannot_keep_to_gets_one_sentence(epsilon: float) -> None:
    with raises("mechanism.epsilon", "epsilon"):
        SHE(10, epsilon)


@pytest.mark.parametrize("domain", [1, MAX_DOMAIN + 1, 2.0, True])
def test_a_domain_that_it_cannot_have_gets_one_sentence(domain: int) -> None:
    with raises("mechanism.range", "domain of summation", "2", str(MAX_DOMAIN)):
        SHE(domain, 1.0)
