"""What the opened rows say: whose do not follow from what went in (protocol.md §7.2).

Each vector's rows are held against the root that its owner sent all shufflers during the attempt, and that the
transcript made final. Each row must be the one before plus the parts taken and the masks; each part is what its giver
gave; each mask is what its other hider says. Where an equation fails, its owner is named; where two say different
things of what only they share, both are named, for no other party can tell which of them is wrong.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from peos.crypto.kdf import Context
from peos.crypto.randomness import U64
from peos.crypto.schemes.base import Packed, PrivateKey, PublicKey
from peos.shuffle import merkle, transcript
from peos.shuffle.attempt import ENCRYPTED_SHARE
from peos.shuffle.inspect.evidence import Opening, Slot, What
from peos.shuffle.inspect.paths import Paths, Places
from peos.shuffle.messages import Kind, SignedReveal, Step
from peos.shuffle.schedule import HandOver, Leave, Schedule
from peos.shuffle.transcript import Said

MAX_INSPECTED: Final = 64  # dummies: tampering with a tenth of the rows misses all of them once in 800 times
_BUDGET: Final = 1 << 22  # bytes of ciphertexts
ANALYZER: Final = 0


@dataclass(frozen=True)
class Finding:
    """A step that was not done as it must be, and who is to answer for it: one party, or one of several."""

    step: Step
    parties: tuple[int, ...]  # 0 is the analyzer
    what: str

    def __str__(self) -> str:
        who = " or ".join(f"shuffler {party}" if party else "the analyzer" for party in self.parties)
        return f"{self.step}: {who} {self.what}"


@dataclass(frozen=True, repr=False)
class Case:
    """What is known beforehand of the rows that are inspected, in the dummies' order, and of the attempt."""

    schedule: Schedule
    context: Context
    rows: int  # of each vector
    transcript: bytes
    start: Places  # where the dummies stand in the frozen list, in its order
    shares: Mapping[int, U64]  # (dummies, words), of shufflers 2 … r
    ciphertexts: Packed  # (dummies, words · size): shuffler 1's
    public: PublicKey
    analyzer: bytes  # its identity
    revealed: SignedReveal  # what it showed here of its dummies
    dummies: tuple[int, ...]  # which of the document's these are


@dataclass(frozen=True, repr=False)
class Delivered:
    """What only the analyzer can hold the rows against: its key, and the vectors that were delivered."""

    key: PrivateKey
    vectors: Mapping[int, U64 | Packed] = field(default_factory=dict)


def judge(case: Case, openings: Mapping[int, Opening], delivered: Delivered | None = None) -> list[Finding]:
    """What the openings of all shufflers show, as far as they go; a shuffler that is not among them shows nothing."""
    return _Judge(case, openings, delivered).findings


