"""Vectors of hashes of keys, of what follows from docs/protocol.md alone: plain integers, no code of peos.

python tests/vectors/make_grouped_hash_vectors.py > tests/vectors/grouped_hash.json
"""

import json
import sys

WORD: int = 2**64


def splitmix64(state: int, output: int) -> int:
    """The output-th word of the generator from this state."""
    z: int = (state + output * 0x9E3779B97F4A7C15) % WORD
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def cell(bits: int, salt: int, seed: int, parent: int, ext: int) -> int:
    """H of the key (parent, ext)."""
    a1, a2, a3, b, b_ext = (splitmix64((seed + salt) % WORD, output) for output in range(1, 6))
    of_parent = (a1 * (parent >> 32) + a2 * (parent % 2**32) + b) % WORD >> (64 - bits)
    of_ext = (a3 * ext + b_ext) % WORD >> (64 - bits)
    return (of_parent + of_ext) % (1 << bits)


def group(seed: int, weights: list[int]) -> int:
    """Which group the seed belongs to."""
    return next(j for j in range(len(weights)) if seed < sum(weights[: j + 1]) * 2**32 // sum(weights))


def main() -> None:
    """Print them."""
    hashes = [
        {"bits": bits, "salt": salt, "seed": seed, "parent": parent, "ext": ext,
         "cell": cell(bits, salt, seed, parent, ext)}
        for bits in (1, 8, 16)
        for salt in (0, 2**64 - 1)
        for seed in (0, 1, 2**32 - 1)
        for parent, ext in ((0, 0), (0x6162, 0x63), (2**64 - 1, 2**20 - 1))
    ]  # fmt: skip
    groups = [
        {"weights": weights, "seed": seed, "group": group(seed, weights)}
        for weights in ([1], [1, 3], [1, 1, 2], [65536, 1, 1])
        for seed in (0, 1, 2**30 - 1, 2**30, 2**31, 2**32 - 32768, 2**32 - 1)
    ]
    json.dump({"hashes": hashes, "groups": groups}, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
