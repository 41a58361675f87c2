"""A shuffler's status of a collection: its state, the step awaited, from which parties, progress, time, trouble."""

import time
from collections.abc import Mapping

from peos.collection.lifecycle import OVER, State
from peos.collection.replies import Status
from peos.collection.status import LIMIT, Waiting
from peos.shuffle.delivery_state import Phase
from peos.shuffle.messages import Kind, Step
from shuffler.events import ATTEMPTS, DELIVERY, INSPECTION, RECEIPT, SUBMISSIONS
from shuffler.freeze_runner import FreezeRunner
from shuffler.session import CollectionSession
from shuffler.shuffle_runner import WORK, ShuffleRunner
from shuffler.store_thread import StoreThread

_NOUNS = {
    Kind.COMMIT: "commitment",
    Kind.REVEAL: "contribution",
    Kind.CONFIRM: "confirmation",
    Kind.SEED: "seed",
    Kind.PIECE: "piece",
    Kind.ROOT: "root",
    Kind.HANDOVER: "hand-over",
    Kind.CIPHER_ROOT: "root of the ciphertexts",
    Kind.DELIVERY: "delivery",
    Kind.PATH: "path of the dummies",
    Kind.OPENING: "opening of the dummies' rows",
}


async def status(session: CollectionSession) -> Status:
    """Where the collection stands here."""
    digest = session.digest
    count, refused = await session.store(lambda store: (store.count(digest), store.refused(digest)))
    waiting = awaited(session, count)
    return Status(
        collection=digest,
        state=session.state.value,
        reason=(session.reason or session.findings or _trouble(session))[:LIMIT],
        reports=count,
        step=waiting.step[:LIMIT],
        waited_for=tuple(party[:LIMIT] for party in waiting.parties),
        done=waiting.done,
        total=waiting.total,
        seconds=int(waiting.seconds),
        refused=_refused(refused),
    )


async def ended(store: StoreThread, digest: bytes) -> Status:
    """Where a collection stands that is over here, by what is durable alone."""
    kept, refused = await store(lambda store: (store.collection(digest), store.refused(digest)))
    return Status(digest, kept.state.value, reason=kept.reason[:LIMIT], reports=kept.count, refused=_refused(refused))


def _refused(refused: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(f"{number:,} submissions: {why}"[:LIMIT] for why, number in sorted(refused.items()))


def _trouble(session: CollectionSession) -> str:
    if session.stalled:
        return session.stalled
    if session.state is State.OPEN:
        return session.trouble(SUBMISSIONS)
    if session.shuffle_runner is None:
        return session.trouble(INSPECTION)
    if session.shuffle_runner.machine.delivery_state.phase is Phase.SENDING:
        return session.trouble(DELIVERY) or session.trouble(RECEIPT)
    left = session.trouble(ATTEMPTS)
    return f"the attempt before was left: {left}" if left else ""


def awaited(session: CollectionSession, count: int = 0) -> Waiting:
    """What the collection waits for here; `count` is of its submissions."""
    since = time.monotonic() - session.since
    if session.state in OVER:
        return Waiting("the erasure", _me(session), seconds=since) if session.stalled else Waiting()
    if session.shuffle_runner is not None:
        return _shuffling(session, session.shuffle_runner)
    if session.inspection_runner is not None:
        waiting = _names(session, session.inspection_runner.waiting) or (_analyzer(session),)
        return Waiting("the inspection", waiting, seconds=time.monotonic() - session.inspection_runner.since)
    match session.state:
        case State.DRAFT:
            return Waiting("acceptance (peos shuffler accept)", (f"the operator of {_me(session)[0]}",), seconds=since)
        case State.OPEN:
            left = max(0, int(session.document.closes_at - time.time()))
            dummies = len(session.document.dummies)
            step = f"submissions, {dummies} dummies among them (closing in {left:,} s)"
            return Waiting(step, ("users",), count, session.document.minimum + dummies, since)
        case State.CLOSED if isinstance(session.freeze_runner, FreezeRunner) and session.freeze_runner.waited_for:
            here = session.freeze_runner
            seconds = time.monotonic() - here.since
            return Waiting(here.step, (here.waited_for,), here.done, here.total, seconds)
        case State.FROZEN | State.SHUFFLING:
            return Waiting("the frozen shares to be laid out", _me(session), seconds=since)
        case _:
            return Waiting(f"the step after {session.state.value}", _me(session), seconds=since)


def _shuffling(session: CollectionSession, shuffle_runner: ShuffleRunner) -> Waiting:
    machine, seconds, rows = shuffle_runner.machine, shuffle_runner.seconds, shuffle_runner.bench.rows
    waiting, attempt = machine.waiting, machine.delivery_state.attempt
    if waiting is not None and not waiting.parties:
        noun = WORK.get(waiting.step.kind, _NOUNS[waiting.step.kind])
        done, total = (shuffle_runner.bench.done, rows) if waiting.step.kind is Kind.CIPHER_ROOT else (0, 0)
        return Waiting(_named(attempt, waiting.step, noun), _me(session), done, total, seconds)
    if waiting is not None:
        step = _named(attempt, waiting.step, _NOUNS[waiting.step.kind])
        done = total = 0
        if waiting.step.kind in (Kind.PIECE, Kind.HANDOVER):
            total = rows * len(waiting.parties)
            done = sum(shuffle_runner.arrivals.rows(attempt, waiting.step, who) for who in waiting.parties)
        return Waiting(step, _names(session, waiting.parties), done, total, seconds)
    if machine.delivery_state.phase is Phase.SENDING:
        sent = shuffle_runner.delivery_runner
        if sent.rows < sent.total:
            return Waiting("delivery", (_analyzer(session),), sent.rows, sent.total, seconds)
        return Waiting("the receipt", (_analyzer(session),), sent.rows, sent.total, seconds)
    if machine.missing:
        what = 'the "stored" notice' if machine.delivery_state.phase is Phase.STORED else 'the "open" notice'
        return Waiting(f"attempt {max(attempt, 1)}, {what}", _names(session, machine.missing), seconds=seconds)
    if not machine.delivery_state.running:
        return Waiting(f"attempt {attempt + 1}, its opening", _names(session, (1,)), seconds=seconds)
    return Waiting("the receipt, after the others' delivery", (_analyzer(session),), seconds=seconds)


def _named(attempt: int, step: Step, noun: str) -> str:
    return f"attempt {attempt}, round {step.round}, {noun}"


def _names(session: CollectionSession, numbers: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(f"shuffler {who} ({session.document.shufflers[who - 1].name})" for who in numbers)


def _me(session: CollectionSession) -> tuple[str, ...]:
    """This shuffler under the name that the others give it, too: its status is shown among theirs."""
    return _names(session, (session.number,))


def _analyzer(session: CollectionSession) -> str:
    return f"the analyzer ({session.document.analyzer.name})"
