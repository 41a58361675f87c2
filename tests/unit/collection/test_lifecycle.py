"""The tables of a collection's life: forward only, always to an end, and aborted from wherever it lives."""

import pytest

from peos.collection.lifecycle import TABLES, State, advance, diagram
from tests.raising import raises

ENDS = {State.PUBLISHED, State.ABORTED}
ORDER = ["draft", "open", "closed", "frozen", "shuffling", "delivered", "published"]
roles = pytest.mark.parametrize("role", sorted(TABLES))


@roles
def test_there_is_no_way_back(role: str) -> None:
    for here, following in TABLES[role].items():
        for there in following:
            if there is not State.ABORTED:
                assert ORDER.index(there) > ORDER.index(here), f"{here} → {there}"
    assert TABLES[role][State.ABORTED] == ()


@roles
def test_every_state_is_reached_from_the_draft_and_reaches_both_ends_while_it_lives(role: str) -> None:
    table = TABLES[role]

    def reached(start: State) -> set[State]:
        found, waiting = {start}, [start]
        while waiting:
            for there in table[waiting.pop()]:
                if there not in found:
                    found.add(there)
                    waiting.append(there)
        return found

    assert reached(State.DRAFT) == set(table), "a state that nothing leads to"
    assert {state for state, following in table.items() if not following} == ENDS
    for state in set(table) - ENDS:
        assert reached(state) >= ENDS, f"{state} is stuck"


@roles
def test_whatever_lives_can_be_aborted_at_once_and_what_has_ended_cannot(role: str) -> None:
    for state, following in TABLES[role].items():
        assert (State.ABORTED in following) == (state not in ENDS)


def test_shufflers_pass_through_every_state_and_the_analyzer_only_skips_the_freezing() -> None:
    assert set(TABLES) == {"analyzer", "shuffler"}
    assert set(TABLES["shuffler"]) == set(State)
    assert set(State) - set(TABLES["analyzer"]) == {State.FROZEN}
    assert [state.value for state in State] == [*ORDER, "aborted"]


@roles
def test_advance_follows_the_table_and_refuses_every_other_step(role: str) -> None:
    for here in State:
        for there in State:
            if there in TABLES[role].get(here, ()):
                assert advance(role, here, there) is there
            else:
                with raises("collection.transition", f"{here}", f"{there}"):
                    advance(role, here, there)


@roles
def test_the_diagram_has_an_arrow_for_each_step_and_no_other(role: str) -> None:
    first, start, *arrows = diagram(role).splitlines()
    assert (first, start) == ("stateDiagram-v2", "    [*] --> draft")
    steps = {f"    {here.value} --> {there.value}" for here, following in TABLES[role].items() for there in following}
    assert len(arrows) == len(steps)
    assert set(arrows) == steps


def test_the_shufflers_diagram_is_this_text() -> None:
    assert diagram("shuffler") == (
        "stateDiagram-v2\n"
        "    [*] --> draft\n"
        "    draft --> open\n"
        "    draft --> aborted\n"
        "    open --> closed\n"
        "    open --> aborted\n"
        "    closed --> frozen\n"
        "    closed --> aborted\n"
        "    frozen --> shuffling\n"
        "    frozen --> aborted\n"
        "    shuffling --> delivered\n"
        "    shuffling --> aborted\n"
        "    delivered --> published\n"
        "    delivered --> aborted"
    )
