"""What two-level mechanisms send, by enumeration of narrow twins: uniform encodings, the mixture, ε_l, p, q, u and c.

Each check is shown to catch a mistake that is a little one.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from peos.crypto.randomness import U64, Randomness
from peos.ldp.mixture import logarithm_up, threshold_for
from peos.registry import MECHANISMS
from tests.unit.ldp.enumeration import Law
from tests.unit.ldp.twins import (
    EVERY,
    TWINS,
    NarrowHadamard,
    NarrowProjection,
    NarrowSubset,
    NarrowTHE,
    NarrowUE,
    Twin,
    hadamard,
    rmp,
    subset,
    the,
    ue,
)


def worst(laws: list[Law]) -> Fraction | None:
    """The largest Pr[report | v] / Pr[report | v'], exactly; None where one is impossible."""
    found = Fraction(1)
    for report in set().union(*laws):
        chances = [one.get(report, Fraction(0)) for one in laws]
        if not min(chances):
            return None
        found = max(found, max(chances) / min(chances))
    return found


def encodings_are_uniform(twin: Twin) -> None:
    """On all patterns that support the value, of which there are as many for each value."""
    supports = twin.supports()
    sizes = {
        int(column.sum()): _is_uniform(one, column) for one, column in zip(twin.encodings(), supports.T, strict=True)
    }
    assert list(sizes.values()) == [True], f"{twin}: {sizes}"


def _is_uniform(told: Law, supported: NDArray[np.bool_]) -> bool:
    where = np.flatnonzero(supported)
    return told == {(int(word),): Fraction(1, len(where)) for word in where}


def it_is_the_mixture(twin: Twin) -> None:
    """γ·uniform + (1 − γ)·encoding, to the last fraction, and E = 1 + (1 − γ)/(γμ) is the worst ratio."""
    γ, laws = twin.mechanism.gamma, twin.laws
    for sent, told in zip(laws, twin.encodings(), strict=True):
        for word in range(2**twin.pattern_bits):
            mixed = γ * twin.chance + (1 - γ) * told.get((word,), Fraction(0))
            assert sent.get((word,), Fraction(0)) == mixed, f"{twin}, word {word}"
    ratio = worst(laws)
    assert ratio is not None, f"{twin}: a report betrays that a value is impossible"
    assert logarithm_up(ratio) == twin.mechanism.epsilon_local, f"{twin}: {ratio}"


def p_q_and_u_are_right(twin: Twin) -> None:
    """And for no pair do two supports coincide less often than exact accounting takes them to."""
    supports, oracle, blanket = twin.supports(), twin.mechanism.oracle, twin.mechanism.blanket
    assert blanket is not None
    assert supports.mean(axis=0) == pytest.approx(oracle.u, rel=1e-14)
    assert blanket.own == blanket.other == oracle.u
    for value, one in enumerate(twin.laws):
        for other in range(twin.mechanism.domain):
            found = float(sum((chance for (word,), chance in one.items() if supports[word, other]), Fraction(0)))
            if other == value:
                assert found == pytest.approx(oracle.p, rel=1e-14), f"{twin}: {value}"
            else:
                assert abs(found - oracle.q) <= oracle.slack + 1e-14, f"{twin}: {value}, {other}: {found}, {oracle}"
                both = Fraction(int(np.sum(supports[:, value] & supports[:, other])), len(supports))
                assert blanket.both <= both, f"{twin}: {value}, {other}"


CHECKS = (encodings_are_uniform, it_is_the_mixture, p_q_and_u_are_right)


def test_every_mechanism_has_a_twin() -> None:
    # Of uneven cells, of seeds that eight do not exhaust, and without a coin: test_privacy_by_enumeration.py. Of more
    # than two levels: test_rappor.py
    assert {kind.name for kind in MECHANISMS.values()} == {"grr", "solh", "sue", "rappor"} | set(TWINS)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("twin", EVERY, ids=str)
def test_what_is_sent_is_what_is_claimed(twin: Twin, check: Callable[[Twin], None]) -> None:
    check(twin)


class RowZero(NarrowHadamard):
    """Wrong: the row 0, whose signs are the same for all, may be drawn, as c does not know."""

    def _rows(self, words: U64) -> U64:
        return words >> np.uint64(self._bits - self._row_bits) << np.uint64(self.degree) >> np.uint64(self._row_bits)


class FirstPattern(NarrowHadamard):
    """Wrong: what stands between row and signs is 0 in encodings."""

    def encode(self, values: NDArray[np.int64], rng: Randomness) -> U64:
        """With 0 between."""
        between = np.uint64((1 << self._bits - self._row_bits) - self.cells)
        return super().encode(values, rng) & ~between


class Eager(NarrowHadamard):
    """Wrong by one coin: tells the value at T too."""

    def _set(self, *given: object) -> None:
        super()._set(*given)  # type: ignore[arg-type]  # as they are given
        tells = self._mixture.tells
        coin = self._mixture

        def one_more(count: int, rng: Randomness) -> NDArray[np.bool_]:
            coin.threshold += 1
            told = tells(count, rng)
            coin.threshold -= 1
            return told

        coin.tells = one_more  # type: ignore[method-assign]  # that is the mistake


class WiderWindow(NarrowSubset):
    """Wrong by one: an encoding's window may end one number too far."""

    def encode(self, values: NDArray[np.int64], rng: Randomness) -> U64:
        """With a window one wider, which is only drawn with."""
        circle, self.window = self.window, self.window + 1
        found = super().encode(values, rng)
        self.window = circle
        return found


class FirstField(NarrowUE):
    """Wrong: a told field is always 0."""

    def redraw(self, words: U64, values: NDArray[np.int64], fields: U64) -> None:
        super().redraw(words, values, np.where(fields < np.uint64(self.tau), np.uint64(0), fields))


class SameSign(NarrowProjection):
    """Wrong: the lowest bit of the state, which is that of the value, in place of the generator's."""

    def signs(self, rows: U64, values: NDArray[np.int64]) -> U64:
        """Without a generator."""
        return np.broadcast_to(np.asarray(values).astype(np.uint64) & np.uint64(1), np.broadcast(rows, values).shape)


class FirstRow(NarrowProjection):
    """Wrong: what stands between row and sign is 0 in encodings."""

    def encode(self, values: NDArray[np.int64], rng: Randomness) -> U64:
        """With 0 between."""
        return super().encode(values, rng) & ~np.uint64(2)


class Nominal(NarrowTHE):
    """Wrong: what is asked is claimed, which is above what holds."""

    def __init__(self, domain: int, epsilon: float, *, field_bits: int) -> None:
        super().__init__(domain, epsilon, field_bits=field_bits)
        self.nominal = epsilon

    @property
    def epsilon_local(self) -> float:
        """Of the Laplace noise that it does not draw."""
        return self.nominal


class AtNominal(NarrowTHE):
    """Wrong: the coin is that of the nominal ε, and the true one is claimed."""

    def __init__(self, domain: int, epsilon: float, *, field_bits: int) -> None:
        super().__init__(domain, epsilon, field_bits=field_bits)
        self.true = super().epsilon_local
        coin = threshold_for(epsilon, self.share, coin_bits=self._coin_bits)
        self._set(domain, coin, self.tau, field_bits, self.question)

    @property
    def epsilon_local(self) -> float:
        """Of the coin that it should have."""
        return self.true


@pytest.mark.parametrize(
    ("wrong", "check"),
    [
        (ue(2, 1.0, 0.3, 3, FirstField), encodings_are_uniform),
        (hadamard(4, 1.5, 1, RowZero), p_q_and_u_are_right),
        (hadamard(5, 0.7, 1, FirstPattern), encodings_are_uniform),
        (hadamard(5, 0.7, 1, Eager), it_is_the_mixture),
        (subset(5, 0.8, 2, WiderWindow, wider=1), encodings_are_uniform),
        (the(2, 2.0, 3, Nominal), it_is_the_mixture),
        (the(2, 2.0, 3, AtNominal), it_is_the_mixture),
        (rmp(3, 1.5, "68", SameSign), p_q_and_u_are_right),
        (rmp(3, 1.5, "68", FirstRow), encodings_are_uniform),
    ],
    ids=[
        *("first field", "row 0", "first pattern", "≤ for <", "off by one", "nominal ε claimed", "nominal ε drawn"),
        *("no generator", "nothing between"),
    ],
)
def test_a_sampler_that_is_a_little_wrong_is_caught(wrong: Twin, check: Callable[[Twin], None]) -> None:
    with pytest.raises(AssertionError):
        check(wrong)
