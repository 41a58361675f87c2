from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Part(_message.Message):
    __slots__ = ("version", "collection", "shuffler", "id", "ticket", "salt", "hashes", "share", "user_key", "signature")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    SHUFFLER_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    TICKET_FIELD_NUMBER: _ClassVar[int]
    SALT_FIELD_NUMBER: _ClassVar[int]
    HASHES_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    USER_KEY_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    version: int
    collection: bytes
    shuffler: int
    id: bytes
    ticket: bytes
    salt: bytes
    hashes: _containers.RepeatedScalarFieldContainer[bytes]
    share: bytes
    user_key: bytes
    signature: bytes
    def __init__(self, version: _Optional[int] = ..., collection: _Optional[bytes] = ..., shuffler: _Optional[int] = ..., id: _Optional[bytes] = ..., ticket: _Optional[bytes] = ..., salt: _Optional[bytes] = ..., hashes: _Optional[_Iterable[bytes]] = ..., share: _Optional[bytes] = ..., user_key: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...

class Acknowledgement(_message.Message):
    __slots__ = ("version", "collection", "row")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    version: int
    collection: bytes
    row: bytes
    def __init__(self, version: _Optional[int] = ..., collection: _Optional[bytes] = ..., row: _Optional[bytes] = ...) -> None: ...
