"""ε_l against the exact law of what is sent: never above, and reached; and that a wrong sampler would be caught."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from peos.crypto.randomness import U64, Randomness
from peos.ldp import SUE
from peos.ldp.base import PureMechanism
from tests.full import full
from tests.unit.ldp.enumeration import Law, NarrowGRR, NarrowLocalHash, encoding_law, law, worst_ratio

TIGHT = 1e-9  # of ε_l, itself a double


def preimages(cells: int, bits: int) -> tuple[str, int]:
    """One draw of a preimage: their numbers differ by one between cells, and a common multiple serves them all."""
    smallest = 2**bits // cells
    return "below", math.lcm(smallest, smallest + (2**bits % cells != 0))


def grr_laws(mechanism: NarrowGRR) -> list[Law]:
    draws = [preimages(mechanism.domain, 6), ("top", 5), ("top", 6)]
    return [law(mechanism, value, draws) for value in range(mechanism.domain)]


def local_hash_laws(mechanism: NarrowLocalHash) -> list[Law]:
    draws = [("top", 3), preimages(mechanism.cells, 4), ("top", 5), ("top", 7)]
    return [law(mechanism, value, draws) for value in range(mechanism.domain)]


def sue_laws(mechanism: SUE) -> list[Law]:
    fields, bits, τ = mechanism.domain * mechanism.field_bits, mechanism.field_bits, mechanism.tau
    draws = [("low", fields), ("top", bits), ("below", τ), ("below", 2**bits - τ)]
    return [law(mechanism, value, draws, blanket_mask=2**fields - 1) for value in range(mechanism.domain)]


def exceeds(mechanism: PureMechanism, laws: list[Law]) -> bool:
    return math.log(worst_ratio(laws)) > mechanism.epsilon_local * (1 + 1e-15)


def check_tight(mechanism: PureMechanism, laws: list[Law]) -> None:
    true = math.log(worst_ratio(laws))
    evidence = f"{mechanism}: true {true!r}, claimed {mechanism.epsilon_local!r}"
    assert not exceeds(mechanism, laws), evidence
    assert true >= mechanism.epsilon_local - TIGHT, evidence


@pytest.mark.parametrize("domain", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("epsilon", [0.5, 1.5, 3.0])
def test_grr_keeps_to_epsilon_and_reaches_it(domain: int, epsilon: float) -> None:
    mechanism = NarrowGRR(domain, epsilon)
    assert mechanism.epsilon_local <= epsilon
    check_tight(mechanism, grr_laws(mechanism))


@pytest.mark.parametrize(("domain", "cells"), [(5, 2), (4, 3), (3, 4), (7, 5)])
@pytest.mark.parametrize("epsilon", [0.8, 2.5])
def test_local_hashing_keeps_to_epsilon_and_reaches_it(domain: int, cells: int, epsilon: float) -> None:
    mechanism = NarrowLocalHash(domain, epsilon, d_prime=cells)
    assert mechanism.epsilon_local <= epsilon
    check_tight(mechanism, local_hash_laws(mechanism))


@pytest.mark.parametrize(
    ("domain", "bits", "tau"), [(2, 2, 1), (3, 3, 1), (3, 3, 2), (2, 4, 5), (4, 2, 1), full(2, 5, 7)]
)
def test_sue_keeps_to_epsilon_and_reaches_it(domain: int, bits: int, tau: int) -> None:
    mechanism = SUE.from_parameters(domain, {"tau": tau, "field_bits": bits})
    check_tight(mechanism, sue_laws(mechanism))


def check_mixture(mechanism: PureMechanism, laws: list[Law], encodings: list[Law], patterns: int) -> None:
    γ = mechanism.gamma
    for value, (sent, encoded) in enumerate(zip(laws, encodings, strict=True)):
        for word in range(patterns):
            mixed = γ / patterns + (1 - γ) * encoded.get((word,), Fraction(0))
            found = sent.get((word,), Fraction(0))
            assert found == mixed, f"{mechanism}, value {value}, word {word}: {found}, not {mixed}"


def test_a_blanket_report_is_exactly_a_fake() -> None:
    """The law is γ·uniform + (1 − γ)·encoding, to the last fraction, with the γ that is claimed."""
    grr = NarrowGRR(5, 1.5)
    encodings = [encoding_law(grr, value, [preimages(5, 6)]) for value in range(5)]
    check_mixture(grr, grr_laws(grr), encodings, 2**6)
    for cells in (3, 4):
        hashing = NarrowLocalHash(5, 1.5, d_prime=cells)
        encodings = [encoding_law(hashing, value, [("top", 3), preimages(cells, 4)]) for value in range(5)]
        check_mixture(hashing, local_hash_laws(hashing), encodings, 2**7)
    for bits, tau in ((3, 1), (3, 3), (4, 5)):
        sue = SUE.from_parameters(2, {"tau": tau, "field_bits": bits})
        draws = [("low", 2 * bits), ("below", tau)]
        encodings = [encoding_law(sue, value, draws, mask=4**bits - 1) for value in range(2)]
        check_mixture(sue, sue_laws(sue), encodings, 4**bits)


@pytest.mark.parametrize("domain", [3, 5, 8])
def test_an_encoding_is_uniform_over_all_words_that_decode_to_the_value(domain: int) -> None:
    mechanism = NarrowGRR(domain, 1.0)
    everything = np.arange(2**6, dtype=np.uint64)[:, np.newaxis]
    answers = mechanism.decode(everything)
    for value in range(domain):
        told = encoding_law(mechanism, value, [preimages(domain, 6)])
        expected = {(int(word),) for word in np.flatnonzero(answers == value)}
        assert set(told) == expected
        assert set(told.values()) == {Fraction(1, len(expected))}


class FirstPreimageGRR(NarrowGRR):
    """Wrong: always the first word of the cell, so that the other words of the cell can only be blankets."""

    def encode(self, values: NDArray[np.int64], rng: Randomness) -> U64:
        """The first of each cell's words."""
        truth = super().encode(values, rng)
        return self._mixture._first(self._mixture.cell_of(truth[:, 0]).astype(np.uint64))[:, np.newaxis]


