"""What a collection is created from: one typed value, each of its fields named once, with one set of checks.

It is read from a file (`peos analyzer create --spec pets.toml`), from options, from both, or made in Python:

    CollectionSpec(name="pets", question="Who lives with you?", labels=("nobody", "a dog", "a cat"),
                   users=20_000, delta=1e-6, eps_server=0.5)
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from peos.errors import WrongInput
from peos.registry import DEFAULT_PROTOCOL, DEFAULT_SCHEME, LOCAL_ONLY, MECHANISMS, PROTOCOLS, SCHEMES, TASKS, Registry
from peos.settings import POSITIVE, PROSE, TABLE, TEXTS, File, Kind, count, one_of, require, setting, whole_seconds
from peos.tasks.labels import require_labels

if TYPE_CHECKING:
    from peos.privacy import Plan
    from peos.tasks.base import Task

EVERYBODY: Final = ""
"""The population of a collection that names none."""

_MOST_SECONDS: Final = 10 * 365 * 86_400
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def require_name(name: str) -> str:
    """A collection's name, which is also the name of a folder and of files."""
    if not _NAME.fullmatch(name):
        raise WrongInput(
            "input.name",
            f"{name[:80]!r} cannot name a collection",
            hint="up to 64 letters, digits, points, hyphens and underscores",
        )
    return name


def _fakes(value: Any) -> str:
    if value == "auto" or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    return str(int(value)) if isinstance(value, str) and value.isascii() and value.isdigit() else _no()


def _no() -> Any:
    raise ValueError


def _of(registry: Registry[Any], *also: str, refuse: Callable[[str], None] | None = None) -> Kind[str]:
    """A name of the registry as it is when it is asked: a line may be added to it."""

    def take(value: Any) -> str:
        if refuse is not None and isinstance(value, str):
            refuse(value)
        return str(value) if isinstance(value, str) and (value in also or value in registry) else _no()

    return Kind(" or ".join((*also, *registry)), take)


def _local_only(name: str) -> None:
    if name in LOCAL_ONLY:
        from peos.ldp.base import require_collectable  # loads arrays, which a command's --help need not wait for

        require_collectable(name)


_NAMED: Final = Kind("a text", require_name)
_SECONDS: Final = whole_seconds(1, _MOST_SECONDS)
_ACCOUNTINGS: Final = ("exact", "theorem")


