"""Studies in a town: what its people do about one, and a study of one round in the place of a collection."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peos.ending import ends_with_this
from tests.e2e.town import EPSILON, PATIENCE, Ran, Town, until
from tests.e2e.with_tasks import DIES

LAUNCHER: Final = ("tests.e2e.with_tasks",)
_CHECKOUT: Final = Path(__file__).parents[2]


class StudyTown(Town):
    """A town whose analyst asks studies."""

    def study(self, order: str, *words: object, dies: str = "") -> Ran:
        """A command about a study; it dies at a point, if one is named."""
        ran = subprocess.run(  # noqa: S603 # our own command line
            self._words(order, *words),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
            cwd=_CHECKOUT,
            env={**ends_with_this(), DIES: dies},
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    @contextmanager
    def running(self, name: str) -> Iterator["subprocess.Popen[bytes]"]:
        """`study run`, in the background; it is killed at the end, if it is still there."""
        with (self.folder / "run.log").open("ab") as log:
            process = subprocess.Popen(  # noqa: S603 # our own command line
                self._words("run", "--out", self.folder, name),
                stdout=log,
                stderr=log,
                cwd=_CHECKOUT,
                env=ends_with_this(),
            )
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def _words(self, order: str, *words: object) -> list[str]:
        command = [sys.executable, "-m", *LAUNCHER, "peos.cli", "study", order, "--config", self.analyzer.config]
        return list(map(str, [*command, *words]))

    def invited(self, running: "subprocess.Popen[bytes]", round_: str) -> None:
        """Wait for a round's invitation, as long as the study runs."""
        until(lambda: self.invitation(round_).exists() or running.poll() is not None, f"an invitation to {round_}")
        assert self.invitation(round_).exists(), self.told()

    def ends(self, running: "subprocess.Popen[bytes]") -> None:
        """Wait for the end of a study that runs."""
        assert running.wait(PATIENCE) == 0, self.told()

    def told(self) -> str:
        """What `study run` said."""
        return (self.folder / "run.log").read_text(encoding="utf-8")

    def minted(self, study: str, count: int) -> Path:
        """Tickets of all users of a study."""
        file = self.folder / f"{study}.tickets"
        ran = self.run("enrol", "--config", self.analyzer.config, "--study", study, "--count", count, "--out", file)
        assert ran.code == 0, ran.err
        return file

    def answers(self, round_: str, tickets: Path, records: Sequence[object]) -> dict[str, Any]:
        """Every user of the file answers the round, if it is hers; what the client says."""
        client = self.cluster.client(
            f"users-of-{round_.partition('.')[0]}", most_eps_local=2 * EPSILON, budget=2 * EPSILON
        )
        file = self.folder / "records.jsonl"
        file.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
        ran = self.run(
            *("client", "submit-file", "--config", client.config, "--invitation", self.invitation(round_)),
            *("--tickets", tickets, "--records", file, "--json"),
        )
        assert ran.code == 0, ran.err
        said: dict[str, Any] = ran.json
        return said


class Flat:
    """Each user is asked for one value of a list."""

    def ask(self, town: StudyTown, name: str, *asked: object, domain: int, users: int) -> str:
        """The name of the collection, which is open."""
        ran = town.ask(name, "--mechanism", "grr", *asked, domain=domain, users=users)
        assert ran.code == 0, ran.err
        return name

    def answer(self, town: StudyTown, collection: str, values: Sequence[int]) -> None:
        """Each value is a user's."""
        town.answer(collection, values)


class Grouped:
    """The same of a study of one round: each user holds her value twice, and answers for one of them, hidden which."""

    def ask(self, town: StudyTown, name: str, *asked: object, domain: int, users: int) -> str:
        """The name of its collection, which is open: to `study run` it may be left alone from then on."""
        ran = town.study("create", "--name", name, *twice(town.folder, domain), *terms(users), *asked)
        assert ran.code == 0, ran.err
        with town.running(name) as running:
            town.invited(running, f"{name}.1")
        return f"{name}.1"

    def answer(self, town: StudyTown, collection: str, values: Sequence[int]) -> None:
        """Each value is a user's."""
        tickets = town.minted(collection.removesuffix(".1"), len(values))
        said = town.answers(collection, tickets, held_twice(values))
        assert said["accepted"] == len(values), said


QUESTIONS: Final[dict[str, Flat | Grouped]] = {"grr": Flat(), "grouped": Grouped()}


def twice(folder: Path, domain: int) -> tuple[object, ...]:
    """The options of a task that asks for one value by two tables, of which each report has a cell of one."""
    schema, tables = folder / "schema.toml", folder / "tables.txt"
    schema.write_text(f"a = {{from = 0, to = {domain - 1}}}\nb = {{from = 0, to = {domain - 1}}}\n")
    tables.write_text("a\nb\n")
    return "--task", "marginals", "--schema", schema, "--tables", tables, "--ways", 1


def held_twice(values: Sequence[int]) -> list[object]:
    """The records of users with these values."""
    return [{"a": value, "b": value} for value in values]


def terms(users: int, *, fakes: int = 0, eps_local: float = EPSILON) -> tuple[object, ...]:
    """Targets with local noise so small that no report is ever changed."""
    return "--users", users, "--delta", "1e-6", "--eps-local", eps_local, "--fakes", fakes


def counted(result: dict[str, Any]) -> NDArray[np.float64]:
    """How many reports there are of each value, fakes among them, in whatever table; they must come as whole numbers.

    What was taken off for fakes is put back: local noise has changed none of these reports.
    """
    tables = np.array(result["frequency"]).reshape(len(result["sizes"]), -1)
    telling = result["users"] / (result["users"] + result["fakes"])
    each = telling * tables + (1 - telling) / tables.shape[1]
    reports = (np.array(result["sizes"])[:, np.newaxis] * each).sum(axis=0)
    assert np.abs(reports - np.rint(reports)).max() < 0.05, f"these are no whole numbers of reports: {reports}"
    return np.asarray(np.rint(reports))
