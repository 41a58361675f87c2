"""Small keys for tests, made once a process: the floor of 3072 bits is a policy of decoders, and tested there."""

from functools import cache

from peos.crypto.randomness import Randomness
from peos.crypto.schemes import scheme
from peos.crypto.schemes.base import PrivateKey


@cache
def small_key(bits: int = 512, name: str = "paillier") -> PrivateKey:
    """The same key in each run."""
    return scheme(name).generate(Randomness(bits.to_bytes(32, "big")), bits=bits)
