"""What a coalition knows before it looks at any vector: keys named to its machines, and keys it can derive from words.

Commitments, confirmations, roots and salts are taken as ideal: hashes of 256 random bits tell no party anything.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations

from peos.crypto.kdf import Context, StreamKey, derive
from peos.shuffle import agreement
from peos.shuffle.attempt import ENCRYPTED_SHARE
from peos.shuffle.effects import Mix, Pass, Split
from peos.shuffle.messages import Kind
from peos.shuffle.schedule import Schedule
from tests.security.linear.forms import USERS_COIN, Change, Coin, Layout, Share, Unknown
from tests.security.linear.recording import Recording

Coalition = frozenset[int]


def coalitions(schedule: Schedule, *sizes: int) -> list[Coalition]:
    """All sets of shufflers of these sizes; by default of every size up to c, the empty one too."""
    everyone = range(1, schedule.shufflers + 1)
    wanted = sizes or range(schedule.colluders + 1)
    return [frozenset(members) for size in wanted for members in combinations(everyone, size)]


@dataclass(frozen=True)
class Knowledge:
    """The unknowns of a layout, by what they are to a coalition that leaves out at least one shuffler."""

    coalition: Coalition
    permutations: frozenset[StreamKey]  # those it knows
    known: tuple[Unknown, ...]  # its streams, and the coins of the passes that it made
    own: tuple[Unknown, ...]  # the inputs that it was given, and all changes
    others: tuple[Unknown, ...]  # all other inputs, but for the closing shuffler's
    closing: Share
    hidden: tuple[Unknown, ...]  # all other streams and coins

    @classmethod
    def of(cls, coalition: Coalition, recording: Recording, layout: Layout) -> "Knowledge":
        """What the members know together."""
        keys = named(coalition, recording) | derived(coalition, recording)
        coins = {Coin(task.out) for who, task in recording.asked if who in coalition and isinstance(task, Pass)}
        own: set[Unknown] = {Share(who) for who in coalition}
        own |= {unknown for unknown in layout.inputs if isinstance(unknown, Change)}
        if ENCRYPTED_SHARE in coalition:
            own.add(USERS_COIN)
        closing = Share(min(set(range(1, recording.schedule.shufflers + 1)) - coalition))
        drawn = [unknown for unknown in layout.unknowns if unknown not in layout.inputs]
        return cls(
            coalition,
            permutations=keys & recording.rounds.keys(),
            known=tuple(unknown for unknown in drawn if unknown in keys or unknown in coins),
            own=tuple(unknown for unknown in layout.inputs if unknown in own),
            others=tuple(unknown for unknown in layout.inputs if unknown not in own and unknown != closing),
            closing=closing,
            hidden=tuple(unknown for unknown in drawn if unknown not in keys and unknown not in coins),
        )


def named(coalition: Coalition, recording: Recording) -> frozenset[StreamKey]:
    """Every key that a member's machine was given to work with."""
    keys: set[StreamKey] = set()
    for who, task in recording.asked:
        if who not in coalition:
            continue
        match task:
            case Split():
                keys.update(task.streams)
            case Mix():
                keys.update((*task.streams, *task.plus, *task.minus, task.permutation))
            case Pass():
                keys.update(task.permutations)
    return frozenset(keys)


def derived(coalition: Coalition, recording: Recording) -> frozenset[StreamKey]:
    """Every key that follows from the words which members sent or received.

    This is more than what their machines use: a party that knows all contributions to a round knows its seed, and
    with it the masks between every pair of its hiders.
    """
    keys: set[StreamKey] = set()
    contributions: defaultdict[tuple[Context, int], dict[int, bytes]] = defaultdict(dict)
    for word in recording.words:
        header, number = word.header, word.header.step.round
        if coalition.isdisjoint((header.sender, header.receiver)):
            continue
        if header.step.kind is Kind.SEED:
            key = derive(
                word.body, "part", header.context, round_=number, sender=header.sender, receiver=header.receiver
            )
            keys.add(key)
        if header.step.kind is Kind.REVEAL:
            contributions[header.context, number][header.sender] = word.body
    for (context, number), revealed in contributions.items():
        hiders = recording.schedule.hiders(number)
        if set(revealed) == set(hiders):
            secret = agreement.seed(context, number, revealed)
            keys.add(derive(secret, "permutation", context, round_=number))
            for low, high in combinations(hiders, 2):
                keys.add(derive(secret, "mask", context, round_=number, sender=low, receiver=high))
    return frozenset(keys)
