"""Sending submissions to the shufflers' ports for users: every part to the shuffler it names, all at the same time.

    outcomes = send_parts(invitation.shufflers, [parts], rng=rng)
    outcomes[0].accepted   # all of them acknowledged this very submission

Used by users and, for its dummies, by the analyzer. Nothing is prepared here: who calls keeps the parts durably first,
and may give the same parts again after any failure (protocol.md §6.3).
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Final

from peos.collection.cards import Card, party, plain_text
from peos.collection.membership import MembershipProof, MembershipRequest
from peos.collection.receipts import Acknowledged
from peos.collection.replies import Answer
from peos.collection.submission import Part
from peos.crypto.randomness import Randomness, system
from peos.errors import BadEncoding, LocalFault, PeosError, RemoteFault
from peos.net.errors import from_rpc_error
from peos.net.retry import Retry, retrying_blocking
from peos.net.submit_stream import Answered, Event, Lost, SubmitStream, user_channel
from peos.net.tls import grpc
from peos.wire.methods import CLOSED_HEADER, DESCRIBE, PROVE
from peos.wire.submissions import encode_part

WINDOW: Final = 256  # parts that one shuffler has not answered
WINDOW_BYTES: Final = 8 << 20
PROOF_SECONDS: Final = 60.0  # the first takes a while: a shuffler makes the tree over its whole list
_TICK: Final = 0.25
_DESCRIBED: Final = Retry(base=0.2, ceiling=1.0, seconds=5.0)
_QUIET: Final = 2.0  # seconds without an answer until the caller hears which shuffler is waited for

OnAnswer = Callable[[int, Answer], None]
OnWait = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why one shuffler did not take a part; without a number, why the party itself did not send it."""

    shuffler: int
    name: str
    error_id: str
    sentence: str
    hint: str = ""

    @property
    def who(self) -> str:
        """Whose refusal it is."""
        return f"shuffler {self.shuffler} ({self.name})" if self.shuffler else self.name

    def __str__(self) -> str:
        return f"{self.who}: {self.sentence}"


def in_one(refusals: Sequence[Refusal]) -> str:
    """Several refusals of one part as a sentence: what more than one shuffler says is said once."""
    said: dict[str, list[str]] = {}
    for refusal in refusals:
        said.setdefault(refusal.sentence, []).append(refusal.who)
    return "; ".join(f"{', '.join(who)}: {sentence}" for sentence, who in said.items())


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one submission."""

    id: bytes
    refusals: tuple[Refusal, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether every shuffler that was sent a part acknowledged this submission."""
        return not self.refusals


@dataclass(frozen=True, slots=True)
class Described:
    """What one shuffler says of a collection: its SignedDocument, and whether it takes no new reports any more."""

    signed: bytes
    has_closed: bool = False


def describe(card: Card, collection: bytes, *, timeout: float = 10.0, again: Retry = _DESCRIBED) -> Described:
    """A collection as one shuffler describes it; who asks compares the document's bytes with the others'.

    A shuffler that turns this address away for a moment, or is restarted, is asked again for up to five seconds.
    """
    who = party(0, card)
    with user_channel(who, card, "document") as channel:
        call: Any = channel.unary_unary(DESCRIBE.path, request_serializer=DESCRIBE.encode)
        try:
            signed, told = retrying_blocking(lambda: call.with_call(collection, timeout=timeout), again, rng=system())
        except grpc.RpcError as error:
            raise from_rpc_error(error, who, "document") from None
    return Described(signed, any(key == CLOSED_HEADER for key, _ in told.trailing_metadata() or ()))


def prove(number: int, card: Card, requests: Iterable[MembershipRequest]) -> list[MembershipProof]:
    """What one shuffler shows of each row, in their order, over one connection."""
    who, found = party(number, card), []
    with user_channel(who, card, "membership") as channel:
        call: Any = channel.unary_unary(PROVE.path, request_serializer=PROVE.encode)
        for asked in requests:
            try:
                found.append(PROVE.decode_response(call(asked, timeout=PROOF_SECONDS)))
            except grpc.RpcError as error:
                raise from_rpc_error(error, who, "membership") from None
            except BadEncoding as bad:
                raise RemoteFault(
                    "membership.proof", f"sent an invalid proof: {bad}", party=who, step="membership"
                ) from None
    return found


def send_parts(
    cards: Sequence[Card],
    submissions: Iterable[tuple[Part, ...]],
    *,
    rng: Randomness,
    encode: Callable[[Part], bytes] = encode_part,
    on_answer: OnAnswer | None = None,
    on_wait: OnWait | None = None,
    deadline: float | None = None,
) -> list[Outcome]:
    """Send every part to its shuffler, in one stream each, and say what became of each submission, in their order.

    Of a submission only the parts given are sent, so that one that was cut off can be completed. `submissions` is read
    only as fast as answers come, and `on_answer` gets the shuffler and its final answer; both run in the caller's
    thread. Parts without an answer are sent again, the same bytes, for as long as a shuffler makes progress at least
    once a minute, and until `deadline` seconds from now. Then, and when a shuffler cannot be used at all, an error
    names it, after all that is under way to the others has been answered. While nothing comes, `on_wait` gets every
    other second which shuffler is waited for, and why.

    `rng` spreads the pauses before repeats; nothing secret comes from it. `encode` is asked once a part, in the
    caller's thread and before the next submission is read: a caller that keeps the encoded parts gives those.
    """
    sending = _Sending(cards, rng, encode, on_answer, on_wait, deadline)
    try:
        for parts in submissions:
            if not sending.offer(parts):
                break
        return sending.finish()
    finally:
        sending.stop()


