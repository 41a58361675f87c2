"""The whole page. It carries its own look and no program; its policy forbids the browser to load or send anything.

report.html is the page's text (`analyzer.report.template` escapes every value in it).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from analyzer.report import facts, formatting, guarantees, template
from analyzer.report.chart import drawing
from analyzer.report.epochs import comparison
from analyzer.report.tables import tables
from analyzer.report.values import select
from peos.estimate.post_processing import OF_THE_RAW
from peos.protocols import protocol_named
from peos.store.private_files import write_durably

REPORT: Final = "report.html"


def page(found: Mapping[str, Any]) -> str:
    """The page for a result as result.json holds it."""
    selection = select(found)
    about = found.get("collection") or {}
    return template.rendered(
        f"report/{REPORT}",
        found={"deviation": None, **found},
        about=about,
        title=str(about.get("question") or f"A collection of {found['parameters']['domain']:,} values"),
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
        comparison=comparison(found, selection),
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


def write_report(path: Path, found: Mapping[str, Any]) -> None:
    """Durably, for its owner alone."""
    write_durably(path, [page(found).encode()])
