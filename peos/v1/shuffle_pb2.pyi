from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
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

class Path(_message.Message):
    __slots__ = ("version", "places", "revealed")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PLACES_FIELD_NUMBER: _ClassVar[int]
    REVEALED_FIELD_NUMBER: _ClassVar[int]
    version: int
    places: bytes
    revealed: bytes
    def __init__(self, version: _Optional[int] = ..., places: _Optional[bytes] = ..., revealed: _Optional[bytes] = ...) -> None: ...

class Opening(_message.Message):
    __slots__ = ("version", "paths", "shown", "said", "claim", "revealed", "dummies", "nothing")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PATHS_FIELD_NUMBER: _ClassVar[int]
    SHOWN_FIELD_NUMBER: _ClassVar[int]
    SAID_FIELD_NUMBER: _ClassVar[int]
    CLAIM_FIELD_NUMBER: _ClassVar[int]
    REVEALED_FIELD_NUMBER: _ClassVar[int]
    DUMMIES_FIELD_NUMBER: _ClassVar[int]
    NOTHING_FIELD_NUMBER: _ClassVar[int]
    version: int
    paths: _containers.RepeatedScalarFieldContainer[bytes]
    shown: _containers.RepeatedCompositeFieldContainer[Shown]
    said: _containers.RepeatedCompositeFieldContainer[Said]
    claim: bytes
    revealed: bytes
    dummies: bytes
    nothing: int
    def __init__(self, version: _Optional[int] = ..., paths: _Optional[_Iterable[bytes]] = ..., shown: _Optional[_Iterable[_Union[Shown, _Mapping]]] = ..., said: _Optional[_Iterable[_Union[Said, _Mapping]]] = ..., claim: _Optional[bytes] = ..., revealed: _Optional[bytes] = ..., dummies: _Optional[bytes] = ..., nothing: _Optional[int] = ...) -> None: ...

class Shown(_message.Message):
    __slots__ = ("round", "what", "other", "row_bytes", "rows", "proofs")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    WHAT_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    ROW_BYTES_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    PROOFS_FIELD_NUMBER: _ClassVar[int]
    round: int
    what: int
    other: int
    row_bytes: int
    rows: bytes
    proofs: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, round: _Optional[int] = ..., what: _Optional[int] = ..., other: _Optional[int] = ..., row_bytes: _Optional[int] = ..., rows: _Optional[bytes] = ..., proofs: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Said(_message.Message):
    __slots__ = ("round", "kind", "sender", "body")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    round: int
    kind: int
    sender: int
    body: bytes
    def __init__(self, round: _Optional[int] = ..., kind: _Optional[int] = ..., sender: _Optional[int] = ..., body: _Optional[bytes] = ...) -> None: ...

class UnsentDummy(_message.Message):
    __slots__ = ("version", "salt", "id", "words")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SALT_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    version: int
    salt: bytes
    id: bytes
    words: bytes
    def __init__(self, version: _Optional[int] = ..., salt: _Optional[bytes] = ..., id: _Optional[bytes] = ..., words: _Optional[bytes] = ...) -> None: ...

class RevealedPart(_message.Message):
    __slots__ = ("version", "salt", "words", "part", "signature")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SALT_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    version: int
    salt: bytes
    words: bytes
    part: bytes
    signature: bytes
    def __init__(self, version: _Optional[int] = ..., salt: _Optional[bytes] = ..., words: _Optional[bytes] = ..., part: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...
