"""SS, the sequential shuffle: onions with a layer for each shuffler, fakes drawn whole (protocol.md §9)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from peos.crypto.identity import Identity
from peos.crypto.onion import ONION, Layer, OnionKeys, OnionPrivateKey
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.base import Packed
from peos.errors import RemoteFault, WrongInput
from peos.ldp.base import Mechanism
from peos.privacy.guarantees import Guarantees
from peos.privacy.sequential import WEAKER, all_fakes, honest_fakes, remaining, sequential_guarantees
from peos.protocols.base import (
    About,
    AnalyzerKey,
    Assignment,
    B,
    BenchFactory,
    Encryption,
    Opens,
    ShuffleProtocol,
    Splitter,
    Terms,
)
from peos.registry import DEFAULT_SCHEME
from peos.shuffle.combine import FinalVector
from peos.shuffle.fakes import fake_shares
from peos.shuffle.relay import FIRST, PRESENT, Line, peeled
from peos.shuffle.schedule import Schedule
from peos.shuffle.sequential import SequentialSchedule, SequentialShuffler
from peos.shuffle.vectors import as_words

WORD_BYTES: Final = 8


@dataclass(frozen=True)
class OnionWrapper(Splitter):
    """An onion for the first shuffler, and to each of the others a byte that says who takes part."""

    keys: OnionKeys

    def split(self, collection: bytes, reports: U64, rng: Randomness) -> list[tuple[bytes, ...]]:
        """The onion of each report, with what the others get."""
        count, words = reports.shape
        rows = reports.astype("<u8").view(np.uint8).reshape(count, WORD_BYTES * words)
        others = (PRESENT,) * (self.keys.layers - 2)
        return [(onion.tobytes(), *others) for onion in self.keys.wrap(collection, rows, rng)]


@dataclass(frozen=True)
class OnionEncryption(Encryption):
    """A layer for each shuffler, and the innermost for the analyzer."""

    keys: OnionKeys
    words: int
    public = None

    def share_bytes(self, shuffler: int) -> int:
        """The whole onion for the first shuffler."""
        return self.keys.row_bytes(WORD_BYTES * self.words, 1) if shuffler == FIRST else len(PRESENT)

    def splitter(self, rng: Randomness, expected: int) -> Splitter:  # noqa: ARG002 - onions have nothing in common
        """Each report is wrapped by itself."""
        return OnionWrapper(self.keys)

    def check_share(self, share: bytes, shuffler: int) -> None:
        """Of an onion only its length can be checked: one that does not open later is its sender's own loss."""
        if shuffler != FIRST and share != PRESENT:
            raise RemoteFault(
                "submit.share_present",
                "the share is not the one of a sequential shuffle",
                party="user",
                step="submission",
                hint="use a client of this version",
            )

    def own_fakes(self, given: Assignment, seed: bytes) -> U64:
        """This shuffler's fakes, whole."""
        own = self._line(given).own_fakes(given.number)
        return fake_shares(seed, given.context, own, self.words)

    def bench(self, given: Assignment, benches: BenchFactory[B]) -> B:
        """A bench of onions."""
        return benches.of_onions(given.number, self._line(given))

    def delivered_bytes(self, sender: int) -> int:  # noqa: ARG002 - there is one
        """Onions of which the analyzer's layer is left."""
        return self.keys.row_bytes(WORD_BYTES * self.words, self.keys.layers)

    def delivered_check(self, sender: int) -> Callable[[Packed], bool] | None:  # noqa: ARG002 - there is one
        """Whether an onion opens is seen when it is opened."""
        return None

    def opened(
        self, collection: bytes, parts: Mapping[int, FinalVector], private: AnalyzerKey, opens: Opens
    ) -> tuple[U64, int]:
        """What is under the last layer of the onions that open."""
        assert isinstance(private, OnionPrivateKey), "a sequential shuffle has onions"
        (held,) = parts.values()
        layer = Layer(private, collection, self.keys.layers)
        onions = np.ascontiguousarray(held.vector).view(np.uint8)
        rows, lost = peeled(onions, lambda rows: opens.peel(layer, rows))
        return as_words(rows), lost

    def _line(self, given: Assignment) -> Line:
        return Line(self.keys, given.context, WORD_BYTES * self.words, given.reports, given.fakes, given.least)


