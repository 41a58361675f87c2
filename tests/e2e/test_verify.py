"""A user asks whether she was counted: shufflers prove it, also after a restart, and one that left her out is named."""

import json
from functools import partial
from pathlib import Path

import pytest

from peos.collection.cards import Card
from peos.localcluster import LocalCluster, Party
from peos.wire.parties import decode_card
from tests.e2e.deviant import DEVIATION, DROPPED
from tests.e2e.town import Ran, Town, command, digest_of, until

pytestmark = pytest.mark.full  # another whole collection by processes

VALUES = [value % 4 for value in range(12)]


def verify(town: Town, name: str, client: Party, *words: object) -> Ran:
    """What `peos client verify` says."""
    invited = ("--invitation", town.invitation(name))
    return command("client", "verify", "--config", client.config, *invited, "--json", *words)


def card_of(shuffler: Party) -> Card:
    """Its card, as it is now."""
    return decode_card((shuffler.folder / "state" / "shuffler.card").read_bytes())


def _is_published(town: Town, shuffler: Party, digest: str) -> bool:
    return bool(town.standing(shuffler, digest)["state"] == "published")


def test_every_user_learns_that_she_was_counted_and_who_dropped_her(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DROPPED, str(tmp_path / "dropped"))
    monkeypatch.setenv(DEVIATION, "drop a user")
    with LocalCluster(tmp_path / "cluster") as cluster:
        cluster.init(most_eps_local=24.0, least_reports=1)
        cluster.start()
        town, deviating = Town(cluster), cluster.shufflers[1]
        deviating.stop()
        deviating.module = "tests.e2e.deviant"
        cluster.restart(deviating)

        client = client_of_honest = town.open("honest", VALUES, "--scheme", "jl", domain=4)
        early = verify(town, "honest", client)
        assert early.code == 3
        assert "the collection is not frozen yet" in early.out
        town.freeze("honest")
        lists = town.result("honest")["lists"]
        assert lists["rows"] == len(VALUES) + 32
        assert [one["rows"] for one in lists["announced"]] == [lists["rows"]] * 3
        assert [one["shuffler"] for one in lists["signed"]] == [1, 2, 3]
        digest = digest_of(town, "honest")
        for shuffler in cluster.shufflers:
            until(partial(_is_published, town, shuffler, digest), "all is erased")
        cluster.shufflers[0].stop()
        cluster.restart(cluster.shufflers[0])
        published = next(cluster.analyzer.folder.rglob("result.json")) if cluster.analyzer else tmp_path
        found = verify(town, "honest", client, "--result", published)
        assert (found.code, found.json["counted"], found.json["findings"]) == (0, len(VALUES), []), found.err

        client = town.open("dropped", VALUES, "--scheme", "jl", domain=4)
        ticket = (town.folder / "dropped.tickets").read_text(encoding="utf-8").splitlines()[5]
        (tmp_path / "dropped").write_text(ticket.partition(":")[0], encoding="ascii")
        town.freeze("dropped")
        assert town.result("dropped")["users"] == len(VALUES) - 1
        found = verify(town, "dropped", client)
        assert (found.code, found.json["counted"]) == (3, len(VALUES) - 1)
        (sentence,) = found.json["findings"]
        assert "shuffler 2 (shuffler-2) acknowledged the report and left it out of the list that it signed" in sentence
        other = verify(town, "dropped", client, "--result", published)
        assert other.code == 2
        assert json.loads(other.err)["id"] == "input.other_result"

        forgetful = cluster.shufflers[0]
        (kept,) = forgetful.folder.rglob(f"{digest}.rows")
        monkeypatch.setenv(DEVIATION, "live later")
        forgetful.stop()
        forgetful.module = "tests.e2e.deviant"
        cluster.restart(forgetful)
        until(lambda: not kept.exists(), "nothing is kept for users after `erase_by`")
        late = verify(town, "honest", client_of_honest)
        assert (late.code, late.json["counted"]) == (0, len(VALUES)), "the others still prove it"
        (sentence,) = late.json["findings"]
        assert "shuffler 1 (shuffler-1)" in sentence
        assert "the lists of this collection are erased: nothing can be shown any more" in sentence

        forgetful.stop()
        assert command("shuffler", "rotate-keys", "--config", forgetful.config, "--early").code == 0
        client_of_honest.config.write_text(
            client_of_honest.config.read_text().replace(cluster.identities()[0], card_of(forgetful).identity.hex())
        )
        cluster.restart(forgetful)
        rotated = verify(town, "honest", client_of_honest)
        assert (rotated.code, rotated.json["counted"]) == (0, len(VALUES)), rotated.err
        (sentence,) = rotated.json["findings"]
        assert sentence.startswith("shuffler 1 (shuffler-1)"), "which has other keys, and the others still prove it"
