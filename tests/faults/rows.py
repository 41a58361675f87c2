"""Which points one collection can show one after another, and which need one of their own."""

from peos.collection.lifecycle import State
from tests.faults.points import POINTS, Armed

# When these come depends on others, who may be past the points that follow; or they need a party that was never killed
# before. So each has a collection of its own.
ALONE = (
    "pass 2: root said",
    "receipt: about to be given",
    "inspection: dummies revealed",
    "inspection: one opening kept",
    "inspection: judged",
    "inspection: dummies seen",
    "inspection: rows found, not shown",
    "inspection: shown",
)


def points_of(party: str, end: State = State.PUBLISHED) -> list[Armed]:
    """Every point of a party, in the order in which a collection meets them."""
    return [
        (party, point)
        for point in POINTS
        if party in point.parties and point.end is end and point.name not in ALONE and not point.worker
    ]
