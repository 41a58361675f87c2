from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Header(_message.Message):
    __slots__ = ("collection", "frozen", "attempt", "round", "kind", "sender", "receiver")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    FROZEN_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    RECEIVER_FIELD_NUMBER: _ClassVar[int]
    collection: bytes
    frozen: bytes
    attempt: int
    round: int
    kind: int
    sender: int
    receiver: int
    def __init__(self, collection: _Optional[bytes] = ..., frozen: _Optional[bytes] = ..., attempt: _Optional[int] = ..., round: _Optional[int] = ..., kind: _Optional[int] = ..., sender: _Optional[int] = ..., receiver: _Optional[int] = ...) -> None: ...

class Word(_message.Message):
    __slots__ = ("version", "header", "body")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    HEADER_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    version: int
    header: Header
    body: bytes
    def __init__(self, version: _Optional[int] = ..., header: _Optional[_Union[Header, _Mapping]] = ..., body: _Optional[bytes] = ...) -> None: ...

class VectorHeader(_message.Message):
    __slots__ = ("version", "header", "rows", "row_bytes", "sha256", "transcript")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    HEADER_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    ROW_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPT_FIELD_NUMBER: _ClassVar[int]
    version: int
    header: Header
    rows: int
    row_bytes: int
    sha256: bytes
    transcript: bytes
    def __init__(self, version: _Optional[int] = ..., header: _Optional[_Union[Header, _Mapping]] = ..., rows: _Optional[int] = ..., row_bytes: _Optional[int] = ..., sha256: _Optional[bytes] = ..., transcript: _Optional[bytes] = ...) -> None: ...

class VectorChunk(_message.Message):
    __slots__ = ("version", "offset", "data")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    version: int
    offset: int
    data: bytes
    def __init__(self, version: _Optional[int] = ..., offset: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class Notice(_message.Message):
    __slots__ = ("version", "collection", "frozen", "kind", "sender", "attempt", "transcript", "signature")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    FROZEN_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPT_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    version: int
    collection: bytes
    frozen: bytes
    kind: int
    sender: int
    attempt: int
    transcript: bytes
    signature: bytes
    def __init__(self, version: _Optional[int] = ..., collection: _Optional[bytes] = ..., frozen: _Optional[bytes] = ..., kind: _Optional[int] = ..., sender: _Optional[int] = ..., attempt: _Optional[int] = ..., transcript: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...

class Receipt(_message.Message):
    __slots__ = ("version", "collection", "frozen", "attempt", "transcript", "signature")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    FROZEN_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPT_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    version: int
    collection: bytes
    frozen: bytes
    attempt: int
    transcript: bytes
    signature: bytes
    def __init__(self, version: _Optional[int] = ..., collection: _Optional[bytes] = ..., frozen: _Optional[bytes] = ..., attempt: _Optional[int] = ..., transcript: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...
