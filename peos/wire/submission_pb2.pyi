from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Part(_message.Message):
    __slots__ = ("version", "collection", "shuffler", "id", "ticket", "salt", "hashes", "share")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    SHUFFLER_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    TICKET_FIELD_NUMBER: _ClassVar[int]
    SALT_FIELD_NUMBER: _ClassVar[int]
    HASHES_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    version: int
    collection: bytes
    shuffler: int
    id: bytes
    ticket: bytes
    salt: bytes
    hashes: _containers.RepeatedScalarFieldContainer[bytes]
    share: bytes
    def __init__(self, version: _Optional[int] = ..., collection: _Optional[bytes] = ..., shuffler: _Optional[int] = ..., id: _Optional[bytes] = ..., ticket: _Optional[bytes] = ..., salt: _Optional[bytes] = ..., hashes: _Optional[_Iterable[bytes]] = ..., share: _Optional[bytes] = ...) -> None: ...

class Acknowledgement(_message.Message):
    __slots__ = ("version", "collection", "id", "submission")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    SUBMISSION_FIELD_NUMBER: _ClassVar[int]
    version: int
    collection: bytes
    id: bytes
    submission: bytes
    def __init__(self, version: _Optional[int] = ..., collection: _Optional[bytes] = ..., id: _Optional[bytes] = ..., submission: _Optional[bytes] = ...) -> None: ...
