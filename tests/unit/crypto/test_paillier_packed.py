"""Packed decryption gives every row what full decryption gives it, and how many exponentiations that takes."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from gmpy2 import mpz
from hypothesis import example, given, settings
from hypothesis import strategies as st
from phe import PaillierPublicKey as PhePublicKey
from phe import paillier as phe_paillier

from peos.crypto.randomness import Randomness
from peos.crypto.schemes import packing
from peos.crypto.schemes.multi_powers import digit_bits, multi_power
from peos.crypto.schemes.paillier import PaillierPrivateKey, plaintext_bits
from peos.crypto.schemes.paillier_halves import Half, Halves
from peos.crypto.schemes.paillier_packed import BATCH, PackedDecryption
from tests.full import full, many
from tests.keys import small_key
from tests.unit.crypto.conftest import Streams

BITS = 1024
SLOT = 73  # seven slots, as after two passes at 3072 bits
SLOTS = 7
replayed = settings(max_examples=40)


class CountedHalf(Half):
    """Counts its exponentiations."""

    counts: dict[mpz, int]

    def plaintexts(self, reduced: Sequence[mpz]) -> list[mpz]:
        self.counts[self.prime] = self.counts.get(self.prime, 0) + len(reduced)
        return super().plaintexts(reduced)


class Counted(Halves):
    """Counts half decryptions modulo each prime."""

    def __init__(self, key: PaillierPrivateKey) -> None:
        self._counts: dict[mpz, int] = {}
        super().__init__(key.p, key.q)

    def _half(self, prime: mpz, other: mpz) -> Half:  # type: ignore[override] # an instance's, to reach the counts
        half = super()._half(prime, other)
        counted = CountedHalf(half.prime, half.square, half.inverse)
        object.__setattr__(counted, "counts", self._counts)
        return counted

    @property
    def packs(self) -> int:
        """Half decryptions that no full decryption needed."""
        return self._counts.get(self.by_p.prime, 0) - self.full

    @property
    def full(self) -> int:
        """Full decryptions: one half each modulo p and modulo q."""
        return self._counts.get(self.by_q.prime, 0)


@pytest.fixture(scope="module")
def key() -> PaillierPrivateKey:
    found = small_key(BITS)
    assert isinstance(found, PaillierPrivateKey)
    return found


def encrypted(key: PaillierPrivateKey, wholes: Sequence[int], rng: Randomness) -> list[mpz]:
    """Ciphertexts of any integers, as a user may make them."""
    n, square = key.public.modulus, key.public.square
    zeros = packing.integers(key.public.zero_source(rng, expected=len(wholes)).zeros(len(wholes)))
    return [(1 + m % n * n) * z % square for m, z in zip(wholes, zeros, strict=True)]


def honest(count: int, rng: Randomness) -> list[int]:
    return [rng.bits(SLOT) for _ in range(count)]


def oversized(key: PaillierPrivateKey) -> dict[str, int]:
    """Plaintexts that do not fit a slot, each for a reason of its own."""
    n, p, q = int(key.public.modulus), int(key.p), int(key.q)
    return {
        "one over the slot": 1 << SLOT,
        "one in the next slot but one": 1 << 2 * SLOT,
        "all slots": (1 << SLOT * SLOTS) - 1,
        "p - 1": p - 1,
        "p": p,
        "p + 1": p + 1,
        "a multiple of p": 12345 * p,
        "q": q,
        "a multiple of q that fits mod p": q * pow(q, -1, p) % n,
        "-1": n - 1,
        "minus a slot": n - (1 << SLOT),
        "half of N": n // 2,
        "large": 3**600 % n,
    }


def test_honest_rows_take_a_half_decryption_a_pack_and_one_full_one_a_batch(
    key: PaillierPrivateKey, rng: Randomness
) -> None:
    count = 2 * BATCH + 17
    wholes = honest(count, rng)
    halves = Counted(key)
    packed = PackedDecryption(halves, SLOT, rng)
    assert packed.slots == SLOTS
    assert packed.plaintexts(encrypted(key, wholes, rng)) == wholes
    assert halves.packs == 2 * math.ceil(BATCH / SLOTS) + math.ceil(17 / SLOTS)
    assert halves.full == 3


def test_few_rows_are_decrypted_one_by_one(key: PaillierPrivateKey, rng: Randomness) -> None:
    halves = Counted(key)
    wholes = honest(3, rng)
    assert PackedDecryption(halves, SLOT, rng).plaintexts(encrypted(key, wholes, rng)) == wholes
    assert (halves.packs, halves.full) == (0, 3)
    assert PackedDecryption(halves, SLOT, rng).plaintexts([]) == []


@pytest.mark.parametrize("kind", list(oversized(small_key(BITS))))  # type: ignore[arg-type] # it is Paillier's
def test_an_oversized_row_gets_its_own_integer_and_changes_no_other_wherever_it_stands(
    kind: str, key: PaillierPrivateKey, rng: Randomness
) -> None:
    count = 20
    for at in many([3, 19], [0, 3, 6, 7, 19]):  # bottom, middle and top of a pack, and the last pack, which is not full
        wholes = honest(count, rng)
        wholes[at] = oversized(key)[kind]
        halves = Counted(key)
        ciphertexts = encrypted(key, wholes, rng)
        assert PackedDecryption(halves, SLOT, rng).plaintexts(ciphertexts) == wholes
        pack = SLOTS if at < 14 else count - 14
        assert halves.packs == 3
        assert halves.full <= 1 + 2 + pack, "more than the checks of two halvings and the rows of one pack"


@pytest.mark.full
def test_the_course_of_the_work_depends_on_what_fits_and_not_on_the_primes(
    key: PaillierPrivateKey, rng: Randomness
) -> None:
    """Were it otherwise, a user could search for p by the time that her report takes."""
    seen = set()
    for whole in oversized(key).values():
        wholes = honest(BATCH, rng)
        wholes[100] = whole
        halves = Counted(key)
        PackedDecryption(halves, SLOT, rng).plaintexts(encrypted(key, wholes, rng))
        seen.add((halves.packs, halves.full))
    assert len(seen) == 1, seen


def test_one_hostile_row_costs_its_pack_and_the_halvings_around_it(key: PaillierPrivateKey, rng: Randomness) -> None:
    wholes = honest(BATCH, rng)
    wholes[100] = oversized(key)["-1"]
    halves = Counted(key)
    assert PackedDecryption(halves, SLOT, rng).plaintexts(encrypted(key, wholes, rng)) == wholes
    packs = math.ceil(BATCH / SLOTS)
    assert halves.packs == packs
    assert 1 + SLOTS < halves.full <= 1 + math.ceil(math.log2(packs)) + SLOTS


@pytest.mark.parametrize("every", [1, full(7), 8, full(20)])
def test_a_holder_that_makes_rows_oversized_at_will_costs_no_more_than_a_check_in_eight_rows(
    every: int, key: PaillierPrivateKey, rng: Randomness
) -> None:
    wholes = honest(BATCH, rng)
    wholes[::every] = [int(key.public.modulus) - 1 - whole for whole in wholes[::every]]
    halves = Counted(key)
    assert PackedDecryption(halves, SLOT, rng).plaintexts(encrypted(key, wholes, rng)) == wholes
    assert halves.full <= BATCH + BATCH // 8 + 1


@replayed
@given(
    mix=st.lists(
        st.one_of(
            st.integers(0, 2**SLOT - 1),
            st.integers(0, 2**BITS),
            st.integers(-(2**SLOT), 0),
            st.sampled_from([2**SLOT, 2**SLOT - 1, 2 ** (SLOTS * SLOT) - 1]),
        ),
        max_size=40,
    ),
    times_p=st.lists(st.integers(0, 2**512), max_size=3),
    seed=st.binary(min_size=32, max_size=32),
)
@example(mix=[2**SLOT, -1] * 15, times_p=[1], seed=bytes(32))
def test_any_mix_of_plaintexts_is_decrypted_as_in_full(
    mix: list[int], times_p: list[int], seed: bytes, key: PaillierPrivateKey
) -> None:
    rng = Randomness(seed)
    ciphertexts = encrypted(key, [*mix, *(factor * int(key.p) for factor in times_p)], rng)
    packed = PackedDecryption(key.halves, SLOT, rng)
    assert packed.plaintexts(ciphertexts) == key.halves.plaintexts(ciphertexts)


def test_a_row_that_no_check_would_let_in_disturbs_no_other(key: PaillierPrivateKey, rng: Randomness) -> None:
    wholes = honest(30, rng)
    ciphertexts = encrypted(key, wholes, rng)
    ciphertexts[4] = key.p * 12345
    found = PackedDecryption(key.halves, SLOT, rng).plaintexts(ciphertexts)
    assert [m for at, m in enumerate(found) if at != 4] == [m for at, m in enumerate(wholes) if at != 4]


@pytest.mark.parametrize("passes", [0, 1, 2, 3])
@pytest.mark.parametrize("told", [0, 1, 2, 40])
def test_whatever_passes_are_told_the_words_are_the_same(
    passes: int, told: int, key: PaillierPrivateKey, rng: Randomness
) -> None:
    public, count = key.public, 12
    words = rng.uint64(count)
    row = public.encrypt(words, public.zero_source(rng).zeros(count))
    for hop in range(1, passes + 1):
        masks = rng.uint64(count)
        row = public.remask(row, masks, public.zero_source(rng).zeros(count), hop=hop, rng=rng)
        words += masks
    assert key.decrypt_shuffled(row, passes=told, rng=rng).tolist() == words.tolist()


@pytest.mark.parametrize("passes", [full(0), full(1), 2])
def test_after_the_passes_told_every_honest_row_fits_its_slot(passes: int, rng: Randomness, stream: Streams) -> None:
    """The highest word and mask each time; ρ is drawn, and its bound is tested with the passes."""
    key = small_key(2048)
    assert isinstance(key, PaillierPrivateKey)
    public, count = key.public, 40
    source = public.zero_source(stream("slots"), expected=1000)
    top = np.full(count, 2**64 - 1, dtype=np.uint64)
    row = public.encrypt(top, source.zeros(count))
    for hop in range(1, passes + 1):
        row = public.remask(row, top, source.zeros(count), hop=hop, rng=rng)
    halves = Counted(key)
    packed = PackedDecryption(halves, plaintext_bits(passes), rng)
    assert packed.plaintexts(packing.integers(row)) == key.decrypt_integers(row)
    assert (halves.packs, halves.full) == (math.ceil(count / packed.slots), 1)


def test_at_3072_bits_seven_five_and_four_rows_share_a_decryption() -> None:
    halves = Halves(mpz(3) << 1534 | 1, mpz(3) << 1534 | 3)  # as long as primes of 3072 bits, which is all that counts
    slots = [PackedDecryption(halves, plaintext_bits(h), Randomness(bytes(32))).slots for h in (1, 2, 3, 4)]
    assert slots == [11, 7, 5, 4]
    for count, h in zip(slots, (1, 2, 3, 4), strict=True):
        assert 1 << count * plaintext_bits(h) <= halves.by_p.prime


def test_what_phe_encrypts_under_its_own_key_is_packed_like_any_other(rng: Randomness) -> None:
    theirs, secret = phe_paillier.generate_paillier_keypair(n_length=BITS)
    p, q = sorted((mpz(secret.p), mpz(secret.q)))
    key, words = PaillierPrivateKey(p, q), rng.uint64(20)
    sent = packing.pack([theirs.raw_encrypt(m) for m in words.tolist()], key.public.ciphertext_bytes)
    negative = packing.pack([theirs.encrypt(-7).ciphertext()], key.public.ciphertext_bytes)
    both = np.concatenate((sent, negative))
    halves = Counted(key)
    found = PackedDecryption(halves, plaintext_bits(0), rng).plaintexts(packing.integers(both))
    assert found == [secret.raw_decrypt(int(c)) for c in packing.integers(both)]
    assert halves.packs == 3
    assert key.decrypt_shuffled(both, passes=0, rng=rng).tolist()[:20] == words.tolist()


def test_what_we_encrypt_and_pass_on_phe_decrypts_to_the_same_words(key: PaillierPrivateKey, rng: Randomness) -> None:
    public, words = key.public, rng.uint64(12)
    zeros = public.zero_source(rng).zeros
    row = public.remask(public.encrypt(words, zeros(12)), words, zeros(12), hop=1, rng=rng)
    secret = phe_paillier.PaillierPrivateKey(PhePublicKey(int(public.modulus)), int(key.p), int(key.q))
    found = key.decrypt_shuffled(row, passes=1, rng=rng).tolist()
    assert found == [secret.raw_decrypt(int(c)) % 2**64 for c in packing.integers(row)] == (words + words).tolist()


@replayed
@given(
    pairs=st.lists(st.tuples(st.integers(1, 2**128), st.integers(0, 2**72 - 1)), max_size=60),
    modulus=st.integers(2, 2**128),
)
def test_a_product_of_powers_is_what_it_says(pairs: list[tuple[int, int]], modulus: int) -> None:
    expected = 1
    for base, exponent in pairs:
        expected = expected * pow(base, exponent, modulus) % modulus
    bases = [mpz(base) for base, _ in pairs]
    assert multi_power(bases, [exponent for _, exponent in pairs], 72, mpz(modulus)) % modulus == expected % modulus


def test_digits_grow_with_the_number_of_bases() -> None:
    widths = [digit_bits(count, 72) for count in (1, 16, 64, 256, 1024, 10**6)]
    assert widths == sorted(widths)
    assert widths[0] < widths[3] < widths[5]


def test_no_repr_shows_a_prime(key: PaillierPrivateKey, rng: Randomness) -> None:
    packed = PackedDecryption(key.halves, SLOT, rng)
    shown = repr(packed) + repr(key.halves) + repr(key.halves.by_p)
    assert str(key.p) not in shown
    assert str(key.q) not in shown
    assert "mpz" not in shown
