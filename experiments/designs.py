"""Which mechanism errs least in a shuffle: each at its best under the same targets, against the best design there is.

Nothing two-level errs less than a balanced design with as many supports (docs/privacy.md §0), so the least over all μ
of such a design, whether or not it exists, is what every mechanism is a multiple of. Chosen by saddle points, as the
planner does before it holds its choice against the exact bound; errors are n times the variance of a rare value.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.report import OURS, Result, Row, shortened, statement
from experiments.running import main, progress
from peos.crypto.randomness import Randomness
from peos.drawing import Line, chart
from peos.ldp import LocalHash, SubsetSelection
from peos.ldp.base import Mechanism
from peos.ldp.members import Floats, Grid
from peos.privacy import exact_search
from peos.privacy.planner import LARGEST_EPSILON_LOCAL
from peos.privacy.targets import checked
from peos.registry import MECHANISMS

PAPER = "Designs: which mechanism errs least in a shuffle, by exact accounting"
DELTA: Final = 1e-9
USERS: Final = (10**4, 10**5, 10**6)
DOMAINS: Final = (32, 1024, 42_178)
LIMITS: Final = ((0.5, 2.0), (0.5, 4.0), (0.5, 5.0), (0.5, 6.0), (0.5, None), (0.1, 4.0), (0.1, None))
EPS_USERS: Final = 1.0
_BELOW: Final = 32
_AN_OCTAVE: Final = 24  # values of μ for each halving: the best is met to 10⁻⁴ of its error


class Balanced(SubsetSelection):
    """Any share of supports, whole numbers or not, two values sharing as few as they may; sizes are steps of μ.

    Below 1/d a report may support no value at all, and then none supports two.
    """

    @classmethod
    def sizes_to_try(cls, domain: int, limit: float) -> NDArray[np.int64]:  # noqa: ARG003 - all
        """From half of the values to a small part of one."""
        return np.arange(int(_AN_OCTAVE * np.log2(domain * _BELOW)))

    @classmethod
    def grid(cls, domain: int, sizes: NDArray[np.int64], local: Floats) -> Grid:  # noqa: ARG003 - ε_l does not matter
        """μ, and c = (dμ − 1)/(d − 1), or 0."""
        match = 0.5 ** (1 + sizes[:, np.newaxis] / _AN_OCTAVE)
        near = np.abs(domain * match - 1) < 0.5 / _AN_OCTAVE  # one value for every report is among them
        match = np.where(near, 1 / domain, match)
        collision = np.maximum(domain * match - 1, 0.0) / (domain - 1)
        return Grid(match, collision, collision)


class AnyCells(LocalHash):
    """Local hashing with any number of cells, not only those that the planner tries."""

    @classmethod
    def sizes_to_try(cls, domain: int, limit: float) -> NDArray[np.int64]:
        """Nearly every d'."""
        near = 2.0 ** (np.arange(_AN_OCTAVE * 16) / _AN_OCTAVE)
        every = {*super().sizes_to_try(domain, limit).tolist(), *np.rint(near).astype(int).tolist()}
        return np.array(sorted(cells for cells in every if 2 <= cells <= _BELOW * domain))


BEST: Final = "the best design"
FAMILIES: Final[Mapping[str, type[Mechanism]]] = {
    "subset": MECHANISMS["subset"],
    "solh": MECHANISMS["solh"],
    "solh, any d'": AnyCells,
    "hadamard": MECHANISMS["hadamard"],
    "grr": MECHANISMS["grr"],
    **{name: MECHANISMS[name] for name in ("olh", "oue", "the", "sue", "blh", "rmp")},
}


class Case(NamedTuple):
    """What is asked of a collection."""

    users: int
    domain: int
    eps_server: float
    eps_local: float | None
    eps_users: float | None

    def __str__(self) -> str:
        limit = "any ε_l" if self.eps_local is None else f"ε_l ≤ {self.eps_local:g}"
        others = "" if self.eps_users is None else f", ε_s ≤ {self.eps_users:g}"
        return f"n = {self.users:,}, d = {self.domain:,}, ε_c ≤ {self.eps_server:g}, {limit}{others}"


def cases(quick: bool) -> Iterator[Case]:
    """All, or a few of them."""
    users, domains = (USERS[1:2], DOMAINS[1:2]) if quick else (USERS, DOMAINS)
    for others, n, d, (server, local) in product((None, EPS_USERS), users, domains, LIMITS):
        yield Case(n, d, server, local, others)


def at_best(case: Case, kind: type[Mechanism]) -> exact_search.Point | None:
    """The size, ε_l and fakes of least error; None if nothing meets the targets."""
    targets = checked(
        users=case.users,
        domain=case.domain,
        delta=DELTA,
        eps_server=case.eps_server,
        eps_users=case.eps_users,
        eps_local=case.eps_local,
        fakes=0 if case.eps_users is None else "auto",
        size=None,
    )
    return exact_search.promising(targets, kind, case.eps_local or LARGEST_EPSILON_LOCAL)


def row_of(case: Case) -> Row:
    """Every mechanism's error as a multiple of the best design's."""
    best = at_best(case, Balanced)
    assert best is not None, "exact accounting meets every target"
    found = {name: at_best(case, kind) for name, kind in FAMILIES.items()}
    multiples = {name: point.variance / best.variance for name, point in found.items() if point is not None}
    return {
        "what": str(case),
        **case._asdict(),
        "found": ", ".join(f"{name} {multiple:.3f}" for name, multiple in multiples.items()),
        "n_mse": shortened(best.variance * case.users, 4),
        "at": shortened(best.epsilon_local, 4),
        "fakes": best.fakes,
        "multiples": {name: shortened(multiple, 5) for name, multiple in multiples.items()},
        "points": {name: [point.epsilon_local, point.fakes] for name, point in found.items() if point is not None},
        "verdict": OURS,
        "why": "",
    }


