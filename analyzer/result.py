"""A collection's result: result.json, and the table that a person reads. The names in the JSON stay."""

import json
import resource
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from jinja2 import TemplateError
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from analyzer.inspection_runner import Inspected
from analyzer.report import page
from analyzer.report.formatting import CERTAIN, FOUND
from peos.collection.document import Document
from peos.collection.lifecycle import State
from peos.errors import WrongInput, in_words
from peos.estimate.frequency import BEYOND, Floats, Frequencies
from peos.estimate.grouped import odd_sizes
from peos.estimate.post_processing import OF_THE_RAW
from peos.ldp.base import Mechanism
from peos.privacy.guarantees import Guarantees, power, rounded_up
from peos.protocols import protocol_named
from peos.tasks import base as tasks

SCHEMA: Final = 2
_KIB: Final = 1024
_SHOWN: Final = 20
_PUBLISHED: Final = "name the result.json that the analyzer published"


@dataclass(frozen=True)
class Found:
    """What the reports of a collection show, and of how many reports of each group."""

    labels: Sequence[str]
    frequency: Floats
    stderr: Floats
    interval95: Floats
    significant: NDArray[np.bool_] | None
    tested: int
    users: int
    sizes: tuple[int, ...]
    note: str = ""
    law: Mapping[str, object] = field(default_factory=lambda: {"oracle": None, "bits": None})

    @classmethod
    def of_values(cls, document: Document, estimate: Frequencies) -> Self:
        """Every value of a list."""
        return cls(
            document.labels or [str(value) for value in range(document.mechanism.domain)],
            estimate.frequency,
            estimate.stderr,
            estimate.interval(0.95),
            estimate.significant(),
            estimate.tested,
            estimate.users,
            (estimate.users + estimate.fakes,),
            law=estimate.to_json(),
        )

    @classmethod
    def of_table(cls, table: tasks.Table, sizes: tuple[int, ...]) -> Self:
        """What a task's round made of them."""
        shown = (table.labels, table.frequency, table.stderr, table.interval95, table.significant)
        return cls(*shown, table.tested, table.users, sizes, table.note)

    def to_json(self) -> dict[str, Any]:
        """Every number exactly: what a study asks next follows from them."""
        significant = None if self.significant is None else self.significant.tolist()
        return {
            "labels": list(self.labels),
            "frequency": self.frequency.tolist(),
            "stderr": self.stderr.tolist(),
            "interval95": self.interval95.tolist(),
            "significant": significant,
            "tested": self.tested,
            "note": self.note,
            "sizes": list(self.sizes),  # reports of each group
            **self.law,
        }


def result_json(
    digest: bytes,
    document: Document,
    found: Found,
    claims: Guarantees,
    *,
    name: str,
    seconds: float,
    sent: int,
    received: int,
    published_at: int,
    inspected: Inspected | None,
    lists: dict[str, Any] | None,
    together: dict[str, Any] | None,
    task: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The published result. It is made only if every dummy came out and all final vectors were of one transcript."""
    mechanism: Mechanism = document.mechanism
    checks: dict[str, bool | None] = {"dummies": True, "digests": True}
    if inspected is not None:  # not every protocol has something to open
        checks["inspection"] = None if inspected.missing else not inspected.findings
    shares = mechanism.shares_among(found.users, document.fakes).tolist()
    if len(shares) > 1:
        checks["groups"] = not odd_sizes(found.sizes, shares)
    guarantees = {**claims.to_json(), "coalitions": list(claims.in_words())}
    groups = [{"size": size, "share": share} for size, share in zip(found.sizes, shares, strict=True)]
    return {
        "schema": SCHEMA,
        "ok": all(checks.values()),
        "digest": digest.hex(),
        "collection": {
            "question": document.question,
            "epoch": document.epoch,
            "asked": [view.in_words for view in document.asked] if document.views else [],
            "analyzer": document.analyzer.name,
            "shufflers": [member.name for member in document.shufflers],
            "minimum": document.minimum,
            "closes_at": document.closes_at,
            "published_at": published_at,
        },
        "users": found.users,
        "dropped": None,  # who gave up before the freeze, the analyzer cannot know
        "fakes": document.fakes,
        "parameters": {
            "mechanism": mechanism.name,
            "eps_local": mechanism.epsilon_local,
            "d_prime": mechanism.shown.get("d_prime"),
            "mechanism_parameters": dict(mechanism.shown),
            "domain": mechanism.domain,
            "scheme": document.scheme,
            "protocol": document.protocol.name,
            "shufflers": len(document.shufflers),
            "fakes": document.fakes,
            "delta": document.delta,
        },
        **found.to_json(),
        "post_processed": None,  # next to the raw estimates, never in their place; if a reader asks for it
        "truth": None,
        "guarantees": guarantees,
        "together": together,
        "task": task,  # of a study
        "complete": True,
        "rounds": [
            {
                "name": name,
                "digest": digest.hex(),
                "state": State.PUBLISHED,
                "users": found.users,
                "fakes": document.fakes,
                "groups": groups,
                "guarantees": guarantees,
            }
        ],
        "cost": [
            {"party": "analyzer", "seconds": seconds, "sent": sent, "received": received, "peak_rss": peak_rss()},
        ],
        "checks": checks,
        "lists": lists,  # signed by the shufflers; null if none showed them
        "inspection": inspected and {"dummies": inspected.dummies, "not_opened": list(inspected.missing)},
    }


def peak_rss() -> int:
    """Bytes: the most that this process, or one of its workers, held at a time."""
    own, workers = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return max(own, workers) * _KIB


def read(path: Path) -> dict[str, Any]:
    """A result from its file, if everything is there that is shown of one."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        page(found)
        if not all(isinstance(label, str) for label in found["labels"]):
            raise TypeError
    except OSError as error:
        raise WrongInput(
            "input.result_missing", f"the result {path} cannot be read: {in_words(error)}", hint=_PUBLISHED
        ) from None
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, TemplateError):
        raise WrongInput("input.result", f"{path} is not a published result", hint=_PUBLISHED) from None
    return found


