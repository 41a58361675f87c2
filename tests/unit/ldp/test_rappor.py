"""RAPPOR: its law by enumeration, its bits, the fit of values to them, its second noise, and its parameters."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from peos.crypto.randomness import U64, Randomness
from peos.estimate import lasso
from peos.estimate.lasso import TOLERANCE, Design, kkt_residuals, nonnegative_lasso
from peos.ldp import RAPPOR, from_parameters
from peos.ldp.filters import bit_of
from peos.ldp.mixture import logarithm_up
from peos.ldp.rappor_irr import InstantaneousNoise
from peos.registry import MECHANISMS
from tests.raising import raises
from tests.unit.ldp.enumeration import Enumeration, Law, _law

ALPHA = 1e-6
NARROW = {"tau": 1, "field_bits": 2, "bits": 3, "hashes": 2, "cohorts": 2}
PATTERN = 7  # three fields of two bits, and the cohort


def narrow(domain: int = 6, kind: type[RAPPOR] = RAPPOR) -> RAPPOR:
    return kind.from_parameters(domain, NARROW)


def laws(mechanism: RAPPOR) -> list[Law]:
    """Of a report of each value, over everything that is drawn."""
    own = [("top", 2), ("below", 1), ("below", 3)]
    found = []
    for value in range(mechanism.domain):
        source = Enumeration([("low", PATTERN), *own, *own])
        words = mechanism.randomize(np.full(source.rows, value, dtype=np.int64), source)
        assert source.finished()
        found.append(_law(words, source.rows, 2**PATTERN - 1))
    return found


def set_bits(mechanism: RAPPOR, value: int) -> list[set[int]]:
    """Of each cohort, from the hash functions alone."""
    at = np.array([value])
    return [
        {int(bit_of(np.array([cohort]), i, at, mechanism.bits)[0]) for i in range(mechanism.hashes)}
        for cohort in range(mechanism.cohorts)
    ]


def check_law(mechanism: RAPPOR) -> None:
    """Each bit is 1 with 1 − q if its value sets it, else with q, independently; cohort and the rest are uniform."""
    q, every = mechanism.flipped, np.arange(2**PATTERN, dtype=np.uint64)[:, np.newaxis]
    bits, cohorts = mechanism.decode(every), mechanism.cohorts_of(every)
    for value, law in enumerate(laws(mechanism)):
        for word in range(2**PATTERN):
            own = set_bits(mechanism, value)[cohorts[word]]
            chance = Fraction(1, mechanism.cohorts)
            for i in range(mechanism.bits):
                is_one = (1 - q) if i in own else q
                share = is_one / NARROW["tau"] if bits[word, i] else (1 - is_one) / (4 - NARROW["tau"])
                chance *= share
            assert law.get((word,), Fraction(0)) == chance, f"value {value}, word {word}"


def worst_ratios(mechanism: RAPPOR) -> dict[tuple[int, int], Fraction]:
    found = laws(mechanism)
    return {
        (v, w): max(Fraction(found[v][word]) / Fraction(found[w][word]) for word in found[v])
        for v in range(mechanism.domain)
        for w in range(mechanism.domain)
    }


def test_the_law_of_a_report_is_that_of_its_filter_and_epsilon_is_never_exceeded() -> None:
    mechanism = narrow()
    check_law(mechanism)
    flip = (1 - mechanism.flipped) / mechanism.flipped
    coinciding = 0
    for (v, w), ratio in worst_ratios(mechanism).items():
        apart = max(len(a ^ b) for a, b in zip(set_bits(mechanism, v), set_bits(mechanism, w), strict=True))
        assert ratio == flip**apart, (v, w)
        assert logarithm_up(ratio) <= mechanism.epsilon_local, (v, w)
        coinciding += any(len(bits) < 2 for bits in set_bits(mechanism, v))
    assert coinciding, "some hash functions coincide, and the claim holds there too"
    wide = RAPPOR.from_parameters(2, {**NARROW, "bits": 128})
    assert max(len(a ^ b) for a, b in zip(set_bits(wide, 0), set_bits(wide, 1), strict=True)) == 4, "it can be reached"
    assert wide.epsilon_local == logarithm_up(flip**4)


class TwiceIfTheSame(RAPPOR):
    """Wrong: where two hash functions coincide, the bit is the OR of two draws."""

    def randomize(self, values: NDArray[np.int64], rng: Randomness | None = None) -> U64:
        """As RAPPOR does, with each draw kept if it is the smaller one."""
        rng = self._rng(rng)
        words = rng.uint64((len(values), self.words))
        cohorts, before = self.cohorts_of(words), np.full(len(values), -1)
        least = np.zeros(len(values), dtype=np.uint64)
        for number in range(self.hashes):
            at, own = bit_of(cohorts, number, values, self.bits), self._fields.drawn(len(values), rng)
            least = np.where(at == before, np.minimum(own, least), own)
            self._fields.redraw(words, at, least)
            before = at
        return words


class LowestBit(RAPPOR):
    """Wrong: q where its value sets a bit, as if flipped."""

    def randomize(self, values: NDArray[np.int64], rng: Randomness | None = None) -> U64:
        """The first hash function alone."""
        rng = self._rng(rng)
        words = rng.uint64((len(values), self.words))
        at = bit_of(self.cohorts_of(words), 0, values, self.bits)
        for _ in range(self.hashes):
            self._fields.redraw(words, at, self._fields.drawn(len(values), rng))
        return words


@pytest.mark.parametrize("wrong", [TwiceIfTheSame, LowestBit])
def test_a_sampler_that_is_a_little_wrong_is_caught(wrong: type[RAPPOR]) -> None:
    with pytest.raises(AssertionError):
        check_law(narrow(kind=wrong))


@pytest.mark.parametrize(("bits", "field_bits", "cohorts"), [(128, 8, 16), (13, 9, 64), (64, 2, 1), (61, 2, 16)])
def test_bits_and_cohorts_are_read_as_the_protocol_lays_them(
    bits: int, field_bits: int, cohorts: int, rng: Randomness
) -> None:
    tau = 2 ** (field_bits - 2)
    given = {"tau": tau, "field_bits": field_bits, "bits": bits, "hashes": 2, "cohorts": cohorts}
    mechanism = RAPPOR.from_parameters(50, given)
    words = rng.uint64((300, mechanism.words))
    wholes = [sum(int(word) << 64 * j for j, word in enumerate(row)) for row in words]
    fields = [[whole >> i * field_bits & 2**field_bits - 1 for i in range(bits)] for whole in wholes]
    assert mechanism.words == math.ceil((bits * field_bits + math.log2(cohorts)) / 64)
    assert mechanism.decode(words).tolist() == [[field < tau for field in row] for row in fields]
    assert mechanism.cohorts_of(words).tolist() == [whole >> bits * field_bits & cohorts - 1 for whole in wholes]
    tally = mechanism.tally(words)
    assert np.array_equal(tally, mechanism.tally(words[:99]) + mechanism.tally(words[99:]))
    for cohort in range(cohorts):
        own = mechanism.decode(words)[mechanism.cohorts_of(words) == cohort]
        assert tally[cohort].tolist() == [*own.sum(axis=0), len(own)]


def test_bits_are_unbiased_and_as_exact_as_said_with_fakes() -> None:
    """ŷ of all 2,048 bits over 60 collections: α = 1e-6 on the largest mean, the variance within 5 %."""
    users, fakes, repeats, rng = 3000, 600, 60, Randomness(b"\x07" * 32)
    mechanism = RAPPOR(1024, 3.0)
    values = np.concatenate((np.zeros(900, dtype=np.int64), 1 + np.arange(users - 900) % 40))  # f of .3, and of 0
    truth = np.bincount(values, minlength=1024) / users
    expected = (mechanism.design.matrix @ truth).reshape(16, 128)
    off = []
    for _ in range(repeats):
        words = np.concatenate((mechanism.randomize(values, rng), rng.uint64((fakes, mechanism.words))))
        found = mechanism.estimate(mechanism.tally(words), users, fakes)
        off.append((found.bits - expected) / np.sqrt(found.bit_variance))
    means = np.mean(off, axis=0) * math.sqrt(repeats)
    assert np.abs(means).max() < 6.3, f"{np.abs(means).max():.2f} of 2,048"  # norm.isf(α/4096) = 6.1; plugged in
    for name, bits in (("f = 0", expected == 0), ("f ≥ .3", expected >= 0.3)):
        assert np.sum(bits) >= 32
        spread = np.square(np.array(off)[:, bits]).mean()
        assert spread == pytest.approx(1, rel=0.05 + 5 * math.sqrt(2 / (repeats * np.sum(bits)))), name


def test_values_are_found_and_fitted() -> None:
    """Zipf 1.5 at n = 10⁵, d = 1024 with 2·10⁴ fakes, as the reference has it."""
    draw, users, fakes = np.random.default_rng(3), 100_000, 20_000
    weights = 1 / np.arange(1, 1025) ** 1.5
    values = draw.choice(1024, size=users, p=weights / weights.sum())
    truth = np.bincount(values, minlength=1024) / users
    top = np.argsort(-truth)[:10]
    for epsilon, most, fewest in ((4.0, 2e-5, 15), (7.78, 4e-6, 40)):
        mechanism, rng = RAPPOR(1024, epsilon), Randomness(b"\x08" * 32)
        words = np.concatenate((mechanism.randomize(values, rng), rng.uint64((fakes, mechanism.words))))
        found = mechanism.estimate(mechanism.tally(words), users, fakes)
        assert np.square(found.frequency - truth)[top].mean() < most
        assert np.count_nonzero(found.frequency) >= fewest
        low, high = found.interval(0.95).T
        assert np.mean((low <= truth) & (truth <= high)) >= 0.95
        assert found.significant() is None


def test_a_cohort_of_no_report_is_left_out(rng: Randomness) -> None:
    """Of 16 cohorts nine reports leave some empty; the others' bits are as they would be by themselves."""
    mechanism, values = RAPPOR(30, 20.0), np.full(9, 4)
    words = mechanism.randomize(values, rng)
    found = mechanism.estimate(mechanism.tally(words), users=9)
    empty = np.setdiff1d(np.arange(16), mechanism.cohorts_of(words))
    assert len(empty) >= 7
    assert np.all(np.isinf(found.bit_variance[empty]))
    assert not found.bits[empty].any()
    bits: Any = found.to_json()["bits"]
    assert np.all(np.isfinite(bits["stderr"]))
    assert np.argmax(found.frequency) == 4
    assert found.frequency[4] == pytest.approx(1, abs=0.2)
    low, high = found.interval()[4]
    assert low <= 1 <= high


