"""The whole page. It carries its own look and no program; its policy forbids the browser to load or send anything.

report.html is the page's text; the environment escapes every value that it shows, whatever it is and wherever it
comes from, and replaces characters that no page may hold. Nothing here joins strings of HTML.
"""

import base64
import hashlib
import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from analyzer.report import facts, formatting, guarantees
from analyzer.report.chart import drawing
from analyzer.report.tables import tables
from analyzer.report.values import select
from peos.estimate.post_processing import OF_THE_RAW
from peos.privacy.guarantees import rounded_up
from peos.protocols import protocol_named
from peos.store.private_files import write_durably

REPORT: Final = "report.html"
_LOOK: Final = "page.css"
_CONTROLS: Final = frozenset({"Cc", "Cs"})


def page(found: Mapping[str, Any]) -> str:
    """The page for a result as result.json holds it."""
    selection = select(found)
    look = _file(_LOOK)
    allowed = base64.b64encode(hashlib.sha256(look.encode()).digest()).decode()
    about = found.get("collection") or {}
    return (
        _environment()
        .get_template(REPORT)
        .render(
            found={"deviation": None, **found},
            about=about,
            title=str(about.get("question") or f"A collection of {found['parameters']['domain']:,} values"),
            # Only this very style sheet is allowed: a text that got past the escaping could still run or load nothing.
            policy=f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'",
            look=Markup(look),  # noqa: S704 - our own file, and the policy has its digest
            selection=selection,
            headline=selection.headline,
            more=bool(selection.found and selection.found > len(selection.headline)),
            drawing=drawing(selection),
            certain=formatting.CERTAIN,
            processed=facts.processed(found),
            of_the_raw=OF_THE_RAW,
            failed=[str(name).replace("_", " ") for name, held in found["checks"].items() if held is False],
            facts=facts.facts(found),
            rounds=facts.rounds(found),
            tables=tables(found),
            tested=found.get("tested") if found.get("task") else None,
            unfinished="" if found.get("complete", True) else str(found.get("reason", "")),
            costs=facts.costs(found),
            checks=facts.checks(found),
            inspected=facts.inspected(found),
            cards=guarantees.cards(found),
            claims=guarantees.claims(found),
            further=guarantees.further(found),
            together=guarantees.together(found),
            shuffling=protocol_named(found["parameters"]["protocol"]).about,
        )
    )


def write_report(path: Path, found: Mapping[str, Any]) -> None:
    """Durably, for its owner alone."""
    write_durably(path, [page(found).encode()])


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FunctionLoader(_file),
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
        formatting.power,
    ):
        made.filters[function.__name__] = function
    made.filters |= {"rounded_up": rounded_up, "capitalised": formatting.capitalised}
    return made


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _printable(value: object) -> object:
    """A value as the page may hold it, before it is escaped; what is escaped already stays."""
    if isinstance(value, Markup):
        return value
    return "".join("\ufffd" if unicodedata.category(one) in _CONTROLS else one for one in str(value))
