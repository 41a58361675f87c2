"""A user whose plaintext overflows into the slots of her neighbours, where several rows are decrypted as one.

Who: one user among honest ones, who knows how decryption works and not where her row will stand. She wins a trial if
the word of anybody else comes out changed.
"""

from collections.abc import Sequence

import numpy as np
import pytest
from gmpy2 import mpz

from peos.crypto.randomness import Randomness
from peos.crypto.schemes import packing
from peos.crypto.schemes.paillier import PaillierPrivateKey, plaintext_bits
from peos.crypto.schemes.paillier_packed import COEFFICIENT_BYTES, PackedDecryption
from tests.full import full
from tests.keys import small_key
from tests.security.verdict import Verdict, of_rate

pytestmark = pytest.mark.full  # `make security` runs it too

OTHERS = 20
TRIALS = 300
PASSES = 1
SLOT = plaintext_bits(PASSES)


class _Believing(PackedDecryption):
    """Takes the slots at their word."""

    def _error(self, batch: object, where: slice) -> mpz:  # noqa: ARG002 - the check that it leaves out
        return mpz(0)


class BelievingKey(PaillierPrivateKey):
    """Packed decryption without its check."""

    def _packed(self, slot_bits: int, rng: Randomness) -> PackedDecryption:
        return _Believing(self.halves, slot_bits, rng)


class ForeseenKey(PaillierPrivateKey):
    """Packed decryption whose coefficients can be foreseen: it draws them from the same stream for every batch."""

    def _packed(self, slot_bits: int, rng: Randomness) -> PackedDecryption:  # noqa: ARG002 - what it ignores
        return PackedDecryption(self.halves, slot_bits, Randomness(bytes(32)))


@pytest.fixture(scope="module")
def key() -> PaillierPrivateKey:
    """Three slots after one pass."""
    found = small_key(1024)
    assert isinstance(found, PaillierPrivateKey)
    return found


def attacks(key: PaillierPrivateKey) -> dict[str, int]:
    """What she encrypts; the negative one is so large that what a pass adds does not make it positive again."""
    n = int(key.public.modulus)
    return {"promote": 5 << SLOT | 1, "borrow": n - (5 << SLOT), "drown": n // 3}


def wins(key: PaillierPrivateKey, whole: int, rng: Randomness) -> int:
    """Trials in which another user's word came out changed; her own is hers to choose."""
    public, won = key.public, 0
    source = public.zero_source(rng, expected=2 * TRIALS * (OTHERS + 1))
    for _ in range(TRIALS):
        words = rng.uint64(OTHERS + 1)
        sent = public.encrypt(words, source.zeros(len(words)))
        her_row, order = rng.integer_below(OTHERS + 1), rng.permutation(OTHERS + 1)
        (zero,) = packing.integers(source.zeros(1))
        forged = (1 + whole * public.modulus) * zero % public.square
        sent[her_row] = packing.pack([forged], public.ciphertext_bytes)[0]
        assert public.check(sent).all(), "intake has nothing to object to"
        masks = rng.uint64(len(words))
        passed = public.remask(sent[order], masks, source.zeros(len(words)), hop=PASSES, rng=rng)
        out = key.decrypt_shuffled(passed, passes=PASSES, rng=rng)
        changed = (out - masks != words[order]) & (order != her_row)
        won += bool(np.any(changed))
    return won


def verdict(name: str, key: PaillierPrivateKey, rng: Randomness) -> Verdict:
    attack = f"{name} neighbours by an oversized plaintext, {type(key).__name__}"
    return of_rate(attack, wins(key, attacks(key)[name], rng), TRIALS, "batches with another user's word changed")


@pytest.mark.parametrize("name", ["promote", full("borrow"), full("drown")])
def test_an_oversized_plaintext_changes_nobody_elses_word(name: str, key: PaillierPrivateKey, rng: Randomness) -> None:
    verdict(name, key, rng).assert_fails()


@pytest.mark.full
@pytest.mark.parametrize("name", ["promote", full("borrow"), full("drown")])
def test_without_the_check_it_does(name: str, key: PaillierPrivateKey, rng: Randomness) -> None:
    verdict(name, BelievingKey(key.p, key.q), rng).assert_succeeds()


def crossed(key: PaillierPrivateKey, rng: Randomness) -> tuple[list[int], list[int]]:
    """What two users of one pack send, and what its slots would say, if they know the coefficients of their rows.

    Errors e_0 = s_1 p and e_1 = −s_0 p cancel in the form, and are 0 modulo p, so that the slots do not show them.
    """
    drawn = Randomness(bytes(32)).bytes(2 * COEFFICIENT_BYTES)
    s_0, s_1 = (int.from_bytes(drawn[at : at + COEFFICIENT_BYTES], "little") for at in (0, COEFFICIENT_BYTES))
    n, p = int(key.public.modulus), int(key.p)
    said = [rng.bits(60), rng.bits(60), rng.bits(60)]
    return [(said[0] + s_1 * p) % n, (said[1] - s_0 * p) % n, said[2]], said


def test_coefficients_that_can_be_foreseen_let_errors_cancel(key: PaillierPrivateKey, rng: Randomness) -> None:
    """Two users are lent the knowledge of p here, to make the slots quiet: the form alone is on trial."""
    sent, said = crossed(key, rng)
    zeros = packing.integers(key.public.zero_source(rng).zeros(2 * len(sent)))
    filler: Sequence[int] = [1, 2, 3]
    ciphertexts = [
        (1 + m * key.public.modulus) * z % key.public.square for m, z in zip([*sent, *filler], zeros, strict=True)
    ]
    packed = packing.pack(ciphertexts, key.public.ciphertext_bytes)
    true = key.decrypt(packed).tolist()
    foreseen = ForeseenKey(key.p, key.q).decrypt_shuffled(packed, passes=PASSES, rng=rng).tolist()
    assert foreseen[:3] == said
    assert foreseen != true, "the errors did not cancel, so the test shows nothing"
    assert key.decrypt_shuffled(packed, passes=PASSES, rng=rng).tolist() == true
