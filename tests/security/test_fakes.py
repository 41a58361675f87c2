"""Fakes: shufflers that skew them to promote a value, and an analyzer that tells them from reports."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, chi2, norm

from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.paillier import PaillierPrivateKey
from peos.ldp import GRR, SUE, LocalHash
from peos.ldp.base import Mechanism
from peos.ldp.mixture import Mixture
from peos.protocols.sequential import SEQUENTIAL
from peos.simulate import Node, Simulation
from tests.full import full
from tests.security.laid import Laid, WatchedNode
from tests.security.verdict import Verdict, of_flags, of_guesses

pytestmark = pytest.mark.full  # `make security` runs it too

ALPHA = 1e-6
DOMAIN = 16
PROMOTED = 5
USERS, FAKES = 2_000, 3_000


# Skewed fakes. Who: all shufflers but one, whose shares of the fakes all add up to a report of one value.


def promoting(honest: int) -> type[WatchedNode]:
    """Shufflers of which only one draws its shares of the fakes."""

    class Skewing(WatchedNode):
        def fake_shares(self, seed: bytes) -> U64:
            if self.number == honest:
                return super().fake_shares(seed)
            shares = np.zeros((self.document.fakes, 1), dtype=np.uint64)
            # One of the others holds the report, the rest hold zeros.
            if self.number == (2 if honest == 1 else 1):
                shares[:] = np.uint64(PROMOTED * 2**60 + 2**59)
            return shares

    return Skewing


class SkewingNode(Node):
    """A shuffler of a sequential shuffle, which draws its fakes whole; shuffler 3 alone draws them as it should."""

    def fake_shares(self, seed: bytes) -> U64:
        """Reports of the value that is promoted."""
        own = super().fake_shares(seed)
        if self.number != 3:
            own[:] = np.uint64(PROMOTED * 2**60 + 2**59)
        return own


class Skewed(Simulation):
    """A sequential shuffle with two such shufflers."""

    protocol = SEQUENTIAL
    node_type = SkewingNode


@dataclass(frozen=True)
class Promotion:
    """What an attempt at promoting a value came to."""

    fakes: NDArray[np.int64]  # how many fakes tell each value
    excess: float  # of the promoted value's estimate over its true frequency
    stderr: float
    shift: float  # of the estimate, if every fake that an attacker holds told the value


def promote(key: PaillierPrivateKey, nodes: type[Node]) -> Promotion:
    """A whole collection in which everybody's value is another than the promoted one."""
    mechanism = GRR(DOMAIN, 4.0)
    laid = Laid(key, Randomness(b"\x04" * 32), nodes=nodes, fakes=FAKES, mechanism=mechanism)
    laid.lay(laid.mechanism.randomize(np.zeros(USERS, dtype=np.int64), laid.rng))
    laid.shuffle()
    laid.assert_conserved()
    estimate = laid.publish(submitted=USERS).estimate
    return promotion(mechanism, laid.fake_words(), float(estimate.frequency[PROMOTED]))


def promote_in_sequence() -> Promotion:
    """The same by a sequential shuffle, from submission to estimate."""
    mechanism = GRR(DOMAIN, 4.0)
    simulation = Skewed(mechanism, fakes=FAKES, rng=Randomness(b"\x04" * 32))
    estimate = simulation.run(np.zeros(USERS, dtype=np.int64)).estimate
    fakes = np.concatenate([node.fake_shares(node.fake_seed) for node in simulation.nodes])
    return promotion(mechanism, fakes, float(estimate.frequency[PROMOTED]))


def promotion(mechanism: GRR, fakes: U64, excess: float) -> Promotion:
    """What came of it."""
    oracle = mechanism.oracle
    return Promotion(
        mechanism.support_counts(fakes),
        excess,
        mechanism.variance(USERS, FAKES) ** 0.5,
        2 / 3 * FAKES * (1 - oracle.u) / (USERS * (oracle.p - oracle.q)),
    )


def promoted(attack: str, found: Promotion) -> Verdict:
    """How far the fakes tell the promoted value beyond their share."""
    return of_guesses(attack, int(found.fakes[PROMOTED]), FAKES, choices=DOMAIN)


