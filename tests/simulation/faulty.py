"""Machines with one mistake each, to show that the simulation sees it. Each is what a programmer might well write."""

import hashlib
from dataclasses import replace

from peos.crypto.kdf import Context
from peos.crypto.randomness import Randomness
from peos.shuffle.delivery import Decision, Delivery
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.shuffle.effects import Deadline, Effect, Event, Notify, Output, Persist, Restarted, TimedOut
from peos.shuffle.machine import Shuffler
from peos.shuffle.messages import Notice, NoticeKind
from peos.shuffle.schedule import Schedule
from peos.shuffle.vectors import Vector
from tests.simulation.party import Party


class Deciding(Shuffler):
    """A shuffler with other decisions between attempts."""

    delivery_type: type[Delivery] = Delivery

    def __init__(
        self,
        me: int,
        schedule: Schedule,
        context: Context,
        rng: Randomness,
        delivery_state: DeliveryState | None = None,
    ) -> None:
        super().__init__(me, schedule, context, rng, delivery_state)
        self._delivery = self.delivery_type(me, schedule, delivery_state or DeliveryState())


class ForgetsWhatItStored(Party):
    """Comes back as if it had been in the midst of the attempt that it stored, or even sent."""

    def _remembered(self) -> DeliveryState:
        delivery_state = self.durable.delivery_state
        stored = delivery_state.phase in (Phase.STORED, Phase.SENDING)
        return replace(delivery_state, phase=Phase.FREE, transcript=b"") if stored else delivery_state


class ForgetsEverything(Party):
    """Comes back with an empty store, and takes part."""

    def _remembered(self) -> DeliveryState:
        return DeliveryState()


class ContinuesAnAttempt(Party):
    """Goes on with an attempt whose state was in memory, and is gone."""

    class machine_type(Shuffler):  # noqa: N801 - the name of the attribute that it overrides
        """Begins the same attempt again."""

        def handle(self, event: Event) -> list[Effect]:
            if isinstance(event, Restarted) and self.delivery_state.running:
                return self._begin(self.delivery_state.attempt)
            return super().handle(event)


class RedrawsFakes(Party):
    """Draws its fakes anew whenever it lays out the frozen vector."""

    def _lay_out(self, shares: Vector, rng: Randomness) -> None:
        if self._lives > 1:
            self.durable.fake_seed = hashlib.sha256(self.durable.fake_seed).digest()
        super()._lay_out(shares, rng)


class WritesTwice(Party):
    """Makes the delivery state durable at once, and the final vector a little later."""

    def persist(self, delivery_state: DeliveryState, vector: Vector | None, reason: str) -> None:
        super().persist(delivery_state, None, reason)
        if vector is not None:
            self._world.after(3, self._alive(lambda: super(WritesTwice, self).persist(delivery_state, vector, "")))


class _SendsEarly(Delivery):
    def stored(self, transcript: bytes, vector: str) -> Decision:
        sending = replace(self.delivery_state, phase=Phase.SENDING, transcript=transcript)
        return replace(self, delivery_state=sending), (Persist(sending, vector), Output(sending))


class SendsBeforeAllStored(Party):
    """Delivers as soon as it has its own vector."""

    class machine_type(Deciding):  # noqa: N801 - as above
        """With hasty decisions."""

        delivery_type = _SendsEarly


class _SignsLost(Delivery):
    def on(self, event: Event) -> Decision:
        impatient = isinstance(event, TimedOut) and self.delivery_state.phase is Phase.STORED
        return self._leave() if impatient else super().on(event)


class SignsLostAfterStored(Party):
    """Leaves what it stored when a time-out comes."""

    class machine_type(Deciding):  # noqa: N801 - as above
        """With impatient decisions."""

        delivery_type = _SignsLost


class ReusesContributions(Party):
    """Draws the secrets of every attempt from the same stream."""

    class machine_type(Shuffler):  # noqa: N801 - as above
        """Starts its stream again."""

        def _begin(self, number: int) -> list[Effect]:
            self._rng = Randomness(bytes([self._delivery.me]) * 32)
            return super()._begin(number)


class SpeaksFirst(Party):
    """Signs, and makes durable afterwards."""

    class machine_type(Shuffler):  # noqa: N801 - as above
        """Changes the order of effects."""

        def handle(self, event: Event) -> list[Effect]:
            return sorted(super().handle(event), key=lambda effect: not isinstance(effect, Notify))


class _BuriesWhatItSends(Delivery):
    def on(self, event: Event) -> Decision:
        if not isinstance(event, Deadline) or self.delivery_state.phase is not Phase.SENDING:
            return super().on(event)
        dead = replace(self.delivery_state, phase=Phase.DEAD)
        buried = Notify(Notice(NoticeKind.TOMBSTONE, self.me, dead.attempt), self._others)
        return replace(self, delivery_state=dead), (Persist(dead), buried)


class SignsATombstoneWhileSending(Party):
    """Gives up at the deadline although its vector may have arrived."""

    class machine_type(Deciding):  # noqa: N801 - as above
        """With a deadline that always holds."""

        delivery_type = _BuriesWhatItSends


class _SaysItOnce(Delivery):
    def _ask(self) -> tuple[Effect, ...]:
        return tuple(asked for asked in super()._ask() if not _is_lost(asked))


def _is_lost(effect: Effect) -> bool:
    return isinstance(effect, Notify) and effect.notice.kind is NoticeKind.LOST


class SaysItLeftOnlyOnce(Party):
    """Does not repeat that it left an attempt: a shuffler that did not hear it waits until the deadline."""

    class machine_type(Deciding):  # noqa: N801 - as above
        """Says everything once."""

        delivery_type = _SaysItOnce


class _NeverAnswers(Delivery):
    def _answer(self, who: int, attempt: int) -> Decision:
        return self._stay() if attempt else super()._answer(who, attempt)


class NeverAnswers(Party):
    """Does not say where it stands when it is asked."""

    class machine_type(Deciding):  # noqa: N801 - as above
        """Is silent."""

        delivery_type = _NeverAnswers


class _AnswersAfterTheEnd(Delivery):
    def _answer(self, who: int, attempt: int) -> Decision:
        ended = self.delivery_state.phase in (Phase.ABORTED, Phase.DONE) and self.delivery_state.left < attempt
        if not ended or self.me not in self.schedule.last:
            return super()._answer(who, attempt)
        said = Notice(NoticeKind.STORED, self.me, self.delivery_state.attempt, self.delivery_state.transcript)
        return self, (Notify(said, (who,)),)


class SaysStoredAfterErasing(Party):
    """Still says that it stored when it has given up, and its vector is gone."""

    class machine_type(Deciding):  # noqa: N801 - as above
        """Remembers too well."""

        delivery_type = _AnswersAfterTheEnd


PLANTED: dict[str, type[Party]] = {
    kind.__name__: kind
    for kind in (
        ForgetsWhatItStored,
        ForgetsEverything,
        ContinuesAnAttempt,
        RedrawsFakes,
        WritesTwice,
        SendsBeforeAllStored,
        SignsLostAfterStored,
        ReusesContributions,
        SpeaksFirst,
        SignsATombstoneWhileSending,
        SaysItLeftOnlyOnce,
        NeverAnswers,
        SaysStoredAfterErasing,
    )
}
