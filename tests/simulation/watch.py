"""What must hold of every run: the rules, each with its name, checked as things happen and at the end.

The watch sees the truth: what is durable where, everything that was signed, sent or computed. It knows the rules of
protocol.md §3 to §6 and nothing of how the machines keep them.

Not failures, and never reported: an attempt that was left although it could have been finished; a collection that was
aborted because a party was gone, or a deadline came; a tombstone at the deadline although all had stored; a
passer-by's tombstone beside a delivery; a last hider that gives up at `erase_by` although the analyzer has all; a
tombstone that is durable but was not signed, because the process was killed between the two.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import NoReturn

from peos.crypto.kdf import Context, StreamKey
from peos.crypto.randomness import U64
from peos.shuffle.combine import FinalVector, add_up
from peos.shuffle.delivery_state import DeliveryState, Phase
from peos.shuffle.effects import Deadline, Event, Expired, Heard, Mix, Pass, Split, Task
from peos.shuffle.messages import Header, Kind, Notice, NoticeKind, Statement
from peos.shuffle.schedule import Schedule
from peos.shuffle.vectors import Vector
from tests.security.linear.glass import plain_words

ENDS = (Phase.DONE, Phase.DEAD, Phase.ABORTED)
Stored = tuple[int, bytes]  # an attempt and its transcript


class Violation(Exception):
    """A rule was broken. `rule` names it; shrinking keeps to it."""

    def __init__(self, rule: str, what: str) -> None:
        super().__init__(f"{rule}: {what}")
        self.rule = rule


def broken(rule: str, what: str) -> NoReturn:
    """Stop the run."""
    raise Violation(rule, what)


@dataclass
class Watch:
    """One run's record. `expected` are the frozen words and the fakes, as they were when the shuffle began."""

    schedule: Schedule
    context: Context
    expected: U64 | None
    durable: dict[int, DeliveryState] = field(default_factory=dict)
    signed: dict[int, set[Notice]] = field(default_factory=lambda: defaultdict(set))
    stored: dict[Stored, dict[int, Vector | None]] = field(default_factory=lambda: defaultdict(dict))
    sent: dict[int, Stored] = field(default_factory=dict)
    taken: dict[int, tuple[Stored, Vector | None]] = field(default_factory=dict)  # by the analyzer
    entered: int = 0  # the highest attempt that anybody entered
    reached: Counter[str] = field(default_factory=Counter)  # what happened, to show that much does
    _bodies: dict[Header, bytes] = field(default_factory=dict)
    _vectors: dict[Header, bytes] = field(default_factory=dict)
    _secrets: dict[bytes, Header] = field(default_factory=dict)
    _keys: dict[bytes, tuple[object, ...]] = field(default_factory=dict)
    _uses: set[tuple[int, type, bytes]] = field(default_factory=set)

    # What becomes durable.

    def persisted(self, who: int, delivery_state: DeliveryState, vector: Vector | None, cause: Event) -> None:
        """A delivery state is becoming durable because of `cause`."""
        before = self.durable.get(who, DeliveryState())
        self._check_step(who, before, delivery_state, cause)
        self.reached[f"{before.phase.value} to {delivery_state.phase.value}"] += 1
        self.durable[who] = delivery_state
        self.entered = max(self.entered, delivery_state.attempt)
        if delivery_state.phase is Phase.STORED and before.phase is not Phase.STORED:
            self._store(who, (delivery_state.attempt, delivery_state.transcript), vector)

    def _check_step(self, who: int, before: DeliveryState, after: DeliveryState, cause: Event) -> None:
        what = f"shuffler {who} from {words(before)} to {words(after)}"
        if after.attempt < before.attempt or after.left < before.left:
            broken("attempts only grow", what)
        for other, (attempt, _) in self.sent.items():
            if after.running and after.attempt > attempt:
                broken("nothing is opened after a delivery", f"{what}, and shuffler {other} may have sent {attempt}")
        if before.phase in ENDS and after != before:
            broken("an end is final", what)
        if before.phase is Phase.SENDING and after.phase not in (Phase.SENDING, Phase.DONE, Phase.ABORTED):
            broken("sending is for good", what)
        if after.phase is Phase.ABORTED and before.phase not in (Phase.SENDING, Phase.ABORTED):
            broken("who never delivered dies, and signs it", what)
        if before.phase is Phase.STORED and after.phase is Phase.FREE and not self._is_lost(who, before):
            broken("stored is left only for a reason", f"{what}: nobody had lost attempt {before.attempt}")
        if after.phase is Phase.DEAD and before.phase is not Phase.DEAD:
            dying = isinstance(cause, Deadline | Expired)
            dying |= isinstance(cause, Heard) and cause.notice in self.signed[cause.notice.sender]
            if not dying:
                broken("nobody dies without a reason", f"{what}, on {type(cause).__name__}")
        if after.phase is Phase.DONE and not self.output():
            broken("done means received", f"{what}: the analyzer has no output")

    def _is_lost(self, who: int, before: DeliveryState) -> bool:
        """Whether another last hider has signed that it lost the attempt, or stored it with another transcript."""
        others = [one for one in self.schedule.last if one != who]
        lost = any(Notice(NoticeKind.LOST, one, before.attempt) in self.signed[one] for one in others)
        return lost or len([1 for attempt, _ in self.stored if attempt == before.attempt]) > 1

    def _store(self, who: int, at: Stored, vector: Vector | None) -> None:
        self.stored[at][who] = vector
        if len(self.stored[at]) < len(self.schedule.last):
            return
        self._check_rows(at, {one: kept for one, kept in self.stored[at].items() if kept is not None})

    def _check_rows(self, at: Stored, vectors: dict[int, Vector]) -> None:
        """Conservation: what the last hiders hold is the frozen words and the fakes, each exactly once."""
        if self.expected is None:
            return
        context = Context(self.context.collection, self.context.frozen, at[0])
        parts = {who: FinalVector(context, at[1], vector) for who, vector in vectors.items()}
        rows = add_up(self.schedule, parts, plain_words(vectors[self.schedule.last[0]]).reshape(-1, 1)).reshape(-1)
        found, wanted = Counter(rows.tolist()), Counter(self.expected.tolist())
        if found != wanted:
            lost = sum((wanted - found).values())
            broken("every row comes out once", f"attempt {at[0]}: {lost} of {len(self.expected)} rows did not come out")

    # What is said.

    def tells(self, who: int, notice: Notice) -> None:
        """A notice is signed: it must be true of what is durable at this moment."""
        self.signed[who].add(notice)
        now = self.durable.get(who, DeliveryState())
        match notice.kind:
            case NoticeKind.STORED:
                true = now.phase in (Phase.STORED, Phase.SENDING)
                true = true and (now.attempt, now.transcript) == (notice.attempt, notice.transcript)
            case NoticeKind.LOST:
                true = notice.attempt <= now.left
            case NoticeKind.OPEN:
                true = now.running and now.attempt == notice.attempt
            case NoticeKind.TOMBSTONE:
                true = now.phase is Phase.DEAD
                if who in self.sent:
                    broken("no tombstone beside a delivery", f"shuffler {who} sent attempt {self.sent[who][0]}")
            case NoticeKind.ASK:
                true = True
        if not true:
            broken(
                "what is signed is durable",
                f"shuffler {who} signed {notice.kind.name.lower()}({notice.attempt}), and is {words(now)}",
            )

    def says(self, who: int, statement: Statement) -> None:
        """A word of an attempt leaves: the only one for its place, and its secrets were never seen before."""
        header = statement.header
        now = self.durable.get(who, DeliveryState())
        if not (now.running and now.attempt == header.context.attempt):
            broken("what is said is durable", f"shuffler {who} speaks in {header.context.attempt}, and is {words(now)}")
        if self._bodies.setdefault(header, statement.body) != statement.body:
            broken("one word for one place", f"shuffler {who} says two things at {header.step}")
        if header.step.kind in (Kind.REVEAL, Kind.SEED):
            first = self._secrets.setdefault(statement.body, header)
            same = first.step == header.step and first.context == header.context and first.sender == who
            # A contribution is revealed to all other hiders; a leaving seed is one hider's own.
            if not same or (header.step.kind is Kind.SEED and first != header):
                broken("nothing random is used twice", f"shuffler {who} at {header.step}, first at {first.step}")

    def carries(self, who: int, header: Header, sha256: bytes) -> None:
        """A vector leaves: the only one for its place."""
        if self._vectors.setdefault(header, sha256) != sha256:
            broken("one vector for one place", f"shuffler {who} sends two at {header.step}")

    def works(self, who: int, task: Task) -> None:
        """A task begins. Every stream belongs to one attempt, place and purpose, and a party uses it once."""
        attempt, _, number = task.out.split("/")
        match task:
            case Split():
                self._streams(who, task, task.streams, ("part", attempt, number))
            case Mix():
                self._streams(who, task, task.streams, ("part", attempt, number))
                self._streams(who, task, (task.permutation,), ("permutation", attempt, number))
                self._streams(who, task, (*task.plus, *task.minus), ("mask", attempt, number))
                self._streams(who, task, (task.salt,), ("salt", attempt, who, task.task))
            case Pass():
                self._streams(who, task, (task.salt,), ("salt", attempt, who, task.task))
                for key in task.permutations:
                    if self._keys.get(key.secret, ("", ""))[:2] != ("permutation", attempt):
                        broken("nothing random is used twice", f"shuffler {who} permutes by a stream of another use")
                self._once(who, task, task.permutations)

    def _streams(self, who: int, task: Task, keys: tuple[StreamKey, ...], use: tuple[object, ...]) -> None:
        for key in keys:
            first = self._keys.setdefault(key.secret, use)
            if first != use:
                broken("nothing random is used twice", f"shuffler {who}: a stream of {first} again in {use}")
        self._once(who, task, keys)

    def _once(self, who: int, task: Task, keys: tuple[StreamKey, ...]) -> None:
        for key in keys:
            if (who, type(task), key.secret) in self._uses:
                broken("nothing random is used twice", f"shuffler {who}: one stream in two tasks ({task.out})")
            self._uses.add((who, type(task), key.secret))

    def erases(self, who: int) -> None:
        """Shares, vectors and the seed of the fakes are forgotten, which only an end allows."""
        if self.durable.get(who, DeliveryState()).phase not in ENDS:
            broken("nothing is erased before the end", f"shuffler {who}")

    # What reaches the analyzer.

    def sends(self, who: int, delivery_state: DeliveryState) -> None:
        """A final vector is about to be on its way."""
        at = (delivery_state.attempt, delivery_state.transcript)
        if self.durable.get(who) != delivery_state or delivery_state.phase is not Phase.SENDING:
            broken("what is sent is durable", f"shuffler {who} sends {words(delivery_state)}")
        missing = [one for one in self.schedule.last if one not in self.stored.get(at, {})]
        if missing:
            broken("sent only what all stored", f"shuffler {who} sends attempt {at[0]}, {missing} never stored it")
        if any(notice.kind is NoticeKind.TOMBSTONE for notice in self.signed[who]):
            broken("no delivery after a tombstone", f"shuffler {who} sends attempt {at[0]}")
        self.sent[who] = at
        if len(set(self.sent.values())) > 1:
            broken("one output at most", f"attempts {sorted({attempt for attempt, _ in self.sent.values()})} were sent")

    def delivered(self, who: int, at: Stored, vector: Vector | None) -> None:
        """A final vector arrived whole."""
        if self.expected is not None and vector is None:
            broken("what was stored is there", f"shuffler {who} delivers attempt {at[0]} without its vector")
        known = self.taken.setdefault(who, (at, vector))
        if known[0] != at or (vector is not None and known[1] is not None and known[1].tobytes() != vector.tobytes()):
            broken("one output at most", f"shuffler {who} delivers a second vector")
        if self.output():
            self._check_rows(at, {one: kept for one, (_, kept) in self.taken.items() if kept is not None})

    def all_sent(self) -> bool:
        """Whether every last hider had its vector on its way, so that none can have signed a tombstone."""
        return len(self.sent) == len(self.schedule.last)

    def output(self) -> Stored | None:
        """What the analyzer can combine."""
        if any(who not in self.taken for who in self.schedule.last):
            return None
        (at, *others) = {at for at, _ in self.taken.values()}
        return None if others else at


def words(delivery_state: DeliveryState) -> str:
    """A delivery state in words."""
    if delivery_state.running:
        return f"in attempt {delivery_state.attempt}"
    if delivery_state.phase is Phase.FREE:
        return f"free after {delivery_state.left}"
    return f"{delivery_state.phase.value}({delivery_state.attempt})"
