"""What a client makes of her record before anything is randomised: one frozen dataclass each, pure.

A view is stated in the signed document by kind and integers, and in words to her before anything is sent.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

import numpy as np

from peos.crypto.randomness import U64
from peos.errors import WrongInput
from peos.ldp.base import whole_number
from peos.ldp.grouped_hash import Keys
from peos.ldp.hashing import splitmix64
from peos.ldp.key_hash import EXT_BITS
from peos.tasks.texts import MOST_BYTES, Texts

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MOST_CHANNELS: Final = 1 << 20


class View(Protocol):
    """One question to a record."""

    kind: ClassVar[str]

    @property
    def in_words(self) -> str:
        """What is asked of a record."""

    @property
    def parameters(self) -> Mapping[str, int]:
        """The integers that, with the kind, determine it."""

    def keys(self, texts: Texts) -> Keys:
        """One column: each record's key."""


class _Fields:
    """A view whose parameters are its fields."""

    @property
    def parameters(self: "DataclassInstance") -> Mapping[str, int]:
        """The integers that, with the kind, determine it."""
        return asdict(self)


@dataclass(frozen=True)
class PrefixView(_Fields):
    """The bits of a text from `first` to before `last`, together with all before them; a text has `bits` in all."""

    kind: ClassVar[str] = "prefix"
    first: int
    last: int
    bits: int

    def __post_init__(self) -> None:
        _check_segment(self.first, self.last, self.bits)

    @property
    def in_words(self) -> str:
        """In bytes where it is whole ones."""
        asked = f"the first {self.last // 8} bytes" if self.last % 8 == 0 else f"the first {self.last} bits"
        return f"{asked} of a text of at most {(self.bits + 7) // 8} bytes"

    def keys(self, texts: Texts) -> Keys:
        """(prefix before it, its bits)."""
        return Keys(texts.parents(self.first), texts.exts(self.first, self.last), texts.fits)


@dataclass(frozen=True)
class SegmentView(_Fields):
    """The bits of a text from `first` to before `last`, whatever is before them."""

    kind: ClassVar[str] = "segment"
    first: int
    last: int
    bits: int

    def __post_init__(self) -> None:
        _check_segment(self.first, self.last, self.bits)

    @property
    def in_words(self) -> str:
        """By their places."""
        return f"bits {self.first + 1} to {self.last} of a text of at most {(self.bits + 7) // 8} bytes"

    def keys(self, texts: Texts) -> Keys:
        """(nothing, the bits)."""
        exts = texts.exts(self.first, self.last)
        return Keys(np.zeros_like(exts), exts, texts.fits)


@dataclass(frozen=True)
class PairView(_Fields):
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
        return f"{places} of a text of at most {(self.bits + 7) // 8} bytes"

    def keys(self, texts: Texts) -> Keys:
        """(one segment, the other)."""
        one = texts.exts(self.first, self.last)
        return Keys(one, texts.exts(self.other_first, self.other_last), texts.fits)


@dataclass(frozen=True)
class ChannelView(_Fields):
    """The bits of a text from `first` to before `last`, with the channel that the whole text hashes to."""

    kind: ClassVar[str] = "channel"
    first: int
    last: int
    bits: int
    channels: int

    def __post_init__(self) -> None:
        _check_segment(self.first, self.last, self.bits)
        whole_number(self.channels, "the number of channels", least=1, most=MOST_CHANNELS)

    @property
    def in_words(self) -> str:
        """By their places, and how many channels there are."""
        return (
            f"bits {self.first + 1} to {self.last} of a text of at most {(self.bits + 7) // 8} bytes, and which of "
            f"{self.channels} classes the text is in"
        )

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
