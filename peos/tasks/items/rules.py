"""Rules "who has A has B", from how frequent A and A with B are: their confidence, with its error."""

from collections.abc import Mapping

import numpy as np

from peos.tasks.base import Table
from peos.tasks.items.views import label_of, set_of

_NORMAL_95 = 1.959963984540054


def rules_of(items: Table, item_sets: Table, least: float = 0.0) -> Table:
    """A → B for every significant set and its parts: confidence f(A ∪ B)/f(A) of at least `least`, the surest first.

    Its error is that of a ratio of two estimates from users of their own; of a part that is no single item and was not
    asked about nothing is said. Significant are those whose interval is above 0.
    """
    known = {**_by_set(items), **_by_set(item_sets)}
    found: list[tuple[float, float, str]] = []
    for whole, (f, error, significant) in _by_set(item_sets).items():
        for part, (of_part, its_error, it_is) in known.items():
            if part < whole and significant and it_is and of_part > 0.0:
                confidence = f / of_part
                spread = float(np.hypot(error / of_part, confidence * its_error / of_part))
                if confidence >= least:
                    found.append((confidence, spread, f"{_said(part)} → {_said(whole - part)}"))
    found.sort(key=lambda one: (-one[0], one[2]))
    sure, errors = (np.array([one[at] for one in found], np.float64) for at in (0, 1))
    interval = np.stack((sure - _NORMAL_95 * errors, sure + _NORMAL_95 * errors), axis=1)
    labels = tuple(one[2] for one in found)
    note = "the frequency is the confidence of a rule: of those who have the first, how many have the second as well"
    return Table(labels, sure, errors, interval, interval[:, 0] > 0.0, len(labels), item_sets.users, note)


def _by_set(table: Table) -> Mapping[frozenset[str], tuple[float, float, bool]]:
    """Frequency, error and significance of each."""
    rows = zip(table.labels, table.frequency.tolist(), table.stderr.tolist(), table.significant.tolist(), strict=True)
    return {frozenset(_items(label)): (f, error, significant) for label, f, error, significant in rows}


def _said(items: frozenset[str]) -> str:
    """A set, or the only item."""
    return label_of(items) if len(items) > 1 else next(iter(items))


def _items(label: str) -> tuple[str, ...]:
    """Of a set's label, or an item's name."""
    return set_of(label) if label.startswith("[") and label.endswith("]") else (label,)
