"""One collection's town, brought to a stage once and then put back there for every run.

What dominates a run is not the killing: keys, dummies and submissions of 3072 bits cost far more. So each stage is
played once, every process is stopped, and the folders are copied; a run begins with a copy. That is no backup in the
sense of the stores, which would notice it: all parties go back together, witnesses included, and nothing that was said
after the copy is known to anybody.
"""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from peos.collection.lifecycle import State
from peos.ending import ends_with_this
from peos.localcluster import LocalCluster, Party
from peos.store.bell import NAME as BELL
from tests.e2e.studies import held_twice, terms, twice
from tests.e2e.town import EPSILON, until
from tests.faults.points import JOINT, SHUFFLERS, Point, Stage

CHECKOUT: Final = Path(__file__).parents[2]
STUDY: Final = "struck"
NAME: Final = f"{STUDY}.1"  # of the collection, whether it is a round of the study or stands alone
QUESTIONS: Final = ("grr", "grouped")  # of one value of a list; or of a study of one round, by hidden tables
FAKES: Final = 8
LASTS: Final = 14 * 3600  # seconds for which users may submit: longer than any sweep over all points
PATIENCE: Final = 300.0  # for preparing a stage
LAUNCHER: Final = "tests.faults.launcher"


class Ground:
    """A local cluster whose folders can be put back to a stage, and what its analyst and its users do."""

    def __init__(self, folder: Path, users: int, scheme: str = "paillier", question: str = "grr") -> None:
        self.users = users
        self.scheme = scheme
        self.is_study = question == "grouped"
        self.domain = max(64, 4 * users)
        self.cluster = LocalCluster(folder / "cluster", shufflers=SHUFFLERS)
        self.cluster.init(most_eps_local=2 * EPSILON)
        assert self.cluster.analyzer is not None, "the cluster was made with one"
        self.analyzer: Party = self.cluster.analyzer
        self.client = self.cluster.client(most_eps_local=2 * EPSILON, budget=2 * EPSILON)
        self.trace = folder / "trace.jsonl"
        self._copies = folder / "copies"
        # Every fourth value: what no user gave is in between, and each is given once.
        self.values = [4 * user + 1 for user in range(users)]
        (self.client.folder / "values.txt").write_text("".join(f"{value}\n" for value in self.values))
        records = "".join(f"{json.dumps(one)}\n" for one in held_twice(self.values))
        (self.client.folder / "records.jsonl").write_text(records)
        self._keep(Stage.FRESH)

    @property
    def serving(self) -> dict[str, Party]:
        """The parties that serve, by name."""
        return {party.name: party for party in self.cluster.parties}

    # Stages.

    def enter(self, stage: Stage) -> None:
        """End every process, and put the folders as they were at the stage."""
        if not self._copy(stage).exists():
            self._make(stage)
        self.end()
        self.trace.unlink(missing_ok=True)
        shutil.rmtree(self.cluster.folder)
        shutil.copytree(self._copy(stage), self.cluster.folder)

    def end(self) -> None:
        """Kill every process; what they have durably stays."""
        for party in self.cluster.parties:
            party.stop(kill=True)

    def _make(self, stage: Stage) -> None:
        self.enter(Stage(stage - 1))
        self.start()
        for words in {Stage.OPEN: (self.creating, self.enrolling), Stage.FULL: (self.submitting,)}[stage]:
            ran = self.run(words(), patience=PATIENCE)
            assert ran.returncode == 0, ran.stderr
        if stage is Stage.OPEN and self.is_study:
            self._invite()
        self.cluster.stop()
        self._keep(stage)

    def _invite(self) -> None:
        """Run the study as far as its round's invitation; the round goes on without that."""
        words = ("peos.cli", "study", "run", "--config", self.analyzer.config, "--out", self.invitation.parent, STUDY)
        with subprocess.Popen(  # noqa: S603 - our own command
            self.words(words), env=_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        ) as running:
            try:
                until(lambda: self.invitation.exists() or running.poll() is not None, "the invitation")
            finally:
                running.kill()
        assert self.invitation.exists(), "the study ended without it"

    def _keep(self, stage: Stage) -> None:
        shutil.copytree(self.cluster.folder, self._copy(stage), ignore=shutil.ignore_patterns(BELL))

    def _copy(self, stage: Stage) -> Path:
        return self._copies / stage.name.lower()

    # Processes.

    def start(self, armed: Mapping[str, Sequence[Point]] | None = None) -> None:
        """Start every party, some of them armed, and wait until their ports answer."""
        for name, party in self.serving.items():
            self.begin(party, *(armed or {}).get(name, ()))
        for party in self.cluster.parties:
            party.wait_until_listening(self.cluster.ports[party.name])

    def begin(self, party: Party, *points: Point) -> None:
        """Start one party; its ports answer a little later."""
        if not points:
            party.start()
            return
        with open(os.open(party.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as log:
            party.process = subprocess.Popen(  # noqa: S603 - our own launcher
                self.words((party.module, "serve", "--config", party.config), *points),
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
            )

    def words(self, words: Iterable[object], *points: Point) -> list[str]:
        """A command line that runs a role's module, armed or as it always is."""
        armed = [LAUNCHER, str(self.trace), JOINT.join(point.name for point in points)] if points else []
        return [sys.executable, "-m", *armed, *map(str, words)]

    def run(self, words: Iterable[object], *points: Point, patience: float) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, whichever that is."""
        return subprocess.run(  # noqa: S603 - our own commands
            self.words(words, *points),
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=patience,
        )

    # What people do.

    def creating(self) -> list[object]:
        """The analyst asks, and expects a few more users than come: some dummies are left for the freeze."""
        words: list[object] = ["analyzer", "create", "--name", NAME, "--domain", self.domain, "--mechanism", "grr"]
        if self.is_study:
            words = ["peos.cli", "study", "create", "--name", STUDY, *twice(self.cluster.folder, self.domain)]
        words += [*terms(self.users + self.users // 8 + 1, fakes=FAKES), "--minimum", max(1, self.users - 16)]
        words += ["--config", self.analyzer.config, "--question", "what falls", "--closes-in", LASTS]
        return [*words, "--scheme", self.scheme, "--out", self.invitation.parent]

    def enrolling(self) -> list[object]:
        """She mints a ticket for every user."""
        words: list[object] = ["peos.cli", "enrol", "--config", self.analyzer.config]
        words += ["--study", STUDY] if self.is_study else ["--collection", NAME]
        return [*words, "--count", self.users, "--out", self.tickets]

    def submitting(self) -> list[object]:
        """All users answer."""
        words: list[object] = ["user_client", "submit-file", "--config", self.client.config]
        words += ["--invitation", self.invitation, "--tickets", self.tickets]
        given = ("--records", "records.jsonl") if self.is_study else ("--values", "values.txt")
        return [*words, given[0], self.client.folder / given[1]]

    def ordering(self, order: str) -> list[object]:
        """The analyst closes the collection, or aborts it."""
        return ["analyzer", order, "--config", self.analyzer.config, NAME]

    @property
    def tickets(self) -> Path:
        """A ticket a line."""
        return self.cluster.folder / "tickets"

    @property
    def invitation(self) -> Path:
        """What users are given."""
        return self.cluster.folder / "given" / f"{NAME}.invitation"

    # What can be seen from outside.

    def traced(self) -> list[dict[str, Any]]:
        """The points that were reached."""
        lines = self.trace.read_text().splitlines() if self.trace.exists() else []
        return [json.loads(line) for line in lines]

    def state(self) -> tuple[State, str]:
        """The collection's state with the analyzer, and its reason."""
        rows = self.asked("SELECT state, reason FROM collection")
        return (State(rows[0][0]), rows[0][1]) if rows else (State.DRAFT, "")

    def is_over(self) -> bool:
        """Whether the analyzer is through, with all that follows from the end."""
        folder = self.analyzer.folder / "state" / "collections" / NAME
        rows = self.asked("SELECT key IS NULL, state = 'aborted' FROM collection")
        settled = not self.asked("SELECT 1 FROM erasing")
        erased = settled and bool(rows) and rows[0][0] == 1 and not (folder / "vectors").exists()
        return erased and (rows[0][1] == 1 or (folder / "report.html").exists())  # which is written last

    def asked(self, query: str) -> list[tuple[Any, ...]]:
        """A question to the analyzer's database."""
        return rows_of(self.analyzer.folder / "state" / "analyzer.sqlite", query)

    def states(self) -> list[str]:
        """Each shuffler's own state, as it wrote it last."""
        return [self._standing(party) for party in self.cluster.shufflers]

    @staticmethod
    def _standing(party: Party) -> str:
        try:
            lines = json.loads((party.folder / "state" / "status.json").read_text())
        except (OSError, ValueError):
            return "down"
        return str(lines[0]["state"]) if lines else "nothing"


def rows_of(path: Path | str, query: str, *values: object) -> list[tuple[Any, ...]]:
    """Rows of a database that its process may be writing to, or was killed at."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30.0)) as base:
        return base.execute(query, values).fetchall()


def _environment() -> dict[str, str]:
    return {**ends_with_this(), "PYTHONPATH": str(CHECKOUT)}


@contextmanager
def ground(folder: Path, users: int, scheme: str = "paillier", question: str = "grr") -> Iterator[Ground]:
    """A ground whose processes are ended at the end."""
    made = Ground(folder, users, scheme, question)
    try:
        yield made
    finally:
        made.end()


def end_group(leader: int, left: Sequence[int]) -> None:
    """Processes that outlived their party, once that has been noticed."""
    if left:
        os.killpg(leader, signal.SIGKILL)


__all__ = ["EPSILON", "FAKES", "NAME", "Ground", "end_group", "ground", "rows_of", "until"]
