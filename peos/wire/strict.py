"""Reading protobuf messages from strangers: one encoding for one meaning, nothing left over.

Protobuf itself accepts unknown fields, repeated scalars, over-long integers and any order. A message is taken only if
encoding what was understood gives back the very bytes that came.
"""

from typing import Final, TypeVar

from google.protobuf.message import DecodeError, Message

from peos.errors import BadEncoding

VERSION: Final = 1
MESSAGE_LIMIT: Final = 2 << 20  # no message grows with n; a chunk carries 1 MiB at most

_VERSION_FIRST: Final = b"\x08"  # a number, in field 1

M = TypeVar("M", bound=Message)


def parse(type_: type[M], data: bytes, *, limit: int = MESSAGE_LIMIT) -> M:
    """The message that `data` encodes, of this version."""
    name = type_.DESCRIPTOR.name
    name = f"an {name}" if name[0] in "AEIOU" else f"a {name}"
    if len(data) > limit:
        raise BadEncoding("encoding.too_long", f"{name} of {len(data)} bytes is too long, {limit} is the limit")
    message = type_()
    is_versioned = "version" in type_.DESCRIPTOR.fields_by_name
    if is_versioned and not data:
        raise BadEncoding(
            "encoding.empty", f"where {name} should be, there are 0 bytes", hint="it was cut off: get it again"
        )
    try:
        message.ParseFromString(data)
    except DecodeError:
        _require_known(_first_number(data) if is_versioned else 0, name)
        raise BadEncoding("encoding.unreadable", f"these bytes are not {name}") from None
    found: int | None = getattr(message, "version", None)
    _require_known(found or 0, name)  # first: what a later version added is neither understood nor wrong
    understood = type_()
    understood.CopyFrom(message)
    understood.DiscardUnknownFields()
    if understood.SerializeToString(deterministic=True) != data:
        raise BadEncoding("encoding.not_canonical", f"{name} has something left over or is not in its one encoding")
    if found != VERSION:
        words = f"{name} names no wire version, and this program speaks {VERSION}"
        raise BadEncoding("encoding.version", words, hint="is it the right file?")
    return message


def _require_known(found: int, name: str) -> None:
    if found > VERSION:
        raise BadEncoding(
            "encoding.version",
            f"{name} is of wire version {found}, and this program speaks {VERSION}",
            hint="run the same version everywhere: `peos version` shows both numbers",
        )


def _first_number(data: bytes) -> int:
    """The version that bytes begin with which a later version may have changed as a whole; 0 if they do not."""
    number = shift = 0
    for byte in data[1:6] if data[:1] == _VERSION_FIRST else b"":
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number
    return 0


def serialize(message: Message) -> bytes:
    """The one encoding of a message."""
    return message.SerializeToString(deterministic=True)


def exactly(data: bytes, length: int, what: str) -> bytes:
    """`data`, which must have this length."""
    if len(data) != length:
        raise BadEncoding("encoding.length", f"{what} has {len(data)} bytes, not {length}")
    return data


def within(number: int, low: int, high: int, what: str) -> int:
    """`number`, which must lie in low … high."""
    if not low <= number <= high:
        raise BadEncoding("encoding.range", f"{what} is {number}, outside {low} … {high}")
    return number
