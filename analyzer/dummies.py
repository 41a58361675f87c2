"""The analyzer's own reports, sent one by one as users send theirs: kept first, then the same bytes until they are in.

Each goes over connections of its own, after a look at the document as a client takes it, through a proxy where the
configuration names some. Blocking: called from threads.
"""

import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

import numpy as np

from analyzer.store import CollectionRow
from analyzer.workspace import Workspace
from peos.collection.analysis import Answer
from peos.collection.cards import Card
from peos.collection.dummies import Spread, answered
from peos.collection.prepare import prepare
from peos.collection.replies import Status
from peos.collection.submission import Part
from peos.collection.ticket import issue
from peos.crypto.identity import Identity
from peos.errors import PeosError, RemoteFault
from peos.net.retry import Retry, is_final, retrying_blocking
from peos.net.submit import Outcome, describe, send_parts
from peos.net.tunnel import Tunnel
from peos.wire.submissions import encode_part

PATIENCE: Final = 60.0  # seconds for one dummy; one that is not in by then is sent again later
_AGAIN: Final = Retry(ceiling=1.0, final=lambda error: is_final(error) and not isinstance(error, RemoteFault))


class Dummies:
    """Those of all collections of one analyzer."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def keep(self, kept: CollectionRow) -> None:
        """Make the dummies' parts, once: what is kept is what is sent."""
        if kept.parts is None:
            self._workspace.store.put_parts(kept.digest, self._workspace.seal_parts(kept, self._prepared(kept)))

    def left(self, kept: CollectionRow) -> list[int]:
        """The dummies, by number, that not every shuffler has acknowledged."""
        taken = self._workspace.store.dummies_taken(kept.digest)
        return [number for number in range(len(self._workspace.signed(kept).document.dummies)) if number not in taken]

    def due(self, kept: CollectionRow, said: Iterable[Answer], now: float) -> list[int]:
        """Those of them that are to be in by now."""
        salts = [dummy.salt for dummy in self._workspace.dummies(kept)]
        due = self._spread(kept).due(salts, now=now, answered=self._answered(kept, said))
        return [number for number in self.left(kept) if number in due]

    def send(self, kept: CollectionRow, number: int) -> None:
        """Send one, and note it once every shuffler has acknowledged it; PeosError names whom it waits for."""
        kept = self._workspace.store.get(kept.digest)
        assert kept.parts is not None, "they are kept before the collection is open"
        parts = self._workspace.open_parts(kept, kept.parts)[number]
        with ExitStack() as stack:
            cards = self._reached(kept, stack)
            for card in cards:  # as every client does before it sends
                describe(card, kept.digest)
            (outcome,) = send_parts(cards, [parts], rng=self._workspace.rng, deadline=PATIENCE)
        _require_accepted(outcome)
        self._workspace.store.dummy_taken(kept.digest, number, sum(len(encode_part(part)) for part in parts))

    def send_rest(self, kept: CollectionRow, said: Iterable[Answer], tell: Callable[[str], None]) -> None:
        """Before an early freeze: those that are due at once, the others at the pace at which users came."""
        said, now = list(said), time.time()
        due = self.due(kept, said, now)
        later = [number for number in self.left(kept) if number not in due]
        arrived = self._answered(kept, said)
        pauses = self._spread(kept).pauses(len(later), now=now, answered=arrived, rng=self._workspace.rng)
        left = [*due, *later]
        give_up_at = time.monotonic() + PATIENCE
        for done, (number, pause) in enumerate(zip(left, [0.0] * len(due) + pauses, strict=True)):
            tell(f"submitting the last dummies, at the users' pace: {done} of {len(left)}")
            time.sleep(pause)
            give_up_at = self._persistently(kept, number, give_up_at, tell)

    def _persistently(self, kept: CollectionRow, number: int, give_up_at: float, tell: Callable[[str], None]) -> float:
        """Send one, again and again while that may help and none went through for less than `PATIENCE`."""
        retrying_blocking(
            lambda: self.send(kept, number),
            replace(_AGAIN, seconds=give_up_at - time.monotonic()),
            rng=self._workspace.rng,
            on_failure=lambda error, _: tell(str(error)),
        )
        return time.monotonic() + PATIENCE

    def _spread(self, kept: CollectionRow) -> Spread:
        closes_at = self._workspace.signed(kept).document.closes_at
        return Spread(kept.opened_at or kept.since, closes_at, kept.expected)

    def _answered(self, kept: CollectionRow, said: Iterable[Answer]) -> int:
        reports = [one.reports if isinstance(one, Status) else 0 for one in said]
        return answered(reports, len(self._workspace.store.dummies_taken(kept.digest)))

    def _reached(self, kept: CollectionRow, stack: ExitStack) -> tuple[Card, ...]:
        """The shufflers' cards; where there are proxies, with addresses that lead through one of them."""
        cards = self._workspace.proposal(kept).cards[:-1]
        proxies = self._workspace.config.dummies_through
        if not proxies:
            return cards
        proxy = proxies[self._workspace.rng.integer_below(len(proxies))]
        ways = [stack.enter_context(Tunnel(proxy, card.user_address)) for card in cards]
        return tuple(replace(card, user_address=way.address) for card, way in zip(cards, ways, strict=True))

    def _prepared(self, kept: CollectionRow) -> list[tuple[Part, ...]]:
        workspace = self._workspace
        document = workspace.signed(kept).document
        encryption = document.encryption(floor=workspace.floor)
        dummies = workspace.dummies(kept)
        tickets = [
            issue(workspace.keys.enrolment, kept.digest, dummy.id, Identity.generate(workspace.rng))
            for dummy in dummies
        ]
        words = np.stack([dummy.words for dummy in dummies])
        return prepare(kept.digest, encryption.splitter(workspace.rng, len(dummies)), words, tickets, workspace.rng)


def _require_accepted(outcome: Outcome) -> None:
    if not outcome.accepted:
        first = outcome.refusals[0]
        raise PeosError(
            "dummies.not_accepted",
            f"a dummy was not accepted: {first}",
            hint=first.hint or "it is sent again; with fewer than half of the dummies nothing is published",
        )
