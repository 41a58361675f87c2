"""Whole collections with one mistake each, in all members, users or the analyzer at once: as one might write it."""

import math
from dataclasses import replace

from peos.client.ledger import Ledger
from peos.collection import analysis, publication
from peos.collection import session as life
from peos.collection.lifecycle import State
from peos.collection.replies import Status
from peos.shuffle.delivery_state import Phase
from peos.shuffle.effects import Notify, Persist
from tests.simulation.member import Member
from tests.simulation.messages import Acknowledged, Submit
from tests.simulation.office import Office, User
from tests.simulation.whole import Kinds


class _TooFew(life.Session):
    def _on_compared(self, found: life.Compared) -> life.Effects:  # noqa: ARG002 - the mistake
        return (life.Fix(),)


class _AbortsWhatIsDone(life.Session):
    def _on_ended(self, ended: life.ShuffleEnded) -> life.Effects:
        self.doom = ended.reason or "the shuffle has ended"
        return ()

    def _end(self, kept: life.Durable) -> life.Effects:
        return super()._end(replace(kept, delivery_state=replace(kept.delivery_state, phase=Phase.ABORTED)))


class _ForgetsToErase(life.Session):
    def on(self, event: life.Event) -> life.Effects:
        return tuple(effect for effect in super().on(event) if not isinstance(effect, life.Erase))


class _KeepsEvidence(life.Session):
    def on(self, event: life.Event) -> life.Effects:
        return tuple(effect for effect in super().on(event) if not isinstance(effect, life.ForgetEvidence))


class _ForgetsTheOrder(life.Session):
    def _on_abort(self) -> life.Effects:
        before = self.doom
        effects = super()._on_abort()
        self.doom = before
        return effects


class _EndsBeforeItDies(life.Session):
    def _end(self, kept: life.Durable) -> life.Effects:
        return tuple(sorted(super()._end(kept), key=lambda effect: isinstance(effect, Persist | Notify)))


class _JudgesByTheError(life.Session):
    """Concludes from an error of its own that it cannot go on, without a look at what is durable."""

    def _on_failed(self, failed: life.Failed) -> life.Effects:
        effects = super()._on_failed(failed)
        self.doom = self.doom or self.stalled
        return effects


class _DoesNotRetry(life.Session):
    """Waits for the deadline after an error."""

    def _pause(self, error: Exception) -> life.Effects:  # noqa: ARG002 - the mistake
        return (life.Pause(10_000.0),)


class _TakesLate(Member):
    @property
    def takes(self) -> bool:
        """Always, before the freeze is durable."""
        return self.durable.state in (State.OPEN, State.CLOSED)


class _AcknowledgesFirst(Member):
    def keep(self, part: Submit) -> None:
        """A little later."""
        self.world.after(3, self._alive(lambda: super(_AcknowledgesFirst, self).keep(part)))

    def _take(self, sender: int, part: Submit) -> None:
        super()._take(sender, part)
        self._say(sender, Acknowledged(part.row))
        self.world.watch.promises(self.number, part.row)


class _AnswersTwice(User):
    def ledger(self) -> Ledger:
        """Nothing is ever spent."""
        return Ledger(1 << 60)


class _ForgetsHerReport(User):
    def start(self) -> None:
        """Her client keeps nothing."""
        if not self._up:
            self.kept = None
        super().start()


class _GivesUpForAPasserBy(analysis.Session):
    def _on_answered(self, kept: analysis.Durable, answers: object) -> analysis.Effects:
        for answer in answers:  # type: ignore[attr-defined]  # a sequence of answers
            if isinstance(answer, Status) and answer.state == State.ABORTED:
                return (analysis.SetState(State.ABORTED, "a shuffler aborted"),)
        return super()._on_answered(kept, answers)  # type: ignore[arg-type]  # likewise


class _PublishesWhatIsNotThere(analysis.Session):
    def _on_clock(self, kept: analysis.Durable, now: float) -> analysis.Effects:
        half = kept.state is State.SHUFFLING and len(kept.deliveries) == 1
        return (analysis.SetState(State.PUBLISHED),) if half else super()._on_clock(kept, now)


class _WaitsForEver(analysis.Session):
    def _on_clock(self, kept: analysis.Durable, now: float) -> analysis.Effects:
        return super()._on_clock(kept, min(now, self._document.erase_by - 1))


class _PublishesWhatWasNotSeen(publication.Publication):
    def on(self, event: publication.Event) -> publication.Effect:
        if isinstance(event, publication.Inspected):
            event = replace(event, missing=frozenset())
        return super().on(event)


class _AwaitsOpeningsForEver(publication.Publication):
    def on(self, event: publication.Event) -> publication.Effect:
        if isinstance(event, publication.Clock | publication.Opened):
            event = replace(event, openings=replace(event.openings, until=math.inf))
        return super().on(event)


def _member(session: type[life.Session]) -> Kinds:
    return Kinds(member=type(session.__name__, (Member,), {"session_type": session}))


def _office(session: type[analysis.Session]) -> Kinds:
    return Kinds(office=type(session.__name__, (Office,), {"session_type": session}))


class _Unseeing(Office):
    publication_type = _PublishesWhatWasNotSeen


class _Patient(Office):
    publication_type = _AwaitsOpeningsForEver


ERRING: dict[str, Kinds] = {
    "EndsWithTooFewIgnored": _member(_TooFew),
    "AbortsWhatIsDone": _member(_AbortsWhatIsDone),
    "ForgetsToErase": _member(_ForgetsToErase),
    "KeepsEvidence": _member(_KeepsEvidence),
    "ForgetsTheOrderedAbort": _member(_ForgetsTheOrder),
    "EndsBeforeItDies": _member(_EndsBeforeItDies),
    "JudgesByTheError": _member(_JudgesByTheError),
    "DoesNotRetry": _member(_DoesNotRetry),
    "FreezesAnotherListAfterARestart": Kinds(member=_TakesLate),
    "AcknowledgesBeforeItIsDurable": Kinds(member=_AcknowledgesFirst),
    "AnswersTwice": Kinds(user=_AnswersTwice),
    "ForgetsHerReport": Kinds(user=_ForgetsHerReport),
    "GivesUpForAPasserBy": _office(_GivesUpForAPasserBy),
    "PublishesWhatIsNotThere": _office(_PublishesWhatIsNotThere),
    "WaitsForEver": _office(_WaitsForEver),
    "PublishesWhatWasNotSeen": Kinds(office=_Unseeing),
    "AwaitsOpeningsForEver": Kinds(office=_Patient),
}
