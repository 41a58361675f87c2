"""A collection laid out as a freeze leaves it, for attacks on the shuffle that need more rows than tickets are worth.

Everything from the frozen list on is the real code; only tickets and their signatures are left out. `WatchedBench` is
the referee's: it remembers what each pass did to the rows, so that a guess can be told right or wrong. No adversary
looks at it.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from peos.collection.submission import Part
from peos.collection.ticket import ID_BYTES
from peos.crypto import sharing
from peos.crypto.identity import Identity
from peos.crypto.kdf import Context
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.base import Packed, PrivateKey, PublicKey
from peos.ldp import GRR
from peos.ldp.base import Mechanism
from peos.protocols.peos import ShareEncryption
from peos.shuffle import combine
from peos.shuffle.attempt import ENCRYPTED_SHARE
from peos.shuffle.effects import Handle, Mix, Pass, Split, Task
from peos.shuffle.inspect.verdict import Case
from peos.shuffle.messages import SignedReveal
from peos.shuffle.vectors import Workbench, composed
from peos.simulate import Node, Simulation


@dataclass(frozen=True, eq=False)
class Passed:
    """One pass over the ciphertexts: `after[i]` is what became of `before[origin[i]]`."""

    before: Packed
    after: Packed
    origin: NDArray[np.intp]


class WatchedBench(Workbench):
    """A bench that keeps what it did."""

    def __init__(self, rows: int, words: int, public: PublicKey, rng: Randomness, *, statistical: bool = False) -> None:
        super().__init__(rows, words, public, rng, statistical=statistical)
        self.passed: list[Passed] = []
        self.mixed: dict[Handle, NDArray[np.intp]] = {}  # the permutation behind each result of a round
        self.left: dict[Handle, U64] = {}  # the remainders that this shuffler sent when it left

    def work(self, task: Task) -> bytes:
        """Do what an effect asks, and note remainders."""
        root = super().work(task)
        if isinstance(task, Split):
            self.left[task.out] = self.plain(task.out).copy()
        return root

    def _mix(self, task: Mix) -> U64:
        self.mixed[task.out] = composed([task.permutation], self._shape[0])
        return super()._mix(task)

    def _pass(self, task: Pass) -> Packed:
        before = self.ciphertexts(task.ciphertexts).copy()
        after = super()._pass(task)
        self.passed.append(Passed(before, after, composed(task.permutations, self._shape[0])))
        return after


def bench_of(node: Node) -> Workbench:
    """A shuffler's bench of shares."""
    assert isinstance(node.bench, Workbench), "the protocol has shares"
    return node.bench


class WatchedNode(Node):
    """A shuffler on a watched bench, under a public key that a test may replace by one that lacks a defence."""

    workbench_type: type[Workbench] = WatchedBench

    def __init__(self, number: int, signed: bytes, identity: Identity, rng: Randomness, *, floor: int) -> None:
        super().__init__(number, signed, identity, rng, floor=floor)
        assert isinstance(self.encryption, ShareEncryption), "the collection's protocol has a scheme"
        self.encryption = replace(self.encryption, public=self.key_in_use(self.public))

    def key_in_use(self, public: PublicKey) -> PublicKey:
        """The key as this shuffler works with it."""
        return public


Encrypt = Callable[[U64], Packed]


class Laid(Simulation):
    """A collection after its freeze; row i is user i's, then come the dummies, then the fakes."""

    def __init__(
        self,
        key: PrivateKey,
        rng: Randomness,
        *,
        nodes: type[Node] = WatchedNode,
        shufflers: int = 3,
        fakes: int = 0,
        mechanism: Mechanism | None = None,
    ) -> None:
        self.node_type = nodes
        super().__init__(mechanism or GRR(2, 1.0), shufflers=shufflers, fakes=fakes, rng=rng, key=key)
        # The analyzer checks what is delivered under its own key, which a test may have weakened, not the document's.
        assert isinstance(self.encryption, ShareEncryption), "the collection's protocol has a scheme"
        self.encryption = replace(self.encryption, public=key.public)

    def lay(self, reports: U64, *, encrypt: Encrypt | None = None) -> list[U64]:
        """Share out the reports, (n, words), and begin; returns the shares of users and dummies, shuffler 1's first."""
        self.reports = reports
        owned = np.concatenate((reports, np.stack([dummy.words for dummy in self.dummies])))
        self.shares = shares = sharing.split(owned, len(self.nodes), self.rng)
        self.encrypted_shares = encrypted = (encrypt or self.encrypted)(shares[0].reshape(-1)).reshape(len(owned), -1)
        ids = [row.to_bytes(ID_BYTES, "big") for row in range(len(owned))]
        context = Context(self.digest, hashlib.sha256(b"laid out").digest())
        for node, share in zip(self.nodes, shares, strict=True):
            rows = encrypted if node.number == ENCRYPTED_SHARE else share.astype("<u8")
            for id_, row in zip(ids, rows, strict=True):
                node.parts[id_] = Part(self.digest, node.number, id_, b"", b"", b"", b"", (), row.tobytes())
            node.begin([node.parts[id_].row for id_ in ids], context)
        return shares

    def inspect(self) -> None:
        """The inspection, of dummies whose parts were laid out and need no proof."""
        dummies = range(len(self.reports), len(self.reports) + len(self.dummies))
        case = Case(
            schedule=self.document.schedule,
            context=self.output.context,
            rows=self.nodes[0].rows,
            transcript=self.output.transcript,
            start=tuple(dummies),
            shares={number: share[dummies] for number, share in enumerate(self.shares, start=1) if number > 1},
            ciphertexts=self.encrypted_shares[dummies],
            public=self.key.public,
            analyzer=self.analyzer.public,
            revealed=SignedReveal.sign(self.analyzer, self.output.context, b"r" * 32),
            dummies=tuple(range(len(self.dummies))),
        )
        self.opened = case
        self.follow({node.number: case for node in self.nodes}, {node.number: case.revealed for node in self.nodes})

    def encrypted(self, words: U64) -> Packed:
        """Shares as users encrypt them."""
        zeros = self.key.public.zero_source(self.rng, expected=len(words)).zeros(len(words))
        return self.key.public.encrypt(words, zeros)

    def fake_words(self) -> U64:
        """The fakes that the shufflers' shares add up to."""
        return sharing.combine([node.fake_shares(node.fake_seed) for node in self.nodes])

    def combined(self) -> U64:
        """What the analyzer decrypts, dummies and all."""
        return combine.combine(self.document.schedule, self.delivered, self.key, self.rng)

    def laid_out(self) -> U64:
        """What all shares add up to, in the order of the rows."""
        dummies = np.stack([dummy.words for dummy in self.dummies])
        return np.concatenate((self.reports, dummies, self.fake_words()))

    def assert_conserved(self) -> None:
        """Every report, fake and dummy came out as often as it went in, each user's exactly once, and nothing else."""
        expected = self.laid_out()
        assert len(np.unique(self.reports, axis=0)) == len(self.reports), "a word that occurs twice could hide a loss"
        assert np.array_equal(_sorted(self.combined()), _sorted(expected)), "reports were lost, doubled or changed"

    def passes(self) -> list[Passed]:
        """What the holders did, in order."""
        return [self.watched(holder).passed[-1] for holder, _ in self.document.schedule.passes]

    def watched(self, number: int) -> WatchedBench:
        """The referee's look at one shuffler."""
        bench = self.nodes[number - 1].bench
        assert isinstance(bench, WatchedBench), "every node here has one"
        return bench


def _sorted(words: U64) -> U64:
    return words[np.lexsort(words.T)]
