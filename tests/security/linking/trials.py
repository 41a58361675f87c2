"""Many collections, and what each coalition's chooser makes of them."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, partial
from multiprocessing import get_context
from typing import Any

from peos.crypto.randomness import Randomness
from peos.crypto.schemes.paillier import Paillier, PaillierPrivateKey
from peos.ending import end_with_starter
from peos.shuffle.schedule import Schedule
from tests.security.linking.chooser import Judged, judged
from tests.security.linking.coalition import Coalition, Seen, coalitions_of
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
    workers: int = 1,
    progress: Callable[[int], None] = lambda _: None,
) -> Trials:
    """So many collections, by default before all coalitions of c; the same again whatever the number of workers."""
    trials = Trials()
    look = partial(looked_at, kind, shufflers, pairs, tuple(coalitions) or tuple(coalitions_of(Schedule(shufflers))))
    with ExitStack() as stack:
        looks: Iterable[Look] = map(look, range(collections))
        if workers > 1:
            pool = stack.enter_context(ProcessPoolExecutor(workers, get_context("spawn"), end_with_starter))
            looks = pool.map(look, range(collections))
        for number, (trace, seen) in enumerate(looks, start=1):
            trials.traces.add(trace)
            for coalition, found in seen.items():
                trials.seen.setdefault(coalition, []).append(found)
            progress(number)
    return trials


Look = tuple[bytes, dict[Coalition, Evidence]]


def looked_at(
    kind: type[PairedCollection], shufflers: int, pairs: int, coalitions: Sequence[Coalition], number: int
) -> Look:
    """One collection, drawn from a named stream: its trace, and what each coalition makes of it."""
    rng = named_stream(f"{shufflers} shufflers, collection {number}")
    collection = kind(named_key(), rng, shufflers=shufflers, pairs=pairs)
    shared: dict[object, Any] = {}
    return collection.trace, {one: evidence(Seen(collection, one, shared)) for one in coalitions}


def named_stream(name: str) -> Randomness:
    """A stream of its own, the same in each run."""
    return Randomness(hashlib.sha256(f"linking: {name}".encode()).digest())


@cache
def named_key() -> PaillierPrivateKey:
    """The analyzer's key."""
    return Paillier().generate(named_stream("key"), bits=KEY_BITS)
