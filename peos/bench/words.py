"""DGK and Joye-Libert at 3072 bits: each operation, key generation, tables; against the bars and the thesis' figures.

`peos bench schemes` runs it with the rest. The thesis (§9.6.4) took 1.6 ms to encrypt and 2.1 ms to decrypt.
"""

import statistics
import sys
from functools import partial
from typing import Any, Final

import gmpy2
import numpy as np

from peos.bench.machine import Row, Work, medians, seconds
from peos.crypto.randomness import Randomness
from peos.crypto.schemes import packing, scheme
from peos.crypto.schemes.base import PublicKey
from peos.crypto.schemes.dgk import DGKPrivateKey
from peos.crypto.schemes.dgk_zeros import TABLES_PAY_FROM, WIDE_TABLES_PAY_FROM
from peos.crypto.schemes.fixed_base import word_table
from peos.crypto.schemes.pohlig_hellman import word_logarithm
from peos.crypto.schemes.windows import Table
from peos.crypto.schemes.word_keys import WordPublicKey

NAMES: Final = ("dgk", "jl")
KEYS: Final = 5
COLD: Final = 32  # reports encrypted one by one, without tables
THESIS_MS: Final = {"encrypt": 1.6, "decrypt": 2.1}
BARS_MS: Final = {
    ("dgk", "encrypt"): 0.25,
    ("dgk", "decrypt"): 0.25,
    ("jl", "encrypt"): 0.17,
    ("jl", "rerandomise"): 0.17,
    ("jl", "decrypt"): 1.0,
}


def megabytes(table: Table) -> float:
    """What a table's integers take."""
    return sum(sys.getsizeof(entry) for row in table for entry in row) / 1e6


def measure(name: str, count: int, rng: Randomness, *, bits: int) -> tuple[list[Row], list[Row], Row]:
    """The operations, the tables, and what a key takes to be made."""
    made = [seconds(lambda: scheme(name).generate(rng, bits=bits)) for _ in range(KEYS)]
    private: Any = made[0][0]
    public = private.public
    assert isinstance(public, WordPublicKey), "both schemes' keys are"
    tables = _tables(name, private, rng)
    source = public.zero_source(rng, expected=WIDE_TABLES_PAY_FROM)
    plain, masks = rng.uint64(count), rng.uint64(count)
    ready = source.zeros(count)
    sent = public.encrypt(plain, ready)
    assert np.array_equal(private.decrypt(sent), plain), "what is measured decrypts"

    def cold() -> None:
        for at in range(COLD):
            public.encrypt(plain[at : at + 1], public.zero_source(rng).zeros(1))

    works: list[Work] = [
        (name, "encrypt", lambda: public.encrypt(plain, source.zeros(count)), count),
        (name, "encrypt-cold", cold, COLD),
        (name, "encrypt-ready-zeros", lambda: public.encrypt(plain, ready), count),
        (name, "rerandomise", lambda: public.remask(sent, masks, source.zeros(count), hop=1, rng=rng), count),
        (name, "rerandomise-ready-zeros", lambda: public.remask(sent, masks, ready, hop=1, rng=rng), count),
        (name, "decrypt", lambda: private.decrypt(sent), count),
        (name, "check", lambda: public.check(sent), count),
    ]
    if isinstance(private, DGKPrivateKey):
        works += _of_dgk(private, plain, count, rng)
    found = medians(works, public.ciphertext_bytes)
    taken = [of for _, of in made]
    return found, tables, {"scheme": name, "seconds": statistics.mean(taken), "longest": max(taken), "made": KEYS}


def _of_dgk(private: DGKPrivateKey, plain: Any, count: int, rng: Randomness) -> list[Work]:
    """What only DGK has: narrower tables, statistical ones, rows from outside its groups."""
    public = private.public
    narrow = public.zero_source(rng, expected=TABLES_PAY_FROM)
    statistical = public.zero_source(rng, expected=WIDE_TABLES_PAY_FROM, statistical=True)
    strange = packing.pack([4 + at for at in range(COLD)], public.ciphertext_bytes)
    return [
        ("dgk", "encrypt-8-bit-tables", lambda: public.encrypt(plain, narrow.zeros(count)), count),
        ("dgk", "encrypt-statistical", lambda: public.encrypt(plain, statistical.zeros(count)), count),
        ("dgk", "decrypt-strangers", lambda: private.decrypt(strange), COLD),
    ]


def _tables(name: str, private: Any, rng: Randomness) -> list[Row]:
    """Seconds and megabytes of every table that a process may build."""
    public: PublicKey = private.public
    found = []
    words, took = seconds(lambda: word_table(private.public.base, private.public.modulus))
    found.append({"scheme": name, "of": "words", "width": 8, "seconds": took, "megabytes": megabytes(words)})
    if name == "dgk":
        for expected in (TABLES_PAY_FROM, WIDE_TABLES_PAY_FROM):
            source, took = seconds(partial(public.zero_source, rng, expected=expected))
            size = megabytes(source._table)
            found.append({"scheme": name, "of": "zeros", "width": source.width, "seconds": took, "megabytes": size})
    power = private.v_p if isinstance(private, DGKPrivateKey) else private.p >> 64
    base = gmpy2.powmod(private.public.base, power, private.p)
    logarithm, took = seconds(lambda: word_logarithm(base, private.p))
    size = megabytes([list(logarithm._leaves), *logarithm._inverses]) + sys.getsizeof(logarithm._leaves) / 1e6
    found.append({"scheme": name, "of": "logarithms", "width": 16, "seconds": took, "megabytes": size})
    return found


def against_bars(found: list[Row]) -> list[Row]:
    """Each figure that has a bar, as a part of it, and how many times sooner than the thesis'."""
    cost = {(row["scheme"], row["operation"]): row["microseconds"] / 1e3 for row in found}
    return [
        {
            "scheme": name,
            "operation": operation,
            "milliseconds": cost[name, operation],
            "bar": bar,
            "of_the_bar": cost[name, operation] / bar,
            "times_faster_than_the_thesis": THESIS_MS[operation] / cost[name, operation]
            if operation in THESIS_MS
            else None,
        }
        for (name, operation), bar in BARS_MS.items()
    ]
