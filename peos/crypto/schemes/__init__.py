"""The additively homomorphic encryption schemes, one interface for all (protocol.md §5)."""

from typing import Final

from peos.crypto.schemes.base import KEY_BITS_FLOOR, Packed, PrivateKey, PublicKey, Scheme, ZeroSource
from peos.crypto.schemes.dgk import DGK
from peos.crypto.schemes.joye_libert import JoyeLibert
from peos.crypto.schemes.paillier import Paillier
from peos.errors import WrongInput

__all__ = ["KEY_BITS_FLOOR", "SCHEMES", "Packed", "PrivateKey", "PublicKey", "Scheme", "ZeroSource", "scheme"]

SCHEMES: Final[tuple[Scheme, ...]] = (Paillier(), DGK(), JoyeLibert())
"""All of them, the default first."""


def scheme(name: str) -> Scheme:
    """The scheme of that name."""
    for known in SCHEMES:
        if known.name == name:
            return known
    names = ", ".join(known.name for known in SCHEMES)
    raise WrongInput("input.scheme", f"the encryption scheme {name!r} cannot be used", hint=f"choose one of {names}")
