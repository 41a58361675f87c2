"""A small exhaustive model check of `Freeze`: every state that its real decisions can reach, in any order of pulls.

Modelled: r = 3, of which shuffler 3 deviates. It has signed two lists, and at every pull it shows any party either of
them, with what it knows of others or without; it signs whatever could be frozen with either. The other two follow the
protocol: at any moment any of them may pull announcements, a list or a signed digest from any other, again and in any
order, may crash, and comes back with what is durable: its own list, and once it froze, what it froze and what all had
announced.

Checked in every state: no two lists are ever frozen, and only shuffler 3 is named. Without crashes, when one freezes
the other holds the same announcements. From every state both can freeze without a further crash, or shuffler 3 is
named by what the two show each other. What the model leaves open, as it must: shuffler 3 may keep its last signature
from one of the two, which then never freezes while the other did; nothing is shuffled then.
"""

from collections import defaultdict
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property

from peos.collection.freeze import Announcement, Freeze, sign_frozen
from peos.errors import NotYet, RemoteFault
from tests.unit.collection.made import COLLECTION, SHUFFLERS, row

IDENTITIES = tuple(identity.public for identity in SHUFFLERS)
LIST = tuple(sorted(row(f"user {number}") for number in range(3)))
DEVIANT = 3
LISTS = (LIST, LIST[1:])  # what shuffler 3 may show
HONEST = {who: Announcement.sign(SHUFFLERS[who - 1], who, COLLECTION, LIST) for who in (1, 2)}
SIGNED = tuple(Announcement.sign(SHUFFLERS[DEVIANT - 1], DEVIANT, COLLECTION, rows) for rows in LISTS)


@dataclass(frozen=True)
class Party:
    """One of the two that follow the protocol, as far as others and it itself can tell its states apart."""

    me: int
    held: tuple[Announcement, ...]
    uncompared: tuple[int, ...]
    unshown: tuple[int, ...]
    confirmed: frozenset[int] = frozenset()
    frozen: bytes = b""
    named: frozenset[str] = frozenset()
    gone: bool = False  # ended, and restarted since: nothing is left to show

    @property
    def ended(self) -> bool:
        """Whether it has seen two lists of one shuffler."""
        return len({one.shuffler for one in self.held}) < len(self.held)

    @property
    def running(self) -> bool:
        """Whether it still takes part in the freeze."""
        return not (self.ended or self.frozen or self.gone)


World = tuple[Party, Party]
Graph = dict[World, list[tuple[World, bool]]]
Message = tuple[str, int, object]  # what, from whom, and its content


class Model:
    """All that can happen with one kind of `Freeze`; parties that look alike are one, so each step is made once."""

    def __init__(self, kind: type[Freeze] = Freeze, *, durable: bool = True) -> None:
        self.kind, self.durable = kind, durable
        self._machines: dict[Party, Freeze] = {}
        self._steps: dict[tuple[Party, Message], Party] = {}

    def party(self, me: int, machine: Freeze, **more: object) -> Party:
        """How a machine looks."""
        looks = Party(me, machine.announcements.held, machine.uncompared, machine.unshown)
        looks = replace(looks, **more)  # type: ignore[arg-type]  # fields of a party
        self._machines.setdefault(looks, machine)
        return looks

    def begun(self, me: int) -> Party:
        """A party with its own list and nothing else."""
        return self.party(me, self.kind(me, IDENTITIES, COLLECTION, LIST, SHUFFLERS[me - 1]))

    @cached_property
    def digests(self) -> tuple[bytes, ...]:
        """What could be frozen with either list of shuffler 3."""
        found = []
        for signed, rows in zip(SIGNED, LISTS, strict=True):
            machine = Freeze(1, IDENTITIES, COLLECTION, LIST, SHUFFLERS[0])
            for who in (2, 3):
                machine.heard(who, (HONEST[1], HONEST[2], signed))
            for who, shown in ((2, LIST), (3, rows)):
                listing = machine.listing(who)
                listing.feed(shown)
                listing.finish()
            found.append(machine.digest)
        return tuple(found)

    def shown(self, party: Party) -> Iterator[Message]:
        """What another party is shown that asks this one."""
        if party.gone:
            return
        yield "announcements", party.me, party.held
        machine = self._machines[party]
        if party.frozen or (party.running and machine.may_show_list):
            yield "list", party.me, LIST
        if party.frozen or (party.running and not party.unshown):
            yield "digest", party.me, party.frozen or machine.digest

    @cached_property
    def deviations(self) -> list[Message]:
        """What shuffler 3 shows."""
        views = [view for signed in SIGNED for view in ((signed,), (HONEST[1], HONEST[2], signed))]
        said: list[Message] = [("announcements", DEVIANT, view) for view in views]
        said += [("list", DEVIANT, rows) for rows in LISTS]
        return said + [("digest", DEVIANT, digest) for digest in self.digests]

    def heard(self, party: Party, message: Message) -> Party:
        """The party once it has heard an answer."""
        known = self._steps.get((party, message))
        if known is None:
            known = self._steps[party, message] = self._hear(party, message)
        return known

    def _hear(self, party: Party, message: Message) -> Party:
        machine, (what, who, content) = deepcopy(self._machines[party]), message
        confirmed, named = party.confirmed, party.named
        try:
            if what == "announcements":
                machine.heard(who, content)  # type: ignore[arg-type]  # announcements
            elif what == "list":
                listing = machine.listing(who)
                listing.feed(content)  # type: ignore[arg-type]  # rows
                listing.finish()
            elif not machine.unshown:
                assert isinstance(content, bytes)
                machine.confirmed(who, content, sign_frozen(SHUFFLERS[who - 1], COLLECTION, content).signature)
                confirmed = confirmed | {who}
        except NotYet:
            return party
        except RemoteFault as fault:
            named = named | {fault.party}
        frozen = machine.context.frozen if len(confirmed) == 2 and not machine.evidence else b""
        return self.party(party.me, machine, confirmed=confirmed, named=named, frozen=frozen)

    def restarted(self, party: Party) -> Party:
        """The party after a crash."""
        if party.frozen and self.durable:
            return party
        if party.frozen:
            return self.party(party.me, self._machines[self.begun(party.me)], frozen=party.frozen)
        return replace(party, gone=True) if party.ended else self.begun(party.me)

    def next(self, world: World, *, crashes: bool) -> Iterator[tuple[World, bool]]:
        """Every world one step away, and whether it took a fault: a crash, or that shuffler 3 gives itself away."""
        for place, party in enumerate(world):
            other = world[1 - place]
            messages = [*self.shown(other), *self.deviations] if party.running else []
            after = [(self.heard(party, message), message[1]) for message in messages]
            found = [(one, who == DEVIANT and one.named != party.named) for one, who in after]
            if crashes:
                found.append((self.restarted(party), True))
            for one, fault in found:
                if one != party:
                    yield ((one, other) if place == 0 else (other, one)), fault

    def explored(self, *, crashes: bool = True) -> Graph:
        """All that is reachable."""
        graph: Graph = {}
        frontier: list[World] = [(self.begun(1), self.begun(2))]
        while frontier:
            world = frontier.pop()
            if world not in graph:
                graph[world] = list(self.next(world, crashes=crashes))
                frontier += [there for there, _ in graph[world] if there not in graph]
        return graph


