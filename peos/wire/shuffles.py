"""What is said after the freeze, on the wire: statements, vectors, notices, receipts."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.collection.document import MAX_ROWS
from peos.crypto.identity import SIGNATURE_BYTES
from peos.crypto.kdf import DIGEST_BYTES, Context
from peos.errors import BadEncoding
from peos.shuffle.messages import (
    STATEMENT_BYTES,
    VECTORS,
    Header,
    Kind,
    Notice,
    NoticeKind,
    SignedNotice,
    SignedReceipt,
    Statement,
    Step,
    VectorHeader,
)
from peos.shuffle.schedule import MAX_SHUFFLERS
from peos.shuffle.streaming import Rows, cut_bytes
from peos.v1 import shuffle_pb2 as pb
from peos.wire.strict import VERSION, exactly, parse, serialize, within

CHUNK: Final = 1 << 20
MAX_ROW_BYTES: Final = 1 << 26
_U32: Final = (1 << 32) - 1
_U16: Final = (1 << 16) - 1


def encode_statement(statement: Statement) -> bytes:
    """A statement."""
    return serialize(pb.Word(version=VERSION, header=_header(statement.header), body=statement.body))


def decode_statement(data: bytes) -> Statement:
    """A statement, of a kind that is one."""
    message = parse(pb.Word, data)
    header = _read_header(message.header)
    if header.step.kind in VECTORS:
        raise BadEncoding("shuffle.word_for_vector", f"a statement came where a vector belongs: {header.step}")
    return Statement(header, exactly(message.body, STATEMENT_BYTES, "a statement"))


def encode_vector(header: Header, vector: Rows, *, transcript: bytes = b"", chunk: int = CHUNK) -> Iterator[bytes]:
    """A vector's header and then its chunks; `vector` is its rows as bytes, which are read chunk by chunk."""
    rows, row_bytes = vector.shape
    sha256 = hashlib.sha256()
    for _, piece in cut_bytes(vector, CHUNK):
        sha256.update(piece)
    yield serialize(
        pb.VectorHeader(
            version=VERSION,
            header=_header(header),
            rows=rows,
            row_bytes=row_bytes,
            sha256=sha256.digest(),
            transcript=transcript,
        )
    )
    for offset, piece in cut_bytes(vector, chunk):
        yield serialize(pb.VectorChunk(version=VERSION, offset=offset, data=piece.tobytes()))


def decode_vector_header(data: bytes) -> VectorHeader:
    """What precedes a vector; the receiver compares the shape with what it expects before it allocates."""
    message = parse(pb.VectorHeader, data)
    header = _read_header(message.header)
    if header.step.kind not in VECTORS:
        raise BadEncoding("shuffle.vector_for_word", f"a vector came where a statement belongs: {header.step}")
    return VectorHeader(
        header,
        rows=within(message.rows, 0, MAX_ROWS, "a vector's rows"),
        row_bytes=within(message.row_bytes, 1, MAX_ROW_BYTES, "a vector's row"),
        sha256=exactly(message.sha256, DIGEST_BYTES, "a vector's hash"),
        transcript=_transcript(message.transcript, due=header.step.kind is Kind.DELIVERY),
    )


class ChunkReader:
    """Checks a vector's chunks one by one: in order, no more and no fewer than announced, with the announced hash.

    It keeps none of them, so that a receiver may write them away as they come.
    """

    def __init__(self, header: VectorHeader) -> None:
        self.header = header
        self._due = header.rows * header.row_bytes
        self._here = 0
        self._sha256 = hashlib.sha256()

    def take(self, data: bytes) -> bytes:
        """The bytes that the next chunk brings."""
        message = parse(pb.VectorChunk, data)
        if message.offset != self._here or not message.data:
            raise BadEncoding(
                "shuffle.chunk_offset",
                f"a chunk at {message.offset} does not follow the {self._here} bytes that are here",
            )
        if self._here + len(message.data) > self._due:
            raise BadEncoding("shuffle.vector_long", f"a vector goes on beyond its {self._due} bytes")
        self._here += len(message.data)
        self._sha256.update(message.data)
        return message.data

    def end(self) -> None:
        """No chunk is to come: all must be here."""
        if self._here != self._due:
            raise BadEncoding("shuffle.vector_short", f"a vector ended after {self._here} of {self._due} bytes")
        if self._sha256.digest() != self.header.sha256:
            raise BadEncoding("shuffle.vector_hash", "a vector does not have the hash that was announced")


