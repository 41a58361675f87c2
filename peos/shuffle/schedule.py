"""The rounds of the shuffle: hiders, holders, tenures, and what each shuffler does when (protocol.md §3).

All t-subsets of the r shufflers hide once, in lexicographic order, t = ⌊r/2⌋ + 1. The holder, who has the ciphertexts,
is the lowest hider, so the ciphertexts change hands only when the lowest member changes: r − t times.

For every coalition of at most c = r − t shufflers the complement holds t hiders of some round: that round's
permutation is unknown to the coalition. Everything else in this package exists to make that round count.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Final

from peos.errors import WrongInput

MIN_SHUFFLERS: Final = 3  # two cannot hide anything from one of them
MAX_SHUFFLERS: Final = 9  # 126 rounds; the number of rounds grows as C(r, t)


@dataclass(frozen=True)
class Leave:
    """Before `round`: a shuffler that does not hide in it splits its vector among those who do.

    Everybody in `seeded` gets the seed of a stream; `explicit` gets the remainder, a whole vector. A holder that leaves
    adds the remainder to the ciphertexts instead (`explicit` is 0), and seeds all.
    """

    round: int
    seeded: tuple[int, ...]
    explicit: int


@dataclass(frozen=True)
class Hide:
    """`round`: agree on a permutation with the other hiders, take in what leavers sent, permute, mask."""

    round: int
    hiders: tuple[int, ...]
    seeds_from: tuple[int, ...]
    vectors_from: tuple[int, ...]


@dataclass(frozen=True)
class HandOver:
    """After `round`, the last of a tenure: one pass over the ciphertexts, and on to the next holder."""

    round: int
    first_round: int  # of the tenure: its permutations are applied to the ciphertexts in this one pass
    source: int  # who handed the ciphertexts over; 0 if they came from the users
    receiver: int
    hop: int  # passes so far, this one included


@dataclass(frozen=True)
class Deliver:
    """After the last round: the holder makes its pass, every hider hands its vector to the analyzer."""

    round: int
    holds: HandOver | None  # the last holder's pass


Action = Leave | Hide | HandOver | Deliver


@dataclass(frozen=True)
class Schedule:
    """The whole shuffle of r shufflers, numbered 1 … r."""

    shufflers: int

    def __post_init__(self) -> None:
        if not MIN_SHUFFLERS <= self.shufflers <= MAX_SHUFFLERS:
            raise WrongInput(
                "plan.shufflers",
                f"{self.shufflers} shufflers cannot run a collection",
                hint=f"between {MIN_SHUFFLERS} and {MAX_SHUFFLERS} organisations are needed",
            )

    @property
    def threshold(self) -> int:
        """t: hiders in a round."""
        return self.shufflers // 2 + 1

    @property
    def colluders(self) -> int:
        """c: how many shufflers may side with the analyzer and still not see who sent what."""
        return self.shufflers - self.threshold

    @cached_property
    def rounds(self) -> tuple[tuple[int, ...], ...]:
        """The hiders of each round; round numbers count from 1."""
        return tuple(combinations(range(1, self.shufflers + 1), self.threshold))

    def hiders(self, round_: int) -> tuple[int, ...]:
        """The hiders of a round."""
        return self.rounds[round_ - 1]

    def holder(self, round_: int) -> int:
        """The hider that has the ciphertexts in a round."""
        return self.rounds[round_ - 1][0]

    @property
    def last(self) -> tuple[int, ...]:
        """The last hiders, who deliver; the first of them is the last holder."""
        return self.rounds[-1]

    @cached_property
    def leaves(self) -> tuple[tuple[int, Leave], ...]:
        """(who, Leave) before each round, in order."""
        found = []
        before, holder = tuple(range(1, self.shufflers + 1)), 0
        for number, hiders in enumerate(self.rounds, start=1):
            lowest = hiders[1]  # that is not the holder
            for who in before:
                if who not in hiders:
                    explicit = 0 if who == holder else lowest
                    found.append((who, Leave(number, tuple(one for one in hiders if one != explicit), explicit)))
            before, holder = hiders, hiders[0]
        return tuple(found)

    @cached_property
    def passes(self) -> tuple[tuple[int, HandOver], ...]:
        """(holder, its pass) for every tenure; the receiver of the last pass is 0, the analyzer."""
        found: list[tuple[int, HandOver]] = []
        first, source = 1, 0
        for number in range(1, len(self.rounds) + 1):
            holder = self.holder(number)
            following = self.holder(number + 1) if number < len(self.rounds) else 0
            if following != holder:
                found.append((holder, HandOver(number, first, source, following, len(found) + 1)))
                first, source = number + 1, holder
        return tuple(found)

    def script(self, who: int) -> tuple[Action, ...]:
        """Everything that one shuffler does, in order."""
        actions: list[Action] = []
        passes = dict(self.passes)
        for number, hiders in enumerate(self.rounds, start=1):
            leaves = [(leaver, leave) for leaver, leave in self.leaves if leave.round == number]
            actions += [leave for leaver, leave in leaves if leaver == who]
            if who in passes and passes[who].round == number - 1 and passes[who].receiver:
                actions.append(passes[who])  # with what leaving left of its accumulator
            if who in hiders:
                seeds = tuple(leaver for leaver, leave in leaves if who in leave.seeded)
                vectors = tuple(leaver for leaver, leave in leaves if who == leave.explicit)
                actions.append(Hide(number, hiders, seeds, vectors))
        if who in self.last:
            holds = passes[who] if self.passes[-1][0] == who else None
            actions.append(Deliver(len(self.rounds), holds))
        return tuple(actions)

    @property
    def explicit_vectors(self) -> int:
        """Plaintext vectors that travel whole: one a leaver but for holders, and one from each last hider but one."""
        return sum(leave.explicit > 0 for _, leave in self.leaves) + self.threshold - 1
