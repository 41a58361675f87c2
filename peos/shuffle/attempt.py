"""One shuffler's part in one attempt at the shuffle: its script, worked off as messages and results arrive.

Everything random is drawn anew in each attempt: contributions, leaving seeds, salts. A mask used twice, under two
permutations, would reveal both.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from peos.crypto.kdf import Context, StreamKey, derive
from peos.crypto.randomness import Randomness
from peos.errors import RemoteFault
from peos.shuffle import agreement, transcript
from peos.shuffle.effects import CIPHERTEXTS, SHARES, Effect, Handle, Mix, Pass, Send, SendVector, Split, Task
from peos.shuffle.messages import PUBLIC, STATEMENT_BYTES, Header, Kind, Statement, Step
from peos.shuffle.schedule import Action, Deliver, HandOver, Hide, Leave, Schedule
from peos.shuffle.transcript import Said

ENCRYPTED_SHARE = 1  # the shuffler whose shares are ciphertexts


@dataclass(frozen=True)
class Completed:
    """The attempt's end here. Only last hiders have a transcript and a vector; the last holder's is encrypted."""

    transcript: bytes = b""
    vector: Handle | None = None


@dataclass(frozen=True)
class Waiting:
    """The step that this shuffler waits for, and from which shufflers (none: its own work)."""

    step: Step
    parties: tuple[int, ...]


def awaited(schedule: Schedule, me: int) -> frozenset[tuple[Step, int]]:
    """Everything that one shuffler may be sent in an attempt, and by whom; nothing else is taken in."""
    found = {(step, who) for step, who in transcript.expected(schedule) if who != me}
    for action in schedule.script(me):
        if isinstance(action, Hide):
            others = [who for who in action.hiders if who != me]
            found |= {(Step(action.round, kind), who) for who in others for kind in (Kind.COMMIT, Kind.REVEAL)}
            found |= {(Step(action.round, Kind.SEED), who) for who in action.seeds_from}
            found |= {(Step(action.round, Kind.PIECE), who) for who in action.vectors_from}
        over = action.holds if isinstance(action, Deliver) else action
        if isinstance(over, HandOver) and over.source:
            found.add((Step(over.first_round - 1, Kind.HANDOVER), over.source))
    return frozenset(found)


@dataclass
class _Round:
    """A round's agreement as far as it has come."""

    contribution: bytes = field(repr=False)
    sent: set[Kind] = field(default_factory=set)
    seed: bytes = field(default=b"", repr=False)


