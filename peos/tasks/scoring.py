"""How near an answer is to the truth, where that is known: in demos, simulations and experiments.

Of equally frequent texts the smaller comes first, as in an answer, so that the k most frequent are always the same.
What an answer has too few of are misses.
"""

from collections import Counter
from collections.abc import Iterable, Sequence


def truth(held: Iterable[str], k: int) -> dict[str, int]:
    """The k most frequent of what users hold, the most frequent first, with their counts."""
    return dict(sorted(Counter(held).items(), key=lambda item: (-item[1], item[0]))[:k])


def score(held: Iterable[str], k: int, found: Sequence[str]) -> dict[str, float]:
    """F1, and the normalised cumulative rank: of k points for the most frequent and 1 for the last, the part found."""
    wanted = list(truth(held, k))
    hits = [len(wanted) - place for place, label in enumerate(wanted) if label in {*found}]
    most = len(wanted) * (len(wanted) + 1) // 2
    given = len(wanted) + max(len(found), len(wanted))
    return {"f1": 2 * len(hits) / given if given else 0.0, "ncr": sum(hits) / most if most else 0.0}


def missed(held: Iterable[str], least: float, found: Sequence[str]) -> list[str]:
    """What is held by the part `least` of the users or more, and was not found."""
    counts = Counter(held)
    users = counts.total()
    return sorted(label for label, count in counts.items() if count >= least * users and label not in {*found})
