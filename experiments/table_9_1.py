"""Table 9.1 of the thesis: what earlier results claim of the shuffled model, and how much of it is true.

Each formula under its own condition, for randomised response, next to exact accounting of the same collection.
Neighbours: one user's value is replaced. Read are e^{ε_l} + 1 and e^{ε_l} + d − 1, as in the thesis' own proofs.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from experiments.methods import sh_threshold
from experiments.populations import IPUMS, KOSARAK, DataSet
from experiments.report import Result, Row, shortened, statement
from experiments.running import main
from peos.crypto.randomness import Randomness
from peos.drawing import Line, chart
from peos.ldp import GRR
from peos.privacy.exact import epsilon
from peos.privacy.theorem import epsilon_server

PAPER = "Table 9.1 (thesis §9.2): privacy amplification by shuffling"
BINARY = DataSet("binary", 10**6, 2, 1e-9)
LOCAL = (0.1, 0.2, 0.3, 0.4, 0.49, 0.7, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
LOCAL_QUICK = (0.1, 0.49, 2.0, 6.0)


@dataclass(frozen=True)
class Bound:
    """One row of the table: who, and ε_c where its condition holds."""

    source: str
    claims: Callable[[float, DataSet], float | None]


def erlingsson(local: float, data: DataSet) -> float | None:
    """[50]: √(144 ln(1/δ)·ε_l²/n) for ε_l < 1/2, for every mechanism."""
    return math.sqrt(144 * math.log(1 / data.delta) * local**2 / data.users) if local < 0.5 else None


def cheu(local: float, data: DataSet) -> float | None:
    """[49]: √(32 ln(4/δ)·(e^{ε_l} + 1)/n), binary, for √(192 ln(4/δ)/n) < ε_c < 1."""
    claimed = math.sqrt(32 * math.log(4 / data.delta) * (math.exp(local) + 1) / data.users)
    least = math.sqrt(192 / data.users * math.log(4 / data.delta))
    return claimed if data.domain == 2 and least < claimed < 1 else None


def balle(local: float, data: DataSet) -> float | None:
    """[51]: √(14 ln(2/δ)·(e^{ε_l} + d − 1)/(n − 1)), where that lies between what ε_l = 0 leaves of it and 1."""
    constant = 14 * math.log(2 / data.delta) / (data.users - 1)
    claimed = math.sqrt(constant * (math.exp(local) + data.domain - 1))
    return claimed if math.sqrt(constant * data.domain) < claimed <= 1 else None


BOUNDS = (Bound("[50]", erlingsson), Bound("[49]", cheu), Bound("[51]", balle))


def run(quick: bool, rng: Randomness, bounds: tuple[Bound, ...] = BOUNDS) -> Result:
    """The table; nothing here is random."""
    del rng
    grid = LOCAL_QUICK if quick else LOCAL
    rows = [*_rows(BINARY, grid, bounds), *_rows(IPUMS, [local for local in grid if local >= 1], bounds)]
    return Result("table_9_1", PAPER, (*_statements(rows, bounds), *rows), tuple(_notes()))


def _rows(data: DataSet, grid: tuple[float, ...] | list[float], bounds: tuple[Bound, ...]) -> Iterator[Row]:
    for local in grid:
        mechanism = GRR(data.domain, local)
        exact = epsilon(mechanism, data.users, 0, data.delta)
        claims = {bound.source: bound.claims(local, data) for bound in bounds}
        below = [source for source, claimed in claims.items() if claimed is not None and claimed < exact]
        yield {
            "what": f"{data.name}, n = {data.users:,}, d = {data.domain}: ε_l = {local:g}",
            "data": data.name,
            "eps_local": local,
            "claimed": {source: shortened(claimed) for source, claimed in claims.items()},
            "eps_exact": shortened(exact),
            "found": ", ".join(
                [f"{source} {claimed:.4f}" for source, claimed in claims.items() if claimed is not None]
                + [f"exact {exact:.4f}"]
            ),
            "verdict": "differs" if below else "agrees",
            "why": "",
        }


def _statements(rows: list[Row], bounds: tuple[Bound, ...]) -> Iterator[Row]:
    claims = [(row, {k: v for k, v in row["claimed"].items() if v is not None}) for row in rows]
    ratios = [value / row["eps_exact"] for row, found in claims for value in found.values()]
    yield statement(
        "every bound holds: exact accounting never finds a larger ε_c",
        f"claimed / exact from {min(ratios):.2f} to {max(ratios):.2f}",
        holds=min(ratios) >= 1,
    )
    both = [(found["[49]"], found["[51]"]) for _, found in claims if {"[49]", "[51]"} <= set(found)]
    yield statement(
        "[51] claims a smaller ε_c than [49] wherever both apply",
        f"[49] / [51] from {min(a / b for a, b in both):.3f} to {max(a / b for a, b in both):.3f}",
        holds=all(ours < theirs for theirs, ours in both),
    )
    early = [
        (row["eps_local"], found["[50]"] / found["[51]"]) for row, found in claims if {"[50]", "[51]"} <= set(found)
    ]
    yield statement(
        "[51] provides the strongest result: the smallest ε_c of the three",
        "; ".join(f"ε_l = {local:g}: [50] / [51] = {ratio:.2f}" for local, ratio in early),
        holds=all(ratio > 1 for _, ratio in early),
        erratum="for ε_l < 1/2 and d = 2 [50] is smaller, since it falls with ε_l and the others do not; "
        "the sentence is right where the three are used, at ε_l above 1/2",
    )
    yield statement(
        "on Kosarak's domain [51] amplifies nothing",
        f"its least ε_c there is {sh_threshold(KOSARAK):.2f}, above the 1 where it ends",
        holds=all(bound.claims(1e-6, KOSARAK) is None for bound in bounds if bound.source == "[51]"),
    )
    ours = [
        (balle(local, IPUMS), epsilon_server(GRR(IPUMS.domain, local), IPUMS.users, 0, IPUMS.delta)) for local in (3, 6)
    ]
    yield statement(
        "[51] is what `--accounting theorem` claims for GRR",
        "; ".join(f"{theirs:.10f} and {mine:.10f}" for theirs, mine in ours if theirs and mine),
        holds=all(theirs and mine and abs(mine / theirs - 1) < 1e-8 for theirs, mine in ours),
    )


def _notes() -> Iterator[str]:
    yield f"δ = {BINARY.delta:g} throughout; a bound stands only where its own condition holds."
    yield "Exact accounting is an upper bound too (privacy.md §2): the truth lies below it."


def draw(result: Result) -> str:
    """ε_c against ε_l, binary."""
    rows = [row for row in result.rows if row.get("data") == BINARY.name]
    lines = [
        Line(f"{bound.source}", tuple((row["eps_local"], c) for row in rows if (c := row["claimed"][bound.source])))
        for bound in BOUNDS
    ]
    lines.append(Line("exact accounting", tuple((row["eps_local"], row["eps_exact"]) for row in rows)))
    title = f"Binary randomised response, n = {BINARY.users:,}, δ = {BINARY.delta:g}"
    return chart(title, "ε of each user's report", "ε against the analyzer", lines)


if __name__ == "__main__":
    raise SystemExit(main("table_9_1", PAPER, run, draw))
