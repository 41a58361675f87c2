"""What a collection costs each party: bytes counted from the protocol, seconds from measured operations.

Seconds are of one core at 3072 bits, as `peos bench schemes` measured them. Of the bytes of a vector
the payload is counted; its framing adds less than a thousandth, TLS another few.
"""

from dataclasses import dataclass
from typing import Final

from peos.crypto.schemes import scheme as scheme_named
from peos.registry import DEFAULT_SCHEME
from peos.shuffle.schedule import Schedule

WORD_BYTES: Final = 8

PART_BYTES: Final = 240
"""What every part of a submission carries without its share and the hashes: version, collection, shuffler, id, ticket,
user key, signature and salt as they are encoded (proto/peos/v1/submission.proto)."""

HASH_BYTES: Final = 34
"""One salted hash, one for each shuffler in each part."""


MEASURED: Final = "peos bench schemes: 3072 bits, one core of an AMD EPYC, Python with gmpy2"


@dataclass(frozen=True)
class Cost:
    """Of one user, of the average shuffler, and of the analyzer (`analyzer_s`: seconds of one core)."""

    user_bytes: int
    user_ms: float
    shuffler_mb: float  # sent
    shuffler_s: float  # the longest: one pass over the ciphertexts, and shuffler 1 encrypts its fakes
    analyzer_mb: float  # received
    analyzer_s: float
    scheme: str
    measured: str = MEASURED

    def to_json(self) -> dict[str, object]:
        """The figures as a plan quotes them."""
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


def cost(words: int, users: int, fakes: int, shufflers: int, scheme: str = DEFAULT_SCHEME) -> Cost:
    """The cost of a collection of reports of `words` words."""
    schedule = Schedule(shufflers)
    price = scheme_named(scheme).costs
    rows = (users + fakes) * words
    sent = rows * (len(schedule.passes) * price.ciphertext_bytes + schedule.explicit_vectors * WORD_BYTES)
    shares = (words * price.ciphertext_bytes, *[words * WORD_BYTES] * (shufflers - 1))
    return Cost(
        user_bytes=sum(PART_BYTES + shufflers * HASH_BYTES + _field(share) for share in shares),
        user_ms=words * price.encrypt_ms,
        shuffler_mb=sent / shufflers / 1e6,
        shuffler_s=(rows + fakes * words) * price.pass_ms / 1e3,
        analyzer_mb=rows * (price.ciphertext_bytes + (schedule.threshold - 1) * WORD_BYTES) / 1e6,
        analyzer_s=rows * (price.decrypt_ms + (len(schedule.passes) - 2) * price.decrypt_ms_more) / 1e3,
        scheme=scheme,
    )


def _field(length: int) -> int:
    """A field of bytes as it is encoded: tag, length in groups of seven bits, and the bytes."""
    return 1 + max(1, -(-length.bit_length() // 7)) + length
