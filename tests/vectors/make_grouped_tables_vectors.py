"""Vectors of hidden tables, of what follows from docs/protocol.md alone: plain integers, no code of peos.

python tests/vectors/make_grouped_tables_vectors.py > tests/vectors/grouped_tables.json
"""

import json
import sys

WORD: int = 2**64
CASES = [([2], [1]), ([2, 3], [1, 1]), ([2, 3], [3, 1]), ([256] * 7, [1] * 7), ([4, 64, 1000], [5, 2, 7])]


def slots(tables: list[int], weights: list[int]) -> list[tuple[int, int]]:
    """(table, cell) of each slot."""
    pairs = enumerate(zip(tables, weights, strict=True))
    return [(table, cell) for table, (size, weight) in pairs for cell in range(size) for _ in range(weight)]


def main() -> None:
    """Print them."""
    words = []
    for tables, weights in CASES:
        every = slots(tables, weights)
        ends = [-(-place * WORD // len(every)) for place in (1, len(every) // 2, len(every) - 1)]
        for word in sorted({0, 1, WORD // 3, WORD - 1, *ends, *(end - 1 for end in ends)}):
            table, cell = every[word * len(every) // WORD]
            words.append({"tables": tables, "weights": weights, "word": word, "table": table, "cell": cell})
    json.dump({"words": words}, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
