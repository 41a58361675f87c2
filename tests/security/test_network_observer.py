"""Watching the network: lengths, order and amount of work tell no value, no dummy and no fake.

The observer sees every message of every party, encrypted: who sends, how many bytes, in which order. Time is replaced
by what it comes from: powers taken and random bytes drawn. Both are compared exactly, so what is equal tells nothing.
What stays visible is that a user takes part, and from which address a dummy comes (docs/limitations.md).
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final
from unittest.mock import patch

import gmpy2
import numpy as np
import pytest
from numpy.typing import NDArray

from peos.collection.prepare import prepare
from peos.collection.submission import Part, bind
from peos.collection.ticket import ID_BYTES, Ticket
from peos.crypto.identity import SIGNATURE_BYTES, Identity
from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes.base import PublicKey
from peos.crypto.schemes.paillier import PaillierPrivateKey
from peos.ldp import GRR, SUE, LocalHash
from peos.ldp.base import Mechanism
from peos.protocols.peos import ShareSplitter
from peos.simulate import Simulation
from peos.simulate.node import USERS
from peos.wire.submissions import encode_part
from tests.security.linking.collection import Wire
from tests.security.verdict import of_guesses
from tests.security.words import key_of

pytestmark = pytest.mark.full  # `make security` runs it too

MECHANISMS: Final = {"grr": GRR(64, 4.0), "local hashing": LocalHash(200, 3.0, 8), "sue, many words": SUE(60, 3.0)}
SHUFFLERS: Final = 3
COUNT: Final = 6
Sizes = tuple[int, ...]
each_mechanism = pytest.mark.parametrize("name", MECHANISMS)


def crossed(key: PaillierPrivateKey, mechanism: Mechanism, values: list[int]) -> list[tuple[int, Sizes]]:
    """All that crosses the wire up to the receipt, as who sends how many messages of which lengths.

    Afterwards only rows of dummies are shown; openings are longer or shorter as their places are.
    """
    simulation = Simulation(mechanism, shufflers=SHUFFLERS, fakes=8, rng=Randomness(b"\x31" * 32), key=key)
    wire = simulation.traffic = Wire()
    simulation.submit(simulation.mechanism.randomize(np.array(values), simulation.rng))
    simulation.freeze()
    simulation.shuffle()
    return [(sender, tuple(map(len, messages))) for sender, messages in wire.log]


@each_mechanism
def test_a_whole_collection_is_the_same_on_the_wire_whatever_its_users_values(
    key: PaillierPrivateKey, name: str
) -> None:
    mechanism = MECHANISMS[name]
    last = mechanism.domain - 1
    low, high, mixed = (
        crossed(key, mechanism, values) for values in ([0] * COUNT, [last] * COUNT, [0, last, 1, last, 0, last])
    )
    assert low == high == mixed
    assert len({sender for sender, _ in low}) == SHUFFLERS + 2, "users, analyzer and all shufflers were seen"


@each_mechanism
def test_a_dummys_parts_are_as_long_and_come_in_the_same_order_as_a_users(key: PaillierPrivateKey, name: str) -> None:
    """Dummies come after the users here; each sends one part to each shuffler, first to last."""
    simulation = Simulation(MECHANISMS[name], shufflers=SHUFFLERS, fakes=8, rng=Randomness(b"\x32" * 32), key=key)
    wire = simulation.traffic = Wire()
    simulation.run(list(range(COUNT)))
    sent = [sum(map(len, messages)) for sender, messages in wire.log if sender == USERS]
    by_user = np.array(sent).reshape(-1, SHUFFLERS)
    assert len(by_user) == COUNT + len(simulation.dummies)
    assert len(np.unique(by_user, axis=0)) == 1


# The amount of work.


@contextmanager
def counted() -> Iterator[Counter[tuple[str, int, int]]]:
    """Powers and inverses taken meanwhile: which call, of how many numbers, modulo how many bits."""
    found: Counter[tuple[str, int, int]] = Counter()

    def counting(name: str) -> Callable[..., Any]:
        true = getattr(gmpy2, name)

        def call(*arguments: Any) -> Any:
            many = max(len(one) if isinstance(one, list | tuple) else 1 for one in arguments)
            found[name, many, int(arguments[-1]).bit_length()] += 1
            return true(*arguments)

        return call

    names = ("powmod", "powmod_base_list", "powmod_exp_list", "invert")
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(patch.object(gmpy2, name, counting(name)))
        yield found


class Metered(Randomness):
    """A stream that counts what is drawn from it."""

    __slots__ = ("drawn",)

    def __init__(self, key: bytes) -> None:
        super().__init__(key)
        self.drawn = 0

    def fill(self, out: NDArray[np.uint8]) -> None:
        """Note how much."""
        self.drawn += out.size
        super().fill(out)


Work = tuple[tuple[tuple[tuple[str, int, int], int], ...], int]


def work(public: PublicKey, mechanism: Mechanism, value: int) -> Work:
    """What one user's answer takes: randomise, split, encrypt, bind."""
    rng = Metered(b"\x33" * 32)
    with counted() as powers:
        report = mechanism.randomize(np.array([value]), rng)
        zeros = public.zero_source(rng, expected=mechanism.words)
        prepare(bytes(32), ShareSplitter(SHUFFLERS, public, zeros), report, [_ticket()], rng)
    return tuple(sorted(powers.items())), rng.drawn


