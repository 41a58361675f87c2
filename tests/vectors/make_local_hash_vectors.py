"""Makes local_hash.json: `python tests/vectors/make_local_hash_vectors.py` from the checkout's root.

Written from protocol.md §2 and the digest's docstring in plain integers, and shares no code with the library.
"""

import hashlib
import json
from fractions import Fraction
from pathlib import Path

VECTORS = Path(__file__).with_name("local_hash.json")
MASK = 2**64 - 1
CASES: list[dict[str, int | str]] = [
    {"analyzer": "", "question": "", "epoch": "", "domain": 100, "cells": 7, "threshold": 2**63},
    {
        "analyzer": "00ff" * 16,
        "question": "colour?",
        "epoch": "2025-W07",
        "domain": 915,
        "cells": 64,
        "threshold": 5**27,
    },
    {"analyzer": "a1" * 32, "question": "größe", "epoch": "", "domain": 10, "cells": 1000, "threshold": 2**64 - 2**50},
    {"analyzer": "", "question": "", "epoch": "1", "domain": 2, "cells": 2, "threshold": 2**62},
]
SEEDS = [0, 1, 2, 0x80000000, 0xDEADBEEF, 2**32 - 1]
NUMBERS = [0, 1, 2**31, 0x9ABCDEF0, 2**32 - 1]


def splitmix64(state: int, outputs: int) -> list[int]:
    found = []
    for _ in range(outputs):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        found.append(z ^ (z >> 31))
    return found


def digest(case: dict[str, int | str], name: str = "solh", *parameters: str) -> bytes:
    def field(content: bytes) -> bytes:
        return len(content).to_bytes(4, "big") + content

    parts = [b"peos mechanism 1", bytes.fromhex(str(case["analyzer"])), str(case["question"]).encode()]
    parts += [str(case["epoch"]).encode(), name.encode(), int(case["domain"]).to_bytes(8, "big")]
    for key in parameters or ("cells", "threshold"):
        parts += [key.encode(), int(case[key]).to_bytes(8, "big")]
    return hashlib.sha256(b"".join(field(part) for part in parts)).digest()


def smallest_prime_from(number: int) -> int:
    while number < 2 or any(number % factor == 0 for factor in range(2, int(number**0.5) + 1)):
        number += 1
    return number


def vectors_of(case: dict[str, int | str]) -> dict[str, object]:
    domain, cells = int(case["domain"]), int(case["cells"])
    salt = int.from_bytes(digest(case)[:8], "little")
    prime = smallest_prime_from(max(domain, cells))
    order = sorted(range(domain), key=lambda x: splitmix64(x, 1)[0])
    ranks = [0] * domain
    for rank, x in enumerate(order):
        ranks[x] = rank
    sampled = sorted({0, 1, 2, domain // 2, domain - 1} & set(range(domain)))
    functions, reports = [], []
    for seed in SEEDS:
        first, second = splitmix64((salt + seed) & MASK, 2)
        a, b = 1 + first % (prime - 1), second % prime
        table = [(a * ranks[x] + b) % prime % cells for x in range(domain)]
        functions.append({"seed": seed, "a": a, "b": b, "hash": [[x, table[x]] for x in sampled]})
        for z in NUMBERS:
            y = z * cells >> 32
            support = [x for x in range(domain) if table[x] == y]
            reports.append({"word": seed << 32 | z, "seed": seed, "y": y, "support": support})
    residues = [len(range(j, prime, cells)) for j in range(cells)]
    numbers = [-(-(y + 1) * 2**32 // cells) + (-y * 2**32 // cells) for y in range(cells)]
    collision = Fraction(sum(n * (n - 1) for n in residues), prime * (prime - 1))
    match = Fraction(sum(n * m for n, m in zip(residues, numbers, strict=True)), prime << 32)
    return {
        **case,
        "digest": digest(case).hex(),
        "salt": salt,
        "prime": prime,
        "ranks_sha256": hashlib.sha256(b"".join(rank.to_bytes(4, "big") for rank in ranks)).hexdigest(),
        "ranks": [[x, ranks[x]] for x in sampled],
        "collision_probability": str(collision),
        "match_probability": str(match),
        "functions": functions,
        "reports": reports,
    }


def text() -> str:
    return json.dumps({"format": 1, "cases": [vectors_of(case) for case in CASES]}, indent=None, ensure_ascii=False)


if __name__ == "__main__":
    VECTORS.write_text(text() + "\n", encoding="utf-8")
