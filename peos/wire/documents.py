"""The collection document on the wire."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from peos.collection.document import Document, MechanismChoice, Member, digest
from peos.collection.ticket import PLACES, StudyPart
from peos.crypto.identity import PUBLIC_BYTES, SIGNATURE_BYTES, Identity, verifies
from peos.crypto.schemes.base import KEY_BITS_FLOOR
from peos.errors import BadEncoding, WrongInput
from peos.protocols import DEFAULT, Encryption, protocol_named
from peos.shuffle.attempt import ENCRYPTED_SHARE
from peos.tasks.views import Catalogue, ViewChoice
from peos.v1 import collection_pb2 as pb
from peos.wire.strict import VERSION, exactly, parse, serialize
from peos.wire.submissions import MAX_SHARE_BYTES


@dataclass(frozen=True)
class SignedDocument:
    """A document's bytes as first received, the signature over them, and what they say."""

    encoded: bytes
    signature: bytes
    document: Document

    @cached_property
    def digest(self) -> bytes:
        """The collection's digest."""
        return digest(self.encoded)


def sign_document(document: Document, analyzer: Identity) -> bytes:
    """The signed document as the analyzer sends it out."""
    encoded = encode_document(document)
    signature = analyzer.sign("document", encoded)
    return serialize(pb.SignedDocument(version=VERSION, document=encoded, signature=signature))


@lru_cache(maxsize=32)
def decode_signed_document(data: bytes, *, floor: int = KEY_BITS_FLOOR) -> SignedDocument:
    """A signed document, its signature verified under the analyzer key that it names: once for the same bytes."""
    message = parse(pb.SignedDocument, data)
    exactly(message.signature, SIGNATURE_BYTES, "a document's signature")
    document = decode_document(message.document, floor=floor)
    if not verifies(document.analyzer.identity, message.signature, "document", message.document):
        raise BadEncoding("document.signature", "the document is not signed by the analyzer that it names")
    return SignedDocument(message.document, message.signature, document)


def erase_by_of(data: bytes) -> int:
    """When everything of a collection is erased, read from a signed document that was checked before it was kept."""
    return parse(pb.Document, parse(pb.SignedDocument, data).document).erase_by


def shuffle_by_of(data: bytes) -> int:
    """When its shuffle is over, whether or not there was one, read like `erase_by_of`."""
    return parse(pb.Document, parse(pb.SignedDocument, data).document).shuffle_by


def study_of(data: bytes) -> bytes:
    """The id of the study that a signed document is a round of, read like `erase_by_of`; empty if it is of none."""
    return parse(pb.Document, parse(pb.SignedDocument, data).document).study.id


def encode_document(document: Document) -> bytes:
    """A document's bytes; done once, by the analyzer that creates it."""
    choice = document.choice
    return serialize(
        pb.Document(
            version=VERSION,
            question=document.question,
            epoch=document.epoch,
            mechanism=pb.Mechanism(name=choice.name, domain=choice.domain, parameters=_parameters(choice.parameters)),
            scheme=document.scheme,
            public_key=document.public_key,
            shufflers=[_member(member) for member in document.shufflers],
            analyzer=_member(document.analyzer),
            fakes=document.fakes,
            minimum=document.minimum,
            delta=document.delta,
            enrolment_key=document.enrolment_key,
            dummies=document.dummies,
            closes_at=document.closes_at,
            shuffle_by=document.shuffle_by,
            erase_by=document.erase_by,
            protocol="" if document.protocol is DEFAULT else document.protocol.name,
            onion_keys=document.onion_keys,
            labels=document.labels,
            views=[_view(choice) for choice in document.views],
            study=_study(document.study),
        )
    )


def decode_document(data: bytes, *, floor: int = KEY_BITS_FLOOR) -> Document:
    """A document whose every range, mechanism and encryption key has been checked."""
    message = parse(pb.Document, data)
    if message.protocol == DEFAULT.name:
        raise BadEncoding(
            "document.protocol_named",
            f"a document does not name the protocol {DEFAULT.name}, which it has if it names none",
        )
    try:
        document = Document(
            question=message.question,
            epoch=message.epoch,
            choice=MechanismChoice(
                message.mechanism.name,
                message.mechanism.domain,
                _read_parameters(message.mechanism.parameters, "a mechanism"),
            ),
            scheme=message.scheme,
            public_key=message.public_key,
            shufflers=tuple(_read_member(member) for member in message.shufflers),
            analyzer=_read_member(message.analyzer),
            fakes=message.fakes,
            minimum=message.minimum,
            delta=message.delta,
            enrolment_key=message.enrolment_key,
            dummies=tuple(message.dummies),
            closes_at=message.closes_at,
            shuffle_by=message.shuffle_by,
            erase_by=message.erase_by,
            protocol=protocol_named(message.protocol) if message.protocol else DEFAULT,
            onion_keys=tuple(message.onion_keys),
            labels=tuple(message.labels),
            views=tuple(map(_read_view, message.views)),
            study=_read_study(message.study) if message.HasField("study") else None,
        )
        # The mechanism is built on the way, so that its ranges are refused here.
        _require_room(document, document.encryption(floor=floor))
    except WrongInput as wrong:
        raise BadEncoding("document.unusable", f"the document cannot be used: {wrong}", hint=wrong.hint) from None
    return document


def _require_room(document: Document, encryption: Encryption) -> None:
    """A part is one message; without this, a collection whose reports are too long would open and stay empty."""
    needed = encryption.share_bytes(ENCRYPTED_SHARE)
    if needed > MAX_SHARE_BYTES:
        raise WrongInput(
            "document.row_too_long",
            f"{document.mechanism.words} words encrypt to {needed} bytes, and {MAX_SHARE_BYTES} fit into a part",
            hint="ask about a smaller domain, or use a mechanism of shorter reports",
        )


def _member(member: Member) -> pb.Member:
    return pb.Member(name=member.name, identity=member.identity, certificate=member.certificate)


def _read_member(message: pb.Member) -> Member:
    exactly(message.identity, PUBLIC_BYTES, "a member's identity")
    return Member(message.name, message.identity, message.certificate)


def _parameters(parameters: Mapping[str, int]) -> list[pb.Parameter]:
    return [pb.Parameter(name=name, value=value) for name, value in sorted(parameters.items())]


def _read_parameters(found: Sequence[pb.Parameter], what: str) -> dict[str, int]:
    names = [parameter.name for parameter in found]
    if names != sorted(set(names)):
        raise BadEncoding("document.parameters", f"{what}'s parameters are not sorted by distinct names")
    return {parameter.name: parameter.value for parameter in found}


def _view(choice: ViewChoice) -> pb.View:
    listed = choice.catalogue
    return pb.View(
        kind=choice.kind,
        parameters=_parameters(choice.parameters),
        labels=choice.labels,
        catalogue=None if listed is None else pb.Catalogue(sha256=listed.digest, count=listed.count),
    )


def _read_view(message: pb.View) -> ViewChoice:
    listed = message.catalogue if message.HasField("catalogue") else None
    return ViewChoice(
        message.kind,
        _read_parameters(message.parameters, "a view"),
        tuple(message.labels),
        None if listed is None else Catalogue(listed.sha256, listed.count),
    )


def _study(part: StudyPart | None) -> pb.StudyPart | None:
    if part is None:
        return None
    return pb.StudyPart(id=part.id, round=part.round, first=part.first, end=part.end % PLACES)


def _read_study(message: pb.StudyPart) -> StudyPart:
    return StudyPart(message.id, message.round, message.first, message.end or PLACES)
