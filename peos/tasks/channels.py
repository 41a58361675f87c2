"""Frequent texts by a public hash that keeps them apart (HASH; Apple's SFP and Bitstogram are instances of it).

A public hash puts each text into one of h channels, few enough texts are frequent that most of them are alone there.
Groups are asked for a block of their text's bits together with its channel, a tenth of the users for whole texts. The
most frequent value of each block of a channel makes one text a channel, and these are ranked by whole texts.
"""

from functools import cached_property
from typing import Final, Unpack

import numpy as np

from peos.errors import WrongInput
from peos.ldp.base import Mechanism, whole_number
from peos.ldp.grouped_hash import MOST_GROUPS, Candidates
from peos.ldp.key_hash import EXT_BITS
from peos.ldp.reports import Reports
from peos.tasks.base import OfTexts, Table, best_of
from peos.tasks.planning import Asked, Planned, Targets, planned
from peos.tasks.prefix_search import MOST_KEPT
from peos.tasks.text_views import MOST_CHANNELS, ChannelView, PrefixView, channel_of
from peos.tasks.texts import MOST_BYTES, Prefix, split
from peos.tasks.views import View

_TENTH: Final = 9  # the weight of every other group, where the last has as many as there are of them
_LAST: Final = 8  # bits that whole texts are counted by, after the rest


class HASH(OfTexts):
    """Texts of `bits` bits in blocks of `step`: the `k` best, of one in each of `channels`.

    With k^1.5 channels, as the thesis has it; Apple's has 256 of them.
    """

    def __init__(
        self, bits: int, k: int, *, step: int = 8, channels: int | None = None, **asked: Unpack[Targets]
    ) -> None:
        self.bits = whole_number(bits, "the bits of a text", least=1, most=8 * MOST_BYTES)
        self.k = whole_number(k, "the number of texts wanted, k,", least=1, most=MOST_KEPT)
        self.step = whole_number(step, "the bits of a block", least=1, most=EXT_BITS)
        several = int(self.k**1.5) if channels is None else channels
        self.channels = whole_number(several, "the number of channels", least=self.k, most=MOST_CHANNELS)
        self.asked = Asked(**asked)
        if len(self._ends) + 1 > MOST_GROUPS:
            raise WrongInput(
                "task.blocks",
                f"texts of {self.bits} bits in blocks of {self.step} are more than {MOST_GROUPS} groups",
                hint="ask for longer blocks",
            )

    @property
    def _ends(self) -> list[tuple[int, int]]:
        return [(first, min(first + self.step, self.bits)) for first in range(0, self.bits, self.step)]

    @cached_property
    def plan(self) -> Planned[Mechanism]:
        """Mechanism, fakes and guarantees of its one round."""
        blocks = len(self._ends)
        return planned(self.asked, (*[_TENTH] * blocks, blocks))

    @property
    def views(self) -> tuple[View, ...]:
        """A group for each block, and one for whole texts."""
        blocks = [ChannelView(*ends, self.bits, self.channels) for ends in self._ends]
        return (*blocks, PrefixView(max(0, self.bits - _LAST), self.bits, self.bits))

    def decode(self, reports: Reports) -> Table:
        """One text a channel, of those that are in it."""
        channels = np.arange(self.channels, dtype=np.uint64)
        texts = [Prefix(0, 0)] * self.channels
        for group, (first, last) in enumerate(self._ends):
            size = last - first
            estimate = reports.estimate(group, Candidates(channels, np.arange(2**size, dtype=np.uint64)))
            best = np.argmax(estimate.frequency.reshape(self.channels, -1), axis=1)
            texts = [text.then(int(part), size) for text, part in zip(texts, best.tolist(), strict=True)]
        # A text whose hash is another channel's was put together of two.
        at = channel_of(np.array([text.parent for text in texts], np.uint64), self.channels)
        found = [text for text, here, hashed in zip(texts, channels, at, strict=True) if here == hashed]
        return best_of(found, reports.estimate(len(self._ends), split(found, min(_LAST, self.bits))), self.k)
