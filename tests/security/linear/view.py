"""What a coalition sees of a world, and whether it could as well be the view of another world.

A coalition's view is affine in the streams and coins that it does not know, which are independent and uniform:

    view = L·z + R·y,   z hidden and uniform; y what is fixed: the streams it knows, and all inputs.

So the view is uniform on a coset of the span of L's columns, and all that can be learnt from it is in the combinations
N of its entries in which every z cancels (N·L = 0): there the view is certain to equal N·R·y, and the rest is noise.
Two worlds look alike if and only if the same combinations cancel in both, with the same values. `elimination` finds N
over the integers, so this holds in Z_{2^64} as it stands.

The inputs are written in the coordinates of the claim: the words in the order in which they come out, every change
between attempts, and every share but those of one shuffler outside the coalition, the *closing* one, whose share is the
word less all others and all changes. The coordinates are free whatever the users and the coalition chose, so one
comparison speaks for all choices at once.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tests.security.linear.elimination import vanishing
from tests.security.linear.forms import Change, Coin, Integers, Layout, Sealed, Share, Unknown, World
from tests.security.linear.knowledge import Knowledge
from tests.security.linear.recording import ANALYZER


@dataclass(frozen=True)
class View:
    """view = hidden · z + fixed · y + others · x, in the coordinates of the claim."""

    entries: tuple[str, ...]
    hidden: Integers  # coefficients of the unknown streams and coins
    fixed: Integers  # of what the coalition may learn: known streams, output words, its own inputs
    others: Integers  # of what it may not: how the words were split among the rest
    named: tuple[str, ...]  # the columns of `fixed`, then those of `others`
    words: slice  # where the output words are among the columns of `fixed`

    @cached_property
    def certain(self) -> Integers:
        """The combinations of entries in which nothing hidden is left."""
        return vanishing(self.hidden[:, np.any(self.hidden, axis=0)])

    @classmethod
    def of(cls, world: World, seen: Knowledge, *, own: bool = False, delivered: bool = True) -> "View":
        """Everything that reaches a member or the analyzer, ciphertexts decrypted.

        What members make of it themselves adds nothing, and is left out unless `own` asks for it.
        """
        layout = world.layout
        entries: list[str] = []
        parts = [np.zeros((0, layout.width), np.int64)]
        for arrival in world.arrivals:
            reached = delivered if arrival.receiver == ANALYZER else arrival.receiver in seen.coalition
            if not reached or (arrival.own and not own):
                continue
            vector = arrival.vector
            forms = {"word": vector.words, "coin": vector.coins} if isinstance(vector, Sealed) else {"word": vector}
            for what, rows in forms.items():
                parts.append(rows)
                entries += [f"{what} {row} of [{arrival.name}]" for row in range(layout.rows)]
        whole = np.concatenate(parts)
        closing = whole[:, layout.columns(seen.closing)]

        def taken(unknowns: Iterable[Unknown]) -> Integers:
            columns = [np.zeros((len(whole), 0), np.int64)]
            for unknown in unknowns:
                here = whole[:, layout.columns(unknown)]
                columns.append(here - closing if isinstance(unknown, Share | Change) else here)
            return np.concatenate(columns, axis=1)

        allowed = (taken(seen.known), closing[:, world.order], taken(seen.own))
        words = [f"output word {row}" for row in range(layout.rows)]
        return cls(
            entries=tuple(entries),
            hidden=taken(seen.hidden),
            fixed=np.concatenate(allowed, axis=1),
            others=taken(seen.others),
            words=slice(layout.rows * len(seen.known), layout.rows * (len(seen.known) + 1)),
            named=(*_names(seen.known, layout), *words, *_names((*seen.own, *seen.others), layout)),
        )

    def leak(self) -> str:
        """What the view is certain of that depends on how honest shares split the words; empty if there is nothing."""
        leaks = np.flatnonzero(np.any(self.certain @ self.others, axis=1))
        return self._sentence(self.certain[leaks[0]]) if leaks.size else ""

    def told(self) -> str:
        """A relation that involves the words of the output; empty if there is none."""
        relations = np.flatnonzero(np.any((self.certain @ self.fixed)[:, self.words], axis=1))
        return self._sentence(self.certain[relations[0]]) if relations.size else ""

    def difference(self, other: "View") -> str:
        """What tells this view from that of another world; empty if they are distributed alike for all inputs."""
        for here, there in ((self, other), (other, self)):
            if np.any(moved := here.certain @ there.hidden):
                relation = here.certain[np.flatnonzero(np.any(moved, axis=1))[0]]
                return f"{here._sentence(relation)} in one world, and is noise in the other"
        change = self.certain @ np.concatenate((self.fixed - other.fixed, self.others - other.others), axis=1)
        rows = np.flatnonzero(np.any(change, axis=1))
        if not rows.size:
            return ""
        relation = self.certain[rows[0]]
        return f"{self._sentence(relation)} in one world, {other._value(relation)} in the other"

    def _sentence(self, relation: Integers) -> str:
        return f"{_terms(relation, self.entries)} is {self._value(relation)}"

    def _value(self, relation: Integers) -> str:
        return _terms(relation @ np.concatenate((self.fixed, self.others), axis=1), self.named)


def _names(unknowns: Iterable[Unknown], layout: Layout) -> list[str]:
    names = []
    for number, unknown in enumerate(unknowns):
        match unknown:
            case Share(who):
                names += [f"share {who} of user {row}" for row in range(layout.rows)]
            case Change(who, attempt):
                names += [f"change {attempt} of share {who} of user {row}" for row in range(layout.rows)]
            case Coin(made_by):
                names += [f"coin {row} of {made_by}" for row in range(layout.rows)]
            case _:
                names += [f"word {row} of known stream {number}" for row in range(layout.rows)]
    return names


def _terms(coefficients: Integers, names: tuple[str, ...]) -> str:
    found = [f"{coefficients[at]:+d}·({names[at]})" for at in np.flatnonzero(coefficients)]
    more = f" and {len(found) - 6} more" if len(found) > 6 else ""
    return " ".join(found[:6]) + more if found else "0"
