"""The analyzer's ledger: each population's collections, what they give away, and the refusal of one too many."""

import json
from dataclasses import replace

import numpy as np
import pytest

from analyzer import cli
from analyzer import workspace as workspace_
from analyzer.draft import Contents, draft, drafted
from analyzer.ledger import ledger_of, populations
from analyzer.publisher import Publisher
from analyzer.store import CollectionRow, StudyRow
from analyzer.workspace import Workspace
from peos.cli.running import run
from peos.collection.lifecycle import State
from peos.collection.ticket import StudyPart
from peos.compute import Inline
from peos.ldp import GRR
from peos.net.logs import Log
from peos.net.observer import Observer
from peos.privacy.composition import Release, spent
from peos.privacy.guarantees import rounded_up
from peos.tasks.views import ValueView
from tests.raising import raises, require_shown
from tests.unit.analyzer.world import FAKES, FLOOR, USERS, Silent, World, request, take

DELTA = 1e-4
MINIMUM = 20  # of the world's requests
ONE = Release("one", GRR(4, 3.0), hiding=MINIMUM - 1, fakes=FAKES, least=MINIMUM - 1)
TWICE = spent([ONE, ONE], DELTA).epsilon
TWICE_ALONE = spent([replace(ONE, hiding=0, least=0)] * 2, DELTA).epsilon


def _budget(world: World, epsilon: float, delta: float = DELTA) -> None:
    with world.file.open("a", encoding="utf-8") as file:
        file.write(f"[budget]\nepsilon = {epsilon}\ndelta = {delta}\n")


def _asked(opened: Workspace, name: str, population: str = "") -> CollectionRow:
    """A collection that users may answer."""
    kept = draft(opened, request(name=name, question=f"{name}?", population=population), Silent())
    opened.store.move(kept.digest, State.OPEN)
    return opened.kept(name)


def test_a_collection_too_many_is_refused_and_those_that_spent_the_budget_are_named(world: World) -> None:
    _budget(world, TWICE * 1.01)
    opened = world.workspace()
    _asked(opened, "spring")
    _asked(opened, "summer")
    with raises("budget.spent", "autumn", "spring and summer"):
        draft(opened, request(name="autumn", question="autumn?"), Silent())
    assert opened.store.named("autumn") is None, "nothing half done"
    other = draft(opened, request(name="autumn", question="autumn?", population="staff"), Silent())
    assert json.loads(other.request)["population"] == "staff"


def _round(opened: Workspace, study: StudyRow, number: int) -> CollectionRow:
    """A round of a study that users may answer, of the same kind as every collection here."""
    window = StudyPart(study.id, number, (number - 1) << 60, number << 60)
    views = (ValueView(4).describe(),)
    asked = Contents(GRR(4, 3.0), FAKES, views=views, study=window, study_name=study.name)
    terms = request(name=f"{study.name}.{number}", question=study.name, epoch=str(number))
    kept = drafted(opened, terms, Silent(), lambda _: asked)
    opened.store.move(kept.digest, State.OPEN)
    return opened.kept(kept.name)


def test_a_study_is_one_entry_whatever_became_of_its_rounds(world: World) -> None:
    _budget(world, TWICE * 1.01)
    opened = world.workspace()
    budget = opened.config.budget
    assert budget is not None
    opened.store.add_study("trees", b"s" * 32, "{}", "")
    study = opened.store.study("trees")
    assert study is not None
    first = _round(opened, study, 1)
    opened.store.move(first.digest, State.ABORTED, "too few")
    for number in (2, 3):
        _round(opened, study, number)
    (counted,) = ledger_of(opened, "", budget).releases
    assert (counted.name, len(counted.rounds)) == ("trees", 3), "aborted rounds too: users may have answered"
    assert ledger_of(opened, "", budget).spent.epsilon == pytest.approx(spent([ONE], DELTA).epsilon), "and one is hers"
    _asked(opened, "spring")
    _round(opened, study, 4)  # no more than is counted already
    with raises("budget.spent", "trees"):
        draft(opened, request(name="autumn", question="autumn?"), Silent())
    assert {one.name for one in opened.store.rounds("trees")} == {f"trees.{number}" for number in range(1, 5)}
    assert opened.store.study_of(first.digest) == study


def test_what_is_counted_is_what_users_may_have_answered(world: World) -> None:
    _budget(world, 100.0)
    opened = world.workspace()
    budget = opened.config.budget
    assert budget is not None
    draft(opened, request(name="drafted", question="a?"), Silent())
    assert ledger_of(opened, "", budget).releases == ()
    given_up = _asked(opened, "given-up")
    opened.store.move(given_up.digest, State.ABORTED, "by order")
    _asked(opened, "asked", "staff")
    assert populations(opened) == ["", "staff"]
    (counted,) = ledger_of(opened, "", budget).releases
    (counted,) = counted.rounds
    assert (counted.name, counted.hiding, counted.fakes) == ("given-up", MINIMUM - 1, FAKES)
    assert counted.least == MINIMUM - 1, "what the document promised before anybody answered"
    assert ledger_of(opened, "staff", budget).spent.epsilon == pytest.approx(spent([ONE], DELTA).epsilon)


