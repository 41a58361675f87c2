"""What a shuffler says of a collection: its state, what is waited for, from whom, how far, for how long, and why."""

import time
from dataclasses import dataclass

from peos.collection.lifecycle import State
from peos.collection.party import Status
from peos.shuffle.messages import Kind, Step
from peos.shuffle.standing import Place
from shuffler.conductor import Conductor
from shuffler.freezing import Freezing
from shuffler.life import OVER, Life

_LIMIT = 500  # characters of a line
_NOUNS = {
    Kind.COMMIT: "commitment",
    Kind.REVEAL: "contribution",
    Kind.CONFIRM: "confirmation",
    Kind.SEED: "seed",
    Kind.PART: "part",
    Kind.ROOT: "root",
    Kind.HANDOVER: "hand-over",
    Kind.CIPHER_ROOT: "root of the ciphertexts",
    Kind.DELIVERY: "delivery",
    Kind.PATH: "path of the dummies",
    Kind.OPENING: "opening of the dummies' rows",
}
_OWN = {Kind.PART: "splitting", Kind.ROOT: "mixing", Kind.CIPHER_ROOT: "pass over the ciphertexts"}


@dataclass(frozen=True)
class Waiting:
    """What keeps a collection from going on."""

    step: str = ""
    parties: tuple[str, ...] = ()
    done: int = 0
    total: int = 0
    seconds: float = 0.0


async def status(life: Life) -> Status:
    """Where the collection stands here."""
    digest = life.signed.digest
    count, refused = await life.store(lambda store: (store.count(digest), store.refused(digest)))
    waiting = _waiting(life, count)
    return Status(
        collection=digest,
        state=life.state.value,
        reason=(life.reason or life.findings or _trouble(life))[:_LIMIT],
        reports=count,
        step=waiting.step[:_LIMIT],
        waited_for=tuple(party[:_LIMIT] for party in waiting.parties),
        done=waiting.done,
        total=waiting.total,
        seconds=int(waiting.seconds),
        refused=tuple(f"{number:,} submissions: {why}"[:_LIMIT] for why, number in sorted(refused.items())),
    )


def in_words(status: Status) -> str:
    """The same for a person, in one sentence."""
    told = f"{status.collection.hex()[:16]}…  {status.state}, {status.reports:,} submissions"
    if status.step:
        whom = f" from {', '.join(status.waited_for)}" if status.waited_for else ""
        far = f"{status.done:,} of {status.total:,}, " if status.total else ""
        told += f"; waiting for {status.step}{whom}: {far}{status.seconds:,} s"
    if status.reason:
        told += f"; {status.reason}"
    if status.refused:
        told += f"; refused: {'; '.join(status.refused)}"
    return told


def _trouble(life: Life) -> str:
    if life.stalled:
        return life.stalled
    if life.state is State.OPEN:
        return life.store.trouble
    if life.inspecting is not None:
        return life.inspecting.trouble
    if life.conductor is None:
        return ""
    if life.conductor.machine.standing.place is Place.SENDING:
        return life.conductor.delivering.trouble
    left = life.conductor.trouble
    return f"the attempt before was left: {left}" if left else ""


def _waiting(life: Life, count: int) -> Waiting:
    since = time.monotonic() - life.since
    if life.state in OVER:
        return Waiting("the erasure", _me(life), seconds=since) if life.stalled else Waiting()
    if life.conductor is not None:
        return _shuffling(life, life.conductor)
    if life.inspecting is not None:
        waiting = _names(life, life.inspecting.waiting) or (_analyzer(life),)
        return Waiting("the inspection", waiting, seconds=time.monotonic() - life.inspecting.since)
    match life.state:
        case State.DRAFT:
            return Waiting("acceptance (peos shuffler accept)", (f"the operator of {_me(life)[0]}",), seconds=since)
        case State.OPEN:
            left = max(0, int(life.document.closes_at - time.time()))
            minimum = life.document.minimum + len(life.document.dummies)
            return Waiting(f"submissions (closing in {left:,} s)", ("users",), count, minimum, since)
        case State.CLOSED if isinstance(life.freezing, Freezing) and life.freezing.waited_for:
            here = life.freezing
            seconds = time.monotonic() - here.since
            return Waiting(here.step, (here.waited_for,), here.done, here.total, seconds)
        case State.FROZEN | State.SHUFFLING:
            return Waiting("the frozen shares to be laid out", _me(life), seconds=since)
        case _:
            return Waiting(f"the step after {life.state.value}", _me(life), seconds=since)


def _shuffling(life: Life, conductor: Conductor) -> Waiting:
    machine, seconds, rows = conductor.machine, conductor.seconds, conductor.bench.rows
    waiting, attempt = machine.waiting, machine.standing.attempt
    if waiting is not None and not waiting.parties:
        noun = _OWN.get(waiting.step.kind, _NOUNS[waiting.step.kind])
        done, total = (conductor.bench.done, rows) if waiting.step.kind is Kind.CIPHER_ROOT else (0, 0)
        return Waiting(_named(attempt, waiting.step, noun), _me(life), done, total, seconds)
    if waiting is not None:
        step = _named(attempt, waiting.step, _NOUNS[waiting.step.kind])
        done = total = 0
        if waiting.step.kind in (Kind.PART, Kind.HANDOVER):
            total = rows * len(waiting.parties)
            done = sum(conductor.arrivals.rows(attempt, waiting.step, who) for who in waiting.parties)
        return Waiting(step, _names(life, waiting.parties), done, total, seconds)
    if machine.standing.place is Place.SENDING:
        sent = conductor.delivering
        if sent.rows < sent.total:
            return Waiting("delivery", (_analyzer(life),), sent.rows, sent.total, seconds)
        return Waiting("the receipt", (_analyzer(life),), sent.rows, sent.total, seconds)
    if machine.missing:
        what = "word that the vector is stored" if machine.standing.place is Place.STORED else "word to begin"
        return Waiting(f"attempt {max(attempt, 1)}, {what}", _names(life, machine.missing), seconds=seconds)
    if not machine.standing.running:
        return Waiting(f"attempt {attempt + 1}, its opening", _names(life, (1,)), seconds=seconds)
    return Waiting("the receipt, after the others' delivery", (_analyzer(life),), seconds=seconds)


def _named(attempt: int, step: Step, noun: str) -> str:
    return f"attempt {attempt}, round {step.round}, {noun}"


def _names(life: Life, numbers: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(f"shuffler {who} ({life.document.shufflers[who - 1].name})" for who in numbers)


def _me(life: Life) -> tuple[str, ...]:
    """This shuffler under the name that the others give it, too: its status is shown among theirs."""
    return _names(life, (life.number,))


def _analyzer(life: Life) -> str:
    return f"the analyzer ({life.document.analyzer.name})"
