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
    __slots__ = ("version", "question", "epoch", "mechanism", "scheme", "public_key", "shufflers", "analyzer", "fakes", "minimum", "delta", "enrolment_key", "dummies", "closes_at", "shuffle_by", "erase_by", "protocol", "onion_keys", "labels")
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
    def __init__(self, version: _Optional[int] = ..., question: _Optional[str] = ..., epoch: _Optional[str] = ..., mechanism: _Optional[_Union[Mechanism, _Mapping]] = ..., scheme: _Optional[str] = ..., public_key: _Optional[bytes] = ..., shufflers: _Optional[_Iterable[_Union[Member, _Mapping]]] = ..., analyzer: _Optional[_Union[Member, _Mapping]] = ..., fakes: _Optional[int] = ..., minimum: _Optional[int] = ..., delta: _Optional[float] = ..., enrolment_key: _Optional[bytes] = ..., dummies: _Optional[_Iterable[bytes]] = ..., closes_at: _Optional[int] = ..., shuffle_by: _Optional[int] = ..., erase_by: _Optional[int] = ..., protocol: _Optional[str] = ..., onion_keys: _Optional[_Iterable[bytes]] = ..., labels: _Optional[_Iterable[str]] = ...) -> None: ...

class SignedDocument(_message.Message):
    __slots__ = ("version", "document", "signature")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    version: int
    document: bytes
    signature: bytes
    def __init__(self, version: _Optional[int] = ..., document: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...