class _Judge:
    """Follows the dummies' rows through the schedule. A value that cannot be known is None, and judges no party."""

    def __init__(self, case: Case, openings: Mapping[int, Opening], delivered: Delivered | None) -> None:
        self.findings: list[Finding] = []
        self._case = case
        self._openings = {who: one for who, one in openings.items() if self._is_of_this_case(one) and not one.nothing}
        self._delivered = delivered
        self._said = self._authentic()
        self._places = self._followed()
        self._zero = np.zeros((len(case.start), self._words), np.uint64)
        self._held: dict[int, U64 | None] = {ENCRYPTED_SHARE: self._zero, **case.shares}
        self._encrypted: Packed | None = case.ciphertexts
        self._added: U64 | None = None  # a leaving holder's remainder
        for number, hiders in enumerate(case.schedule.rounds, start=1):
            for leaver, leave in case.schedule.leaves:
                if leave.round == number:
                    self._leave(leaver, leave)
            self._pass_after(number - 1)
            if number < len(self._places):
                self._compare_masks(number, hiders)
                taken = {hider: self._taken(number, hider) for hider in hiders}
                for hider in hiders:
                    self._mixed(number, hider, taken[hider])
            else:
                self._held |= dict.fromkeys(hiders)
        self._deliver()

    @property
    def _words(self) -> int:
        return int(self._case.ciphertexts.shape[1]) // self._case.public.ciphertext_bytes

    def _find(self, step: Step, parties: Sequence[int], what: str) -> None:
        self.findings.append(Finding(step, tuple(parties), what))

    def _is_of_this_case(self, opening: Opening) -> bool:
        """Whether its sender was shown the same dummies; if not, nothing that it says is held against anybody else.

        Who rests on another reveal that the analyzer signed was lied to, and proves it.
        """
        shown, step = opening.revealed, Step(len(self._case.schedule.rounds), Kind.OPENING)
        if shown is None or shown.hash == self._case.revealed.hash:
            return True
        if shown.verifies(self._case.analyzer, self._case.context):
            self._find(step, (ANALYZER,), f"showed shuffler {opening.sender} other dummies, under its signature")
        else:
            self._find(step, (opening.sender,), "names dummies that the analyzer did not sign")
        return False

    def _authentic(self) -> Mapping[Said, bytes]:
        """The words of the transcript that all last hiders signed, from whichever of them shows it."""
        for opening in self._openings.values():
            if transcript.digest(self._case.context, opening.said) == self._case.transcript:
                return opening.said
        return {}

    def _followed(self) -> tuple[Places, ...]:
        """Where the rows were, as far as all hiders agree; where they do not, they used different permutations."""
        schedule = self._case.schedule
        paths = _paths(schedule, self._case.rows, self._case.start, self._openings)
        agreed = paths.agreed
        if len(agreed) <= len(schedule.rounds) and paths.is_disputed(len(agreed)):
            disputing = paths.disputing(len(agreed))
            self._find(Step(len(agreed), Kind.CONFIRM), disputing, "did not permute as the others of the round did")
        return agreed

    def _rows(self, who: int, place: Slot, step: Step, *, known: int) -> U64 | None:
        """What a shuffler shows at a place, as words."""
        rows = self._raw(who, place, step, 8 * self._words, known=known)
        return None if rows is None else np.ascontiguousarray(rows).view("<u8").astype(np.uint64)

    def _raw(self, who: int, place: Slot, step: Step, width: int, *, known: int) -> Packed | None:
        """The same as bytes. Who does not know where rows were after round `known` need not show it (see `not_seen`):

        another may have sent it other places than it sent the rest.
        """
        opening = self._openings.get(who)
        if opening is None or known >= len(opening.paths):
            return None
        shown = opening.shown.get(place)
        if shown is None or shown.rows.shape != (len(self._case.start), width):
            self._find(step, (who,), "did not open its rows")
            return None
        return shown.rows

    def _is_committed(self, who: int, place: Slot, step: Step) -> bool:
        """Whether shown rows stand under the root that their owner sent to all in the attempt."""
        if (step, who) not in self._said:
            return True  # no shuffler shows the transcript: nothing to hold them against
        shown, at = self._openings[who].shown[place], self._places[place.round]
        root, proofs = self._said[step, who], shown.proofs
        held = len(proofs) == len(at) and all(
            merkle.proves(proof, root, row.tobytes(), there, self._case.rows)
            for proof, row, there in zip(proofs, shown.rows, at, strict=True)
        )
        if not held:
            self._find(step, (who,), "opened other rows than it had committed to")
        return held

    def _leave(self, leaver: int, leave: Leave) -> None:
        held, self._held[leaver] = self._held[leaver], self._zero
        if leave.round > len(self._places):
            return
        step = Step(leave.round, Kind.PIECE)
        parts = {
            hider: self._rows(leaver, Slot(leave.round, What.GIVEN, hider), step, known=leave.round - 1)
            for hider in (*leave.seeded, leave.explicit)
        }
        known = [part for part in parts.values() if part is not None]
        if held is not None and len(known) == len(parts) and np.any(sum(known, self._zero) != held):
            self._find(step, (leaver,), "gave away pieces that do not add up to what it had")
        if not leave.explicit:
            self._added = parts[0]
        if leave.round >= len(self._places):
            return  # what the hiders took is not opened: they dispute their round
        for hider in self._case.schedule.hiders(leave.round):
            taken = self._rows(hider, Slot(leave.round, What.TAKEN, leaver), step, known=leave.round)
            given = parts[hider]
            if given is not None and taken is not None and np.any(given != taken):
                self._find(step, (leaver, hider), "misstated the piece that one gave the other")

    def _taken(self, number: int, hider: int) -> U64 | None:
        """What a hider says that it was given, in all."""
        total = self._zero
        leavers = [who for who, leave in self._case.schedule.leaves if leave.round == number]
        for leaver in leavers:
            part = self._quietly(hider, Slot(number, What.TAKEN, leaver))
            if part is None:
                return None
            total = total + part
        return total

    def _quietly(self, who: int, place: Slot) -> U64 | None:
        """Rows whose absence was found before."""
        shown = self._openings[who].shown.get(place) if who in self._openings else None
        if shown is None or shown.rows.shape != self._zero.view(np.uint8).shape:
            return None
        return np.ascontiguousarray(shown.rows).view("<u8").astype(np.uint64)

    def _compare_masks(self, number: int, hiders: Sequence[int]) -> None:
        step = Step(number, Kind.ROOT)
        for hider in hiders:
            for other in hiders:
                if hider < other:
                    one = self._rows(hider, Slot(number, What.MASK, other), step, known=number)
                    two = self._rows(other, Slot(number, What.MASK, hider), step, known=number)
                    if one is not None and two is not None and np.any(one != two):
                        self._find(step, (hider, other), "did not use the mask that the two share")

    def _mixed(self, number: int, hider: int, taken: U64 | None) -> None:
        step, place = Step(number, Kind.ROOT), Slot(number, What.MIXED)
        expected, masks = self._held[hider], self._masks(number, hider)
        found = self._rows(hider, place, step, known=number)
        self._held[hider] = found
        if found is None or not self._is_committed(hider, place, step):
            return
        if (
            expected is not None
            and taken is not None
            and masks is not None
            and np.any(found != expected + taken + masks)
        ):
            self._find(step, (hider,), "has rows that do not follow from those before")

    def _masks(self, number: int, hider: int) -> U64 | None:
        total = self._zero
        for other in self._case.schedule.hiders(number):
            if other == hider:
                continue
            mask = self._quietly(hider, Slot(number, What.MASK, other))
            if mask is None:
                return None
            total = total + mask if hider < other else total - mask
        return total

    def _pass_after(self, number: int) -> None:
        """The pass at the end of a tenure, once it is known what the holder added to the ciphertexts."""
        for holder, over in self._case.schedule.passes:
            if over.round == number:
                self._passed(holder, over, self._added)
                self._added = None

    def _passed(self, holder: int, over: HandOver, added: U64 | None) -> None:
        before, self._encrypted = self._encrypted, None
        if over.round >= len(self._places):
            return
        step, place = Step(over.round, Kind.CIPHER_ROOT), Slot(over.round, What.PASSED)
        width = self._case.ciphertexts.shape[1]
        if over.source:
            came_at = Slot(over.first_round - 1, What.CAME, over.source)
            came = self._raw(holder, came_at, Step(came_at.round, Kind.HANDOVER), width, known=over.round)
            if came is not None and before is not None and np.any(came != before):
                parties = (over.source, holder)
                self._find(
                    Step(came_at.round, Kind.HANDOVER),
                    parties,
                    "misstated the ciphertexts that one handed to the other",
                )
                before = came
        after = self._raw(holder, place, step, width, known=over.round)
        self._encrypted = after
        if after is None or not self._is_committed(holder, place, step) or before is None or added is None:
            return
        self._check_pass(holder, step, before, after, added)

    def _check_pass(self, holder: int, step: Step, before: Packed, after: Packed, added: U64) -> None:
        public = self._case.public
        size, masks = public.ciphertext_bytes, np.ascontiguousarray(added).reshape(-1)
        old = np.ascontiguousarray(before).reshape(-1, size)
        new = np.ascontiguousarray(after).reshape(-1, size)
        if not (bool(np.all(public.check(old))) and bool(np.all(public.check(new)))):
            self._find(step, (holder,), "opened rows that are no ciphertexts")
        elif not public.is_fresh(old, new, masks):
            self._find(step, (holder,), "did not re-randomise its ciphertexts")
        elif self._delivered is not None:
            key = self._delivered.key
            if np.any(key.decrypt(new) != key.decrypt(old) + masks):
                self._find(step, (holder,), "has ciphertexts that do not hold what went in and what it added")

    def _deliver(self) -> None:
        schedule = self._case.schedule
        last = len(schedule.rounds)
        self._added = self._held[schedule.last[0]]
        self._pass_after(last)
        if self._delivered is None or last >= len(self._places):
            return
        at = list(self._places[last])
        for who, vector in self._delivered.vectors.items():
            committed = self._encrypted if who == schedule.last[0] else self._held[who]
            if committed is not None and np.any(vector[at] != committed):
                self._find(Step(last, Kind.DELIVERY), (who,), "delivered other rows than it had committed to")


