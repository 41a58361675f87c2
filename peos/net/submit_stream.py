"""One shuffler's lane: a thread that sends parts in one stream, in order, until each has a final answer.

A stream that breaks, an answer that does not come and a refusal that asks for patience all end the same way: after a
pause the very same parts are sent again. That is safe because a shuffler takes the identical repeat (protocol.md §6.3),
and no other part is ever made here.
"""

import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Final

from peos.collection.cards import Card, party, plain_text
from peos.collection.replies import Answer
from peos.crypto.randomness import Randomness
from peos.errors import BadEncoding, LocalFault, PeosError, RemoteFault, WrongInput
from peos.net.certificates import require_valid
from peos.net.client import blocking_channel
from peos.net.errors import ERROR_KEY, from_rpc_error, is_retryable
from peos.net.retry import Retry
from peos.net.tls import grpc
from peos.wire.methods import SUBMIT_MANY

STEP: Final = "submission"
PATIENCE: Final = 60.0  # seconds without a final answer before a lane gives up
SILENCE: Final = 20.0  # seconds without any answer before a stream counts as broken
AGAIN: Final = "run the same again later: what was acknowledged is kept, and the same bytes are sent"
_AGAIN: Final = Retry(base=0.2)
_Code = grpc.StatusCode
_CUT_OFF: Final = frozenset({_Code.CANCELLED, _Code.INTERNAL, _Code.UNKNOWN})  # how streams end with their server


@dataclass(frozen=True)
class Answered:
    """A final answer to the part of the submission `index`."""

    shuffler: int
    index: int
    answer: Answer


@dataclass(frozen=True)
class Lost:
    """A lane gave up; nothing more comes from it."""

    shuffler: int
    fault: PeosError


@dataclass(frozen=True, slots=True)
class _Item:
    """A part of the submission `index`."""

    index: int
    id: bytes
    encoded: bytes


Event = Answered | Lost
_INVITE: Final = "set this machine's clock if it is wrong; else ask the analyzer for a new invitation"


def user_channel(who: str, card: Card, step: str) -> grpc.Channel:
    """A channel to a shuffler's port for users, which must show the certificate of its card."""
    try:
        require_valid(card.user_certificate, "its certificate for users")
        return blocking_channel(card.user_address, card.user_certificate)
    except WrongInput as wrong:
        raise RemoteFault(wrong.id, str(wrong), party=who, step=step, hint=_INVITE) from None


