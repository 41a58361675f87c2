"""Inputs that are nearly right: encodings with their fields exchanged, repeated, left out or changed, at any depth.

Plain `random` and not hypothesis, since it has to make millions: a seed replays a run. What an input led to is fed
back by `keep`: an input with an outcome that was not seen before is mutated further.
"""

import random
from collections.abc import Sequence
from typing import Final

from tests.unit.wire.mutations import BLOB, DOUBLE, NUMBER, payload, read_varint, split
from tests.vectors.wire_by_hand import blob, double, uint, varint

_NUMBERS: Final = tuple(
    sorted({n + d for n in (0, 2**7, 2**8, 2**14, 2**16, 2**31, 2**32, 2**40, 2**63, 2**64) for d in (-1, 0, 1)})
)[1:-1]  # what 64 bits hold
_DOUBLES: Final = (0.0, -0.0, 1.0, -1.0, 1e-300, 1e300, float("inf"), float("-inf"), float("nan"), 5e-324)
_KEPT: Final = 64  # inputs beyond the seeds
_LONGEST: Final = 1 << 14
_DEEPEST: Final = 4


class Mutator:
    """Makes inputs for one reader: the right ones first, then others out of them; `tokens` are its texts' parts."""

    def __init__(self, rng: random.Random, seeds: Sequence[bytes], tokens: Sequence[bytes] = ()) -> None:
        self._rng = rng
        self._corpus = list(seeds)
        self._seeds = len(self._corpus)
        self._unchanged = iter(seeds)
        self._tokens = tokens

    def next(self) -> bytes:
        """One more input."""
        if (right := next(self._unchanged, None)) is not None:
            return right
        rng = self._rng
        data = rng.choice(self._corpus)
        for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
            kind = rng.random()
            if self._tokens and kind < 0.6:
                data = self._tokenwise(data)
            elif not self._tokens and kind < 0.7:
                data = self._fieldwise(data, 0)
            else:
                data = self._bytewise(data)
        return data[:_LONGEST]

    def keep(self, data: bytes) -> None:
        """Mutate this one further."""
        if len(self._corpus) - self._seeds < _KEPT:
            self._corpus.append(data)
        else:
            self._corpus[self._rng.randrange(self._seeds, len(self._corpus))] = data

    def _bytewise(self, data: bytes) -> bytes:
        rng = self._rng
        at = rng.randrange(len(data) + 1)
        to = min(len(data), at + rng.choice((0, 1, 1, 2, 4, 8, 16, 64)))
        match rng.randrange(7):
            case 0 if at < len(data):
                return data[:at] + bytes((data[at] ^ 1 << rng.randrange(8),)) + data[at + 1 :]
            case 1:
                return data[:at] + rng.randbytes(to - at) + data[to:]
            case 2:
                return data[:at] + rng.randbytes(rng.choice((1, 2, 4, 8, 32))) + data[at:]
            case 3:
                return data[:at] + data[to:]
            case 4:
                return data[:to] + data[at:]
            case 5:
                return data[:at]
            case _:
                other = rng.choice(self._corpus)
                return data[:at] + other[rng.randrange(len(other) + 1) :]

    def _tokenwise(self, data: bytes) -> bytes:
        rng = self._rng
        if rng.random() < 0.7:
            return self._linewise(data)
        at = rng.randrange(len(data) + 1)
        to = min(len(data), at + rng.choice((0, 0, 1, 4, 12)))
        return data[:at] + rng.choice(self._tokens) + data[to:]

    def _linewise(self, data: bytes) -> bytes:
        """A line left out, repeated or moved, or what stands on one side of its equals sign exchanged."""
        rng = self._rng
        lines = data.split(b"\n")
        at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        left, sign, right = lines[at].partition(b"=")
        match rng.randrange(6):
            case 0:
                del lines[at]
            case 1:
                lines.insert(other, lines[at])
            case 2:
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                lines[at] = left + sign + lines[other].partition(b"=")[2]
            case 4:
                lines[at] = left + sign + rng.choice(self._tokens)
            case _:
                lines[at] = rng.choice(self._tokens) + sign + right
        return b"\n".join(lines)

    def _fieldwise(self, data: bytes, depth: int) -> bytes:
        fields = _fields(data)
        if not fields:
            return self._bytewise(data)
        rng = self._rng
        at = rng.randrange(len(fields))
        match rng.randrange(9):
            case 0:
                del fields[at]
            case 1:
                fields.insert(rng.randrange(len(fields) + 1), fields[at])
            case 2:
                other = rng.randrange(len(fields))
                fields[at], fields[other] = fields[other], fields[at]
            case 3:
                others = _fields(rng.choice(self._corpus))
                fields[at : at + rng.randrange(2)] = [rng.choice(others)] if others else []
            case 4:
                fields[at] = self._other_tag(fields[at])
            case _:
                fields[at] = self._other_value(fields[at], depth)
        return b"".join(fields)

    def _other_tag(self, field: bytes) -> bytes:
        rng = self._rng
        tag, after = read_varint(field, 0)
        number = rng.choice((0, 1, 2, 17, 18_999, 2**29 - 1, (tag >> 3) + 1))
        kind = rng.choice((tag & 7, rng.randrange(8)))
        return varint(number << 3 | kind, padded=rng.choice((0, 0, 1))) + field[after:]

    def _other_value(self, field: bytes, depth: int) -> bytes:
        rng = self._rng
        tag, after = read_varint(field, 0)
        number = tag >> 3
        if tag & 7 == NUMBER:
            value, _ = read_varint(field, after)
            near = (value + rng.choice((-1, 1))) % 2**64
            return uint(number, rng.choice((near, rng.choice(_NUMBERS))), shown=rng.random() < 0.9)
        if tag & 7 == DOUBLE:
            return double(number, rng.choice(_DOUBLES))
        content = payload(field)
        if depth < _DEEPEST and rng.random() < 0.7:
            return blob(number, self._fieldwise(content, depth + 1), shown=True)
        longer = rng.choice((content * 2, content + b"\0", content[:-1], b"", rng.randbytes(len(content))))
        return blob(number, longer[:_LONGEST], shown=rng.random() < 0.9)


def _fields(data: bytes) -> list[bytes]:
    """The fields of what may be an encoding; none if it cannot be taken apart."""
    try:
        fields = split(data)
    except IndexError:
        return []
    kinds = {read_varint(field, 0)[0] & 7 for field in fields}
    return fields if b"".join(fields) == data and kinds <= {NUMBER, DOUBLE, BLOB} else []