def problem(seed: int, values: int, rows: int) -> tuple[Design, Any, Any]:
    draw = np.random.default_rng(seed)
    design = Design(draw.integers(0, rows, size=(values, 6)), rows)
    f = np.where(draw.random(values) < 0.1, draw.random(values), 0.0)
    y = design.matrix @ f + 0.1 * draw.standard_normal(rows)
    return design, y, 0.2 * np.sqrt(design.squares)


@pytest.mark.parametrize(("values", "rows"), [(1, 4), (30, 60), (200, 300), (400, 150), (900, 1500)])
def test_the_fit_is_where_no_value_can_be_moved_to_advantage(values: int, rows: int) -> None:
    """KKT, and no better objective near it; more values than rows too."""
    for seed in range(3):
        design, y, penalties = problem(seed, values, rows)
        f = nonnegative_lasso(design, y, penalties)
        assert f.min() >= 0
        assert kkt_residuals(design, f, design.turned @ y - penalties).max() <= TOLERANCE

        def objective(at: Any) -> float:
            return float(np.square(design.matrix @ at - y).sum() / 2 + penalties @ at)  # noqa: B023 - called at once

        draw = np.random.default_rng(seed)
        for scale in (1e-3, 1e-1):
            beside = np.maximum(f + scale * draw.standard_normal((20, values)), 0.0)
            assert all(objective(f) <= objective(one) + 1e-12 for one in beside)


