"""A local cluster with a person at each keyboard: what tests do with real processes, in one line each."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from analyzer.config import read
from analyzer.workspace import Workspace
from peos.cli import main
from peos.collection.document import Document
from peos.localcluster import LocalCluster, Party

PATIENCE: Final = 300.0  # seconds until something that must happen has not happened
EPSILON: Final = 24.0  # of local noise so small that no report is ever changed: one in 10^10 is
_GIVE_UP: Final = 600.0


@dataclass(frozen=True)
class Ran:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, read."""
        return json.loads(self.out)


def command(*words: object, given: str = "", folder: Path | None = None, launcher: Sequence[str] = ()) -> Ran:
    """Run `peos WORDS` as a process of its own."""
    ran = subprocess.run(  # noqa: S603  # our own command line, with the tests' own words
        [sys.executable, "-m", *launcher, "peos.cli", *map(str, words)],
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=_GIVE_UP,
        cwd=folder,
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def here(*words: object) -> Ran:
    """Run `peos WORDS` in this process, which is done sooner; for orders that end by themselves, in the main thread."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(word) for word in words])
    return Ran(code, out.getvalue(), err.getvalue())


def until(true: Callable[[], bool], what: str, *, patience: float = PATIENCE, every: float = 0.02) -> float:
    """Wait until it is true; how long that took."""
    begun = time.monotonic()
    while not true():
        assert time.monotonic() - begun < patience, f"after {patience:.0f} s there was still not: {what}"
        time.sleep(every)
    return time.monotonic() - begun


class Town:
    """A cluster that runs, its analyst and its users."""

    def __init__(self, cluster: LocalCluster, *, run: Callable[..., Ran] = command) -> None:
        self.cluster = cluster
        self.run = run  # how its people give their commands
        self.folder = cluster.folder.parent

    @property
    def analyzer(self) -> Party:
        """Its process."""
        assert self.cluster.analyzer is not None, "the test plays it"
        return self.cluster.analyzer

    @property
    def shufflers(self) -> list[Party]:
        """The processes."""
        return self.cluster.shufflers

    def command(self, _who: str, *words: object) -> Ran:
        """A person's command, where that person is."""
        return self.run(*words)

    def analyst(self, order: str, *words: object) -> Ran:
        """A command of the analyzer's."""
        return self.command("analyzer", "analyzer", order, "--config", self.analyzer.config, *words)

    def ask(
        self, name: str, *asked: object, domain: int, users: int, eps_local: float = EPSILON, fakes: int = 0
    ) -> Ran:
        """Create a collection; the question is its name unless `asked` says otherwise."""
        words = ["--name", name, "--domain", domain, "--users", users, "--delta", "1e-6", "--eps-local", eps_local]
        words += ["--fakes", fakes, "--out", self.folder]
        if "--question" not in asked:
            words += ["--question", f"the question {name}"]
        return self.analyst("create", *words, *asked)

    def invitation(self, name: str) -> Path:
        """What users are given."""
        return self.folder / f"{name}.invitation"

    def document_of(self, name: str) -> Document:
        """What its users are, or were, asked."""
        workspace = Workspace(read(self.analyzer.config))
        try:
            return workspace.signed(workspace.kept(name)).document
        finally:
            workspace.close()

    def tickets(self, name: str, count: int, *, of: str = "") -> Path:
        """Fresh tickets of the collection `of`, or of the one with the name of the file."""
        file = self.folder / f"{name}.tickets"
        ran = self.run(
            "enrol", "--config", self.analyzer.config, "--collection", of or name, "--count", count, "--out", file
        )
        assert ran.code == 0, ran.err
        return file

    def answer(self, name: str, values: Sequence[int]) -> Party:
        """Give these answers, each with a ticket of its own; the client that did."""
        client = self.cluster.client(f"users-of-{name}", most_eps_local=2 * EPSILON, budget=2 * EPSILON)
        file = client.folder / "values.txt"
        file.write_text("".join(f"{value}\n" for value in values), encoding="utf-8")
        tickets = self.tickets(name, len(values))
        invited = ("--invitation", self.invitation(name))
        ran = self.command(
            *("users", "client", "submit-file"),
            "--config",
            client.config,
            *invited,
            "--tickets",
            tickets,
            "--values",
            file,
        )
        assert ran.code == 0, ran.err
        return client

    def open(self, name: str, values: Sequence[int], *asked: object, domain: int, **more: Any) -> Party:
        """Create a collection and give every answer."""
        ran = self.ask(name, *asked, domain=domain, users=len(values), **more)
        assert ran.code == 0, ran.err
        return self.answer(name, values)

    def freeze(self, name: str) -> None:
        """Close a collection."""
        ran = self.analyst("freeze", name)
        assert ran.code == 0, ran.err

    def result(self, name: str) -> dict[str, Any]:
        """Wait for the result."""
        ran = self.analyst("result", name, "--wait", PATIENCE, "--json")
        assert ran.code == 0, ran.err
        found: dict[str, Any] = ran.json
        return found

    def standing(self, shuffler: Party, collection: str) -> dict[str, Any]:
        """A collection's line in `peos shuffler status`, by its digest; empty if there is none."""
        ran = self.run("shuffler", "status", "--config", shuffler.config, "--json")
        assert ran.code == 0, ran.err
        lines: list[dict[str, Any]] = ran.json
        return next((line for line in lines if line["collection"] == collection), {})


def digest_of(town: Town, name: str) -> str:
    """A collection's digest, from the analyzer."""
    found: str = town.analyst("status", name, "--json").json["digest"]
    return found


def told(party: Party) -> list[dict[str, Any]]:
    """The lines of its log."""
    lines = party.log.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def says(party: Party, event: str, *, since: int = 0, **fields: object) -> bool:
    """Whether its log has such a line, after the first `since` lines."""
    return any(
        line["event"] == event and all(line.get(name) == value for name, value in fields.items())
        for line in told(party)[since:]
    )


def group(leader: int) -> list[int]:
    """The processes of a party: all that are in the group of the one that was started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended meanwhile
            if int(fields[2]) == leader and fields[0] != "Z":
                found.append(int(entry.name))
    return found


@contextmanager
def paused(party: Party) -> Iterator[None]:
    """Nothing of this party moves meanwhile, so that no party gets further than it has."""
    assert party.process is not None, "it runs"
    os.killpg(party.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.killpg(party.process.pid, signal.SIGCONT)
