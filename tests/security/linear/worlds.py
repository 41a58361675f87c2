"""The worlds that a coalition has to be unable to tell apart, and the comparison of its views of them.

A base world, whose permutations are those of the recorded keys, is compared with every world in which one round that
is unknown to the coalition permutes in any other way, and with one in which all unknown rounds do.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import permutations

import numpy as np

from peos.crypto.kdf import StreamKey
from peos.crypto.randomness import Randomness
from tests.security.linear.forms import FormBench, Index, Layout, World, world
from tests.security.linear.knowledge import Coalition, Knowledge
from tests.security.linear.recording import Recording
from tests.security.linear.view import View


class Worlds:
    """One recording, replayed under many permutations."""

    def __init__(self, recording: Recording, rows: int, *, bench_type: type[FormBench] = FormBench) -> None:
        self.recording = recording
        self.layout = Layout(recording, rows)
        self._bench_type = bench_type

    @cached_property
    def base(self) -> World:
        """All rounds permute as their keys say."""
        return self.under({})

    def under(self, changed: Mapping[StreamKey, Index]) -> World:
        """These rounds permute so, and all others as their keys say."""

        def permutation(key: StreamKey) -> Index:
            return changed[key] if key in changed else key.stream().permutation(self.layout.rows)

        return world(self.recording, self.layout, permutation, bench_type=self._bench_type)

    def others(self, key: StreamKey) -> Iterator[World]:
        """Every world in which one round, and only that, permutes differently."""
        recorded = tuple(key.stream().permutation(self.layout.rows))
        for order in permutations(range(self.layout.rows)):
            if order != recorded:
                yield self.under({key: np.array(order)})

    def knowledge(self, coalition: Coalition) -> Knowledge:
        """What a coalition knows beforehand, in all of these worlds."""
        return Knowledge.of(coalition, self.recording, self.layout)

    def leaks(self, suspects: Iterable[Coalition], rng: Randomness, *, own: bool = False) -> dict[Coalition, str]:
        """One thing that each coalition learns and must not; a coalition that learns nothing is left out."""
        seen = {coalition: self.knowledge(coalition) for coalition in suspects}
        views = {coalition: View.of(self.base, knowledge, own=own) for coalition, knowledge in seen.items()}
        found = {coalition: sentence for coalition, view in views.items() if (sentence := view.leak())}

        def compare(coalition: Coalition, other: World) -> None:
            if sentence := views[coalition].difference(View.of(other, seen[coalition], own=own)):
                found[coalition] = sentence

        unknown = {who: [key for key in self.recording.rounds if key not in seen[who].permutations] for who in seen}
        for key in self.recording.rounds:
            for other in self.others(key) if any(key in unknown[who] for who in seen.keys() - found.keys()) else ():
                for coalition in [who for who in seen if key in unknown[who] and who not in found]:
                    compare(coalition, other)
        for coalition in [who for who in seen if len(unknown[who]) > 1 and who not in found]:
            compare(coalition, self.under({key: rng.permutation(self.layout.rows) for key in unknown[coalition]}))
        return found
