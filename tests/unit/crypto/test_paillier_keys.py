"""Paillier's keys: made, written, read back, refused, and kept out of every text."""

import pickle
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from gmpy2 import is_prime
from hypothesis import given
from hypothesis import strategies as st

from peos.crypto.randomness import Randomness
from peos.crypto.schemes import KEY_BITS_FLOOR, SCHEMES, scheme
from peos.crypto.schemes import base as base_module
from peos.crypto.schemes.moduli import primes_fault, random_prime
from peos.crypto.schemes.paillier import Paillier, PaillierPrivateKey
from peos.errors import BadEncoding
from tests.raising import raises
from tests.unit.crypto.conftest import Streams


def test_the_floor_is_3072_bits_and_holds_unless_a_caller_lowers_it(private: PaillierPrivateKey) -> None:
    assert KEY_BITS_FLOOR == 3072
    assert base_module.KEY_BITS_FLOOR == 3072
    for read, data in (
        (Paillier().public_key, private.public.encode()),
        (Paillier().private_key, private.encode()),
    ):
        with raises("key.too_short", "512", "3072"):
            read(data)


def test_a_scheme_is_had_by_name_and_others_are_refused_in_a_sentence() -> None:
    assert isinstance(scheme("paillier"), Paillier)
    assert list(SCHEMES) == ["paillier", "dgk", "jl"]
    for name in SCHEMES:
        assert scheme(name).name == name
    for name in ("rot13", "", "JL"):
        with raises("input.scheme", repr(name)) as caught:
            scheme(name)
        assert "paillier, dgk, jl" in caught.value.hint


def test_a_default_key_has_3072_bits_and_works_from_end_to_end(rng: Randomness) -> None:
    paillier = scheme("paillier")
    secret = paillier.private_key(paillier.generate(rng).encode())
    key = paillier.public_key(secret.public.encode())
    assert (key.bits, key.ciphertext_bytes) == (3072, 768)
    source = key.zero_source(rng)
    plain, first, second = (rng.uint64(3) for _ in range(3))
    sent = key.encrypt(plain, source.zeros(3))
    once = key.remask(sent, first, source.zeros(3), hop=1, rng=rng)
    twice = key.remask(once, second, source.zeros(3), hop=2, rng=rng)
    assert key.check(np.concatenate((sent, once, twice))).all()
    assert secret.decrypt(twice).tolist() == (plain + first + second).tolist()


@pytest.mark.parametrize("bits", [256, 512, 768])
def test_a_fresh_key_meets_its_conditions(bits: int, stream: Streams) -> None:
    for trial in range(3):
        key = Paillier().generate(stream(f"generate {bits} {trial}"), bits=bits)
        p, q = key.p, key.q
        assert is_prime(p)
        assert is_prime(q)
        assert p < q
        assert p.bit_length() == q.bit_length() == bits // 2
        assert key.public.bits == (p * q).bit_length() == bits
        assert primes_fault(p, q, bits) == ""
        assert Paillier().public_key(key.public.encode(), floor=bits) == key.public
        assert Paillier().private_key(key.encode(), floor=bits) == key


def test_equal_primes_are_caught_before_they_make_a_square(monkeypatch: pytest.MonkeyPatch) -> None:
    prime = random_prime(256, Randomness(b"\x03" * 32))
    made = SimpleNamespace(p=int(prime), q=int(prime))
    monkeypatch.setattr("phe.paillier.generate_paillier_keypair", lambda n_length: (n_length, made))
    with raises("key.fresh_unfit") as caught:
        Paillier().generate(Randomness(b"\x03" * 32), bits=512)
    assert str(prime) not in str(caught.value)


@pytest.mark.parametrize("bits", [0, 64, 192, 500, 3073, 16448])
def test_a_key_of_an_odd_length_is_not_made(bits: int, rng: Randomness) -> None:
    with raises("input.key_bits", f"{bits}"):
        Paillier().generate(rng, bits=bits)


@given(data=st.data())
def test_whatever_a_changed_key_is_it_is_refused_as_one_or_reads_back_to_its_own_bytes(
    data: st.DataObject, private: PaillierPrivateKey
) -> None:
    good = data.draw(st.sampled_from([private.public.encode(), private.encode()]))
    read = Paillier().public_key if good == private.public.encode() else Paillier().private_key
    cut = good[: data.draw(st.integers(0, len(good)))]
    changed = bytearray(cut + data.draw(st.binary(max_size=3)))
    for _ in range(data.draw(st.integers(0, 2))):
        if changed:
            changed[data.draw(st.integers(0, len(changed) - 1))] ^= data.draw(st.integers(0, 255))
    try:
        key = read(bytes(changed), floor=512)
    except BadEncoding:
        return
    assert key.encode() == bytes(changed)


def test_texts_of_keys_show_the_public_fingerprint_and_nothing_else(private: PaillierPrivateKey) -> None:
    short = private.public.fingerprint.hex()[:8]
    texts = {repr(private), str(private), f"{private}", f"{private!s:>3}", f"{[private]}"[1:-1]}
    assert texts == {f"PaillierPrivateKey({short})"}
    assert repr(private.public) == f"PaillierPublicKey(512 bits, {short})"


def test_no_error_about_a_private_key_tells_it(private: PaillierPrivateKey) -> None:
    good = private.encode()
    secrets = [spelling for x in (private.p, private.q) for spelling in (str(x), hex(x)[2:])]
    for bad in (good[:-1], good + b"\x00", good[:-1] + bytes([good[-1] ^ 1]), good[:3] + good[35:] + good[3:35]):
        with pytest.raises(BadEncoding) as caught:
            Paillier().private_key(bad, floor=512)
        assert not any(secret in str(caught.value) for secret in secrets)


def test_equality_and_fingerprint_follow_the_encoding(private: PaillierPrivateKey, stream: Streams) -> None:
    public = private.public
    same = Paillier().public_key(public.encode(), floor=512)
    other = Paillier().generate(stream("another key"), bits=512).public
    assert same == public
    assert hash(same) == hash(public)
    assert same.fingerprint == public.fingerprint
    assert other != public
    assert other.fingerprint != public.fingerprint
    assert len(public.fingerprint) == 32


def test_keys_go_to_a_spawned_process_and_back(private: PaillierPrivateKey, rng: Randomness) -> None:
    public = private.public
    plain = rng.uint64(4)
    sent = public.encrypt(plain, public.zero_source(rng).zeros(4))
    private.decrypt(sent)  # fills what the key remembers for speed, which must not hinder it
    program = (
        "import pickle, sys; key, public, rows = pickle.load(sys.stdin.buffer);"
        "assert key.public == public and public.check(rows).all(); print(*key.decrypt(rows))"
    )
    done = subprocess.run(  # noqa: S603  # our own interpreter on our own line
        [sys.executable, "-c", program],
        input=pickle.dumps((private, public, sent)),
        capture_output=True,
        check=True,
    )
    assert [int(word) for word in done.stdout.split()] == plain.tolist()


def test_a_close_pair_of_primes_is_a_fault_though_both_are_good() -> None:
    p = random_prime(256, Randomness(b"\x05" * 32))
    close = p + 2
    while not is_prime(close):
        close += 2
    assert "too close" in primes_fault(p, close, 512)
