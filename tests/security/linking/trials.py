"""Many collections, and what each coalition's chooser makes of them."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from peos.crypto.randomness import Randomness
from peos.crypto.schemes.paillier import Paillier, PaillierPrivateKey
from tests.security.linking.chooser import Judged, judged
from tests.security.linking.coalition import Ciphertexts, Coalition, Seen, coalitions_of
from tests.security.linking.collection import PairedCollection
from tests.security.linking.evidence import Evidence, evidence

KEY_BITS = 512  # no defence against linking depends on the length; r = 5 makes three passes, 512 bits have room for six


@dataclass
class Trials:
    """What the coalitions saw of collections of one kind."""

    seen: dict[Coalition, list[Evidence]] = field(default_factory=dict, repr=False)
    traces: set[bytes] = field(default_factory=set)  # of the messages of each: who, how many, how long, in which order

    def judged(self, coalition: Coalition) -> Judged:
        """What a coalition's chooser achieves on the second half."""
        return judged(self.seen[coalition], named_stream(f"coins of {sorted(coalition)}"))


def run(
    kind: type[PairedCollection],
    shufflers: int,
    collections: int,
    pairs: int,
    *,
    coalitions: Sequence[Coalition] = (),
    progress: Callable[[int], None] = lambda _: None,
) -> Trials:
    """So many collections, drawn from named streams, so that a run can be repeated; by default all sets of c."""
    key = named_key()
    trials = Trials()
    for number in range(collections):
        collection = kind(
            key, named_stream(f"{shufflers} shufflers, collection {number}"), shufflers=shufflers, pairs=pairs
        )
        trials.traces.add(collection.trace)
        opened: dict[int, Ciphertexts] = {}
        for coalition in coalitions or coalitions_of(collection.document.schedule):
            trials.seen.setdefault(coalition, []).append(evidence(Seen(collection, coalition, opened)))
        progress(number + 1)
    return trials


def named_stream(name: str) -> Randomness:
    """A stream of its own, the same in each run."""
    return Randomness(hashlib.sha256(f"linking: {name}".encode()).digest())


def named_key() -> PaillierPrivateKey:
    """The analyzer's key."""
    return Paillier().generate(named_stream("key"), bits=KEY_BITS)
