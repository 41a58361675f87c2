"""The table of docs/mechanisms.md of where `choose` and the rule of the thesis differ: `python -m tests.choice_table`.

It is written between two markers.
"""

from pathlib import Path
from typing import Final

from peos.ldp import choose, choose_thesis

PAGE: Final = Path(__file__).parent.parent / "docs" / "mechanisms.md"
BEGIN: Final = "<!-- choice: written by `python -m tests.choice_table` -->"
END: Final = "<!-- /choice -->"
EPSILONS: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
DOMAINS: Final = (
    *(2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 100, 128, 256, 512, 1000, 1024, 2048, 4096, 8192),
    *(10_000, 2**14, 2**16, 2**18, 2**20),
)
WORTH: Final = 0.01  # of the variance, from where a difference is shown


def cell(domain: int, epsilon: float) -> str:
    """What `choose` takes and by how many per cent the rule's variance is above its own, if that is worth saying."""
    ours, rule = choose(domain, epsilon, words=1), choose_thesis(domain, epsilon, words=1)
    more = rule.variance(1) / ours.variance(1) - 1
    return f"{ours.name} {100 * more:.0f}" if more > WORTH else ""


def table() -> str:
    """A row for each domain, a column for each ε, both where anything is to be said."""
    cells = {domain: [cell(domain, epsilon) for epsilon in EPSILONS] for domain in DOMAINS}
    heads = " | ".join(f"{epsilon:g}" for epsilon in EPSILONS)
    rows = [f"| d | {heads} |", "|---" * (len(EPSILONS) + 1) + "|"]
    rows += [f"| {domain:,} | {' | '.join(said)} |" for domain, said in cells.items() if any(said)]
    return "\n".join(rows)


def written(page: str) -> str:
    """docs/mechanisms.md with the table as it must be."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
