"""A town whose parties are in network namespaces of their own, and one collection after another in it."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from peos.localcluster import LocalCluster, Party
from tests.e2e.town import EPSILON, Ran, Town, command, digest_of, until
from tests.faults.checks import said
from tests.faults.ground import rows_of
from tests.networks.switch import Link, Switch

LAUNCHER: Final = "tests.networks.launcher"
SHUFFLERS: Final = ("shuffler-1", "shuffler-2", "shuffler-3")
ANALYZER: Final = "analyzer"
USERS: Final = "users"
PARTIES: Final = (*SHUFFLERS, ANALYZER, USERS)
LINKS: Final = (
    *((one, other) for at, one in enumerate(SHUFFLERS) for other in SHUFFLERS[at + 1 :]),
    *((one, ANALYZER) for one in SHUFFLERS),
    *((one, USERS) for one in SHUFFLERS),
)
PHASES: Final = ("open", "freezing", "shuffling", "delivery", "inspection")
STEP_SECONDS: Final = 8  # after which an attempt is left; what is cut for longer begins anew
ANSWERS: Final = 10
DOMAIN: Final = 16
WITHIN: Final = 400.0  # seconds in which a collection must be over; over a slow line the last dummies take minutes
_GLANCE: Final = 0.01
_OVER: Final = ("published", "aborted")
_OWN_FAULTS: Final = ("a collection stopped", "a collection could not be moved on", "a step could not be worked")


@dataclass
class Strike:
    """Something that goes wrong at a phase of a collection, and is mended some seconds later."""

    phase: str
    begin: Callable[[], None]
    end: Callable[[], None]
    seconds: float = 0.0
    begun: float = 0.0
    ended: bool = False


@dataclass
class Ended:
    """How a collection ended."""

    state: str
    reason: str
    seconds: float  # from the first attempt to close it
    told: dict[str, str] = field(default_factory=dict)  # the sentences in the parties' logs, by party
    counted: list[float] = field(default_factory=list)


class FarTown(Town):
    """Its parties reach one another through the switch, and so do its analyst and its users."""

    def __init__(self, folder: Path, switch: Switch) -> None:
        self.switch = switch
        self.skews: dict[str, float] = {}  # whose clock is wrong, by how many seconds
        cluster = LocalCluster(folder / "cluster", host=switch.host)
        cluster.init(most_eps_local=2 * EPSILON)
        for party in cluster.shufflers:
            text = party.config.read_text(encoding="utf-8")
            party.config.write_text(f"{text}\n[limits]\nstep_seconds = {STEP_SECONDS}\n", encoding="utf-8")
        super().__init__(cluster)
        self._numbers = iter(range(1, 10_000))

    def start(self, *parties: Party) -> None:
        """Start these, or all, and wait until they listen."""
        chosen = parties or tuple(self.cluster.parties)
        before = {party.name: self._listening(party) for party in chosen}
        for party in chosen:
            skew = self.skews.get(party.name, 0.0)
            party.launcher = (LAUNCHER, str(self.switch.path), self.switch.host(party.name), str(skew))
            party.start()
        for party in chosen:
            until(partial(self._listens, party, before[party.name]), f"{party.name} listens")

    def _listens(self, party: Party, before: int) -> bool:
        return self._listening(party) >= before + len(self.cluster.ports[party.name])

    @staticmethod
    def _listening(party: Party) -> int:
        return party.log.read_text().count('"listening"') if party.log.exists() else 0

    def restart(self, party: Party) -> None:
        """Stop it in order and start it again."""
        party.stop()
        self.start(party)

    def command(self, who: str, *words: object) -> Ran:
        """A command in a namespace of its own, by the clock of the one that gives it."""
        skew = str(self.skews.get(who, 0.0))
        place = (str(self.switch.path), self.switch.other_host(who), skew)
        return command(*words, launcher=(LAUNCHER, *place))

    def party(self, name: str) -> Party:
        """One that serves, by its name."""
        return next(party for party in self.cluster.parties if party.name == name)

    # One collection.

    def play(
        self,
        *strikes: Strike,
        scheme: str = "jl",
        order: bool = True,
        full: Callable[[str], None] = lambda _: None,
        **asked: Any,
    ) -> Ended:
        """A collection from its creation to its end, with whatever goes wrong meanwhile.

        `full` is called with its digest once everybody has answered, before it closes.
        """
        name = f"c{next(self._numbers)}"
        since = {party.name: len(said(party)) for party in self.cluster.parties}
        words = [f"--{option.replace('_', '-')}={value}" for option, value in asked.items()]
        ran = self.ask(name, "--scheme", scheme, "--mechanism", "grr", *words, domain=DOMAIN, users=ANSWERS)
        if ran.code:
            return Ended("refused", ran.err.strip(), 0.0)
        watch = _Watch(self, strikes, since)
        with watch.watching():
            watch.reach("open")
            refused = self._answered(name)
            if refused:
                return Ended("refused", refused, 0.0)
            digest = digest_of(self, name)
            full(digest)
            begun = time.monotonic()
            self._close(name, order)
            state, reason = self._await_the_end(name, digest, watch)
        seconds = time.monotonic() - begun
        watch.require_all_struck()
        self._check_logs(since)
        counted = [float(count) for count in self._counted(name)] if state == "published" else []
        told = {party.name: _sentences(party, since[party.name]) for party in self.cluster.parties}
        return Ended(state, reason, seconds, told, counted)

    def _answered(self, name: str) -> str:
        client = self.cluster.client(f"users-of-{name}", most_eps_local=2 * EPSILON, budget=2 * EPSILON)
        file = client.folder / "values.txt"
        file.write_text("".join(f"{value}\n" for value in range(ANSWERS)), encoding="utf-8")
        tickets = self.tickets(name, ANSWERS)
        words = ("--config", client.config, "--invitation", self.invitation(name), "--tickets", tickets)
        ran = self.command(USERS, "client", "submit-file", *words, "--values", file)
        for _ in range(10):  # as its sentence says: the same command again
            if ran.code in (0, 2, 3):
                break
            ran = self.command(USERS, "client", "submit-file", *words, "--values", file)
        return ran.err.strip() if ran.code else ""

    def _close(self, name: str, order: bool) -> None:
        if not order:
            return  # the deadline closes it

        def give() -> None:
            give_up = time.monotonic() + WITHIN
            while self.analyst("freeze", name).code and time.monotonic() < give_up:
                time.sleep(0.5)  # the analyst reads that not all were reached, and gives the order again

        threading.Thread(target=give, name=f"freeze {name}", daemon=True).start()

    def _await_the_end(self, name: str, digest: str, watch: "_Watch") -> tuple[str, str]:
        give_up = time.monotonic() + WITHIN
        while True:
            time.sleep(0.1)
            if not watch.is_struck():
                give_up = time.monotonic() + WITHIN
            state, reason = self._standing(name)
            if state in _OVER and self._shufflers_over(digest):
                return state, reason
            if time.monotonic() > give_up:
                trouble = {party.name: _sentences(party, 0)[-400:] for party in self.cluster.parties}
                return f"not over, {state}", str(trouble)

    def _standing(self, name: str) -> tuple[str, str]:
        base = self.analyzer.folder / "state" / "analyzer.sqlite"
        rows = rows_of(base, "SELECT state, reason FROM collection WHERE name = ?", name)
        return rows[0] if rows else ("", "")

    def _shufflers_over(self, digest: str) -> bool:
        """Whether no shuffler is at the collection any more, as far as they say where they are."""
        for party in self.cluster.shufflers:
            if party.process is None or party.process.poll() is not None:
                continue  # one that has ended with a sentence
            if self.skews.get(party.name, 0.0) < 0:
                continue  # by its own clock the time is not over; the others have ended with a sentence that says so
            try:
                lines = json.loads((party.folder / "state" / "status.json").read_text())
            except (OSError, ValueError):
                return False
            if any(line["state"] not in _OVER for line in lines if line["collection"] == digest):
                return False
        return True

    def _counted(self, name: str) -> Any:
        ran = self.analyst("result", name, "--json")
        assert ran.code == 0, ran.err
        assert ran.json["ok"] is True
        return np.round(np.array(ran.json["frequency"]) * ran.json["users"], 3)

    def _check_logs(self, since: dict[str, int]) -> None:
        for party in self.cluster.parties:
            lines = said(party)[since[party.name] :]
            wrong = [line for line in lines if line["event"] in _OWN_FAULTS]
            assert not wrong, f"{party.name}: {wrong}"
            whole = {line["attempt"] for line in lines if line["event"] == "the output is complete"}
            assert len(whole) <= 1, f"two outputs: {whole}"

    # What goes wrong.

    def cut(self, one: str, other: str, phase: str, seconds: float = 0.0) -> Strike:
        """Nothing passes between the two."""

        def begin() -> None:
            self.switch.set(one, other, Link(cut=True))

        def end() -> None:
            self.switch.set(one, other, Link())

        return Strike(phase, begin, end, seconds or _lasts(phase))

    def stopped(self, name: str, phase: str, seconds: float = 0.0) -> Strike:
        """SIGSTOP, and SIGCONT later: its connections stay, and nothing answers."""

        def signalled(number: int) -> Callable[[], None]:
            def send() -> None:
                process = self.party(name).process
                assert process is not None, "it runs"
                os.killpg(process.pid, number)

            return send

        return Strike(phase, signalled(signal.SIGSTOP), signalled(signal.SIGCONT), seconds or _lasts(phase))


def _lasts(phase: str) -> float:
    """Longer than a step may take. An inspection follows a delivery, and has no second attempt."""
    return STEP_SECONDS * (0.5 if phase in PHASES[-2:] else 1.5)


class _Watch:
    """Sees a collection reach its phases, in the logs, and strikes there."""

    def __init__(self, town: FarTown, strikes: Sequence[Strike], since: dict[str, int]) -> None:
        self._town = town
        self._strikes = strikes
        self._offsets = {
            party.name: party.log.stat().st_size if since[party.name] or party.log.exists() else 0
            for party in town.cluster.parties
        }
        self._reached: set[str] = set()
        self._over = threading.Event()

    @contextmanager
    def watching(self) -> Iterator[None]:
        thread = threading.Thread(target=self._watch, name="watch", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()
            for strike in self._strikes:
                if strike.begun and not strike.ended:
                    strike.end()
                    strike.ended = True

    def reach(self, phase: str) -> None:
        self._reached.add(phase)

    def is_struck(self) -> bool:
        """Whether nothing is wrong at the moment, nor will be."""
        return all(strike.ended for strike in self._strikes)

    def require_all_struck(self) -> None:
        """A strike that never came shows nothing."""
        missed = [strike.phase for strike in self._strikes if not strike.begun]
        assert not missed, f"these phases were never reached: {missed}"

    def _watch(self) -> None:
        while not self._over.wait(_GLANCE):
            self._look()
            for strike in self._strikes:
                if not strike.begun and strike.phase in self._reached:
                    strike.begin()
                    strike.begun = time.monotonic()
                elif strike.begun and not strike.ended and time.monotonic() - strike.begun > strike.seconds:
                    strike.end()
                    strike.ended = True

    def _look(self) -> None:
        marks = {
            "freezing": '"state": "closed"',
            "shuffling": '"state": "shuffling"',
            "delivery": '"state": "sending"',
            "inspection": '"state": "delivered"',
        }
        for party in self._town.cluster.shufflers:
            with party.log.open("rb") as log:
                log.seek(self._offsets[party.name])
                new = log.read().decode(errors="replace")
            self._reached |= {phase for phase, mark in marks.items() if mark in new}


def _sentences(party: Party, since: int) -> str:
    """What a party's log says of what goes wrong, each sentence once."""
    lines = said(party)[since:]
    told = [str(line.get("sentence") or line.get("reason") or "") for line in lines]
    return "\n".join(dict.fromkeys(one for one in told if one))


@contextmanager
def far_town(folder: Path) -> Iterator[FarTown]:
    """A town with its parties started, which are stopped at the end."""
    folder.mkdir(parents=True, exist_ok=True)
    with Switch(folder, PARTIES) as switch:
        town = FarTown(folder, switch)
        try:
            town.start()
            yield town
        finally:
            town.switch.set_all(Link())
            for party in town.cluster.parties:
                if party.process is not None and party.process.poll() is None:
                    os.killpg(party.process.pid, signal.SIGCONT)
            town.cluster.stop()
