"""Whole collections in one deterministic loop: submissions, freeze, shuffle, delivery, inspection, abort, erasure.

    outcome = Whole(whole_trial(7)).run()

The machines of `peos.collection.session` and `peos.collection.analysis`, the freeze, the rules of the user's client and
the shuffle run as they are; processes, network, stores and clocks are made up, and are struck as in `world`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from peos.collection.document import Member as Named
from peos.collection.freeze import FrozenDigest, sign_frozen
from peos.collection.lifecycle import OVER, State
from peos.crypto import sharing
from peos.crypto.identity import Identity
from peos.crypto.kdf import Context
from peos.shuffle.delivery_state import Phase
from peos.shuffle.schedule import Schedule
from peos.shuffle.vectors import Vector
from tests.simulation.member import Member
from tests.simulation.messages import Life
from tests.simulation.office import Office, User
from tests.simulation.operations import ANALYZER, Again, Faulty, Gone, Hurried, KillUser, Operation, Order, Trial
from tests.simulation.party import TICK, Durable, Party
from tests.simulation.watch import ENDS, Violation, broken
from tests.simulation.whole_watch import WholeWatch
from tests.simulation.world import USERS, Outcome, World

CLOSES: Final = 20
MINIMUM: Final = 2
DUMMIES: Final = 1  # one of the users' reports is the analyzer's
FIRST_USER: Final = 100
COLLECTION: Final = b"c" * 32
KEYS: Final = tuple(Identity(bytes([number]) * 32) for number in range(1, 10))


@dataclass(frozen=True)
class Terms:
    """What the machines read of a collection document."""

    schedule: Schedule
    closes_at: int
    shuffle_by: int
    erase_by: int
    minimum: int = MINIMUM
    fakes: int = 0
    dummies: tuple[int, ...] = tuple(range(DUMMIES))

    @property
    def shufflers(self) -> tuple[Named, ...]:
        """By name."""
        return tuple(Named(f"org-{number}", bytes(32), bytes(32)) for number in range(1, self.schedule.shufflers + 1))


@dataclass(frozen=True)
class Kinds:
    """Who deviates, everywhere at once."""

    member: type[Member] = Member
    user: type[User] = User
    office: type[Office] = Office


class Whole(World):
    """One trial of a whole collection."""

    watch_type = WholeWatch
    watch: WholeWatch
    parties: Mapping[int, Member]  # type: ignore[assignment]  # each has what a world asks of a party

    def __init__(self, trial: Trial, *, kinds: Kinds | None = None, say: Callable[[str], None] | None = None) -> None:
        self._kinds = kinds or Kinds()
        self.collection = COLLECTION
        self.keys = dict(enumerate(KEYS, start=1))
        self.terms = Terms(Schedule(trial.shufflers), CLOSES, trial.shuffle_by, trial.erase_by)
        self._aborts = any(isinstance(one, Order) and one.abort for one in trial.operations)
        super().__init__(trial, kinds={}, say=say)
        self.calm = max(self.calm, CLOSES)
        self.office = self._kinds.office(self)
        self.users = {FIRST_USER + one: self._kinds.user(FIRST_USER + one, self) for one in range(USERS)}

    def frozen(self) -> tuple[dict[int, Durable], None]:
        """No party has anything yet; what the reports are is known here."""
        shuffled, _ = super().frozen()
        self._shuffled = shuffled
        return {who: Life() for who in shuffled}, None

    def _party(self, who: int, durable: Durable) -> Party:
        assert isinstance(durable, Life), "of a whole world"
        return self._kinds.member(who, self, durable)  # type: ignore[return-value]  # it has what a world asks of one

    @cached_property
    def identities(self) -> tuple[bytes, ...]:
        """The shufflers' keys."""
        return tuple(key.public for key in KEYS[: self.trial.shufflers])

    @property
    def horizon(self) -> int:
        """When everybody must have ended."""
        return super().horizon + 2 * CLOSES

    @property
    def bound(self) -> int:
        """How long after the last fault a collection may take: with the freeze and the inspection."""
        return super().bound + 120

    # What members and users ask of their world.

    def others(self, who: int) -> list[int]:
        """All other shufflers."""
        return [one for one in self.parties if one != who]

    def place(self, user: int) -> int:
        """Where a user's share stands among those that are prepared."""
        return user - FIRST_USER

    def sign_frozen(self, who: int, digest: bytes) -> FrozenDigest:
        """A shuffler's signature under what it froze."""
        return sign_frozen(self.keys[who], self.collection, digest)

    def froze(self, who: int, durable: Life) -> None:
        """A list was frozen: the shares that count are those of its rows."""
        assert durable.frozen is not None, "it was frozen"
        self.context = self.watch.context = Context(self.collection, durable.frozen)
        mine = self._shuffled[who]
        if not self.trial.vectors or mine.shares is None:
            return
        order = np.array([durable.parts[row] for row in durable.counted], dtype=np.int64)
        shares: Vector = mine.shares[order]
        durable.shares, durable.fake_seed = shares, mine.fake_seed
        self.watch.expected = np.concatenate((self._reports[order], self._fake_words))

    @cached_property
    def _reports(self) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
        expected = World.frozen(self)[1]
        assert expected is not None, "rows are computed"
        return expected[:USERS]

    @cached_property
    def _fake_words(self) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
        """The fakes, which depend on the frozen list."""
        shares = [Party.shares_of_fakes(self, mine.fake_seed) for mine in self._shuffled.values()]
        return sharing.combine(shares).reshape(-1)

    def is_settled(self, who: int) -> bool:
        """Whether no order has anything left to change there."""
        return self.parties[who].durable.state in (State.DELIVERED, *OVER)

    # The loop.

    def is_over(self) -> bool:
        """Whether everyone that is not gone has ended, the analyzer too."""
        ended = all(one.gone or (one.durable.state in OVER and one.is_cleared) for one in self.parties.values())
        return ended and self.office.state in OVER and not self.office.vectors

    def verdict(self) -> None:
        """Published, or ended for a reason and erased: within bounded time, whatever happened."""
        left = [(who, one.told()) for who, one in self.parties.items() if not one.gone]
        open_ = [told for who, told in left if self.parties[who].durable.state not in OVER]
        if open_ or self.office.state not in OVER:
            broken("everybody ends", f"{self.now - self.calm} ticks after the last fault {open_}, {self.office.state}")
        if self._must_deliver and (self.office.state is not State.PUBLISHED or not self.watch.output()):
            broken("what can be delivered is delivered", f"{left}, the analyzer {self.office.reason}")
        for who, one in self.parties.items():
            kept = one.durable
            if one.gone:
                continue
            if kept.state is State.ABORTED and not kept.why:
                broken("an end has its reason", f"shuffler {who} is {one.told()}")
            if not one.is_cleared:
                broken("an end erases", f"shuffler {who} still has vectors, the seed of the fakes, or evidence")
            if kept.state is State.PUBLISHED and not self.watch.output():
                broken("done means received", f"shuffler {who}")
            if kept.state is State.ABORTED and kept.frozen and kept.delivery_state.phase not in ENDS:
                broken("an end is durable in the delivery state too", f"shuffler {who} is {one.told()}")
        if self.office.vectors:
            broken("an end erases", "the analyzer still has vectors")

    @property
    def _must_deliver(self) -> bool:
        """Whether nothing excuses an abort: enough reports are with all shufflers, and no party ended it or is gone."""
        if self._aborts or not self.trial.must_deliver or any(one.gone for one in self.parties.values()):
            return False
        held = [set(one.durable.rows.values()) for one in self.parties.values()]
        return len(set.intersection(*held)) - DUMMIES >= MINIMUM

    def _place(self, who: int) -> Phase:
        return self.parties[who].durable.delivery_state.phase

    def _arrive(self, sender: int, receiver: int, what: object) -> None:
        if receiver == ANALYZER:
            self.office.hear(sender, what)
        elif receiver in self.users:
            self.users[receiver].hear(sender, what)
        else:
            self.parties[receiver].hear(sender, what)

    def _apply(self, operation: Operation) -> None:
        match operation:
            case Faulty(who=who):
                self.note(None, f"{operation}")
                self.parties[who].fail(operation)
            case Order(abort=abort):
                self.note(None, f"{operation}")
                self.office.order(abort=abort)
            case KillUser(who=who, down=down):
                self.users[FIRST_USER + who - 1].kill(down)
            case Again(who=who):
                self.users[FIRST_USER + who - 1].answer(b"another ticket".ljust(16))
            case Gone() | Hurried() if self.now < CLOSES:
                self.note(None, f"{operation}")
                if isinstance(operation, Gone):
                    self.parties[operation.who].kill(None, "for good")
            case _:
                super()._apply(operation)


def examined(trial: Trial, kinds: Kinds | None = None) -> tuple[Violation | None, Whole]:
    """The rule that a trial breaks, if it breaks one, and the world in which it happened."""
    world = Whole(trial, kinds=kinds)
    try:
        world.run()
    except Violation as violation:
        return violation, world
    except Exception as error:
        return Violation("nothing breaks down", f"{type(error).__name__}: {error}"), world
    return None, world


def failure(trial: Trial, kinds: Kinds | None = None) -> Violation | None:
    """The same without the world."""
    return examined(trial, kinds)[0]


__all__ = ["CLOSES", "TICK", "Kinds", "Outcome", "Whole", "examined", "failure"]