def not_seen(schedule: Schedule, rows: int, start: Places, openings: Mapping[int, Opening]) -> tuple[int, ...]:
    """Whose rows were not seen, though nothing is found: who shows nothing, or less than the others agree on.

    Or, where the rows' way ends before the last round, who of that round's hiders does not say where they went on.
    A holder that does not re-randomise has reason to be one of these.
    """
    paths = _paths(schedule, rows, start, openings)
    agreed = paths.agreed
    shufflers = range(1, schedule.shufflers + 1)
    silent = {who for who in shufflers if who not in openings or len(openings[who].paths) < len(agreed)}
    if len(agreed) <= len(schedule.rounds) and not paths.is_disputed(len(agreed)):
        silent |= set(schedule.hiders(len(agreed))) - set(paths.claims(len(agreed)))
    return tuple(sorted(silent))


def _paths(schedule: Schedule, rows: int, start: Places, openings: Mapping[int, Opening]) -> Paths:
    """Where the rows were, as those say who show them."""
    paths = Paths(schedule, rows, start)
    for who, opening in openings.items():
        said = opening.paths if opening.claim is None else (*opening.paths, opening.claim)
        for number, places in enumerate(said[1 : len(schedule.rounds) + 1], start=1):
            paths.claim(number, who, places)
    return paths


