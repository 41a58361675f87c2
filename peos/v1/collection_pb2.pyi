from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Member(_message.Message):
    __slots__ = ("name", "identity", "certificate")
    NAME_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATE_FIELD_NUMBER: _ClassVar[int]
    name: str
    identity: bytes
    certificate: bytes
    def __init__(self, name: _Optional[str] = ..., identity: _Optional[bytes] = ..., certificate: _Optional[bytes] = ...) -> None: ...

class Parameter(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: int
    def __init__(self, name: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...

class Mechanism(_message.Message):
    __slots__ = ("name", "domain", "parameters")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    name: str
    domain: int
    parameters: _containers.RepeatedCompositeFieldContainer[Parameter]
    def __init__(self, name: _Optional[str] = ..., domain: _Optional[int] = ..., parameters: _Optional[_Iterable[_Union[Parameter, _Mapping]]] = ...) -> None: ...

class Document(_message.Message):
    __slots__ = ("version", "question", "epoch", "mechanism", "scheme", "public_key", "shufflers", "analyzer", "fakes", "minimum", "delta", "enrolment_key", "dummies", "closes_at", "shuffle_by", "erase_by", "protocol", "onion_keys", "labels", "views", "study")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    SCHEME_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    SHUFFLERS_FIELD_NUMBER: _ClassVar[int]
    ANALYZER_FIELD_NUMBER: _ClassVar[int]
    FAKES_FIELD_NUMBER: _ClassVar[int]
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    ENROLMENT_KEY_FIELD_NUMBER: _ClassVar[int]
    DUMMIES_FIELD_NUMBER: _ClassVar[int]
    CLOSES_AT_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_BY_FIELD_NUMBER: _ClassVar[int]
    ERASE_BY_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    ONION_KEYS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    VIEWS_FIELD_NUMBER: _ClassVar[int]
    STUDY_FIELD_NUMBER: _ClassVar[int]
    version: int
    question: str
    epoch: str
    mechanism: Mechanism
    scheme: str
    public_key: bytes
    shufflers: _containers.RepeatedCompositeFieldContainer[Member]
    analyzer: Member
    fakes: int
    minimum: int
    delta: float
    enrolment_key: bytes
    dummies: _containers.RepeatedScalarFieldContainer[bytes]
    closes_at: int
    shuffle_by: int
    erase_by: int
    protocol: str
    onion_keys: _containers.RepeatedScalarFieldContainer[bytes]
    labels: _containers.RepeatedScalarFieldContainer[str]
    views: _containers.RepeatedCompositeFieldContainer[View]
    study: StudyPart
    def __init__(self, version: _Optional[int] = ..., question: _Optional[str] = ..., epoch: _Optional[str] = ..., mechanism: _Optional[_Union[Mechanism, _Mapping]] = ..., scheme: _Optional[str] = ..., public_key: _Optional[bytes] = ..., shufflers: _Optional[_Iterable[_Union[Member, _Mapping]]] = ..., analyzer: _Optional[_Union[Member, _Mapping]] = ..., fakes: _Optional[int] = ..., minimum: _Optional[int] = ..., delta: _Optional[float] = ..., enrolment_key: _Optional[bytes] = ..., dummies: _Optional[_Iterable[bytes]] = ..., closes_at: _Optional[int] = ..., shuffle_by: _Optional[int] = ..., erase_by: _Optional[int] = ..., protocol: _Optional[str] = ..., onion_keys: _Optional[_Iterable[bytes]] = ..., labels: _Optional[_Iterable[str]] = ..., views: _Optional[_Iterable[_Union[View, _Mapping]]] = ..., study: _Optional[_Union[StudyPart, _Mapping]] = ...) -> None: ...

class Catalogue(_message.Message):
    __slots__ = ("sha256", "count")
    SHA256_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    sha256: bytes
    count: int
    def __init__(self, sha256: _Optional[bytes] = ..., count: _Optional[int] = ...) -> None: ...

class View(_message.Message):
    __slots__ = ("kind", "parameters", "labels", "catalogue")
    KIND_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    CATALOGUE_FIELD_NUMBER: _ClassVar[int]
    kind: str
    parameters: _containers.RepeatedCompositeFieldContainer[Parameter]
    labels: _containers.RepeatedScalarFieldContainer[str]
    catalogue: Catalogue
    def __init__(self, kind: _Optional[str] = ..., parameters: _Optional[_Iterable[_Union[Parameter, _Mapping]]] = ..., labels: _Optional[_Iterable[str]] = ..., catalogue: _Optional[_Union[Catalogue, _Mapping]] = ...) -> None: ...

class StudyPart(_message.Message):
    __slots__ = ("id", "round", "first", "end")
    ID_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    id: bytes
    round: int
    first: int
    end: int
    def __init__(self, id: _Optional[bytes] = ..., round: _Optional[int] = ..., first: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class SignedDocument(_message.Message):
    __slots__ = ("version", "document", "signature")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    version: int
    document: bytes
    signature: bytes
    def __init__(self, version: _Optional[int] = ..., document: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...
