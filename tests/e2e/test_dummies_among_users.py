"""Dummies have the row numbers of users in the stores of real shufflers, whichever of them looks."""

import sqlite3
import time
from contextlib import ExitStack, closing
from math import sqrt
from pathlib import Path

import pytest

from peos.collection.dummies import LEAST_SENT
from peos.localcluster import LocalCluster, Party
from tests.e2e.town import Town, digest_of, until
from user_client.client import Client
from user_client.config import read
from user_client.input_files import read_lines, read_ticket

COLLECTIONS, USERS = 4, 75
PAUSE = 0.1  # seconds between one user and the next
LAG = 1.5  # seconds from the user who calls a dummy in until it is in, on a machine that is busy
SIGMAS = 4.9  # one run in a million of an honest program fails


def arrived(shuffler: Party, digest: str) -> list[bytes]:
    """The ids that a shuffler keeps, by row number."""
    path = shuffler.folder / "state" / "submissions" / f"{digest}.sqlite"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30.0)) as base:
        return [id_ for (id_,) in base.execute("SELECT id FROM submissions ORDER BY number")]


def places(ids: list[bytes], users: set[bytes]) -> list[float]:
    """For each dummy that is there, which share of the users has a smaller row number."""
    assert users <= set(ids), "every user was acknowledged"
    found, before = [], 0
    for id_ in ids:
        before += id_ in users
        if id_ not in users:
            found.append(before / len(users))
    return found


@pytest.mark.long
def test_row_numbers_do_not_tell_dummies_from_users(tmp_path: Path) -> None:
    """`pytest -s -m long tests/e2e/test_dummies_among_users.py`: two minutes, most of them pauses between users."""
    names = [f"question-{number}" for number in range(COLLECTIONS)]
    with LocalCluster(tmp_path / "cluster") as cluster, ExitStack() as devices:
        cluster.init(most_eps_local=24.0, least_reports=1)
        cluster.start()
        town = Town(cluster)
        party = cluster.client("users", most_eps_local=24.0, budget=10**4)
        client = devices.enter_context(Client(read(party.config)))
        opened, tickets = [], []
        for name in names:
            ran = town.ask(name, "--scheme", "jl", domain=4, users=USERS)
            assert ran.code == 0, ran.err
            tickets.append([read_ticket(line) for line in read_lines(town.tickets(name, USERS))])
            opened.append(client.open(town.invitation(name).read_bytes()))
        begun = time.monotonic()
        for number in range(USERS):
            for collection, owned in zip(opened, tickets, strict=True):
                (result,) = collection.submit_many([(number % 4, owned[number])])
                assert result.accepted
                time.sleep(PAUSE)
        took = time.monotonic() - begun
        digests = [digest_of(town, name) for name in names]
        until(
            lambda: all(len(arrived(cluster.shufflers[0], digest)) > USERS + LEAST_SENT for digest in digests),
            "the dummies that these users call in, and no freeze has to send",
        )
        for shuffler in cluster.shufflers:
            ranks = [
                place
                for digest, owned in zip(digests, tickets, strict=True)
                for place in places(arrived(shuffler, digest), {ticket.id for ticket in owned})
            ]
            mean = sum(ranks) / len(ranks)
            allowed = SIGMAS * sqrt((1 / 12) * (1 / len(ranks) + 1 / USERS / COLLECTIONS)) + LAG / took
            assert allowed < 0.25, "or dummies that all come first, or last, would hardly be seen"
            told = f"{shuffler.name}: mean place {mean:.3f} of {len(ranks)} dummies, users over {took:.0f} s"
            print(told)  # noqa: T201 - a figure to report, shown by -s
            assert abs(mean - 0.5) <= allowed, f"mean place {mean:.3f}, allowed 0.5 ± {allowed:.3f}"
