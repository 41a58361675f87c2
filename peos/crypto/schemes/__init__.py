"""The additively homomorphic encryption schemes, one interface for all (protocol.md §5)."""

from peos.crypto.schemes.base import KEY_BITS_FLOOR, Packed, PrivateKey, PublicKey, Scheme, ZeroSource
from peos.errors import WrongInput
from peos.registry import SCHEMES

__all__ = ["KEY_BITS_FLOOR", "SCHEMES", "Packed", "PrivateKey", "PublicKey", "Scheme", "ZeroSource", "scheme"]


def scheme(name: str) -> Scheme:
    """The scheme of that name."""
    if name not in SCHEMES:
        hint = f"choose one of {', '.join(SCHEMES)}"
        raise WrongInput("input.scheme", f"the encryption scheme {name!r} cannot be used", hint=hint)
    return SCHEMES[name]()
