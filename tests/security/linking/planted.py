"""Collections that lack one defence each, which the adversary of this folder must see through.

They exist so that a failed attack means something. Each lacks what its first sentence says, and nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from peos.crypto.schemes.base import PublicKey
from peos.crypto.schemes.paillier import PaillierPublicKey
from peos.shuffle.attempt import Attempt
from peos.shuffle.effects import Effect, SendVector
from peos.shuffle.machine import Shuffler
from peos.shuffle.messages import Kind
from peos.shuffle.vectors import as_rows
from peos.simulate import Node
from peos.simulate.node import Rpc
from peos.wire import shuffles
from tests.security.linear.variants import Reusing, Unmasked
from tests.security.linking.coalition import Orders
from tests.security.linking.collection import Keys, PairedCollection
from tests.security.weakened import OneSquaredBase, Unburied, Unrandomised


def _with_key(weak: type[PaillierPublicKey], *, only_at: int = 0) -> type[PairedCollection]:
    class Weak(Keys):
        def key_in_use(self, public: PublicKey) -> PublicKey:
            assert isinstance(public, PaillierPublicKey), "collections here are Paillier's"
            return weak(public.modulus) if only_at in (0, self.number) else public

    class Collection(PairedCollection):
        node_type = Weak

    return Collection


def _with_attempt(weak: type[Attempt]) -> type[PairedCollection]:
    class Machine(Shuffler):
        attempt_type = weak

    class Weak(Keys):
        shuffler_type = Machine

    class Collection(PairedCollection):
        node_type = Weak

    return Collection


class Confiding(Attempt):
    """Hiders compare the seed itself, not a hash of it: all shufflers hear it."""

    def _confirmation(self, secret: bytes) -> bytes:
        return secret


class Hasty(PairedCollection):
    """A holder sends each row as soon as it is made, in the order in which the ciphertexts came to it."""

    def carry_out(self, node: Node, effect: Effect) -> None:
        """Send a hand-over's rows one by one, in that order; the receiver puts them where they belong."""
        if not isinstance(effect, SendVector) or effect.header.step.kind is not Kind.HANDOVER:
            super().carry_out(node, effect)
            return
        header, rows = effect.header, as_rows(node.bench.vectors[effect.vector])
        (over,) = [one for who, one in self.document.schedule.passes if who == node.number and one.receiver]
        orders = Orders(self, frozenset({node.number}))
        made = orders.composed(header.context.attempt, over.first_round, over.round)
        first, *chunks = shuffles.encode_vector(header, rows, chunk=rows.shape[1])
        self.traffic.count(node.number, [first, *(chunks[row] for row in made.argsort())])
        receiver = self.nodes[header.receiver - 1]
        event = self.read(receiver, node.number, Rpc.VECTOR, [first, *chunks])
        assert event is not None, "a vector is sent once"
        self.feed(receiver, event)


@dataclass(frozen=True)
class Planted:
    """A weakness, a shuffler that it tells the order to, and how many pairs show it."""

    kind: type[PairedCollection]
    member: int
    pairs: int = 30


PLANTED: Final[Mapping[str, Planted]] = {
    "ciphertexts are not re-randomised": Planted(_with_key(Unrandomised), 3),
    "zeros are powers of a single squared base": Planted(_with_key(OneSquaredBase), 1, 200),
    "no ρ at the later holder": Planted(_with_key(Unburied, only_at=2), 1),
    "no zero-sum masks": Planted(_with_attempt(Unmasked), 1),
    "masks used again after a lost attempt": Planted(_with_attempt(Reusing), 3),
    "the seed itself is confirmed": Planted(_with_attempt(Confiding), 3),
    "rows are sent as they are made": Planted(Hasty, 2),
}
