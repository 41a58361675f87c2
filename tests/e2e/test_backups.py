"""The drills of docs/operations.md by processes: back up a party that runs, restore after an erasure, new keys."""

import re
import shlex
import signal
import sqlite3
import subprocess
import sys
from contextlib import chdir, closing
from functools import partial
from pathlib import Path

import pytest

from peos.localcluster import LocalCluster, Party
from tests.e2e.town import PATIENCE, Ran, Town, command, digest_of, here, until

pytestmark = pytest.mark.full  # whole collections by processes

VALUES = [value % 4 for value in range(12)]
BUDGET = "\n[budget]\nepsilon = 1000.0\ndelta = 1e-5\n"


def content(folder: Path) -> bytes:
    """Every byte of every file below a folder."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def found(needles: list[bytes], where: bytes) -> int:
    return sum(needle in where for needle in needles)


def tickets(town: Town, name: str) -> list[bytes]:
    """Ids, signatures and seeds of all tickets, as bytes."""
    lines = (town.folder / f"{name}.tickets").read_text(encoding="ascii").split()
    return [bytes.fromhex(part) for line in lines for part in line.split(":")]


def shares(party: Party, digest: str) -> list[bytes]:
    """What users sent to a shuffler."""
    file = party.folder / "state" / "submissions" / f"{digest}.sqlite"
    with closing(sqlite3.connect(file)) as base:
        return [share for (share,) in base.execute("SELECT share FROM submissions")]


def machine(folder: Path, party: Party) -> Path:
    """Another machine of its operator's, who carried the passphrase there; where the configuration is to be."""
    folder.mkdir(mode=0o700)
    (folder / "passphrase").write_bytes((party.folder / "passphrase").read_bytes())
    (folder / "passphrase").chmod(0o600)
    return folder / f"{party.module}.toml"


def drilled(module: str, order: str) -> list[str]:
    """The words of a command as docs/operations.md has it typed."""
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")
    (line,) = re.findall(rf"```sh\n(peos {module} {order} .*)\n```", page)
    return shlex.split(line)[1:]


def typed(module: str, order: str, folder: Path, *more: object) -> Ran:
    """The page's command, typed in a party's folder."""
    with chdir(folder):
        return here(*drilled(module, order), *more)


def kept(party: Party, order: str, *words: object) -> Ran:
    return here(party.module, order, "--config", party.config, *words)


def require(ran: Ran, code: int = 0, id_: str = "") -> Ran:
    assert ran.code == code, ran
    assert id_ in ran.err
    return ran


def is_erased(town: Town, party: Party, digest: str) -> bool:
    return bool(town.standing(party, digest)["state"] == "published")


def test_a_party_is_restored_after_an_erasure_and_has_no_report(tmp_path: Path) -> None:
    with LocalCluster(tmp_path / "cluster") as cluster:
        cluster.init(most_eps_local=48.0, least_reports=1)
        assert cluster.analyzer is not None
        north, office = cluster.shufflers[0], cluster.analyzer
        office.config.write_text(office.config.read_text(encoding="utf-8") + BUDGET, encoding="utf-8")
        cluster.start()
        town = Town(cluster, run=here)
        town.open("pets", VALUES, "--scheme", "jl", domain=4)
        digest = digest_of(town, "pets")
        sent = shares(north, digest)  # of dummies too
        of_users = [*tickets(town, "pets"), *sent]
        assert len(of_users) >= 4 * len(VALUES)

        # While both serve, in the middle of a collection.
        backups = {one.module: one.folder / "party.backup" for one in (north, office)}
        for one in (north, office):
            require(typed(one.module, "backup", one.folder))
            require(typed(one.module, "backup", one.folder), 2, "[input.file_exists]")
        whole = tmp_path / "shuffler.whole"
        assert "destroy by" in require(kept(north, "backup", "--out", whole, "--with-reports")).out
        assert found(sent, whole.read_bytes()) == len(sent)
        spent = require(kept(office, "ledger", "--json")).json

        town.freeze("pets")
        assert town.result("pets")["users"] == len(VALUES)
        until(partial(is_erased, town, north, digest), "all is erased")

        # Another machine for the shuffler.
        config = machine(tmp_path / "new machine", north)
        backups["shuffler"].rename(config.parent / "party.backup")
        require(typed("shuffler", "restore", config.parent))
        assert found(of_users, content(config.parent)) == 0
        require(typed("shuffler", "restore", config.parent), 2, "[backup.folder_used]")
        north.stop()
        require(command("shuffler", "serve", "--config", config), 1, "[store.older]")
        accept(config)
        moved = Party(north.name, "shuffler", config.parent, config, north.card)
        cluster.shufflers[0] = moved
        cluster.restart(moved)
        assert town.standing(moved, digest)["state"] in ("open", "aborted")
        require(town.ask("cats", "--scheme", "jl", domain=4, users=len(VALUES)))  # it is the shuffler that it was

        # Another machine for the analyzer: what is not over there ends, and costs what it cost.
        config = machine(tmp_path / "new office", office)
        backups["analyzer"].rename(config.parent / "party.backup")
        ran = require(typed("analyzer", "restore", config.parent))
        assert "aborted       pets" in ran.out
        assert found(of_users, content(config.parent)) == 0
        assert require(here("analyzer", "ledger", "--config", config, "--json")).json == spent
        assert "created" in require(here("analyzer", "audit", "--config", config)).out


