"""What must hold of a whole collection, besides the rules of the shuffle: checked as things happen."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from peos.collection.lifecycle import State, advance
from peos.errors import LocalFault
from peos.shuffle.delivery_state import Phase
from tests.simulation.watch import Watch, broken

if TYPE_CHECKING:
    from tests.simulation.messages import Life

MINIMUM_ROWS = 3  # two reports and the dummy


@dataclass
class WholeWatch(Watch):
    """One run's record, with what came before the shuffle and what follows it."""

    states: dict[int, State] = field(default_factory=dict)
    held: dict[int, dict[bytes, bytes]] = field(default_factory=dict)  # what each shuffler has acknowledged
    frozen: dict[int, tuple[bytes, tuple[bytes, ...]]] = field(default_factory=dict)
    announced: dict[int, tuple[bytes, ...]] = field(default_factory=dict)
    made: dict[int, bytes] = field(default_factory=dict)  # by user
    concluded: State = State.OPEN
    _acknowledged: dict[bytes, set[int]] = field(default_factory=lambda: defaultdict(set))

    # Users.

    def makes(self, user: int, row: bytes) -> None:
        """A user's client has made a submission."""
        if self.made.setdefault(user, row) != row:
            broken("one answer a user", f"user {user} answers again")

    def acknowledges(self, who: int, row: bytes, rows: dict[bytes, bytes]) -> None:
        """A shuffler says that a row is durable."""
        if row not in rows.values():
            broken("what is said is durable", f"shuffler {who} acknowledges what it does not have")
        self.promises(who, row)

    def promises(self, who: int, row: bytes) -> None:
        """A shuffler has said that a row is durable."""
        if who not in self.announced:
            self._acknowledged[row].add(who)

    # The life of a collection.

    def moves(self, who: int, here: State, there: State, kept: "Life") -> None:
        """A state is becoming durable."""
        try:
            advance("shuffler", here, there)
        except LocalFault as fault:
            broken("states follow the life-cycle", f"shuffler {who}: {fault}")
        if there is State.ABORTED and kept.delivery_state.phase is Phase.DONE:
            broken("what was delivered is not aborted", f"shuffler {who}")
        if (
            there is State.ABORTED
            and kept.frozen
            and kept.delivery_state.phase in (Phase.FREE, Phase.STORED, Phase.SENDING)
        ):
            broken("an end is durable in the delivery state first", f"shuffler {who} is {kept.delivery_state.phase}")
        if there in (State.DELIVERED, State.PUBLISHED) and kept.delivery_state.phase is not Phase.DONE:
            broken("done means received", f"shuffler {who}")
        if there is State.PUBLISHED and (kept.shares is not None or kept.vector is not None or kept.evidence):
            broken("published is erased", f"shuffler {who}")
        self.reached[f"{here} to {there}"] += 1
        self.states[who] = there

    def goes_on(self, who: int, ordered: bool) -> None:
        """A shuffler begins or goes on with a freeze."""
        if ordered:
            broken("an order to abort is carried out", f"shuffler {who} freezes")

    def announces(self, who: int, rows: tuple[bytes, ...]) -> None:
        """A shuffler signs its list."""
        if self.announced.setdefault(who, rows) != rows:
            broken("one list is announced", f"shuffler {who} announces another")
        for row, holders in self._acknowledged.items():
            if who in holders and row not in rows:
                broken("what is acknowledged is kept", f"shuffler {who} has lost a row")

    def freezes(self, who: int, digest: bytes, rows: tuple[bytes, ...]) -> None:
        """A list that counts is becoming durable."""
        self.reached["frozen"] += 1
        if self.frozen.setdefault(who, (digest, rows)) != (digest, rows):
            broken("one list is frozen", f"shuffler {who} freezes another")
        if len({found for found, _ in self.frozen.values()}) > 1:
            broken("one list is frozen", f"shuffler {who} freezes another than the others")
        if len(rows) < MINIMUM_ROWS:
            broken("too few are not shuffled", f"shuffler {who} freezes {len(rows)} rows")
        everybody = set(range(1, self.schedule.shufflers + 1))
        if any(holders == everybody and row not in rows for row, holders in self._acknowledged.items()):
            broken("a report that all acknowledged counts", f"shuffler {who} leaves one out")
        if any(row not in listed for listed in self.announced.values() for row in rows):
            broken("what counts is in every list", f"shuffler {who}")

    def erases_at(self, who: int, state: State) -> None:
        """Shares and vectors are forgotten."""
        if state not in (State.DELIVERED, State.PUBLISHED, State.ABORTED):
            broken("nothing is erased before the end", f"shuffler {who} is {state}")

    # The analyzer.

    def publishes(self, unseen: set[int], accepted: set[int]) -> None:
        """The analyzer is about to publish."""
        if unseen - accepted:
            broken("what was not seen is published at the analyst's word alone", f"without {sorted(unseen - accepted)}")

    def concludes(self, here: State, there: State, *, excused: bool) -> None:
        """The analyzer's state is becoming durable."""
        if there is State.ABORTED and not excused and len(self.taken) < len(self.schedule.last):
            last = [who for who in self.schedule.last if who not in self.taken]
            gone = any(self.states.get(who) is State.ABORTED for who in last)
            if not gone:
                broken("the analyzer gives up only what is lost", f"from {here}")
        if there is State.PUBLISHED and not self.output():
            broken("done means received", "the analyzer")
        self.reached[f"the analyzer is {there}"] += 1
        self.concluded = there
