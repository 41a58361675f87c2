"""The worked example of docs/tasks.md runs as it stands, and its answer is right."""

import re
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[4]
EXAMPLE = re.search(
    r"## Tables of attributes.*?```python\n(.*?)```",
    (ROOT / "docs" / "tasks.md").read_text(encoding="utf-8"),
    re.DOTALL,
)


def test_the_example_of_the_page_runs() -> None:
    assert EXAMPLE is not None
    rng = np.random.default_rng(1)
    people = [
        {"smokes": ["no", "yes"][int(smokes)], "age": int(age), "region": ["north", "south"][int(region)]}
        for smokes, age, region in zip(
            rng.random(20_000) < 0.3, rng.integers(10, 110, 20_000), rng.random(20_000) < 0.6, strict=True
        )
    ]
    names: dict[str, Any] = {"records": people}
    exec(compile(EXAMPLE.group(1), "docs/tasks.md", "exec"), names)  # noqa: S102 - our own page
    assert np.abs(names["table"].frequency - np.outer([0.4, 0.6], [0.7, 0.3])).max() < 0.03
    assert all(names["answer"].checks.values())
    assert not names["answer"].independence("smokes", "region", level=1e-6).is_dependent
    assert names["table"].unbiased is not None
