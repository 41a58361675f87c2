"""RDC: a range as several sums of nodes, added and subtracted, averaged (Xu et al., VLDB 2020, section 6).

Sums of fewer nodes weigh more, as if all nodes erred alike and independently of each other.
"""

from itertools import product

from peos.tasks.ranges.levels import Levels, Node

Sum = tuple[Node, ...]


def rdc(levels: Levels, first: int, last: int, k: int) -> list[Node]:
    """The k shortest sums of nodes that are the range, by weights ∝ 1/length; each node once."""
    sums = shortest(levels, first, last, k)
    whole = sum(1.0 / len(one) for one in sums)
    times: dict[tuple[int, int], float] = {}
    for one in sums:
        for level, place, sign in one:
            times[level, place] = times.get((level, place), 0.0) + sign / len(one) / whole
    return [Node(*where, weight) for where, weight in times.items()]


def shortest(levels: Levels, first: int, last: int, k: int) -> list[Sum]:
    """Sums of nodes with signs that come to the cells from `first` to before `last`, the shortest first."""
    return [one for one in _inside(levels, Node(0, 0), first, last, k + 1) if one][:k]


def _inside(levels: Levels, node: Node, first: int, last: int, k: int) -> list[Sum]:
    """What of the range is in a node: its children's parts, or all of it without what is outside the range."""
    start, end = levels.ends(node.level, node.place)
    first, last = max(first, start), min(last, end)
    if first >= last:
        return [()]
    if node.level == levels.height:
        return [(node,)]
    if (first, last) == (start, end):
        return _best([(node,), *_joined(levels, node, first, last, k)], k)
    without = [
        (node, *(Node(*one[:2], -one.times) for one in left + right))
        for left, right in product(
            _joined(levels, node, start, first, k) if start < first else [()],
            _joined(levels, node, last, end, k) if last < end else [()],
        )
    ]
    return _best([*_joined(levels, node, first, last, k), *without], k)


def _joined(levels: Levels, node: Node, first: int, last: int, k: int) -> list[Sum]:
    """The children's parts of the range, together."""
    width = levels.width(node.level + 1)
    found: list[Sum] = [()]
    for child in range(first // width, -(-last // width)):
        parts = _inside(levels, Node(node.level + 1, child), first, last, k)
        found = _best([one + part for one in found for part in parts], k)
    return found


def _best(sums: list[Sum], k: int) -> list[Sum]:
    return sorted(dict.fromkeys(sums), key=len)[:k]
