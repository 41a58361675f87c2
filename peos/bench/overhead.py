"""`peos bench overhead`: what a collection costs each party, next to table 9.3 of the thesis.

Each row is measured at n and at n/2 users, and the difference scaled to a million: all costs grow linearly in n, and
what is made once (keys, 32 dummies, tables of the width that pays for a million) then counts for nothing. Times are
processor time, of one core. The thesis' shufflers and analyzer have 32 threads, and its PEOS never re-randomises.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Final

from peos.bench.machine import Row, machine
from peos.bench.parties import SCALED_TO, Measured, measure, per_user
from peos.crypto.randomness import system
from peos.crypto.schemes import SCHEMES
from peos.crypto.schemes import scheme as scheme_named
from peos.crypto.schemes.base import PrivateKey
from peos.protocols import DEFAULT, ShuffleProtocol
from peos.registry import PROTOCOLS
from peos.shuffle.schedule import Schedule

SHUFFLERS: Final = (3, 7)
USERS: Final = 4000
THREADS: Final = 1

THESIS: Final[Row] = {
    "source": "thesis, table 9.3: n = 1,000,000, reports of 64 bits, no fakes",
    "machine": "Intel Xeon Silver 4108, 1.80 GHz, 128 GB",
    "threads": 32,
    "rows": [
        {"protocol": protocol, "shufflers": shufflers, "user_ms": user, "user_bytes": sent}
        | {"shuffler_s": shuffling, "shuffler_mb": moved, "analyzer_s": decrypting, "analyzer_mb": delivered}
        for protocol, shufflers, user, sent, shuffling, moved, decrypting, delivered in (
            ("ss", 3, 0.24, 416, 49, 224, 49, 128),
            ("ss", 7, 0.49, 800, 50, 416, 49, 128),
            ("peos", 3, 1.6, 400, 0.2, 429.8, 65, 392),
            ("peos", 7, 1.6, 432, 0.7, 3293.3, 65, 408),
        )
    ],
}


def measure_all(
    users: int = USERS,
    shufflers: Iterable[int] = SHUFFLERS,
    schemes: Iterable[str] = (),
    *,
    key: Callable[[str], PrivateKey] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Row:
    """PEOS with every scheme, or those that are named; other protocols with their own. `key` is for tests."""
    names = [scheme_named(name).name for name in schemes] or list(SCHEMES)
    numbers = list(dict.fromkeys(shufflers))
    for number in numbers:
        Schedule(number)  # refuse what cannot be run before anything is measured
    found: list[Row] = []
    for name in dict.fromkeys(names):
        private = key(name) if key else scheme_named(name).generate(system())
        for number in numbers:
            progress(f"{name}, {number} shufflers, {users:,} users")
            found.append(_row(DEFAULT, name, number, users, private))
    for protocol, number in product(PROTOCOLS.values(), numbers):
        if protocol is not DEFAULT:
            progress(f"{protocol.name}, {number} shufflers, {users:,} users")
            found.append(_row(protocol, protocol.scheme(None), number, users))
    return {
        "machine": machine(),
        "threads": THREADS,
        "users": users,
        "scaled_to": SCALED_TO,
        "rows": found,
        "thesis": THESIS,
    }


def flat(rows: Iterable[Row]) -> Iterator[Row]:
    """A line of a table for each row, ours or the thesis': what it says at a million users."""
    for row in rows:
        whole = row.get("at_a_million", row) or {}
        yield {
            "protocol": row["protocol"],
            "scheme": row.get("scheme"),
            "r": row["shufflers"],
            "user ms": _rounded(row["user_ms"]),
            "user bytes": row["user_bytes"],
            **{shown: _rounded(whole.get(name)) for shown, name in _SHOWN.items()},
            "passes": (row.get("counts") or {}).get("passes"),
        }


_SHOWN: Final = {
    "shuf. s": "shuffler_s",
    "shuf. MB": "shuffler_mb",
    "anal. s": "analyzer_s",
    "anal. MB": "analyzer_mb",
}


def _row(protocol: ShuffleProtocol, scheme: str, shufflers: int, users: int, private: PrivateKey | None = None) -> Row:
    small, large = (measure(count, shufflers, protocol, private, rng=system()) for count in (users // 2, users))
    slope = per_user(small, large)
    return {
        "protocol": protocol.name,
        "scheme": scheme,
        "shufflers": shufflers,
        "user_ms": large.user_ms,
        "user_bytes": large.user_bytes,
        "measured": [_measured(one) for one in (small, large)],
        "at_a_million": {name: cost * SCALED_TO for name, cost in slope.items()},
        "counts": large.counts,
    }


def _measured(one: Measured) -> Row:
    return {"users": one.users, **one.costs()}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2 if value < 10 else 1)
