"""What one operation of an encryption scheme costs on one core, `phe` beside ours in the same run.

    python -m benchmarks.schemes [--json] [--count N]

Times are processor time of this process, so that others on the machine disturb little; each is the median of a few
repetitions, which alternate between phe and ours. Keys have the 3072 bits of production. Batches include the making
of their zeros from window tables already built; what building them costs is reported beside. Packed decryption depends
on the passes before it; `attacked` is with one hostile row in a thousand.
"""

import argparse
import json
import statistics
import time
from typing import Any, Final

import numpy as np
import phe
from phe.paillier import EncryptedNumber

from benchmarks import word_schemes
from benchmarks.measuring import Row, Work, machine, microseconds, peak_megabytes
from peos.crypto.randomness import Randomness, system
from peos.crypto.schemes import rows
from peos.crypto.schemes.base import Packed
from peos.crypto.schemes.paillier import Paillier, PaillierPublicKey
from peos.crypto.schemes.paillier_zeros import TABLES_PAY_FROM, WIDE_TABLES_PAY_FROM, PowerZeros

REPETITIONS: Final = 3
PHE_COUNT: Final = 16  # phe takes 25 ms an operation
DECRYPTIONS: Final = 64
SHUFFLED: Final = 1000  # rows of a packed decryption: one of them is hostile in the worst of its figures
PASSES: Final = (2, 3, 4)  # of 3 and 4, 5 and 6, 7 and 8 shufflers


def build_tables(public: PaillierPublicKey, rng: Randomness, expected: int) -> tuple[Any, Row]:
    """A zero source with tables, and what it cost to build."""
    memory, begun = peak_megabytes(), time.process_time()
    source: Any = public.zero_source(rng, expected=expected)
    seconds = time.process_time() - begun
    return source, {
        "scheme": "paillier",
        "of": "zeros",
        "expected": expected,
        "width": source.width,
        "seconds": seconds,
        "megabytes": peak_megabytes() - memory,
    }


