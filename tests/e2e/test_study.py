"""Studies by real processes: rounds that follow one another, whatever is killed between them, and users asked once."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest

from peos.localcluster import LocalCluster
from tests.e2e.studies import LAUNCHER, StudyTown, terms
from tests.e2e.town import Ran, until

USERS = 40
LIKED = ["birch"] * 20 + ["ash"] * 14 + ["cedar"] * 6
BETWEEN = (  # what `study run` does between two rounds; a step that is done is not done again
    ("analyzer.study:drafted:before", 3),
    ("analyzer.study:drafted:after", 1),
    ("analyzer.study:open_collection:before", 3),
    ("analyzer.study:open_collection:after", 1),
    ("analyzer.study:write_invitation:before", 3),
    ("analyzer.study:write_invitation:after", 3),
)


class Woods(StudyTown):
    """A town whose analyst knows the task of tests/e2e/run_off.py."""

    def create(self, name: str, *asked: object, users: int = USERS) -> Ran:
        """A run-off between trees, with noise so small that no report is ever changed."""
        texts = self.folder / "texts"
        texts.write_text("ash\nbirch\ncedar\n", encoding="utf-8")
        words: tuple[object, ...] = ("--name", name, "--task", "run-off", "--texts", texts, *terms(users))
        return self.study("create", *words, "--minimum", 5, "--scheme", "jl", *asked)


@pytest.fixture
def woods(tmp_path: Path) -> Iterator[Woods]:
    """An analyzer that knows the task, and three shufflers that do not."""
    with LocalCluster(tmp_path / "cluster") as cluster:
        assert cluster.analyzer is not None
        cluster.analyzer.launcher = LAUNCHER
        cluster.init(most_eps_local=48.0)
        cluster.start()
        yield Woods(cluster)


@pytest.mark.full
def test_a_task_of_one_file_runs_as_a_study_of_two_rounds_whatever_is_killed_between_them(woods: Woods) -> None:
    created = woods.create("trees")
    assert created.code == 0, created.err
    assert created.out.count("Against the analyzer") == 6, "both rounds' guarantees, before anybody is asked"
    again = woods.create("trees")
    assert (again.code, again.out) == (0, created.out), "the same again is the same study"
    tickets, counted = woods.minted("trees", USERS), 0
    with woods.running("trees") as running:
        woods.invited(running, "trees.1")
        counted += woods.answers("trees.1", tickets, LIKED)["accepted"]
        twice = woods.study("run", "trees")
        assert twice.code == 2, "one at a time"
        assert "study.running" in twice.err
    assert woods.analyst("freeze", "trees.1").code == 0
    until(lambda: "published" in woods.study("status", "trees").out, "the result of round 1")
    serving = cycle((woods.analyzer, *woods.shufflers))
    for point, times in BETWEEN:
        for _ in range(times):
            assert woods.study("run", "trees", "--out", woods.folder, dies=point).code == -9, f"{point} was not reached"
            party = next(serving)  # and with it one of those that serve
            party.stop(kill=True)
            woods.cluster.restart(party)
    with woods.running("trees") as running:
        woods.invited(running, "trees.2")
        counted += woods.answers("trees.2", tickets, LIKED)["accepted"]
        assert woods.analyst("freeze", "trees.2").code == 0
        woods.ends(running)
    found = woods.study("result", "trees", "--json").json
    assert [one["name"] for one in found["rounds"]] == ["trees.1", "trees.2"], "no round was made twice"
    assert counted == USERS == sum(one["users"] for one in found["rounds"]), "each user was asked once"
    assert (found["schema"], found["complete"], found["task"]["name"], found["ok"]) == (2, True, "run-off", True)
    documents = [woods.document_of(f"trees.{number}") for number in (1, 2)]
    asked = [line.partition(":")[0] for line in tickets.read_text().splitlines()]
    held = [
        Counter(tree for id_, tree in zip(asked, LIKED, strict=True) if part.asks(bytes.fromhex(id_)))
        for document in documents
        if (part := document.study) is not None
    ]
    best = [tree for tree, _ in held[0].most_common(2)]
    assert set(documents[1].asked[0].describe().labels) <= {*best, *held[0]}
    expected = max(best, key=lambda tree: held[1][tree])
    if held[1][best[0]] != held[1][best[-1]]:
        assert found["labels"][0] == expected
    counts = dict(zip(found["labels"], found["frequency"], strict=True))
    assert {tree: round(share * sum(held[1].values())) for tree, share in counts.items()} == {
        tree: held[1][tree] for tree in counts
    }


@pytest.mark.full
def test_a_round_with_too_few_is_asked_of_others_and_the_study_stops_with_what_it_found(woods: Woods) -> None:
    assert woods.create("few", "--minimum", 30).code == 0
    tickets = woods.minted("few", USERS)
    with woods.running("few") as running:
        for name, of in (("few.1", 3), ("few.1.2", 2)):
            woods.invited(running, name)
            woods.answers(name, tickets, LIKED[:of])
            assert woods.analyst("freeze", name).code == 0
        woods.invited(running, "few.1.3")
    assert woods.study("abort", "few").code == 0
    shown = json.loads(woods.study("status", "few", "--json").out)
    assert (shown["state"], [one["state"] for one in shown["rounds"]]) == ("aborted", ["aborted"] * 3)
    assert woods.study("run", "few").code == 0, "there is nothing left to ask"


@pytest.mark.full
def test_wrong_words_about_studies_are_refused_in_one_sentence(woods: Woods) -> None:
    assert woods.create("trees").code == 0
    for words, id_ in (
        (("status", "none"), "study.none"),
        (("result", "trees"), "study.not_over"),
        (("run", "none"), "study.none"),
    ):
        ran = woods.study(words[0], words[1], "--json")
        assert ran.code in (1, 2, 3), ran
        assert id_ in ran.err, ran.err
    other = woods.create("trees", "--users", 99)
    assert other.code == 2
    ran = woods.study("create", "--name", "x", "--task", "nothing", "--users", 9, "--delta", "1e-6", "--eps-local", 1)
    assert (ran.code, ran.out) == (2, "")
    assert os.linesep.join(ran.err.splitlines()[:1]), "a sentence"
