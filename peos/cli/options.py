"""Options that commands share: numbers as people write them, and those made of the settings of a configuration."""

import inspect
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args, get_origin, get_type_hints

import typer

from peos import typed
from peos.errors import LocalFault, WrongInput, in_words
from peos.registry import POST_PROCESSING
from peos.settings import File, keys_of, option_of

if TYPE_CHECKING:
    from peos.tasks.kinds import Option, TaskKind

POST_PROCESS: Final = (
    f"Method of post-processing, shown next to the raw estimates: {POST_PROCESSING.choices}; auto simulates them all, "
    "for the GOAL values, top:K or sets:SHARE [default: none; of auto: values]"
)
"""Help for --post-process."""

Log = Annotated[
    Path | None,
    typer.Option(metavar="FILE|json", help="Log file, opened anew at SIGHUP; json writes to stdout [default: stderr]"),
]
"""The option for where a party that serves writes its log."""

_METAVARS: Final = {Path: "FILE", int: "N", float: "X"}
_READ: Final[dict[Any, Callable[[str], Any]]] = {int: typed.whole, float: typed.real}


def whole(name: str, *, least: int | None = None, most: int | None = None, **more: Any) -> Any:
    """An option for a whole number, which may be written 1e3 or 100,000."""
    within = f" of at least {least}" * (least is not None) if most is None else f" from {least} to {most}"

    def fits(found: int) -> bool:
        return (least is None or found >= least) and (most is None or found <= most)

    return _typed(name, typed.whole, f"a whole number{within}", fits, metavar="N", **more)


def real(name: str, **more: Any) -> Any:
    """An option for a number."""
    return _typed(name, typed.real, "a number", lambda _: True, metavar="X", **more)


def seconds(name: str, **more: Any) -> Any:
    """An option for a duration, in seconds or with its unit."""
    words = "a duration from 0, like 90, 2h or 3d"
    return _typed(name, typed.seconds, words, lambda found: found >= 0, metavar="TIME", **more)


def _typed(name: str, read: Callable[[str], Any], words: str, fits: Callable[[Any], bool], **more: Any) -> Any:
    def parse(text: Any) -> Any:
        if not isinstance(text, str):
            return text  # the default
        try:
            found = read(text)
        except ValueError:
            found = None
        if found is None or not fits(found):
            raise WrongInput("input.number", f"{name} must be {words}, not {text[:60]!r}")
        return found

    return typer.Option(name, parser=parse, **more)


def config(file: str) -> Any:
    """The option for a role's configuration."""
    return typer.Option("--config", envvar="PEOS_CONFIG", help=f"Path of {file}.", show_envvar=True, metavar="FILE")


def examples(*lines: str) -> str:
    """How a command is called, for the end of its help."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


def with_settings(kind: type[File]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each setting of `kind`; it gets those that were given as keyword arguments."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [one for one in inspect.signature(command).parameters.values() if one.kind is not one.VAR_KEYWORD]
        names = {one.name for one in own}

        def call(**given: Any) -> None:
            mine = {name: given.pop(name) for name in list(given) if name in names}
            left = {name: value for name, value in given.items() if value not in (None, [])}
            command(**mine, **typed_settings(kind, left))

        options = _parameters(kind)
        call.__doc__, call.__name__ = command.__doc__, command.__name__
        call.__signature__ = inspect.Signature([*_keywords(own), *options])  # type: ignore[attr-defined] # functions take it
        call.__annotations__ = {one.name: one.annotation for one in (*own, *options)}
        return call

    return decorate


def typed_settings(kind: type[File], given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they are typed, at a command line or in a form, with its numbers read."""
    numbers = _numbers(kind)
    return {name: _number(value, numbers.get(name)) for name, value in given.items()}


def with_task_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each that any task has; it gets them together as `options`, if any was given."""
    from peos.tasks.kinds import every_option

    known = every_option()
    own = list(inspect.signature(command).parameters.values())
    taken = {one.name for one in own}

    def call(**given: Any) -> None:
        asked = {name: given.pop(f"task_{name}") for name in known}
        options = {name: _read(known[name][0][1], value) for name, value in asked.items() if value is not None}
        command(**given, **({"options": options} if options else {}))

    made = [_task_parameter(name, of, taken) for name, of in known.items()]
    call.__doc__, call.__name__ = command.__doc__, command.__name__
    call.__signature__ = inspect.Signature([*_keywords(own), *made])  # type: ignore[attr-defined] # functions take it
    call.__annotations__ = {one.name: one.annotation for one in (*own, *made)}
    return call


def task_options(kind: "TaskKind", given: Sequence[str]) -> dict[str, Any]:
    """A task's options as they are typed: --name value, each of a kind that a command line can hold."""
    known = {option.name.replace("_", "-"): option for option in kind.options}
    made: dict[str, Any] = {}
    words = iter([part for word in given for part in (word.split("=", 1) if word.startswith("--") else [word])])
    for word in words:
        option = known.get(word.removeprefix("--")) if word.startswith("--") else None
        if option is None:
            listed = ", ".join(f"--{name}" for name in known)
            raise WrongInput("task.unknown_option", f"{kind.name} has no option {word[:80]}", hint=f"it has {listed}")
        value = next(words, None)
        if value is None:
            raise WrongInput("task.option", f"--{option.name} needs a value", hint=option.about)
        try:
            made[option.name] = option.takes(value) if option.takes in (int, float) else _read(option, value)
        except ValueError:
            made[option.name] = option.checked(value)  # says what it should have been
    return made


