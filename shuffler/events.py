"""What happens in a shuffler, as typed events; `peos.net.observer` says what becomes of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from peos.errors import Full
from peos.net.observer import EVERYTHING, UNWRITTEN, Event, Failure, Level

# What may be hindered, as `status` tells it.
SUBMISSIONS: Final = "submissions"
ATTEMPTS: Final = "attempts"
DELIVERY: Final = "delivery"
RECEIPT: Final = "receipt"
INSPECTION: Final = "inspection"
STATUS: Final = "status"

# The life of a collection.


@dataclass(frozen=True)
class Accepted(Event):
    """The operator takes part."""

    sentence: ClassVar[str] = "accepted by the operator"


@dataclass(frozen=True)
class Waits(Failure):
    """A step was not taken, for a reason that may pass."""

    sentence: ClassVar[str] = "waiting"


@dataclass(frozen=True)
class StepFailed(Failure):
    """A step was not taken, for a reason of this program's own."""

    sentence: ClassVar[str] = "a step failed"
    level: ClassVar[Level] = Level.ERROR


@dataclass(frozen=True)
class ChangeIsThere(Failure):
    """The store failed, and the change is there all the same."""

    sentence: ClassVar[str] = "a change that failed is there"
    state: str


@dataclass(frozen=True)
class TwoListsSigned(Event):
    """A shuffler signed two lists. The proof is for the audit log; the log of the process names the shuffler alone."""

    sentence: ClassVar[str] = "two lists signed"
    level: ClassVar[Level] = Level.ERROR
    peer: str
    proof: Mapping[str, str | int] = field(repr=False, metadata=UNWRITTEN)


@dataclass(frozen=True)
class ReportsLeftOut(Event):
    """Some reports cannot be shuffled here."""

    sentence: ClassVar[str] = "reports were left out"
    level: ClassVar[Level] = Level.WARNING
    reason: str
    count: int


@dataclass(frozen=True)
class EvidenceFound(Event):
    """What was kept for the inspection was read after a restart."""

    sentence: ClassVar[str] = "what was kept for the inspection is here"
    attempt: int


@dataclass(frozen=True)
class StoppedSession(Failure):
    """A session ended by an error that nothing foresaw."""

    sentence: ClassVar[str] = "a collection stopped, and is tried again"
    level: ClassVar[Level] = Level.ERROR


@dataclass(frozen=True)
class Unreadable(Failure):
    """What is stored of a collection cannot be gone on with."""

    sentence: ClassVar[str] = "a stored collection cannot be resumed"
    level: ClassVar[Level] = Level.ERROR


@dataclass(frozen=True)
class Finished(Event):
    """Nothing is left to do for it here."""

    sentence: ClassVar[str] = "nothing is left to do"
    work: ClassVar[str] = EVERYTHING


# Submissions.


@dataclass(frozen=True)
class SubmissionsKept(Event):
    """The store has taken a group of submissions; all but those of `queued` were known already, or in conflict."""

    level: ClassVar[Level] = Level.NONE
    work: ClassVar[str] = SUBMISSIONS
    queued: tuple[float, ...] = ()  # seconds until the group was complete, of each that is new
    waited: float = 0.0  # seconds of the group for the store
    committed: float = 0.0  # and seconds until it was durable
    repeated: int = 0  # submissions that are sent again


@dataclass(frozen=True)
class SubmissionRefused(Event):
    """A submission is not taken, ever or `for_now`."""

    level: ClassVar[Level] = Level.NONE
    is_by_callers: ClassVar[bool] = True
    for_now: bool


@dataclass(frozen=True)
class SubmissionsNotKept(Failure):
    """The store did not take a group of submissions, whose users were asked to send them again."""

    sentence: ClassVar[str] = "submissions could not be kept"
    level: ClassVar[Level] = Level.ERROR
    work: ClassVar[str] = SUBMISSIONS
    is_by_callers: ClassVar[bool] = True
    count: int

    @property
    def trouble(self) -> str:
        """As status shows it: a fault of the store is for the operator of this shuffler alone."""
        later = self.error if isinstance(self.error, Full) else "internal error; details are in its log"
        return f"submissions cannot be kept at the moment: {later}"


@dataclass(frozen=True)
class PartNotJudged(Failure):
    """A part could not be checked, for a reason of this program's own."""

    sentence: ClassVar[str] = "a part could not be judged"
    level: ClassVar[Level] = Level.ERROR
    is_by_callers: ClassVar[bool] = True


