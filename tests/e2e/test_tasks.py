"""Tasks by real processes: tables and ranges, whose shuffler is killed; item sets, between whose rounds more are."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from peos.localcluster import LocalCluster
from peos.spec import StudySpec
from peos.tasks.base import Answer, Round
from peos.tasks.items.truth import demo_lists, planted_labels
from peos.tasks.items.views import label_of
from peos.tasks.kinds import kind_of
from peos.tasks.views import MOST_LABELS
from tests.e2e.studies import LAUNCHER, StudyTown, terms
from tests.e2e.test_restart import kill
from tests.e2e.town import EPSILON, paused, until
from tests.e2e.with_tasks import KEEPS

pytestmark = pytest.mark.full  # whole studies by processes

USERS = 2_000
FAKES = 300
SCHEMA = {
    "smokes": ["no", "yes"],
    "age": {"from": 18, "to": 97, "parts": 8},
    "region": ["north", "east", "south", "west"],
}


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StudyTown]:
    """The words that its analyzer publishes from are kept in `tmp_path`."""
    (tmp_path / "words").mkdir()
    monkeypatch.setenv(KEEPS, str(tmp_path / "words"))
    with LocalCluster(tmp_path / "cluster") as cluster:
        assert cluster.analyzer is not None
        cluster.analyzer.launcher = LAUNCHER
        cluster.init(most_eps_local=2 * EPSILON)
        cluster.start()
        yield StudyTown(cluster)


@pytest.mark.parametrize("name", ["marginals", "ranges"])
def test_what_is_published_is_what_the_task_makes_of_the_same_words_in_memory(name: str, town: StudyTown) -> None:
    options = {"schema": SCHEMA}
    spec = StudySpec(
        name=name, task=name, options=options, users=USERS, delta=1e-6, eps_local=6.0, fakes=str(FAKES), scheme="jl"
    )
    file = town.folder / f"{name}.toml"
    file.write_text(spec.to_toml(), encoding="utf-8")
    created = town.study("create", "--spec", file)
    assert created.code == 0, created.err
    kind = kind_of(name)
    records, round_ = kind.records(kind.checked(options), USERS, 1), f"{name}.1"
    _, second, third = town.shufflers
    with town.running(name) as running:
        town.invited(running, round_)
        assert town.answers(round_, town.minted(name, USERS), list(records))["accepted"] == USERS
        with paused(third):  # without which no list can be frozen
            assert town.analyst("freeze", round_).code == 1, "one shuffler could not be reached"
            kill(second)
            town.cluster.restart(second)
        town.freeze(round_)
        town.ends(running)
    result = town.study("result", name, "--json").json
    assert (result["users"], result["fakes"], sum(result["sizes"])) == (USERS, FAKES, USERS + FAKES)
    assert (result["ok"], result["complete"], set(result["checks"].values())) == (True, True, {True})
    task, mechanism = spec.build(len(town.shufflers)), town.document_of(round_).mechanism
    asked = task.next([])
    assert isinstance(asked, Round)
    words = np.load(town.folder / "words" / "0.npy")
    answer = task.next([asked.decode(mechanism.reports(words, USERS, FAKES))])
    assert isinstance(answer, Answer)
    alone = json.loads(json.dumps({**answer.found.to_json(), **answer.more()}))
    assert {key: result[key] for key in alone} == alone, "to the last digit"


def test_item_sets_of_a_catalogue_are_found_in_a_study_that_is_killed_between_its_rounds(town: StudyTown) -> None:
    """More names than a document holds, and more rounds than one question may be asked a day."""
    users, count = 600, MOST_LABELS // 2 + 50
    names = [f"item {at}" for at in range(count)]
    (town.folder / "names.txt").write_text("".join(f"{one}\n" for one in names), encoding="utf-8")
    lists = [[names[at] for at in one] for one in demo_lists(users, np.random.default_rng(1))]
    words = ("--name", "sets", "--task", "item-sets", "--names", town.folder / "names.txt", "--top", 16)
    created = town.study("create", *words, *terms(users, fakes=8, eps_local=16.0), "--scheme", "jl", "--minimum", 80)
    assert created.code == 0, created.err
    tickets, counted = town.minted("sets", users), 0
    for number in range(1, 6):
        round_ = f"sets.{number}"
        with town.running("sets") as running:
            town.invited(running, round_)
            assert town.invitation(round_).with_suffix(".catalogue").exists() is (number == 1)
            counted += town.answers(round_, tickets, lists)["accepted"]
            assert town.analyst("freeze", round_).code == 0
            if number == 5:
                town.ends(running)
        if number == 1:  # `study run` is killed as soon as it is left, and once more where it makes the next round
            until(lambda: "published" in town.study("status", "sets").out, "the result of round 1", every=0.5)
            assert town.study("run", "sets", "--out", town.folder, dies="analyzer.study:drafted:before").code == -9
            for party in (town.analyzer, town.shufflers[0]):
                kill(party)
                town.cluster.restart(party)
    result = town.study("result", "sets", "--json").json
    assert (result["ok"], result["complete"], len(result["rounds"])) == (True, True, 5)
    assert counted == users == result["users"], "each user was asked once"
    planted = {label_of(f"item {at}" for at in json.loads(one)) for one in planted_labels()}
    assert planted <= set(result["labels"]), result["labels"]
