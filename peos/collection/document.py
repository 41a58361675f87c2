"""The collection document: everything that is fixed before the first user answers (protocol.md §6.2).

Its bytes as first received are what is signed, hashed and stored, never an encoding made anew. The SHA-256 of those
bytes is the collection's digest, which every later message carries: parties that agree on the digest agree on all.
"""

import hashlib
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Final

from peos.collection.ticket import StudyPart
from peos.crypto.identity import PUBLIC_BYTES
from peos.crypto.kdf import DIGEST_BYTES, Context
from peos.crypto.randomness import U64
from peos.crypto.schemes import scheme
from peos.crypto.schemes.base import KEY_BITS_FLOOR, PublicKey
from peos.errors import WrongInput
from peos.ldp import from_parameters
from peos.ldp.base import Mechanism, Question
from peos.protocols import DEFAULT, Assignment, Encryption, ShuffleProtocol
from peos.shuffle.schedule import Schedule
from peos.tasks.labels import require_labels
from peos.tasks.views import ValueView, View, ViewChoice, digest_of, from_choices

if TYPE_CHECKING:  # a user's client need not load it
    from peos.privacy.guarantees import Guarantees

_LAST_SHOWN: Final = 253_402_300_799  # the end of the year 9999, beyond which no calendar here goes
MIN_DUMMIES: Final = 32
TEXT_LIMIT: Final = 1024
MAX_ROWS: Final = 1 << 31


@dataclass(frozen=True)
class Member:
    """An organisation: its name, its signing key, and the SHA-256 of the certificate of its peer port."""

    name: str
    identity: bytes
    certificate: bytes

    def __post_init__(self) -> None:
        _require_text(self.name, "a member's name", least=1)
        if len(self.identity) != PUBLIC_BYTES or len(self.certificate) != DIGEST_BYTES:
            raise WrongInput("document.party", f"the identity and the certificate of {self.name} are 32 bytes each")


@dataclass(frozen=True)
class MechanismChoice:
    """A mechanism by name and integers, as a document holds it."""

    name: str
    domain: int
    parameters: Mapping[str, int]

    @classmethod
    def of(cls, mechanism: Mechanism) -> "MechanismChoice":
        """The choice that rebuilds `mechanism`."""
        return cls(mechanism.name, mechanism.domain, dict(mechanism.parameters))


