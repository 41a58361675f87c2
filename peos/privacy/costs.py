"""What a collection costs each party: bytes counted from the protocol, seconds from measured operations.

Seconds are of one core, Python with gmpy2, Paillier of 3072 bits (protocol.md §5). The bytes are payload: framing
and TLS are not counted.
"""

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final

from peos.errors import WrongInput

CIPHERTEXT_BYTES: Final = 768
"""A Paillier ciphertext: an integer modulo the square of a 3072-bit number."""

WORD_BYTES: Final = 8
HASH_BYTES: Final = 32
PART_BYTES: Final = 16 + 64 + 16
"""Beside the share and one hash per shuffler, every part of a submission carries the submission's id (16 bytes), the
ticket (an Ed25519 signature, 64) and the salt of its own hash (16); protocol.md §6.3."""

ENCRYPT_MS: Final = 25.0
"""One encryption without tables, as a user makes one: 24 to 29 ms."""

PASS_MS: Final = 0.38
"""Adding a mask to a ciphertext and re-randomising it, with tables of 12-bit windows over 640 bits."""

DECRYPT_MS: Final = 6.4
"""One decryption."""

MEASURED: Final = "protocol.md §5: Paillier-3072, one core, Python with gmpy2"


@dataclass(frozen=True)
class Cost:
    """Of one user, of the average shuffler, and of the analyzer (`analyzer_s`: seconds of one core)."""

    user_bytes: int
    user_ms: float
    shuffler_mb: float  # sent
    shuffler_s: float  # the longest: one pass over the ciphertexts, and shuffler 1 encrypts its fakes
    analyzer_mb: float  # received
    analyzer_s: float
    scheme: str = "paillier"
    measured: str = MEASURED

    def to_json(self) -> dict[str, object]:
        """The figures as a plan quotes them (design.md §4)."""
        return {
            "user_bytes": self.user_bytes,
            "user_ms": self.user_ms,
            "shuffler_mb": round(self.shuffler_mb, 3),
            "shuffler_s": round(self.shuffler_s, 3),
            "analyzer_mb": round(self.analyzer_mb, 3),
            "analyzer_s": round(self.analyzer_s, 3),
            "scheme": self.scheme,
            "measured": self.measured,
        }


def hiders(shufflers: int) -> int:
    """t = ⌊r/2⌋ + 1, of which one coalition of r − t never holds all (protocol.md §1)."""
    if not 3 <= shufflers <= 9:
        raise WrongInput(
            f"{shufflers} shufflers cannot run a collection", hint="between 3 and 9 organisations are needed"
        )
    return shufflers // 2 + 1


def colluders(shufflers: int) -> int:
    """c = r − t: so many shufflers may collude with the analyzer and learn nothing more."""
    return shufflers - hiders(shufflers)


def explicit_vectors(shufflers: int) -> int:
    """How many whole plaintext vectors travel in one shuffle (protocol.md §3): 3, 5, 13, 48 for r = 3, 4, 5, 7.

    Whoever leaves the hiders sends one, except a holder, whose vector goes into the ciphertexts; so do the shufflers
    outside the first round, and all hiders of the last round but the holder deliver theirs.
    """
    rounds = list(combinations(range(shufflers), hiders(shufflers)))
    leaving = sum(len(set(now[1:]) - set(then)) for now, then in pairwise(rounds))
    return colluders(shufflers) + leaving + len(rounds[-1]) - 1


def cost(words: int, users: int, fakes: int, shufflers: int) -> Cost:
    """The cost of a collection of reports of `words` words."""
    rows = (users + fakes) * words
    passes = colluders(shufflers) + 1
    deliverers = hiders(shufflers) - 1
    part = PART_BYTES + shufflers * HASH_BYTES
    sent = rows * (passes * CIPHERTEXT_BYTES + explicit_vectors(shufflers) * WORD_BYTES)
    return Cost(
        user_bytes=words * (CIPHERTEXT_BYTES + (shufflers - 1) * WORD_BYTES) + shufflers * part,
        user_ms=words * ENCRYPT_MS,
        shuffler_mb=sent / shufflers / 1e6,
        shuffler_s=(rows + fakes * words) * PASS_MS / 1e3,
        analyzer_mb=rows * (CIPHERTEXT_BYTES + deliverers * WORD_BYTES) / 1e6,
        analyzer_s=rows * DECRYPT_MS / 1e3,
    )
