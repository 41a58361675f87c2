"""An operator's limits: what is within them is accepted, and each limit refuses on its own."""

from dataclasses import replace
from typing import Final

import pytest

from peos.collection.document import Document, MechanismChoice
from peos.collection.policy import Policy
from peos.errors import Refused
from peos.ldp import GRR
from tests.unit.collection.made import ANALYZER, DOCUMENT, SHUFFLERS

ME: Final = SHUFFLERS[1].public
POLICY: Final = Policy((ANALYZER.public,), most_eps_local=2.0, least_reports=5, least_fakes=10)
BEFORE: Final = 0.5  # it closes at 1


def test_a_document_at_every_limit_is_accepted_under_this_shufflers_number() -> None:
    assert POLICY.check(DOCUMENT, me=ME, now=BEFORE) == 2


@pytest.mark.parametrize(
    ("policy", "document", "sentence"),
    [
        (replace(POLICY, analyzers=()), DOCUMENT, "the analyzer analyzer is not known here"),
        (POLICY, replace(DOCUMENT, choice=MechanismChoice.of(GRR(16, 2.001))), "its ε_l is 2.001, the limit here is 2"),
        (POLICY, replace(DOCUMENT, minimum=4), "its minimum is 4 reports, here it must be 5"),
        (POLICY, replace(DOCUMENT, fakes=9), "it has 9 fakes, here there must be 10"),
    ],
)
def test_each_limit_refuses_on_its_own(policy: Policy, document: Document, sentence: str) -> None:
    with pytest.raises(Refused) as caught:
        policy.check(document, me=ME, now=BEFORE)
    assert str(caught.value) == f"the collection is not accepted: {sentence}"
    assert caught.value.hint


def test_a_document_without_this_shuffler_is_refused() -> None:
    with pytest.raises(Refused, match="does not name this shuffler"):
        POLICY.check(DOCUMENT, me=bytes(32), now=BEFORE)


@pytest.mark.parametrize("now", [1.0, 2.0])
def test_a_document_that_has_closed_is_refused(now: float) -> None:
    with pytest.raises(Refused, match="it has closed already"):
        POLICY.check(DOCUMENT, me=ME, now=now)


def test_an_analyzer_is_known_by_its_identity_and_not_by_its_name() -> None:
    impostor = replace(DOCUMENT, analyzer=replace(DOCUMENT.analyzer, identity=bytes(31) + b"\x01"))
    with pytest.raises(Refused, match="is not known here"):
        POLICY.check(impostor, me=ME, now=BEFORE)
