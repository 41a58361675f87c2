from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class ConsoleQuestion(_message.Message):
    __slots__ = ("version", "name", "terms")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    version: int
    name: str
    terms: str
    def __init__(self, version: _Optional[int] = ..., name: _Optional[str] = ..., terms: _Optional[str] = ...) -> None: ...

class ConsolePiece(_message.Message):
    __slots__ = ("version", "content")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    version: int
    content: bytes
    def __init__(self, version: _Optional[int] = ..., content: _Optional[bytes] = ...) -> None: ...
