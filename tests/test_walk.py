"""What the tutorial says to type in three terminals is typed, word for word; the sample configurations are read."""

import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

import pytest

from analyzer import console_config
from analyzer.config import Config as AnalyzerConfig
from analyzer.config import read as read_analyzer
from peos.estimate.frequency import BEYOND
from peos.localcluster import free_port
from peos.settings import load
from peos.spec import CollectionSpec
from user_client.config import Config as ClientConfig
from user_client.config import read as read_client

ROOT = Path(__file__).parent.parent
PATIENCE = 120.0
PORT = "7000"  # the tutorial's; here it is one that is free


def section() -> str:
    """The tutorial's walk."""
    tutorial = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    return tutorial.split("## In three terminals\n")[1].split("\n## ")[0]


def blocks(language: str) -> list[str]:
    """What is typed, or printed, in the order of the page."""
    return re.findall(rf"```{language}\n(.*?)```", section(), re.DOTALL)


class Desk:
    """A person's folder, with terminals; `peos` is on the path as the page wants it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        programs = folder.parent / "bin"
        programs.mkdir()
        peos = programs / "peos"
        peos.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m peos.cli "$@"\n', encoding="utf-8")
        peos.chmod(0o700)
        self._environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, typed: str) -> subprocess.Popen[bytes]:
        """Type a block in a terminal of its own."""
        self._started.append(
            subprocess.Popen(  # noqa: S603  # the tutorial's own commands
                ["/bin/bash", "-e", "-c", typed],
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        )
        return self._started[-1]

    def type(self, typed: str, *, answers: str = "") -> str:
        """Type a block, answer what is asked, and read what is printed until the last command has ended.

        What was put in the background keeps its terminal; hence a file, which can be read all the same.
        """
        printed, said = self.folder.parent / "printed", self.folder.parent / "said"
        with printed.open("wb") as out, said.open("wb") as errors:
            ran = subprocess.Popen(  # noqa: S603  # likewise
                ["/bin/bash", "-e", "-c", typed],
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=errors,
                start_new_session=True,
            )
            self._started.append(ran)
            ran.communicate(answers.encode(), timeout=PATIENCE)
        text = printed.read_text(encoding="utf-8")
        assert ran.returncode == 0, f"{typed}\n{text}\n{said.read_text(encoding='utf-8')}"
        return text

    def close(self) -> None:
        """SIGTERM to every terminal, and wait for all that ran in it."""
        for process in self._started:
            try:
                os.killpg(process.pid, signal.SIGTERM)
            except ProcessLookupError:
                continue
        give_up = time.monotonic() + 60.0
        for process in self._started:
            while time.monotonic() < give_up:
                process.poll()
                try:
                    os.killpg(process.pid, 0)
                except ProcessLookupError:
                    break
                time.sleep(0.05)
            if process.stdout:
                process.stdout.close()


@contextmanager
def desk(folder: Path) -> Iterator[Desk]:
    """A desk that is left tidy."""
    folder.mkdir()
    here = Desk(folder)
    try:
        yield here
    finally:
        here.close()


@pytest.mark.full
def test_the_walk_in_three_terminals_goes_as_printed(tmp_path: Path) -> None:
    free = str(free_port())
    analyst, cluster, collection, user, others, end, asking, taken = (
        typed.replace(PORT, free) for typed in blocks("sh")
    )
    assert free in analyst + cluster
    (printed,) = blocks("text")
    with desk(tmp_path / "walk") as person:
        identity = person.type(analyst).splitlines()[1].split()
        assert identity[0] == "identity"
        assert len(bytes.fromhex(identity[1])) == 32

        running = person.start(cluster)
        assert running.stdout is not None
        shown = [running.stdout.readline().decode() for _ in range(4)]
        assert [line.split()[0] for line in shown] == ["shuffler-1", "shuffler-2", "shuffler-3", "running,"], shown

        assert "200 tickets in tickets.txt" in person.type(collection)
        assert person.type(user, answers="cat\n").startswith("accepted by all 3 shufflers")
        noted = person.type(others)
        assert noted.startswith("199 of 199 accepted by all shufflers")
        assert "200 prepared, 200 accepted" in noted
        assert "spent 4 of 8" in noted

        result = person.type(end).splitlines()
        assert result[0] == "pets is closed"
        compare(result[1:], printed.splitlines())
        assert person.type(asking).startswith("200 of 200 reports were counted")
        person.type(taken)
        rows = (person.folder / "pets.csv").read_text(encoding="utf-8").splitlines()
        assert [row.partition(",")[0] for row in rows] == ["label", "nobody", "dog", "cat"]
        assert (person.folder / "pets.html").exists()
    assert not leftovers(tmp_path), "everything has ended"


def compare(shown: list[str], printed: list[str]) -> None:
    """Line by line; numbers that noise decides may differ."""
    number = re.compile(r"-?\d+\.\d+")
    assert shown[0] == printed[0]
    assert shown[1].split() == printed[1].split()
    # Shares that are 20 points apart, five standard errors of their difference, change places once in a million runs.
    # The last column apart: the rarest value, of a tenth of so few users, is found in 19 of 20.
    assert [number.sub("#", line).split()[:-1] for line in shown[2:5]] == [
        number.sub("#", line).split()[:-1] for line in printed[2:5]
    ]
    found = [line.split()[-1] for line in shown[2:5]]
    assert found[:2] == ["yes", "yes"]
    assert shown[5] == printed[5].replace("3 of 3", f"{found.count('yes')} of 3")
    rest = [[line for line in lines[6:] if line != BEYOND] for lines in (shown, printed)]
    assert rest[0] == rest[1], "but for a word on shares below 0, where there are some"


def leftovers(folder: Path) -> list[str]:
    """Processes that work in the folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                where = os.readlink(entry / "cwd")
            except OSError:
                continue
            if where.startswith(str(folder)):
                found.append((entry / "cmdline").read_text().replace("\0", " "))
    return found


@pytest.mark.parametrize("size", ["minimal", "full"])
def test_the_sample_configurations_are_read(size: str) -> None:
    analyzer = read_analyzer(ROOT / "deploy" / f"analyzer.{size}.toml")
    assert len(analyzer.shufflers) == (3 if size == "minimal" else 5)
    client = read_client(ROOT / "deploy" / f"client.{size}.toml")
    assert client.least_fakes == (0 if size == "minimal" else 1000)
    assert client.budget >= client.most_eps_local


def test_the_full_samples_show_every_setting() -> None:
    for name, config in (("analyzer", AnalyzerConfig), ("client", ClientConfig)):
        sample = tomllib.loads((ROOT / "deploy" / f"{name}.full.toml").read_text(encoding="utf-8"))
        listen = sample.pop("listen", {})
        if name == "analyzer":  # one field of the configuration, made of several
            pages = {key.name.partition(".")[2] for key in console_config.KEYS}
            assert pages <= listen.keys()
            listen = {key: value for key, value in listen.items() if key == "console" or key not in pages}
        shown = {*sample, *listen}
        named = {"dummies_through": "dummies", "dummies_by_web": "dummies", "peer_connections": "limits"}
        assert shown == {named.get(field.name, field.name) for field in fields(config)} - {"path"}


def test_the_sample_collection_is_read_and_can_be_planned() -> None:
    spec = load(ROOT / "deploy" / "collection.toml", CollectionSpec)
    assert spec.labels == ("nobody", "a dog", "a cat")
    assert spec.plan(3).guarantees.server.epsilon <= 0.5