class EagerGRR(NarrowGRR):
    """Wrong by one coin in 2^5: tells the value at T too."""

    def randomize(self, values: NDArray[np.int64], rng: Randomness | None = None) -> U64:
        """As GRR does, but for ≤ in place of <."""
        rng = self._rng(rng)
        truth = self.encode(values, rng)
        tells = rng.uint64(len(truth)) >> np.uint64(59) <= np.uint64(self._mixture.threshold)
        blanket = rng.uint64(truth.shape) >> np.uint64(58)
        return np.where(tells[:, np.newaxis], truth, blanket)


class ZeroSUE(SUE):
    """Wrong: sets the value's bit by the field 0 alone, so that 1 … τ − 1 speak against the value."""

    def redraw(self, words: U64, values: NDArray[np.int64], fields: U64) -> None:
        super().redraw(words, values, np.where(fields < np.uint64(self.tau), np.uint64(0), fields))


def test_a_sampler_that_is_a_little_wrong_is_caught() -> None:
    for wrong in (FirstPreimageGRR(5, 1.0), EagerGRR(5, 1.0), EagerGRR(4, 3.0)):
        assert exceeds(wrong, grr_laws(wrong)), f"{type(wrong).__name__} passed"
    sue = ZeroSUE.from_parameters(2, {"tau": 3, "field_bits": 3})
    assert exceeds(sue, sue_laws(sue)), "ZeroSUE passed"


def check_oracle(mechanism: PureMechanism, laws: list[Law], supports: NDArray[np.bool_]) -> None:
    """p, q and u of `oracle` against the law and `supports` (patterns, domain)."""
    for value, one in enumerate(laws):
        for other in range(mechanism.domain):
            found = sum((chance for (word,), chance in one.items() if supports[word, other]), Fraction(0))
            expected = mechanism.oracle.p if other == value else mechanism.oracle.q
            assert float(found) == pytest.approx(expected, rel=1e-14), f"{mechanism}: {value} supports {other}"
    assert supports.mean(axis=0) == pytest.approx(mechanism.oracle.u, rel=1e-14)


@pytest.mark.parametrize("domain", [2, 4, 8])
def test_p_q_and_u_of_grr_are_those_of_what_is_sent(domain: int) -> None:
    """Exact where cells are even; with 64-bit words the unevenness is below a double's step for every domain."""
    mechanism = NarrowGRR(domain, 1.5)
    told = mechanism.decode(np.arange(2**6, dtype=np.uint64)[:, np.newaxis])
    check_oracle(mechanism, grr_laws(mechanism), told[:, np.newaxis] == np.arange(domain))


@pytest.mark.parametrize(("domain", "bits", "tau"), [(2, 3, 3), (3, 3, 1), (2, 4, 5)])
def test_p_q_and_u_of_sue_are_those_of_what_is_sent(domain: int, bits: int, tau: int) -> None:
    mechanism = SUE.from_parameters(domain, {"tau": tau, "field_bits": bits})
    told = mechanism.decode(np.arange(2 ** (domain * bits), dtype=np.uint64)[:, np.newaxis])
    check_oracle(mechanism, sue_laws(mechanism), told)


@pytest.mark.parametrize("cells", [2, 4, 8])
def test_p_and_u_of_local_hashing_are_those_of_what_is_sent(cells: int) -> None:
    """q is a property of the family over all (a, b), which eight seeds do not exhaust: tests of the family count it."""
    mechanism = NarrowLocalHash(4, 1.5, d_prime=cells)
    everything = np.arange(2**7, dtype=np.uint64)[:, np.newaxis]
    seeds, told = mechanism.decode(everything)
    supports = mechanism.hash(seeds[:, np.newaxis], np.arange(4)) == told[:, np.newaxis]
    assert supports.mean(axis=0) == pytest.approx(mechanism.oracle.u, rel=1e-14)
    for value, one in enumerate(local_hash_laws(mechanism)):
        found = sum((chance for (word,), chance in one.items() if supports[word, value]), Fraction(0))
        assert float(found) == pytest.approx(mechanism.oracle.p, rel=1e-14)