def accept(config: Path) -> None:
    """The first start after a restore, to its ports and no further."""
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "shuffler", "serve", "--config", str(config), "--restored", "--log", "json"],
        stdout=subprocess.PIPE,
        text=True,
    ) as ran:
        assert ran.stdout is not None, "it was asked for"
        ports = 0
        while ports < 2:
            line = ran.stdout.readline()
            assert line, "it listens before it ends"
            ports += '"listening"' in line
        ran.send_signal(signal.SIGTERM)
        ran.communicate(timeout=PATIENCE)
        assert ran.returncode == 0


def test_after_a_rotation_the_old_card_is_good_for_nothing_new(tmp_path: Path) -> None:
    with LocalCluster(tmp_path / "cluster") as cluster:
        cluster.init(most_eps_local=48.0, least_reports=1)
        cluster.start()
        town, east = Town(cluster, run=here), cluster.shufflers[1]
        asked = {"domain": 4, "users": len(VALUES)}
        require(town.ask("pets", "--scheme", "jl", **asked))
        require(kept(east, "rotate-keys"), 2, "[store.in_use]")
        east.stop()
        require(kept(east, "rotate-keys", "--early"), 3, "[key.rotation_under_way]")
        cluster.restart(east)
        require(town.analyst("abort", "pets"))
        digest = digest_of(town, "pets")
        until(lambda: town.standing(east, digest)["state"] == "aborted", "its end")
        east.stop()
        require(kept(east, "rotate-keys"), 3, "[key.rotation_early]")
        new = east.folder / "party.card"
        before = cluster.identities()[1]
        ran = require(typed("shuffler", "rotate-keys", east.folder, "--early"))
        assert before not in ran.out
        assert new.stat().st_mode & 0o777 == 0o644
        cluster.restart(east)

        assert east.card is not None
        assert town.ask("dogs", "--scheme", "jl", "--wait", 3, **asked).code != 0, "the analyzer has the old card"
        assert not (town.folder / "dogs.invitation").exists()
        new.replace(east.card)
        require(town.ask("cats", "--scheme", "jl", **asked))

        # The analyzer: to the shufflers one with new keys is another, until they have its new card.
        office = town.analyzer
        require(kept(office, "rotate-keys"), 2, "[store.in_use]")
        office.stop()
        require(kept(office, "rotate-keys", "--early"), 3, "[key.rotation_under_way]")
        for name in ("cats", "dogs"):
            town.analyst("abort", name)
        require(typed("analyzer", "rotate-keys", office.folder, "--early"))
        ran = town.ask("birds", "--scheme", "jl", "--wait", 3, **asked)
        assert ran.code != 0, "the shufflers have the old card"
        assert (office.folder / "party.card").read_bytes() == (office.folder / "state" / "analyzer.card").read_bytes()
