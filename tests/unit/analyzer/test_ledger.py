"""The analyzer's ledger: each population's collections, what they give away, and the refusal of one too many."""

import json

import pytest

from analyzer import cli, home
from analyzer.draft import draft
from analyzer.home import Home
from analyzer.ledger import ledger_of, populations
from analyzer.store import Kept
from peos.cli.running import run
from peos.collection.lifecycle import State
from peos.errors import Refused, WrongInput
from peos.ldp import GRR
from peos.privacy.composition import Release, composed
from tests.unit.analyzer.fakes import FLOOR
from tests.unit.analyzer.world import FAKES, USERS, Silent, World, request

DELTA = 1e-4
ONE = Release("one", GRR(4, 3.0), hiding=USERS - 1, fakes=FAKES)
TWICE = composed([ONE, ONE], DELTA).epsilon


def _budget(world: World, epsilon: float) -> None:
    with world.file.open("a", encoding="utf-8") as file:
        file.write(f"[budget]\nepsilon = {epsilon}\ndelta = {DELTA}\n")


def _asked(opened: Home, name: str, population: str = "") -> Kept:
    """A collection that users may answer."""
    kept = draft(opened, request(name=name, question=f"{name}?", population=population), Silent())
    opened.store.move(kept.digest, State.OPEN)
    return opened.kept(name)


def test_a_collection_too_many_is_refused_and_those_that_spent_the_budget_are_named(world: World) -> None:
    _budget(world, TWICE * 1.01)
    opened = world.home()
    _asked(opened, "spring")
    _asked(opened, "summer")
    with pytest.raises(Refused, match=r"with autumn the population .* spent by spring and summer"):
        draft(opened, request(name="autumn", question="autumn?"), Silent())
    assert opened.store.named("autumn") is None, "nothing half done"
    other = draft(opened, request(name="autumn", question="autumn?", population="staff"), Silent())
    assert json.loads(other.request)["population"] == "staff"


def test_what_is_counted_is_what_users_may_have_answered(world: World) -> None:
    _budget(world, 100.0)
    opened = world.home()
    budget = opened.config.budget
    assert budget is not None
    draft(opened, request(name="drafted", question="a?"), Silent())
    assert ledger_of(opened, "", budget).releases == ()
    given_up = _asked(opened, "given-up")
    opened.store.move(given_up.digest, State.ABORTED, "by order")
    _asked(opened, "asked", "staff")
    assert populations(opened) == ["", "staff"]
    (counted,) = ledger_of(opened, "", budget).releases
    assert (counted.name, counted.hiding, counted.fakes) == ("given-up", USERS - 1, FAKES)
    assert ledger_of(opened, "staff", budget).spent.epsilon == pytest.approx(composed([ONE], DELTA).epsilon)


def test_without_a_budget_nothing_is_refused_and_there_is_no_ledger_to_show(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = world.home()
    for name in ("one", "two", "three"):
        draft(opened, request(name=name, question=name), Silent())
    opened.close()
    assert run(cli.app, ["ledger", "--config", str(world.file)], "peos analyzer") == 2
    assert "sets no budget" in capsys.readouterr().err


def test_the_command_shows_where_each_population_stands(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = home.Home.__init__

    def small(self: Home, config: object, **_: object) -> None:
        real(self, config, floor=FLOOR)  # type: ignore[arg-type] # what the command gave

    _budget(world, 50.0)
    opened = world.home()
    _asked(opened, "spring")
    _asked(opened, "summer")
    opened.close()
    monkeypatch.setattr(home.Home, "__init__", small)
    assert run(cli.app, ["ledger", "--config", str(world.file)], "peos analyzer") == 0
    assert "everybody: ε = " in (shown := capsys.readouterr().out)
    assert "of 50 at δ = 0.0001, spent by spring, summer" in shown
    assert run(cli.app, ["ledger", "--config", str(world.file), "--json"], "peos analyzer") == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["collections"] == ["spring", "summer"]
    assert row["epsilon"] == pytest.approx(TWICE)


@pytest.mark.parametrize("lines", ["epsilon = 1.0", "delta = 1e-6", "epsilon = 1.0\ndelta = 1.5"])
def test_half_a_budget_is_none(world: World, lines: str) -> None:
    with world.file.open("a", encoding="utf-8") as file:
        file.write(f"[budget]\n{lines}\n")
    with pytest.raises(WrongInput, match="a budget has an epsilon, and a delta between 0 and 1"):
        _ = world.config


def test_a_request_without_a_population_is_kept_as_it_always_was() -> None:
    assert "population" not in json.loads(request().encode())
    assert json.loads(request(population="staff").encode())["population"] == "staff"
