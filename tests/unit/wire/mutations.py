"""Encodings taken apart by hand and put together wrongly, at the top or inside a message that is a field."""

import struct
from collections.abc import Callable

from hypothesis import strategies as st

from tests.unit.wire.strategies import Shape
from tests.vectors.wire_by_hand import blob, double, uint, varint

Change = Callable[[st.DrawFn, list[bytes], Shape], bytes]
NUMBER, DOUBLE, BLOB = 0, 1, 2  # protobuf's wire types


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A number, and where it ends."""
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return number, at


def split(data: bytes) -> list[bytes]:
    """The fields of an encoding, each with its tag."""
    fields, at = [], 0
    while at < len(data):
        start = at
        tag, at = read_varint(data, at)
        value, after = read_varint(data, at) if tag & 7 != DOUBLE else (0, at + 8)
        at = after + value if tag & 7 == BLOB else after
        fields.append(data[start:at])
    return fields


def number_of(data: bytes) -> int:
    """Which field this is."""
    return read_varint(data, 0)[0] >> 3


def payload(field: bytes) -> bytes:
    """What is in a field of bytes."""
    length, at = read_varint(field, read_varint(field, 0)[1])
    return field[at : at + length]


def spoil(draw: st.DrawFn, data: bytes, shape: Shape, change: Change) -> bytes:
    """`data` changed at its top, or within one of the messages that it holds."""
    fields = split(data)
    inner = [at for at, field in enumerate(fields) if number_of(field) in shape.nested]
    if inner and draw(st.sampled_from([False, True])):
        at = draw(st.sampled_from(inner))
        number = number_of(fields[at])
        spoilt = spoil(draw, payload(fields[at]), shape.nested[number], change)
        return b"".join((*fields[:at], blob(number, spoilt, shown=True), *fields[at + 1 :]))
    return change(draw, fields, shape)


def unknown_field(draw: st.DrawFn, fields: list[bytes], _shape: Shape) -> bytes:
    """A field that no message of ours has, anywhere, of each wire type."""
    number = draw(st.sampled_from([17, 100, 18_999, 2**29 - 1]))
    group = varint(number << 3 | 3) + varint(number << 3 | 4)
    fixed = varint(number << 3 | 5) + bytes(4)
    kinds = [uint(number, 0, shown=True), blob(number, b"", shown=True), double(number, 1.0), fixed, group]
    at = draw(st.integers(0, len(fields)))
    return b"".join((*fields[:at], draw(st.sampled_from(kinds)), *fields[at:]))


def repeated_field(draw: st.DrawFn, fields: list[bytes], shape: Shape) -> bytes:
    """A field once more, where one is meant; protobuf lets the last one win."""
    again = draw(st.sampled_from([field for field in fields if number_of(field) not in shape.repeated]))
    at = draw(st.integers(0, len(fields)))
    return b"".join((*fields[:at], again, *fields[at:]))


def other_order(draw: st.DrawFn, fields: list[bytes], _shape: Shape) -> bytes:
    """Two different fields exchanged; elements of one repeated field would be another message."""
    pairs = [
        (low, high)
        for high in range(len(fields))
        for low in range(high)
        if number_of(fields[low]) != number_of(fields[high])
    ]
    low, high = draw(st.sampled_from(pairs))
    exchanged = list(fields)
    exchanged[low], exchanged[high] = fields[high], fields[low]
    return b"".join(exchanged)


def long_number(draw: st.DrawFn, fields: list[bytes], _shape: Shape) -> bytes:
    """A tag, a value or a length in more bytes than it needs."""
    at, more = draw(st.integers(0, len(fields) - 1)), draw(st.integers(1, 11))
    field = fields[at]
    tag, after = read_varint(field, 0)
    if tag & 7 == DOUBLE or draw(st.booleans()):
        longer = varint(tag, padded=more) + field[after:]
    else:
        value, end = read_varint(field, after)
        longer = field[:after] + varint(value, padded=more) + field[end:]
    return b"".join((*fields[:at], longer, *fields[at + 1 :]))


def written_zero(draw: st.DrawFn, fields: list[bytes], shape: Shape) -> bytes:
    """A field that is absent because it is zero or empty, written out in its place."""
    present = {number_of(field) for field in fields} | shape.repeated  # an empty element of those says something
    number = draw(st.integers(1, 17).filter(lambda n: n not in present))
    zero = draw(st.sampled_from([uint(number, 0, shown=True), blob(number, b"", shown=True), double(number, 0.0)]))
    before = [field for field in fields if number_of(field) < number]
    return b"".join((*before, zero, *fields[len(before) :]))


def other_wire_type(draw: st.DrawFn, fields: list[bytes], _shape: Shape) -> bytes:
    """A field as if its number meant another type."""
    at = draw(st.integers(0, len(fields) - 1))
    tag, _ = read_varint(fields[at], 0)
    number = tag >> 3
    others = {NUMBER: uint(number, 1), DOUBLE: double(number, 1.0), BLOB: blob(number, b"\x01")}
    others[5] = varint(number << 3 | 5) + struct.pack("<I", 1)
    del others[tag & 7]
    return b"".join((*fields[:at], draw(st.sampled_from(sorted(others.values()))), *fields[at + 1 :]))


CHANGES: dict[str, Change] = {
    "an unknown field": unknown_field,
    "a field twice": repeated_field,
    "another order": other_order,
    "an over-long number": long_number,
    "a zero written out": written_zero,
    "another wire type": other_wire_type,
}
