"""Makes the vectors of all mechanisms but local hashing: `python -m tests.vectors.make_design_vectors` from the root.

Written from protocol.md §2 in plain integers, matrices and lists, and shares no code with the library.
"""

import json
from fractions import Fraction
from pathlib import Path

from tests.vectors.make_local_hash_vectors import digest, smallest_prime_from, splitmix64

HERE = Path(__file__).parent
HADAMARD = [(2, 1), (3, 2), (10, 1), (10, 3), (100, 4), (100, 7), (1000, 2), (1000, 9)]  # domain, signs
SUBSET = [(2, 1), (3, 2), (10, 1), (10, 4), (100, 50), (1000, 7), (5000, 3)]  # domain, size
UNARY = [(2, 1, 1), (70, 3, 1), (70, 5, 9), (33, 16, 40_000), (100, 8, 200)]  # domain, field_bits, tau
PROJECTED: list[dict[str, int | str]] = [
    {"analyzer": "", "question": "", "epoch": "", "domain": 2, "threshold": 2**62},
    {"analyzer": "00ff" * 16, "question": "größe?", "epoch": "2025-W07", "domain": 100, "threshold": 5**27},
]
FILTERS = [(10, 4, 8, 2, 4, 5), (70, 128, 8, 2, 16, 69), (33, 13, 9, 3, 64, 100), (5, 61, 2, 2, 16, 1)]
# domain, bits, field_bits, hashes, cohorts, tau
WORDS = [0, 1, 2**63, 2**64 - 1, 0x0123456789ABCDEF, 0xFEDCBA9876543210, 0x9E3779B97F4A7C15, 0x00000001FFFFFFFF]


def ranks(domain: int) -> list[int]:
    order = sorted(range(domain), key=lambda x: splitmix64(x, 1)[0])
    return [order.index(x) for x in range(domain)]


def product(a: int, b: int) -> int:
    """Of two polynomials, not reduced."""
    return 0 if not b else (a if b & 1 else 0) ^ product(a << 1, b >> 1)


def modulus(degree: int) -> int:
    """The smallest odd one of this degree that is no product of two of lower degrees."""
    low = range(2, 2**degree)
    composed = {product(a, b) for a in low for b in low if a.bit_length() + b.bit_length() == degree + 2}
    return min(p for p in range(2**degree + 1, 2 ** (degree + 1), 2) if p not in composed)


def hadamard(domain: int, signs: int) -> dict[str, object]:
    m = 1
    while 2**m < domain:
        m += 1
    field, places = modulus(m), ranks(domain)
    reports = []
    for word in WORDS:
        rows = [1 + (word >> 24) * (2**m - 1) // 2**40]
        while len(rows) < signs:
            following = 2 * rows[-1]
            rows.append(following if following < 2**m else following - 2**m ^ field - 2**m)
        told = [word >> i & 1 for i in range(signs)]
        support = [x for x in range(domain) if [bin(row & places[x]).count("1") % 2 for row in rows] == told]
        reports.append({"word": word, "rows": rows, "signs": told, "support": support})
    collision = Fraction(2 ** (m - signs) - 1, 2**m - 1)
    return {
        "domain": domain,
        "signs": signs,
        "degree": m,
        "modulus": field,
        "collision": str(collision),
        "reports": reports,
    }


def subset(domain: int, size: int) -> dict[str, object]:
    prime, places = smallest_prime_from(domain), ranks(domain)
    window = size * 2**32 // prime
    reports = []
    for word in WORDS:
        a, end = 1 + (word >> 32) * (prime - 1) // 2**32, word % 2**32
        at = [a * rank % prime * 2**32 // prime for rank in places]
        support = [x for x in range(domain) if (end - at[x]) % 2**32 < window]
        reports.append({"word": word, "a": a, "end": end, "places": at[:5], "support": support})
    return {"domain": domain, "size": size, "prime": prime, "window": window, "reports": reports}


def unary(domain: int, bits: int, tau: int) -> dict[str, object]:
    count = -(-domain * bits // 64)
    reports = []
    for word in WORDS:
        words = splitmix64(word, count)
        whole = sum(each * 2 ** (64 * j) for j, each in enumerate(words))
        fields = [whole // 2 ** (bits * i) % 2**bits for i in range(domain)]
        support = [i for i, field in enumerate(fields) if field < tau]
        reports.append({"words": words, "fields": fields[:5], "support": support})
    return {"domain": domain, "field_bits": bits, "tau": tau, "reports": reports}


def projected(case: dict[str, int | str]) -> dict[str, object]:
    salt = int.from_bytes(digest(case, "rmp", "threshold")[:8], "little")
    reports = []
    for word in WORDS:
        row, sign = word >> 32, word & 1
        signs = [splitmix64((salt + row * 2**32 + v) % 2**64, 1)[0] & 1 for v in range(int(case["domain"]))]
        support = [v for v, one in enumerate(signs) if one == sign]
        reports.append({"word": word, "row": row, "sign": sign, "support": support})
    return {**case, "salt": salt, "reports": reports}


def filtered(domain: int, bits: int, field_bits: int, hashes: int, cohorts: int, tau: int) -> dict[str, object]:
    count = -(-(bits * field_bits + cohorts.bit_length() - 1) // 64)
    reports = []
    for word in WORDS:
        words = splitmix64(word, count)
        whole = sum(each * 2 ** (64 * j) for j, each in enumerate(words))
        ones = [i for i in range(bits) if whole // 2 ** (field_bits * i) % 2**field_bits < tau]
        reports.append({"words": words, "ones": ones, "cohort": whole // 2 ** (field_bits * bits) % cohorts})
    filters = [
        [sorted({(h >> 32) * bits >> 32 for h in splitmix64(c * 2**32 + v, hashes)}) for v in range(min(domain, 6))]
        for c in range(cohorts)
    ]
    parameters = {"tau": tau, "field_bits": field_bits, "bits": bits, "hashes": hashes, "cohorts": cohorts}
    return {"domain": domain, "parameters": parameters, "filters": filters, "reports": reports}


def texts() -> dict[str, str]:
    made = {"hadamard": [hadamard(*case) for case in HADAMARD], "subset": [subset(*case) for case in SUBSET]}
    made["ue"] = [unary(*case) for case in UNARY]
    made["rmp"] = [projected(case) for case in PROJECTED]
    made["rappor"] = [filtered(*case) for case in FILTERS]
    return {name: json.dumps({"format": 1, "cases": cases}, ensure_ascii=False) + "\n" for name, cases in made.items()}


if __name__ == "__main__":
    for name, text in texts().items():
        (HERE / f"{name}.json").write_text(text, encoding="utf-8")
