"""`peos bench count`: the support counts of local hashing, against a vectorised xxhash over all pairs, in one run.

The other way is what implementations of local hashing do: hash every value of the domain under each report's seed with
xxhash. It is given every advantage that numpy alone offers: XXH32 of a value's four bytes without branches, in blocks
that stay in the processor's cache, what depends on the value alone computed once, and the hash reduced to [0, d') by
⌊h·d' / 2^32⌋, so that "the report supports the value" is one comparison and no division. It does the same number of
operations for every pair, so a slice of the reports is timed and scaled. Calling an xxhash library once a pair is
slower than this; a loop compiled for it would be faster, and is not something that Python with numpy has.
"""

import time
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peos.bench.machine import REPETITIONS, Row, machine
from peos.chunks import chunks
from peos.crypto.randomness import Randomness, system
from peos.ldp.local_hash import LocalHash

REPORTS: Final = 1_000_000
DOMAIN: Final = 42_178
CELLS: Final = 705
EPSILON: Final = 4.5  # says how reports are drawn; the work does not depend on it
SLICE: Final = 200  # reports: eight million pairs
BAR: Final = 100
_BLOCK: Final = 1 << 16  # values at a time: a few vectors of 256 KB at most; smaller ones lose more to their calls
_FEW: Final = 255  # reports counted in bytes, which are the quickest to add
U32 = NDArray[np.uint32]
_P2, _P3, _P4, _P5 = (np.uint32(p) for p in (2246822519, 3266489917, 668265263, 374761393))


def xxh32(premultiplied: U32, seed: int, out: U32, spare: U32) -> None:
    """XXH32 of the four bytes of each value under a seed; `premultiplied` is value · P3 (mod 2^32)."""
    np.add(premultiplied, np.uint32((seed + int(_P5) + 4) % 2**32), out=out)
    np.right_shift(out, np.uint32(15), out=spare)
    np.left_shift(out, np.uint32(17), out=out)
    np.bitwise_or(out, spare, out=out)
    np.multiply(out, _P4, out=out)
    for shift, factor in ((15, _P2), (13, _P3), (16, None)):
        np.right_shift(out, np.uint32(shift), out=spare)
        np.bitwise_xor(out, spare, out=out)
        if factor is not None:
            np.multiply(out, factor, out=out)


def premultiply(values: NDArray[np.int64]) -> U32:
    """What of XXH32 depends on the value alone."""
    return values.astype(np.uint32) * _P3


def over_all_pairs(seeds: NDArray[np.uint32], answers: NDArray[np.int64], domain: int, cells: int) -> NDArray[np.int64]:
    """For each value: how many reports (seed, y) have ⌊XXH32_seed(value)·d' / 2^32⌋ = y."""
    counts = np.zeros(domain, np.int64)
    prepared = premultiply(np.arange(domain))
    # The hashes that fall on cell y are those from ⌈y·2^32/d'⌉ to just before the next cell's.
    first = [-(-(cell << 32) // cells) for cell in range(cells + 1)]
    for part in chunks(domain, _BLOCK):
        block = prepared[part]
        hashed, spare = np.empty_like(block), np.empty_like(block)
        hit, few = np.empty(len(block), np.bool_), np.zeros(len(block), np.uint8)
        for number, (seed, answer) in enumerate(zip(seeds.tolist(), answers.tolist(), strict=True), start=1):
            xxh32(block, seed, hashed, spare)
            low = first[answer]
            np.subtract(hashed, np.uint32(low), out=hashed)
            np.less(hashed, np.uint32(first[answer + 1] - low), out=hit)
            np.add(few, hit.view(np.uint8), out=few)
            if number % _FEW == 0 or number == len(seeds):
                counts[part] += few
                few[:] = 0
    return counts


def measure(
    reports: int = REPORTS,
    slice_: int = SLICE,
    *,
    domain: int = DOMAIN,
    cells: int = CELLS,
    rng: Randomness | None = None,
) -> Row:
    """Seconds of both ways for so many reports; each the median of a few repetitions, which alternate."""
    mechanism = LocalHash(domain, EPSILON, d_prime=cells)
    words = mechanism.randomize(np.arange(reports) % domain, rng or system())
    seeds, answers = mechanism.decode(words[:slice_])
    narrow = seeds.astype(np.uint32)
    mechanism.support_counts(words[:1])  # the permutation of the domain is made once a collection
    theirs: list[float] = []
    ours: list[float] = []
    for _ in range(REPETITIONS):
        for samples, work in (
            (ours, partial(mechanism.support_counts, words)),
            (theirs, partial(over_all_pairs, narrow, answers, domain, cells)),
        ):
            begun = time.process_time()
            work()
            samples.append(time.process_time() - begun)
    seconds = sorted(ours)[REPETITIONS // 2]
    sliced = sorted(theirs)[REPETITIONS // 2]
    scaled = sliced * reports / len(narrow)
    return {
        "machine": machine(),
        "reports": reports,
        "domain": domain,
        "d_prime": cells,
        "rows": [
            {"method": "walked progressions", "reports": reports, "seconds": seconds, "for_all_reports": seconds},
            {"method": "xxhash of all pairs", "reports": len(narrow), "seconds": sliced, "for_all_reports": scaled},
        ],
        "steps_a_report": mechanism.family.prime / cells,
        "nanoseconds_a_pair": sliced / (len(narrow) * domain) * 1e9,
        "times_faster": scaled / seconds,
        "bar": BAR,
    }