def test_a_fit_that_has_not_settled_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the check of the residual sees a point that is not quite the minimum."""
    design, y, penalties = problem(1, 200, 300)
    f = nonnegative_lasso(design, y, penalties)
    moved = f.copy()
    moved[np.argmax(f)] += 1e-8
    assert kkt_residuals(design, moved, design.turned @ y - penalties).max() > TOLERANCE
    monkeypatch.setattr(lasso, "STEPS", 3)
    monkeypatch.setattr(lasso, "ROUNDS", 0)
    with raises("estimate.unfitted"):
        nonnegative_lasso(design, y, penalties)


def test_the_second_noise_is_estimated_through() -> None:
    """p* and q* of the literature; 1,000 bits of ŷ within their errors, and the variance within 5 standard errors."""
    mechanism, rng = RAPPOR(64, 6.0, bits=64), Randomness(b"\x09" * 32)
    noise = InstantaneousNoise(mechanism, 0.75, 0.5)
    f = 2 * float(mechanism.flipped)
    p, q = noise.oracle
    assert p == pytest.approx((1 - f / 2) * 0.75 + f / 2 * 0.5)
    assert q == pytest.approx(f / 2 * 0.75 + (1 - f / 2) * 0.5)
    assert 0 < noise.epsilon < mechanism.epsilon_local
    assert InstantaneousNoise(mechanism, 1.0, 0.0).epsilon == pytest.approx(mechanism.epsilon_local)
    values = np.arange(40_000) % 5
    expected = (mechanism.design.matrix @ (np.bincount(values, minlength=64) / len(values))).reshape(16, 64)
    words = mechanism.randomize(values, rng)
    found = noise.estimate(noise.tally(*noise.report(words, rng)), len(values))
    off = (found.bits - expected) / np.sqrt(found.bit_variance)
    assert np.abs(off).max() < 6.1
    assert np.square(off).mean() == pytest.approx(1, abs=5 * math.sqrt(2 / off.size))


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (0.3, 0.6), (1.1, 0.1), (0.5, -0.1), (float("nan"), 0.1)])
def test_a_second_noise_that_tells_nothing_is_refused(p: float, q: float) -> None:
    with raises("mechanism.share"):
        InstantaneousNoise(RAPPOR(64, 6.0), p, q)


def test_epsilon_is_that_of_the_literature() -> None:
    """f = 1/2 with two hash functions has ln 81, f = 1/4 has 4 ln 7; one hash function is SUE."""
    for tau, epsilon in ((4, math.log(81)), (2, 4 * math.log(7))):
        given = {"tau": tau, "field_bits": 4, "bits": 128, "hashes": 2, "cohorts": 8}
        assert RAPPOR.from_parameters(10, given).epsilon_local == pytest.approx(epsilon, rel=1e-15)
    one, sue = RAPPOR(10, 3.0, hashes=1), MECHANISMS["sue"].build(10, 3.0)
    assert one.epsilon_local == sue.epsilon_local <= 3.0
    for epsilon in (0.5, 2.0, 7.78, 20.0):
        assert epsilon * 0.9 < RAPPOR(10, epsilon).epsilon_local <= epsilon
        smaller = {**RAPPOR(10, epsilon).parameters}
        smaller["tau"] -= 1
        assert RAPPOR.from_parameters(10, smaller).epsilon_local > epsilon


GOOD = {"tau": 69, "field_bits": 8, "bits": 128, "hashes": 2, "cohorts": 16}
DOCUMENTS: list[tuple[Mapping[str, Any], tuple[str, ...]]] = [
    ({"tau": 69, "field_bits": 8}, ("mechanism.parameters", "rappor", "bits")),
    ({**GOOD, "salt": 1}, ("mechanism.parameters", "rappor")),
    ({**GOOD, "tau": 0}, ("mechanism.range", "tau of rappor")),
    ({**GOOD, "tau": 128}, ("mechanism.range", "tau of fields of 8 bits")),
    ({**GOOD, "field_bits": 1}, ("mechanism.range", "field_bits of rappor")),
    ({**GOOD, "field_bits": 17}, ("mechanism.range", "field_bits of rappor")),
    ({**GOOD, "bits": 1}, ("mechanism.range", "bits of rappor")),
    ({**GOOD, "bits": 2**16 + 1}, ("mechanism.range", "bits of rappor")),
    ({**GOOD, "hashes": 0}, ("mechanism.range", "hashes of rappor")),
    ({**GOOD, "hashes": 17}, ("mechanism.range", "hashes of rappor")),
    ({**GOOD, "cohorts": 0}, ("mechanism.range", "cohorts of rappor")),
    ({**GOOD, "cohorts": 12}, ("mechanism.range", "power of two", "12")),
    ({**GOOD, "cohorts": 2048}, ("mechanism.range", "cohorts of rappor")),
    ({**GOOD, "tau": 1, "field_bits": 16, "hashes": 8}, ("mechanism.epsilon", "24")),
]


@pytest.mark.parametrize(("parameters", "mistake"), DOCUMENTS)
def test_a_wrong_document_gets_one_sentence(parameters: Mapping[str, Any], mistake: tuple[str, ...]) -> None:
    assert from_parameters("rappor", 10, GOOD).parameters == GOOD
    with raises(*mistake) as caught:
        from_parameters("rappor", 10, parameters)
    assert len(str(caught.value)) < 160


@pytest.mark.parametrize(
    ("given", "mistake"),
    [
        ({"domain": 1}, ("mechanism.range", "domain of RAPPOR", "2", str(2**20))),
        ({"domain": 2**20 + 1}, ("mechanism.range", "domain of RAPPOR")),
        ({"epsilon": 0.0}, ("mechanism.epsilon",)),
        ({"epsilon": float("nan")}, ("mechanism.epsilon",)),
        ({"epsilon": 24.1}, ("mechanism.epsilon",)),
        ({"epsilon": 1e-4}, ("mechanism.fields", "16", "0.0001")),
        ({"epsilon": 1.0, "field_bits": 2}, ("mechanism.fields", "2", "1.0")),
        ({"bits": 1}, ("mechanism.range", "bits")),
        ({"hashes": 0}, ("mechanism.range", "hashes")),
        ({"cohorts": 3}, ("mechanism.range", "power of two", "3")),
        ({"field_bits": 17}, ("mechanism.range", "field_bits")),
    ],
)
def test_a_wrong_argument_gets_one_sentence(given: dict[str, Any], mistake: tuple[str, ...]) -> None:
    with raises(*mistake) as caught:
        RAPPOR(**{"domain": 10, "epsilon": 3.0, **given})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("tally", [np.zeros((16, 128)), np.zeros((15, 129)), np.ones((16, 129), dtype=np.int64)])
def test_counts_that_cannot_be_get_one_sentence(tally: Any) -> None:
    with raises("mechanism.counts" if tally.shape != (16, 129) else "estimate.counts"):
        RAPPOR(10, 3.0).estimate(tally, users=100)
