"""An analyzer shows its dummies otherwise to some shufflers, to have honest ones found guilty by the rest.

Who: the analyzer alone; every shuffler is honest. Each is shown the dummies in a stream of its own. Where order and
choice are the analyzer's, the rows that one shuffler opens are not those that the others expect of it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from peos.collection.prepare import prepare
from peos.collection.reveal import Revealed, known_case
from peos.collection.ticket import ID_BYTES
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.paillier import PaillierPrivateKey
from peos.ldp import GRR
from peos.shuffle.inspect.evidence import Nothing
from peos.shuffle.inspect.machine import Inspection
from peos.shuffle.inspect.verdict import Case, Finding
from peos.shuffle.messages import SignedReveal
from peos.simulate import Node, Simulation
from peos.simulate.node import ANALYZER
from peos.wire.inspections import RevealedPart
from tests.full import full

USERS = 6
Shown = list[Revealed]
Lie = Callable[["Lying", Shown], Shown]


class Lying(Simulation):
    """A collection whose output is delivered, and whose analyzer shows some shufflers something else.

    The shuffle itself is the same for all inspections, which may be made again and again.
    """

    def __init__(self, key: PaillierPrivateKey, shufflers: int) -> None:
        super().__init__(GRR(4, 2.0), shufflers=shufflers, fakes=3, rng=Randomness(b"\x07" * 32), key=key)
        self.lies: Mapping[int, Lie] = {}
        self.submit(self.mechanism.randomize(np.arange(USERS) % 4, self.rng))
        self.left_out()
        self.freeze()
        self.shuffle()
        self.vectors = {node.number: dict(node.bench.vectors) for node in self.nodes}

    def left_out(self) -> None:
        """Before the freeze."""

    def reveal(self, number: int) -> Shown:
        """What the analyzer shows to one shuffler."""
        shown = super().reveal(number)
        return self.lies[number](self, shown) if number in self.lies else shown

    def told(self, lies: Mapping[int, Lie]) -> None:
        """An inspection in which the analyzer lies so to these."""
        self.lies = lies
        for node in self.nodes:
            node.bench.vectors.update(self.vectors[node.number])
        self.inspect()


class Believing(Lying):
    """Shufflers that take whatever order and choice they are shown, and do not compare."""

    def case(self, node: Node, revealed: Sequence[Revealed], signed: SignedReveal) -> Case:
        """What is opened if the analyzer says which, and in what order."""
        places = {row[:ID_BYTES]: place for place, row in enumerate(node.frozen)}
        start, part = (tuple(range(len(revealed))), tuple(places[one.id] for one in revealed)), self.output
        rows, same = len(node.frozen) + self.document.fakes, replace(signed, hash=b"same".ljust(32))
        return known_case(node.document, node.public, part.context, part.transcript, rows, start, revealed, same)


def in_another_order(_: Lying, shown: Shown) -> Shown:
    return [*shown[1:], shown[0]]


def another_choice(_: Lying, shown: Shown) -> Shown:
    """One dummy in the place of another."""
    return [*shown[:-1], shown[0]]


def fewer(_: Lying, shown: Shown) -> Shown:
    return shown[:-5]


def nothing(_: Lying, __: Shown) -> Shown:
    return []


def other_parts(made: Lying, shown: Shown) -> Shown:
    """Another splitting of the first dummy, under its ticket."""
    one = shown[0]
    words: U64 = one.words[None, :]
    ticket = made.ticket(one.id)
    (parts,) = prepare(made.digest, made.encryption.splitter(made.rng, 1), words, [ticket], made.rng)
    return [replace(one, parts=parts), *shown[1:]]


LIES = (in_another_order, another_choice, fewer, nothing, other_parts)


def accused(made: Lying) -> list[tuple[int, Finding]]:
    """Findings against shufflers, which are all honest, and who found them."""
    return [(by, one) for by, found in made.findings.items() for one in found if set(one.parties) - {ANALYZER}]


def targets(shufflers: int) -> list[tuple[int, ...]]:
    """Each alone, all pairs where they are few, the hiders of a round, and all but one."""
    everybody = range(1, shufflers + 1)
    chosen = [(who,) for who in everybody] + [tuple(everybody)[1:], tuple(everybody)[:-1], tuple(everybody)]
    return chosen + list(combinations(everybody, 2))[: 10 if shufflers < 7 else 2]


def each_another(shufflers: int) -> Iterator[dict[int, Lie]]:
    """Every shuffler is lied to otherwise than its neighbours, or all but one are."""
    for spared in range(shufflers + 1):
        yield {who: LIES[(who + spared) % len(LIES)] for who in range(1, shufflers + 1) if who != spared}


@pytest.mark.parametrize("shufflers", [3, full(4), full(5), full(7)])
def test_whatever_the_analyzer_shows_to_whom_no_honest_shuffler_is_accused_and_the_analyzer_is(
    key: PaillierPrivateKey, shufflers: int
) -> None:
    made = Lying(key, shufflers)
    made.told({})
    assert not any(made.findings.values())
    assert made.not_seen == ()
    same: list[dict[int, Lie]] = [dict.fromkeys(to, lie) for lie in LIES for to in targets(shufflers)]
    for lies in [*same, *each_another(shufflers)]:
        made.told(lies)
        case = ", ".join(f"{lie.__name__} to {who}" for who, lie in lies.items())
        assert not accused(made), f"{case}: {accused(made)}"
        assert made.refused.keys() == lies.keys(), case
        assert {fault.party for fault in made.refused.values()} == {"analyzer"}, case
        assert all(made.openings[who].nothing is Nothing.UNREVEALED for who in lies), case
        for by, found in made.findings.items():  # two signed reveals convict the analyzer before everybody
            assert {one.parties for one in found} == {(ANALYZER,)}, f"{case}: {by} found {found}"


@pytest.mark.parametrize("shufflers", [3, 4, 5])
def test_where_shufflers_believe_it_an_honest_one_is_accused_alone(key: PaillierPrivateKey, shufflers: int) -> None:
    made = Believing(key, shufflers)
    made.told({shufflers: in_another_order})
    alone = {one.parties for by, one in accused(made) if by != shufflers}
    assert (shufflers,) in alone, f"the attack is not shown to succeed: {accused(made)}"


def test_who_is_shown_what_is_not_signed_has_no_proof_and_is_not_accused_for_want_of_it(
    key: PaillierPrivateKey,
) -> None:
    class Unsigned(Lying):
        def revealed(self, number: int) -> Iterator[RevealedPart | SignedReveal]:
            for one in super().revealed(number):
                other = number == 2 and isinstance(one, SignedReveal)
                yield SignedReveal(b"h" * 32, b"s" * 64) if other else one

    made = Unsigned(key, 3)
    made.told({})
    assert not accused(made)
    assert made.refused[2].party == "analyzer"
    assert made.openings[2].revealed is None


class WithOneLeftOut(Lying):
    """The first dummy is not in the frozen list: one shuffler says that it never came."""

    def left_out(self) -> None:
        """Before the freeze."""
        del self.nodes[1].parts[self.dummy_parts[0][0].id]


@pytest.mark.parametrize("to", [(1,), (2,), (3,), (1, 2), (2, 3)])
def test_what_differs_in_a_dummy_that_does_not_count_is_held_against_the_analyzer_alone(
    key: PaillierPrivateKey, to: tuple[int, ...]
) -> None:
    made = WithOneLeftOut(key, 3)
    made.told(dict.fromkeys(to, other_parts))
    assert not made.refused, "the rows that are opened are the same"
    assert not accused(made), accused(made)
    named = {by for by, found in made.findings.items() for one in found if one.parties == (ANALYZER,)}
    assert named >= {1, 2, 3}


def test_who_names_a_reveal_that_the_analyzer_did_not_sign_is_named_itself(key: PaillierPrivateKey) -> None:
    class Inventing(Inspection):
        """Says that it was shown something else, to have the analyzer named."""

        @property
        def revealed(self) -> SignedReveal:
            """Not what it was shown."""
            return SignedReveal(b"h" * 32, b"s" * 64)

    made = Lying(key, 3)
    made.nodes[2].inspection_type = Inventing
    made.told({})
    for by in (1, 2):
        assert {one.parties for one in made.findings[by]} == {(3,)}, made.findings[by]
