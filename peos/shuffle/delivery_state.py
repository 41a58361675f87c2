"""Where a shuffler stands between attempts, as it is made durable (the rules are in `delivery`)."""

from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """Where a shuffler stands; all but FREE and STORED are final or lead only to their end."""

    FREE = "free"
    STORED = "stored"
    SENDING = "sending"
    DEAD = "dead"
    ABORTED = "aborted"
    DONE = "done"


@dataclass(frozen=True)
class DeliveryState:
    """What a shuffler must know durably. It is in the midst of an attempt iff FREE and `attempt` > `left`."""

    phase: Phase = Phase.FREE
    attempt: int = 0  # the highest entered
    left: int = 0  # the highest left: never to be stored or sent
    transcript: bytes = b""  # of the attempt that is stored or sent

    @property
    def running(self) -> bool:
        """Whether an attempt is under way, in memory only."""
        return self.phase is Phase.FREE and self.attempt > self.left
