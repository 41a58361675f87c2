"""Keys of DGK and Joye-Libert: made, written, read back, refused, and kept out of every text."""

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from gmpy2 import bit_scan1, is_prime, legendre, powmod
from hypothesis import given
from hypothesis import strategies as st

from peos.crypto.randomness import Randomness
from peos.crypto.schemes import scheme
from peos.crypto.schemes.dgk import DGK, subgroup_bits
from peos.crypto.schemes.joye_libert import JoyeLibert
from peos.errors import BadEncoding
from tests.keys import small_key
from tests.raising import raises
from tests.unit.crypto.conftest import Streams

both = pytest.mark.parametrize("name", ["dgk", "jl"])
NAMES = {"dgk": "DGK", "jl": "JoyeLibert"}


@both
def test_a_default_key_has_3072_bits_and_works_from_end_to_end(name: str, rng: Randomness) -> None:
    secret = scheme(name).private_key(scheme(name).generate(rng).encode())
    key = scheme(name).public_key(secret.public.encode())
    assert (key.bits, key.ciphertext_bytes) == (3072, 384)
    source = key.zero_source(rng)
    plain, first, second = (rng.uint64(3) for _ in range(3))
    sent = key.encrypt(plain, source.zeros(3))
    once = key.remask(sent, first, source.zeros(3), hop=1, rng=rng)
    twice = key.remask(once, second, source.zeros(3), hop=2, rng=rng)
    assert key.check(np.concatenate((sent, once, twice))).all()
    assert secret.decrypt(twice).tolist() == (plain + first + second).tolist()


@both
def test_the_floor_of_3072_bits_holds_unless_a_caller_lowers_it(name: str) -> None:
    private = small_key(512, name)
    for read, data in (
        (scheme(name).public_key, private.public.encode()),
        (scheme(name).private_key, private.encode()),
    ):
        with raises("key.too_short", "512", "3072"):
            read(data)