class VectorReader:
    """Takes in a vector's chunks, in order; gives it out only whole and with the hash that was announced.

    Memory follows what has arrived, not what the header announced: a header is cheap to send. A caller that keeps
    the chunks elsewhere gives `keep`, which is called with their bytes.
    """

    def __init__(self, header: VectorHeader, keep: Callable[[bytes], None] | None = None) -> None:
        self.header = header
        self._chunks = ChunkReader(header)
        self._arrived = bytearray()
        self._keep = keep or self._arrived.extend

    def feed(self, data: bytes) -> None:
        """The next chunk."""
        self._keep(self._chunks.take(data))

    def end(self) -> None:
        """No chunk is to come: all must be here."""
        self._chunks.end()

    def finish(self) -> NDArray[np.uint8]:
        """The vector's rows as bytes, if they were kept here."""
        self.end()
        return np.frombuffer(self._arrived, np.uint8).reshape(self.header.rows, self.header.row_bytes)


def decode_vector(messages: Iterable[bytes]) -> tuple[VectorHeader, NDArray[np.uint8]]:
    """A whole vector out of its messages."""
    arriving = iter(messages)
    first = next(arriving, None)
    if first is None:
        raise BadEncoding("shuffle.no_header", "a vector has no header")
    reader = VectorReader(decode_vector_header(first))
    for data in arriving:
        reader.feed(data)
    return reader.header, reader.finish()


def encode_notice(signed: SignedNotice) -> bytes:
    """A signed notice."""
    return serialize(
        pb.Notice(
            version=VERSION,
            collection=signed.context.collection,
            frozen=signed.context.frozen,
            kind=signed.notice.kind,
            sender=signed.notice.sender,
            attempt=signed.notice.attempt,
            transcript=signed.notice.transcript,
            signature=signed.signature,
        )
    )


def decode_notice(data: bytes) -> SignedNotice:
    """A notice; the caller verifies the signature under its sender's identity."""
    message = parse(pb.Notice, data)
    kind = NoticeKind(within(message.kind, min(NoticeKind), max(NoticeKind), "a notice's kind"))
    notice = Notice(
        kind,
        within(message.sender, 1, MAX_SHUFFLERS, "a notice's sender"),
        message.attempt,
        _transcript(message.transcript, due=kind is NoticeKind.STORED),
    )
    context = _context(message.collection, message.frozen, 0)
    return SignedNotice(context, notice, exactly(message.signature, SIGNATURE_BYTES, "a notice's signature"))


def encode_receipt(receipt: SignedReceipt) -> bytes:
    """The analyzer's receipt."""
    return serialize(
        pb.Receipt(
            version=VERSION,
            collection=receipt.context.collection,
            frozen=receipt.context.frozen,
            attempt=receipt.context.attempt,
            transcript=receipt.transcript,
            signature=receipt.signature,
        )
    )


def decode_receipt(data: bytes) -> SignedReceipt:
    """A delivery receipt; the caller verifies the signature under the analyzer's identity."""
    message = parse(pb.Receipt, data)
    return SignedReceipt(
        _context(message.collection, message.frozen, within(message.attempt, 1, _U32, "a receipt's attempt")),
        _transcript(message.transcript, due=True),
        exactly(message.signature, SIGNATURE_BYTES, "a receipt's signature"),
    )


def _header(header: Header) -> pb.Header:
    return pb.Header(
        collection=header.context.collection,
        frozen=header.context.frozen,
        attempt=header.context.attempt,
        round=header.step.round,
        kind=header.step.kind,
        sender=header.sender,
        receiver=header.receiver,
    )


def _read_header(message: pb.Header) -> Header:
    kind = Kind(within(message.kind, min(Kind), max(Kind), "a message's kind"))
    sender = within(message.sender, 1, MAX_SHUFFLERS, "a message's sender")
    least = 0 if kind in (Kind.DELIVERY, Kind.OPENING) else 1  # 0 is the analyzer
    most = 0 if kind is Kind.DELIVERY else MAX_SHUFFLERS
    receiver = within(message.receiver, least, most, "a message's receiver")
    if sender == receiver:
        raise BadEncoding("shuffle.to_itself", "a message's sender is its receiver")
    step = Step(within(message.round, 1, _U16, "a message's round"), kind)
    attempt = within(message.attempt, 1, _U32, "a message's attempt")
    return Header(_context(message.collection, message.frozen, attempt), step, sender, receiver)


def _context(collection: bytes, frozen: bytes, attempt: int) -> Context:
    exactly(collection, DIGEST_BYTES, "a message's collection")
    exactly(frozen, DIGEST_BYTES, "a message's frozen digest")
    return Context(collection, frozen, attempt)


def _transcript(data: bytes, *, due: bool) -> bytes:
    return exactly(data, DIGEST_BYTES if due else 0, "a transcript digest")