def measure(count: int) -> Row:
    """All figures."""
    rng = system()
    private = Paillier().generate(rng)
    public = private.public
    narrow, narrow_row = build_tables(public, rng, TABLES_PAY_FROM)
    wide, wide_row = build_tables(public, rng, WIDE_TABLES_PAY_FROM)

    theirs = phe.PaillierPublicKey(int(public.modulus))
    their_private = phe.PaillierPrivateKey(theirs, int(private.p), int(private.q))
    plain, masks = rng.uint64(count), rng.uint64(count)
    ready = wide.zeros(count)
    sent = public.encrypt(plain, wide.zeros(count))
    their_sent = [int(c) for c in rows.integers(sent[:DECRYPTIONS])]
    words = plain[:PHE_COUNT].tolist()
    powers = PowerZeros(public.modulus, rng)

    def after(passes: int) -> Packed:
        row = public.encrypt(plain[:1], wide.zeros(1)).repeat(SHUFFLED, axis=0)
        for hop in range(1, passes + 1):
            row = public.remask(row, np.zeros(SHUFFLED, np.uint64), wide.zeros(SHUFFLED), hop=hop, rng=rng)
        return row

    shuffled = {passes: after(passes) for passes in PASSES}
    attacked = shuffled[PASSES[0]].copy()
    attacked[rng.integer_below(SHUFFLED)] = rows.pack(
        [1 + (public.modulus - 1) * public.modulus], public.ciphertext_bytes
    )[0]

    def decryption(name: str, given: Packed, passes: int) -> Work:
        return "paillier", name, lambda: private.decrypt_shuffled(given, passes=passes, rng=rng), SHUFFLED

    def their_rerandomise() -> None:
        for c, mask in zip(their_sent[:PHE_COUNT], words, strict=True):
            (EncryptedNumber(theirs, c) + mask).obfuscate()

    works: list[Work] = [
        ("phe", "encrypt", lambda: [theirs.raw_encrypt(m) for m in words], PHE_COUNT),
        ("paillier", "encrypt", lambda: public.encrypt(plain, wide.zeros(count)), count),
        ("paillier", "encrypt-10-bit-tables", lambda: public.encrypt(plain, narrow.zeros(count)), count),
        ("paillier", "encrypt-cold", lambda: public.encrypt(plain[:PHE_COUNT], powers.zeros(PHE_COUNT)), PHE_COUNT),
        ("paillier", "encrypt-ready-zeros", lambda: public.encrypt(plain, ready), count),
        ("phe", "rerandomise", their_rerandomise, PHE_COUNT),
        (
            "paillier",
            "rerandomise",
            lambda: public.remask(sent, masks, wide.zeros(count), hop=1, rng=rng),
            count,
        ),
        ("paillier", "rerandomise-ready-zeros", lambda: public.remask(sent, masks, ready, hop=1, rng=rng), count),
        ("phe", "decrypt", lambda: [their_private.raw_decrypt(c) for c in their_sent], DECRYPTIONS),
        ("paillier", "decrypt-one-by-one", lambda: private.decrypt(sent[:DECRYPTIONS]), DECRYPTIONS),
        *(decryption(f"decrypt-{passes}-passes", given, passes) for passes, given in shuffled.items()),
        decryption(f"decrypt-{PASSES[0]}-passes-attacked", attacked, PASSES[0]),
        ("paillier", "check", lambda: public.check(sent), count),
    ]
    if not np.array_equal(private.decrypt(sent[:DECRYPTIONS]), plain[:DECRYPTIONS]):
        raise SystemExit("what was measured does not decrypt")
    samples: list[list[float]] = [[] for _ in works]
    for _ in range(REPETITIONS):
        for sample, (_scheme, _operation, work, of) in zip(samples, works, strict=True):
            sample.append(microseconds(work, of))
    results = [
        {
            "scheme": scheme,
            "operation": operation,
            "microseconds": statistics.median(sample),
            "bytes": public.ciphertext_bytes,
        }
        for sample, (scheme, operation, _work, _of) in zip(samples, works, strict=True)
    ]
    cost: dict[tuple[Any, Any], Any] = {(row["scheme"], row["operation"]): row["microseconds"] for row in results}
    saved = cost["paillier", "encrypt-cold"] - cost["paillier", "encrypt-10-bit-tables"]
    saved_by_wide = cost["paillier", "encrypt-10-bit-tables"] - cost["paillier", "encrypt"]
    others = [word_schemes.measure(name, count, rng) for name in word_schemes.NAMES]
    theirs_rows = [row for found, _, _ in others for row in found]
    return {
        "machine": machine(),
        "bits": public.bits,
        "rows": results + theirs_rows,
        "tables": [narrow_row, wide_row, *(row for _, tables, _ in others for row in tables)],
        "keys": [key for _, _, key in others],
        "against_bars": word_schemes.against_bars(theirs_rows),
        "break_even": {
            "tables": round(narrow_row["seconds"] * 1e6 / saved),
            "wide_tables": round((wide_row["seconds"] - narrow_row["seconds"]) * 1e6 / saved_by_wide)
            if saved_by_wide > 0
            else None,
        },
        "times_faster_than_phe": {
            operation: cost["phe", theirs_called] / cost["paillier", operation]
            for operation, theirs_called in (
                ("encrypt", "encrypt"),
                ("encrypt-10-bit-tables", "encrypt"),
                ("encrypt-cold", "encrypt"),
                ("rerandomise", "rerandomise"),
                ("decrypt-one-by-one", "decrypt"),
                *((f"decrypt-{passes}-passes", "decrypt") for passes in PASSES),
                (f"decrypt-{PASSES[0]}-passes-attacked", "decrypt"),
            )
        },
    }


def show(found: Row) -> None:
    """The figures as text."""
    print(", ".join(f"{key} {value}" for key, value in found["machine"].items()))
    print(f"{found['bits']} bits, one core\n")
    for row in found["rows"]:
        faster = found["times_faster_than_phe"].get(row["operation"]) if row["scheme"] == "paillier" else None
        ratio = f"   {faster:6.1f} times phe's speed" if faster else ""
        print(f"{row['scheme']:10}{row['operation']:28}{row['microseconds']:12.1f} µs{row['bytes']:6} bytes{ratio}")
    print()
    for table in found["tables"]:
        what = f"{table['scheme']:10}tables of {table['width']} bits for {table['of']}"
        print(f"{what:44}{table['seconds']:8.3f} s{table['megabytes']:8.1f} MB")
    even = found["break_even"]
    print(f"paillier's pay from {even['tables']} zeros, wide ones from {even['wide_tables']}")
    word_schemes.show(found)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.schemes", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--count", type=int, default=1500, help="operations in a batch (default 1500)")
    options = parser.parse_args()
    if options.count < DECRYPTIONS:
        parser.error(f"--count must be at least {DECRYPTIONS}")
    found = measure(options.count)
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        show(found)


if __name__ == "__main__":
    main()