@dataclass(frozen=True)
class RefusalsNotCounted(Failure):
    """The store did not take the numbers of refused submissions, which are not kept elsewhere."""

    sentence: ClassVar[str] = "refusals were not counted"
    is_by_callers: ClassVar[bool] = True
    count: int


# The shuffle.


@dataclass(frozen=True)
class DeliveryStateReached(Event):
    """A delivery state is durable."""

    sentence: ClassVar[str] = "delivery state"
    state: str
    attempt: int


@dataclass(frozen=True)
class EvidenceKept(Event):
    """The evidence of an attempt is on the disk, encrypted."""

    sentence: ClassVar[str] = "kept for the inspection"
    attempt: int
    seconds: float


@dataclass(frozen=True)
class AttemptWaits(Waits):
    """An attempt waits for room on this machine, or for its store."""

    work: ClassVar[str] = ATTEMPTS
    attempt: int


@dataclass(frozen=True)
class AttemptLeft(Event):
    """This shuffler gives an attempt up."""

    sentence: ClassVar[str] = "an attempt is left"
    level: ClassVar[Level] = Level.WARNING
    work: ClassVar[str] = ATTEMPTS
    reason: str
    attempt: int

    @property
    def trouble(self) -> str:
        """Why."""
        return self.reason


@dataclass(frozen=True)
class TaskFailed(Failure):
    """Work on vectors failed, and its attempt with it."""

    sentence: ClassVar[str] = "a step could not be worked"
    level: ClassVar[Level] = Level.ERROR
    attempt: int


@dataclass(frozen=True)
class MessageNotSent(Failure):
    """A message to another shuffler was not acknowledged, and is sent again."""

    sentence: ClassVar[str] = "not delivered yet"
    step: str
    peer: str


@dataclass(frozen=True)
class MessageNotWanted(Event):
    """The other shuffler is past a message."""

    sentence: ClassVar[str] = "not wanted any more"
    step: str
    peer: str
    id: str
    reason: str


@dataclass(frozen=True)
class NoticeNotSent(Failure):
    """A notice was not acknowledged; it is not sent again, since a shuffler that needs it asks."""

    sentence: ClassVar[str] = "a notice was not delivered"
    peer: str


@dataclass(frozen=True)
class ZerosUsed(Event):
    """The shuffle is over, and what is left of the zeros made ahead for it is erased."""

    sentence: ClassVar[str] = "zeros made ahead: done of total were used"
    done: int
    total: int


@dataclass(frozen=True)
class ZerosNotMade(Failure):
    """Zeros cannot be made ahead; passes make them."""

    sentence: ClassVar[str] = "zeros are not made ahead"


# The delivery.


@dataclass(frozen=True)
class Delivered(Event):
    """The analyzer has the whole of this shuffler's vector."""

    sentence: ClassVar[str] = "delivered"
    work: ClassVar[str] = DELIVERY
    attempt: int
    bytes: int


@dataclass(frozen=True)
class VectorNotRead(Failure):
    """The store does not give the final vector, and is asked again."""

    sentence: ClassVar[str] = "the vector cannot be read"
    work: ClassVar[str] = DELIVERY


@dataclass(frozen=True)
class VectorLost(Failure):
    """The final vector cannot be delivered any more."""

    sentence: ClassVar[str] = "the stored vector cannot be delivered"
    level: ClassVar[Level] = Level.ERROR


@dataclass(frozen=True)
class VectorNotSent(Failure):
    """The analyzer did not take the final vector, which is sent again."""

    sentence: ClassVar[str] = "not delivered yet"
    work: ClassVar[str] = DELIVERY


@dataclass(frozen=True)
class NoReceipt(Failure):
    """The analyzer does not answer whether it has the output, and is asked again."""

    sentence: ClassVar[str] = "no receipt"
    work: ClassVar[str] = RECEIPT


@dataclass(frozen=True)
class ReceiptAnswered(Event):
    """The analyzer answers whether it has the output."""

    level: ClassVar[Level] = Level.NONE
    work: ClassVar[str] = RECEIPT


@dataclass(frozen=True)
class ReceiptOfAnotherList(Event):
    """The analyzer's receipt is not about what was frozen here."""

    sentence: ClassVar[str] = "a receipt of another list"
    level: ClassVar[Level] = Level.WARNING


