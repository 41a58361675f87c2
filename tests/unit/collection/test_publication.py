"""What is published of an output, as a machine: what is awaited, withheld and refused, and in which order."""

from dataclasses import replace

import pytest

from peos.collection.dummies import LEAST_SENT
from peos.collection.publication import (
    Clock,
    Effect,
    Event,
    Faulty,
    Inspect,
    Inspected,
    Open,
    Opened,
    Openings,
    Publication,
    Publish,
    Refuse,
    Search,
    Searched,
    Wait,
    awaited_until,
)
from peos.errors import RemoteFault
from tests.raising import require_said
from tests.unit.collection.made import DOCUMENT

ERASE, FAKES, MINIMUM = DOCUMENT.erase_by, DOCUMENT.fakes, DOCUMENT.minimum
NOW = ERASE - 500.0
LATE = ERASE - 100.0  # openings are awaited no longer
NOBODY: frozenset[int] = frozenset()
ALL = frozenset({1, 2, 3})
AWAITED = Openings(frozenset({1, 2}), 3, LATE)
ENOUGH = MINIMUM + FAKES


def refused(effect: Effect) -> str:
    """The id of the fault that ends the collection."""
    assert isinstance(effect, Refuse)
    return effect.fault.id


def withheld(now: float = LATE) -> Publication:
    """A machine that found the rows of shuffler 3 missing."""
    machine = Publication(DOCUMENT)
    machine.on(Opened(now, AWAITED))
    machine.on(Inspected({3}, LEAST_SENT, 32))
    assert machine.on(Searched(now, NOBODY, ENOUGH)) == Wait(ERASE, frozenset({3}))
    return machine


def test_an_output_is_opened_inspected_searched_and_published() -> None:
    openings = replace(AWAITED, came=ALL)
    events: tuple[Event, ...] = (
        Clock(NOW, openings, is_opened=False),
        Opened(NOW, openings),
        Inspected(NOBODY, LEAST_SENT, 32),
        Searched(NOW, NOBODY, ENOUGH),
    )
    machine = Publication(DOCUMENT)
    assert [machine.on(event) for event in events] == [Open(), Inspect(), Search(), Publish(MINIMUM)]


def test_while_openings_are_awaited_the_output_is_decrypted_and_nothing_is_decided() -> None:
    machine = Publication(DOCUMENT)
    assert machine.on(Clock(NOW, AWAITED, is_opened=False)) == Open()
    assert machine.on(Opened(NOW, AWAITED)) == Wait(LATE)
    assert machine.on(Clock(NOW, AWAITED, is_opened=True)) == Wait(LATE)
    assert machine.on(Clock(LATE, AWAITED, is_opened=True)) == Open(), "they are awaited no longer"
    assert machine.on(Opened(LATE, AWAITED)) == Inspect()


def test_where_nothing_is_inspected_nothing_is_awaited() -> None:
    machine = Publication(DOCUMENT)
    assert machine.on(Clock(NOW, Openings(), is_opened=True)) == Open()
    assert machine.on(Opened(NOW, Openings())) == Inspect()


def test_openings_are_awaited_longer_for_longer_outputs() -> None:
    assert awaited_until(1000.0, 5_000, patience=7.0) == 1008.0
    assert not Openings(came=ALL, expected=3, until=2.0).are_awaited(1.0), "all have come"


@pytest.mark.parametrize(("taken", "effect"), [(LEAST_SENT, Search()), (LEAST_SENT - 1, None)])
def test_too_few_dummies_that_every_shuffler_acknowledged_end_it(taken: int, effect: Effect | None) -> None:
    found = Publication(DOCUMENT).on(Inspected(NOBODY, taken, 32))
    if effect is None:
        assert refused(found) == "result.dummies_few"
        assert isinstance(found, Refuse)
        require_said(str(found.fault), str(taken), "32")
    else:
        assert found == effect


@pytest.mark.parametrize(("reports", "users"), [(ENOUGH, MINIMUM), (ENOUGH - 1, None), (0, None)])
def test_the_minimum_counts_users_alone(reports: int, users: int | None) -> None:
    found = Publication(DOCUMENT).on(Searched(NOW, NOBODY, reports))
    if users is not None:
        assert found == Publish(users)
        return
    assert refused(found) == "result.minimum"
    assert isinstance(found, Refuse)
    require_said(str(found.fault), str(max(reports - FAKES, 0)))


def test_what_was_not_seen_is_withheld_until_something_changes() -> None:
    machine = withheld()
    assert machine.on(Clock(LATE, AWAITED, is_opened=True)) == Wait(ERASE), "and it is not said again"
    for changed in (replace(AWAITED, came=ALL), replace(AWAITED, accepted=frozenset({3}))):
        assert withheld().on(Clock(LATE, changed, is_opened=True)) == Open()


@pytest.mark.parametrize(
    ("accepted", "published"), [(frozenset({3}), True), (frozenset({1, 2}), False), (NOBODY, False)]
)
def test_the_analysts_word_counts_for_the_shufflers_that_it_names(accepted: frozenset[int], published: bool) -> None:
    machine = withheld()
    found = machine.on(Searched(LATE, accepted, ENOUGH))
    assert found == (Publish(MINIMUM) if published else Wait(ERASE, frozenset({3})))


def test_without_a_word_it_ends_when_all_must_be_erased() -> None:
    machine = withheld()
    assert machine.on(Clock(ERASE, AWAITED, is_opened=True)) == Open()
    machine.on(Opened(ERASE, AWAITED))
    machine.on(Inspected({3}, LEAST_SENT, 32))
    found = machine.on(Searched(ERASE, NOBODY, ENOUGH))
    assert refused(found) == "result.not_seen_in_time"
    assert isinstance(found, Refuse)
    require_said(str(found.fault), "shuffler 3")


def test_an_opening_that_came_while_others_were_judged_is_looked_at() -> None:
    machine = Publication(DOCUMENT)
    came = {1, 2}
    machine.on(Opened(LATE, replace(AWAITED, came=came)))
    came.add(3)
    machine.on(Inspected({3}, LEAST_SENT, 32))
    machine.on(Searched(LATE, NOBODY, ENOUGH))
    assert machine.on(Clock(LATE, replace(AWAITED, came=came), is_opened=True)) == Open()


def test_a_fault_of_the_output_ends_it() -> None:
    fault = RemoteFault("test.fault", "delivered something else")
    assert Publication(DOCUMENT).on(Faulty(fault)) == Refuse(fault)