@dataclass(frozen=True)
class Document:
    """What the analyzer asks and everybody accepts. Times are seconds since 1970, UTC."""

    question: str
    epoch: str
    choice: MechanismChoice
    scheme: str
    public_key: bytes
    shufflers: tuple[Member, ...]
    analyzer: Member
    fakes: int
    minimum: int
    delta: float
    enrolment_key: bytes
    dummies: tuple[bytes, ...]  # salted commitments
    closes_at: int
    shuffle_by: int
    erase_by: int
    protocol: ShuffleProtocol = DEFAULT
    onion_keys: tuple[bytes, ...] = ()  # the shufflers', where the protocol has such
    labels: tuple[str, ...] = ()  # what each value means; none where values are numbers
    views: tuple[ViewChoice, ...] = ()  # what is asked of a record; none where that is one value of the list
    study: StudyPart | None = None  # where it is a round of a study

    def __post_init__(self) -> None:
        self._check_members()
        self.protocol.check_terms(self)
        _require_text(self.question, "a question", least=1)
        _require_text(self.epoch, "an epoch", least=0)
        if not self.views:
            require_labels(self.labels, self.choice.domain)
        elif self.labels:
            raise WrongInput("document.labels", "labels are of the values of a list, and this document asks by views")
        if not (0.0 < self.delta < 1.0 and math.isfinite(self.delta)):
            raise WrongInput("document.delta", f"delta lies strictly between 0 and 1, not at {self.delta}")
        if not (0 <= self.fakes < MAX_ROWS and 1 <= self.minimum < MAX_ROWS):
            raise WrongInput(
                "document.rows",
                f"{self.fakes} fakes and a minimum of {self.minimum} reports cannot be shuffled",
                hint=f"at least one report, and each fewer than {MAX_ROWS:,}",
            )
        if len(self.dummies) < MIN_DUMMIES or len(set(self.dummies)) < len(self.dummies):
            raise WrongInput(
                "document.dummies",
                f"a collection commits to at least {MIN_DUMMIES} distinct dummies, not {len(self.dummies)}",
            )
        if any(len(commitment) != DIGEST_BYTES for commitment in self.dummies):
            raise WrongInput("document.dummy", "a dummy's commitment is 32 bytes")
        if len(self.enrolment_key) != PUBLIC_BYTES:
            raise WrongInput("document.enrolment_key", "the enrolment key is 32 bytes")
        if not 0 < self.closes_at < self.shuffle_by < self.erase_by < 1 << 40:
            raise WrongInput(
                "document.times", "a collection closes first, shuffles by a later time and erases by a still later one"
            )

    def claims(self, users: int) -> "Guarantees":
        """The guarantees if so many honest users are counted."""
        return self.protocol.claims(self.mechanism, users, self.fakes, self.delta, len(self.shufflers))

    @property
    def hiding_fakes(self) -> int:
        """The fakes that hide a user although as many shufflers collude as PEOS allows for."""
        return self.protocol.hiding_fakes(self.fakes, len(self.shufflers))

    def closing(self, now: float) -> str:
        """When it closes, and what a clock says: a reader of both notices a clock that is wrong."""
        return f"at {utc(self.closes_at)}, and the clock here says {utc(now)}"

    def _check_members(self) -> None:
        Schedule(len(self.shufflers))
        members = (*self.shufflers, self.analyzer)
        for what, keys in (
            ("identity", [member.identity for member in members]),
            ("certificate", [member.certificate for member in members]),
        ):
            if len(set(keys)) < len(keys):
                raise WrongInput(
                    "document.same_party",
                    f"two of the organisations have the same {what}: they must be different",
                    hint="name the card of another organisation",
                )

    @cached_property
    def asked(self) -> tuple[View, ...]:
        """What a client makes of a record."""
        return from_choices(self.views) if self.views else (ValueView(self.choice.domain, self.labels),)

    def scope(self, digest: bytes) -> bytes:
        """What its tickets are for: the collection of this digest, or the whole study."""
        return digest if self.study is None else self.study.id

    @cached_property
    def mechanism(self) -> Mechanism:
        """The local mechanism, salted with analyzer, question and epoch; it answers what is asked."""
        choice = self.choice
        ask = Question(self.analyzer.identity, self.question, self.epoch, digest_of(self.views))
        made = from_parameters(choice.name, choice.domain, choice.parameters, ask)
        made.require_asked([(view.gives, view.cells) for view in self.asked])
        return made

    def encryption_key(self, *, floor: int = KEY_BITS_FLOOR) -> PublicKey:
        """The analyzer's encryption key, every condition on it checked."""
        return scheme(self.scheme).public_key(self.public_key, floor=floor)

    def encryption(self, *, floor: int = KEY_BITS_FLOOR) -> Encryption:
        """How reports are encrypted: under keys that are checked here."""
        return self.protocol.encryption(self, floor=floor)

    def assignment(self, number: int, context: Context, frozen: int, dummies: int) -> Assignment:
        """What shuffler `number` has to shuffle: so many frozen reports, no more than so many of them dummies."""
        return Assignment(number, context, frozen, self.fakes, self.minimum + dummies)

    @cached_property
    def schedule(self) -> Schedule:
        """Who hides when."""
        return self.protocol.schedule(len(self.shufflers))


def digest(encoded: bytes) -> bytes:
    """The collection's digest: of the document's bytes as they were signed."""
    return hashlib.sha256(encoded).digest()


@dataclass(frozen=True, repr=False, eq=False)
class Dummy:
    """A report that the analyzer owns, to see whether the shuffle brings it through."""

    salt: bytes
    id: bytes
    words: U64

    def __repr__(self) -> str:
        return "Dummy(...)"

    @property
    def commitment(self) -> bytes:
        """What the document shows of it: nothing, until the salt is revealed."""
        words = self.words.astype("<u8").tobytes()
        return hashlib.sha256(
            b"dummy" + struct.pack(">II", len(self.salt), len(self.id)) + self.salt + self.id + words
        ).digest()


def _require_text(text: str, what: str, *, least: int) -> None:
    if not least <= len(text) <= TEXT_LIMIT:
        raise WrongInput(
            "document.text_length", f"{what} has between {least} and {TEXT_LIMIT} characters, not {len(text)}"
        )
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise WrongInput("document.text_unicode", f"{what} is Unicode text: half a surrogate pair cannot be sent")


def utc(moment: float) -> str:
    """A time, for people."""
    return datetime.fromtimestamp(min(moment, _LAST_SHOWN), UTC).strftime("%Y-%m-%d %H:%M UTC")
