"""All shufflers together read reports from their shares.

Who: all r shufflers, pooling every share, ciphertext and vector that they ever held; not the analyzer, so no key.
"""

import numpy as np
import pytest

from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes import packing
from peos.crypto.schemes.base import Packed, PublicKey
from peos.crypto.schemes.paillier import PaillierPrivateKey, PaillierPublicKey
from peos.ldp import GRR
from peos.shuffle.attempt import ENCRYPTED_SHARE
from peos.shuffle.effects import CIPHERTEXTS, SHARES
from tests.full import full
from tests.security.laid import Laid, WatchedNode, bench_of
from tests.security.verdict import Verdict, of_guesses
from tests.security.weakened import Bare

DOMAIN = 16
USERS = 6_000
ENCODING = "(c − 1)/N"


class BareNode(WatchedNode):
    """A shuffler in a collection whose encryption is an encoding."""

    def key_in_use(self, public: PublicKey) -> PublicKey:
        """The key that does not randomise."""
        assert isinstance(public, PaillierPublicKey), "the collection's scheme is Paillier's"
        return Bare(public.modulus)


def pooled(laid: Laid) -> tuple[Packed, U64]:
    """The ciphertexts of all rows before the shuffle, and the sum of all plaintext shares."""
    plain = [bench_of(node).plain(SHARES) for node in laid.nodes if node.number != ENCRYPTED_SHARE]
    total = np.zeros_like(plain[0])
    for share in plain:
        total += share
    return bench_of(laid.nodes[ENCRYPTED_SHARE - 1]).ciphertexts(CIPHERTEXTS), total


def delivered(laid: Laid) -> tuple[Packed, U64]:
    """The same after the shuffle, from what the last hiders sent."""
    holder, *others = laid.document.schedule.last
    total = np.zeros_like(laid.delivered[others[0]].vector.view(np.uint64))
    for who in others:
        total += laid.delivered[who].vector.view(np.uint64)
    return laid.delivered[holder].vector.view(np.uint8), total


def readings(public: PaillierPublicKey, ciphertexts: Packed) -> dict[str, U64]:
    """What may be taken for the encrypted share: the m of 1 + mN, as far as c is one; parts of c; nothing."""
    n, given = public.modulus, packing.integers(ciphertexts)
    word = (1 << 64) - 1
    return {
        ENCODING: np.array([int((c - 1) // n & word) for c in given], dtype=np.uint64),
        "low word": np.array([int(c & word) for c in given], dtype=np.uint64),
        "low word mod N": np.array([int(c % n & word) for c in given], dtype=np.uint64),
        "nothing": np.zeros(len(given), dtype=np.uint64),
    }


def run(key: PaillierPrivateKey, nodes: type[WatchedNode], shufflers: int) -> list[Verdict]:
    """Read every report before the shuffle and after it, in every way."""
    rng = Randomness(b"\x06" * 32)
    laid = Laid(key, rng, nodes=nodes, shufflers=shufflers)
    reports = rng.uint64((USERS, 1))
    public = laid.nodes[0].public
    laid.lay(
        reports, encrypt=lambda words: public.encrypt(words, public.zero_source(rng, expected=USERS).zeros(len(words)))
    )
    before = pooled(laid)
    laid.shuffle()
    laid.assert_conserved()
    return [
        read(f"all {shufflers} shufflers' shares {when}, {how}", share + plain.reshape(-1), truth)
        for when, (ciphertexts, plain), truth in (
            ("before the shuffle", before, laid.laid_out()),
            ("after the shuffle", delivered(laid), laid.combined()),
        )
        for how, share in readings(key.public, ciphertexts.reshape(-1, public.ciphertext_bytes)).items()
    ]


def read(attack: str, words: U64, truth: U64) -> Verdict:
    """Whether words tell the answers that the true ones tell."""
    mechanism = GRR(DOMAIN, 4.0)
    right = mechanism.decode(words.reshape(-1, 1)) == mechanism.decode(truth)
    return of_guesses(attack, int(np.sum(right)), len(right), choices=DOMAIN)


@pytest.mark.parametrize("shufflers", [3, full(5)])
def test_all_shufflers_together_read_nothing_since_one_share_is_encrypted(
    key: PaillierPrivateKey, shufflers: int
) -> None:
    for verdict in run(key, WatchedNode, shufflers):
        verdict.assert_fails()


def test_all_shufflers_together_read_everything_if_the_first_share_is_merely_encoded(key: PaillierPrivateKey) -> None:
    found = [verdict for verdict in run(key, BareNode, 3) if ENCODING in verdict.attack]
    assert len(found) == 2
    for verdict in found:
        verdict.assert_succeeds()
