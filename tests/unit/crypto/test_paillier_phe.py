"""A user who has only `phe` can submit: keys and ciphertexts go both ways."""

import numpy as np
import pytest
from phe import PaillierPrivateKey as PhePrivateKey
from phe import PaillierPublicKey as PhePublicKey
from phe import paillier as phe_paillier

from peos.crypto.randomness import Randomness
from peos.crypto.schemes import packing
from peos.crypto.schemes.encoding import encode_key
from peos.crypto.schemes.paillier import Paillier, PaillierPrivateKey


@pytest.fixture(scope="module")
def theirs(private: PaillierPrivateKey) -> PhePublicKey:
    """Our public key, as phe has it."""
    return private.public.to_phe()


@pytest.fixture(scope="module")
def their_private(private: PaillierPrivateKey) -> PhePrivateKey:
    """Our private key, as phe has it."""
    return private.to_phe()


WORDS = np.array([0, 1, 2**63, 2**64 - 1, 0x0123456789ABCDEF], dtype=np.uint64)


def test_what_phe_encrypts_we_let_in_and_decrypt(private: PaillierPrivateKey, theirs: PhePublicKey) -> None:
    packed = packing.pack([theirs.raw_encrypt(m) for m in WORDS.tolist()], private.public.ciphertext_bytes)
    assert private.public.check(packed).all()
    assert private.decrypt(packed).tolist() == WORDS.tolist()
    assert private.decrypt_integers(packed) == WORDS.tolist()


@pytest.mark.parametrize("expected", [1, 1000])
def test_what_we_encrypt_phe_decrypts(
    expected: int, private: PaillierPrivateKey, their_private: PhePrivateKey, rng: Randomness
) -> None:
    public = private.public
    sent = public.encrypt(WORDS, public.zero_source(rng, expected=expected).zeros(len(WORDS)))
    assert [their_private.raw_decrypt(int(c)) for c in packing.integers(sent)] == WORDS.tolist()


def test_with_the_same_unit_the_ciphertexts_are_the_same(private: PaillierPrivateKey, theirs: PhePublicKey) -> None:
    public, unit = private.public, 0xABCDEF
    zero = packing.pack([pow(unit, int(public.modulus), int(public.square))], public.ciphertext_bytes)
    ours = public.encrypt(WORDS[3:4], zero)
    assert int(packing.integers(ours)[0]) == theirs.raw_encrypt(int(WORDS[3]), r_value=unit)


def test_sums_of_phes_and_ours_are_sums_under_either_key(
    private: PaillierPrivateKey, theirs: PhePublicKey, their_private: PhePrivateKey, rng: Randomness
) -> None:
    public = private.public
    ours = public.encrypt(WORDS, public.zero_source(rng).zeros(len(WORDS)))
    square = int(public.square)
    both = [int(c) * theirs.raw_encrypt(7) % square for c in packing.integers(ours)]
    assert private.decrypt(packing.pack(both, public.ciphertext_bytes)).tolist() == (WORDS + np.uint64(7)).tolist()
    assert [their_private.raw_decrypt(c) for c in both] == [m + 7 for m in WORDS.tolist()]
    their_sum = phe_paillier.EncryptedNumber(theirs, int(packing.integers(ours)[1])) + 41
    assert private.decrypt(packing.pack([their_sum.ciphertext()], public.ciphertext_bytes)).tolist() == [42]


def test_a_row_of_phe_goes_through_our_passes_and_decrypts_under_both(
    private: PaillierPrivateKey, theirs: PhePublicKey, their_private: PhePrivateKey, rng: Randomness
) -> None:
    public, count = private.public, len(WORDS)
    source = public.zero_source(rng)
    row = packing.pack([theirs.raw_encrypt(m) for m in WORDS.tolist()], public.ciphertext_bytes)
    total = WORDS
    for hop in (1, 2, 3):
        masks = rng.uint64(count)
        row = public.remask(row, masks, source.zeros(count), hop=hop, rng=rng)
        total = total + masks
    assert private.decrypt(row).tolist() == total.tolist()
    assert [their_private.raw_decrypt(int(c)) % 2**64 for c in packing.integers(row)] == total.tolist()
    assert private.decrypt_integers(row) == [their_private.raw_decrypt(int(c)) for c in packing.integers(row)]


def test_the_types_of_phe_are_the_same_key(private: PaillierPrivateKey) -> None:
    assert private.public.to_phe() == PhePublicKey(int(private.p * private.q))
    assert (private.to_phe().p, private.to_phe().q) == (int(private.p), int(private.q))


def test_a_key_that_phe_made_is_a_key_of_ours(rng: Randomness) -> None:
    theirs, secret = phe_paillier.generate_paillier_keypair(n_length=1024)
    p, q = sorted((int(secret.p), int(secret.q)))
    public = Paillier().public_key(encode_key(1, 1024, (theirs.n, 128)), floor=1024)
    private = Paillier().private_key(encode_key(1, 1024, (p, 64), (q, 64)), floor=1024)
    assert private.public == public
    sent = public.encrypt(WORDS, public.zero_source(rng).zeros(len(WORDS)))
    assert [secret.raw_decrypt(int(c)) for c in packing.integers(sent)] == WORDS.tolist()
