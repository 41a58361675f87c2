"""After the delivery: one shuffler's part in following the dummies' rows through the attempt that was delivered.

Round by round the hiders tell all shufflers where the rows went; none opens a row whose place is not agreed on by all
hiders of the round. Then each shuffler opens the rows at every step to all others and to the analyzer, and judges what
it was shown. It happens after every delivery, not only after a failed one: a holder that does not re-randomise leaves
the output right, and would go unnoticed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from peos.crypto.kdf import StreamKey
from peos.shuffle.effects import Mix
from peos.shuffle.inspect.evidence import Nothing, Opening, Trail
from peos.shuffle.inspect.paths import Paths, Places
from peos.shuffle.inspect.verdict import Case, Finding, judge
from peos.shuffle.messages import SignedReveal
from peos.shuffle.transcript import Said


@dataclass(frozen=True, repr=False)
class Record:
    """What a shuffler still knows of the attempt that was delivered."""

    trail: Trail
    said: Mapping[Said, bytes]

    def permutation(self, round_: int) -> StreamKey | None:
        """How this shuffler permuted in a round."""
        tasks = (task for action, task in self.trail if action.round == round_ and isinstance(task, Mix))
        return next((task.permutation for task in tasks), None)


@dataclass(frozen=True)
class Follow:
    """Find where `places` went under a permutation of all rows, and say so by `followed`."""

    round: int
    permutation: StreamKey = field(repr=False)
    places: Places


@dataclass(frozen=True)
class SendPath:
    """Tell every other shuffler where the rows are after a round."""

    round: int
    places: Places


@dataclass(frozen=True)
class Open:
    """Open the rows at `places` (before round 1, after it, …) to every other shuffler and the analyzer.

    `claim` is the own word on the round after, if that is not agreed on.
    """

    places: tuple[Places, ...]
    claim: Places | None = None


Effect = Follow | SendPath | Open


class Inspection:
    """Feed it what comes; it returns what to do. `findings` is complete once `waiting` is empty."""

    def __init__(self, me: int, case: Case, record: Record) -> None:
        self._me = me
        self._case = case
        self._record = record
        self._paths = Paths(case.schedule, case.rows, case.start)
        self._followed = 0  # the last round for which a Follow was asked for
        self._is_open = False
        self._openings: dict[int, Opening] = {}

    def start(self) -> list[Effect]:
        """Begin with round 1."""
        return self._advance()

    def followed(self, round_: int, places: Places) -> list[Effect]:
        """The answer to a `Follow`."""
        self._paths.claim(round_, self._me, places)
        return [SendPath(round_, places), *self._advance()]

    def told(self, sender: int, round_: int, places: Places, revealed: SignedReveal) -> list[Effect]:
        """Another shuffler's word on a round. One that was shown other dummies speaks of other rows."""
        if revealed.hash != self._case.revealed.hash:
            return self.opened(sender, Opening(sender, revealed=revealed, nothing=Nothing.UNREVEALED))
        if 1 <= round_ <= len(self._case.schedule.rounds):
            self._paths.claim(round_, sender, places)
        return self._advance()

    def opened(self, sender: int, opening: Opening) -> list[Effect]:
        """What a shuffler shows, or that it has nothing to show; its first word stands."""
        self._openings.setdefault(sender, opening)
        return self._advance()

    def given_up(self) -> list[Effect]:
        """Stop waiting: shufflers that showed nothing count as lost."""
        for who in self.waiting:
            if who != self._me:
                self._openings[who] = Opening(who, nothing=Nothing.LOST)
        return [] if self._is_open else self._open()

    @property
    def revealed(self) -> SignedReveal:
        """What was shown here of the dummies, as every word says that this shuffler sends."""
        return self._case.revealed

    @property
    def dummies(self) -> tuple[int, ...]:
        """Which of the document's dummies are followed."""
        return self._case.dummies

    @property
    def waiting(self) -> tuple[int, ...]:
        """Who has not shown its rows."""
        everybody = range(1, self._case.schedule.shufflers + 1)
        return tuple(who for who in everybody if who not in self._openings)

    @property
    def lost(self) -> tuple[int, ...]:
        """Who shows nothing."""
        return tuple(who for who, opening in sorted(self._openings.items()) if opening.nothing)

    @property
    def findings(self) -> list[Finding]:
        """What the rows that were opened show."""
        return judge(self._case, self._openings)

    def _advance(self) -> list[Effect]:
        if self._is_open:
            return []
        agreed = self._paths.agreed
        number = len(agreed)
        if number > len(self._case.schedule.rounds):
            return self._open()
        hiders = self._case.schedule.hiders(number)
        if self._paths.is_disputed(number) or any(who in self.lost for who in hiders):
            return self._open()
        if self._me in hiders and self._followed < number:
            permutation = self._record.permutation(number)
            assert permutation is not None, "a hider that has a record has permuted in its rounds"
            self._followed = number
            return [Follow(number, permutation, agreed[-1])]
        return []

    def _open(self) -> list[Effect]:
        self._is_open = True
        agreed = self._paths.agreed
        own = self._paths.claims(len(agreed)).get(self._me)
        return [Open(agreed, own)]


def after(permutation: StreamKey, rows: int, places: Places) -> Places:
    """Where rows are once all have been permuted: out[i] = in[π[i]]."""
    order = permutation.stream().permutation(rows)
    inverse = np.empty(rows, np.intp)
    inverse[order] = np.arange(rows)
    return tuple(int(place) for place in inverse[list(places)])
