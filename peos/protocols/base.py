"""The interface of shuffle protocols: all other code asks these objects, and never which of them it has.

A `ShuffleProtocol` has no state. With the keys that a collection's document names it makes an `Encryption`: how long
shares are, how they are made and checked, what a shuffler works them on, and how the output is opened.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

from peos.crypto.identity import Identity
from peos.crypto.kdf import Context
from peos.crypto.onion import Layer, OnionPrivateKey
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.base import Packed, PrivateKey, PublicKey
from peos.ldp.base import Mechanism
from peos.privacy.guarantees import Guarantees
from peos.shuffle.bench import AbstractBench
from peos.shuffle.combine import FinalVector
from peos.shuffle.machine import Shuffler
from peos.shuffle.relay import Line
from peos.shuffle.schedule import Schedule

B_co = TypeVar("B_co", covariant=True)
B = TypeVar("B", bound=AbstractBench)
AnalyzerKey = PrivateKey | OnionPrivateKey
"""What opens the output of a collection; `encode()` is its secret."""


class Terms(Protocol):
    """What a protocol reads of a collection document."""

    @property
    def scheme(self) -> str:
        """The name of the encryption."""

    @property
    def public_key(self) -> bytes:
        """The analyzer's."""

    @property
    def onion_keys(self) -> tuple[bytes, ...]:
        """The shufflers' own, where the protocol has such."""

    @property
    def shufflers(self) -> Sequence[object]:
        """Who shuffles, in order."""

    @property
    def mechanism(self) -> Mechanism:
        """How users randomise."""


@dataclass(frozen=True)
class Assignment:
    """What shuffler `number` knows of the frozen collection that it shuffles."""

    number: int
    context: Context  # its attempt does not matter
    reports: int  # frozen, dummies among them
    fakes: int
    least: int  # reports below which nothing is delivered, dummies among them


class BenchFactory(Protocol[B_co]):
    """What makes workbenches: a party in memory, or a process with workers and files."""

    def of_shares(self, rows: int, words: int, public: PublicKey) -> B_co:
        """For vectors of shares, and the ciphertexts of the first of them."""

    def of_onions(self, number: int, line: Line) -> B_co:
        """For onions, of which this shuffler removes a layer."""


class Opens(Protocol):
    """What opens rows: the analyzer in memory, or with its workers, block by block."""

    def decrypt(self, private: PrivateKey, rows: Packed, *, passes: int) -> U64:
        """The words behind rows of ciphertexts that were re-randomised so many times, as (rows, words)."""

    def peel(self, layer: Layer, onions: Packed) -> Packed:
        """See `Layer.under`."""


class Splitter(ABC):
    """Makes submissions of reports; one serves many users."""

    @abstractmethod
    def split(self, collection: bytes, reports: U64, rng: Randomness) -> list[tuple[bytes, ...]]:
        """The shares of each report, in the order of the shufflers. `rng` is the user's own."""


class Encryption(ABC):
    """How one collection's reports are encrypted: under the keys of its document, every condition on them checked."""

    public: PublicKey | None
    """The key under which shufflers re-randomise, if they do: zeros for it can be made ahead."""

    @abstractmethod
    def share_bytes(self, shuffler: int) -> int:
        """How long a share for one shuffler is."""

    @abstractmethod
    def splitter(self, rng: Randomness, expected: int) -> Splitter:
        """Something that splits about `expected` reports; `rng` is for what they have in common."""

    @abstractmethod
    def check_share(self, share: bytes, shuffler: int) -> None:
        """RemoteFault if a share of the right length is not one that this shuffler may take in."""

    @abstractmethod
    def own_fakes(self, given: Assignment, seed: bytes) -> U64:
        """What a shuffler draws of the fakes, the same at each call: its shares of all, or its own whole."""

    @abstractmethod
    def bench(self, given: Assignment, benches: BenchFactory[B]) -> B:
        """What a shuffler works its vectors on."""

    @abstractmethod
    def delivered_bytes(self, sender: int) -> int:
        """How long a row is that a last hider delivers."""

    @abstractmethod
    def delivered_check(self, sender: int) -> Callable[[Packed], bool] | None:
        """What tells whether delivered rows are what they claim to be; None if that is seen when they are opened."""

    @abstractmethod
    def opened(
        self, collection: bytes, parts: Mapping[int, FinalVector], private: AnalyzerKey, opens: Opens
    ) -> tuple[U64, int]:
        """The output's words as (rows, words), fakes and dummies among them; and how many rows did not open.

        RemoteFault where the parts are not those of one output.
        """


