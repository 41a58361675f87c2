"""Shufflers killed again and again while users submit, and what each store must have at each of these moments."""

import subprocess
import time
from dataclasses import dataclass
from typing import Final

from peos.collection.ticket import ID_BYTES
from peos.crypto.randomness import Randomness
from peos.localcluster import Party
from tests.e2e.town import group, until
from tests.faults.checks import check_published
from tests.faults.ground import Ground, rows_of
from tests.faults.points import Stage

_LOOK: Final = 0.002
DUMMIES: Final = 32
_SPREAD: Final = 0.9  # of the load, within which the kills fall: the last must come before its end
_JITTER: Final = 20  # milliseconds at most between seeing so many rows and the kill
_LOAD: Final = 300.0
_END: Final = 60.0


@dataclass(frozen=True)
class Kill:
    """One of them: who, and how many rows it had by then, of which the client knew so many to be acknowledged."""

    party: str
    rows: int
    acknowledged: int


def under_fire(ground: Ground, kills: int, seed: int) -> list[Kill]:
    """One load of all users' submissions with so many kills in it, and the collection to its end."""
    rng = Randomness(seed.to_bytes(32, "big"))
    ground.enter(Stage.OPEN)
    own = {name: set(stored(party)) for name, party in ground.serving.items() if party.module == "shuffler"}
    ground.start()
    done: list[Kill] = []
    with subprocess.Popen(  # noqa: S603 - our own client
        ground.words(ground.submitting()), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as client:
        try:
            for moment in moments(rng, kills, ground.users):
                victim = ground.cluster.shufflers[below(rng, len(ground.cluster.shufflers))]
                least = moment + len(own[victim.name])
                until(lambda v=victim, m=least: count(v) >= m or client.poll() is not None, "the load", every=_LOOK)  # type: ignore[misc] # bound at once
                time.sleep(below(rng, _JITTER) / 1000)
                done.append(_kill(ground, victim, own[victim.name], client))
                ground.cluster.restart(victim)
            said, _ = client.communicate(timeout=_LOAD)
            assert client.returncode == 0, said
        finally:
            client.kill()
    known = commitments(ground)
    for name, party in ground.serving.items():
        if name in own:
            assert {id_: one for id_, one in stored(party).items() if id_ in known} == known, name
            assert acknowledged(ground, party) == set(known), f"not all was acknowledged by {name}"
    ran = ground.run(ground.ordering("freeze"), patience=_END)
    assert ran.returncode == 0, ran.stderr
    until(lambda: set(ground.states()) == {"published"} and ground.is_over(), "the end", patience=_END)
    ground.end()
    check_published(ground)
    return done


def moments(rng: Randomness, kills: int, users: int) -> list[int]:
    """How many of the users' rows a victim has when it is killed, in ascending order."""
    return sorted(1 + below(rng, int(_SPREAD * users)) for _ in range(kills))


def below(rng: Randomness, most: int) -> int:
    """A number from 0 to `most` − 1."""
    return int(rng.uint64(1)[0]) % most


def _kill(ground: Ground, victim: Party, before: set[bytes], client: subprocess.Popen[str]) -> Kill:
    assert victim.process is not None, "it was started"
    leader = victim.process.pid
    victim.process.kill()
    victim.process.wait()
    assert client.poll() is None, f"the load was over before {victim.name} was killed"
    until(lambda: not group(leader), f"the end of the workers of {victim.name}")
    victim.stop()
    told, kept, known = acknowledged(ground, victim), stored(victim), commitments(ground)
    lost = told - set(kept)
    assert not lost, f"{len(lost)} of {len(told)} acknowledged submissions are not in the store of {victim.name}"
    others = {id_ for id_ in kept if id_ not in before and id_ not in known}  # the dummies come among the users
    invented = {id_ for id_, commitment in kept.items() if id_ in known and known[id_] != commitment}
    assert len(others) <= DUMMIES, f"{len(others)} submissions of {victim.name} are neither of users nor dummies"
    assert not invented, f"{len(invented)} of {len(kept)} submissions of {victim.name} were made by no user"
    return Kill(victim.name, len(kept), len(told))


def count(party: Party) -> int:
    """How many submissions a shuffler has durably."""
    (path,) = (party.folder / "state" / "submissions").glob("*.sqlite")
    return int(rows_of(path, "SELECT coalesce(max(number), 0) FROM submissions")[0][0])


def stored(party: Party) -> dict[bytes, bytes]:
    """The commitment under each id that a shuffler has durably."""
    (path,) = (party.folder / "state" / "submissions").glob("*.sqlite")
    return dict(rows_of(path, "SELECT id, commitment FROM submissions"))


def acknowledged(ground: Ground, party: Party) -> set[bytes]:
    """What the client's memory holds as acknowledged by a shuffler."""
    number = ground.cluster.shufflers.index(party) + 1
    query = "SELECT ticket FROM answers WHERE shuffler = ? AND refusal = ''"
    return {ticket for (ticket,) in rows_of(_memory(ground), query, number)}


def commitments(ground: Ground) -> dict[bytes, bytes]:
    """The commitment under each id that the client's memory holds."""
    rows = [row for (row,) in rows_of(_memory(ground), "SELECT row FROM submissions")]
    return {row[:ID_BYTES]: row[ID_BYTES:] for row in rows}


def _memory(ground: Ground) -> str:
    return str(ground.client.folder / "memory" / "memory.sqlite")
