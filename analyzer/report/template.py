"""What every page of the analyzer has in common: templates that escape, one look, and a policy that allows no more.

The environment escapes every value that a template shows, whatever it is and wherever it comes from, and replaces
characters that no page may hold. Nothing joins strings of HTML.
"""

import base64
import hashlib
import unicodedata
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from analyzer.report import formatting
from peos.privacy.guarantees import power, rounded_up

LOOK: Final = "report/page.css"
_CONTROLS: Final = frozenset({"Cc", "Cs"})


def rendered(template: str, **values: Any) -> str:
    """A template by its place below analyzer/, with the look and the policy of a page that stands by itself."""
    look = text_of(LOOK)
    return rendered_part(
        template,
        **values,
        # Only this very style sheet is allowed: a text that got past the escaping could still run or load nothing.
        policy=f"default-src 'none'; style-src '{hash_of(look)}'; base-uri 'none'; form-action 'none'",
        look=Markup(look),  # noqa: S704 - our own file, and the policy has its digest
    )


def rendered_part(template: str, **values: Any) -> str:
    """The same without them: a page with a server, or a part of one."""
    return _environment().get_template(template).render(values)


def hash_of(text: str) -> str:
    """What a policy names a style sheet by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def text_of(name: str) -> str:
    """A file of the analyzer's packages."""
    return files("analyzer").joinpath(name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FunctionLoader(text_of),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    for function in (
        formatting.whole,
        formatting.percentage,
        formatting.size,
        formatting.seconds,
        formatting.moment,
        formatting.cut,
        power,
    ):
        made.filters[function.__name__] = function
    made.filters |= {"rounded_up": rounded_up, "capitalised": formatting.capitalised}
    return made


def _printable(value: object) -> object:
    """A value as the page may hold it, before it is escaped; what is escaped already stays."""
    if isinstance(value, Markup):
        return value
    return "".join("\ufffd" if unicodedata.category(one) in _CONTROLS else one for one in str(value))
