"""The form of a new collection: its fields as they are typed, and the options of the command that they stand for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from peos.registry import DEFAULT_SCHEME, MECHANISMS, SCHEMES


@dataclass(frozen=True)
class Field:
    """One field: its option, its words, and its slider if it has one.

    A slider moves along the logarithm of its number, from `least` to `most`; a number beyond them may be typed.
    """

    name: str
    label: str
    hint: str = ""
    value: str = ""
    least: float | None = None
    most: float | None = None
    digits: int = 2  # of what the slider sets
    is_needed: bool = False
    is_long: bool = False
    choices: tuple[str, ...] = ()


GROUPS: Final[tuple[tuple[str, tuple[Field, ...]], ...]] = (
    (
        "Question",
        (
            Field("name", "Name", "Names the collection, its folder and its files.", is_needed=True),
            Field("question", "Question", "As users see it.", is_needed=True),
            Field("labels", "Answers", "One a line, in order. Without any, give their number below.", is_long=True),
            Field("domain", "Number of answers", "If they have no labels: whole numbers from 0."),
            Field("epoch", "Epoch", "Sets repetitions of a question apart; a user answers once an epoch."),
            Field("population", "Population", "Each has its own budget. Empty: everybody."),
        ),
    ),
    (
        "Privacy and users",
        (
            Field("users", "Users", "Honest users expected.", "20000", 100, 10_000_000, 2, is_needed=True),
            Field("delta", "δ", "The probability with which a guarantee may fail.", "1e-6", is_needed=True),
            Field("eps_server", "ε_c at most", "Against the analyzer, alone or with few shufflers.", "0.5", 0.01, 4),
            Field(
                "eps_users", "ε_s at most", "Against the analyzer with all other users. Empty: no limit.", "", 0.05, 8
            ),
            Field("eps_local", "ε_l at most", "If everyone else colludes. Empty: no limit of yours.", "", 0.1, 12),
            Field("minimum", "Minimum", "Fewer users' reports are not shuffled. Empty: half of the users."),
        ),
    ),
    (
        "Times",
        (
            Field("closes_in", "Closes in", "Like 90, 2h or 3d.", "3d"),
            Field("shuffle_within", "Then shuffled within", "", "1d"),
            Field("erase_within", "Then erased within", "", "7d"),
        ),
    ),
    (
        "Choices that the plan makes if you leave them",
        (
            Field("mechanism", "Mechanism", "", "auto", choices=("auto", *MECHANISMS)),
            Field("fakes", "Fake reports", "auto, or their number.", "auto"),
            Field("scheme", "Encryption", "", DEFAULT_SCHEME, choices=tuple(SCHEMES)),
        ),
    ),
)
FIELDS: Final = {field.name: field for _, fields in GROUPS for field in fields}
DEFAULTS: Final = {name: field.value for name, field in FIELDS.items()}


def terms(given: Mapping[str, str]) -> dict[str, str | list[str]]:
    """The options of `peos analyzer create` that a form stands for: a field that is left empty is left out."""
    found: dict[str, str | list[str]] = {}
    for name in FIELDS:
        typed = given.get(name, "").strip()
        if not typed:
            continue
        found[name] = [line.strip() for line in typed.splitlines() if line.strip()] if name == "labels" else typed
    return found
