"""A statement as a page to print, and as lines for a terminal."""

from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Final

from analyzer.report.template import rendered
from analyzer.statement.contents import Statement
from peos.collection.cards import plain_text
from peos.collection.document import utc
from peos.privacy.guarantees import power, rounded_up
from peos.store.private_files import write_durably

_WIDTH: Final = 100
_INDENT: Final = "  "


def page(shown: Statement) -> str:
    """The page."""
    return rendered("statement/statement.html", shown=shown, written=utc(shown.written_at))


def write_statement(path: Path, shown: Statement) -> None:
    """Durably, for its owner alone."""
    write_durably(path, [page(shown).encode()])


def lines(shown: Statement) -> Iterator[str]:
    """For a terminal: the same, section by section."""
    yield f"Privacy statement of the {shown.kind} {shown.name}, {utc(shown.written_at)}"
    yield from _section("What is asked", [f"{what}: {said}" for what, said in shown.facts.items()])
    yield from _section(
        "Who sees what", [f"{one.party} sees {one.sees}; it does not see {one.unseen}." for one in shown.sights]
    )
    for held in shown.guarantees:
        said = [
            f"{card.name} = {rounded_up(card.epsilon)}, δ = {power(card.delta)}. {card.against}: of two answers that "
            f"they hold equally likely, they name the right one in at most {card.guess} of 100 cases. "
            f"{card.assumes}".strip()
            for card in held.cards
        ]
        yield from _section(f"What is guaranteed to each user. {held.of}", [*said, *held.further])
    yield from _section("What is assumed", shown.assumed)
    yield from _section(
        "What is kept, where, and until when", [f"{one.what}: {one.where}; until {one.until}." for one in shown.kept]
    )
    yield from _section("What is spent", shown.spent)
    said = [
        "; ".join(
            [f"{one.party}: identity {one.identity}"]
            + [f"certificate for {port} {digest}" for port, digest in one.certificates.items()]
        )
        for one in shown.fingerprints
    ]
    yield from _section("The organisations' fingerprints", said)


def _section(heading: str, paragraphs: "tuple[str, ...] | list[str]") -> Iterator[str]:
    yield ""
    yield from wrap(heading, _WIDTH)
    for paragraph in paragraphs:
        yield from wrap(
            _printed(paragraph), _WIDTH, initial_indent=_INDENT, subsequent_indent=2 * _INDENT, break_on_hyphens=False
        )


def _printed(text: str) -> str:
    """Whatever stands in it: one line that commands no terminal."""
    return " ".join(plain_text(word) for word in text.split())