def wrongs(graph: Graph) -> set[str]:
    """What is wrong anywhere."""
    found = set()
    for world in graph:
        if len({party.frozen for party in world if party.frozen}) > 1:
            found.add("two lists are frozen")
        if any(party.named - {f"shuffler {DEVIANT}"} for party in world):
            found.add("a shuffler that follows the protocol is named")
    return found


def unequal(graph: Graph) -> list[World]:
    """The worlds in which one froze and the other does not hold all that it had compared."""
    return [
        world for world in graph for one in world if one.frozen and any(set(one.held) - set(two.held) for two in world)
    ]


def stuck(graph: Graph) -> list[World]:
    """The worlds from which, without a further fault, not both can freeze and neither names shuffler 3."""
    before: dict[World, list[World]] = defaultdict(list)
    for world, following in graph.items():
        for there, fault in following:
            if not fault:
                before[there].append(world)
    frontier = [world for world in graph if all(one.frozen for one in world) or any(one.named for one in world)]
    getting_on = set(frontier)
    while frontier:
        for world in before[frontier.pop()]:
            if world not in getting_on:
                getting_on.add(world)
                frontier.append(world)
    return [world for world in graph if world not in getting_on]


def test_one_list_is_frozen_or_none_and_only_the_deviating_shuffler_is_named() -> None:
    graph = Model().explored()
    ends = {tuple(bool(party.frozen) for party in world) for world in graph}
    assert {(True, True), (False, False)} <= ends, "no freeze is ever reached: the model shows nothing"
    assert any(all(party.ended for party in world) for world in graph), "no shuffler is ever convicted by both"
    assert not wrongs(graph)
    assert not stuck(graph)
    assert len(graph) > 2000, f"only {len(graph)} states: the model has shrunk"


def test_without_crashes_whoever_freezes_the_other_holds_the_same_announcements() -> None:
    graph = Model().explored(crashes=False)
    assert any(party.frozen for world in graph for party in world)
    assert not unequal(graph)


class Uncompared(Freeze):
    """Takes each announcement from its own shuffler, and compares with no other's."""

    def heard(self, who: int, held: object) -> None:
        assert isinstance(held, tuple)
        super().heard(who, [one for one in held if one.shuffler == who])

    @property
    def uncompared(self) -> tuple[int, ...]:
        return tuple(who for who in (1, 2, 3) if who not in {one.shuffler for one in self.announcements.held})


def test_the_check_sees_announcements_that_are_not_compared() -> None:
    graph = Model(Uncompared).explored(crashes=False)
    assert "a shuffler that follows the protocol is named" in wrongs(graph)


def test_the_check_sees_announcements_that_a_frozen_shuffler_forgets() -> None:
    assert stuck(Model(durable=False).explored())
