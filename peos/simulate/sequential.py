"""A sequential shuffle in memory: the same parties and messages, with onions in place of shares (protocol.md §9)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from peos.collection.document import SEQUENTIAL
from peos.collection.onions import prepare_onions
from peos.collection.submission import Part
from peos.crypto.identity import Identity
from peos.crypto.onion import ONION, Layer, OnionKeys, OnionPrivateKey
from peos.crypto.randomness import U64
from peos.crypto.schemes.base import KEY_BITS_FLOOR, Packed, PrivateKey
from peos.shuffle import fakes
from peos.shuffle.relay import Line, Relay, peeled
from peos.shuffle.sequential import SequentialShuffler
from peos.shuffle.vectors import Vector, as_words
from peos.simulate.node import Node
from peos.simulate.simulation import Simulation


class SequentialNode(Node):
    """A shuffler whose vectors are onions."""

    shuffler_type = SequentialShuffler
    relay_type = Relay
    bench: Relay  # type: ignore[assignment] # who drives a node asks of it only what both kinds offer

    def open_keys(self, floor: int) -> None:  # noqa: ARG002 - points have one size
        """Everybody's points, and this shuffler's own key."""
        found = self.document.encryption()
        assert isinstance(found, OnionKeys), "a sequential shuffle has onions"
        self.keys = found
        self.private = OnionPrivateKey.of(self.identity)

    @property
    def encryption(self) -> OnionKeys:
        """What users' parts are checked against."""
        return self.keys

    @property
    def line(self) -> Line:
        """The frozen collection."""
        document = self.document
        least = document.minimum + len(document.dummies)
        return Line(self.keys, self.context, 8 * document.mechanism.words, len(self.frozen), document.fakes, least)

    def lay_out(self, shares: Packed) -> None:
        """The frozen onions, and this shuffler's own fakes."""
        bench = self.relay_type(self.number, self.line, self.private)
        bench.lay_out(shares, self.fake_shares(self.fake_seed), fakes.wrapping(self.fake_seed, self.context))
        self.bench = bench

    def fake_shares(self, seed: bytes) -> U64:
        """This shuffler's fakes, whole."""
        own = self.line.own_fakes(self.number)
        return fakes.fake_shares(seed, self.context, own, self.document.mechanism.words)


class SequentialSimulation(Simulation):
    """All parties of one sequential shuffle."""

    node_type: type[Node] = SequentialNode

    def encryption(self, scheme: str, key: PrivateKey | None) -> dict[str, Any]:  # noqa: ARG002 - it has its own
        """The analyzer's point."""
        self.onion = OnionPrivateKey.generate(self.rng)
        self.floor = KEY_BITS_FLOOR
        return {"scheme": ONION, "public_key": self.onion.point}

    def of_shufflers(self, identities: Sequence[Identity]) -> dict[str, Any]:
        """Their points."""
        return {"protocol": SEQUENTIAL, "onion_keys": tuple(OnionPrivateKey.of(one).point for one in identities)}

    @property
    def keys(self) -> OnionKeys:
        """Everybody's points."""
        found = self.document.encryption()
        assert isinstance(found, OnionKeys), "a sequential shuffle has onions"
        return found

    def parts_of(self, reports: U64, ids: Sequence[bytes]) -> list[tuple[Part, ...]]:
        """Each report's parts, ready to send."""
        tickets = [self.ticket(id_) for id_ in ids]
        return prepare_onions(self.digest, self.keys, reports, tickets, self.rng)

    def take_in(self, sender: int, rows: Packed) -> Vector:  # noqa: ARG002 - there is one
        """What the last shuffler delivered; whether it opens is seen when it is opened."""
        return rows

    def inspect(self) -> None:
        """Nothing can be: no row was committed to that could be followed."""
        for node in self.nodes:
            node.bench.vectors.clear()

    def decrypted(self) -> U64:
        """All rows of the output that open, as words."""
        layer = Layer(self.onion, self.digest, self.keys.layers)
        rows, _ = peeled(self.output.vector.view(np.uint8), layer.under)
        return as_words(rows)
