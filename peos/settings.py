"""One reader for every TOML configuration: settings known by name and kind, and one sentence for whatever is wrong.

A configuration is a dataclass whose fields are settings, each named once:

    @dataclass(frozen=True, kw_only=True)
    class Config(File):
        name: str = setting("name", NAME)
        peers: str = setting("listen.peers", ADDRESS)

    load(path, Config)

A key that is no setting is refused with the nearest that is, and each value is checked. Every sentence names the file
and the key, and shows what was written there: nothing secret stands in a configuration, only where secrets are kept.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from peos import typed
from peos.errors import WrongInput, in_words

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
F = TypeVar("F", bound="File")
_KEYS: Final = "keys"
_MAKE: Final = "make"
TEXT_LIMIT: Final = 200
_SHOWN: Final = 60  # characters of a wrong value
_ONLY_OF: Final = {
    "a shuffler": {"policy.analyzers", "listen.users"},
    "a user's client": {"most_eps_local"},
    "an analyzer": {"listen.peers", "shufflers"},
}
_ORIGIN: Final = re.compile(r"https://[a-z0-9.-]+(:[0-9]{1,5})?|http://(localhost|127\.0\.0\.1)(:[0-9]{1,5})?")
_NOT_GIVEN: Final[Any] = object()


@dataclass(frozen=True)
class Kind(Generic[T_co]):
    """What a value must be, in words, and how to take it: `take` raises ValueError or TypeError if it is not that."""

    words: str
    take: Callable[[Any], T_co]
    are_paths: bool = False  # relative to the file's own folder
    metavar: str = ""  # of the option


@dataclass(frozen=True)
class Key(Generic[T_co]):
    """A setting: its name with its table, its kind, and the value that it has if it is left out."""

    name: str
    kind: Kind[T_co]
    default: T_co = _NOT_GIVEN
    about: str = ""
    choices: str = ""

    @property
    def required(self) -> bool:
        """Whether a configuration without it is refused."""
        return self.default is _NOT_GIVEN


@dataclass(frozen=True)
class Settings:
    """The values of a file by their keys."""

    path: Path
    values: Mapping[str, Any]

    def __getitem__(self, key: Key[T]) -> T:
        found: T = self.values[key.name]
        return found

    def beside(self, relative: str) -> Path:
        """A path as the file means it: relative to its own folder."""
        return self.path.parent / relative

    def resolved(self, key: Key[Any]) -> Any:
        """A value, as a path if it is one; several as a tuple."""
        value = self[key]
        if not key.kind.are_paths or value is None:
            return value
        return self.beside(value) if isinstance(value, str) else tuple(map(self.beside, value))


def read(path: Path | None, keys: Iterable[Key[Any]], options: Mapping[str, Any] | None = None) -> Settings:
    """The configuration in a file; WrongInput says what is wrong with it, and where.

    `options` of a command line take the place of what the file says, or are all that there is.
    """
    known = {key.name: key for key in keys}
    given = {} if path is None else dict(_flat(path, _content(path), known))
    if role := _role_of(given.keys() - known.keys()):
        raise WrongInput(
            "config.other_role", f"{path} is the configuration of {role}", hint="name the one of this command's role"
        )
    for name in given:
        if name not in known:
            raise WrongInput(
                "config.unknown_key", f"{name} is not a setting", hint=_nearest(name, known), where=str(path)
            )
    where = {name: f"{path}: {name}" for name in given}
    for name, value in (options or {}).items():
        given[name], where[name] = value, option_of(name)
    for name, key in known.items():
        if key.required and name not in given:
            missing = option_of(name) if path is None else f"{path}: {name}"
            raise WrongInput("config.missing_key", f"{missing} is missing", hint=f"it is {key.kind.words}")
    values = {
        name: _taken(where[name], key, given[name]) if name in given else key.default for name, key in known.items()
    }
    return Settings(path or Path(), values)


def option_of(name: str) -> str:
    """A setting as an option of a command line."""
    return f"--{name.replace('_', '-')}"


@dataclass(frozen=True, kw_only=True)
class File:
    """A configuration, and where it was read."""

    path: Path = Path()


def setting(name: str, kind: Kind[T], default: Any = _NOT_GIVEN, *, about: str = "", choices: str = "") -> Any:
    """A field that `load` fills from the key of that name; without a default the key is required.

    `about` and `choices` are for a command that has an option of the same name (peos.cli.options).
    """
    return _field((Key(name, kind, default, about, choices),), None, default)


def group(keys: tuple[Key[Any], ...], make: Callable[[Settings], Any], default: Any) -> Any:
    """A field that `load` makes of several keys together."""
    return _field(keys, make, default)


def require(made: File) -> None:
    """Hold what was made in Python to what a file or an option would be held to; defaults are right as they are."""
    for one in fields(made):
        for key in one.metadata.get(_KEYS, ()):
            value = getattr(made, one.name)
            if key.required or value != key.default:
                _taken(one.name, key, list(value) if isinstance(value, tuple) else value)


def _field(keys: tuple[Key[Any], ...], make: Callable[[Settings], Any] | None, default: Any) -> Any:
    found = {_KEYS: keys, _MAKE: make}
    return field(metadata=found) if default is _NOT_GIVEN else field(default=default, metadata=found)


def keys_of(kind: type[File]) -> tuple[Key[Any], ...]:
    """Every key of a configuration."""
    return tuple(key for one in fields(kind) for key in one.metadata.get(_KEYS, ()))


def load(path: Path | None, kind: type[F], options: Mapping[str, Any] | None = None) -> F:
    """The configuration in a file, or in options, or in both; WrongInput says what is wrong with it, and where."""
    found = read(path, keys_of(kind), options)
    given: dict[str, Any] = {}
    for one in fields(kind):
        if _KEYS in one.metadata:
            make = one.metadata[_MAKE]
            given[one.name] = make(found) if make else found.resolved(one.metadata[_KEYS][0])
    return kind(path=found.path, **given)


def _content(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise WrongInput(
            "config.unreadable",
            f"the configuration {path} cannot be read: {in_words(error)}",
            hint="name a file that you may read",
        ) from None
    except UnicodeDecodeError:
        raise WrongInput(
            "config.not_toml", f"{path} is not TOML: it is not UTF-8 text", hint="save it as UTF-8"
        ) from None
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, a number without end, or tables without end
        words = str(error)
        raise WrongInput(
            "config.not_toml",
            f"{path} is not TOML: {words[:1].lower()}{words[1:]}",
            hint='texts stand in quotes: key = "value"',
        ) from None


def _flat(path: Path, content: Mapping[str, Any], known: Iterable[str]) -> Iterable[tuple[str, Any]]:
    """The settings by their names with their tables; a table that is none is a setting that does not exist."""
    tables = {name.partition(".")[0] for name in known if "." in name}
    for name, value in content.items():
        if name not in tables:
            yield name, value
        elif isinstance(value, dict):
            yield from ((f"{name}.{key}", one) for key, one in value.items())
        else:
            raise WrongInput(
                "config.not_table",
                f"{name} must be a table",
                hint=f"write [{name}], and its settings below",
                where=str(path),
            )


def _role_of(unknown: Set[str]) -> str:
    """Whose configuration it is, if it is another role's, by settings that only the other has."""
    for role, settings in _ONLY_OF.items():
        if unknown & settings:
            return role
    return ""


