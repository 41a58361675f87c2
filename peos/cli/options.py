"""Options of a command made of the settings of a configuration, so that neither is written twice."""

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

import typer

from peos.registry import POST_PROCESSING
from peos.settings import File, keys_of, option_of

POST_PROCESS: Final = (
    f"Method of post-processing, shown next to the raw estimates: {POST_PROCESSING.choices}; auto simulates them all, "
    "for the GOAL values, top:K or sets:SHARE [default: none; of auto: values]"
)
"""Help for --post-process."""


def with_settings(kind: type[File]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each setting of `kind`; it gets those that were given as keyword arguments."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [one for one in inspect.signature(command).parameters.values() if one.kind is not one.VAR_KEYWORD]
        names = {one.name for one in own}

        def call(**given: Any) -> None:
            mine = {name: given.pop(name) for name in list(given) if name in names}
            command(**mine, **{name: value for name, value in given.items() if value not in (None, [])})

        options = _parameters(kind)
        call.__doc__, call.__name__ = command.__doc__, command.__name__
        call.__signature__ = inspect.Signature([*_keywords(own), *options])  # type: ignore[attr-defined] # functions take it
        call.__annotations__ = {one.name: one.annotation for one in (*own, *options)}
        return call

    return decorate


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
        default = "" if key.required or not key.default else f" [default: {key.default}]"
        option = typer.Option(name, help=key.about + default, metavar=key.choices or None, show_default=False)
        annotation = Annotated[plain | None, option]
        made.append(inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation))
    return made


def _plain(hint: Any) -> Any:
    """A type as a command line takes it: without None, and a list for a tuple."""
    some = [one for one in get_args(hint) if one is not type(None)]
    if get_origin(hint) is tuple:
        return list[some[0]]  # type: ignore[valid-type] # a type made while running
    return some[0] if some else hint
