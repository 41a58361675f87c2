"""What a client makes of her record before anything is randomised: one frozen dataclass a view, pure.

A view is stated in the signed document by its kind, integers and labels (`ViewChoice`), and in words to her before
anything is sent. A record of another shape than is asked for is refused (`problem`); a record that fits, and that the
view says nothing of, answers all the same, so that neither bytes nor work tell whose it is (decisions/0028).
"""

import hashlib
import json
import struct
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from peos.crypto.randomness import Randomness
from peos.errors import WrongInput
from peos.ldp.base import MAX_ENUMERABLE, whole_number
from peos.registry import VIEWS
from peos.tasks.labels import expected, is_text, require_labels, value_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MOST_VIEWS: Final = 64
MOST_LABELS: Final = 4_096
MOST_LABEL_BYTES: Final = 1 << 16
MOST_LISTED: Final = 1 << 20  # lines of a catalogue
_DIGEST: Final = 32

Record = object
"""What a user holds, as JSON has it: a text, a number, a list, an object."""


@dataclass(frozen=True)
class Catalogue:
    """A list that is too long for a document: a file next to the invitation, one JSON text a line."""

    suffix: ClassVar[str] = ".catalogue"  # where the invitation's name ends in its own

    digest: bytes  # SHA-256 of the file
    count: int

    def __post_init__(self) -> None:
        if len(self.digest) != _DIGEST:
            raise WrongInput("view.catalogue_digest", "a catalogue is named by the 32 bytes of its SHA-256")
        whole_number(self.count, "the number of lines of a catalogue", least=1, most=MOST_LISTED)

    @classmethod
    def of(cls, content: bytes) -> Self:
        """The catalogue that a file is."""
        return cls(hashlib.sha256(content).digest(), len(cls.lines(content)))

    @staticmethod
    def lines(content: bytes) -> tuple[str, ...]:
        """The texts of a file; WrongInput names the first line that is none."""
        found = []
        try:
            listed = content.decode().removesuffix("\n").split("\n") if content else []
        except UnicodeDecodeError:
            raise WrongInput("view.catalogue_text", "the catalogue is not UTF-8 text", hint=_CATALOGUE) from None
        for number, line in enumerate(listed, start=1):
            try:
                text = json.loads(line)
            except (ValueError, RecursionError):
                text = None
            if not is_text(text):
                raise WrongInput(
                    "view.catalogue_line", f"line {number} of the catalogue is not a JSON text", hint=_CATALOGUE
                )
            found.append(text)
        return tuple(found)

    def checked(self, content: bytes) -> tuple[str, ...]:
        """The texts of the file, if it is this one."""
        found = self.lines(content) if hashlib.sha256(content).digest() == self.digest else ()
        if len(found) != self.count:
            raise WrongInput(
                "view.other_catalogue",
                f"the catalogue is another file than the document's of {self.count:,} lines, whose SHA-256 is "
                f"{self.digest.hex()}",
                hint="fetch the catalogue that came with the invitation",
            )
        return found


_CATALOGUE: Final = 'a catalogue has one text a line, as JSON: "bread"'


@dataclass(frozen=True)
class ViewChoice:
    """A view by kind, integers and labels, as a document holds it."""

    kind: str
    parameters: Mapping[str, int]
    labels: tuple[str, ...] = ()
    catalogue: Catalogue | None = None

    @cached_property
    def encoded(self) -> bytes:
        """Equal for equal choices alone."""
        made = [self.kind.encode(), struct.pack(">Q", len(self.parameters))]
        for name, value in sorted(self.parameters.items()):
            made += [name.encode(), struct.pack(">Q", value)]
        listed = self.catalogue
        made += [struct.pack(">Q", listed.count) + listed.digest if listed else b"", *(x.encode() for x in self.labels)]
        return b"".join(struct.pack(">I", len(one)) + one for one in made)


