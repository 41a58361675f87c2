"""The analyzer's own reports, sent one by one as users send theirs: kept first, then the same bytes until they are in.

Each goes over connections of its own, after a look at the document as a client takes it, through a proxy where the
configuration names some, and by the ports for browsers where users come by these. Blocking: called from threads.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Final, NamedTuple

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
from peos.net.retry import ONCE, Retry, is_final, retrying_blocking
from peos.net.submit import Outcome, describe, send_parts
from peos.net.tunnel import Proxy, Tunnel
from peos.net.web_submit import Site, submit_by_web
from peos.wire.submissions import encode_part

PATIENCE: Final = 60.0  # seconds for one dummy; one that is not in by then is sent again later
_AGAIN: Final = Retry(ceiling=1.0, final=lambda error: is_final(error) and not isinstance(error, RemoteFault))


class Look(NamedTuple):
    """What one look at the shufflers' counts says: the dummies, by number, to be sent now, and when to look again."""

    due: list[int]
    pause: float  # seconds
    is_full: bool  # no dummy is left for further users


class Dummies:
    """Those of all collections of one analyzer."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._looked: dict[bytes, tuple[float, int]] = {}  # when last, and how many users had answered
        self._each: dict[bytes, float] = {}  # seconds from one user to the next
        self._begun: dict[bytes, int] = {}  # which was sent last: until all have acknowledged it, some hold it

    def keep(self, kept: CollectionRow) -> None:
        """Make the dummies' parts, once: what is kept is what is sent."""
        if kept.parts is None:
            self._workspace.store.put_parts(kept.digest, self._workspace.seal_parts(kept, self._prepared(kept)))

    def look(self, kept: CollectionRow, said: Iterable[Answer], now: float) -> Look:
        """What is due, now that the shufflers said how many reports they hold."""
        here = self.answered(kept, said)
        since, before = self._looked.get(kept.digest, (now, here))
        came, within = here - before, now - since
        open_for = now - (kept.opened_at or kept.since)
        self._looked[kept.digest] = now, here
        self._each[kept.digest] = within / came if came > 1 else open_for / max(1, here)
        spread = self._spread(kept)
        return Look(self.due(kept, here), spread.pause(came=came, within=within), here >= spread.full)

    def due(self, kept: CollectionRow, answered: int) -> list[int]:
        """The dummies, by number, that are to be sent once so many users have answered; one that was begun, first."""
        taken, begun = self._taken(kept), self._begun.get(kept.digest)
        due = self._spread(kept).due(self._salts(kept), taken, answered=answered)
        return due if begun is None or begun in taken else [begun, *(number for number in due if number != begun)]

    def answered(self, kept: CollectionRow, said: Iterable[Answer]) -> int:
        """How many users have answered, by what the shufflers say; a dummy that some of them hold is no user."""
        reports = [one.reports if isinstance(one, Status) else 0 for one in said]
        begun = {self._begun[kept.digest]} if kept.digest in self._begun else frozenset()
        return answered(reports, len(self._taken(kept) | begun))

    def send(self, kept: CollectionRow, number: int) -> None:
        """Send one, and note it once every shuffler has acknowledged it; PeosError names whom it waits for."""
        kept = self._workspace.store.get(kept.digest)
        assert kept.parts is not None, "they are kept before the collection is open"
        self._begun[kept.digest] = number
        parts = self._workspace.open_parts(kept, kept.parts)[number]
        by_web = self._workspace.config.dummies_by_web
        if by_web and by_web.takes(self._salts(kept)[number]):
            outcome = self._by_web(kept, by_web.site, parts, self._reading(kept, by_web.reading))
        else:
            outcome = self._by_grpc(kept, parts)
        _require_accepted(outcome)
        self._workspace.store.dummy_taken(kept.digest, number, sum(len(encode_part(part)) for part in parts))

    def _by_grpc(self, kept: CollectionRow, parts: tuple[Part, ...]) -> Outcome:
        """As `peos client` sends."""
        with ExitStack() as stack:
            cards = self._reached(kept, stack)
            for card in cards:  # as every client does before it sends
                describe(card, kept.digest, again=ONCE)
            (outcome,) = send_parts(cards, [parts], rng=self._workspace.rng, deadline=PATIENCE)
        return outcome

    def _by_web(self, kept: CollectionRow, site: Site, parts: tuple[Part, ...], reading: float) -> Outcome:
        """As the client of a page sends."""
        cards, rng = self._workspace.proposal(kept).cards[:-1], self._workspace.rng
        return submit_by_web(site, cards, parts, seconds=PATIENCE, rng=rng, proxy=self._proxy(), reading=reading)

    def _reading(self, kept: CollectionRow, typical: float) -> float:
        """How long the page is looked at; not at all before an early freeze, which no look came before."""
        each = self._each.get(kept.digest, 0.0)
        return self._spread(kept).reading(typical, each=each, rng=self._workspace.rng)

    def send_all(self, kept: CollectionRow, due: Sequence[int], tell: Callable[[str], None]) -> None:
        """Send these, one after another."""
        give_up_at = time.monotonic() + PATIENCE
        for done, number in enumerate(due):
            tell(f"submitting the dummies that are due: {done} of {len(due)}")
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
        return Spread(kept.expected, self._workspace.signed(kept).document.minimum)

    def _salts(self, kept: CollectionRow) -> list[bytes]:
        return [dummy.salt for dummy in self._workspace.dummies(kept)]

    def _taken(self, kept: CollectionRow) -> frozenset[int]:
        return self._workspace.store.dummies_taken(kept.digest)

    def _reached(self, kept: CollectionRow, stack: ExitStack) -> tuple[Card, ...]:
        """The shufflers' cards; where there are proxies, with addresses that lead through one of them."""
        cards = self._workspace.proposal(kept).cards[:-1]
        if (proxy := self._proxy()) is None:
            return cards
        ways = [stack.enter_context(Tunnel(proxy, card.user_address)) for card in cards]
        return tuple(replace(card, user_address=way.address) for card, way in zip(cards, ways, strict=True))

    def _proxy(self) -> Proxy | None:
        """One of those that the configuration names, if it names some."""
        proxies = self._workspace.config.dummies_through
        return proxies[self._workspace.rng.integer_below(len(proxies))] if proxies else None

    def _prepared(self, kept: CollectionRow) -> list[tuple[Part, ...]]:
        workspace = self._workspace
        document = workspace.signed(kept).document
        encryption = document.encryption(floor=workspace.floor)
        dummies = workspace.dummies(kept)
        tickets = [
            issue(workspace.keys.enrolment, document.scope(kept.digest), dummy.id, Identity.generate(workspace.rng))
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
