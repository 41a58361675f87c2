"""Fixtures for the attacks: one small key for all of them, since none of them is about the length of a key."""

import pytest

from peos.crypto.randomness import Randomness
from peos.crypto.schemes.paillier import Paillier, PaillierPrivateKey

SMALL_KEY_BITS = 512  # has room for six passes; r = 7 makes four


@pytest.fixture(scope="session")
def key() -> PaillierPrivateKey:
    """A Paillier key that is small enough for tens of thousands of ciphertexts in seconds."""
    return Paillier().generate(Randomness(b"\x05" * 32), bits=SMALL_KEY_BITS)