@pytest.mark.parametrize("honest", [1, full(2), full(3)])
def test_all_shufflers_but_one_cannot_make_the_fakes_tell_a_value(key: PaillierPrivateKey, honest: int) -> None:
    found = promote(key, promoting(honest))
    promoted(f"skewed fakes, shuffler {honest} honest", found).assert_fails()
    expected = FAKES / DOMAIN
    statistic, limit = float(np.sum((found.fakes - expected) ** 2) / expected), float(chi2.isf(ALPHA, DOMAIN - 1))
    assert statistic < limit, f"fakes not uniform: chi² {statistic:.1f}, at alpha {ALPHA} under {limit:.1f}, n {FAKES}"
    bound = float(norm.isf(ALPHA / 2)) * found.stderr
    assert abs(found.excess) < bound, (
        f"estimate off by {found.excess:+.4f}, at alpha {ALPHA} under {bound:.4f}, n {USERS}"
    )


def test_in_a_sequential_shuffle_skewed_fakes_shift_the_estimate_by_as_much_as_predicted() -> None:
    found = promote_in_sequence()
    promoted("whole fakes, two of three shufflers", found).assert_succeeds()
    bound = float(norm.isf(ALPHA / 2)) * found.stderr
    assert abs(found.excess - found.shift) < bound, (
        f"estimate off by {found.excess:+.4f}, predicted {found.shift:+.4f} ± {bound:.4f} at alpha {ALPHA}, n {USERS}"
    )
    assert found.excess > 10 * bound


# Fakes told from reports. Who: the analyzer, from the words alone; values are uniform, so that only the encoding tells.

WORDS = 40_000
Flag = Callable[[U64], NDArray[np.bool_]]


class FirstPreimage(Mixture):
    """Encodes an answer always by the smallest number that tells it."""

    def preimages(self, answers: NDArray[np.int64], rng: Randomness) -> U64:  # noqa: ARG002  # the parent's
        """The first of each cell."""
        return self._first(answers.astype(np.uint64))


class FirstFields(SUE):
    """Writes each user's own field always as 0 or τ, and zeros as padding."""

    def redraw(self, words: U64, values: NDArray[np.int64], fields: U64) -> None:
        super().redraw(words, values, np.where(fields < np.uint64(self.tau), np.uint64(0), np.uint64(self.tau)))
        used = self.domain * self.field_bits % 64
        words[:, -1] &= np.uint64((1 << used) - 1 if used else 2**64 - 1)


def grr_always_first() -> GRR:
    mechanism = GRR(10, 4.0)
    mechanism._mixture = FirstPreimage(mechanism._mixture.threshold, 10, 64)
    return mechanism


def local_hash_always_first() -> LocalHash:
    mechanism = LocalHash(100, 4.0, 10)
    mechanism._mixture = FirstPreimage(mechanism._mixture.threshold, 10, 32)
    return mechanism


def tell(attack: str, mechanism: Mechanism, rng: Randomness, flag: Flag) -> Verdict:
    """Flag reports among as many reports as fakes."""
    reports, fakes = (
        mechanism.randomize(_uniform_values(rng, mechanism.domain), rng),
        rng.uint64((WORDS, mechanism.words)),
    )
    return of_flags(attack, int(np.sum(flag(reports))), WORDS, int(np.sum(flag(fakes))), WORDS)