COMPETE: Final = ("grr", "solh", "hadamard", "subset")
"""What a plan chooses from."""


def run(quick: bool, rng: Randomness) -> Result:
    """Every case; nothing here is random."""
    del rng
    rows = []
    for case in cases(quick):
        progress(f"designs: {case}")
        rows.append(row_of(case))
    return Result("designs", PAPER, (*sentences(rows), *rows), tuple(_notes()))


def sentences(rows: Sequence[Row]) -> Iterator[Row]:
    """What wins where; docs/mechanisms.md says these."""
    limited = [row for row in rows if row["eps_local"] is not None]
    free = [row for row in rows if row["eps_local"] is None]
    chosen = [_least(row) for row in limited if row["domain"] >= 1024]
    every = [_least(row) for row in rows]
    yield statement(
        "Where ε_l is limited and d is 1,024 or more, the best of `grr`, `solh`, `hadamard` and `subset` errs at most "
        "2.5 % more than the best design there is, and nowhere more than 12 %.",
        f"at most {max(chosen) - 1:.1%}, and {max(every) - 1:.1%} anywhere",
        holds=max(chosen) <= 1.025 and max(every) <= 1.12,
    )
    cells = [row["multiples"]["solh, any d'"] for row in free]
    two = [(min(row["multiples"]["grr"], row["multiples"]["subset"]), _least(row)) for row in free]
    yield statement(
        "Where it is not limited, `grr` or `subset` is best of these or within 2 % of it, and what is left to gain, up "
        "to 12 %, is in designs whose reports often support no value: local hashing with more cells than values comes "
        "within 3 % of them, and no plan tries it.",
        f"the better of the two is up to {max(one for one, _ in two) - 1:.1%} off, and up to "
        f"{max(one / least for one, least in two) - 1:.1%} off the best of the four; any d' up to {max(cells) - 1:.1%}",
        holds=all(one <= 1.02 * least for one, least in two) and max(cells) <= 1.03,
    )
    ideal = {
        domain: max(row["multiples"]["oue"] for row in limited if _only_local(row) and row["domain"] == domain)
        for domain in dict.fromkeys(row["domain"] for row in rows)
    }
    yield statement(
        "Ideal hash functions, which `oue` has, cost nothing while e^ε_l is small against d: under a limit of up to 6 "
        "on ε_l at most 1 % at d = 42,178, but 27 % at d = 1,024, and at d = 32 they err up to 3.8 times as much.",
        ", ".join(f"d = {domain:,}: {most:.3f} times" for domain, most in ideal.items()),
        holds=all(most <= {32: 3.8, 1024: 1.27, 42_178: 1.01}[domain] for domain, most in ideal.items()),
    )
    far = {name: min(row["multiples"][name] for row in rows) for name in ("the", "sue", "blh", "rmp")}
    yield statement(
        "`the`, `sue`, `blh` and `rmp` are best nowhere; the last two err at least 2.3 times as much as the best.",
        ", ".join(f"`{name}` {least:.3f} times at least" for name, least in far.items()),
        holds=min(far.values()) > 1.005 and min(far["blh"], far["rmp"]) >= 2.3,
    )
    pairs = [
        (one, other)
        for one in rows
        for other in rows
        if one["eps_users"] is None
        and other["eps_users"] is not None
        and one["what"] + f", ε_s ≤ {EPS_USERS:g}" == other["what"]
    ]
    losses = [other["multiples"][_winner(one)] / _least(other) for one, other in pairs]
    yield statement(
        "Fakes do not change by more than 1.5 % which of the four is best.",
        f"the best without ε_s is at most {max(losses) - 1:.1%} off with it",
        holds=max(losses) <= 1.015,
    )


def _only_local(row: Row) -> bool:
    """Whether the limit on ε_l is what binds, so that the local optimum wins."""
    return (
        row["eps_users"] is None
        and row["at"] >= row["eps_local"] * 0.999
        and row["users"] >= 10**5
        and row["eps_server"] > 0.1
    )


def _winner(row: Row) -> str:
    return min(COMPETE, key=lambda name: row["multiples"][name])


def _least(row: Row) -> float:
    least: float = row["multiples"][_winner(row)]
    return least


def _notes() -> Iterator[str]:
    yield f"δ = {DELTA:g}; the best design is the least over all μ, whether or not such a design exists."
    yield "Where ε_s is asked, as many fakes as err least; `solh, any d'` has nearly every d' up to 2^16."


def draw(result: Result) -> str:
    """Error against the limit on ε_l, n = 10⁵ and d = 1,024."""
    rows = [
        row
        for row in result.rows
        if (row.get("users"), row.get("domain"), row.get("eps_server"), row.get("eps_users"))
        == (10**5, 1024, 0.5, None)
    ]
    lines = [
        Line(name, tuple(sorted((row["points"][name][0], row["n_mse"] * row["multiples"][name]) for row in rows)))
        for name in FAMILIES
    ]
    return chart("n = 100,000, d = 1,024, ε_c ≤ 0.5, δ = 1e-9", "ε of each user's report", "n · MSE", lines)


if __name__ == "__main__":
    raise SystemExit(main("designs", PAPER, run, draw))