def _nearest(name: str, known: Iterable[str]) -> str:
    """Which setting was meant, if one is near: by its whole name, or by its last part in another table."""
    by_last = {one.rpartition(".")[2]: one for one in known}
    near = get_close_matches(name, known, 1, 0.7)
    near = near or [by_last[one] for one in get_close_matches(name.rpartition(".")[2], by_last, 1, 0.7)]
    return f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(known))}"


def _taken(where: str, key: Key[T], value: Any) -> T:
    try:
        return key.kind.take(value)
    except WrongInput as wrong:  # a kind that says more than that it is not fulfilled
        raise WrongInput(wrong.id, str(wrong), hint=wrong.hint, where=where) from None
    except (ValueError, TypeError, OverflowError):
        raise WrongInput("config.value", f"{where} must be {key.kind.words}, not {shown(value)}") from None


def shown(value: object) -> str:
    """A value as a file has it, cut if it is long."""
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError


def _text(value: Any) -> str:
    _require(isinstance(value, str) and len(value) >= 1 and value.isprintable())
    return str(value)


def _short(value: Any) -> str:
    _require(len(_text(value)) <= TEXT_LIMIT)
    return str(value)


def _texts(value: Any) -> tuple[str, ...]:
    _require(isinstance(value, list) and len(value) > 0)
    return tuple(map(_text, value))


