"""When the analyzer's dummies are sent: as users come, so that neither time nor order tells them apart.

The users are cut into equal parts, and each part has one dummy, at a place in it that is drawn at random. It is due
once the users before its place have answered: however users come, at every moment the share of the dummies that is in
is the share of the users. None is sent for its own sake, neither at the end of the time nor before an early freeze.
Of the minimum of users there are `LEAST_SENT` parts, without whose dummies nothing is published; and there are parts
for twice as many users as are expected. With these a collection is full, and is closed (protocol.md §7.1).

Which dummy has which part follows from salts, but the first of the document's are spread over early parts and late
ones alike: where rows are very long, only these are opened (`inspected_dummies`).

How many have answered is what the shufflers say. The lower median of their words is taken, so that fewer than half of
them, who might call the dummies in early, do not decide it.
"""

import hashlib
from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from math import ceil, cos, exp, log, pi, sqrt
from typing import Final

from peos.collection.analysis import ASK_EVERY
from peos.crypto.randomness import Randomness
from peos.errors import WrongInput

LEAST_SENT: Final = (
    16  # with fewer acknowledged dummies nothing is published: 16 miss a tenth of the rows one time in 5
)
FULL: Final = 2  # times as many users as are expected: beyond them there is no dummy
UNSURE: Final = 8  # times the minimum are the most users to expect: each doubling doubles the dummies of the document
SOONEST: Final = 0.2  # seconds between two looks
_LOOKS: Final = 8  # at how many users came, from one dummy to the next
_READING_VARIES: Final = 0.7  # of the logarithm: two of three look for half of the typical to twice as long


@dataclass(frozen=True)
class Spread:
    """The users among whom a collection's dummies are to be."""

    expected: int
    minimum: int

    @property
    def full(self) -> int:
        """How many users have a dummy among them; with them the collection is closed."""
        return FULL * self.expected

    @property
    def dummies(self) -> int:
        """How many a collection commits to: one for each part of all these users."""
        return ceil(self.full / self._part)

    @property
    def _part(self) -> float:
        """The users of one part. Half of the expected ones have `LEAST_SENT`, as the minimum has, whichever is less."""
        return min(self.expected, 2 * self.minimum) / 2 / LEAST_SENT

    def due(self, salts: Sequence[bytes], taken: Set[int], *, answered: int) -> list[int]:
        """The dummies, by number, that are to be sent now, the first to be sent first."""
        return [
            number for number, place in _places(salts).items() if number not in taken and place * self._part <= answered
        ]

    def pause(self, *, came: int, within: float) -> float:
        """Seconds until the next look, when so many users came within so many seconds."""
        few = self._part / _LOOKS
        return min(ASK_EVERY, max(SOONEST, few * within / came)) if came > 0 else ASK_EVERY

    def reading(self, typical: float, *, each: float, rng: Randomness) -> float:
        """Seconds for which a person looks at a page before she answers, about the typical: log-normal.

        No longer than a quarter of what passes from one dummy to the next, where `each` is what passes from one user to
        the next: none comes long after its place.
        """
        first, second = ((rng.integer_below(1 << 53) + 1) / (1 << 53) for _ in range(2))
        normal = sqrt(-2 * log(first)) * cos(2 * pi * second)
        return max(0.0, min(typical * exp(_READING_VARIES * normal), self._part / 4 * each))


def answered(reports: Sequence[int], dummies: int) -> int:
    """How many users have answered, by what the shufflers say that they hold; one that says nothing counts as 0."""
    return max(0, sorted(reports)[(len(reports) - 1) // 2] - dummies)


def require_sure(expected: int, minimum: int) -> None:
    """WrongInput if so few reports may be enough that dummies among so many expected users would be too few."""
    if expected > UNSURE * minimum:
        raise WrongInput(
            "dummies.minimum",
            f"the minimum of {minimum:,} reports is less than an eighth of the {expected:,} users who are expected",
            hint=f"ask for at least {ceil(expected / UNSURE):,} reports, or expect at most {UNSURE * minimum:,} users; "
            f"a collection takes up to {FULL} times as many as are expected",
        )


def _places(salts: Sequence[bytes]) -> dict[int, float]:
    """The dummies by number, in the order of their places, which are counted in parts."""
    drawn = [hashlib.sha256(b"when" + salt).digest() for salt in salts]
    ends = [0, LEAST_SENT]
    while ends[-1] < len(salts):
        ends.append(2 * ends[-1])
    stretches = (
        sorted(range(*stretch), key=drawn.__getitem__) for stretch in pairwise(min(end, len(salts)) for end in ends)
    )
    parts = (part for dealt in zip_longest(*stretches) for part in dealt if part is not None)
    places = {number: part + int.from_bytes(drawn[number][-8:], "big") / (1 << 64) for number, part in enumerate(parts)}
    return dict(sorted(places.items(), key=lambda one: one[1]))
