"""The whole page. It carries its own look and no program; its policy forbids the browser to load or send anything."""

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from analyzer.report.chart import drawing
from analyzer.report.promises import limits, promises
from analyzer.report.record import asked, checks, costs, digest
from analyzer.report.values import Selection, left_out, select, table
from analyzer.report.words import moment, percentage, text, whole
from peos.privacy.guarantees import rounded_up
from peos.protocols import protocol_named
from peos.store.folder import write_durably

REPORT: Final = "report.html"
_LONG: Final = 120  # letters of a question that is set smaller


def page(found: Mapping[str, Any]) -> str:
    """The page for a result as result.json holds it."""
    selection = select(found)
    parts = (
        ("What was found", drawing(selection) + left_out(selection) + table(selection)),
        ("What was asked, and who took part", asked(found)),
        ("What is guaranteed to each user", promises(found)),
        ("What is not claimed", limits(selection, protocol_named(found["parameters"]["protocol"]).about)),
        ("What each party spent", costs(found)),
        ("What was checked", checks(found)),
        ("The digest of the collection", digest(found)),
    )
    body = "".join(f"<section><h2>{title}</h2>{content}</section>" for title, content in parts)
    return (
        f"<!doctype html>\n{_head(found)}<body>{_opening(found, selection)}<main>{body}</main><footer><p>Written by "
        "peos from result.json. This page loads nothing, runs nothing and sends "
        "nothing.</p></footer></body></html>\n"
    )


def write_report(path: Path, found: Mapping[str, Any]) -> None:
    """Durably, for its owner alone."""
    write_durably(path, [page(found).encode()])


def _title(found: Mapping[str, Any]) -> str:
    about = found.get("collection") or {}
    return str(about.get("question") or f"A collection of {found['parameters']['domain']:,} values")


def _head(found: Mapping[str, Any]) -> str:
    look = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    allowed = base64.b64encode(hashlib.sha256(look.encode()).digest()).decode()
    # Only this very style sheet is allowed. A label that got past the escaping could still not run or load anything.
    policy = f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"
    return (
        '<html lang="en-GB"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="referrer" content="no-referrer"><meta name="viewport" content="width=device-width, '
        'initial-scale=1">'
        f'<meta name="color-scheme" content="light '
        f'dark"><title>{text(_title(found))}</title><style>{look}</style></head>'
    )


def _opening(found: Mapping[str, Any], selection: Selection) -> str:
    about, title = found.get("collection") or {}, _title(found)
    kind = ' class="long"' if len(title) > _LONG else ""
    epoch = f", epoch {text(about['epoch'])}" if about.get("epoch") else ""
    by = f"Published by {text(about['analyzer'])} on {moment(about['published_at'])}{epoch}." if about else ""
    return (
        f'<header><h1{kind}><bdi>{text(title)}</bdi></h1><p class="soft">Estimated frequencies, learnt '
        f"without anybody seeing who answered what. {by}</p>{_notices(found)}{_tiles(found, selection)}</header>"
    )


def _notices(found: Mapping[str, Any]) -> str:
    said = ""
    if found["truth"] is not None:
        said += '<p class="notice">A demonstration: its users are made up, and so the truth is known and shown.</p>'
    failed = [str(name).replace("_", " ") for name, held in found["checks"].items() if held is False]
    if failed or not found["ok"]:
        what = f": {text(', '.join(failed))}" if failed else ""
        said += f'<p class="notice alarm" role="alert">Not to be relied on. What was checked does not hold{what}.</p>'
    return said


def _tiles(found: Mapping[str, Any], selection: Selection) -> str:
    claims = found["guarantees"]["server"]
    least = min(
        value for value in (claims["theorem"], claims["exact"], found["guarantees"]["local"]) if value is not None
    )
    tiles = {
        "users counted": whole(found["users"]),
        f"of {whole(selection.domain)} values found": whole(selection.found),
        "percentage points, the typical standard error": f"± {percentage(selection.typical_error, selection.places)}",
        "ε against the analyzer, alone or with few shufflers, if the other users are honest": rounded_up(least),
    }
    rows = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in tiles.items())
    return f'<dl class="tiles">{rows}</dl>'
