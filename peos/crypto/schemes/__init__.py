"""The additively homomorphic encryption schemes, one interface for all (protocol.md §5)."""

from peos.crypto.schemes.base import KEY_BITS_FLOOR, Packed, PrivateKey, PublicKey, Scheme, ZeroSource
from peos.crypto.schemes.paillier import Paillier
from peos.errors import WrongInput

__all__ = ["KEY_BITS_FLOOR", "Packed", "PrivateKey", "PublicKey", "Scheme", "ZeroSource", "scheme"]


def scheme(name: str) -> Scheme:
    """The scheme of that name."""
    if name == Paillier.name:
        return Paillier()
    raise WrongInput(f"the encryption scheme {name!r} cannot be used: only 'paillier' is available so far")