def show(found: dict[str, Any], console: Console, *, everything: bool = False) -> None:
    """The most frequent values with their error bars, and what is guaranteed."""
    order = sorted(range(len(found["labels"])), key=lambda value: -found["frequency"][value])
    shown = order if everything else order[:_SHOWN]
    significant = found.get("significant") or [None] * len(order)
    made = [one for one in (found.get("post_processed"),) if one is not None]
    table = Table(box=None, pad_edge=False)
    after = [_plain(f"after {one['method']}") for one in made]
    for heading in ("value", "frequency", "standard error", "95 % interval", *after, "found"):
        table.add_column(heading, justify="right")
    for value in shown:
        low, high = found["interval95"][value]
        table.add_row(
            _plain(found["labels"][value]),
            f"{found['frequency'][value]:.4f}",
            f"{found['stderr'][value]:.4f}",
            f"{low:.4f} … {high:.4f}",
            *(f"{one['frequency'][value]:.4f}" for one in made),
            FOUND[significant[value]],
        )
    console.print(f"{found['users']:,} users, {found['parameters']['fakes']:,} fake reports", style="bold")
    console.print(table)
    if len(shown) < len(order):
        console.print(f"… and {len(order) - len(shown):,} values that are rarer; --all shows them")
    if significant[0] is not None:
        console.print(f"{sum(significant):,} of {len(order):,} values found; {CERTAIN}", soft_wrap=True)
    if not all(0 <= found["frequency"][value] <= 1 for value in shown):
        console.print(BEYOND, soft_wrap=True)
    for one in made:
        for sentence in (f"{OF_THE_RAW}.", *(f"After {one['method']}: {note}." for note in one["notes"])):
            console.print(_plain(sentence), soft_wrap=True)
    console.print()
    if (seen := found.get("inspection")) and seen["not_opened"]:
        whom = ", ".join(f"shuffler {who}" for who in seen["not_opened"])
        console.print(f"Published at the analyst's word without having seen the rows of {whom}.", style="bold")
    for sentence in found["guarantees"]["coalitions"]:
        console.print(_plain(sentence), soft_wrap=True)
    together = found.get("together")
    if together is not None and together["collections"] > 1:
        console.print(
            f"All {together['collections']:,} collections over these users together: ε = "
            f"{rounded_up(together['server'])} at δ = {power(together['delta'])} if the other users are honest, and "
            f"{rounded_up(together['users'])} if all of them are the analyzer's.",
            soft_wrap=True,
        )
    if weaker := protocol_named(found["parameters"]["protocol"]).weaker:
        console.print(f"{weaker[:1].upper()}{weaker[1:]}.", soft_wrap=True)


def _plain(text: str) -> str:
    """A text of a result, which may have been read from anybody's file: it commands neither us nor the terminal."""
    return escape("".join(one if one.isprintable() else "\ufffd" for one in text))
