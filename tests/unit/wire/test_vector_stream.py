"""Vectors in chunks: whole, in order, with the announced hash, or not at all; memory follows what has arrived."""

import hashlib
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from peos.crypto.kdf import Context
from peos.errors import BadEncoding
from peos.shuffle.messages import Header, Kind, Step, VectorHeader
from peos.v1 import shuffle_pb2 as pb
from peos.wire.shuffles import CHUNK, ChunkReader, VectorReader, decode_vector, encode_vector
from peos.wire.strict import MESSAGE_LIMIT, serialize
from tests.raising import raises

HEADER = Header(Context(b"\x01" * 32, b"\x02" * 32, 3), Step(4, Kind.PIECE), 2, 1)
some = settings(max_examples=150)
shapes = st.tuples(st.integers(0, 12), st.integers(1, 12))


def rows_of(shape: tuple[int, int]) -> NDArray[np.uint8]:
    count = shape[0] * shape[1]
    return np.frombuffer(hashlib.shake_256(repr(shape).encode()).digest(count), np.uint8).reshape(shape)


def chunk(offset: int, data: bytes) -> bytes:
    return serialize(pb.VectorChunk(version=1, offset=offset, data=data))


@some
@given(shapes, st.integers(1, 150))
def test_a_vector_comes_back_whatever_the_size_of_its_chunks(shape: tuple[int, int], size: int) -> None:
    rows = rows_of(shape)
    messages = list(encode_vector(HEADER, rows, chunk=size))
    header, came = decode_vector(messages)
    assert (came.shape, came.tobytes()) == (shape, rows.tobytes())
    assert (header.header, header.rows, header.row_bytes) == (HEADER, *shape)
    assert messages[0] == next(encode_vector(HEADER, rows)), "the header depends on the size of the chunks"
    assert len(messages) == 1 + -(-rows.size // size)


@some
@given(shapes, st.lists(st.integers(1, 40), max_size=8))
def test_a_reader_takes_chunks_of_any_sizes_in_their_order(shape: tuple[int, int], cuts: list[int]) -> None:
    data = rows_of(shape).tobytes()
    ends = sorted({cut for cut in cuts if cut < len(data)} | {len(data)} - {0})
    reader = VectorReader(VectorHeader(HEADER, *shape, hashlib.sha256(data).digest()))
    for start, end in zip([0, *ends], ends, strict=False):
        reader.feed(chunk(start, data[start:end]))
    assert reader.finish().tobytes() == data
    with pytest.raises(BadEncoding):
        reader.feed(chunk(len(data), b"x"))


@some
@given(shapes, st.integers(1, 40))
def test_chunks_may_be_written_away_as_they_come(shape: tuple[int, int], size: int) -> None:
    rows = rows_of(shape)
    _, *chunks = encode_vector(HEADER, rows, chunk=size)
    reader = ChunkReader(VectorHeader(HEADER, *shape, hashlib.sha256(rows.tobytes()).digest()))
    written = b""
    for data in chunks:
        with raises("shuffle.vector_short"):
            reader.end()
        written += reader.take(data)
    reader.end()
    assert written == rows.tobytes()


@some
@given(shapes, st.integers(1, 30), st.data())
def test_chunks_left_out_repeated_exchanged_or_changed_never_make_another_vector(
    shape: tuple[int, int], size: int, data: st.DataObject
) -> None:
    rows = rows_of(shape)
    messages = list(encode_vector(HEADER, rows, chunk=size))
    spoilt = [messages[at] for at in data.draw(st.lists(st.integers(0, len(messages) - 1), max_size=len(messages) + 1))]
    try:
        _, came = decode_vector(spoilt)
    except BadEncoding:
        assert spoilt != messages, "the vector itself was refused"
    else:
        assert spoilt == messages
        assert came.tobytes() == rows.tobytes()


@pytest.mark.parametrize("change", [(6, 4), (5, 5), (4, 4), (5, 3), (10, 2), (2, 10), (0, 4)])
def test_rows_of_another_number_or_width_are_refused_or_are_what_the_header_says(change: tuple[int, int]) -> None:
    rows = rows_of((5, 4))
    first, *chunks = encode_vector(HEADER, rows)
    message = pb.VectorHeader.FromString(first)
    message.rows, message.row_bytes = change
    spoilt = [serialize(message), *chunks]
    if change[0] * change[1] == rows.size:
        # The same bytes in another shape: the receiver knows the shape that it expects, and compares.
        header, came = decode_vector(spoilt)
        assert came.shape == (header.rows, header.row_bytes) == change
    else:
        with raises("shuffle.vector_short" if change[0] * change[1] > rows.size else "shuffle.vector_long"):
            decode_vector(spoilt)


def test_a_header_alone_costs_no_memory_however_much_it_announces() -> None:
    announced = VectorHeader(HEADER, 2**31, 2**26, bytes(32))
    tracemalloc.start()
    try:
        reader = VectorReader(announced)
        reader.feed(chunk(0, bytes(1000)))
        with raises("shuffle.vector_short", "1000", f"{2**57}"):
            reader.finish()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200_000, f"{peak} bytes for 1000 that came"


def test_an_empty_vector_is_its_header() -> None:
    messages = list(encode_vector(HEADER, np.empty((0, 768), np.uint8)))
    assert len(messages) == 1
    header, came = decode_vector(messages)
    assert (came.shape, header.rows, header.row_bytes) == ((0, 768), 0, 768)
    assert header.sha256 == hashlib.sha256(b"").digest()


def test_a_vector_is_cut_into_messages_that_its_receiver_takes() -> None:
    rows = np.arange(3 * 2**20, dtype=np.uint32).view(np.uint8).reshape(-1, 12)
    sizes = [len(message) for message in encode_vector(HEADER, rows)]
    assert len(sizes) == 1 + 12
    assert max(sizes) <= CHUNK + 32 <= MESSAGE_LIMIT, f"messages of up to {max(sizes)} bytes"
    too_long = list(encode_vector(HEADER, rows, chunk=MESSAGE_LIMIT))
    with raises("encoding.too_long"):
        decode_vector(too_long)


def test_rows_that_are_a_view_travel_as_the_rows_that_it_shows() -> None:
    whole = rows_of((12, 12))
    view = whole[::2, 1:5]
    _, came = decode_vector(encode_vector(HEADER, view, chunk=7))
    assert np.array_equal(came, view)


def test_what_comes_out_can_be_worked_on_in_place() -> None:
    _, came = decode_vector(encode_vector(HEADER, rows_of((4, 8))))
    came[0, 0] ^= 1
    assert came.flags.c_contiguous


def test_a_vector_needs_a_header_and_nothing_before_it() -> None:
    first, *chunks = encode_vector(HEADER, rows_of((5, 4)), chunk=8)
    with raises("shuffle.no_header"):
        decode_vector([])
    with raises("encoding.not_canonical", "a VectorHeader"):
        decode_vector(chunks)
    with raises("encoding.not_canonical", "a VectorChunk"):
        decode_vector([first, first, *chunks])