def common_start(schedule: Schedule, openings: Mapping[int, Opening]) -> tuple[tuple[int, ...], Places] | None:
    """Which dummies were frozen, and where, for a party without the list: as more than c shufflers say.

    At least one of them is honest. Nothing, if too few have anything left to show.
    """
    said = Counter((opening.dummies, opening.paths[0]) for opening in openings.values() if opening.paths)
    found, times = max(said.items(), key=lambda item: item[1], default=(((), ()), 0))
    return found if times > schedule.colluders else None


def unseen(schedule: Schedule, rows: int, openings: Mapping[int, Opening]) -> tuple[int, ...]:
    """Whose rows were not seen, for a party without the list.

    Where too few agree on what was frozen: of those who show nothing; if all show something, of all.
    """
    start = common_start(schedule, openings)
    if start is not None:
        return not_seen(schedule, rows, start[1], openings)
    shufflers = tuple(range(1, schedule.shufflers + 1))
    return tuple(who for who in shufflers if who not in openings or not openings[who].paths) or shufflers


def inspected_dummies(dummies: int, row_bytes: int) -> int:
    """How many of the dummies are opened: all, unless there are very many, or their ciphertexts are very long."""
    return max(1, min(dummies, MAX_INSPECTED, _BUDGET // row_bytes))
