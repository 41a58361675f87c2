"""A population's budget: what is within it is admitted, and a refusal names what spent it."""

import pytest

from peos.errors import Refused, WrongInput
from peos.ldp import GRR
from peos.privacy.composition import Release
from peos.privacy.ledger import Budget, Ledger
from tests.raising import raises


def asked(name: str, local: float = 4.0) -> Release:
    return Release(name, GRR(64, local), hiding=1999, fakes=434, least=1999)


def test_collections_are_admitted_until_together_they_exceed_the_budget() -> None:
    ledger = Ledger(Budget(1.2, 1e-9)).with_release(asked("spring")).with_release(asked("summer"))
    assert 1.0 < ledger.spent.epsilon < 1.1
    with pytest.raises(Refused) as refused:
        ledger.with_release(asked("autumn"))
    sentence = str(refused.value)
    assert sentence.startswith("with autumn the population would have given away 1.2")
    assert "the budget is ε = 1.2 at δ = 10⁻⁹" in sentence
    assert sentence.endswith("of it was spent by spring and summer")
    assert refused.value.exit_code == 3


def test_a_question_with_other_parameters_ends_the_schedule_and_costs_the_sum() -> None:
    """Even a weaker one: it may have been chosen for what the others found."""
    ledger = Ledger(Budget(1.7, 1e-9)).with_release(asked("spring")).with_release(asked("summer"))
    assert ledger.spent.by == "pld"
    grown = ledger.with_release(asked("autumn", local=1.0))
    assert grown.spent.by == "sum"
    assert 1.5 < grown.spent.epsilon < 1.7


def test_a_collection_that_exceeds_the_budget_by_itself_is_refused_without_blaming_others() -> None:
    with raises("budget.too_small", "census", "0.5"):
        Ledger(Budget(0.5, 1e-9)).with_release(asked("census"))


def test_of_many_collections_five_are_named_and_the_rest_counted() -> None:
    ledger = Ledger(Budget(2.0, 1e-9), tuple(asked(f"week {week}") for week in range(8)))
    with raises("budget.spent", "week 0, week 1, week 2", "week 4", "3 more"):
        ledger.with_release(asked("week 8"))


def test_a_name_is_entered_once() -> None:
    with raises("budget.name", "spring"):
        Ledger(Budget(2.0, 1e-9)).with_release(asked("spring")).with_release(asked("spring"))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-6), (-1.0, 1e-6), (float("nan"), 1e-6), (1.0, 0.0)])
def test_budgets_that_make_no_sense_are_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(WrongInput):
        Budget(epsilon, delta)