class Sequential(ShuffleProtocol):
    """The shufflers one after another, each with a layer and fakes of its own."""

    name = "ss"
    weaker = WEAKER
    machine = SequentialShuffler
    inspects = False  # no row is committed to that could be followed
    about = About(
        encryption="{scheme}; a sequential shuffle, the weaker baseline",
        fakes="each known to the shuffler that drew it",
        encrypted="the innermost layer of each report is",
        further=(
            "This was a sequential shuffle,",
            "a baseline that protects less than PEOS (docs/protocol.md §9). A shuffler knows the fakes that it drew, "
            "so that each number of them has claims of its own:",
        ),
        limits=(
            (
                "A shuffler of a sequential shuffle can bend the numbers.",
                "It draws its fake reports alone, and no party can tell whether it drew them as it should; reports "
                "that it drops or replaces are noticed only if the analyzer's own are among them, and no party can "
                "tell whose doing it was.",
            ),
        ),
        uninspected="the shufflers of a sequential shuffle have nothing to open.",
    )

    def schedule(self, shufflers: int) -> Schedule:
        """One shuffler after another."""
        return SequentialSchedule(shufflers)

    def scheme(self, named: str | None) -> str:
        """Onions; WrongInput if another was named."""
        if named is not None:
            raise WrongInput(
                "plan.scheme_unused",
                "a sequential shuffle has onions, and no encryption scheme",
                hint="leave --scheme out",
            )
        return ONION

    def check_terms(self, terms: Terms) -> None:
        """Onions, and a key of each shuffler."""
        if terms.scheme != ONION or len(terms.onion_keys) != len(terms.shufflers):
            raise WrongInput(
                "document.onions", "the sequential shuffle, and it alone, has onions and an onion key of each shuffler"
            )

    def encryption(self, terms: Terms, *, floor: int) -> OnionEncryption:  # noqa: ARG002 - points have one size
        """Everybody's points."""
        return OnionEncryption(OnionKeys((*terms.onion_keys, terms.public_key)), terms.mechanism.words)

    def generate(self, scheme: str, rng: Randomness, *, bits: int) -> AnalyzerKey:  # noqa: ARG002 - there is one kind
        """A key for the last layer."""
        return OnionPrivateKey.generate(rng)

    def private_key(self, scheme: str, secret: bytes, *, floor: int) -> AnalyzerKey:  # noqa: ARG002 - there is one kind
        """The key of the last layer."""
        return OnionPrivateKey(secret)

    def public_part(self, private: AnalyzerKey) -> tuple[str, bytes]:
        """The analyzer's point."""
        assert isinstance(private, OnionPrivateKey), "a sequential shuffle has onions"
        return ONION, private.point

    def shufflers_keys(self, shown: Sequence[tuple[str, bytes]]) -> tuple[bytes, ...]:
        """The points on the cards."""
        for name, key in shown:
            if not key:
                raise WrongInput(
                    "card.no_onion_key",
                    f"the card of {name} shows no onion key, which a sequential shuffle needs",
                    hint="its operator removes the card, runs `peos shuffler init` again, and hands the new one out",
                )
        return tuple(key for _, key in shown)

    def is_own_key(self, terms: Terms, number: int, shown: bytes) -> bool:
        """Each layer must be its shuffler's own: a party with the keys of all layers opens every onion."""
        return terms.onion_keys[number - 1] == shown

    def key_shown(self, identity: Identity) -> bytes:
        """The point of the key that follows from its identity."""
        return OnionPrivateKey.of(identity).point

    def claims(self, mechanism: Mechanism, users: int, fakes: int, delta: float, shufflers: int) -> Guarantees:
        """The fakes of colluding shufflers do not count."""
        return sequential_guarantees(mechanism, users, fakes, delta, shufflers)

    def hiding_fakes(self, fakes: int, shufflers: int) -> int:
        """Those of the honest."""
        return remaining(fakes, shufflers, Schedule(shufflers).colluders)

    def plans_with(self, fakes: str, shufflers: int) -> str:
        """On those of the honest."""
        return honest_fakes(fakes, shufflers)

    def fakes_for(self, asked: str, planned: int, shufflers: int) -> int:
        """So many that the honest draw what the plan counts on."""
        return all_fakes(asked, planned, shufflers)

    def priced_as(self, scheme: str) -> str:  # noqa: ARG002 - onions have no price in a plan
        """Any: the costs of such a plan are not looked at."""
        return DEFAULT_SCHEME


SEQUENTIAL: Final = Sequential()