def require_no_more(context: typer.Context) -> None:
    """Refuse what no option of a command takes, where a task's options might have followed."""
    if context.args:
        known = [name for parameter in context.command.params for name in parameter.opts]
        near = get_close_matches(context.args[0], known, 1)
        hint = f"is it {near[0]}?" if near else f"see peos {context.command.name} --help"
        raise WrongInput("input.command", f"there is no option {context.args[0]}", hint=hint)


def _task_parameter(name: str, of: "list[tuple[str, Option]]", taken: set[str]) -> inspect.Parameter:
    """`--name` of the tasks that have it; a list and a table are files."""
    option = of[0][1]
    if name in taken:
        raise LocalFault("task.option_taken", f"every study has an option {name}; a task's needs another name")
    is_file = option.takes in (list, dict)
    kind: Any = Path if is_file else option.takes
    where = " TOML file." if option.takes is dict else " File of a text a line." if is_file else ""
    default = "" if option.is_needed or option.default is None else f" [default: {option.default}]"
    tasks = ", ".join(task for task, _ in of)
    about = f"{option.about}{where} Of {tasks}.{default}"
    shown = typer.Option(option_of(name), help=about, show_default=False, metavar=_METAVARS.get(kind, "TEXT"))
    annotation = Annotated[kind | None, shown]
    return inspect.Parameter(f"task_{name}", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _read(option: "Option", value: Any) -> Any:
    """What a file holds, where an option is one."""
    if option.takes not in (list, dict):
        return value
    try:
        text = Path(value).read_text(encoding="utf-8")
        return text.splitlines() if option.takes is list else tomllib.loads(text)
    except OSError as error:
        raise WrongInput(
            "input.unreadable",
            f"{value} cannot be read: {in_words(error)}",
            hint="name a text file",
            where=option_of(option.name),
        ) from None
    except ValueError as error:  # neither UTF-8 nor TOML
        raise WrongInput(
            "input.not_text", f"{value} is not what {option_of(option.name)} takes: {error}", hint="save it as UTF-8"
        ) from None


def _keywords(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    return [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]


def _parameters(kind: type[File]) -> list[inspect.Parameter]:
    hints, keys = get_type_hints(kind), {key.name: key for key in keys_of(kind)}
    made = []
    for field in fields(kind):
        key = keys.get(field.name)
        if key is None or not key.about:
            continue
        plain: Any = _plain(hints[field.name])
        name = option_of(field.name).removesuffix("s" if get_origin(plain) is list else "")  # one is given at a time
        shown = typed.duration(key.default) if key.kind.metavar == "TIME" and key.default else key.default
        default = "" if key.required or not key.default else f" [default: {shown}]"
        metavar = key.choices or key.kind.metavar or "TEXT"
        option = typer.Option(name, help=key.about + default, metavar=metavar, show_default=False)
        taken: Any = str if plain in _READ else plain
        annotation = Annotated[taken | None, option]
        made.append(inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation))
    return made


def _numbers(kind: type[File]) -> dict[str, Callable[[str], Any]]:
    """How the settings that are numbers are read from a command line."""
    hints = {name: _plain(hint) for name, hint in get_type_hints(kind).items()}
    return {name: _READ[hint] for name, hint in hints.items() if hint in _READ}


def _number(value: Any, read: Callable[[str], Any] | None) -> Any:
    """What was typed as a number; what is none stays, and is refused with the setting's own words."""
    try:
        return read(value) if read is not None and isinstance(value, str) else value
    except ValueError:
        return value


def _plain(hint: Any) -> Any:
    """A type as a command line takes it: without None, and a list for a tuple."""
    some = [one for one in get_args(hint) if one is not type(None)]
    if get_origin(hint) is tuple:
        return list[some[0]]  # type: ignore[valid-type] # a type made while running
    return some[0] if some else hint
