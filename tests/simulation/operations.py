"""What can go wrong, as a list of operations, and such lists drawn from a seed (docs/simulation.md).

An operation says when, whom and how; it never refers to another one. So any of them can be left out and the rest still
means something, which is what makes a failing list shrink.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final, TypeVar

from peos.crypto.randomness import Randomness

ANALYZER: Final = 0
FAULTS_FOR: Final = 260  # ticks in which the drawn faults begin; an undisturbed attempt of three takes about 25
LATE: Final = 5000  # a deadline that no fault comes near
GRACE: Final = 400  # between shuffle_by and erase_by


@dataclass(frozen=True)
class Operation:
    """One fault. `at` is in ticks of simulated time; what lasts ends `lasts` later."""

    at: int

    @property
    def over(self) -> int:
        """When its last effect is past."""
        longest = max((getattr(self, name, 0) for name in ("down", "by", "spread")), default=0)
        return self.at + int(getattr(self, "lasts", 0)) + int(longest)


@dataclass(frozen=True)
class Kill(Operation):
    """A process is killed between two events, and comes back `down` ticks later with what it had persisted."""

    who: int
    down: int


@dataclass(frozen=True)
class Cut(Operation):
    """A process is killed in the midst of a list of effects: when `after` more effects have been carried out."""

    who: int
    after: int
    down: int


@dataclass(frozen=True)
class Torn(Operation):
    """A process is killed at its `nth` Persist from now: before it is durable, or after it and before what follows."""

    who: int
    nth: int
    durable: bool
    down: int


@dataclass(frozen=True)
class Gone(Operation):
    """A party never comes back."""

    who: int


@dataclass(frozen=True)
class Partition(Operation):
    """`group` hears no other party, and no other party hears it. The analyzer is 0."""

    lasts: int
    group: tuple[int, ...]


@dataclass(frozen=True)
class Drop(Operation):
    """What one party sends another is lost."""

    lasts: int
    sender: int
    receiver: int


@dataclass(frozen=True)
class Delay(Operation):
    """What one party sends another comes `by` ticks late."""

    lasts: int
    sender: int
    receiver: int
    by: int


@dataclass(frozen=True)
class Double(Operation):
    """What one party sends another comes twice, the second time `by` ticks late."""

    lasts: int
    sender: int
    receiver: int
    by: int


@dataclass(frozen=True)
class Scramble(Operation):
    """Everything takes up to `spread` ticks more, each message on its own, so they overtake one another."""

    lasts: int
    spread: int


@dataclass(frozen=True)
class Impatient(Operation):
    """A clock jumps: the step under way counts as timed out."""

    who: int


@dataclass(frozen=True)
class Hurried(Operation):
    """A clock jumps: one party sees `shuffle_by` pass before it has."""

    who: int


@dataclass(frozen=True)
class Behind(Operation):
    """One party's clock is `by` ticks behind: it sees both deadlines late."""

    who: int
    by: int


@dataclass(frozen=True)
class Slow(Operation):
    """The tasks that one party begins take `by` ticks more."""

    lasts: int
    who: int
    by: int


@dataclass(frozen=True)
class Mislaid(Operation):
    """The next task that one party begins is lost with its worker: the party has to leave the attempt."""

    who: int


# Of whole collections alone.


@dataclass(frozen=True)
class Faulty(Operation):
    """The next changes of one party's store fail: before them, or behind them, so that they are there all the same."""

    who: int
    times: int
    behind: bool


@dataclass(frozen=True)
class Order(Operation):
    """The analyst closes the collection before its time, or aborts it."""

    abort: bool


@dataclass(frozen=True)
class KillUser(Operation):
    """A user's process is killed, and comes back `down` ticks later."""

    who: int
    down: int


@dataclass(frozen=True)
class Again(Operation):
    """A user answers once more, under another ticket."""

    who: int


@dataclass(frozen=True)
class Trial:
    """Everything that one run depends on. `seed` keys the parties' randomness; `vectors`: whether rows are computed."""

    shufflers: int = 3
    seed: int = 0
    vectors: bool = False
    shuffle_by: int = LATE
    erase_by: int = LATE + GRACE
    operations: tuple[Operation, ...] = ()

    @property
    def faults_end(self) -> int:
        """When the last fault is past."""
        return max((operation.over for operation in self.operations), default=0)

    @property
    def must_deliver(self) -> bool:
        """Whether nothing excuses an abort: no party is gone for good, and no deadline comes among the faults."""
        excused = any(isinstance(operation, Gone | Hurried) for operation in self.operations)
        return not excused and self.shuffle_by >= LATE

    def source(self) -> str:
        """The trial as it is written down in a reproduction."""
        changed = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if field.name != "operations" and getattr(self, field.name) != field.default
        ]
        lines = [f"    {one}," for one in changed]
        if self.operations:
            lines += ["    operations=(", *(f"        {operation!r}," for operation in self.operations), "    ),"]
        return "\n".join(["Trial(", *lines, ")"])


T = TypeVar("T")


