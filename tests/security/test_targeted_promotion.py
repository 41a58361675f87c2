"""A fraction of the users promotes values of its choice: what it gains is what theory says, and one report each.

The attacks are those of Cao, Jia and Gong (USENIX Security 2021) and, for input manipulation, of Li et al. (2023): a
random pattern (RPA), a random target reported as the protocol says (RIA), a pattern that supports as many targets as
one can (MGA).

Theory. N users, m of them attackers, β = m/N; T the targets, t = |T|; the estimate is
f̂_v = (S_v − N·q − n_r·u) / (N·(p − q)). An attacker whose report supports v with probability s_v adds
(s_v − q)/(N·(p − q)) to E f̂_v, and the honest n = N − m users add f_v·n/N in place of f_v. So the sum over T gains

    G = β·( Σ_{v∈T} (s_v − q)/(p − q) − f_T ),      f_T the honest users' share of T.

- RPA: s_v = u, the probability that a uniform pattern supports v.
- RIA: (p + (t − 1)·q)/t each, so Σ = 1 and G = β·(1 − f_T): as if the attackers held these values.
- MGA: GRR tells one value, Σ s_v = 1, so G = β·((1 − t·q)/(p − q) − f_T). A hash, or a unary pattern, may support all
  of T: G = β·(t·(1 − q)/(p − q) − f_T). That is the most that any report can do, for s_v ≤ 1.

No defence is claimed against it: the amplification is the price of local privacy, and grows as ε_l falls. What is
claimed is that an attacker has one report: whatever integer its ciphertext holds, it is a word, and a word is a report.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import pytest

from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes import packing
from peos.crypto.schemes.paillier import PaillierPrivateKey
from peos.ldp import GRR, SUE, LocalHash
from peos.ldp.base import PureMechanism
from peos.simulate import Simulation
from peos.wire import submissions
from tests.full import full
from tests.raising import raises
from tests.security.laid import Laid

pytestmark = pytest.mark.full  # `make security` runs it too

HONEST, ATTACKERS, FAKES = 320, 80, 100
TARGETS: Final = (3, 5, 11)
DOMAIN: Final = 16
HELD: Final = len(TARGETS) / DOMAIN  # f_T: the honest hold all values equally often
WITHIN: Final = 5.0  # standard errors: one in a million
MECHANISMS: Final[dict[str, PureMechanism]] = {
    "grr": GRR(DOMAIN, 3.0),
    "local hashing": LocalHash(DOMAIN, 3.0, 4),
    "sue": SUE(DOMAIN, 3.0),
}
Craft = Callable[[PureMechanism, Randomness], U64]


def random_pattern(mechanism: PureMechanism, rng: Randomness) -> U64:
    return rng.uint64((ATTACKERS, mechanism.words))


def random_item(mechanism: PureMechanism, rng: Randomness) -> U64:
    return mechanism.randomize(np.array(TARGETS)[rng.permutation(ATTACKERS) % len(TARGETS)], rng)


def maximal_gain(mechanism: PureMechanism, rng: Randomness) -> U64:
    """Patterns that support as many targets as any of many that are tried; for SUE the one with every bit set."""
    if isinstance(mechanism, SUE):
        return np.zeros((ATTACKERS, mechanism.words), np.uint64)
    if isinstance(mechanism, GRR):
        encoded: U64 = mechanism.encode(np.array(TARGETS)[np.arange(ATTACKERS) % len(TARGETS)], rng)
        return encoded
    tried = rng.uint64((2_000, 1))
    best = tried[supported(mechanism, tried) == len(TARGETS)]
    chosen: U64 = best[np.arange(ATTACKERS) % len(best)]
    return chosen


def supports(mechanism: PureMechanism, craft: Craft) -> float:
    """Σ_{v∈T} s_v of the theory."""
    oracle, targets = mechanism.oracle, len(TARGETS)
    if craft is random_pattern:
        return targets * oracle.u
    if craft is random_item:
        return oracle.p + (targets - 1) * oracle.q
    return 1.0 if isinstance(mechanism, GRR) else float(targets)


@dataclass(frozen=True)
class Promoted:
    """What the targets' estimated frequencies gained together, what theory says, and the most that is possible."""

    gain: float
    theory: float
    most: float
    stderr: float