class View(Protocol):
    """One question to a record."""

    kind: ClassVar[str]
    gives: ClassVar[str]  # what `answers` are of: "value", "key", "set", "cell"

    @property
    def cells(self) -> int:
        """How many different answers there are; 0 where they are keys."""

    @property
    def in_words(self) -> str:
        """What is asked of a record."""

    @property
    def reads(self) -> Hashable:
        """Equal for views whose `read` is the same."""

    def problem(self, record: Record) -> str:
        """Why a record is not of the shape that is asked for; "" if it is."""

    def read(self, records: "Sequence[Record] | NDArray[np.integer]") -> Any:
        """The records, as views of this kind look at them."""

    def answers(self, read: Any, rng: Randomness) -> Any:
        """What each record that was read answers; `rng` is the user's, for views that round or draw."""

    def describe(self) -> ViewChoice:
        """What the document holds of it."""

    @classmethod
    def of(cls, choice: ViewChoice) -> Self:
        """The view that a document describes; WrongInput if any part of it is out of range."""

    def listing(self, content: bytes) -> Self:
        """With the texts of its catalogue."""


class Fields:
    """A view whose parameters are its integers, and which may have labels."""

    kind: ClassVar[str]

    @property
    def reads(self) -> Hashable:
        """Most views look at records as they are."""
        return ()

    def read(self, records: "Sequence[Record] | NDArray[np.integer]") -> Any:
        """As they are."""
        return records

    def describe(self: "DataclassInstance") -> ViewChoice:
        """Its fields by name."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        labels, catalogue = given.pop("labels", ()), given.pop("catalogue", None)
        return ViewChoice(type(self).kind, given, () if catalogue else labels, catalogue)  # type: ignore[attr-defined] # as every view

    @classmethod
    def of(cls, choice: ViewChoice) -> Self:
        """From fields by name."""
        names = {one.name for one in fields(cls)}  # type: ignore[arg-type] # every view is a dataclass
        listed = {"labels": choice.labels, "catalogue": choice.catalogue} if "labels" in names else {}
        if {*choice.parameters} != names - {*listed} or (not listed and (choice.labels or choice.catalogue)):
            raise WrongInput(
                "view.parameters",
                f"a view of kind {cls.kind} is described by {' and '.join(sorted(names))}, by each and nothing else",
            )
        return cls(**choice.parameters, **listed)

    def listing(self, content: bytes) -> Self:  # noqa: ARG002 - of use to those that have labels
        """Most views have no catalogue."""
        return self


@dataclass(frozen=True)
class Labelled(Fields):
    """A view that knows a list of texts: in the document, or in a catalogue next to the invitation."""

    labels: tuple[str, ...] = ()
    catalogue: Catalogue | None = None

    def __post_init__(self) -> None:
        if self.catalogue is None:
            require_labels(self.labels, len(self.labels) or 1)
            if not self.labels:
                raise WrongInput("view.labels", f"a view of kind {self.kind} needs labels, or a catalogue of them")

    @property
    def listed(self) -> int:
        """How many texts it knows."""
        return self.catalogue.count if self.catalogue else len(self.labels)

    @cached_property
    def place(self) -> dict[str, int]:
        """Where each text stands in the list."""
        if not self.labels:
            raise WrongInput("view.no_catalogue", "the catalogue is missing", hint="fetch it with the invitation")
        return {label: number for number, label in enumerate(self.labels)}

    def listing(self, content: bytes) -> Self:
        """With the texts of its catalogue."""
        return self if self.catalogue is None else replace(self, labels=self.catalogue.checked(content))


@dataclass(frozen=True)
class ValueView(Fields):
    """One of a list of values, by its label or its number; what a document asks that names no view."""

    kind: ClassVar[str] = "value"
    gives: ClassVar[str] = "value"
    cells: int
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        whole_number(self.cells, "the number of values", least=1, most=MAX_ENUMERABLE)
        require_labels(self.labels, self.cells)

    @classmethod
    def of(cls, choice: ViewChoice) -> Self:
        """Without a catalogue."""
        if choice.catalogue is not None or {*choice.parameters} != {"cells"}:
            raise WrongInput("view.parameters", "a view of kind value is described by cells, and its labels")
        return cls(choice.parameters["cells"], choice.labels)

    @property
    def in_words(self) -> str:
        """Every value that may be answered."""
        return expected(self.labels, self.cells)

    def number(self, record: Record) -> int | None:
        """The value that a record stands for; None if it is none."""
        if isinstance(record, str):
            return value_of(record, self.labels, self.cells)
        if isinstance(record, bool) or not isinstance(record, int | np.integer):
            return None
        return int(record) if 0 <= record < self.cells else None

    def problem(self, record: Record) -> str:
        """A value that is not in the list is a mistake."""
        return f"the value is not {self.in_words}" if self.number(record) is None else ""

    def answers(self, read: "Sequence[Record] | NDArray[np.integer]", rng: Randomness) -> NDArray[np.int64]:  # noqa: ARG002
        """Each value's number."""
        if isinstance(read, np.ndarray):
            return read.astype(np.int64)
        return np.array([self.number(record) for record in read], dtype=np.int64)