@dataclass(slots=True)
class _Open:
    """A submission under way."""

    id: bytes
    acknowledged: Acknowledged  # what receipts must be about
    missing: dict[int, int]  # the length of the share, by shuffler
    refusals: list[Refusal] = field(default_factory=list)


class _Sending:
    """The lanes, and what each of them still owes."""

    def __init__(
        self,
        cards: Sequence[Card],
        rng: Randomness,
        encode: Callable[[Part], bytes],
        on_answer: OnAnswer | None,
        on_wait: OnWait | None,
        deadline: float | None,
    ) -> None:
        self._cards, self._encode, self._on_answer, self._on_wait = cards, encode, on_answer, on_wait
        self._events: SimpleQueue[Event] = SimpleQueue()
        give_up_at = None if deadline is None else time.monotonic() + deadline
        self._lanes = {
            number: SubmitStream(number, card, Randomness(rng.bytes(32)), self._events, give_up_at)
            for number, card in enumerate(cards, start=1)
        }
        self._owed = dict.fromkeys(self._lanes, 0)
        self._owed_bytes = dict.fromkeys(self._lanes, 0)
        self._open: dict[int, _Open] = {}
        self._outcomes: list[Outcome | None] = []
        self._faults: list[PeosError] = []
        self._watched_at = self._heard_at = self._told_at = time.monotonic()

    def offer(self, parts: tuple[Part, ...]) -> bool:
        """Send one more submission once there is room; False once a shuffler is lost."""
        if not parts or any(part.shuffler not in self._lanes for part in parts):
            raise LocalFault("submit.part_count", "a submission has a part for each of the shufflers it is sent to")
        first = parts[0]
        if any((part.collection, part.row) != (first.collection, first.row) for part in parts):
            raise LocalFault("submit.mixed_parts", "these parts are not of one submission")
        for part in parts:
            while not self._has_room(part.shuffler) and not self._faults:
                self._take(wait=True)
        while not self._faults and self._take(wait=False):
            pass
        if self._faults:
            return False
        index = len(self._outcomes)
        self._outcomes.append(None)
        sent = Acknowledged(first.collection, first.row, first.user_key)
        self._open[index] = _Open(first.id, sent, {part.shuffler: len(part.share) for part in parts})
        for part in parts:
            self._owed[part.shuffler] += 1
            self._owed_bytes[part.shuffler] += len(part.share)
            self._lanes[part.shuffler].offer(index, part.id, self._encode(part))
        return True

    def finish(self) -> list[Outcome]:
        """Wait for all that is owed."""
        for lane in self._lanes.values():
            lane.finish()
        while any(self._owed.values()):
            self._take(wait=True)
        if self._faults:
            raise self._faults[0]
        return [outcome for outcome in self._outcomes if outcome is not None]

    def stop(self) -> None:
        """Let no thread outlive the call."""
        for lane in self._lanes.values():
            lane.stop()

    def _has_room(self, number: int) -> bool:
        return self._owed[number] < WINDOW and self._owed_bytes[number] < WINDOW_BYTES

    def _take(self, *, wait: bool) -> bool:
        """Carry out one event, if there is one."""
        now = time.monotonic()
        if now - self._watched_at >= _TICK:
            self._watched_at = now
            for lane in self._lanes.values():
                lane.watch()
        try:
            event = self._events.get(timeout=_TICK) if wait else self._events.get_nowait()
        except Empty:
            self._tell(time.monotonic())
            return False
        self._heard_at = self._told_at = time.monotonic()
        if isinstance(event, Lost):
            self._faults.append(event.fault)
            self._owed[event.shuffler] = self._owed_bytes[event.shuffler] = 0
        else:
            self._settle(event)
        return True

    def _tell(self, now: float) -> None:
        """Say who keeps the caller waiting."""
        if self._on_wait is None or now - self._told_at < _QUIET:
            return
        self._told_at = now
        for number, owed in self._owed.items():
            if owed:
                who, trouble = party(number, self._cards[number - 1]), self._lanes[number].trouble
                because = f"; {trouble}" if trouble else ""
                self._on_wait(f"waiting for {who}: {owed} parts, {now - self._heard_at:.0f} s{because}")

    def _settle(self, event: Answered) -> None:
        number, answer, here = event.shuffler, event.answer, self._open[event.index]
        self._owed[number] -= 1
        self._owed_bytes[number] -= here.missing.pop(number)
        name = plain_text(self._cards[number - 1].name)
        fault = ""
        if answer.refusal:
            said = plain_text(answer.refusal), plain_text(answer.hint)
            here.refusals.append(Refusal(number, name, answer.error_id, *said))
        elif fault := fault_of(answer, here.acknowledged, self._cards[number - 1]):
            hint = "tell the shuffler's operator; this must not happen"
            here.refusals.append(Refusal(number, name, "submit.acknowledgement", fault, hint))
        if self._on_answer is not None and (answer.refusal or not fault):
            self._on_answer(number, answer)
        if not here.missing:
            del self._open[event.index]
            refusals = tuple(sorted(here.refusals, key=lambda refusal: refusal.shuffler))
            self._outcomes[event.index] = Outcome(here.id, refusals)


def fault_of(answer: Answer, sent: Acknowledged, card: Card) -> str:
    """What is wrong with an acknowledgement: it must be of this very submission, and signed by the shuffler."""
    if answer.row != sent.row:
        return "acknowledged another submission than the one it was sent"
    if answer.receipt is None or not answer.receipt.holds(card.identity, sent):
        return "sent an acknowledgement that it has not signed"
    return ""
