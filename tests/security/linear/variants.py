"""Protocols that are wrong in one place each, to show that the test sees it. They exist in this folder only."""

from dataclasses import replace
from functools import cached_property

from peos.crypto.kdf import Context, StreamKey, derive
from peos.crypto.randomness import Randomness
from peos.shuffle import agreement
from peos.shuffle.attempt import Attempt
from peos.shuffle.effects import Effect, Pass
from peos.shuffle.messages import Kind, Step
from peos.shuffle.schedule import HandOver, Hide, Leave, Schedule
from tests.security.linear.forms import NOTHING, FormBench, Sealed


class Unmasked(Attempt):
    """Hiders permute, and do not mask."""

    def _masks(self, hide: Hide, secret: bytes) -> tuple[tuple[StreamKey, ...], tuple[StreamKey, ...]]:  # noqa: ARG002 - Attempt's signature
        return (), ()


class FoldingSchedule(Schedule):
    """A holder at the end of its tenure adds its whole accumulator to the ciphertexts, and sends no seed.

    The next holder then starts from zero, and so may a last hider end up with nothing but what others know.
    """

    @cached_property
    def leaves(self) -> tuple[tuple[int, Leave], ...]:
        """Only those who send a remainder leave."""
        return tuple((who, leave) for who, leave in super().leaves if leave.explicit)


class SplittingSchedule(Schedule):
    """A holder at the end of its tenure is a leaver like any other."""

    @cached_property
    def leaves(self) -> tuple[tuple[int, Leave], ...]:
        """Everybody's remainder travels, to the lowest hider that is not the holder."""
        return tuple((who, _with_remainder(leave, self.hiders(leave.round)[1])) for who, leave in super().leaves)


def _with_remainder(leave: Leave, explicit: int) -> Leave:
    return replace(leave, seeded=tuple(hider for hider in leave.seeded if hider != explicit), explicit=explicit)


class Splitting(Attempt):
    """A holder re-randomises the ciphertexts and adds nothing: its accumulator has gone to the next hiders."""

    def _pass(self, over: HandOver) -> list[Effect]:
        if over.receiver:
            self._vector = NOTHING
        return super()._pass(over)


class Repeating(Attempt):
    """All that is random is drawn from a secret that every attempt starts afresh with."""

    def __init__(self, me: int, schedule: Schedule, context: Context, rng: Randomness) -> None:  # noqa: ARG002 - Attempt's signature
        super().__init__(me, schedule, context, Randomness(bytes((me,)) * 32))


class Reusing(Repeating):
    """The same, and the streams' labels leave the attempt out: masks and parts return, permutations are new."""

    def _masks(self, hide: Hide, secret: bytes) -> tuple[tuple[StreamKey, ...], tuple[StreamKey, ...]]:  # noqa: ARG002 - Attempt's signature
        assert self._round is not None, "masks belong to a round"
        step = Step(hide.round, Kind.REVEAL)
        contributions = {who: self._statements[step, who] for who in hide.hiders if who != self._me}
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