def _toml(value: Any) -> str:
    """A JSON value as TOML writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {_toml(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class Terms(File):
    """What a collection and a study have in common. The same again continues; another of the same name is refused."""

    name: str = setting("name", _NAMED, about="Name of the collection, its folder and its files.")
    question: str = setting("question", PROSE, about="Question, as users see it.")
    epoch: str = setting(
        "epoch", PROSE, "", about="Text that sets repetitions of a question apart; a user answers once an epoch."
    )
    population: str = setting(
        "population", PROSE, EVERYBODY, about="Population asked; each has its own budget [default: everyone]"
    )
    users: int = setting("users", count(1), about="Number of honest users expected.")
    minimum: int | None = setting(
        "minimum", count(1), None, about="Minimum number of reports, else abort [default: half of --users]"
    )
    delta: float = setting("delta", POSITIVE, about="Probability with which a guarantee may fail.")
    eps_server: float | None = setting(
        "eps_server", POSITIVE, None, about="Target ε against the analyzer, alone or with few shufflers."
    )
    eps_users: float | None = setting(
        "eps_users", POSITIVE, None, about="Target ε against the analyzer and all other users."
    )
    eps_local: float | None = setting("eps_local", POSITIVE, None, about="Target ε if everyone else colludes.")
    fakes: str = setting(
        "fakes",
        Kind('"auto" or a whole number', _fakes),
        "auto",
        about="Number of fake reports that the shufflers add.",
        choices="auto|K",
    )
    d_prime: int | None = setting("d_prime", count(2), None, about="Number of hash values, of local hashing.")
    scheme: str | None = setting(
        "scheme",
        _of(SCHEMES),
        None,
        about=f"Encryption scheme [default: {DEFAULT_SCHEME}]",
        choices=SCHEMES.choices,
    )
    protocol: str = setting(
        "protocol",
        _of(PROTOCOLS),
        DEFAULT_PROTOCOL,
        about="Shuffle protocol; ss is a baseline that protects less (docs/protocol.md §9).",
        choices=PROTOCOLS.choices,
    )
    closes_in: int = setting("closes_in", _SECONDS, 3600, about="Time until it closes, like 90 (seconds), 2h or 3d.")
    shuffle_within: int = setting(
        "shuffle_within", _SECONDS, 86_400, about="Time from closing to the shuffle's deadline."
    )
    erase_within: int = setting(
        "erase_within", _SECONDS, 604_800, about="Time from that deadline until everything is erased."
    )

    @property
    def least(self) -> int:
        """The fewest reports that are shuffled: so many are sure to hide each other, and no more."""
        return self.minimum if self.minimum is not None else max(1, self.users // 2)

    def encode(self) -> str:
        """What was asked, for comparison: what is left out and what is given as the default are the same.

        Names come in one order, and so do those of a task's options; what an option holds, a schema's attributes say,
        stays in the order in which it was given.
        """
        given = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "path"}
        defaults = {one.name: one.default for one in fields(self)}
        asked = {name: value for name, value in sorted(given.items()) if value != defaults[name]}
        return json.dumps(
            {n: dict(sorted(one.items())) if isinstance(one, Mapping) else one for n, one in asked.items()}
        )

    def to_toml(self) -> str:
        """The file that it could have been read from."""
        given = json.loads(self.encode())
        if given.get("labels"):
            del given["domain"]
        return "".join(f"{name} = {_toml(value)}\n" for name, value in given.items())


@dataclass(frozen=True, kw_only=True)
class CollectionSpec(Terms):
    """A collection as an analyst asks for it."""

    labels: tuple[str, ...] = setting("labels", TEXTS, (), about="Answer; repeat it for each, in order.")
    domain: int = setting("domain", count(2), 0, about="Number of answers, where they have no labels.")
    mechanism: str = setting(
        "mechanism",
        _of(MECHANISMS, "auto", refuse=_local_only),
        "auto",
        about="Local mechanism.",
        choices=f"auto|{MECHANISMS.choices}",
    )
    signs: int | None = setting("signs", count(1), None, about="Number of signs, of Hadamard response.")
    size: int | None = setting("size", count(1), None, about="Number of values in a set, of subset selection.")
    field_bits: int | None = setting(
        "field_bits", count(1), None, about="Number of bits of a field, of unary encoding."
    )
    accounting: str = setting(
        "accounting",
        one_of(*_ACCOUNTINGS),
        _ACCOUNTINGS[0],
        about="How the plan meets its targets: see peos plan.",
        choices="|".join(_ACCOUNTINGS),
    )

    def __post_init__(self) -> None:
        require(self)
        if not self.domain:
            if not self.labels:
                raise WrongInput(
                    "document.labels",
                    "neither the answers nor their number are given",
                    hint="give labels, or a domain of values counted from 0",
                )
            object.__setattr__(self, "domain", len(self.labels))
        require_labels(self.labels, self.domain)

    def plan(self, shufflers: int) -> "Plan":
        """The parameters of least error that keep to every target; Refused if none do."""
        from peos.privacy import plan  # takes a moment to load, which a command's --help need not wait for
        from peos.protocols import protocol_named

        protocol = protocol_named(self.protocol)
        return plan(
            self.users,
            self.domain,
            self.delta,
            eps_server=self.eps_server,
            eps_users=self.eps_users,
            eps_local=self.eps_local,
            fakes=protocol.plans_with(self.fakes, shufflers),
            mechanism=self.mechanism,
            d_prime=self.d_prime,
            signs=self.signs,
            size=self.size,
            field_bits=self.field_bits,
            shufflers=shufflers,
            scheme=protocol.priced_as(protocol.scheme(self.scheme)),
            accounting=self.accounting,
        )


@dataclass(frozen=True, kw_only=True)
class StudySpec(Terms):
    """A study as an analyst asks for it: a task, asked in one collection or in several one after another."""

    question: str = setting("question", PROSE, "", about="Question, as users see it [default: the task's]")
    task: str = setting("task", _of(TASKS), about="What is asked.", choices=TASKS.choices)
    options: Mapping[str, Any] | None = setting("options", TABLE, None)  # of the task

    def __post_init__(self) -> None:
        require(self)
        if self.protocol != DEFAULT_PROTOCOL:
            raise WrongInput(
                "study.protocol",
                f"a study is shuffled by {DEFAULT_PROTOCOL}, not by {self.protocol}",
                hint="leave --protocol out",
            )

    def build(self, shufflers: int) -> "Task":
        """The task, its rounds planned; Refused if the targets cannot be met."""
        from peos.tasks.kinds import kind_of  # takes a moment to load, which a command's --help need not wait for

        return kind_of(self.task).task(
            self.options or {},
            {
                "users": self.users,
                "delta": self.delta,
                "eps_server": self.eps_server,
                "eps_users": self.eps_users,
                "eps_local": self.eps_local,
                "d_prime": self.d_prime,
                "fakes": self.fakes if self.fakes == "auto" else int(self.fakes),
                "shufflers": shufflers,
            },
        )

    def round(self, name: str, users: int, epoch: str, *, number: int = 0) -> Terms:
        """The terms of one round: as the study's, for its share of the users; where there are several, its number."""
        from peos.collection.ticket import question_of_round  # as in `build`
        from peos.tasks.kinds import kind_of

        given = {one.name: getattr(self, one.name) for one in fields(Terms)}
        least = None if self.minimum is None else math.ceil(self.minimum * users / self.users)  # no smaller a share
        asked = self.question or kind_of(self.task).question
        asked = question_of_round(asked, number) if number else asked
        return Terms(**given | {"name": name, "question": asked, "users": users, "minimum": least, "epoch": epoch})
