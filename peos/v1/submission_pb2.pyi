from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

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
    __slots__ = ("version", "collection", "row", "receipt")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    version: int
    collection: bytes
    row: bytes
    receipt: SubmissionReceipt
    def __init__(self, version: _Optional[int] = ..., collection: _Optional[bytes] = ..., row: _Optional[bytes] = ..., receipt: _Optional[_Union[SubmissionReceipt, _Mapping]] = ...) -> None: ...

class SubmissionReceipt(_message.Message):
    __slots__ = ("place", "count", "path", "signature")
    PLACE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    place: int
    count: int
    path: bytes
    signature: bytes
    def __init__(self, place: _Optional[int] = ..., count: _Optional[int] = ..., path: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...

class MembershipRequest(_message.Message):
    __slots__ = ("version", "collection", "row", "user_key", "receipt", "signature")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    USER_KEY_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    version: int
    collection: bytes
    row: bytes
    user_key: bytes
    receipt: SubmissionReceipt
    signature: bytes
    def __init__(self, version: _Optional[int] = ..., collection: _Optional[bytes] = ..., row: _Optional[bytes] = ..., user_key: _Optional[bytes] = ..., receipt: _Optional[_Union[SubmissionReceipt, _Mapping]] = ..., signature: _Optional[bytes] = ...) -> None: ...

class ShownRow(_message.Message):
    __slots__ = ("place", "row", "path")
    PLACE_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    place: int
    row: bytes
    path: bytes
    def __init__(self, place: _Optional[int] = ..., row: _Optional[bytes] = ..., path: _Optional[bytes] = ...) -> None: ...

class FrozenLists(_message.Message):
    __slots__ = ("version", "announcements", "frozen", "count", "root")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ANNOUNCEMENTS_FIELD_NUMBER: _ClassVar[int]
    FROZEN_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    ROOT_FIELD_NUMBER: _ClassVar[int]
    version: int
    announcements: bytes
    frozen: bytes
    count: int
    root: bytes
    def __init__(self, version: _Optional[int] = ..., announcements: _Optional[bytes] = ..., frozen: _Optional[bytes] = ..., count: _Optional[int] = ..., root: _Optional[bytes] = ...) -> None: ...

class MembershipProof(_message.Message):
    __slots__ = ("version", "lists", "own", "counted")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LISTS_FIELD_NUMBER: _ClassVar[int]
    OWN_FIELD_NUMBER: _ClassVar[int]
    COUNTED_FIELD_NUMBER: _ClassVar[int]
    version: int
    lists: bytes
    own: _containers.RepeatedCompositeFieldContainer[ShownRow]
    counted: _containers.RepeatedCompositeFieldContainer[ShownRow]
    def __init__(self, version: _Optional[int] = ..., lists: _Optional[bytes] = ..., own: _Optional[_Iterable[_Union[ShownRow, _Mapping]]] = ..., counted: _Optional[_Iterable[_Union[ShownRow, _Mapping]]] = ...) -> None: ...
