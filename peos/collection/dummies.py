"""When the analyzer's dummies are sent: as users come, so that neither time nor order tells them apart.

There are `MIN_DUMMIES` for the expected users, one with a place at random in each of as many equal parts of them, and
more for users beyond (`dummies_for`), in parts of the same size. A dummy is due once so many users have answered:
however users come, at every moment the share of the dummies that is in is the share of the users. None is sent for its
own sake afterwards. Publication needs only `LEAST_SENT`, half of the first, and half of the expected users are the
minimum unless the analyst asks for fewer; only then time counts too, as far as users come: that half is due by the end
(protocol.md §7.1).

Which dummy has which place follows from salts, but every other one of the document's first has a place among the first
half of the expected users, so that of those that are opened where rows are very long (`inspected_dummies`), half are
always in.

How many have answered is what the shufflers say. The lower median of their words is taken, so that fewer than half of
them, who might call the dummies in early, do not decide it.
"""

import hashlib
from collections.abc import Sequence, Set
from dataclasses import dataclass
from math import cos, exp, log, pi, sqrt
from typing import Final

from peos.collection.analysis import ASK_EVERY
from peos.collection.document import MIN_DUMMIES
from peos.crypto.randomness import Randomness

LEAST_SENT: Final = (
    16  # with fewer acknowledged dummies nothing is published: 16 miss a tenth of the rows one time in 5
)
REST_SECONDS: Final = 10.0  # within which an early freeze sends what is needed
SOONEST: Final = 0.2  # seconds between two looks
_MORE_PER: Final = 256  # expected users: shufflers take all dummies off what they hold, and many would cost users there
_LOOKS: Final = 8  # at how many users came, from one dummy to the next
_READING_VARIES: Final = 0.7  # of the logarithm: two of three look for half of the typical to twice as long
_MARGIN_SHARE: Final = 0.05  # of the open time, at its end, in which what is needed is sent in any case
_MARGIN_SECONDS: Final = 30.0


@dataclass(frozen=True)
class Spread:
    """The users among whom a collection's dummies are to be, and the time in which they come."""

    opened_at: float
    closes_at: float
    expected: int
    minimum: int

    def due(self, salts: Sequence[bytes], taken: Set[int], *, now: float, answered: int, before: int) -> list[int]:
        """The dummies, by number, that are to be sent now; `before` is how many had answered at the last look."""
        reached = answered / max(1, self.expected)
        if answered > before:
            least = LEAST_SENT / MIN_DUMMIES
            reached = max(reached, least * min(self._passed(now), answered / max(1, self.minimum)))
        left = _left(salts, taken)
        due = [number for number, place in left.items() if place <= reached]
        is_over = self._passed(now) >= 1.0
        return max(due, self.rest(salts, taken, answered=answered), key=len) if is_over else due

    def rest(self, salts: Sequence[bytes], taken: Set[int], *, answered: int) -> list[int]:
        """Those that must be in before the lists are closed, the first to be sent first.

        Where few users came these are all: shufflers take every dummy off what they hold, and ask for the minimum of
        the rest.
        """
        enough = LEAST_SENT if answered >= self.minimum + len(salts) else len(salts)
        return list(_left(salts, taken))[: max(0, enough - len(taken))]

    def pauses(self, count: int, *, now: float, answered: int, rng: Randomness) -> list[float]:
        """Seconds before each of the last `count` dummies when the collection is closed early: the users' own tempo.

        Exponential, as between users who come independently; together they take no longer than `REST_SECONDS`.
        """
        mean = min((now - self.opened_at) / max(1, answered), REST_SECONDS / 2 / max(1, count))
        drawn = [-log((rng.integer_below(1 << 53) + 1) / (1 << 53)) * max(0.0, mean) for _ in range(count)]
        longest = REST_SECONDS / max(sum(drawn), REST_SECONDS)
        return [pause * longest for pause in drawn]

    def pause(self, *, came: int, within: float) -> float:
        """Seconds until the next look, when so many users came within so many seconds."""
        few = self.expected / MIN_DUMMIES / _LOOKS
        return min(ASK_EVERY, max(SOONEST, few * within / came)) if came > 0 else ASK_EVERY

    def reading(self, typical: float, *, now: float, answered: int, came: int, within: float, rng: Randomness) -> float:
        """Seconds for which a person looks at a page before she answers, about the typical: log-normal.

        No longer than a quarter of what passes from one dummy to the next, so that none comes long after its place.
        """
        each = within / came if came > 1 else (now - self.opened_at) / max(1, answered)
        first, second = ((rng.integer_below(1 << 53) + 1) / (1 << 53) for _ in range(2))
        normal = sqrt(-2 * log(first)) * cos(2 * pi * second)
        return max(0.0, min(typical * exp(_READING_VARIES * normal), self.expected / MIN_DUMMIES / 4 * each))

    def _passed(self, now: float) -> float:
        whole = self.closes_at - self.opened_at
        lasting = whole - min(_MARGIN_SECONDS, _MARGIN_SHARE * whole)
        return min(1.0, (now - self.opened_at) / lasting) if lasting > 0 else 1.0


def dummies_for(expected: int) -> int:
    """How many dummies a collection commits to; of 8,192 expected users or more, enough for twice as many."""
    return MIN_DUMMIES + min(MIN_DUMMIES, expected // _MORE_PER)


def answered(reports: Sequence[int], dummies: int) -> int:
    """How many users have answered, by what the shufflers say that they hold; one that says nothing counts as 0."""
    return max(0, sorted(reports)[(len(reports) - 1) // 2] - dummies)


def _left(salts: Sequence[bytes], taken: Set[int]) -> dict[int, float]:
    """Those that are not in, by number, with their places: below 1 among the expected users, above it among others."""
    drawn = [hashlib.sha256(b"when" + salt).digest() for salt in salts]
    kinds = (range(0, MIN_DUMMIES, 2), range(1, MIN_DUMMIES, 2), range(MIN_DUMMIES, len(salts)))
    within = [int.from_bytes(one[-8:], "big") / (1 << 64) for one in drawn]
    parts = enumerate(one for kind in kinds for one in sorted(kind, key=drawn.__getitem__))
    return {one: (part + within[one]) / MIN_DUMMIES for part, one in parts if one not in taken}
