"""How the hiders of a round agree on a seed that none of them chose: commit, reveal, confirm (protocol.md §3).

Every contribution is committed to before any is revealed, so the seed is uniform if one hider's contribution is. All
compare a hash of the seed before they permute: a hider that permutes by another seed would leave a flat, plausible
and worthless histogram, and no error.
"""

import hashlib
from collections.abc import Mapping

from peos.crypto.kdf import Context


def commitment(context: Context, round_: int, sender: int, contribution: bytes) -> bytes:
    """A hider's commitment, before any contribution is revealed."""
    return hashlib.sha256(b"commit" + _place(context, round_) + bytes([sender]) + contribution).digest()


def seed(context: Context, round_: int, contributions: Mapping[int, bytes]) -> bytes:
    """The round's seed, from all contributions in the shufflers' order."""
    joined = b"".join(contributions[who] for who in sorted(contributions))
    return hashlib.sha256(b"seed" + _place(context, round_) + joined).digest()


def confirmation(secret: bytes) -> bytes:
    """A hash of the seed that can be shown to all: the seed has 256 bits that an outsider cannot guess."""
    return hashlib.sha256(b"confirm" + secret).digest()


def _place(context: Context, round_: int) -> bytes:
    return context.collection + context.frozen + context.attempt.to_bytes(4, "big") + round_.to_bytes(2, "big")
