from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Announcement(_message.Message):
    __slots__ = ("shuffler", "count", "root", "signature")
    SHUFFLER_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    ROOT_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    shuffler: int
    count: int
    root: bytes
    signature: bytes
    def __init__(self, shuffler: _Optional[int] = ..., count: _Optional[int] = ..., root: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...

class Announcements(_message.Message):
    __slots__ = ("version", "collection", "held")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    version: int
    collection: bytes
    held: _containers.RepeatedCompositeFieldContainer[Announcement]
    def __init__(self, version: _Optional[int] = ..., collection: _Optional[bytes] = ..., held: _Optional[_Iterable[_Union[Announcement, _Mapping]]] = ...) -> None: ...

class ListChunk(_message.Message):
    __slots__ = ("version", "collection", "total", "first", "rows")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    version: int
    collection: bytes
    total: int
    first: int
    rows: bytes
    def __init__(self, version: _Optional[int] = ..., collection: _Optional[bytes] = ..., total: _Optional[int] = ..., first: _Optional[int] = ..., rows: _Optional[bytes] = ...) -> None: ...

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
