"""What docs/mechanisms.md shows of every mechanism: `python -m experiments.mechanisms` writes it anew.

A table of properties, from the mechanisms themselves; what wins in a shuffle, from experiments/results/designs.json;
and two drawings. Nothing here is random.
"""

import textwrap
from collections import ChainMap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from experiments.designs import FAMILIES, Case, at_best
from experiments.page import kept_one, table
from experiments.report import Row
from peos.drawing import Line, chart
from peos.errors import WrongInput
from peos.ldp.base import Mechanism, PureMechanism
from peos.registry import LOCAL_ONLY, MECHANISMS

DOCS: Final = Path(__file__).parent.parent / "docs"
PAGE: Final = DOCS / "mechanisms.md"
VARIANCE: Final = "mechanisms-variance.svg"
SHUFFLED: Final = "mechanisms-shuffle.svg"
EVERY: Final = ChainMap(LOCAL_ONLY, MECHANISMS)
DOMAIN: Final = 1024
ASKED: Final = (1.0, 2.0, 4.0)
REPORTS: Final = 10**6
DOMAINS: Final = {2: "d = 2", 32: "d = 32", 1024: "d = 1024", 10**6: "d = 10⁶"}
OF_EACH: Final = {"grr": tuple(DOMAINS), "hadamard": tuple(DOMAINS), "sue": (1024,), "blh": (1024,), "she": (1024,)}
GRID: Final = tuple(round(0.25 * step, 2) for step in range(1, 33))
LIMITS: Final = tuple(round(0.5 * step, 1) for step in range(1, 18))
SHOWN: Final = ("subset", "hadamard", "solh", "grr", "olh", "oue", "the", "sue", "blh")
USERS: Final = 100_000


def accounting(kind: type[Mechanism], made: Mechanism) -> str:
    """What its reports claim."""
    if kind.local_only:
        return "local model only"
    if made.blanket is None:
        return "ε_l only"
    return "exact, theorem" if kind.theorem_members(DOMAIN) is not None else "exact"


def properties() -> Iterator[Sequence[str]]:
    """A row for each mechanism of the registry."""
    for name, kind in EVERY.items():
        made = [kind.build(DOMAIN, epsilon) for epsilon in ASKED]
        one = made[1]
        match = collision = "–"
        if isinstance(one, PureMechanism):
            told, oracle = 1 - float(one.gamma), one.oracle
            match, collision = f"{oracle.u:.4g}", f"{(oracle.q - (1 - told) * oracle.u) / told:.4g}"
        figures = [f"{each.variance(users=1):.4g}" for each in made]
        steps = f"{one.steps(REPORTS) / REPORTS:,.0f}"
        yield (
            f"`{name}`",
            str(one.words),
            match,
            collision,
            f"{one.epsilon_local:.4f}",
            *figures,
            steps,
            accounting(kind, one),
        )


def of_properties() -> Iterator[str]:
    """The table."""
    head = ("name", "words", "μ", "c", "ε_l", *(f"n·variance, ε = {epsilon:g}" for epsilon in ASKED), "steps a report")
    yield from table((*head, "accounting"), properties())


def of_designs() -> Iterator[str]:
    """The sentences, and the table for one size."""
    rows: list[Row] = kept_one("designs")["rows"]  # type: ignore[assignment]  # JSON has no types of its own
    for at, row in enumerate((row for row in rows if "multiples" not in row), start=1):
        yield from textwrap.wrap(
            f"{at}. {row['what']} (Found: {row['found']}.)", 100, subsequent_indent="   ", break_on_hyphens=False
        )
    yield ""
    cases = [row for row in rows if (row.get("users"), row.get("domain")) == (USERS, DOMAIN)]
    for others in (None, 1.0):
        of = [row for row in cases if row["eps_users"] == others]
        asked = "n = 100,000, d = 1,024" + (", ε_s ≤ 1" if others else "")
        limits = ("none" if row["eps_local"] is None else f"{row['eps_local']:g}" for row in of)
        head = (
            f"{asked}; ε_c ≤, ε_l ≤",
            *(f"{row['eps_server']:g}, {limit}" for row, limit in zip(of, limits, strict=True)),
        )
        lines = [("the best design, n·MSE", *(f"{row['n_mse']:.4g}" for row in of))]
        lines += [(f"`{name}`", *(f"{row['multiples'][name]:.4g}" for row in of)) for name in FAMILIES]
        yield from table(head, lines)


def against_epsilon() -> str:
    """Variance by ε."""
    lines = []
    for name, domains in OF_EACH.items():
        for domain in domains:
            points = []
            for epsilon in GRID:
                try:
                    points.append((epsilon, EVERY[name].build(domain, epsilon).variance(users=1)))
                except WrongInput:
                    continue  # at an ε finer than its reports allow
            label = f"{name}, {DOMAINS[domain]}" if len(domains) > 1 else f"{name}, any d"
            lines.append(Line(label, tuple(points)))
    return chart("Without a shuffle: a rare value's variance", "ε of each user's report", "n · variance", lines)


def against_limit() -> str:
    """MSE in a shuffle by the limit on ε_l."""
    lines = []
    for name in SHOWN:
        found = [(limit, at_best(Case(USERS, DOMAIN, 0.5, limit, None), FAMILIES[name])) for limit in LIMITS]
        points = ((limit, USERS * point.variance) for limit, point in found if point is not None)
        lines.append(Line(name, tuple(points)))
    title = f"In a shuffle: n = {USERS:,}, d = {DOMAIN:,}, ε_c ≤ 0.5, δ = 1e-9"
    return chart(title, "limit on the ε of each user's report", "n · MSE", lines)


def written(page: str) -> str:
    """The page with its generated parts as they must be."""
    for name, lines in (("properties", of_properties()), ("designs", of_designs())):
        begin, end = f"<!-- {name}: written by `python -m experiments.mechanisms` -->", f"<!-- /{name} -->"
        before, rest = page.split(begin)
        page = "\n".join([before + begin, "", *lines, end]) + rest.split(end)[1]
    return page


def files() -> dict[Path, str]:
    """Everything that is generated."""
    return {
        PAGE: written(PAGE.read_text(encoding="utf-8")),
        DOCS / VARIANCE: against_epsilon(),
        DOCS / SHUFFLED: against_limit(),
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