class SubmitStream:
    """Parts to one shuffler. `offer`, `finish`, `watch` and `stop` are its owner's; `events` brings what became."""

    def __init__(
        self, number: int, card: Card, rng: Randomness, events: "SimpleQueue[Event]", give_up_at: float | None
    ) -> None:
        self._number, self._card, self._rng, self._events = number, card, rng, events
        self._who = party(number, card)
        self._give_up_at = give_up_at
        self._changed = threading.Condition()
        self._waiting: deque[_Item] = deque()
        self._in_flight: deque[_Item] = deque()
        self._finished = self._stopped = False
        self._stream = 0  # which stream may take parts: a generator of an earlier one ends
        self._call: Any = None
        self._pauses = 0
        self._resume_at = self._heard_at = self._progress_at = 0.0
        self._why: PeosError = RemoteFault(
            "submit.time_over",
            "did not take the part within the time limit",
            party=self._who,
            step=STEP,
            hint=AGAIN,
        )
        self._thread: threading.Thread | None = None

    def offer(self, index: int, id_: bytes, encoded: bytes) -> None:
        """One more part, as it is sent however often, and the id that its answer names."""
        with self._changed:
            if not self._waiting and not self._in_flight:
                self._heard_at = self._progress_at = time.monotonic()
            self._waiting.append(_Item(index, id_, encoded))
            self._changed.notify_all()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"submit {self._number}", daemon=True)
            self._thread.start()

    @property
    def trouble(self) -> str:
        """The reason for the current retry, if there is one."""
        with self._changed:
            return str(self._why) if self._pauses else ""

    def finish(self) -> None:
        """No further part will be offered."""
        with self._changed:
            self._finished = True
            self._changed.notify_all()

    def watch(self) -> None:
        """Break a stream that has gone silent, or whose time is over; called now and then."""
        now = time.monotonic()
        with self._changed:
            if not self._in_flight or self._call is None:
                return
            if now - self._heard_at > SILENCE or now > self._limit():
                self._call.cancel()

    def stop(self) -> None:
        """Break off and wait for the thread."""
        with self._changed:
            self._stopped = True
            if self._call is not None:
                self._call.cancel()
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            with user_channel(self._who, self._card, STEP) as channel:
                while self._has_work():
                    try:
                        self._one_stream(channel)
                        if self._in_flight:
                            self._why = RemoteFault(
                                "submit.stream_ended", "ended its stream early", party=self._who, step=STEP, hint=AGAIN
                            )
                    except grpc.RpcError as error:
                        if self._stopped:
                            return
                        self._why = self._fault(error)
                        if not is_retryable(error) and not self._was_cut_off(error):
                            raise self._why from None
                    self._take_back()
        except PeosError as fault:
            self._events.put(Lost(self._number, fault))
        except Exception as error:  # else the caller would wait for this stream for ever
            sentence = f"sending to {self._who} broke off with {type(error).__name__}"
            self._events.put(Lost(self._number, LocalFault("submit.broke_off", sentence)))

    def _fault(self, error: grpc.RpcError) -> PeosError:
        if error.code() is _Code.CANCELLED:  # by `watch`, or by a server that stops
            return RemoteFault("network.timeout", "did not answer in time", party=self._who, step=STEP, hint=AGAIN)
        return from_rpc_error(error, self._who, STEP)

    def _was_cut_off(self, error: grpc.RpcError) -> bool:
        pairs: Any = error.trailing_metadata() or ()
        return error.code() in _CUT_OFF and ERROR_KEY not in dict(pairs)

    def _has_work(self) -> bool:
        """Wait until there is a part to send and the pause is over; False at the end."""
        with self._changed:
            while not self._stopped:
                if self._waiting:
                    now = time.monotonic()
                    if now > self._limit():
                        raise self._why
                    if now >= self._resume_at:
                        return True
                    self._changed.wait(min(self._resume_at, self._limit()) - now + 0.001)
                elif self._finished:
                    return False
                else:
                    self._changed.wait()
            return False

    def _limit(self) -> float:
        patient = self._progress_at + PATIENCE
        return patient if self._give_up_at is None else min(patient, self._give_up_at)

    def _one_stream(self, channel: grpc.Channel) -> None:
        with self._changed:
            if self._stopped:
                return
            self._stream += 1
            self._heard_at = time.monotonic()
            method: Any = channel.stream_stream(SUBMIT_MANY.path)
            self._call = call = method(self._requests(self._stream))
        try:
            for encoded in call:
                self._take(encoded)
        finally:
            call.cancel()
            with self._changed:
                self._stream += 1
                self._call = None
                self._changed.notify_all()

    def _requests(self, stream: int) -> Iterator[bytes]:
        while True:
            with self._changed:
                while True:
                    pause = self._resume_at - time.monotonic()
                    if self._stopped or stream != self._stream:
                        return
                    if self._waiting and pause <= 0:
                        if not self._in_flight:
                            self._heard_at = time.monotonic()
                        self._in_flight.append(self._waiting.popleft())
                        encoded = self._in_flight[-1].encoded
                        break
                    if self._finished and not self._waiting and not self._in_flight:
                        return
                    if self._waiting and not self._in_flight and time.monotonic() + pause > self._limit():
                        return  # the pause would outlast the patience: `_has_work` says so
                    self._changed.wait(pause if self._waiting else None)
            yield encoded

    def _take(self, encoded: bytes) -> None:
        try:
            answer: Answer = SUBMIT_MANY.decode_response(encoded)
        except BadEncoding as bad:
            raise RemoteFault("submit.answer", f"sent an invalid answer: {bad}", party=self._who, step=STEP) from None
        with self._changed:
            if not self._in_flight or self._in_flight[0].id != answer.id:
                raise RemoteFault(
                    "submit.other_part", "acknowledged a different part than the one sent", party=self._who, step=STEP
                )
            self._heard_at = time.monotonic()
            item = self._in_flight.popleft()
            if answer.refusal and answer.retry:
                self._waiting.appendleft(item)
                sentence = f"kept asking to wait: {plain_text(answer.refusal)}"
                hint = plain_text(answer.hint) or AGAIN
                self._why = RemoteFault(answer.error_id, sentence, party=self._who, step=STEP, hint=hint)
                self._pause()
            else:
                self._progress_at, self._pauses = self._heard_at, 0
            self._changed.notify_all()
        if not (answer.refusal and answer.retry):
            self._events.put(Answered(self._number, item.index, answer))

    def _take_back(self) -> None:
        """What has no answer waits again, in its order."""
        with self._changed:
            self._waiting.extendleft(reversed(self._in_flight))
            self._in_flight.clear()
            if self._waiting:
                self._pause()

    def _pause(self) -> None:
        """Wait longer after each failure in a row; one burst of refusals counts once."""
        now = time.monotonic()
        if now < self._resume_at:
            return
        self._pauses += 1
        self._resume_at = now + _AGAIN.pause(self._pauses, self._rng)
