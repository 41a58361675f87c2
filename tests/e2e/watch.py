"""Who has what open: the files, mappings and working folders of each party's processes, sampled while they run."""

import itertools
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

EVERY: Final = 0.05
SETTLED: Final = (
    10.0  # seconds after which a process that was no party's stays so: it has become what it was started as
)


class Watch:
    """Samples every party's processes and remembers each path below a party's folder, with who had it open.

    A process belongs to a party if its command line names a file in that party's folder, or if its parent belongs to
    the party: workers and their helpers are spawned by the process that they work for. What it is once, it stays.
    """

    def __init__(self, folders: dict[str, Path]) -> None:
        self._folders = {party: str(folder) + "/" for party, folder in folders.items()}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.seen: set[tuple[str, str]] = set()  # party, path
        self.samples = 0
        self.processes: dict[str, set[int]] = {party: set() for party in folders}
        self._owners: dict[int, str] = {}
        self._others: dict[int, float] = {}  # when each was first seen

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    @property
    def intrusions(self) -> list[tuple[str, str]]:
        """Who had a path open that lies in another party's folder."""
        return sorted(
            (party, path)
            for party, path in self.seen
            if any(path.startswith(folder) for other, folder in self._folders.items() if other != party)
        )

    def _watch(self) -> None:
        while not self._stopping.is_set():
            begun = time.monotonic()
            self.sample()
            self._stopping.wait(max(0.0, EVERY - (time.monotonic() - begun)))

    def sample(self) -> None:
        """One look at all of them."""
        self._find()
        folders = [os.fsencode(folder) for folder in self._folders.values()]
        for pid, party in self._owners.items():
            self.processes[party].add(pid)
            for path in _open_paths(pid, folders):
                if any(path.startswith(folder) for folder in self._folders.values()):
                    self.seen.add((party, path))
        self.samples += 1

    def _find(self) -> None:
        """Whose the processes are that are new, and forget those that have ended."""
        now = time.monotonic()
        here = {int(entry) for entry in os.listdir("/proc") if entry.isdigit()}
        self._owners = {pid: party for pid, party in self._owners.items() if pid in here}
        self._others = {pid: self._others.get(pid, now) for pid in here - set(self._owners)}
        parents = {}
        for pid, since in self._others.items():
            if now - since > SETTLED:
                continue
            try:
                parents[pid] = int(_read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[1])
                party = self._named_by(os.fsdecode(_read(f"/proc/{pid}/cmdline")).split("\0"))
            except (OSError, IndexError):
                continue  # it has ended meanwhile
            if party:
                self._owners[pid] = party
        for pid in parents:
            ancestor = pid
            while ancestor not in self._owners and ancestor in parents:
                ancestor = parents[ancestor]
            if ancestor in self._owners:
                self._owners[pid] = self._owners[ancestor]

    def _named_by(self, line: list[str]) -> str:
        """The party whose configuration a command was given; a path elsewhere in it says nothing of who runs it."""
        for word, following in itertools.pairwise(line):
            if word == "--config":
                return next((party for party, folder in self._folders.items() if following.startswith(folder)), "")
        return ""


def _open_paths(pid: int, folders: list[bytes]) -> Iterator[str]:
    """The working folder, the open files, and what is mapped if any of it is in one of these folders."""
    try:
        yield os.readlink(f"/proc/{pid}/cwd") + "/"
        for descriptor in os.listdir(f"/proc/{pid}/fd"):
            try:
                yield os.readlink(f"/proc/{pid}/fd/{descriptor}")
            except OSError:
                continue  # closed meanwhile
        maps = _read(f"/proc/{pid}/maps")
    except OSError:
        return  # it has ended meanwhile
    if any(folder in maps for folder in folders):
        for line in maps.splitlines():
            words = line.split(maxsplit=5)
            if len(words) == 6:
                yield os.fsdecode(words[5])


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
