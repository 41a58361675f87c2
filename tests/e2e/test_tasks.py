"""Tasks by real processes: tables and ranges, of which a shuffler is killed."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from peos.localcluster import LocalCluster
from peos.spec import StudySpec
from peos.tasks.base import Answer, Round
from peos.tasks.kinds import kind_of
from tests.e2e.studies import LAUNCHER, StudyTown
from tests.e2e.test_restart import kill
from tests.e2e.town import EPSILON, paused
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
    task, mechanism = spec.build(len(town.shufflers)), town.asked(round_).mechanism
    asked = task.next([])
    assert isinstance(asked, Round)
    words = np.load(town.folder / "words" / "0.npy")
    answer = task.next([asked.decode(mechanism.reports(words, USERS, FAKES))])
    assert isinstance(answer, Answer)
    alone = json.loads(json.dumps({**answer.found.to_json(), **answer.more()}))
    assert {key: result[key] for key in alone} == alone, "to the last digit"
