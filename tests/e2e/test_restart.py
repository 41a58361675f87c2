"""Every party is stopped and started between the steps of one collection, and killed in some: nothing is lost."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from peos.localcluster import LocalCluster, Party
from tests.e2e.studies import QUESTIONS, StudyTown, counted
from tests.e2e.town import Town, digest_of, group, paused, says, told, until

USERS = 48  # with the dummies so many rows that a holder starts workers for a pass
DOMAIN = 56
STOPS_WITHIN = 10.0  # seconds from SIGTERM to the end
NAME = "kept"


def at_work(party: Party) -> int:
    """How many others are in a party's group."""
    assert party.process is not None, "it runs"
    return len(group(party.process.pid)) - 1


def stop(party: Party) -> None:
    """SIGTERM, as an operator gives it: it ends in time, with exit code 0, and no process of its group stays."""
    assert party.process is not None, "it runs"
    process = party.process
    os.kill(process.pid, signal.SIGTERM)  # the leader alone: its workers are its own to end
    begun = time.monotonic()
    code = process.wait(2 * STOPS_WITHIN)
    took = time.monotonic() - begun
    until(lambda: not group(process.pid), f"the end of every process of {party.name}")
    party.stop()
    assert took < STOPS_WITHIN, f"{party.name} took {took:.1f} s to end"
    assert code == 0, f"{party.name} ended with {code}"


def kill(party: Party) -> None:
    """SIGKILL to the process that was started; its workers notice by themselves."""
    assert party.process is not None, "it runs"
    process = party.process
    process.kill()
    process.wait()
    until(lambda: not group(process.pid), f"the end of the workers of {party.name}")
    party.stop()


def restart(town: Town, party: Party) -> None:
    """SIGTERM, and the next start."""
    stop(party)
    town.cluster.restart(party)


def shuffles(town: Town, party: Party, collection: str) -> dict[str, Any]:
    """What its status says of the collection, once it is shuffling."""
    found: dict[str, Any] = {}

    def is_so() -> bool:
        nonlocal found
        found = town.standing(party, collection)
        return found.get("state") == "shuffling"

    until(is_so, f"{party.name} shuffling", every=0.2)
    return found


@contextmanager
def interrupted(town: Town, party: Party, collection: str, *, holding: Party) -> Iterator[None]:
    """The body runs while `party` is in the middle of the shuffle, which `holding` keeps from ending."""
    with paused(holding):
        line = shuffles(town, party, collection)
        yield
    assert line["state"] == "shuffling"


@pytest.mark.full
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_collection_survives_every_restart(question: str, tmp_path: Path) -> None:
    asked, values = QUESTIONS[question], list(range(USERS))
    with LocalCluster(tmp_path / "cluster", shufflers=3) as cluster:
        cluster.init(most_eps_local=48.0)
        cluster.start()
        town = StudyTown(cluster)
        first, second, third = cluster.shufflers
        name = asked.ask(town, NAME, domain=DOMAIN, users=USERS)
        digest = digest_of(town, name)

        for party in cluster.parties:  # after create
            restart(town, party)
        assert {town.standing(one, digest)["state"] for one in cluster.shufflers} == {"open"}

        asked.answer(town, name, values)
        for party in cluster.parties:  # after submissions
            restart(town, party)
        assert all(town.standing(one, digest)["reports"] >= USERS for one in cluster.shufflers)

        with paused(third):  # the freeze cannot end without it, and the shuffle not either
            assert town.analyst("freeze", name).code == 1, "one shuffler could not be reached"
        town.freeze(name)
        shuffles(town, first, digest)
        for party, other, end in ((first, third, stop), (second, first, kill), (third, second, stop)):
            with interrupted(town, party, digest, holding=other):
                end(party)
                cluster.restart(party)
        with paused(second):
            restart(town, town.analyzer)

        seen = len(told(town.analyzer))
        until(lambda: says(town.analyzer, "the output is complete"), "the output")
        kill(town.analyzer)  # delivered, and not published
        assert not says(town.analyzer, "published"), "it was killed before"
        assert town.analyst("status", name, "--json").json["state"] == "delivered"
        cluster.restart(town.analyzer)
        stop(town.analyzer)
        cluster.restart(town.analyzer)
        result = town.result(name)
        assert counted(result).tolist() == [1] * USERS + [0] * (DOMAIN - USERS)
        assert says(town.analyzer, "published", since=seen)
        assert sum(line["event"] == "published" for line in told(town.analyzer)) == 1
        until(lambda: _is_published(town, digest), "the end with every shuffler", every=0.5)
        ends = [kill, *(stop for _ in cluster.parties[1:])]
        holders = sorted(cluster.parties, key=lambda party: -at_work(party))  # of the last attempt: they have workers
        assert at_work(holders[1]) > 0, f"no workers are there that could stay: {[*map(at_work, holders)]}"
        for party, end in zip(holders, ends, strict=True):
            end(party)


@pytest.mark.full
def test_every_shuffler_opens_its_rows_after_a_kill_between_delivery_and_inspection(tmp_path: Path) -> None:
    with LocalCluster(tmp_path / "cluster", shufflers=3) as cluster:
        cluster.init(most_eps_local=48.0)
        cluster.start()
        town = Town(cluster)
        town.open(NAME, list(range(USERS)), domain=DOMAIN)
        town.freeze(NAME)
        until(lambda: says(town.analyzer, "the output is complete"), "the output")
        kill(town.analyzer)
        assert not says(town.analyzer, "published"), "it was killed before"
        for party in cluster.shufflers:
            kill(party)
            cluster.restart(party)
        cluster.restart(town.analyzer)
        result = town.result(NAME)
        assert result["inspection"]["not_opened"] == []
        assert (result["users"], result["checks"]["inspection"]) == (USERS, True)
        for party in cluster.parties:
            stop(party)
            assert not [path for path in party.folder.rglob("evidence/*/*") if path.is_file()]


def _is_published(town: Town, collection: str) -> bool:
    return all(town.standing(one, collection)["state"] == "published" for one in town.cluster.shufflers)


def test_an_orphan_would_be_seen() -> None:
    program = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
    words = [sys.executable, "-c", program]
    with subprocess.Popen(words, start_new_session=True) as leader:  # noqa: S603  # our own program
        leader.wait()
        left = group(leader.pid)
        assert len(left) == 1, "its child stays"
        os.kill(left[0], signal.SIGKILL)
        until(lambda: not group(leader.pid), "the end of the child")