@dataclass(frozen=True)
class About:
    """What people read of a protocol, in sentences or parts of such."""

    encryption: str  # whose {scheme}, and which shuffle
    fakes: str  # whose they are
    encrypted: str  # what of each report is encrypted to the analyzer
    further: tuple[str, str] | None = None  # what stands above claims that not every protocol makes
    limits: tuple[tuple[str, str], ...] = ()  # what is not claimed: a sentence, and more of it
    uninspected: str = ""  # why no work was inspected


class ShuffleProtocol(ABC):
    """One way to shuffle. The names of all are in `peos.protocols`."""

    name: ClassVar[str]
    weaker: ClassVar[str] = ""
    """How it protects less than the default; such a protocol takes place only where policies name it."""
    machine: ClassVar[type[Shuffler]]
    inspects: ClassVar[bool]  # whether rows can be followed once all is delivered
    about: ClassVar[About]

    @abstractmethod
    def schedule(self, shufflers: int) -> Schedule:
        """Who hides when."""

    # Keys.

    @abstractmethod
    def scheme(self, named: str | None) -> str:
        """The name of a collection's encryption: the one that was asked for, or the protocol's own."""

    @abstractmethod
    def check_terms(self, terms: Terms) -> None:
        """WrongInput unless the document has the kinds of keys that the protocol needs, and no others."""

    @abstractmethod
    def encryption(self, terms: Terms, *, floor: int) -> Encryption:
        """The document's keys, checked."""

    @abstractmethod
    def generate(self, scheme: str, rng: Randomness, *, bits: int) -> AnalyzerKey:
        """A fresh key for the analyzer."""

    @abstractmethod
    def private_key(self, scheme: str, secret: bytes, *, floor: int) -> AnalyzerKey:
        """The key behind its secret."""

    @abstractmethod
    def public_part(self, private: AnalyzerKey) -> tuple[str, bytes]:
        """What the document says of the analyzer's key: the scheme, and its public part."""

    @abstractmethod
    def shufflers_keys(self, shown: Sequence[tuple[str, bytes]]) -> tuple[bytes, ...]:
        """What the document says of the shufflers' keys, given the name and the key on each card."""

    @abstractmethod
    def is_own_key(self, terms: Terms, number: int, shown: bytes) -> bool:
        """Whether the document has this key in shuffler `number`'s place, where it has keys of shufflers."""

    @abstractmethod
    def key_shown(self, identity: Identity) -> bytes:
        """What a shuffler's card shows for this protocol; empty where nothing is needed."""

    # Privacy and planning.

    @abstractmethod
    def claims(self, mechanism: Mechanism, users: int, fakes: int, delta: float, shufflers: int) -> Guarantees:
        """What is guaranteed if so many honest users are counted."""

    @abstractmethod
    def hiding_fakes(self, fakes: int, shufflers: int) -> int:
        """The fakes that hide a user although as many shufflers collude as PEOS allows for."""

    @abstractmethod
    def plans_with(self, fakes: str, shufflers: int) -> str:
        """What a plan may count on of the fakes that were asked for, a number or `auto`."""

    @abstractmethod
    def fakes_for(self, asked: str, planned: int, shufflers: int) -> int:
        """How many fakes there are to be, if a plan counts on `planned`."""

    @abstractmethod
    def priced_as(self, scheme: str) -> str:
        """The encryption scheme whose prices a plan quotes."""
