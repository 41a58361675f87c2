"""The answers by name: what a document says each value means, and which value a user's words stand for."""

from collections.abc import Sequence
from typing import Final

from peos.errors import WrongInput

LABEL_LIMIT: Final = 200  # characters
LABELS_LIMIT: Final = 1 << 16  # bytes of all labels: every user fetches the document from every shuffler
_SHOWN: Final = 12  # labels in a sentence


def require_labels(labels: Sequence[str], domain: int) -> None:
    """Refuse labels that do not name every value once; no labels at all are fine."""
    if not labels:
        return
    if len(labels) != domain:
        raise WrongInput(
            "document.labels",
            f"there are {len(labels)} labels for {domain} values",
            hint="give one label to each value",
        )
    for label in labels:
        if not (1 <= len(label) <= LABEL_LIMIT and label.isprintable() and label == label.strip()):
            raise WrongInput(
                "document.labels",
                f"{label[:LABEL_LIMIT]!r} cannot be a label",
                hint=f"a label has 1 to {LABEL_LIMIT} printable characters, without blanks around it",
            )
    if len(set(labels)) < len(labels):
        twice = next(label for at, label in enumerate(labels) if label in labels[:at])
        raise WrongInput("document.labels", f"two values have the label {twice!r}", hint="give each one of its own")
    if sum(len(label.encode()) for label in labels) > LABELS_LIMIT:
        raise WrongInput(
            "document.labels", f"the labels have more than {LABELS_LIMIT:,} bytes together", hint="shorten them"
        )


def is_text(record: object) -> bool:
    """Whether a record is a text; half a surrogate pair, which JSON may state, is in none."""
    if not isinstance(record, str):
        return False
    return record.isascii() or not any("\ud800" <= character <= "\udfff" for character in record)


def value_of(text: str, labels: Sequence[str], domain: int) -> int | None:
    """The value that a user's words stand for: a label, or its number; None if they are neither.

    Where a label is itself a number, numbers are labels and nothing else: "2" must not mean the third answer to one
    user and the answer "2" to another.
    """
    words = text.strip()
    if words in labels:
        return labels.index(words)
    if any(_is_number(label) for label in labels) or not _is_number(words):
        return None
    return value if (value := int(words)) < domain else None


def expected(labels: Sequence[str], domain: int) -> str:
    """The accepted answers, in words."""
    if not labels:
        return f"a whole number from 0 to {domain - 1}"
    named = ", ".join(labels[:_SHOWN]) + (f" and {len(labels) - _SHOWN} more" if len(labels) > _SHOWN else "")
    return f"one of {named}"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18
