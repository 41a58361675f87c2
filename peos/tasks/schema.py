"""What a user holds: a record of named attributes, each with labels, in order between bounds, or a real number.

    schema = Schema.of({"smokes": ["no", "yes"], "age": (0, 100), "spending": (0.0, 500.0)})

or the same as TOML: `smokes = ["no", "yes"]`, `age = {from = 0, to = 100}`, `spending = {from = 0.0, to = 500.0, real =
true}`, the latter two also with `parts = 10`, into how many equal parts the range is cut. A record is an object, in
JSON or Python: `{"smokes": "no", "age": 34, "spending": 21.5}`; many records may also be a numpy array with a field for
each attribute, in which labels are numbers. A number outside its bounds counts at the nearer one.
"""

import itertools
import json
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from peos.errors import WrongInput

MOST_ATTRIBUTES: Final = 256
MOST_CELLS: Final = 1 << 16  # of one attribute
FINEST: Final = 1_024  # parts of a real number's range that names none
_MOST_NAME: Final = 64  # characters
_MOST_LABEL: Final = 200
_MOST_NUMBER: Final = 1 << 53  # whole numbers up to it are doubles
_SHOWN: Final = 6  # labels in a sentence

Cells = NDArray[np.int64]


@dataclass(frozen=True)
class Attribute:
    """One attribute: `labels`, or a range from `first` to `last`, of whole numbers or real ones, in `parts`."""

    name: str
    labels: tuple[str, ...] = ()
    first: float = 0
    last: float = 0
    real: bool = False
    parts: int = 0  # 0: every whole number for itself
    _places: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_places", {label: place for place, label in enumerate(self.labels)})
        if not _is_printable(self.name, _MOST_NAME):
            raise _wrong("an attribute's name", f"has 1 to {_MOST_NAME} printable characters", self.name)
        if self.labels:
            self._check_labels()
        else:
            self._check_range()
        if not 2 <= self.size <= MOST_CELLS:
            raise _wrong(f"attribute {self.name}", f"has 2 to {MOST_CELLS:,} values", self.size)

    def _check_labels(self) -> None:
        for label in self.labels:
            if not isinstance(label, str) or not _is_printable(label, _MOST_LABEL):
                raise _wrong(f"a label of {self.name}", f"has 1 to {_MOST_LABEL} printable characters", label)
        if len(self._places) < len(self.labels):
            twice = next(label for at, label in enumerate(self.labels) if label in self.labels[:at])
            raise _wrong(f"attribute {self.name}", "has different labels", twice)

    def _check_range(self) -> None:
        ends = (self.first, self.last)
        if not all(_is_number(end, real=self.real) and abs(end) <= _MOST_NUMBER for end in ends):
            kind = "numbers" if self.real else "whole numbers"
            raise _wrong(f"attribute {self.name}", f"lies between two {kind}, from and to", list(ends))
        if not self.first < self.last:
            raise _wrong(f"attribute {self.name}", "has its lower bound first", list(ends))
        if not _is_number(self.parts, real=False) or self.parts < 0:
            raise _wrong(f"parts of {self.name}", "is a whole number, at least 2", self.parts)
        if not self.real and self.parts > self.last - self.first + 1:
            raise _wrong(f"attribute {self.name}", "has at most as many parts as values", self.parts)

    @property
    def size(self) -> int:
        """How many cells it has: labels, parts, or whole numbers."""
        return len(self.labels) or self.parts or (FINEST if self.real else int(self.last - self.first) + 1)

    @property
    def is_ordered(self) -> bool:
        """Whether ranges of it mean anything."""
        return not self.labels

    @property
    def _width(self) -> float:
        """Of the whole range: whole numbers have a width of one each."""
        return self.last - self.first + (not self.real)

    def index(self, values: Sequence[Any] | NDArray[Any]) -> Cells:
        """The cell of each value, all of which fit (`problem`)."""
        if self.labels:
            if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
                if values.size and not 0 <= int(values.min()) <= int(values.max()) < self.size:
                    raise _wrong(f"attribute {self.name}", f"is a number from 0 to {self.size - 1} in arrays", "others")
                return values.astype(np.int64)
            return np.array([self._places[value] for value in values], dtype=np.int64)
        given = np.clip(np.asarray(values, dtype=np.float64), self.first, self.last)
        found: Cells = np.minimum(np.floor(self._at(given)), self.size - 1).astype(np.int64)
        return found

    def _at(self, value: Any) -> Any:
        """Where a number stands on the scale of the cells, from 0 to their number."""
        return (value - self.first) * self.size / self._width

    def span(self, low: float, high: float) -> tuple[float, float]:
        """Which stretch of the cells a range takes, both its ends within it; from 0 to their number."""
        first, last = self._at(max(low, self.first)), self._at(min(high + (not self.real), self.first + self._width))
        return float(first), max(float(first), float(last))

    def value_at(self, place: float) -> float:
        """The number that stands at a place of that scale."""
        return self.first + place * self._width / self.size

    @cached_property
    def cells(self) -> tuple[str, ...]:
        """What each cell is called."""
        if self.labels:
            return self.labels
        if not self.real and self.size == self._width:
            return tuple(str(int(self.first) + cell) for cell in range(self.size))
        ends = [self.value_at(cell) for cell in range(self.size + 1)]
        if self.real:
            return tuple(f"{low:g} to {high:g}" for low, high in itertools.pairwise(ends))
        whole = [math.ceil(end - 1e-9) for end in ends]
        return tuple(_stretch(low, high - 1) for low, high in itertools.pairwise(whole))

    @property
    def in_words(self) -> str:
        """Name and values."""
        if self.labels:
            more = f" and {self.size - _SHOWN} more" if self.size > _SHOWN else ""
            return f"{self.name} ({', '.join(self.labels[:_SHOWN])}{more})"
        parts = f" in {self.parts} parts" if self.parts else ""
        return f"{self.name} ({self.first:g} to {self.last:g}{parts})"

    def problem(self, value: object) -> str:
        """Why a value is none of it; "" if it is. A number beyond the bounds is one."""
        if self.labels:
            is_one = isinstance(value, str) and value in self._places
            return "" if is_one else f"{self.name} is one of {', '.join(self.labels[:_SHOWN])}"
        kind = "a number" if self.real else "a whole number"
        return "" if _is_number(value, real=self.real) else f"{self.name} is {kind}"

    @property
    def text(self) -> str:
        """One line that stands for it in a document; `from_text` reads it."""
        if self.labels:
            found: dict[str, Any] = {"name": self.name, "labels": list(self.labels)}
        else:
            ends = (float(self.first), float(self.last)) if self.real else (int(self.first), int(self.last))
            found = {"name": self.name, "from": ends[0], "to": ends[1], "real": self.real, "parts": self.parts}
        return json.dumps(found, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The attribute that a document states: exactly as `text` writes it."""
        try:
            given = json.loads(text)
            made = cls.of(given.pop("name"), given.pop("labels", given))
        except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
            made = None
        if made is None or made.text != text:
            raise WrongInput("schema.text", "the document states an attribute in a way that no analyzer writes it")
        return made

    @classmethod
    def of(cls, name: str, given: object) -> Self:
        """From a list of labels, a pair of bounds, or a table of from, to, real and parts."""
        if isinstance(given, Mapping):
            if not {"from", "to"} <= {*given} <= {"from", "to", "real", "parts"}:
                raise _wrong(
                    f"attribute {name}", "has from and to, and may have real and parts", sorted(map(str, given))
                )
            real = given.get("real", False)
            if not isinstance(real, bool):
                raise _wrong(f"real of {name}", "is true or false", real)
            return cls(name, (), given["from"], given["to"], real, given.get("parts", 0))
        if isinstance(given, list | tuple) and all(isinstance(one, str) for one in given) and given:
            return cls(name, tuple(given))
        if isinstance(given, tuple) and len(given) == 2:
            return cls(name, (), *given, real=any(isinstance(end, float) for end in given))
        raise _wrong(f"attribute {name}", "is a list of labels, or a range with from and to", given)


@dataclass(frozen=True)
class Schema:
    """The attributes of a record, in the order in which they were stated."""

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.attributes) <= MOST_ATTRIBUTES:
            raise _wrong("a schema", f"has 1 to {MOST_ATTRIBUTES} attributes", len(self.attributes))
        if len({*self.names}) < len(self.attributes):
            raise _wrong("a schema", "names each attribute once", list(self.names))

    @classmethod
    def of(cls, given: "Schema | Mapping[str, object]") -> "Schema":
        """From a mapping, as TOML or Python have it."""
        if isinstance(given, Schema):
            return given
        if not isinstance(given, Mapping):
            raise _wrong("a schema", "is a table of attributes by name", given)
        return cls(tuple(Attribute.of(name, one) for name, one in given.items()))

    @classmethod
    def from_toml(cls, text: str) -> "Schema":
        """From the text of a file."""
        try:
            return cls.of(tomllib.loads(text))
        except tomllib.TOMLDecodeError as wrong:
            raise WrongInput("schema.toml", f"the schema is not TOML: {wrong}") from None

    @property
    def names(self) -> tuple[str, ...]:
        """Of all attributes."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many cells each has."""
        return tuple(attribute.size for attribute in self.attributes)

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def __getitem__(self, name: str) -> Attribute:
        return self.attributes[self.place(name)]

    def place(self, name: str) -> int:
        """Where an attribute stands."""
        if name not in self.names:
            raise WrongInput(
                "schema.unknown", f"there is no attribute {name!r}", hint=f"ask for {', '.join(self.names)}"
            )
        return self.names.index(name)

    def places(self, names: Sequence[str]) -> tuple[int, ...]:
        """Of several, each named once."""
        found = tuple(self.place(name) for name in names)
        if not found or len({*found}) < len(found):
            raise _wrong("a question", "names at least one attribute, and each once", list(names))
        return found


def column(records: Sequence[object] | NDArray[Any], name: str) -> Sequence[Any] | NDArray[Any]:
    """One attribute of many records."""
    if isinstance(records, np.ndarray) and records.dtype.names:
        column: NDArray[Any] = records[name]
        return column
    return [record[name] for record in records]  # type: ignore[index] # each was found to be an object (`problem`)


def _is_printable(text: object, most: int) -> bool:
    return isinstance(text, str) and 1 <= len(text) <= most and text.isprintable() and text == text.strip()


def _is_number(value: object, *, real: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    return math.isfinite(value) if real else isinstance(value, int | np.integer)


def _stretch(first: int, last: int) -> str:
    return f"{first} to {last}" if last > first else str(first)


def _wrong(what: str, expected: str, found: object) -> WrongInput:
    return WrongInput("schema.attribute", f"{what} {expected}, not {str(found)[:80]}")