def _origins(value: Any) -> tuple[str, ...]:
    found = _texts(value)
    _require(all(map(_ORIGIN.fullmatch, found)))
    return found


def _flag(value: Any) -> bool:
    _require(isinstance(value, bool))
    return bool(value)


def _positive(value: Any) -> float:
    _require(isinstance(value, int | float) and not isinstance(value, bool))
    _require(isfinite(float(value)) and value > 0)
    return float(value)


def _address(value: Any) -> str:
    host, _, port = _text(value).rpartition(":")
    _require(bool(host) and port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16)
    return str(value)


def _prose(value: Any) -> str:
    _require(isinstance(value, str) and len(value) >= 1)
    return str(value)


def _table(value: Any) -> Mapping[str, Any]:
    _require(isinstance(value, dict) and len(value) > 0)
    return dict(value)


TEXT: Final = Kind("a text", _text)
PROSE: Final = Kind("a text", _prose)  # what people write, whatever is in it
NAME: Final = Kind(f"a text of 1 to {TEXT_LIMIT} printable characters", _short)
TEXTS: Final = Kind("a list of at least one text", _texts)
ORIGINS: Final = Kind('a list of origins such as "https://app.example"', _origins)  # of pages
PATH: Final = Kind("a text", _text, are_paths=True)
PATHS: Final = Kind("a list of at least one text", _texts, are_paths=True)
TABLE: Final = Kind("a table", _table)  # whose names another says
FLAG: Final = Kind("true or false", _flag)
POSITIVE: Final = Kind("a number above zero", _positive, metavar="X")
ADDRESS: Final = Kind("host:port with a port from 1 to 65535", _address)


def count(least: int, most: int | None = None) -> Kind[int]:
    """Whole numbers from `least` on, and at most `most`."""

    def take(value: Any) -> int:
        _require(isinstance(value, int) and not isinstance(value, bool) and value >= least)
        _require(most is None or value <= most)
        return int(value)

    words = f"a whole number of at least {least}" if most is None else f"a whole number from {least} to {most}"
    return Kind(words, take, metavar="N")


def duration(least: float, most: float | None = None) -> Kind[float]:
    """Seconds, as a number or as people write them."""
    return _measured(typed.seconds, least, most, 'seconds, or a text like "2h"')


def whole_seconds(least: int, most: int) -> Kind[int]:
    """The same in whole seconds."""
    kind = duration(least, most)

    def take(value: Any) -> int:
        found = kind.take(value)
        _require(found == int(found))
        return int(found)

    return Kind(kind.words, take, metavar=kind.metavar)


def megabytes(least: int) -> Kind[float]:
    """A size in megabytes, as a number or as people write it."""
    return replace(_measured(typed.megabytes, least, None, 'megabytes, or a text like "2 GB"'), metavar="SIZE")


def _measured(read: Callable[[str], float], least: float, most: float | None, unit: str) -> Kind[float]:
    def take(value: Any) -> float:
        found = read(value) if isinstance(value, str) else value
        _require(isinstance(found, int | float) and not isinstance(found, bool) and isfinite(found))
        _require(found >= least and (most is None or found <= most))
        return float(found)

    within = f"of at least {least:g}" if most is None else f"from {least:g} to {most:.10g}"
    return Kind(f"a number {within} {unit}", take, metavar="TIME")


def one_of(*words: str) -> Kind[str]:
    """One of a few words."""

    def take(value: Any) -> str:
        _require(isinstance(value, str) and value in words)
        return str(value)

    return Kind(" or ".join(f'"{word}"' for word in words), take)


def some_of(*words: str) -> Kind[tuple[str, ...]]:
    """At least one of a few words, each once."""

    def take(value: Any) -> tuple[str, ...]:
        found = _texts(value)
        _require(set(found) <= set(words) and len(set(found)) == len(found))
        return found

    quoted = " and ".join(f'"{word}"' for word in words)
    return Kind(f"a list of {quoted}, or of one of them", take)