def _ticket() -> Ticket:
    return Ticket(bytes(ID_BYTES), bytes(SIGNATURE_BYTES), Identity(bytes(32)))


@each_mechanism
@pytest.mark.parametrize("scheme", ["paillier", "dgk", "jl"])
def test_every_value_takes_the_same_powers_and_the_same_coins(key: PaillierPrivateKey, name: str, scheme: str) -> None:
    public = key.public if scheme == "paillier" else key_of(scheme).public
    mechanism = MECHANISMS[name]
    found = {work(public, mechanism, value) for value in (0, 1, mechanism.domain // 2, mechanism.domain - 1)}
    ((powers, drawn),) = found
    assert powers, "no power was counted, so nothing was tested"
    assert drawn


class Scanning(SUE):
    """Draws position by position, and stops when it has drawn its own."""

    def randomize(self, values: NDArray[np.int64], rng: Randomness | None = None) -> U64:
        """As ever, after as many draws as her value says."""
        assert rng is not None, "given here"
        for _ in range(int(values[0]) + 1):
            rng.uint64(1)
        return super().randomize(values, rng)


def test_work_that_depends_on_the_value_would_be_seen(key: PaillierPrivateKey) -> None:
    mechanism = Scanning(60, 3.0)
    assert len({work(key.public, mechanism, value) for value in range(60)}) > 30


# Where the observer must succeed: lengths that depend on the value.


def trimmed(report: int, rng: Randomness) -> tuple[Part, ...]:
    """The parts of a client that leaves out a report's leading zero bytes, and splits what is left."""
    length = (report.bit_length() + 7) // 8
    ticket = _ticket()
    shares = tuple(rng.bytes(length) for _ in range(SHUFFLERS))  # what is in them the observer does not see
    return bind(bytes(32), ticket, shares, rng)


def test_a_client_whose_encoding_is_shorter_for_small_numbers_is_read_off_its_lengths(rng: Randomness) -> None:
    mechanism = GRR(256, 8.0)
    users = 200
    large = rng.uint64(users) % 2 == 1
    reports = mechanism.randomize(np.where(large, 255, 0), rng)[:, 0]
    lengths = [sum(len(encode_part(part)) for part in trimmed(int(report), rng)) for report in reports]
    guessed = np.array(lengths) == max(lengths)
    of_guesses("lengths of a trimming client", int(np.sum(guessed == large)), users).assert_succeeds()
