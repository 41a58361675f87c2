"""A file's bad vectors in one loop: each is refused, for its stated reason."""

from collections.abc import Callable, Iterable
from typing import Any

from peos.errors import BadEncoding


def not_refused(cases: Iterable[dict[str, Any]], read: Callable[[dict[str, Any]], object], reason: str) -> list[str]:
    """What is wrong with those cases that `read` takes, or refuses for another reason than the one under `reason`."""
    wrong = []
    for case in cases:
        assert case[reason], "a bad vector says why it is bad"
        try:
            read(case)
        except BadEncoding as error:
            if case[reason] not in str(error):
                wrong.append(f"{case['name']}: {error}")
        else:
            wrong.append(f"{case['name']}: it was read")
    return wrong
