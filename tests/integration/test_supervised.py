"""What a supervisor does to a party: rotate its log, close its terminal, stop it; each with a real process."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from peos.localcluster import LocalCluster, Party
from tests.e2e.town import PATIENCE, until
from tests.needs import program

pytestmark = pytest.mark.full  # processes that serve

# A shell's place: the first process of a session with a terminal. It becomes the party.
IN_A_TERMINAL = """
import os, sys
os.setsid()
for number in range(3):
    os.dup2(os.open(sys.argv[1], os.O_RDWR), number)
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""
LOGROTATE = """
{log} {{
    size 1
    rotate 3
    create
    postrotate
        kill -HUP {process}
    endscript
}}
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster(tmp_path_factory.mktemp("supervised") / "cluster", shufflers=3) as made:
        made.init()
        yield made


def party(cluster: LocalCluster, role: str) -> Party:
    return next(one for one in cluster.parties if one.module == role)


def words(party: Party, log: object) -> list[str]:
    return ["-m", party.module, "serve", "--config", str(party.config), "--log", str(log)]


def events(log: Path) -> list[str]:
    """The events of a log; a line that is being written does not count yet."""
    text = log.read_text(encoding="utf-8") if log.exists() else ""
    return [json.loads(line)["event"] for line in text.splitlines(keepends=True) if line.endswith("\n")]


@pytest.mark.parametrize("role", ["shuffler", "analyzer"])
def test_a_party_outlives_rotations_and_its_terminal_and_stops_with_0(
    cluster: LocalCluster, role: str, tmp_path: Path
) -> None:
    one, log = party(cluster, role), tmp_path / "party.log"
    terminal, side = os.openpty()
    with subprocess.Popen([sys.executable, "-c", IN_A_TERMINAL, os.ttyname(side), *words(one, log)]) as ran:  # noqa: S603
        try:
            ports = len(cluster.ports[one.name])
            until(lambda: events(log).count("listening") == ports, "all of its ports")
            moved = log.rename(tmp_path / "party.log.1")
            ran.send_signal(signal.SIGHUP)
            until(lambda: "log opened" in events(log), "a line in the new file")
            assert "log opened" not in events(moved)
            assert log.stat().st_mode & 0o777 == 0o600

            ran.send_signal(signal.SIGHUP)  # nothing was moved
            until(lambda: events(log).count("log opened") == 2, "the same file")

            os.close(side)
            os.close(terminal)
            until(lambda: events(log).count("log opened") == 3, "the hang-up, noticed")
            ran.send_signal(signal.SIGTERM)
            assert ran.wait(PATIENCE) == 0
        finally:
            ran.kill()
    assert events(log)[-2:] == ["draining", "stopped"]


@pytest.mark.systemd
def test_logrotate_with_its_default_way_works(cluster: LocalCluster, tmp_path: Path) -> None:
    one, log = party(cluster, "shuffler"), tmp_path / "party.log"
    with subprocess.Popen([sys.executable, *words(one, log)], stderr=subprocess.DEVNULL) as ran:  # noqa: S603
        try:
            until(lambda: events(log).count("listening") == 2, "its ports")
            rules = tmp_path / "rules"
            rules.write_text(LOGROTATE.format(log=log, process=ran.pid), encoding="utf-8")
            rules.chmod(0o600)
            subprocess.run(  # noqa: S603
                [program("logrotate"), "--force", "--state", str(tmp_path / "state"), str(rules)], check=True
            )
            until(lambda: events(log) == ["log opened"], "the new file, with that line alone")
            assert "listening" in events(tmp_path / "party.log.1")
            ran.send_signal(signal.SIGTERM)
            assert ran.wait(PATIENCE) == 0
        finally:
            ran.kill()


def test_a_container_reads_lines_from_standard_output(cluster: LocalCluster) -> None:
    one = party(cluster, "shuffler")
    with subprocess.Popen(  # noqa: S603
        [sys.executable, *words(one, "json")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as ran:
        try:
            assert ran.stdout is not None, "it was asked for"
            seen: list[str] = []
            for line in ran.stdout:
                seen.append(json.loads(line)["event"])
                if seen.count("listening") == 2 and "log opened" not in seen:
                    ran.send_signal(signal.SIGHUP)
                if seen[-1] == "log opened":
                    ran.send_signal(signal.SIGTERM)
            _, said = ran.communicate(timeout=PATIENCE)
            assert ran.returncode == 0
        finally:
            ran.kill()
    assert seen[-2:] == ["draining", "stopped"]
    assert said == ""
    assert not Path("json").exists()


def test_what_a_configuration_says_wrong_is_2_and_a_lock_that_is_held_too(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    one, log = party(cluster, "shuffler"), tmp_path / "party.log"
    wrong = tmp_path / "shuffler.toml"
    wrong.write_text("nmae = 'north'\n", encoding="utf-8")
    command = [sys.executable, "-m", "shuffler", "serve", "--config", str(wrong)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 2  # noqa: S603
    with subprocess.Popen([sys.executable, *words(one, log)], stderr=subprocess.DEVNULL) as ran:  # noqa: S603
        try:
            until(lambda: events(log).count("listening") == 2, "its ports")
            second = subprocess.run(  # noqa: S603
                [sys.executable, *words(one, "json")], capture_output=True, check=False, text=True
            )
            assert second.returncode == 2
            assert "[store.in_use]" in second.stderr
        finally:
            ran.kill()
            assert ran.wait(PATIENCE) == -signal.SIGKILL
    again = subprocess.Popen([sys.executable, *words(one, log)], stderr=subprocess.DEVNULL)  # noqa: S603
    with again:
        try:
            until(lambda: events(log).count("listening") == 4, "its ports, after a kill")
            again.send_signal(signal.SIGTERM)
            assert again.wait(PATIENCE) == 0
        finally:
            again.kill()
