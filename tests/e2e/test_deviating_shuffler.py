"""One of three shuffler processes does a step wrong: nothing is published, and all learn where and by which."""

import json
from pathlib import Path

import pytest

from peos.localcluster import LocalCluster, Party
from tests.e2e.deviant import DEVIATION
from tests.e2e.town import PATIENCE, Town, digest_of, until
from tests.raising import require_shown

pytestmark = pytest.mark.full  # a town for each deviation

VALUES = [value % 4 for value in range(24)]
DEVIATIONS = {
    "replace rows": ("dummies did not come out", "shuffler 2 has rows that do not follow from those before"),
    "leave zeros out": (
        "the shuffle was done incorrectly",
        "shuffler 2 did not re-randomise its ciphertexts",
    ),
}


def deviate(cluster: LocalCluster, party: Party, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start a shuffler anew, as one that deviates."""
    monkeypatch.setenv(DEVIATION, how)
    party.stop()
    party.module = "tests.e2e.deviant"
    cluster.restart(party)


def test_what_a_shuffler_process_does_wrong_is_named_and_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LocalCluster(tmp_path / "cluster") as cluster:
        cluster.init(most_eps_local=24.0, least_reports=1)
        cluster.start()
        town = Town(cluster)
        for number, (how, (sentence, finding)) in enumerate(DEVIATIONS.items()):
            deviate(cluster, cluster.shufflers[1], how, monkeypatch)
            name = f"question-{number}"
            town.open(name, VALUES, domain=4)
            town.freeze(name)
            ran = town.analyst("result", name, "--wait", PATIENCE, "--json")
            assert ran.code == 1, ran.out
            told = json.loads(ran.err.splitlines()[-1])["error"]
            assert sentence in told
            assert finding in told
            assert not (cluster.analyzer and list(cluster.analyzer.folder.rglob("result.json")))
            digest = digest_of(town, name)
            for honest in (cluster.shufflers[0], cluster.shufflers[2]):
                assert finding in town.standing(honest, digest)["reason"], "an honest shuffler saw it too"
                assert finding in honest.log.read_text(encoding="utf-8")


def test_a_holder_that_leaves_zeros_out_and_pleads_a_restart_is_published_at_the_analysts_word_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LocalCluster(tmp_path / "cluster") as cluster:
        cluster.init(most_eps_local=24.0, least_reports=1)
        cluster.start()
        town = Town(cluster)
        deviate(cluster, cluster.shufflers[1], "plead", monkeypatch)
        town.open("question", VALUES, domain=4)
        town.freeze("question")
        unseen = "shuffler 2 showed nothing or too little (it was started anew and holds nothing any more)"
        until(lambda: unseen in town.analyst("status", "question").out, "the word that rows were not seen", every=1.0)
        for command in ("status", "result"):
            told = town.analyst(command, "question")
            assert "`peos analyzer publish question --unopened 2`" in told.out + told.err
            assert "`peos analyzer abort question` ends it" in told.out + told.err
        refused = town.analyst("publish", "question")
        assert refused.code == 3, refused.err
        require_shown(refused.err.splitlines()[-1], "result.unopened", "shuffler 2")
        for wrong in ("1,2", "two"):
            assert town.analyst("publish", "question", "--unopened", wrong).code == 2
        assert town.analyst("status", "question", "--json").json["state"] == "delivered"

        assert town.analyst("publish", "question", "--unopened", "2").code == 0
        found = town.result("question")
        assert found["inspection"]["not_opened"] == [2]
        assert (found["ok"], found["checks"]["inspection"]) == (False, None)
        assert "without having seen the rows of shuffler 2" in town.analyst("result", "question").out
        audit = town.analyst("audit", "--json").json
        assert [line["shufflers"] for line in audit if line["event"] == "published unopened"] == ["2"]
        assert cluster.analyzer is not None
        (page,) = cluster.analyzer.folder.rglob("report.html")
        assert "the analyst had the result published without them" in page.read_text(encoding="utf-8")
