"""What is said of how each baseline runs, held against the mechanisms that a collection has and their accounting."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

from peos.ldp import SUE
from peos.ldp.grouped_tables import GroupedTables
from peos.privacy.exact import epsilon as exact_epsilon
from peos.tasks import baselines
from peos.tasks.baselines.base import LOCAL, ONE
from peos.tasks.baselines.bits import coefficients
from peos.tasks.ranges.levels import Levels
from tests.unit.tasks.baselines.every import law

EPSILON, USERS, DELTA = 1.1, 2**18, 1e-6
LINE, LABELS = Levels(256, 5), baselines.categorical(3)

IN_TABLES: dict[str, tuple[Any, int, int]] = {
    "InpHT": (baselines.inp_ht(3, 2, EPSILON), coefficients(3, 2), 2),
    "FT": (baselines.ft(3, 3, EPSILON), coefficients(3, 3), 2),
    "MargPS": (baselines.marg_ps(4, 2, EPSILON), 6, 4),
    "MargHT": (baselines.marg_ht(3, 2, EPSILON), 9, 2),
    "AM": (baselines.am(4, 2, EPSILON), 6, 4),
    "CALM": (baselines.calm([(0, 1, 2), (0, 1, 3)], EPSILON), 2, 8),
    "InpHTCMS": (baselines.inp_htcms(3, EPSILON, functions=2, width=8), 16, 2),
    "InpPS": (baselines.inp_ps(3, EPSILON), 1, 8),
}


@pytest.mark.parametrize("name", IN_TABLES)
def test_one_cell_of_a_table_that_the_user_draws_is_a_report_of_hidden_tables(name: str) -> None:
    made, tables, cells = IN_TABLES[name]
    assert made.runs == ONE
    hidden = GroupedTables([cells] * tables, EPSILON)
    γ = float(hidden.gamma)
    own, other = (1 - γ) / tables + γ / (tables * cells), γ / (tables * cells)
    for record in range(8):
        chances = sorted(law(made.randomize, partial(np.full, fill_value=record)).values())
        assert chances == pytest.approx([other] * tables * (cells - 1) + [own] * tables)


def test_a_vector_of_bits_of_one_law_is_sue_and_of_two_laws_is_not() -> None:
    made = baselines.inp_rr(2, EPSILON)
    assert made.runs == ONE
    given = law(made.randomize, partial(np.full, fill_value=1))
    kept = math.exp(EPSILON / 2) / (1 + math.exp(EPSILON / 2))
    assert given[0, 1, 0, 0] == pytest.approx(kept**4)
    assert exact_epsilon(SUE(2**4, EPSILON), USERS, 0, DELTA) < EPSILON / 10
    assert baselines.inp_rr(2, EPSILON, optimised=True).runs.startswith(LOCAL)
    assert baselines.marg_rr(4, 2, EPSILON).runs == ONE
    assert baselines.inp_olh(3, EPSILON).runs == ONE


def amplified(d: int, epsilon: float) -> float:
    """An ε at which δ(ε) ≤ DELTA for a record of d bits, each perturbed at epsilon/d and all shuffled together.

    A report is uniform with probability γ = (2q)^d. With L = (P_v − e^ε P_v')/uniform over a uniform report and
    M ~ Bin(n, γ): δ ≤ E(Σ_M L)_+/(nγ) (Balle et al. 2019, Lemma 5.3), and (x)_+ ≤ e^{λx − 1}/λ. For records that
    differ in every bit; a number that M is below with probability 10⁻¹⁵ stands for M.
    """
    p = math.exp(epsilon / d) / (1 + math.exp(epsilon / d))
    agree = np.arange(d + 1)
    chance = np.array([math.comb(d, at) for at in range(d + 1)]) / 2.0**d
    ratio = (2 * p) ** agree * (2 - 2 * p) ** (d - agree)  # P_v over uniform, by bits that agree with v
    γ = (2 - 2 * p) ** d
    number = USERS * γ - 8 * math.sqrt(USERS * γ)
    for claim in np.arange(0.01, epsilon, 0.005):
        loss = ratio - math.exp(claim) * ratio[::-1]
        bounds = [
            number * math.log(float(chance @ np.exp(λ * loss))) - 1 - math.log(λ * number)
            for λ in np.geomspace(1e-3, 10, 200)
        ]
        if min(bounds) <= math.log(DELTA):
            return float(claim)
    return epsilon


@pytest.mark.parametrize("d", [8, 32])
def test_linked_bits_are_amplified_so_that_this_is_no_reason_against_a_shuffle(d: int) -> None:
    assert amplified(d, EPSILON) < 0.2
    assert baselines.inp_em(8, EPSILON).runs.startswith(LOCAL)
    assert "though a shuffle would amplify it" in baselines.em(8, EPSILON).runs


def test_products_of_levels_would_be_hidden_tables() -> None:
    """What the papers' HIO and its kin are not, and could be: 16 products of two trees, 7 levels of ε to 1."""
    tree = Levels(256, 8)
    sizes = [one * other for one in tree.sizes for other in tree.sizes if one * other > 1]
    local = GroupedTables(sizes, 5.0)
    assert exact_epsilon(local, 100_000, 0, DELTA) < 1.0
    lows = {0: 0.0}
    several: list[Any] = [
        baselines.hio_sum([LINE], lows, 1.0),
        baselines.sr_hio([LINE], lows, 1.0),
        baselines.ahio([LINE], lows, 1.0),
        baselines.ehio([LINE], lows, 1.0),
    ]
    assert all("it would be one collection" in made.runs for made in several)


def test_what_needs_to_know_whose_report_it_is_runs_in_the_local_model_only() -> None:
    linked: list[Any] = [
        baselines.weighted_fo(8, 1.0),
        baselines.mg([LINE, LABELS], 1.0),
        baselines.hi([LINE], 1.0),
        baselines.hio([LINE], 1.0),
        baselines.hio_pub([LINE], 1.0),
        baselines.sc([LINE, LABELS], 1.0),
        baselines.sc_join([LINE], [LABELS], 1.0),
        baselines.hio_join([LINE], [LABELS], 1.0),
        baselines.truncated([LINE], [LABELS], 1.0, τ=1, most=3),
    ]
    assert all("which a shuffle takes away" in made.runs for made in linked)
