"""The choice of the most exact mechanism: none beats it, the rule of the thesis is what it says, and the table is."""

import math

import pytest

from peos.errors import WrongInput
from peos.ldp import GRR, OLH, OUE, LocalHash, SubsetSelection, choose, choose_thesis
from peos.ldp.base import PureMechanism
from peos.registry import MECHANISMS
from tests import choice_table
from tests.raising import raises


@pytest.mark.parametrize("domain", [2, 5, 17, 64, 1000, 2**20 + 1])
@pytest.mark.parametrize("epsilon", [1e-4, 0.3, 1.0, 4.0, 12.0])
def test_no_pure_mechanism_of_so_many_words_is_more_exact(domain: int, epsilon: float) -> None:
    for words in (1, 20, None):
        best = choose(domain, epsilon, words=words)
        assert best.words <= (words or math.inf)
        assert best.epsilon_local <= epsilon
        for kind in MECHANISMS.values():
            try:
                other = kind.build(domain, epsilon)
            except WrongInput:
                continue
            if isinstance(other, PureMechanism) and other.words <= (words or math.inf):
                assert best.variance(1) <= other.variance(1), (best, other)


def test_it_beats_every_d_prime_too() -> None:
    """Of which local hashing offers powers of two and the d' of the literature."""
    for domain, epsilon in ((64, 1.0), (1000, 2.0), (1000, 4.0)):
        best = choose(domain, epsilon, words=1)
        cells = range(2, domain)
        assert best.variance(1) <= min(LocalHash(domain, epsilon, d_prime=d).variance(1) for d in cells) * (1 + 1e-6)


def test_the_rule_of_the_thesis_changes_at_three_times_e_to_the_epsilon_and_two() -> None:
    for epsilon, last in ((0.5, 6), (1.0, 10), (2.0, 24), (4.0, 165)):  # 6.9, 10.2, 24.2, 165.8
        assert choose_thesis(last, epsilon) == GRR(last, epsilon)
        assert choose_thesis(last + 1, epsilon) == OUE(last + 1, epsilon)
        assert choose_thesis(2000, epsilon, words=1) == OLH(2000, epsilon)
    assert choose_thesis(100, 2.0, words=OUE(100, 2.0).words) == OUE(100, 2.0)
    assert choose_thesis(100, 2.0, words=OUE(100, 2.0).words - 1) == OLH(100, 2.0)


def test_the_adaptive_rule_is_right_where_the_old_one_is_not() -> None:
    assert choose(8, 1.0).name == "hadamard"
    assert choose_thesis(8, 1.0).name == "grr"
    assert isinstance(choose(16, 1.5), SubsetSelection)
    assert choose(2, 1.0).name == choose_thesis(2, 1.0).name == "grr"


def test_the_page_has_the_table_of_differences() -> None:
    page = choice_table.PAGE.read_text(encoding="utf-8")
    assert page == choice_table.written(page), "python -m tests.choice_table writes it"
    assert choice_table.cell(8, 1.0) == "hadamard 15"
    assert choice_table.cell(1 << 20, 4.0) == ""


@pytest.mark.parametrize("rule", [choose, choose_thesis])
def test_what_no_mechanism_can_have_gets_one_sentence(rule: type) -> None:
    for domain in (1, 2**24 + 1, 2.5):
        with raises("mechanism.range", "domain of GRR"):
            rule(domain, 1.0)
    for epsilon in (0.0, float("nan"), 24.1):
        with raises("mechanism.epsilon"):
            rule(10, epsilon)
    with raises("mechanism.range", "limit on words", "1", "0"):
        rule(10, 1.0, words=0)
