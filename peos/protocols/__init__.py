"""The shuffle protocols, one interface for all (docs/decisions/0025).

    base        what a protocol answers for
    peos        the encrypted oblivious shuffle
    sequential  SS, the baseline

A third one is a file here and a line of `peos.registry`. Depends on `peos.shuffle`, `peos.privacy`, `peos.ldp` and
`peos.crypto`.
"""

from typing import Final

from peos.errors import WrongInput
from peos.protocols.base import AnalyzerKey, Assignment, Encryption, ShuffleProtocol, Splitter
from peos.registry import DEFAULT_PROTOCOL, PROTOCOLS

__all__ = ["DEFAULT", "NEEDS_NO_LEAVE", "AnalyzerKey", "Assignment", "Encryption", "ShuffleProtocol", "Splitter"]
__all__ += ["protocol_named"]

DEFAULT: Final = PROTOCOLS[DEFAULT_PROTOCOL]
"""The protocol of a document that names none."""

NEEDS_NO_LEAVE: Final = tuple(name for name, one in PROTOCOLS.items() if not one.weaker)
"""The protocols that an owner takes part in who says nothing of them; the others protect less."""


def protocol_named(name: str) -> ShuffleProtocol:
    """The protocol of that name."""
    found = PROTOCOLS.get(name)
    if found is None:
        raise WrongInput("input.protocol", f"the protocol {name!r} is not known", hint=f"known: {', '.join(PROTOCOLS)}")
    return found
