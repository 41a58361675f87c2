"""SS, the sequential shuffle: the baseline that PEOS is compared with (protocol.md §9, thesis §9.5.1).

The rows are onions. They pass shufflers 1 … r one after another; each removes its layer, adds its own fakes, permutes,
and hands over; the last delivers to the analyzer. It is the same machine as that of the encrypted oblivious shuffle
with another schedule: r rounds without hiders, a pass in each, and one last hider.

What it lacks is what PEOS is for: a shuffler draws its fakes as it likes, replaces rows and is noticed by dummies only,
and its fakes hide no user from its accomplices.
"""

from dataclasses import dataclass
from functools import cached_property

from peos.crypto.kdf import derive
from peos.shuffle.attempt import Attempt
from peos.shuffle.effects import Effect, Peel
from peos.shuffle.inspect.machine import Record
from peos.shuffle.machine import Shuffler
from peos.shuffle.messages import STATEMENT_BYTES, Kind, Step
from peos.shuffle.schedule import HandOver, Leave, Schedule


@dataclass(frozen=True)
class SequentialSchedule(Schedule):
    """Round i is shuffler i's alone, without other hiders: nothing has to be agreed on."""

    @property
    def threshold(self) -> int:
        """One permutation that a coalition does not know is enough."""
        return 1

    @cached_property
    def rounds(self) -> tuple[tuple[int, ...], ...]:
        """A round for each shuffler, without hiders."""
        return ((),) * self.shufflers

    def holder(self, round_: int) -> int:
        """Who has the rows in a round."""
        return round_

    @property
    def last(self) -> tuple[int, ...]:
        """The last shuffler alone delivers."""
        return (self.shufflers,)

    @cached_property
    def leaves(self) -> tuple[tuple[int, Leave], ...]:
        """There are no shares to be split."""
        return ()

    @cached_property
    def passes(self) -> tuple[tuple[int, HandOver], ...]:
        """Each shuffler's pass, and whom it hands over to."""
        number = self.shufflers
        return tuple((who, HandOver(who, who, who - 1, (who + 1) % (number + 1), who)) for who in range(1, number + 1))


class SequentialAttempt(Attempt):
    """A pass that removes a layer, in place of one that masks."""

    def _pass(self, over: HandOver) -> list[Effect]:
        onions = self._held(over)
        if onions is None:
            return []
        # Drawn anew in each attempt, and known to this shuffler alone.
        permutation = derive(self._rng.bytes(STATEMENT_BYTES), "permutation", self.context, round_=over.round)
        task = self._begin(Step(over.round, Kind.CIPHER_ROOT))
        out = self._name("pass", over.hop)
        return self._worked(over, Peel(task, onions, permutation, self._next_salt(), out))


class SequentialShuffler(Shuffler):
    """A shuffler of the sequential shuffle. There is nothing to be inspected: no row is followed through it."""

    attempt_type = SequentialAttempt

    @property
    def record(self) -> Record | None:
        """Nothing is kept of an attempt."""
        return None
