"""Makes sampled.json: `python -m tests.vectors.make_sampled_vectors` from the checkout's root.

Written from protocol.md §2 and theorem 5.2.1 of the thesis in whole numbers and decimals; no code of the library.
"""

import json
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

from tests.vectors.make_local_hash_vectors import digest, smallest_prime_from, splitmix64

VECTORS = Path(__file__).with_name("sampled.json")
SETS: list[list[int]] = [[], [0], [1, 3], [0, 2, 3, 4], [0, 1, 2, 3, 4, 5, 6]]
DRAWN = [(7, 1, "1"), (7, 3, "1"), (7, 7, "0.5"), (128, 5, "4"), (1657, 10, "2")]  # d, ℓ, ε
HASHED: list[dict[str, int | str]] = [
    {"analyzer": "", "question": "", "epoch": "", "items": 7, "slots": 3, "cells": 4, "threshold": 2**63},
    {"analyzer": "a1" * 32, "question": "größe", "epoch": "1", "items": 40, "slots": 9, "cells": 7, "threshold": 5**27},
]
WORDS = [0, 1, 2**63, 2**64 - 1, 0x0123456789ABCDEF, 0x9E3779B97F4A7C15, 0x00000001FFFFFFFF]


def drawn(items: int, slots: int, epsilon: str) -> dict[str, Any]:
    """What is in each slot of some sets, the threshold, and the cell that a word tells."""
    cells = items + slots
    with localcontext() as exact:
        exact.prec = 80
        preimages = Decimal(2**64 // cells)
        # ε_l = ln(1 + T/(2^64 − T)·2^64/⌊2^64/k⌋/ℓ), so T/(2^64 − T) may be so much
        odds = (Decimal(epsilon).exp() - 1) * slots * preimages / 2**64
        threshold = int((2**64 * odds / (1 + odds)).to_integral_value("ROUND_FLOOR"))
        local = (1 + Decimal(threshold) / (2**64 - threshold) * 2**64 / preimages / slots).ln()
    held = []
    for one in SETS:
        most = max(len(one), slots)
        held.append({"set": one, "slots": [one[s] if s < len(one) else items + s - len(one) for s in range(most)]})
    told = [{"word": word, "cell": word * cells >> 64} for word in WORDS]
    return {
        "items": items,
        "slots": slots,
        "epsilon": epsilon,
        "threshold": threshold,
        "epsilon_local": f"{local:.15f}",
        "held": held,
        "told": told,
    }


def hashed(case: dict[str, int | str]) -> dict[str, Any]:
    """The items that a word supports: as of local hashing over items and dummies."""
    domain, cells = int(case["items"]) + int(case["slots"]), int(case["cells"])
    salt = int.from_bytes(digest({**case, "domain": domain})[:8], "little")
    prime = smallest_prime_from(max(domain, cells))
    order = sorted(range(domain), key=lambda x: splitmix64(x, 1)[0])
    reports = []
    for word in WORDS:
        first, second = splitmix64((salt + (word >> 32)) % 2**64, 2)
        a, b = 1 + first % (prime - 1), second % prime
        y = (word % 2**32) * cells >> 32
        hashes = [(a * order.index(x) + b) % prime % cells for x in range(int(case["items"]))]
        reports.append({"word": word, "support": [x for x, found in enumerate(hashes) if found == y]})
    return {**case, "reports": reports}


def text() -> str:
    """Of the file."""
    cases = {"drawn": [drawn(*one) for one in DRAWN], "hashed": [hashed(one) for one in HASHED]}
    return json.dumps({"format": 1, **cases}, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    VECTORS.write_text(text(), encoding="utf-8")