def within_cell(words: U64, bits: int) -> NDArray[np.float64]:
    """Of each word's number of `bits` bits: where it stands in its cell, one of ten, from 0 (the first) to 1."""
    whole = 2**bits
    numbers = [int(word) % whole for word in words[:, 0]]
    first = [-(-(z * 10 // whole) * whole // 10) for z in numbers]
    return np.array([(z - start) / (whole / 10) for z, start in zip(numbers, first, strict=True)])


def is_first(bits: int) -> Flag:
    """Flags a number that is the first of its cell."""
    return lambda words: within_cell(words, bits) == 0


def is_low(bits: int) -> Flag:
    """Flags a number in the lower half of its cell."""
    return lambda words: within_cell(words, bits) < 0.5


@pytest.mark.parametrize("mechanism", [GRR(10, 4.0), LocalHash(100, 4.0, 10)], ids=lambda one: str(one.name))
def test_where_a_number_stands_in_its_cell_does_not_tell_reports_from_fakes(
    mechanism: Mechanism, rng: Randomness
) -> None:
    bits = 64 if mechanism.name == "grr" else 32
    tell(f"first of the cell, {mechanism.name}", mechanism, rng, is_first(bits)).assert_fails()
    tell(f"lower half of the cell, {mechanism.name}", mechanism, rng, is_low(bits)).assert_fails()


def test_always_the_first_preimage_tells_reports_from_fakes(rng: Randomness) -> None:
    tell("first of the cell, GRR always encoding so", grr_always_first(), rng, is_first(64)).assert_succeeds()
    tell("first of the cell, local hashing so", local_hash_always_first(), rng, is_first(32)).assert_succeeds()


UNARY = (15, 4.0, 16)  # 15 fields of 16 bits, and 16 bits of padding


def fields(words: U64) -> NDArray[np.uint16]:
    """The fifteen fields and the padding of each report."""
    return words.astype("<u8").view("<u2")


def has_canonical_field(tau: int) -> Flag:
    """Flags a report with a field that is the first number of its cell, 0 or τ."""
    return lambda words: np.any((fields(words)[:, :15] == 0) | (fields(words)[:, :15] == tau), axis=1)


def has_low_fields(tau: int) -> Flag:
    """Flags a report most of whose fields stand in the lower half of their cell, [0, τ) or [τ, 2^16)."""

    def flag(words: U64) -> NDArray[np.bool_]:
        found = fields(words)[:, :15].astype(np.int64)
        low = np.where(found < tau, found < tau // 2, found < tau + (2**16 - tau) // 2)
        most: NDArray[np.bool_] = low.sum(axis=1) > 7
        return most

    return flag


def has_small_padding(limit: int) -> Flag:
    """Flags a report whose padding is below a limit."""
    return lambda words: fields(words)[:, 15] < limit


def test_fields_and_padding_do_not_tell_unary_reports_from_fakes(rng: Randomness) -> None:
    mechanism = SUE(*UNARY)
    tell("a canonical field", mechanism, rng, has_canonical_field(mechanism.tau)).assert_fails()
    tell("most fields low", mechanism, rng, has_low_fields(mechanism.tau)).assert_fails()
    tell("padding in the lower half", mechanism, rng, has_small_padding(2**15)).assert_fails()
    tell("padding zero", mechanism, rng, has_small_padding(1)).assert_fails()


def test_canonical_fields_and_zero_padding_tell_unary_reports_from_fakes(rng: Randomness) -> None:
    mechanism = FirstFields(*UNARY)
    tell("a canonical field, always so", mechanism, rng, has_canonical_field(mechanism.tau)).assert_succeeds()
    tell("padding zero, always so", mechanism, rng, has_small_padding(1)).assert_succeeds()


# How many positions are set. A real report's own position is set likelier than a fake's, and that much is conceded.

POSITIONS = 64


def conceded(flip: float, fake: float, limit: int) -> float:
    """Pr[at most `limit` positions set in a report] less that of a fake, whose positions are set with `fake` each."""
    others = binom(POSITIONS - 1, flip)
    of_report = (1 - flip) * others.cdf(limit - 1) + flip * others.cdf(limit)
    return float(of_report - binom(POSITIONS, fake).cdf(limit))


def assert_as_conceded(found: Verdict, advantage: float) -> None:
    """The advantage is what the law says, as far as the difference of two rates over `WORDS` each can show."""
    bound = float(norm.isf(ALPHA / 2)) * (0.5 / WORDS) ** 0.5
    assert abs(found.advantage - advantage) < bound, f"{found}; the law says {advantage:+.4f} ± {bound:.4f}, α {ALPHA}"


def test_the_number_of_set_positions_tells_what_the_mechanism_concedes_and_no_more(rng: Randomness) -> None:
    mechanism = SUE(POSITIONS, 4.0)
    flip = mechanism.oracle.q
    for limit in (6, 7, 8, 9):
        few = _at_most(mechanism, limit)
        assert_as_conceded(tell(f"at most {limit} set", mechanism, rng, few), conceded(flip, flip, limit))


def test_plain_bits_with_fair_coin_fakes_tell_almost_every_report(rng: Randomness) -> None:
    """Privacy.md §1: such fakes hide no user; half of their positions are set, of a report's hardly an eighth."""
    mechanism, limit = SUE(POSITIONS, 4.0), 19
    reports = mechanism.decode(mechanism.randomize(_uniform_values(rng, POSITIONS), rng))
    coins = np.unpackbits(rng.uint64((WORDS, 1)).view(np.uint8), axis=1)
    found = of_flags(
        "at most 19 of 64 bits set, fair-coin fakes",
        int(np.sum(reports.sum(axis=1) <= limit)),
        WORDS,
        int(np.sum(coins.sum(axis=1) <= limit)),
        WORDS,
    )
    found.assert_succeeds()
    assert_as_conceded(found, conceded(mechanism.oracle.q, 0.5, limit))


def _at_most(mechanism: SUE, limit: int) -> Flag:
    def flag(words: U64) -> NDArray[np.bool_]:
        few: NDArray[np.bool_] = mechanism.decode(words).sum(axis=1) <= limit
        return few

    return flag


def _uniform_values(rng: Randomness, domain: int) -> NDArray[np.int64]:
    return rng.below(np.full(WORDS, domain, dtype=np.uint64)).astype(np.int64)
