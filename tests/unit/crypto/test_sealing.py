"""What is sealed is opened by its receiver alone, unchanged; labels tell messages apart."""

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from peos.crypto.randomness import Randomness
from peos.crypto.sealing import Receiver, Shared, seal
from peos.errors import BadEncoding
from tests.raising import raises


def test_the_receiver_opens_it_and_nobody_else_does(rng: Randomness) -> None:
    mine, theirs = Receiver(rng), Receiver(rng)
    sealed = seal(mine.point, b"message", rng)
    assert mine.open(sealed) == b"message"
    assert b"message" not in sealed
    with raises("key.sealed"):
        theirs.open(sealed)
    assert seal(mine.point, b"message", rng) != sealed


def test_every_changed_bit_and_every_cut_is_seen(rng: Randomness) -> None:
    mine = Receiver(rng)
    sealed = seal(mine.point, b"message", rng)
    for at in range(len(sealed)):
        changed = bytearray(sealed)
        changed[at] ^= 0x80 if at == 31 else 1  # the point's highest bit is no part of it, and of the key's label
        with pytest.raises(BadEncoding):
            mine.open(bytes(changed))
        with pytest.raises(BadEncoding):
            mine.open(sealed[:at])


@pytest.mark.parametrize("point", [b"", bytes(32), bytes(31), bytes(33), b"\x01" + bytes(31)])
def test_a_point_that_is_none_is_refused(point: bytes, rng: Randomness) -> None:
    with raises("key.point"):
        seal(point, b"message", rng)


def test_the_sealed_message_is_what_the_module_says(rng: Randomness) -> None:
    private = X25519PrivateKey.from_private_bytes(Randomness(b"\x05" * 32).bytes(32))
    receiver = Receiver(Randomness(b"\x05" * 32))
    assert receiver.point == private.public_key().public_bytes_raw()
    sealed = seal(receiver.point, b"message", rng)
    secret = private.exchange(X25519PublicKey.from_public_bytes(sealed[:32]))
    key = HKDF(SHA256(), 32, None, b"peos1\x07sealing" + sealed[:32] + receiver.point).derive(secret)
    assert AESGCM(key).decrypt(bytes(12), sealed[32:], None) == b"message"


def test_a_shared_message_opens_under_its_label_only(rng: Randomness) -> None:
    shared, other = Shared(rng.bytes(32)), Shared(rng.bytes(32))
    sealed = shared.seal(b"message", b"chunk 1", rng)
    assert shared.open(sealed, b"chunk 1") == b"message"
    for opener, label, given in (
        (shared, b"chunk 2", sealed),
        (other, b"chunk 1", sealed),
        (shared, b"chunk 1", sealed[:-1]),
        (shared, b"chunk 1", b""),
    ):
        with raises("key.sealed"):
            opener.open(given, label)
    assert shared.seal(b"message", b"chunk 1", rng) != sealed


def test_reprs_show_no_key(rng: Randomness) -> None:
    key = rng.bytes(32)
    assert repr(Shared(key)) == "Shared(...)"
    receiver = Receiver(rng)
    assert repr(receiver) == f"Receiver({receiver.point.hex()[:8]}…)"