@dataclass(frozen=True)
class CandidatesView(Labelled):
    """Which of the listed texts a text is, or another."""

    kind: ClassVar[str] = "candidates"
    gives: ClassVar[str] = "value"

    @property
    def cells(self) -> int:
        """One more than are listed: the last is for all other texts."""
        return self.listed + 1

    @property
    def in_words(self) -> str:
        """A few of them."""
        if not self.labels:
            return f"which of {self.listed:,} listed texts it is, or that it is another"
        return f"whether the text is {expected(self.labels, self.listed)}, or another"

    def problem(self, record: Record) -> str:
        """What is no text."""
        return "" if is_text(record) else "the record is not a text"

    def answers(self, read: Sequence[Record], rng: Randomness) -> NDArray[np.int64]:  # noqa: ARG002 - see `View`
        """Each text's place, or the last."""
        return np.array([self.place.get(str(record), self.listed) for record in read], dtype=np.int64)


def from_choice(choice: ViewChoice) -> View:
    """The view that a document describes."""
    if choice.kind not in VIEWS:
        raise WrongInput("view.kind", f"a view is one of {', '.join(VIEWS)}", hint="use a client of this version")
    return VIEWS[choice.kind].of(choice)


def from_choices(choices: Sequence[ViewChoice]) -> tuple[View, ...]:
    """The views of a document, within what every user can be asked to fetch from every shuffler."""
    labels = [label for choice in choices for label in choice.labels]
    size = sum(len(label.encode()) for label in labels)
    for found, most, what in (
        (len(choices), MOST_VIEWS, "views"),
        (len(labels), MOST_LABELS, "labels of views"),
        (size, MOST_LABEL_BYTES, "bytes of labels"),
    ):
        if found > most:
            raise WrongInput(
                "view.too_many",
                f"a document has at most {most:,} {what}, not {found:,}",
                hint="list them in a catalogue" if what != "views" else "ask fewer groups",
            )
    return tuple(map(from_choice, choices))


def digest_of(choices: Iterable[ViewChoice]) -> bytes:
    """What stands for the views in a mechanism's digest; nothing where there are none."""
    encoded = [choice.encoded for choice in choices]
    framed = b"".join(struct.pack(">I", len(one)) + one for one in encoded)
    return hashlib.sha256(b"peos views 1" + framed).digest() if encoded else b""


def problems(views: Sequence[View], records: Sequence[Record]) -> list[tuple[int, str]]:
    """All records that are not of the shape that is asked for, by position, each with the reason."""
    kinds = {(type(view), view.reads, view.cells): view for view in views}.values()
    found = []
    for position, record in enumerate(records):
        reason = next((said for view in kinds if (said := view.problem(record))), "")
        if reason:
            found.append((position, reason))
    return found


def answers_of(views: Sequence[View], records: "Sequence[Record] | NDArray[np.integer]", rng: Randomness) -> list[Any]:
    """What each view makes of the records; they are read once for all views that read them alike."""
    read: dict[Hashable, Any] = {}
    for view in views:
        if view.reads not in read:
            read[view.reads] = view.read(records)
    return [view.answers(read[view.reads], rng) for view in views]