def promoted(key: PaillierPrivateKey, mechanism: PureMechanism, craft: Craft, rng: Randomness) -> Promoted:
    """A whole collection: the honest hold values uniformly, the attackers send what they crafted."""
    simulation = Simulation(mechanism, fakes=FAKES, rng=rng, key=key)
    asked = simulation.mechanism  # salted: attackers see the document too
    assert isinstance(asked, PureMechanism)
    honest, crafted = asked.randomize(np.arange(HONEST) % DOMAIN, rng), craft(asked, rng)
    simulation.submit(np.concatenate((honest, crafted)))
    simulation.freeze()
    simulation.shuffle()
    simulation.inspect()
    collected = simulation.publish(submitted=HONEST + ATTACKERS)
    estimate = collected.estimate.frequency[list(TARGETS)]
    users, gap = HONEST + ATTACKERS, asked.oracle.p - asked.oracle.q

    def gain(total: float) -> float:
        return ATTACKERS / users * ((total - len(TARGETS) * asked.oracle.q) / gap - HELD)

    drawn = (honest, crafted, rng.uint64((FAKES, asked.words)))
    variance = sum(len(reports) * float(np.var(supported(asked, reports))) for reports in drawn)
    return Promoted(
        float(estimate.sum()) - HELD,
        gain(supports(asked, craft)),
        gain(len(TARGETS)),
        variance**0.5 / (users * gap),
    )


def supported(mechanism: PureMechanism, reports: U64) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    """How many targets each report supports."""
    return np.array([mechanism.support_counts(report[np.newaxis])[list(TARGETS)].sum() for report in reports])


@pytest.mark.parametrize("craft", [full(random_pattern), full(random_item), maximal_gain])
@pytest.mark.parametrize("name", MECHANISMS)
def test_the_gain_is_what_theory_says_and_no_more_than_one_report_each_allows(
    key: PaillierPrivateKey, name: str, craft: Craft, rng: Randomness
) -> None:
    found = promoted(key, MECHANISMS[name], craft, rng)
    margin = WITHIN * found.stderr
    assert abs(found.gain - found.theory) < margin, found
    assert found.gain < found.most + margin, found
    if craft is maximal_gain:
        assert found.gain > margin, f"promotion succeeds: nothing is claimed against it: {found}"


def test_a_huge_plaintext_is_one_report_like_any_other(key: PaillierPrivateKey, rng: Randomness) -> None:
    """An attacker cannot encrypt a sum of reports: what exceeds 64 bits is reduced, and one row comes out."""
    laid = Laid(key, rng, fakes=20, mechanism=GRR(DOMAIN, 3.0))
    many, n = 50, int(key.public.modulus)

    def huge(words: U64) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
        zeros = packing.integers(key.public.zero_source(rng).zeros(len(words)))
        marked = [
            (1 + n * (int(w) + (row + 1) * 2**100)) * int(z) % n**2
            for row, (w, z) in enumerate(zip(words, zeros, strict=True))
        ]
        return packing.pack(marked, key.public.ciphertext_bytes)

    laid.lay(rng.uint64((many, 1)), encrypt=huge)
    laid.shuffle()
    laid.assert_conserved()
    collected = laid.publish(submitted=many)
    assert collected.users == many
    assert collected.estimate.frequency.sum() == pytest.approx(1)


def test_a_second_report_under_one_ticket_is_refused(key: PaillierPrivateKey, rng: Randomness) -> None:
    simulation = Simulation(GRR(DOMAIN, 3.0), rng=rng, key=key)
    id_ = rng.bytes(16)
    for attempt, parts in enumerate([simulation.parts_of(rng.uint64((1, 1)), [id_]) for _ in range(2)]):
        for part in parts[0]:
            send = partial(simulation.nodes[part.shuffler - 1].submit, submissions.encode_part(part))
            if not attempt:
                assert send()
                continue
            with raises("submit.ticket_used"):
                send()
