"""What is called from Python with the wrong kind of thing is refused as on the command line, with what to do."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from peos.crypto.schemes import scheme
from peos.errors import WrongInput
from peos.estimate.post_processing.applied import post_process
from peos.estimate.post_processing.simulation import choose_by_simulation
from peos.ldp import GRR, LocalHash
from peos.privacy import plan
from peos.simulate import run_collection
from tests.raising import raises

ASKED: dict[str, Any] = {"users": 1000, "domain": 8, "delta": 1e-6, "eps_server": 1.0}
ESTIMATE = GRR(8, 4.0).estimate(np.full(8, 100), users=800)
NOT_ASKED: Any = "1"  # a text where a number is asked for

WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: plan(**{**ASKED, "eps_server": NOT_ASKED}), "plan.target"),
    (lambda: plan(**{**ASKED, "delta": None}), "plan.delta"),
    (lambda: plan(**{**ASKED, "users": NOT_ASKED}), "mechanism.range"),
    (lambda: run_collection([1, 2], mechanism="grr"), "mechanism.not_built"),  # type: ignore[arg-type] # the mistake
    (lambda: post_process(ESTIMATE.frequency, "norm_sub"), "post_process.estimate"),  # type: ignore[arg-type] # likewise
    (lambda: GRR(8, 4.0).estimate(np.full(8, 100), users=900), "estimate.counts_sum"),
    (lambda: GRR(8, 4.0).estimate(np.full(8, 100), users=700, fakes=99), "estimate.counts_sum"),
    (lambda: choose_by_simulation(ESTIMATE, rng=1), "post_process.rng"),  # type: ignore[arg-type] # likewise
]


@pytest.mark.parametrize(("call", "id_"), WRONG, ids=[id_ for _, id_ in WRONG])
def test_what_is_of_the_wrong_kind_is_named(call: Callable[[], object], id_: str) -> None:
    with raises(id_):
        call()


def test_a_kind_of_mechanism_may_be_planned_by_itself() -> None:
    assert plan(**ASKED, mechanism=LocalHash).mechanism == "solh"


def test_a_notebook_shows_the_hint_below_the_sentence() -> None:
    with pytest.raises(WrongInput) as refused:
        scheme("JL")
    assert refused.value.hint
    assert refused.value.__notes__ == [refused.value.hint]
