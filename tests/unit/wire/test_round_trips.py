"""Every message comes back as it was sent, and in one encoding only; anything else is BadEncoding and nothing else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peos.collection.freeze import Stretch
from peos.collection.rows import RowList
from peos.errors import BadEncoding
from peos.wire.freezes import decode_stretch, encode_stretch
from peos.wire.strict import MESSAGE_LIMIT
from tests.full import many as many_
from tests.raising import raises
from tests.unit.wire.mutations import CHANGES, Change, spoil
from tests.unit.wire.strategies import CODECS, Codec
from tests.vectors.wire_by_hand import blob, uint

every_message = pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS.keys())
CLOSED = {name: codec for name, codec in CODECS.items() if not codec.open_ended}
every_closed_message = pytest.mark.parametrize("codec", CLOSED.values(), ids=CLOSED.keys())
AN_EMPTY_LIST = 36  # bytes: version and collection alone, which is how every stretch begins
few = settings(max_examples=many_(4, 8))
some = settings(max_examples=many_(8, 20))
many = settings(max_examples=many_(25, 80))


def refuses(codec: Codec, data: bytes) -> None:
    with pytest.raises(BadEncoding):
        codec.decode(data)


@every_message
@some
@given(st.data())
def test_what_was_said_is_what_is_read(codec: Codec, data: st.DataObject) -> None:
    said = data.draw(codec.values)
    assert codec.decode(codec.encode(said)) == said


@every_closed_message
@few
@given(st.data())
def test_every_truncation_is_refused(codec: Codec, data: st.DataObject) -> None:
    encoded = data.draw(codec.encodings)
    for length in range(len(encoded)):
        if codec is CODECS["ListChunk"] and length == AN_EMPTY_LIST:
            continue
        refuses(codec, encoded[:length])


@few
@given(CODECS["ListChunk"].values.filter(lambda stretch: stretch.total > 0))
def test_a_stretch_cut_down_to_an_empty_list_is_not_the_list_that_was_announced(stretch: Stretch) -> None:
    cut = decode_stretch(encode_stretch(stretch)[:AN_EMPTY_LIST])
    assert cut == Stretch(stretch.collection, 0, 0, ())
    assert RowList(cut.rows).root != RowList(stretch.rows).root


@every_closed_message
@some
@given(st.data(), st.binary(min_size=1, max_size=12), st.integers(1, 20), st.integers(0, 40))
def test_whatever_is_appended_is_refused(codec: Codec, data: st.DataObject, more: bytes, number: int, n: int) -> None:
    encoded = data.draw(codec.encodings)
    refuses(codec, encoded + more)
    refuses(codec, encoded + uint(number, n, shown=True))
    refuses(codec, encoded + encoded)


@pytest.mark.parametrize(
    ("codec", "change"),
    [
        pytest.param(codec, change, id=f"{name}: {spoilt}")
        for name, codec in CODECS.items()
        for spoilt, change in CHANGES.items()
        if (name, spoilt) != ("Reply", "another order")  # a single field has none
    ],
)
@some
@given(st.data())
def test_no_message_has_a_second_encoding(codec: Codec, change: Change, data: st.DataObject) -> None:
    encoded = data.draw(codec.encodings)
    refuses(codec, data.draw(st.composite(spoil)(encoded, codec.shape, change)))


@every_message
@few
@given(st.data(), st.binary(max_size=6))
def test_what_is_cut_or_appended_is_never_read_as_the_message_that_it_was(
    codec: Codec, data: st.DataObject, more: bytes
) -> None:
    encoded = data.draw(codec.encodings)
    for length in range(len(encoded)):
        read_or_refused(codec, encoded[:length])
    read_or_refused(codec, encoded + more)


@every_message
@few
@given(st.data())
def test_another_version_is_refused_and_named(codec: Codec, data: st.DataObject) -> None:
    encoded = data.draw(codec.encodings)
    assert encoded[:2] == uint(1, 1), "the version stands first"
    for version in (uint(1, 2), uint(1, 2**32 - 1), *([b""] if encoded[2:] else [])):
        with raises("encoding.version", "1"):
            codec.decode(version + encoded[2:])


@every_message
@some
@given(
    st.integers(2, 2**32 - 1),
    st.lists(st.tuples(st.integers(2, 40), st.one_of(st.integers(0, 2**64 - 1), st.binary(max_size=9)))),
)
def test_a_later_version_is_refused_by_both_numbers_whatever_is_in_it(
    codec: Codec, version: int, fields: list[tuple[int, int | bytes]]
) -> None:
    """Other fields, other types, texts that are none: all that a later version may have changed."""
    more = (blob(number, value) if isinstance(value, bytes) else uint(number, value) for number, value in fields)
    with raises("encoding.version", str(version), "1"):
        codec.decode(uint(1, version) + b"".join(more))


@every_message
def test_no_bytes_at_all_are_named_as_such(codec: Codec) -> None:
    with raises("encoding.empty", "0 bytes"):
        codec.decode(b"")


@every_message
def test_a_message_over_the_limit_is_not_even_parsed(codec: Codec) -> None:
    for length in (MESSAGE_LIMIT + 1, 2 * MESSAGE_LIMIT):
        with raises("encoding.too_long", str(length), str(MESSAGE_LIMIT)):
            codec.decode(bytes(length))


@every_message
@many
@given(st.data())
def test_bits_that_flip_are_refused_or_are_another_message(codec: Codec, data: st.DataObject) -> None:
    spoilt = bytearray(data.draw(codec.encodings))
    for bit in data.draw(st.lists(st.integers(0, 8 * len(spoilt) - 1), min_size=1, max_size=4)):
        spoilt[bit // 8] ^= 1 << bit % 8
    read_or_refused(codec, bytes(spoilt))


@every_message
@many
@given(arbitrary=st.binary(max_size=300))
def test_arbitrary_bytes_are_refused_or_are_a_message(codec: Codec, arbitrary: bytes) -> None:
    read_or_refused(codec, arbitrary)
    read_or_refused(codec, uint(1, 1) + arbitrary)


@every_message
@some
@given(st.data(), st.sampled_from(sorted(CODECS)))
def test_messages_of_another_kind_are_refused_or_mean_the_same_bytes(
    codec: Codec, data: st.DataObject, other: str
) -> None:
    read_or_refused(codec, data.draw(CODECS[other].encodings))


@pytest.mark.parametrize("depth", [10, 99, 100, 101, 1000, 100_000])
@every_message
def test_groups_within_groups_are_refused(codec: Codec, depth: int) -> None:
    refuses(codec, uint(1, 1) + b"\xa3\x06" * depth + b"\xa4\x06" * depth)
    refuses(codec, uint(1, 1) + b"\xa3\x06" * depth)


def read_or_refused(codec: Codec, data: bytes) -> None:
    """BadEncoding, or a value whose encoding these bytes are; any other exception fails the test."""
    try:
        said = codec.decode(data)
    except BadEncoding:
        return
    assert codec.encode(said) == data, "two encodings of one message"
