"""What a console and its analyzer say to each other, on the wire: a question, and a JSON text in pieces."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from peos.errors import BadEncoding
from peos.v1 import console_pb2 as pb
from peos.wire.strict import VERSION, parse, serialize

PIECE_BYTES: Final = 1 << 20
TERMS_LIMIT: Final = 1 << 20
_NAME_LIMIT: Final = 200

Terms = Mapping[str, str | list[str]]


@dataclass(frozen=True)
class ConsoleQuestion:
    """About which collection or study, and with which terms, as a command line has them."""

    name: str = ""
    terms: Terms = field(default_factory=dict)


def encode_console_question(question: ConsoleQuestion) -> bytes:
    """A question."""
    terms = _text(question.terms) if question.terms else ""
    return serialize(pb.ConsoleQuestion(version=VERSION, name=question.name, terms=terms))


def decode_console_question(data: bytes) -> ConsoleQuestion:
    """A question: a short name, and terms that are texts or lists of texts."""
    found = parse(pb.ConsoleQuestion, data)
    if len(found.name) > _NAME_LIMIT or len(found.terms) > TERMS_LIMIT:
        raise BadEncoding("encoding.too_long", "a question's name or terms are too long")
    return ConsoleQuestion(found.name, _terms(found.terms) if found.terms else {})


def encode_console_piece(content: bytes) -> bytes:
    """A stretch of an answer."""
    return serialize(pb.ConsolePiece(version=VERSION, content=content))


def decode_console_piece(data: bytes) -> bytes:
    """A stretch of an answer, which is never empty."""
    content = bytes(parse(pb.ConsolePiece, data).content)
    if not 1 <= len(content) <= PIECE_BYTES:
        raise BadEncoding("encoding.length", f"a piece of an answer has {len(content)} bytes")
    return content


def pieces(answer: Any) -> Iterator[bytes]:
    """An answer cut up."""
    text = json.dumps(answer, ensure_ascii=False).encode()
    for at in range(0, len(text), PIECE_BYTES):
        yield text[at : at + PIECE_BYTES]


def joined(parts: Iterable[bytes]) -> Any:
    """The answer that came in pieces."""
    try:
        return json.loads(b"".join(parts))
    except (ValueError, RecursionError):
        raise BadEncoding("encoding.unreadable", "these pieces are no answer") from None


def _terms(text: str) -> Terms:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not found or not all(map(_is_term, found.values())) or _text(found) != text:
        raise BadEncoding("encoding.not_canonical", "a question's terms are not texts by their names in one encoding")
    return found


def _is_term(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value))


def _text(terms: Terms) -> str:
    return json.dumps(terms, sort_keys=True, separators=(",", ":"))
