"""Views of a text: a part of its bits, which is hashed together with what is before it or with where it belongs."""

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from peos.crypto.randomness import U64, Randomness
from peos.errors import WrongInput
from peos.ldp.base import whole_number
from peos.ldp.grouped_hash import Keys
from peos.ldp.hashing import splitmix64
from peos.ldp.key_hash import EXT_BITS
from peos.tasks.labels import is_text
from peos.tasks.texts import MOST_BYTES, Records, Texts
from peos.tasks.views import Fields

MOST_CHANNELS: Final = 1 << 20


class TextView(Fields):
    """A view of a text of at most `bits` bits, of which a key is made."""

    gives: ClassVar[str] = "key"
    cells: ClassVar[int] = 0  # keys are not counted out
    bits: int

    @property
    def reads(self) -> Hashable:
        """The same for all texts of so many bits."""
        return "text", self.bits

    def read(self, records: Records) -> Texts:
        """Cut, or filled up."""
        return Texts.of(records, self.bits)

    def problem(self, record: object) -> str:
        """What is no text; one that is too long is cut, and answers all the same."""
        return "" if is_text(record) else "the record is not a text"

    @property
    def _text(self) -> str:
        """What it is asked of, in words."""
        return f"a text of at most {(self.bits + 7) // 8} bytes"

    @abstractmethod
    def keys(self, texts: Texts) -> Keys:
        """One column: each text's key."""

    def answers(self, read: Texts, rng: Randomness) -> Keys:  # noqa: ARG002 - nothing is left to chance
        """Each record's key."""
        return self.keys(read)


@dataclass(frozen=True)
class PartView(TextView):
    """The bits of a text from `first` to before `last`; a text has `bits` in all."""

    first: int
    last: int
    bits: int

    def __post_init__(self) -> None:
        _check_segment(self.first, self.last, self.bits)


class PrefixView(PartView):
    """These bits, together with all before them."""

    kind: ClassVar[str] = "prefix"

    @property
    def in_words(self) -> str:
        """In bytes where it is whole ones."""
        return f"{_first(self.last)} of {self._text}"

    def keys(self, texts: Texts) -> Keys:
        """(prefix before it, its bits)."""
        return Keys(texts.parents(self.first), texts.exts(self.first, self.last), texts.fits)


class SegmentView(PartView):
    """These bits, whatever is before them."""

    kind: ClassVar[str] = "segment"

    @property
    def in_words(self) -> str:
        """By their places."""
        return f"bits {self.first + 1} to {self.last} of {self._text}"

    def keys(self, texts: Texts) -> Keys:
        """(nothing, the bits)."""
        exts = texts.exts(self.first, self.last)
        return Keys(np.zeros_like(exts), exts, texts.fits)


@dataclass(frozen=True)
class PairView(TextView):
    """Two segments of a text together, of which the one that begins at `first` comes first."""

    kind: ClassVar[str] = "pair"
    first: int
    last: int
    other_first: int
    other_last: int
    bits: int

    def __post_init__(self) -> None:
        _check_segment(self.first, self.last, self.bits)
        _check_segment(self.other_first, self.other_last, self.bits)

    @property
    def in_words(self) -> str:
        """By their places."""
        places = f"bits {self.first + 1} to {self.last} and {self.other_first + 1} to {self.other_last}"
        return f"{places} of {self._text}"

    def keys(self, texts: Texts) -> Keys:
        """(one segment, the other)."""
        one = texts.exts(self.first, self.last)
        return Keys(one, texts.exts(self.other_first, self.other_last), texts.fits)


@dataclass(frozen=True)
class ChannelView(PartView):
    """These bits, with the channel that the whole text hashes to."""

    kind: ClassVar[str] = "channel"
    channels: int

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.channels, "the number of channels", least=1, most=MOST_CHANNELS)

    @property
    def in_words(self) -> str:
        """By their places, and how many channels there are."""
        asked = f"bits {self.first + 1} to {self.last} of {self._text}"
        return f"{asked}, and which of {self.channels} classes the text is in"

    def keys(self, texts: Texts) -> Keys:
        """(channel, bits)."""
        whole = texts.parents(self.bits)
        return Keys(channel_of(whole, self.channels), texts.exts(self.first, self.last), texts.fits)


def channel_of(texts: U64, channels: int) -> U64:
    """The channel of each text, as hash functions take it: a public hash, the same for everybody."""
    found: U64 = (splitmix64(texts, 1) >> np.uint64(32)) * np.uint64(channels) >> np.uint64(32)
    return found


def _check_segment(first: int, last: int, bits: int) -> None:
    whole_number(bits, "the bits of a text", least=1, most=8 * MOST_BYTES)
    if not (0 <= first < last <= bits and last - first <= EXT_BITS):
        raise WrongInput(
            "view.segment",
            f"bits {first + 1} to {last} cannot be asked of texts of {bits} bits",
            hint=f"a segment has 1 to {EXT_BITS} bits",
        )


def _first(bits: int) -> str:
    """In bytes where it is whole ones."""
    number, unit = (bits // 8, "byte") if bits % 8 == 0 else (bits, "bit")
    return f"the first {unit}" if number == 1 else f"the first {number} {unit}s"