@pytest.mark.parametrize("bits", [256, 512, 1024])
def test_a_fresh_joye_libert_key_meets_its_conditions(bits: int, stream: Streams) -> None:
    for trial in range(3):
        key = JoyeLibert().generate(stream(f"jl {bits} {trial}"), bits=bits)
        p, q, y, n = key.p, key.q, key.y, key.public.modulus
        assert p * q == n
        assert n.bit_length() == bits
        assert p.bit_length() == q.bit_length() == bits // 2
        assert is_prime(p)
        assert is_prime(q)
        assert bit_scan1(p - 1) == 64
        assert is_prime((p - 1) // 2**64)
        assert q % 4 == n % 4 == 3
        assert legendre(y, p) == legendre(y, q) == -1
        assert JoyeLibert().public_key(key.public.encode(), floor=bits) == key.public
        assert JoyeLibert().private_key(key.encode(), floor=bits) == key


@pytest.mark.parametrize("bits", [256, 512, 1024, 2048])
def test_a_fresh_dgk_key_meets_its_conditions(bits: int, stream: Streams) -> None:
    for trial in range(3):
        key = DGK().generate(stream(f"dgk {bits} {trial}"), bits=bits)
        n = key.public.modulus
        assert key.p * key.q == n
        assert n.bit_length() == bits
        assert key.p < key.q
        for prime, v, other in ((key.p, key.v_p, key.q), (key.q, key.v_q, key.p)):
            assert prime.bit_length() == bits // 2
            assert is_prime(prime)
            assert is_prime(v)
            assert v.bit_length() == subgroup_bits(bits)
            f, rest = divmod(prime - 1, 2**64 * v)
            assert rest == 0
            assert f % 2 == 1
            assert f % v != 0
            assert (other - 1) % v != 0
            assert powmod(key.g, 2**64 * v, prime) == 1 == powmod(key.h, v, prime)
            assert powmod(key.g, 2**63 * v, prime) != 1 != powmod(key.g, 2**64, prime)
            assert key.h % prime != 1
            assert legendre(key.g, prime) == -1
            assert legendre(key.h, prime) == 1
        assert DGK().public_key(key.public.encode(), floor=bits) == key.public
        assert DGK().private_key(key.encode(), floor=bits) == key


def test_the_groups_of_h_have_256_bits_in_every_key_that_the_floor_lets_in() -> None:
    assert [subgroup_bits(bits) for bits in (3072, 4096, 2048, 512)] == [256, 256, 256, 64]


@both
def test_the_same_stream_gives_the_same_key_and_another_another(name: str, stream: Streams) -> None:
    one, again, other = (scheme(name).generate(stream(label), bits=256) for label in ("one", "one", "other"))
    assert one == again
    assert one != other


@both
def test_a_source_that_repeats_itself_is_caught(name: str, monkeypatch: pytest.MonkeyPatch, stream: Streams) -> None:
    private: Any = small_key(512, name)
    if name == "jl":
        monkeypatch.setattr("peos.crypto.schemes.joye_libert.word_prime", lambda _bits, _rng: private.p + 2)
    else:
        monkeypatch.setattr("peos.crypto.schemes.dgk._prime", lambda _bits, _rng: (private.p, private.v_p))
        monkeypatch.setattr("peos.crypto.schemes.dgk._joined", lambda *_: private.g)
    with raises("key.fresh_unfit") as caught:
        scheme(name).generate(stream("repeats"), bits=512)
    assert str(private.p) not in str(caught.value)


@both
@pytest.mark.parametrize("bits", [0, 64, 192, 500, 3073, 16448])
def test_a_key_of_an_odd_length_is_not_made(name: str, bits: int, rng: Randomness) -> None:
    with raises("input.key_bits", f"{bits}"):
        scheme(name).generate(rng, bits=bits)


@both
@given(data=st.data())
def test_whatever_a_changed_key_is_it_is_refused_as_one_or_reads_back_to_its_own_bytes(
    name: str, data: st.DataObject
) -> None:
    private = small_key(512, name)
    good = data.draw(st.sampled_from([private.public.encode(), private.encode()]))
    read = scheme(name).public_key if good == private.public.encode() else scheme(name).private_key
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


@both
def test_texts_of_keys_show_the_public_fingerprint_and_nothing_else(name: str) -> None:
    private = small_key(512, name)
    short = private.public.fingerprint.hex()[:8]
    texts = {repr(private), str(private), f"{private}", f"{private!s:>3}", f"{[private]}"[1:-1]}
    assert texts == {f"{NAMES[name]}PrivateKey({short})"}
    assert repr(private.public) == f"{NAMES[name]}PublicKey(512 bits, {short})"


@both
def test_no_error_about_a_private_key_tells_it(name: str) -> None:
    private: Any = small_key(512, name)
    good = private.encode()
    hidden = [private.p, private.q, *([private.v_p, private.v_q] if name == "dgk" else [])]
    secrets = [spelling for x in hidden for spelling in (str(x), hex(x)[2:])]
    for bad in (good[:-1], good + b"\x00", good[:-1] + bytes([good[-1] ^ 4]), good[:3] + good[35:67] + good[3:35]):
        with pytest.raises(BadEncoding) as caught:
            scheme(name).private_key(bad, floor=512)
        assert not any(secret in str(caught.value) for secret in secrets)


@both
def test_equality_and_fingerprint_follow_the_encoding(name: str, stream: Streams) -> None:
    public = small_key(512, name).public
    same = scheme(name).public_key(public.encode(), floor=512)
    other = scheme(name).generate(stream("another key"), bits=512).public
    assert same == public
    assert hash(same) == hash(public)
    assert same.fingerprint == public.fingerprint
    assert other != public
    assert other.fingerprint != public.fingerprint
    assert len(public.fingerprint) == 32


@both
def test_keys_go_to_a_spawned_process_and_back_without_what_is_remembered(name: str, rng: Randomness) -> None:
    private: Any = small_key(512, name)
    public = private.public
    plain = rng.uint64(4)
    sent = public.encrypt(plain, public.zero_source(rng).zeros(4))
    private.decrypt(sent)  # builds tables for speed, which stay here
    message = pickle.dumps((private, public, sent))
    assert len(message) < 3_000, "a chunk's job carries the key, and no tables"
    program = (
        "import pickle, sys; key, public, rows = pickle.load(sys.stdin.buffer);"
        "assert key.public == public and public.check(rows).all(); print(*key.decrypt(rows))"
    )
    done = subprocess.run(  # noqa: S603  # our own interpreter on our own line
        [sys.executable, "-c", program], input=message, capture_output=True, check=True
    )
    assert [int(word) for word in done.stdout.split()] == plain.tolist()
