"""Protocols that are wrong in one place each, to show that the test sees it. They exist in this folder only."""

from dataclasses import replace
from functools import cached_property

from peos.crypto.kdf import Context, StreamKey, derive
from peos.crypto.randomness import Randomness
from peos.shuffle import agreement
from peos.shuffle.attempt import Attempt
from peos.shuffle.effects import Effect, Pass, SendVector
from peos.shuffle.messages import Kind, Step
from peos.shuffle.schedule import Action, HandOver, Hide, Leave, Schedule
from tests.security.linear.forms import NOTHING, FormBench, Sealed


class Unmasked(Attempt):
    """Hiders permute, and do not mask."""

    def _masks(self, hide: Hide, secret: bytes) -> tuple[tuple[StreamKey, ...], tuple[StreamKey, ...]]:  # noqa: ARG002 - Attempt's signature
        return (), ()


class SplittingSchedule(Schedule):
    """A holder at the end of its tenure is a leaver like any other."""

    @cached_property
    def _leaves(self) -> tuple[tuple[int, Leave], ...]:
        found = []
        before = tuple(range(1, self.shufflers + 1))
        for number, hiders in enumerate(self.rounds, start=1):
            explicit = hiders[1]
            seeded = tuple(hider for hider in hiders if hider != explicit)
            found += [(who, Leave(number, seeded, explicit)) for who in before if who not in hiders]
            before = hiders
        return tuple(found)


class Splitting(Attempt):
    """A holder re-randomises the ciphertexts, adds nothing, and splits its accumulator among the next hiders."""

    def _pass(self, over: HandOver) -> list[Effect]:
        asked = super()._pass(over)
        return [replace(one, accumulator=NOTHING) if isinstance(one, Pass) and over.receiver else one for one in asked]

    def _passed(self, over: HandOver, root: bytes) -> list[Effect]:
        accumulator = self._vector
        effects = super()._passed(over, root)
        self._vector = accumulator
        return effects


class SharingSchedule(SplittingSchedule):
    """A holder at the end of its tenure sends seeds to all next hiders, and to nobody the remainder."""

    @cached_property
    def _leaves(self) -> tuple[tuple[int, Leave], ...]:
        carrying = {(handed.round + 1, holder) for holder, handed in self.passes if handed.receiver}
        return tuple(
            (who, Leave(leave.round, self.hiders(leave.round), 0) if (leave.round, who) in carrying else leave)
            for who, leave in super()._leaves
        )

    def script(self, who: int) -> tuple[Action, ...]:
        """Whoever adds the remainder to the ciphertexts splits before it passes them on."""
        actions = list(super().script(who))
        for at in range(1, len(actions)):
            before, action = actions[at - 1 : at + 1]
            if isinstance(before, HandOver) and isinstance(action, Leave) and not action.explicit:
                actions[at - 1 : at + 1] = [action, before]
        return tuple(actions)


class Sharing(Attempt):
    """A holder splits its accumulator too, but adds what remains of it to the ciphertexts: this one is right."""

    def _left(self, leave: Leave) -> list[Effect]:
        effects = super()._left(leave)
        if leave.explicit:
            return effects
        self._vector = self._name("part", leave.round)
        return [one for one in effects if not isinstance(one, SendVector)]


class Repeating(Attempt):
    """All that is random is drawn from a secret that every attempt starts afresh with."""

    def __init__(self, me: int, schedule: Schedule, context: Context, rng: Randomness) -> None:  # noqa: ARG002 - Attempt's signature
        super().__init__(me, schedule, context, Randomness(bytes((me,)) * 32))


class Reusing(Repeating):
    """The same, and the streams' labels leave the attempt out: masks and parts return, permutations are new."""

    def _masks(self, hide: Hide, secret: bytes) -> tuple[tuple[StreamKey, ...], tuple[StreamKey, ...]]:  # noqa: ARG002 - Attempt's signature
        assert self._round is not None, "masks belong to a round"
        step = Step(hide.round, Kind.REVEAL)
        contributions = {who: self._words[step, who] for who in hide.hiders if who != self._me}
        contributions[self._me] = self._round.contribution
        return super()._masks(hide, agreement.seed(self._unnumbered, hide.round, contributions))

    def _round_key(self, purpose: str, round_: int, secret: bytes, low: int = 0, high: int = 0) -> StreamKey:
        context = self._unnumbered if purpose == "mask" else self.context
        return derive(secret, purpose, context, round_=round_, sender=low, receiver=high)

    def _part(self, round_: int, leaver: int, hider: int, secret: bytes) -> StreamKey:
        return derive(secret, "part", self._unnumbered, round_=round_, sender=leaver, receiver=hider)

    @property
    def _unnumbered(self) -> Context:
        return Context(self.context.collection, self.context.frozen)


class WithoutCoins(FormBench):
    """Passes permute and mask, and leave the randomness of every ciphertext as it was."""

    def passed(self, task: Pass) -> Sealed:
        """Add to the plaintexts only."""
        return Sealed(super().passed(task).words, self.permuted(task).coins)


class PermutingOnly(FormBench):
    """Passes re-randomise and permute, and add nothing: the words come out wrong."""

    def passed(self, task: Pass) -> Sealed:
        """Add to the coins only."""
        return Sealed(self.permuted(task).words, super().passed(task).coins)
