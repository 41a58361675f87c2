from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class ListAnnouncement(_message.Message):
    __slots__ = ("version", "collection", "hash")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    version: int
    collection: bytes
    hash: bytes
    def __init__(self, version: _Optional[int] = ..., collection: _Optional[bytes] = ..., hash: _Optional[bytes] = ...) -> None: ...

class ListChunk(_message.Message):
    __slots__ = ("version", "collection", "total", "first", "triples")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    TRIPLES_FIELD_NUMBER: _ClassVar[int]
    version: int
    collection: bytes
    total: int
    first: int
    triples: bytes
    def __init__(self, version: _Optional[int] = ..., collection: _Optional[bytes] = ..., total: _Optional[int] = ..., first: _Optional[int] = ..., triples: _Optional[bytes] = ...) -> None: ...

class FrozenDigest(_message.Message):
    __slots__ = ("version", "collection", "digest", "signature")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    version: int
    collection: bytes
    digest: bytes
    signature: bytes
    def __init__(self, version: _Optional[int] = ..., collection: _Optional[bytes] = ..., digest: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...
