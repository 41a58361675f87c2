"""The example of docs/tasks.md, as it stands there."""

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[4] / "docs" / "tasks.md"


@pytest.mark.full
def test_the_example_of_the_page_runs_and_is_right() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Ranges")[2]
    code = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert code is not None
    rng = np.random.default_rng(1)
    users = 20_000
    age = np.clip(rng.normal(45, 18, users), 0, 99).astype(np.int64)
    smokes = rng.random(users) < 0.3
    spending = np.clip(rng.gamma(3, 8, users), 0, 100)
    people = [
        {"age": int(a), "smokes": "yes" if s else "no", "spending": float(m)}
        for a, s, m in zip(age, smokes, spending, strict=True)
    ]
    found: dict[str, object] = {"people": people}
    exec(code.group(1), found)  # noqa: S102 - our own page
    among = (age >= 20) & (age <= 35)
    for name, truth in (
        ("young", float((among & smokes).sum())),
        ("total", float(spending[among].sum())),
        ("mean", float(age[~smokes].mean())),
    ):
        figure = found[name]
        slack = 0.01 * abs(truth) + 0.01 * users * (name == "young")
        assert abs(figure.value - truth) < 5 * figure.stderr + slack  # type: ignore[attr-defined] # a Figure