def test_without_a_budget_nothing_is_refused_and_there_is_no_ledger_to_show(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = world.workspace()
    for name in ("one", "two", "three"):
        draft(opened, request(name=name, question=name), Silent())
    opened.close()
    assert run(cli.app, ["ledger", "--config", str(world.file)], "peos analyzer") == 2
    require_shown(capsys.readouterr().err, "budget.none")


def test_the_command_shows_where_each_population_stands(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = workspace_.Workspace.__init__

    def small(self: Workspace, config: object, **_: object) -> None:
        real(self, config, floor=FLOOR)  # type: ignore[arg-type] # what the command gave

    _budget(world, 50.0)
    opened = world.workspace()
    _asked(opened, "spring")
    _asked(opened, "summer")
    opened.close()
    monkeypatch.setattr(workspace_.Workspace, "__init__", small)
    assert run(cli.app, ["ledger", "--config", str(world.file)], "peos analyzer") == 0
    assert "everybody: ε = " in (shown := capsys.readouterr().out)
    assert "of 50 at δ = 10⁻⁴, spent by spring, summer" in shown
    assert run(cli.app, ["ledger", "--config", str(world.file), "--json"], "peos analyzer") == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["collections"] == ["spring", "summer"]
    assert row["epsilon"] == pytest.approx(TWICE)
    assert row["epsilon_users"] == pytest.approx(TWICE_ALONE)
    assert f"if all other users were the analyzer's: ε = {rounded_up(TWICE_ALONE)}" in shown
    assert TWICE_ALONE > TWICE * 1.1


@pytest.mark.parametrize("lines", ["epsilon = 1.0", "delta = 1e-6", "epsilon = 1.0\ndelta = 1.5"])
def test_half_a_budget_is_none(world: World, lines: str) -> None:
    with world.file.open("a", encoding="utf-8") as file:
        file.write(f"[budget]\n{lines}\n")
    with raises("config.budget"):
        _ = world.config


def test_a_request_without_a_population_is_kept_as_it_always_was() -> None:
    assert "population" not in json.loads(request().encode())
    assert json.loads(request(population="staff").encode())["population"] == "staff"


def _delivered(world: World, opened: Workspace, *, dummies: bool) -> CollectionRow:
    """The collection's output is here, of 200 users, and judged: published with its dummies, aborted without."""
    kept = world.open(opened, minimum=MINIMUM)
    receiver = world.receiver(opened)
    rows = world.output(opened, kept, np.repeat(np.arange(4), 50), dummies=dummies)
    for sender, sent in world.deliveries(opened, kept, rows).items():
        take(receiver, sent, world.certificate(sender))
    publisher = Publisher(opened, receiver, world.inspection_runner(opened), Inline(), Observer(Log("tests.analyzer")))
    publisher.publish(opened.kept("fruit"))
    return opened.kept("fruit")


def test_a_budget_counts_the_fewest_users_that_are_allowed_and_not_those_expected(world: World) -> None:
    """With the 10,000 expected ε is 0.2366; with the 5,000 that are enough for a result it is 0.3396."""
    _budget(world, 0.25, 1e-9)
    opened = world.workspace()
    asked = {"domain": 16, "users": 10_000, "delta": 1e-9, "fakes": "0"}
    with raises("budget.too_small", "fruit", "0.3396", "0.25"):
        draft(opened, request(**asked, minimum=5000), Silent())
    with raises("budget.too_small", "fruit", "0.3396"):
        draft(opened, request(**asked, minimum=None), Silent())
    kept = draft(opened, request(**asked, minimum=9900), Silent())
    assert "With no more than the minimum of 9,900 it would be ε_c = 0.23" in kept.words


def test_until_it_is_published_a_collection_counts_with_its_minimum_and_then_with_who_came(world: World) -> None:
    _budget(world, 50.0)
    opened = world.workspace()
    budget = opened.config.budget
    assert budget is not None
    _asked(opened, "nuts")
    before = ledger_of(opened, "", budget)
    assert [one.rounds[0].hiding for one in before.releases] == [MINIMUM - 1]
    kept = _delivered(world, opened, dummies=True)
    assert kept.state is State.PUBLISHED
    after = ledger_of(opened, "", budget)
    assert [(one.name, one.rounds[0].hiding) for one in after.releases] == [("fruit", 199), ("nuts", MINIMUM - 1)]
    assert json.loads(kept.result or "")["together"] == {
        "collections": 2,
        "server": pytest.approx(after.spent.epsilon),
        "users": pytest.approx(after.spent_alone.epsilon),
        "delta": DELTA,
        "budget": 50.0,
    }
    assert after.spent.epsilon <= TWICE < after.spent_alone.epsilon, "a schedule goes on counting its minimum"
    alone = replace(after, releases=after.releases[:1])
    assert alone.spent.epsilon < spent([ONE], DELTA).epsilon, "the 200 who came hide each other better"


def test_a_collection_that_is_aborted_after_delivery_counts_with_its_minimum_for_good(world: World) -> None:
    _budget(world, 50.0)
    opened = world.workspace()
    budget = opened.config.budget
    assert budget is not None
    assert _delivered(world, opened, dummies=False).state is State.ABORTED
    (counted,) = ledger_of(opened, "", budget).releases
    assert counted.rounds[0].hiding == MINIMUM - 1
    assert counted.rounds[0].hiding < USERS - 1, "fewer than were expected"
