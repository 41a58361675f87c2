"""Where a collection stands, rendered: one sentence for a person, JSON for a program, the same for every role."""

from dataclasses import dataclass
from typing import Any

from peos.collection.replies import Status

LIMIT = 500  # characters of a field


@dataclass(frozen=True)
class Waiting:
    """What keeps a collection from going on: the step, whose it is, how far it is, and since when."""

    step: str = ""
    parties: tuple[str, ...] = ()
    done: int = 0
    total: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        whom = f" from {', '.join(self.parties)}" if self.parties else ""
        least = f" (at least {self.total:,})" if self.done > self.total else f" of {self.total:,}"
        far = f"{self.done:,}{least}, " if self.total else ""
        return f"waiting for {self.step}{whom}: {far}{int(self.seconds):,} s"

    def to_json(self) -> dict[str, Any]:
        """For --json."""
        return {
            "step": self.step,
            "from": list(self.parties),
            "done": self.done,
            "total": self.total,
            "seconds": int(self.seconds),
        }


@dataclass(frozen=True)
class Line:
    """A collection with one party. `name` is the collection's or the party's; `reports` is None without a count."""

    name: str
    state: str
    reason: str = ""
    reports: int | None = None
    waiting: Waiting = Waiting()
    refused: tuple[str, ...] = ()

    def __str__(self) -> str:
        told = f"{self.name}  {self.state or 'not reached'}"
        if self.reports is not None:
            told += f", {self.reports:,} submissions"
        if self.waiting.step:
            told += f"; {self.waiting}"
        if self.reason:
            told += f"; {self.reason}"
        if self.refused:
            told += f"; refused: {'; '.join(self.refused)}"
        return told

    def to_json(self) -> dict[str, Any]:
        """For --json, besides its name."""
        return {
            "state": self.state or None,
            "reason": self.reason,
            "reports": self.reports or 0,
            "waiting": self.waiting.to_json() if self.waiting.step else None,
            "refused": list(self.refused),
        }


@dataclass(frozen=True)
class Overview:
    """A collection with its analyzer, and beneath it with each of its shufflers."""

    name: str
    digest: bytes
    closes_at: int
    here: Line
    shufflers: tuple[Line, ...]

    def __str__(self) -> str:
        return "\n".join((str(self.here), *(f"  {one}" for one in self.shufflers)))

    def to_json(self) -> dict[str, Any]:
        """For --json."""
        refused = [f"{one.name}: {why}" for one in self.shufflers for why in one.refused]
        here = self.here.to_json() | {"refused": refused}
        del here["reports"]
        lines = [{"party": one.name} | one.to_json() for one in self.shufflers]
        known = {"name": self.name, "digest": self.digest.hex(), "closes_at": self.closes_at}
        return known | here | {"shufflers": lines}


def line_of(status: Status, name: str = "") -> Line:
    """What a shuffler says of a collection; by itself under the collection's digest."""
    return Line(
        name or f"{status.collection.hex()[:16]}…",
        status.state,
        status.reason,
        status.reports,
        Waiting(status.step, status.waited_for, status.done, status.total, status.seconds),
        status.refused,
    )
