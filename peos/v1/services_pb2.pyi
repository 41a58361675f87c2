from peos.v1 import collection_pb2 as _collection_pb2
from peos.v1 import freeze_pb2 as _freeze_pb2
from peos.v1 import shuffle_pb2 as _shuffle_pb2
from peos.v1 import submission_pb2 as _submission_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Inquiry(_message.Message):
    __slots__ = ("version", "collection")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    version: int
    collection: bytes
    def __init__(self, version: _Optional[int] = ..., collection: _Optional[bytes] = ...) -> None: ...

class Reply(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: int
    def __init__(self, version: _Optional[int] = ...) -> None: ...

class Card(_message.Message):
    __slots__ = ("version", "name", "identity", "peer_address", "peer_certificate", "user_address", "user_certificate", "onion_key")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    PEER_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    PEER_CERTIFICATE_FIELD_NUMBER: _ClassVar[int]
    USER_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    USER_CERTIFICATE_FIELD_NUMBER: _ClassVar[int]
    ONION_KEY_FIELD_NUMBER: _ClassVar[int]
    version: int
    name: str
    identity: bytes
    peer_address: str
    peer_certificate: bytes
    user_address: str
    user_certificate: bytes
    onion_key: bytes
    def __init__(self, version: _Optional[int] = ..., name: _Optional[str] = ..., identity: _Optional[bytes] = ..., peer_address: _Optional[str] = ..., peer_certificate: _Optional[bytes] = ..., user_address: _Optional[str] = ..., user_certificate: _Optional[bytes] = ..., onion_key: _Optional[bytes] = ...) -> None: ...

class SignedCard(_message.Message):
    __slots__ = ("version", "card", "signature")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    version: int
    card: bytes
    signature: bytes
    def __init__(self, version: _Optional[int] = ..., card: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...

class Proposal(_message.Message):
    __slots__ = ("version", "document", "cards")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    CARDS_FIELD_NUMBER: _ClassVar[int]
    version: int
    document: bytes
    cards: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, version: _Optional[int] = ..., document: _Optional[bytes] = ..., cards: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Invitation(_message.Message):
    __slots__ = ("version", "collection", "cards")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    CARDS_FIELD_NUMBER: _ClassVar[int]
    version: int
    collection: bytes
    cards: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, version: _Optional[int] = ..., collection: _Optional[bytes] = ..., cards: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Order(_message.Message):
    __slots__ = ("version", "collection", "abort", "signature")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    ABORT_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    version: int
    collection: bytes
    abort: bool
    signature: bytes
    def __init__(self, version: _Optional[int] = ..., collection: _Optional[bytes] = ..., abort: _Optional[bool] = ..., signature: _Optional[bytes] = ...) -> None: ...

class Answer(_message.Message):
    __slots__ = ("version", "id", "acknowledgement", "refusal", "hint", "retry", "error")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGEMENT_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    version: int
    id: bytes
    acknowledgement: bytes
    refusal: str
    hint: str
    retry: bool
    error: str
    def __init__(self, version: _Optional[int] = ..., id: _Optional[bytes] = ..., acknowledgement: _Optional[bytes] = ..., refusal: _Optional[str] = ..., hint: _Optional[str] = ..., retry: _Optional[bool] = ..., error: _Optional[str] = ...) -> None: ...

class StatusReply(_message.Message):
    __slots__ = ("version", "collection", "state", "reason", "reports", "step", "waited_for", "done", "total", "seconds", "refused", "known")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REPORTS_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    WAITED_FOR_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    KNOWN_FIELD_NUMBER: _ClassVar[int]
    version: int
    collection: bytes
    state: str
    reason: str
    reports: int
    step: str
    waited_for: _containers.RepeatedScalarFieldContainer[str]
    done: int
    total: int
    seconds: int
    refused: _containers.RepeatedScalarFieldContainer[str]
    known: bool
    def __init__(self, version: _Optional[int] = ..., collection: _Optional[bytes] = ..., state: _Optional[str] = ..., reason: _Optional[str] = ..., reports: _Optional[int] = ..., step: _Optional[str] = ..., waited_for: _Optional[_Iterable[str]] = ..., done: _Optional[int] = ..., total: _Optional[int] = ..., seconds: _Optional[int] = ..., refused: _Optional[_Iterable[str]] = ..., known: _Optional[bool] = ...) -> None: ...
