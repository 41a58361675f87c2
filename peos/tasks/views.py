"""What a client makes of her record before anything is randomised: one frozen dataclass each, pure.

A view is stated in the signed document by kind and integers, and in words to her before anything is sent.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import ClassVar, Protocol

from peos.errors import WrongInput
from peos.ldp.base import whole_number
from peos.ldp.grouped_hash import Keys
from peos.ldp.key_hash import EXT_BITS
from peos.tasks.texts import MOST_BYTES, Texts


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


@dataclass(frozen=True)
class PrefixView:
    """The bits of a text from `first` to before `last`, together with all before them; a text has `bits` in all."""

    kind: ClassVar[str] = "prefix"
    first: int
    last: int
    bits: int

    def __post_init__(self) -> None:
        whole_number(self.bits, "the bits of a text", least=1, most=8 * MOST_BYTES)
        if not (0 <= self.first < self.last <= self.bits and self.last - self.first <= EXT_BITS):
            raise WrongInput(
                "view.prefix",
                f"a prefix of {self.last} bits after one of {self.first} cannot be asked of texts of {self.bits}",
                hint=f"prefixes grow by 1 to {EXT_BITS} bits",
            )

    @property
    def in_words(self) -> str:
        """In bytes where it is whole ones."""
        asked = f"the first {self.last // 8} bytes" if self.last % 8 == 0 else f"the first {self.last} bits"
        return f"{asked} of a text of at most {(self.bits + 7) // 8} bytes"

    @property
    def parameters(self) -> Mapping[str, int]:
        """{"first": …, "last": …, "bits": …}."""
        return asdict(self)

    def keys(self, texts: Texts) -> Keys:
        """(prefix before it, its bits)."""
        return Keys(texts.parents(self.first), texts.exts(self.first, self.last), texts.fits)