@dataclass(frozen=True)
class ReceiptNotSigned(Event):
    """The receipt is not signed by the analyzer of the document."""

    sentence: ClassVar[str] = "a receipt with a wrong signature"
    level: ClassVar[Level] = Level.WARNING


@dataclass(frozen=True)
class ReceiptOfAnotherAttempt(Event):
    """The receipt is about another attempt, or another transcript."""

    sentence: ClassVar[str] = "a receipt of another attempt than the one that is sent"
    level: ClassVar[Level] = Level.WARNING
    attempt: int


# The inspection.


@dataclass(frozen=True)
class InspectionWaits(Waits):
    """The analyzer does not take part now, and is asked again."""

    work: ClassVar[str] = INSPECTION


@dataclass(frozen=True)
class InspectionGoesOn(Event):
    """The analyzer takes part."""

    level: ClassVar[Level] = Level.NONE
    work: ClassVar[str] = INSPECTION


@dataclass(frozen=True)
class NothingToOpen(Event):
    """This shuffler has nothing left of the attempt."""

    sentence: ClassVar[str] = "nothing to open"
    level: ClassVar[Level] = Level.WARNING
    reason: str


@dataclass(frozen=True)
class OpeningUnread(Failure):
    """Another shuffler's path or opening has a wrong form, and counts as none."""

    sentence: ClassVar[str] = "shown in a wrong form"
    peer: str


@dataclass(frozen=True)
class DummiesNotShown(Failure):
    """The analyzer's dummies are not those of the document."""

    sentence: ClassVar[str] = "the dummies are not shown as they must be"
    level: ClassVar[Level] = Level.ERROR


@dataclass(frozen=True)
class InspectionIncomplete(Event):
    """A party did not take part in time."""

    sentence: ClassVar[str] = "the inspection is not complete"
    level: ClassVar[Level] = Level.WARNING
    work: ClassVar[str] = INSPECTION
    reason: str

    @property
    def trouble(self) -> str:
        """Which."""
        return self.reason


@dataclass(frozen=True)
class NotInspected(Failure):
    """This shuffler cannot take part."""

    sentence: ClassVar[str] = "the inspection cannot be made"
    work: ClassVar[str] = INSPECTION


@dataclass(frozen=True)
class InspectionOver(Event):
    """The analyzer has ended the collection."""

    sentence: ClassVar[str] = "the inspection is over"
    work: ClassVar[str] = INSPECTION
    id: str
    reason: str

    @property
    def trouble(self) -> str:
        """How it ended the collection."""
        return self.reason


@dataclass(frozen=True)
class ShuffleWrong(Event):
    """The inspection found a deviation."""

    sentence: ClassVar[str] = "the shuffle was done incorrectly"
    level: ClassVar[Level] = Level.ERROR
    reason: str


# The process.


@dataclass(frozen=True)
class RowsKept(Failure):
    """What is kept for users could not be erased at its time."""

    sentence: ClassVar[str] = "rows could not be erased yet"
    level: ClassVar[Level] = Level.ERROR


@dataclass(frozen=True)
class StatusUnwritten(Failure):
    """The file with the status could not be written."""

    sentence: ClassVar[str] = "the status could not be written"
    level: ClassVar[Level] = Level.ERROR
    work: ClassVar[str] = STATUS


@dataclass(frozen=True)
class StatusWritten(Event):
    """It can be written."""

    level: ClassVar[Level] = Level.NONE
    work: ClassVar[str] = STATUS


@dataclass(frozen=True)
class NoPassphrase(Event):
    """Keys and evidence are not encrypted on the disk."""

    sentence: ClassVar[str] = "no passphrase"
    level: ClassVar[Level] = Level.WARNING
    reason: str


TRACED: Final = (  # within a step of a collection: nothing that a user, or one report, may bring about
    *(Waits, StepFailed, ChangeIsThere, TwoListsSigned, EvidenceFound, StoppedSession),
    *(DeliveryStateReached, EvidenceKept, AttemptLeft, TaskFailed, MessageNotSent, MessageNotWanted),
    *(Delivered, VectorNotRead, VectorLost, VectorNotSent, NoReceipt),
    *(ReceiptOfAnotherList, ReceiptNotSigned, ReceiptOfAnotherAttempt),
    *(NothingToOpen, OpeningUnread, DummiesNotShown, InspectionIncomplete, NotInspected, InspectionOver, ShuffleWrong),
)
