"""What goes wrong between parties and under them, and how each collection has to end all the same.

Every collection either gives each user's answer exactly once, or ends before its deadline with a sentence that names
the cause; whichever it is, no party stops by a mistake of its own and no second output is ever complete.
"""

import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from peos.localcluster import Party
from tests.faults.ground import rows_of
from tests.networks.switch import Link
from tests.networks.town import ANALYZER, ANSWERS, DOMAIN, LINKS, PHASES, SHUFFLERS, USERS, Ended, FarTown, Strike

HOUR: Final = 3600.0
_WHOLE: Final = [1.0] * ANSWERS + [0.0] * (DOMAIN - ANSWERS)
_CLOCK: Final = r"the clock here says \d{4}-\d\d-\d\d \d\d:\d\d UTC"


@dataclass(frozen=True)
class Case:
    """One collection; `sentence` is what it may end with, in the words of a party, if it does not give its result."""

    name: str
    play: Callable[[FarTown], Ended]
    sentence: str = ""
    either: bool = False  # with the sentence or with the result


@dataclass(frozen=True)
class Outcome:
    """How it went."""

    case: str
    ended: str
    seconds: float  # from the order to close to the end
    took: float  # in all
    packets: str
    fault: str


def run(town: FarTown, case: Case) -> Outcome:
    """Play it and judge it; the town is as before afterwards."""
    counted, begun = town.switch.counted, time.monotonic()
    before = (counted.carried, counted.lost, counted.cut, counted.delayed)
    ended, fault = Ended("not played", "", 0.0), ""
    try:
        ended = case.play(town)
        fault = judged(case, ended)
    except Exception as failed:  # whatever it is, the next collection is played, and this one has failed
        fault = f"{type(failed).__name__}: {failed}"
    finally:
        town.switch.set_all(Link())
    here = (counted.carried, counted.lost, counted.cut, counted.delayed)
    packets = "/".join(str(now - then) for now, then in zip(here, before, strict=True))
    return Outcome(case.name, ended.state, round(ended.seconds, 1), round(time.monotonic() - begun, 1), packets, fault)


def judged(case: Case, ended: Ended) -> str:
    """What did not end as it must; nothing if all did."""
    if ended.state == "published":
        whole = [abs(count) for count in ended.counted] == _WHOLE
        return (
            ""
            if whole and (case.either or not case.sentence)
            else f"counted {ended.counted}, expected: {case.sentence or _WHOLE}"
        )
    said = "\n".join((ended.reason, *ended.told.values()))
    if case.sentence and ended.state in ("refused", "aborted") and re.search(case.sentence, said):
        return ""
    return f"{ended.state}: {said[-1500:]}"


def cuts() -> list[Case]:
    """Every link is cut once at every phase, five links in a collection, each for longer than a step may take."""

    def cut(row: int) -> Callable[[FarTown], Ended]:
        at = [(LINKS[(row + 2 * number) % len(LINKS)], phase) for number, phase in enumerate(PHASES)]
        return lambda town: town.play(*(town.cut(*link, phase) for link, phase in at))

    return [Case(f"cuts, row {row + 1} of {len(LINKS)}", cut(row)) for row in range(len(LINKS))]


def bad_lines() -> list[Case]:
    """All links lose or delay packets, the analyzer's from the order to close on: its dummies go one after another."""
    links = {
        "2 % lost": Link(loss=0.02),
        "10 % lost": Link(loss=0.1),
        "20 % lost": Link(loss=0.2),
        "100 ms, and up to 50 more": Link(delay=0.1, jitter=0.05),
        "250 ms": Link(delay=0.25),
        "5 % lost, 150 ms, and up to 150 more": Link(loss=0.05, delay=0.15, jitter=0.15),
    }

    def all_as(link: Link) -> Callable[[FarTown], Ended]:
        def play(town: FarTown) -> Ended:
            def all_bad() -> None:
                town.switch.set_all(link)

            all_bad()
            for name in SHUFFLERS:
                town.switch.set(name, ANALYZER, Link())
            return town.play(Strike("freezing", all_bad, lambda: None, seconds=0.0))

        return play

    # Where a fifth is lost a handshake can take longer than its call may; who cannot be reached is named then.
    unheard = r"shuffler-\d.*(cannot be reached|did not answer in time)"
    return [
        Case(name, all_as(link), unheard, either=True) if link.loss >= 0.2 else Case(name, all_as(link))
        for name, link in links.items()
    ]


def pauses() -> list[Case]:
    """Every party is stopped once at every phase, for longer than a step may take."""
    parties = (*SHUFFLERS, ANALYZER)

    def paused(row: int) -> Callable[[FarTown], Ended]:
        at = [(parties[(row + number) % len(parties)], phase) for number, phase in enumerate(PHASES)]
        return lambda town: town.play(*(town.stopped(name, phase) for name, phase in at))

    return [Case(f"SIGSTOP, row {row + 1} of {len(parties)}", paused(row)) for row in range(len(parties))]


