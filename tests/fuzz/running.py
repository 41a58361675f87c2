"""Millions of inputs into readers: only what a reader documents may come out, in bounded time and memory."""

import faulthandler
import os
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from peos.errors import PeosError
from tests.fuzz.decoders import Target
from tests.fuzz.mutator import Mutator

HANGS: Final = 60.0  # seconds after which a single input is a hang: the process then ends with its stack
SLOW: Final = 2.0  # seconds after which an input is reported
_WARM: Final = 0.1  # of all inputs, before memory is first looked at
_BATCH: Final = 500
_CALIBRATE: Final = 50
_FLOOR: Final = 20e-6  # seconds; readers that are quicker get no more inputs for it
_DIGITS: Final = re.compile(r"[0-9a-f]{6,}|[0-9]+|'[^']*'|line .*|\(.*|\".*")
_FILES: Final = (
    24  # more descriptors are no leak: a store keeps four collections' files open, three each, and connections come
)
_KNOWN: Final = 400  # outcomes of one reader that are told apart


@dataclass
class Figures:
    """What became of a reader's inputs."""

    inputs: int = 0
    read: int = 0  # taken for what they claim to be
    seconds: float = 0.0  # in the reader
    slowest: float = 0.0
    outcomes: set[str] = field(default_factory=set)


@dataclass
class Holding:
    """What the process holds."""

    memory: int
    descriptors: int
    threads: int


@dataclass(frozen=True)
class Finding:
    """An input that led to what no reader documents."""

    target: str
    data: bytes
    what: str


def holding(pid: int | str = "self") -> Holding:
    """As the system sees a process: resident bytes, open descriptors, threads."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    said = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    descriptors = len(os.listdir(f"/proc/{pid}/fd"))
    return Holding(int(said["VmRSS"].split()[0]) * 1024, descriptors, int(said["Threads"]))


@dataclass
class Run:
    """One run over readers."""

    targets: Sequence[Target]
    seed: int
    figures: dict[str, Figures] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    before: Holding = field(default_factory=lambda: Holding(0, 0, 0))
    after: Holding = field(default_factory=lambda: Holding(0, 0, 0))

    def run(self, inputs: int, tell: Callable[[str], None] = lambda _: None) -> None:
        """So many inputs, shared out so that a reader of long inputs does not take all the time."""
        rng = random.Random(self.seed)  # noqa: S311 - which inputs come is no secret
        mutators = {
            target.name: Mutator(random.Random(rng.random()), target.seeds, target.tokens)  # noqa: S311
            for target in self.targets
        }
        for target in self.targets:
            self.figures[target.name] = Figures()
            self._give(target, mutators[target.name], _CALIBRATE)
        shares = self._shares(inputs - sum(one.inputs for one in self.figures.values()))
        done = 0
        for part, of in enumerate(rounds := [_WARM] + [(1 - _WARM) / 9] * 9):
            for target in self.targets:
                last = part == len(rounds) - 1
                figures = self.figures[target.name]
                due = shares[target.name] + _CALIBRATE - figures.inputs if last else int(shares[target.name] * of)
                self._give(target, mutators[target.name], due)
            done = sum(one.inputs for one in self.figures.values())
            tell(f"{done:,} of {inputs:,} inputs, {len(self.findings)} findings, {holding().memory >> 20} MiB")
            if part == 0:
                self.before = holding()
        self.after = holding()

    def _shares(self, inputs: int) -> dict[str, int]:
        costs = {name: max(_FLOOR, one.seconds / one.inputs) for name, one in self.figures.items()}
        whole = sum(1 / cost for cost in costs.values())
        shares = {name: int(max(0, inputs) / cost / whole) for name, cost in costs.items()}
        first = next(iter(shares))
        shares[first] += max(0, inputs) - sum(shares.values())
        return shares

    def _give(self, target: Target, mutator: Mutator, count: int) -> None:
        figures = self.figures[target.name]
        for number in range(count):
            if number % _BATCH == 0:
                faulthandler.dump_traceback_later(HANGS, exit=True)
            data = mutator.next()
            begun = time.perf_counter()
            outcome = self._outcome(target, data)
            took = time.perf_counter() - begun
            figures.inputs += 1
            figures.seconds += took
            if took > figures.slowest:
                figures.slowest = took
                if took > SLOW:
                    self.findings.append(Finding(target.name, data, f"took {took:.1f} s"))
            if outcome == "read":
                figures.read += 1
            if outcome not in figures.outcomes and len(figures.outcomes) < _KNOWN:
                figures.outcomes.add(outcome)
                mutator.keep(data)
        faulthandler.cancel_dump_traceback_later()

    def _outcome(self, target: Target, data: bytes) -> str:
        try:
            said = target.read(data)
        except PeosError as refused:
            if not isinstance(refused, target.errors):
                self._find(target, data, f"{type(refused).__name__}: {refused}")
            return f"{type(refused).__name__}: {_DIGITS.sub('#', str(refused))}"
        except Exception as error:  # what it is, the finding says
            self._find(target, data, f"{type(error).__name__}: {error}")
            return type(error).__name__
        if target.write is not None and target.write(said) != data:
            self._find(target, data, "was read, and is written otherwise")
        return "read"

    def _find(self, target: Target, data: bytes, what: str) -> None:
        kind = what.partition(":")[0]
        if (target.name, kind) not in {(one.target, one.what.partition(":")[0]) for one in self.findings}:
            self.findings.append(Finding(target.name, data, what))


def growth(before: Holding, after: Holding) -> list[str]:
    """What a process has more of than it should after so many inputs."""
    found = []
    if after.memory > before.memory * 1.25 + (32 << 20):
        found.append(f"memory grew from {before.memory >> 20} to {after.memory >> 20} MiB")
    if after.descriptors > before.descriptors + _FILES:
        found.append(f"open descriptors grew from {before.descriptors} to {after.descriptors}")
    if after.threads > before.threads + 8:
        found.append(f"threads grew from {before.threads} to {after.threads}")
    return found
