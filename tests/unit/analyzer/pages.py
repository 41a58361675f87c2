"""Results to make pages of, and pages read back: as elements, and as numbers with the rounding that they state."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any, Final

import numpy as np

from peos.crypto.randomness import Randomness
from peos.ldp import GRR
from peos.privacy import guarantees

FAKES: Final = 2000
_VOID: Final = {"meta", "br", "link", "img", "input", "hr"}


def made(
    domain: int, *, users: int = 5000, truth: bool = False, epsilon: float = 4.0, **changes: Any
) -> dict[str, Any]:
    """What result.json would hold after a collection of `users` users; most values are rare."""
    rng = Randomness(b"\x01" * 32)
    mechanism = GRR(domain, epsilon)
    values = (np.arange(users) ** 2 // users) % domain
    reports = mechanism.randomize(values, rng)
    counts = mechanism.tally(np.concatenate([reports, rng.uint64((FAKES, mechanism.words))]))
    estimate = mechanism.estimate(counts, users=users, fakes=FAKES)
    claims = guarantees(mechanism, users, FAKES, 1e-6, 3)
    found: dict[str, Any] = {
        "schema": 1,
        "ok": True,
        "digest": "ab" * 32,
        "collection": {
            "question": "Which medicine do you take?",
            "epoch": "2024, third quarter",
            "analyzer": "health office",
            "shufflers": ["university", "consumer council", "hospital"],
            "minimum": 2500,
            "closes_at": 1_727_740_800,
            "published_at": 1_727_744_461,
        },
        "users": users,
        "dropped": None,
        "fakes": FAKES,
        "parameters": {
            "mechanism": "grr",
            "eps_local": mechanism.epsilon_local,
            "d_prime": None,
            "domain": domain,
            "scheme": "paillier",
            "protocol": "peos",
            "shufflers": 3,
            "fakes": FAKES,
            "delta": 1e-6,
        },
        "labels": [str(value) for value in range(domain)],
        "frequency": estimate.frequency.tolist(),
        "stderr": estimate.stderr.tolist(),
        "interval95": estimate.interval(0.95).tolist(),
        "significant": estimate.significant().tolist(),
        "oracle": {"p": mechanism.oracle.p, "q": mechanism.oracle.q, "u": mechanism.oracle.u},
        "post_processed": None,
        "truth": (np.bincount(values, minlength=domain) / users).tolist() if truth else None,
        "guarantees": {**claims.to_json(), "coalitions": list(claims.in_words())},
        "cost": [
            {"party": "analyzer", "seconds": 12.34, "sent": 67_384, "received": 2_071_920, "peak_rss": 334_385_152}
        ],
        "checks": {"dummies": True, "digests": True},
    }
    return found | changes


@dataclass
class Element:
    """One element of a page, with what is inside."""

    tag: str
    attributes: dict[str, str]
    inside: list["Element | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text inside, as a reader gets it."""
        return "".join(one if isinstance(one, str) else one.text for one in self.inside)

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    def all(self, tag: str = "", kind: str = "") -> Iterator["Element"]:
        """Every element inside with this tag and this class, in order."""
        for one in self.inside:
            if isinstance(one, Element):
                if tag in ("", one.tag) and (not kind or kind in one.classes):
                    yield one
                yield from one.all(tag, kind)

    def one(self, tag: str = "", kind: str = "") -> "Element":
        """The only such element."""
        (found,) = self.all(tag, kind)
        return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("", {})
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in _VOID:
            last = self._open[-1].inside[-1]
            assert isinstance(last, Element)
            self._open.append(last)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].inside.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open[-1].tag == tag, f"</{tag}> closes <{self._open[-1].tag}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].inside.append(data)


def read(page: str) -> Element:
    """A page, every element of it closed."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert len(reader._open) == 1, f"<{reader._open[-1].tag}> is never closed"
    return reader.root


def cells(table: Element) -> list[list[str]]:
    """The text of a table's body, row by row."""
    rows = table.one("tbody").all("tr")
    return [[one.text for one in row.inside if isinstance(one, Element)] for row in rows]


def shown_number(shown: str) -> float:
    """A number as the page writes it."""
    return float(shown.replace("−", "-").replace(",", "").removesuffix("%").strip())


def disagreements(rows: Sequence[Sequence[str]], caption: str, found: dict[str, Any]) -> list[str]:
    """Where a table of values says something else than result.json, beyond the rounding that its caption states."""
    stated = re.search(r"rounded to (\d+) digits? after the point", caption)
    assert stated, caption
    within = 0.5 * 10.0 ** -int(stated[1]) * (1 + 1e-9)
    wrong = []
    for label, *numbers, is_found in rows:
        place = found["labels"].index(label)
        low, high = found["interval95"][place]
        wanted = [found["frequency"][place], found["stderr"][place], low, high]
        wanted += [found["truth"][place]] if found["truth"] else []
        wanted += [found["post_processed"]["frequency"][place]] if found["post_processed"] else []
        for shown, exact in zip(map(shown_number, numbers), wanted, strict=True):
            if abs(shown - 100 * exact) > within:
                wrong.append(f"{label}: {shown} for {100 * exact}")
        if is_found != ("yes" if found["significant"][place] else "no"):
            wrong.append(f"{label}: found {is_found}, which result.json says is {found['significant'][place]}")
    return wrong