class Attempt:
    """Feed it statements, vectors and results; it returns effects, and `completed` once its script is done."""

    def __init__(self, me: int, schedule: Schedule, context: Context, rng: Randomness) -> None:
        self.context = context
        self.completed: Completed | None = None
        self.waiting: Waiting | None = None
        self.trail: list[tuple[Leave | Hide | HandOver, Task]] = []  # all that was worked, for the inspection
        self._me = me
        self._schedule = schedule
        self._rng = rng
        self._script: list[Action] = list(schedule.script(me))
        self._vector: Handle | None = None if me == ENCRYPTED_SHARE else SHARES
        self._ciphertexts: Handle | None = CIPHERTEXTS if me == ENCRYPTED_SHARE else None
        self._salt = rng.bytes(STATEMENT_BYTES)
        self._statements: dict[tuple[Step, int], bytes] = {}
        self._vectors: dict[tuple[Step, int], Handle] = {}
        self._permutations: list[StreamKey] = []  # of the tenure under way, if this is the holder
        self._round: _Round | None = None
        self._task = 0  # the one under way, or 0
        self._tasks = 0
        self._seeds: dict[int, bytes] = {}  # what a leaver sends once its remainder is ready
        self._salts = 0
        self._expected = transcript.expected(schedule)
        self._awaited = awaited(schedule, me)

    @property
    def said(self) -> dict[Said, bytes]:
        """What was sent to all shufflers, as far as it is known here."""
        return {place: self._statements[place] for place in self._expected if place in self._statements}

    @property
    def step(self) -> Step:
        """The part of the script that is under way, by the message that ends it; after the last one, the delivery."""
        match self._script[:1]:
            case [Leave(round=number)]:
                return Step(number, Kind.PIECE)
            case [Hide(round=number)]:
                return Step(number, Kind.ROOT)
            case [HandOver(round=number)]:
                return Step(number, Kind.CIPHER_ROOT)
            case [Deliver(round=number, holds=HandOver())]:
                passed = Step(number, Kind.CIPHER_ROOT)
                if (passed, self._me) not in self._statements:
                    return passed
        return Step(len(self._schedule.rounds), Kind.DELIVERY)

    def start(self) -> list[Effect]:
        """Begin the script."""
        return self._advance()

    def receive(self, statement: Statement) -> list[Effect]:
        """Take in a statement; a second one of its step and sender must be the same."""
        step, sender = statement.header.step, statement.header.sender
        self._check_awaited(step, sender)
        known = self._statements.setdefault((step, sender), statement.body)
        if known != statement.body:
            raise RemoteFault(
                "shuffle.two_words",
                "sent two different statements for one step",
                party=f"shuffler {sender}",
                step=str(step),
            )
        return self._advance()

    def receive_vector(self, header: Header, vector: Handle) -> list[Effect]:
        """Take in a vector; the caller compared a repeated one by its hash."""
        self._check_awaited(header.step, header.sender)
        self._vectors.setdefault((header.step, header.sender), vector)
        return self._advance()

    def done(self, task: int, root: bytes) -> list[Effect]:
        """The task under way is finished."""
        if task != self._task:
            return []
        self._task = 0
        action = self._script[0]
        effects: list[Effect] = []
        match action:
            case Leave():
                effects += self._left(action)
            case Hide():
                effects += self._say(Step(action.round, Kind.ROOT), root)
                self._round = None
            case HandOver():
                effects += self._passed(action, root)
            case Deliver():
                effects += self._say(Step(action.round, Kind.CIPHER_ROOT), root)
                return [*effects, *self._advance()]
        del self._script[0]
        return [*effects, *self._advance()]

    def _check_awaited(self, step: Step, sender: int) -> None:
        if (step, sender) not in self._awaited:
            raise RemoteFault(
                "shuffle.unexpected",
                "sent an unexpected message for this step",
                party=f"shuffler {sender}",
                step=str(step),
            )

    def _advance(self) -> list[Effect]:
        """Do whatever can be done with what has arrived."""
        effects: list[Effect] = []
        while self._script and not self._task and self.completed is None:
            action = self._script[0]
            before = len(effects)
            match action:
                case Leave():
                    effects += self._leave(action)
                case Hide():
                    effects += self._hide(action)
                case HandOver():
                    effects += self._pass(action)
                case Deliver():
                    effects += self._deliver(action)
            if len(effects) == before:
                break
        if not self._script and self.completed is None:
            self._complete(Completed())
        return effects

    def _complete(self, completed: Completed) -> None:
        self.completed = completed
        self.waiting = None

    # A leaver: all parts but one are streams, whose seeds go to their hiders. The last is the remainder, which travels
    # as a vector; a holder adds it to the ciphertexts instead.

    def _leave(self, leave: Leave) -> list[Effect]:
        assert self._vector is not None, "only a shuffler with a vector leaves"
        self._seeds = {hider: self._rng.bytes(STATEMENT_BYTES) for hider in leave.seeded}
        streams = tuple(self._part(leave.round, self._me, hider, secret) for hider, secret in self._seeds.items())
        source, self._vector = self._vector, self._name("part", leave.round)
        return self._worked(leave, Split(self._begin(Step(leave.round, Kind.PIECE)), source, streams, self._vector))

    def _left(self, leave: Leave) -> list[Effect]:
        effects: list[Effect] = [
            Send(Statement(self._header(Step(leave.round, Kind.SEED), hider), secret))
            for hider, secret in self._seeds.items()
        ]
        self._seeds = {}
        if leave.explicit:
            assert self._vector is not None, "it was split just now"
            effects.append(SendVector(self._header(Step(leave.round, Kind.PIECE), leave.explicit), self._vector))
            self._vector = None
        return effects

    # A hider: agree on the seed, take in the parts, mix.

    def _hide(self, hide: Hide) -> list[Effect]:
        others = tuple(who for who in hide.hiders if who != self._me)
        if self._round is None:
            self._round = _Round(self._rng.bytes(STATEMENT_BYTES))
        own = self._round
        if Kind.COMMIT not in own.sent:
            commitment = agreement.commitment(self.context, hide.round, self._me, own.contribution)
            return self._once(hide.round, Kind.COMMIT, others, commitment)
        commitments = self._from(others, Step(hide.round, Kind.COMMIT))
        if commitments is None:
            return []
        if Kind.REVEAL not in own.sent:
            return self._once(hide.round, Kind.REVEAL, others, own.contribution)
        contributions = self._from(others, Step(hide.round, Kind.REVEAL))
        if contributions is None:
            return []
        if Kind.CONFIRM not in own.sent:
            self._verify(hide.round, commitments, contributions)
            own.seed = agreement.seed(self.context, hide.round, {**contributions, self._me: own.contribution})
            own.sent.add(Kind.CONFIRM)
            return self._say(Step(hide.round, Kind.CONFIRM), self._confirmation(own.seed))
        confirmations = self._from(others, Step(hide.round, Kind.CONFIRM))
        if confirmations is None:
            return []
        self._compare(hide.round, confirmations)
        return self._mix(hide)

    def _confirmation(self, secret: bytes) -> bytes:
        return agreement.confirmation(secret)

    def _verify(self, round_: int, commitments: dict[int, bytes], contributions: dict[int, bytes]) -> None:
        for who, contribution in contributions.items():
            if agreement.commitment(self.context, round_, who, contribution) != commitments[who]:
                raise RemoteFault(
                    "shuffle.commitment",
                    "revealed a contribution that it had not committed to",
                    party=f"shuffler {who}",
                    step=str(Step(round_, Kind.REVEAL)),
                )

    def _compare(self, round_: int, confirmations: dict[int, bytes]) -> None:
        step = Step(round_, Kind.CONFIRM)
        own = self._statements[step, self._me]
        for who, confirmation in confirmations.items():
            if confirmation != own:
                raise RemoteFault("shuffle.seed", "confirmed another seed", party=f"shuffler {who}", step=str(step))

    def _mix(self, hide: Hide) -> list[Effect]:
        seeds = self._from(hide.seeds_from, Step(hide.round, Kind.SEED))
        vectors = self._vectors_from(hide.vectors_from, Step(hide.round, Kind.PIECE))
        if seeds is None or vectors is None:
            return []
        assert self._round is not None, "a round is agreed on before it is mixed"
        permutation = self._round_key("permutation", hide.round, self._round.seed)
        if self._schedule.holder(hide.round) == self._me:
            self._permutations.append(permutation)
        plus, minus = self._masks(hide, self._round.seed)
        source, self._vector = self._vector, self._name("round", hide.round)
        streams = tuple(self._part(hide.round, who, self._me, secret) for who, secret in seeds.items())
        task = self._begin(Step(hide.round, Kind.ROOT))
        mix = Mix(task, source, vectors, streams, permutation, plus, minus, self._next_salt(), self._vector)
        return self._worked(hide, mix)

    def _masks(self, hide: Hide, secret: bytes) -> tuple[tuple[StreamKey, ...], tuple[StreamKey, ...]]:
        """Zero-sum masks, one stream a pair: the lower of the two adds what the higher subtracts."""
        higher = (who for who in hide.hiders if who > self._me)
        lower = (who for who in hide.hiders if who < self._me)
        return (
            tuple(self._round_key("mask", hide.round, secret, self._me, who) for who in higher),
            tuple(self._round_key("mask", hide.round, secret, who, self._me) for who in lower),
        )

    # A holder, at the end of its tenure.

    def _pass(self, over: HandOver) -> list[Effect]:
        ciphertexts = self._held(over)
        if ciphertexts is None:
            return []
        assert self._vector is not None, "a holder has mixed in the last round of its tenure"
        permutations, self._permutations = tuple(self._permutations), []
        task = self._begin(Step(over.round, Kind.CIPHER_ROOT))
        out = self._name("pass", over.hop)
        done = Pass(task, ciphertexts, permutations, self._vector, over.hop, self._next_salt(), out)
        return self._worked(over, done)

    def _held(self, over: HandOver) -> Handle | None:
        if over.source == 0:
            return self._ciphertexts
        came = self._vectors_from((over.source,), Step(over.first_round - 1, Kind.HANDOVER))
        return came[0] if came else None

    def _passed(self, over: HandOver, root: bytes) -> list[Effect]:
        self._vector = None
        header = self._header(Step(over.round, Kind.HANDOVER), over.receiver)
        said = self._say(Step(over.round, Kind.CIPHER_ROOT), root)
        return [*said, SendVector(header, self._name("pass", over.hop))]

    def _deliver(self, deliver: Deliver) -> list[Effect]:
        if deliver.holds and (Step(deliver.round, Kind.CIPHER_ROOT), self._me) not in self._statements:
            return self._pass(deliver.holds)
        missing = [place for place in self._expected if place not in self._statements]
        if missing:
            first = min(missing)
            self._wait(first[0], tuple(sorted({who for step, who in missing if step == first[0]})))
            return []
        said = {place: self._statements[place] for place in self._expected}
        self._check_agreements(said)
        vector = self._name("pass", deliver.holds.hop) if deliver.holds else self._vector
        self._script.clear()
        self._complete(Completed(transcript.digest(self.context, said), vector))
        return []

    def _check_agreements(self, said: dict[tuple[Step, int], bytes]) -> None:
        """Also in the rounds of others, all hiders must have confirmed one seed."""
        for number, hiders in enumerate(self._schedule.rounds, start=1):
            step = Step(number, Kind.CONFIRM)
            if len({said[step, who] for who in hiders}) > 1:
                raise RemoteFault(
                    "shuffle.seeds_differ",
                    f"shufflers {', '.join(map(str, hiders))} confirmed different seeds",
                    step=str(step),
                )

    # Bookkeeping.

    def _worked(self, action: Leave | Hide | HandOver, task: Task) -> list[Effect]:
        self.trail.append((action, task))
        return [task]

    def _begin(self, step: Step) -> int:
        self._tasks += 1
        self._task = self._tasks
        self._wait(step, ())
        return self._task

    def _wait(self, step: Step, parties: Iterable[int]) -> None:
        self.waiting = Waiting(step, tuple(parties))

    def _from(self, parties: Iterable[int], step: Step) -> dict[int, bytes] | None:
        """What each of `parties` said at `step`, or nothing if one is missing."""
        missing = [who for who in parties if (step, who) not in self._statements]
        if missing:
            self._wait(step, missing)
            return None
        return {who: self._statements[step, who] for who in parties}

    def _vectors_from(self, parties: Iterable[int], step: Step) -> tuple[Handle, ...] | None:
        missing = [who for who in parties if (step, who) not in self._vectors]
        if missing:
            self._wait(step, missing)
            return None
        return tuple(self._vectors[step, who] for who in parties)

    def _once(self, round_: int, kind: Kind, receivers: Iterable[int], body: bytes) -> list[Effect]:
        assert self._round is not None, "only a hider in a round says this"
        self._round.sent.add(kind)
        return [Send(Statement(self._header(Step(round_, kind), who), body)) for who in receivers]

    def _say(self, step: Step, body: bytes) -> list[Effect]:
        """Tell all shufflers, and note it for the transcript."""
        assert step.kind in PUBLIC, "what all shufflers hear is in the transcript"
        self._statements[step, self._me] = body
        others = (who for who in range(1, self._schedule.shufflers + 1) if who != self._me)
        return [Send(Statement(self._header(step, who), body)) for who in others]

    def _header(self, step: Step, receiver: int) -> Header:
        return Header(self.context, step, self._me, receiver)

    def _name(self, what: str, number: int) -> Handle:
        return f"{self.context.attempt}/{what}/{number}"

    def _round_key(self, purpose: str, round_: int, secret: bytes, low: int = 0, high: int = 0) -> StreamKey:
        return derive(secret, purpose, self.context, round_=round_, sender=low, receiver=high)

    def _part(self, round_: int, leaver: int, hider: int, secret: bytes) -> StreamKey:
        return derive(secret, "part", self.context, round_=round_, sender=leaver, receiver=hider)

    def _next_salt(self) -> StreamKey:
        self._salts += 1
        return derive(self._salt, "salt", self.context, round_=self._salts, sender=self._me)