class Dice:
    """Choices out of a keyed stream: the same seed, the same trial, on every machine."""

    def __init__(self, seed: int) -> None:
        self._stream = Randomness(hashlib.sha256(b"trial" + seed.to_bytes(8, "big")).digest())

    def below(self, bound: int) -> int:
        """0 … bound − 1."""
        return self._stream.integer_below(bound)

    def between(self, low: int, high: int) -> int:
        """low … high."""
        return low + self.below(high - low + 1)

    def of(self, choices: Sequence[T]) -> T:
        """One of them."""
        return choices[self.below(len(choices))]

    def chance(self, percent: int) -> bool:
        """True that often."""
        return self.below(100) < percent


def trial(seed: int, shufflers: int = 0) -> Trial:
    """The trial of a seed: one to eight faults, mostly three shufflers without vectors unless a number is given."""
    dice = Dice(seed)
    drawn = dice.of((3,) * 17 + (4, 4, 5))
    shufflers = shufflers or drawn
    vectors = dice.chance(20)
    operations = tuple(_operation(dice, shufflers) for _ in range(dice.between(1, 8)))
    # A deadline comes early in a quarter of all trials, often just when an attempt is about to be delivered.
    early = dice.of((dice.between(15, 60), dice.between(15, 60), dice.between(10, FAULTS_FOR)))
    shuffle_by = early if dice.chance(25) else LATE
    erase_by = shuffle_by + (dice.between(1, 60) if dice.chance(30) else GRACE)
    operations = tuple(sorted(operations, key=lambda one: one.at))
    return Trial(shufflers, seed, vectors, shuffle_by, erase_by, operations)


def _operation(dice: Dice, shufflers: int) -> Operation:
    # Early ticks are likelier: most attempts are then under way, and what happens late finds everything delivered.
    at = dice.below(dice.of((30, 40, 60, 120, FAULTS_FOR)))
    who, lasts = dice.between(1, shufflers), dice.between(5, 120)
    down = dice.of((1, dice.between(2, 30), dice.between(30, 120)))
    sender, receiver = _link(dice, shufflers)
    by = dice.of((dice.between(1, 6), dice.between(7, 60), dice.between(60, 150)))
    draws: tuple[Callable[[], Operation], ...] = (
        lambda: Kill(at, who, down),
        lambda: Cut(at, who, dice.below(12), down),
        lambda: Torn(at, who, dice.between(1, 4), dice.chance(50), down),
        lambda: Torn(at, who, dice.between(1, 4), dice.chance(50), down),
        lambda: Partition(at, lasts, _group(dice, shufflers)),
        lambda: Drop(at, lasts, sender, receiver),
        lambda: Delay(at, lasts, sender, receiver, by),
        lambda: Double(at, lasts, sender, receiver, by),
        lambda: Scramble(at, lasts, dice.between(2, 40)),
        lambda: Impatient(at, who),
        lambda: Slow(at, lasts, who, by),
        lambda: Mislaid(at, who),
        lambda: Behind(at, who, by),
        lambda: Gone(at, who) if dice.chance(40) else Kill(at, who, down),
        lambda: Hurried(at, who) if dice.chance(40) else Impatient(at, who),
    )
    return dice.of(draws)()


def whole_trial(seed: int) -> Trial:
    """The trial of a seed for a whole collection: the same faults, with those that a whole collection has besides."""
    drawn, dice = trial(seed), Dice((1 << 62) + seed)
    operations = [*drawn.operations]
    for _ in range(dice.below(3)):
        at, who = dice.below(dice.of((20, 40, 80, FAULTS_FOR))), dice.between(1, drawn.shufflers)
        draws: tuple[Callable[[], Operation], ...] = (
            lambda: Faulty(at, who, dice.between(1, 3), dice.chance(50)),  # noqa: B023 - drawn at once
            lambda: Faulty(at, who, dice.between(1, 3), dice.chance(50)),  # noqa: B023 - likewise
            lambda: KillUser(dice.below(20), dice.between(1, 4), dice.between(1, 10)),
            lambda: Again(dice.between(5, 25), dice.between(1, 4)),
            lambda: Order(at, dice.chance(50)),  # noqa: B023 - likewise
        )
        operations.append(dice.of(draws)())
    later = 0 if drawn.shuffle_by >= LATE else 25
    ordered = tuple(sorted(operations, key=lambda one: one.at))
    return replace(drawn, operations=ordered, shuffle_by=drawn.shuffle_by + later, erase_by=drawn.erase_by + later)


def _link(dice: Dice, shufflers: int) -> tuple[int, int]:
    sender = dice.below(shufflers + 1)
    receiver = dice.below(shufflers)
    return sender, receiver + (receiver >= sender)


def _group(dice: Dice, shufflers: int) -> tuple[int, ...]:
    group = tuple(one for one in range(shufflers + 1) if dice.chance(40))
    return group or (dice.between(1, shufflers),)


def simpler(operation: Operation) -> list[Operation]:
    """The same fault with smaller numbers, the smallest first."""
    found = []
    for field in fields(operation):
        number = getattr(operation, field.name)
        if isinstance(number, bool) or not isinstance(number, int) or field.name in ("who", "sender", "receiver"):
            continue
        least = 0 if field.name in ("at", "after") else 1
        smaller = sorted({least, number // 2, number * 3 // 4, number - 1})
        found += [replace(operation, **{field.name: value}) for value in smaller if least <= value < number]
    return found
