"""What thesis §9.6.2 says of figure 9.3, sentence by sentence, held against the rows."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

from experiments.methods import sh_threshold
from experiments.populations import IPUMS
from experiments.report import Row, statement

IDEAL: Final = "SOLH, ideal hashing"
"""What the thesis ran: hash functions that collide with probability 1/d'."""

APART: Final = ", by position"
"""Added to the name of a unary method whose positions are drawn by themselves."""

_FACTOR: Final = 1.9
"""Errors that are less than this apart are similar; twice as much is not."""

_SIMILAR: Final = (
    (
        "AUE",
        0.45,
        2.2,
        "a factor of two, which is little between methods that are ten orders of magnitude apart: half the error at "
        "ε_c = 0.1, up to twice from 0.2 on, as p(1 − p)/n with §9.3.4's p says",
    ),
    ("RAP", 0.5, 1.9, ""),
    (
        "RAP_R",
        1 / 8,
        1 / 6.5,
        "a factor of seven: its ε_c is of removal, which asks a quarter of RAP's noise; the thesis too finds it best",
    ),
)
"""Method, the least and the largest ratio of its error to SOLH's, and why these are not similar."""


def sentences(rows: Sequence[Row], column: str) -> Iterator[Row]:
    """One row a sentence; `column` is "measured", or "formula" where too few users were drawn."""
    table: dict[str, dict[float, float]] = {}
    for row in rows:
        table.setdefault(row["method"], {})[row["eps_c"]] = row[column]
    for name in ("RAP", "RAP_R"):
        table[name] = table[name + APART]
    local = {row["eps_c"]: row["eps_local"] for row in rows if row["method"] == "SH"}
    cells = [row["cells"] for row in rows if row["method"] == "OLH"]
    targets = sorted(local)
    threshold, most = sh_threshold(IPUMS), (1 - 1 / IPUMS.domain) / IPUMS.domain
    below = [target for target in targets if target < threshold]

    yield statement(
        "SH is not amplified where ε_c < √(14 ln(2/δ)·d/(n − 1)): ε_l = ε_c there",
        f"the threshold is {threshold:.3f}; "
        + ", ".join(f"ε_c = {target:g}: ε_l = {local[target]:.2f}" for target in targets),
        holds=all((local[target] - target < 1e-6) == (target in below) for target in targets),
    )
    yield statement(
        "where SH is not amplified, it is worse than Base",
        f"SH at least {min(table['SH'][t] for t in below):.3g}; Base {table['Base'][targets[0]]:.3g} here, "
        f"and at most {most:.3g} for any data",
        holds=all(table["SH"][t] > max(table["Base"][t], most) for t in below),
    )
    yield statement(
        "SOLH gets better results than SH, especially when ε_c is small",
        "SH / SOLH: " + _listed(targets, table["SH"], table[IDEAL]),
        holds=all(table[IDEAL][t] < table["SH"][t] for t in targets),
        erratum="where GRR is amplified far enough, at ε_c near 1, SH errs less than SOLH (ideal hash family), as "
        "§9.3.3's own formulas say",
    )
    for name, least, most, erratum in _SIMILAR:
        ratios = [table[name][t] / table[IDEAL][t] for t in targets]
        yield statement(
            f"{name} performs similarly to SOLH",
            f"{name} / SOLH: " + _listed(targets, table[name], table[IDEAL]),
            holds=max(*ratios, 1 / min(ratios)) < _FACTOR,
            erratum=erratum,
            instead=all(least < ratio < most for ratio in ratios),
        )
    yield statement(
        "RAP_R performs best of the thesis' shuffled methods",
        "next best / RAP_R: " + ", ".join(f"{_next_best(table, t) / table['RAP_R'][t]:.2f}" for t in targets),
        holds=all(table["RAP_R"][t] < _next_best(table, t) for t in targets),
    )
    doubled = [t for t in targets if _near(2 * t, targets) is not None] or targets[:1]
    ratios = [table["RAP_R"][t] / table["RAP"][other] for t in doubled if (other := _near(2 * t, targets)) is not None]
    if ratios:
        yield statement(
            "RAP_R with ε_c is equivalent to RAP with 2ε_c",
            "RAP_R(ε) / RAP(2ε): "
            + ", ".join(f"{ratio:.3f}" for ratio in ratios)
            + "; ln(2/δ) against ln(4/δ) is 0.969",
            holds=all(0.9 < ratio < 1.1 for ratio in ratios),
        )
    yield statement(
        "OLH and Had perform very similarly, since OLH mostly has d' = 2 or 3",
        "Had / OLH: " + _listed(targets, table["Had"], table["OLH"]) + f"; d' of OLH: {sorted(set(cells))}",
        holds=set(cells) <= {2, 3} and all(0.75 < table["Had"][t] / table["OLH"][t] < 1.35 for t in targets),
    )
    for name, against, orders in (("OLH", IDEAL, 3), ("Had", IDEAL, 3), (IDEAL, "Lap", 2)):
        found = [math.log10(table[name][t] / table[against][t]) for t in targets]
        yield statement(
            f"{name} is around {orders} orders of magnitude worse than {against}",
            f"from {min(found):.2f} to {max(found):.2f} orders",
            holds=all(orders - 0.5 < one < orders + 0.5 for one in found),
        )
    ours = [table[IDEAL][t] / table["ours"][t] for t in targets]
    yield statement(
        "(added) the best plan by exact accounting errs less than every shuffled method at the same ε_c",
        "SOLH / ours: " + ", ".join(f"{ratio:.1f}" for ratio in ours),
        holds=all(table["ours"][t] < min(table["SH"][t], table["RAP_R"][t], _next_best(table, t)) for t in targets),
    )


def _next_best(table: dict[str, dict[float, float]], target: float) -> float:
    return min(table[name][target] for name in ("SH", IDEAL, "AUE", "RAP"))


def _near(wanted: float, targets: Sequence[float]) -> float | None:
    return next((target for target in targets if abs(target - wanted) < 1e-9), None)


def _listed(targets: Sequence[float], over: dict[float, float], under: dict[float, float]) -> str:
    return ", ".join(f"{over[t] / under[t]:.3g} at {t:g}" for t in targets)
