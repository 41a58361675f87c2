"""What a collection is created from: one typed value, each of its fields named once, with one set of checks.

It is read from a file (`peos analyzer create --spec pets.toml`), from options, from both, or made in Python:

    CollectionSpec(name="pets", question="Who lives with you?", labels=("nobody", "a dog", "a cat"),
                   users=20_000, delta=1e-6, eps_server=0.5)
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from peos.collection.labels import require_labels
from peos.errors import WrongInput
from peos.registry import DEFAULT_PROTOCOL, DEFAULT_SCHEME, LOCAL_ONLY, MECHANISMS, PROTOCOLS, SCHEMES, Registry
from peos.settings import POSITIVE, PROSE, TEXTS, File, Kind, count, one_of, require, setting

if TYPE_CHECKING:
    from peos.privacy import Plan

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
_SECONDS: Final = count(1, _MOST_SECONDS)
_ACCOUNTINGS: Final = ("exact", "theorem")


@dataclass(frozen=True, kw_only=True)
class CollectionSpec(File):
    """A collection as an analyst asks for it. The same one again continues; another of the same name is refused."""

    name: str = setting("name", _NAMED, about="Name of the collection, its folder and its files.")
    question: str = setting("question", PROSE, about="Question, as users see it.")
    labels: tuple[str, ...] = setting("labels", TEXTS, (), about="Answer; repeat it for each, in order.")
    domain: int = setting("domain", count(2), 0, about="Number of answers, where they have no labels.")
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
    mechanism: str = setting(
        "mechanism",
        _of(MECHANISMS, "auto", refuse=_local_only),
        "auto",
        about="Local mechanism.",
        choices=f"auto|{MECHANISMS.choices}",
    )
    d_prime: int | None = setting("d_prime", count(2), None, about="Number of hash values, of local hashing.")
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
    closes_in: int = setting("closes_in", _SECONDS, 3600, about="Seconds until the collection closes.")
    shuffle_within: int = setting(
        "shuffle_within", _SECONDS, 86_400, about="Seconds from closing to the shuffle's deadline."
    )
    erase_within: int = setting(
        "erase_within", _SECONDS, 604_800, about="Seconds from that deadline until everything is erased."
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

    @property
    def least(self) -> int:
        """The fewest reports that are shuffled: so many are sure to hide each other, and no more."""
        return self.minimum if self.minimum is not None else max(1, self.users // 2)

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

    def encode(self) -> str:
        """What was asked, for comparison: what is left out and what is given as the default are the same."""
        given = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "path"}
        defaults = {one.name: one.default for one in fields(self)}
        return json.dumps({name: value for name, value in given.items() if value != defaults[name]}, sort_keys=True)

    def to_toml(self) -> str:
        """The file that it could have been read from."""
        given = json.loads(self.encode())
        if self.labels:
            del given["domain"]
        return "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in given.items())
