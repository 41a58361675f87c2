"""A small exhaustive model check of `Delivery`: every state that the real decisions can reach, in any order of events.

Modelled: r = 3 shufflers (last hiders 2 and 3), two attempts, with two possible transcripts of the first. At any
moment any party may crash and restart, time out, be asked, see the deadline, or hear anything that was ever said, again
and in any order; a notice may also never arrive. What happens inside an attempt is left open: a last hider that is in
one may finish it with either transcript (more than can really happen, so what holds here holds there).

Checked in every state: at most one output, and a party that may send an attempt keeps it the only one for ever.
From every state: without further faults the parties can get on by themselves, and at the deadline each ends by itself.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from peos.shuffle.delivery import OPENER, Delivery
from peos.shuffle.delivery_state import Phase
from peos.shuffle.effects import Deadline, Effect, Event, Expired, Heard, Notify, Output, Restarted, Tick, TimedOut
from peos.shuffle.messages import Notice, NoticeKind
from peos.shuffle.schedule import Schedule

SCHEDULE = Schedule(3)
TRANSCRIPTS = {1: (b"x", b"y"), 2: (b"z",)}
ATTEMPTS = len(TRANSCRIPTS)
REMEMBERED = (NoticeKind.STORED, NoticeKind.OPEN)  # what can be heard long after it ceased to be true


@dataclass(frozen=True)
class World:
    """All parties, what was said, and what was ever on its way to the analyzer: (who, attempt, transcript)."""

    parties: tuple[Delivery, ...]
    said: frozenset[Notice] = frozenset()
    sent: frozenset[tuple[int, int, bytes]] = frozenset()

    def outputs(self) -> set[tuple[int, bytes]]:
        """What the analyzer could combine."""
        found = {(attempt, transcript) for _, attempt, transcript in self.sent}
        return {one for one in found if all((who, *one) in self.sent for who in SCHEDULE.last)}

    def after(self, number: int, decision: tuple[Delivery, tuple[Effect, ...]]) -> "World":
        """The world once a party carried out what it decided."""
        party, effects = decision
        parties = tuple(party if one.me == number else one for one in self.parties)
        said = {effect.notice for effect in effects if isinstance(effect, Notify) and effect.notice.kind in REMEMBERED}
        outputs = [effect.delivery_state for effect in effects if isinstance(effect, Output)]
        sent = {(number, delivery_state.attempt, delivery_state.transcript) for delivery_state in outputs}
        return World(parties, self.said | said, self.sent | sent)

    def hears(self, party: Delivery) -> Iterator[Notice]:
        """Whatever a party may hear or be asked now: what is remembered, and what others would answer or ask."""
        yield from (notice for notice in self.said if notice.sender != party.me)
        for other in self.parties:
            if other.me == party.me:
                continue
            if other.delivery_state.phase is Phase.DEAD:
                yield Notice(NoticeKind.TOMBSTONE, other.me, other.delivery_state.attempt)
            for attempt in range(other.delivery_state.attempt + 1):
                yield Notice(NoticeKind.ASK, other.me, attempt)
                if attempt <= other.delivery_state.left:
                    yield Notice(NoticeKind.LOST, other.me, attempt)

    def next(self, *, deadline: bool) -> Iterator[tuple["World", bool]]:
        """Every world one event away, and whether it took a fault to get there."""
        for party in self.parties:
            events: list[Event] = [Restarted(), TimedOut(), Tick(), *map(Heard, self.hears(party))]
            if deadline:
                events.append(Deadline())
            for event in events:
                yield self.after(party.me, party.on(event)), isinstance(event, Restarted | Deadline)
            if party.delivery_state.running and party.me in SCHEDULE.last:
                for transcript in TRANSCRIPTS[party.delivery_state.attempt]:
                    yield self.after(party.me, party.stored(transcript, "vector")), True

    def within(self, attempts: int = ATTEMPTS) -> bool:
        """Whether the attempts that are modelled were not left behind."""
        return all(party.delivery_state.attempt <= attempts for party in self.parties)

    def settled(self) -> bool:
        """Whether the last hiders have nothing to wait for: all send, or one of them never will."""
        places = [party.delivery_state.phase for party in self.parties if party.me in SCHEDULE.last]
        return all(place is Phase.SENDING for place in places) or all(
            place in (Phase.DEAD, Phase.ABORTED) for place in places
        )


def start(kind: type[Delivery] = Delivery) -> World:
    return World(tuple(kind(who, SCHEDULE) for who in (1, 2, 3)))


Graph = dict[World, list[tuple[World, bool]]]


def explored(first: World, *, attempts: int = ATTEMPTS, deadline: bool = True) -> Graph:
    """All that is reachable; planted mistakes are found in less: one attempt, or no deadline."""
    graph: Graph = {}
    frontier = [first]
    while frontier:
        world = frontier.pop()
        if world in graph:
            continue
        graph[world] = [(there, fault) for there, fault in set(world.next(deadline=deadline)) if there != world]
        frontier += [there for there, _ in graph[world] if there.within(attempts) and there not in graph]
    return graph


@pytest.fixture(scope="module")
def graph() -> Graph:
    return explored(start())


def broken(world: World) -> str:
    """What is wrong with a world, if anything."""
    if len(world.outputs()) > 1:
        return "two outputs"
    for _, attempt, _ in world.sent:
        if any(party.delivery_state.attempt > attempt for party in world.parties):
            return "an attempt was entered after another may have been sent"
        if len({transcript for _, of, transcript in world.sent if of == attempt}) > 1:
            return "two transcripts of one attempt were sent"
    return ""


def test_never_two_outputs_in_any_reachable_state(graph: Graph) -> None:
    assert len(graph) > 5000, f"only {len(graph)} states: the model has shrunk"
    assert any(world.outputs() for world in graph), "no output is ever reached: the model shows nothing"
    faults = [fault for world in graph if (fault := broken(world))]
    assert not faults, faults[:3]


def stuck(graph: Graph) -> list[World]:
    """The worlds from which nothing but a further fault leads on."""
    before: dict[World, list[World]] = defaultdict(list)
    for world, following in graph.items():
        for there, fault in following:
            if not fault:
                before[there].append(world)
    # An attempt beyond those modelled counts as getting on; so do an output, and an end that all know of.
    frontier = [world for world in {*before, *graph} if not world.within() or world.settled()]
    getting_on = set(frontier)
    while frontier:
        for world in before[frontier.pop()]:
            if world not in getting_on:
                getting_on.add(world)
                frontier.append(world)
    return [world for world in graph if world not in getting_on]


def test_from_every_state_the_parties_can_get_on_without_a_further_fault(graph: Graph) -> None:
    found = [[party.delivery_state for party in world.parties] for world in stuck(graph)]
    assert not found, f"{len(found)} of {len(graph)} states are stuck: {found[:2]}"


def test_at_the_deadline_each_ends_by_itself_whoever_is_gone(graph: Graph) -> None:
    for party in {party for world in graph for party in world.parties}:
        ended = party.on(Deadline())[0].on(Expired())[0].delivery_state.phase
        assert ended in (Phase.DEAD, Phase.ABORTED), party.delivery_state


class Hasty(Delivery):
    """Leaves what it stored when it runs out of patience, which protocol.md §6.5 forbids: the others wait for ever."""

    def on(self, event: Event) -> tuple[Delivery, tuple[Effect, ...]]:
        if isinstance(event, TimedOut) and self.delivery_state.phase is Phase.STORED:
            return self._leave()
        return super().on(event)


class Forgetful(Delivery):
    """Forgets at a restart that it stored or sent: two outputs."""

    def on(self, event: Event) -> tuple[Delivery, tuple[Effect, ...]]:
        if isinstance(event, Restarted) and self.delivery_state.phase in (Phase.STORED, Phase.SENDING):
            return replace(self, delivery_state=replace(self.delivery_state, phase=Phase.FREE)).on(TimedOut())
        return super().on(event)


def test_the_check_sees_a_shuffler_that_leaves_what_it_stored() -> None:
    assert stuck(explored(start(Hasty), attempts=1))


@pytest.mark.full
def test_the_check_sees_a_shuffler_that_forgets_what_it_stored() -> None:
    assert "two outputs" in {broken(world) for world in explored(start(Forgetful), deadline=False)}


def test_only_the_opener_opens() -> None:
    late = Notice(NoticeKind.OPEN, OPENER + 1, 1)
    assert start().parties[2].on(Heard(late))[0].delivery_state.attempt == 0