def for_good() -> list[Case]:
    """A link that is not mended: a party that waits says for which, and at `shuffle_by` it is over."""

    def never(phase: str) -> Callable[[FarTown], Ended]:
        asked: dict[str, Any] = {"closes_in": 120, "shuffle_within": 15, "erase_within": 60}
        return lambda town: town.play(town.cut("shuffler-1", "shuffler-2", phase, seconds=300.0), **asked)

    sentence = (
        r"the time to shuffle by has passed.*shuffler [12] \(shuffler-[12]\)"
        r"|(nothing|no notice .*) from .*shuffler [12]"
    )
    return [Case(f"shufflers 1 and 2 are cut for good, {phase}", never(phase), sentence) for phase in PHASES[1:3]]


def clocks() -> list[Case]:
    """A clock that is an hour wrong: harmless, or named."""
    found = []
    for who in (*SHUFFLERS[:2], ANALYZER, USERS):
        for skew in (HOUR, -HOUR):
            way = "ahead" if skew > 0 else "behind"
            found.append(Case(f"{who}'s clock an hour {way}, closing in two", _skewed(who, skew, closes_in=7200)))
    # Whose clock says that it is over, or that it is not: a sentence names the clock.
    short: dict[str, Any] = {"closes_in": 1800}
    found += [
        Case("a shuffler's clock an hour ahead, closing in half", _skewed(SHUFFLERS[1], HOUR, **short), _CLOCK),
        Case("the analyzer's clock an hour behind, closing in half", _skewed(ANALYZER, -HOUR, **short), _CLOCK),
        Case("a user's clock an hour ahead, closing in half", _skewed(USERS, HOUR, **short), _CLOCK),
    ]
    soon: dict[str, Any] = {"closes_in": 150, "shuffle_within": 20, "erase_within": 30, "order": False}
    found.append(Case("a shuffler's clock an hour behind, closing by it", _skewed(SHUFFLERS[1], -HOUR, **soon), _CLOCK))
    return found


def _skewed(who: str, skew: float, **asked: Any) -> Callable[[FarTown], Ended]:
    def play(town: FarTown) -> Ended:
        town.skews = {who: skew}
        try:
            if who != USERS:
                town.restart(town.party(who))
            return town.play(**asked)
        finally:
            town.skews = {}
            if who != USERS:
                town.restart(town.party(who))

    return play


def disks() -> list[Case]:
    """A byte of a store that is not what was written: what it is part of is named, and nothing comes of it."""
    return [
        Case(f"a shuffler's {what}: a byte flipped while it was down, then put back", _flipped(what, SHUFFLERS[1]))
        for what in ("submissions", "store")
    ] + [
        Case("a shuffler's submissions: a page flipped while it runs", _flipped_under, _DAMAGED, either=True),
    ]


_DAMAGED: Final = r"the store \S+ is damaged \(.*\)"


def _flipped(what: str, name: str) -> Callable[[FarTown], Ended]:
    def flip(town: FarTown, digest: str) -> None:
        party = town.party(name)
        party.stop()
        path = _store(party, what, digest)
        whole = path.read_bytes()
        at = whole.index(_cell(party, what, digest))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        before = party.log.stat().st_size
        party.start()
        assert party.process is not None, "it was started"
        code = party.process.wait(60.0)
        said = party.log.read_bytes()[before:].decode()
        os.truncate(party.log, before)  # a sentence for a terminal, which is no line of a log
        assert code == 1, f"it ended with {code}"
        assert re.search(_DAMAGED, said), said
        assert "Traceback" not in said, said
        assert "restore the folder" in said, said
        path.write_bytes(whole)
        party.stop()
        town.start(party)

    return lambda town: town.play(full=lambda digest: flip(town, digest))


def _flipped_under(town: FarTown) -> Ended:
    """The share of one answer, in the file and in its log, under a process that has not read it yet."""

    def flip(digest: str) -> None:
        party = town.party(SHUFFLERS[1])
        town.restart(party)  # what it wrote itself it may still have in memory
        path = _store(party, "submissions", digest)
        cell = _cell(party, "submissions", digest)
        for file in (path, path.with_name(f"{path.name}-wal")):
            whole = file.read_bytes() if file.exists() else b""
            if cell in whole:
                with file.open("r+b") as open_:
                    open_.seek(whole.index(cell))
                    open_.write(bytes([cell[0] ^ 0x10]))

    return town.play(full=flip, closes_in=90, shuffle_within=15, erase_within=60)


def _store(party: Party, what: str, digest: str) -> Path:
    folder = party.folder / "state"
    return folder / "store.sqlite" if what == "store" else folder / "submissions" / f"{digest}.sqlite"


def _cell(party: Party, what: str, digest: str) -> bytes:
    """Something that stands in the file once."""
    path = _store(party, what, digest)
    if what == "store":
        ((signed,),) = rows_of(path, "SELECT signed FROM collections WHERE hex(digest) = ?", digest.upper())
        return bytes(signed[:64])  # the rest may be on other pages
    return bytes(rows_of(path, "SELECT share FROM submissions ORDER BY number DESC LIMIT 1")[0][0])


GROUPS: Final[dict[str, Callable[[], Sequence[Case]]]] = {
    "cuts": cuts,
    "lines": bad_lines,
    "pauses": pauses,
    "good": for_good,
    "clocks": clocks,
    "disks": disks,
}
