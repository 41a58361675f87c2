"""Masks that recur in a second attempt, under another permutation, reveal both permutations.

Who: shuffler 3 of three, with the analyzer and every user but one. It takes no part in round 1, whose permutation is
to hide the victim from it. Afterwards shuffler 2 leaves, and sends it the vector
    R = x[π] − mask − stream,   x = what shuffler 2 held before the round,
of which users know their own rows (they chose their shares) and shuffler 3 the part that it added itself. The coalition
then lets the attempt time out. If mask and stream come again, R − R' = x[π] − x'[π'], and each row of that names a pair
of users.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from peos.crypto.kdf import Context, StreamKey, derive
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.paillier import PaillierPrivateKey
from peos.shuffle.attempt import Attempt
from peos.shuffle.effects import Event, ReceivedVector, Restarted, TimedOut
from peos.shuffle.machine import Shuffler
from peos.shuffle.messages import Kind, Step
from peos.simulate import Node
from tests.full import full
from tests.security.laid import Laid, WatchedNode, bench_of
from tests.security.verdict import of_rate

pytestmark = pytest.mark.full  # `make security` runs it too

ROWS = 200
RUNS = 12
CURIOUS, LEAVER = 3, 2
VICTIM = 0
LEFT = Step(2, Kind.PIECE)  # with which shuffler 2 leaves after round 1


class MaskReusing(Attempt):
    """Fresh permutations in each attempt; masks and parts from secrets that do not know the attempt."""

    def _round_key(self, purpose: str, round_: int, secret: bytes, low: int = 0, high: int = 0) -> StreamKey:
        if purpose == "mask":
            return derive(b"kept by the pair", purpose, self._timeless, round_=round_, sender=low, receiver=high)
        return super()._round_key(purpose, round_, secret, low, high)

    def _part(self, round_: int, leaver: int, hider: int, secret: bytes) -> StreamKey:
        if leaver == CURIOUS:
            # The coalition's own parts are always fresh: a row in the same place twice then names itself too.
            return super()._part(round_, leaver, hider, secret)
        return derive(b"kept by the pair", "part", self._timeless, round_=round_, sender=leaver, receiver=hider)

    @property
    def _timeless(self) -> Context:
        return Context(self.context.collection, self.context.frozen)


class MaskReusingShuffler(Shuffler):
    """One that runs such attempts."""

    attempt_type = MaskReusing


class ReusingNode(WatchedNode):
    """One whose shuffler does."""

    shuffler_type: type[Shuffler] = MaskReusingShuffler


class Interrupted(Laid):
    """Attempt 1 is lost as soon as the coalition has what it wants of it."""

    lost_by: tuple[int, Event] = (CURIOUS, TimedOut())
    received: dict[int, U64]

    def feed(self, node: Node, event: Event) -> None:
        """Give a machine an event; the coalition keeps what shuffler 2 sends it."""
        if not (isinstance(event, ReceivedVector) and node.number == CURIOUS and event.header.step == LEFT):
            return super().feed(node, event)
        attempt = event.header.context.attempt
        self.received[attempt] = bench_of(node).plain(event.vector).reshape(-1).copy()
        super().feed(node, event)
        if attempt == 1:
            who, loss = self.lost_by
            super().feed(self.nodes[who - 1], loss)
        return None


class Crashed(Interrupted):
    """Attempt 1 is lost because shuffler 1 restarts."""

    lost_by = (1, Restarted())


@dataclass(frozen=True, eq=False)
class View:
    """What the coalition has of both attempts; `truth` is the referee's, who was where after round 1 of the first."""

    received: tuple[U64, U64]
    own: tuple[U64, U64]  # the part that shuffler 3 added, of each row
    shares: U64  # shuffler 2's share of each row, the victim's zero
    truth: NDArray[np.intp]


def two_attempts(key: PaillierPrivateKey, kind: type[Interrupted], nodes: type[WatchedNode], run: int) -> View:
    """A collection of 200 rows whose first attempt is lost."""
    rng = Randomness(run.to_bytes(32, "big"))
    laid = kind(key, rng, nodes=nodes)
    laid.received = {}
    shares = laid.lay(rng.uint64((ROWS - len(laid.dummies), 1)))[LEAVER - 1].reshape(-1).copy()
    shares[VICTIM] = 0
    laid.shuffle()
    assert {part.context.attempt for part in laid.delivered.values()} == {2}
    laid.assert_conserved()
    sent = laid.watched(CURIOUS).left
    return View(
        (laid.received[1], laid.received[2]),
        (sent["1/part/1"].reshape(-1), sent["2/part/1"].reshape(-1)),
        shares,
        laid.watched(LEAVER).mixed["1/round/1"],
    )


def link(view: View) -> tuple[NDArray[np.int64], set[int]]:
    """Which row stands where after round 1 of attempt 1 (−1 unknown), and the places where the victim may be.

    The victim's row is part of two differences, of which one is at her place in each attempt; two places are left.
    """
    known = np.array([row for row in range(ROWS) if row != VICTIM])
    first, second = (view.shares + own for own in view.own)
    table = first[known][:, np.newaxis] - second[known]
    pairs = dict(zip(table.reshape(-1).tolist(), itertools.product(known.tolist(), repeat=2), strict=True))
    found = [pairs.get(difference, (-1, -1)) for difference in (view.received[0] - view.received[1]).tolist()]
    rows = np.array([a for a, _ in found])
    return rows, set(np.flatnonzero(rows < 0).tolist())


def attack(key: PaillierPrivateKey, kind: type[Interrupted], nodes: type[WatchedNode]) -> tuple[int, int]:
    """(rows linked, victims narrowed down to two places) over all runs."""
    linked = victims = 0
    for run in range(RUNS):
        view = two_attempts(key, kind, nodes, run)
        rows, places = link(view)
        linked += int(np.sum(rows == view.truth))
        victims += len(places) <= 2 and {place for place in places if view.truth[place] == VICTIM} != set()
    return linked, victims


@pytest.mark.parametrize("kind", [Interrupted, full(Crashed)])
def test_a_lost_attempt_reveals_nothing_of_its_permutation(key: PaillierPrivateKey, kind: type[Interrupted]) -> None:
    linked, victims = attack(key, kind, WatchedNode)
    of_rate("a second attempt, all fresh", linked, ROWS * RUNS, "rows linked").assert_fails()
    assert victims == 0


@pytest.mark.full
@pytest.mark.parametrize("kind", [Interrupted, full(Crashed)])
def test_masks_used_again_under_a_new_permutation_link_the_rows_and_leave_two_places_for_the_victim(
    key: PaillierPrivateKey, kind: type[Interrupted]
) -> None:
    linked, victims = attack(key, kind, ReusingNode)
    of_rate("masks used again", linked, ROWS * RUNS, "rows linked").assert_succeeds()
    of_rate("masks used again", victims, RUNS, "victims narrowed down to 2 places of 200").assert_succeeds()
