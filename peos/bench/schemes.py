"""`peos bench schemes`: one operation of each encryption scheme on one core, ours and other libraries' in one run.

Keys have the 3072 bits of production. Batches include the making of their zeros from window tables already built; what
building them costs is reported separately. Packed decryption depends on the passes before it; `attacked` is with one
hostile row in a thousand. `phe` is measured in the same run, and SecretFlow's HEU where it is installed.
"""

import importlib.metadata
from collections.abc import Callable
from typing import Any, Final

import gmpy2
import numpy as np
from phe import paillier as phe

from peos.bench import words as word_schemes
from peos.bench.machine import (
    REPETITIONS,
    Row,
    Work,
    machine,
    medians,
    microseconds,
    optional,
    peak_megabytes,
    seconds,
)
from peos.crypto.randomness import Randomness, system
from peos.crypto.schemes import packing
from peos.crypto.schemes.base import KEY_BITS_FLOOR, Packed
from peos.crypto.schemes.paillier import Paillier, PaillierPrivateKey, PaillierPublicKey
from peos.crypto.schemes.paillier_zeros import WIDE_TABLES_PAY_FROM, PowerZeros, tables_pay_from

THEIR_COUNT: Final = 16  # phe takes 25 ms an operation
DECRYPTIONS: Final = 64
SHUFFLED: Final = 1000  # rows of a packed decryption: one of them is hostile in the worst of its figures
PASSES: Final = (2, 3, 4)  # of 3 and 4, 5 and 6, 7 and 8 shufflers
_MULTIPLICATIONS: Final = 2000
_OURS_AND_PHES: Final = {
    "encrypt": "encrypt",
    "encrypt-10-bit-tables": "encrypt",
    "encrypt-cold": "encrypt",
    "rerandomise": "rerandomise",
    "decrypt-one-by-one": "decrypt",
    **{f"decrypt-{passes}-passes": "decrypt" for passes in PASSES},
    f"decrypt-{PASSES[0]}-passes-attacked": "decrypt",
}


def measure(count: int, *, bits: int = KEY_BITS_FLOOR) -> Row:
    """All figures; `bits` is for tests."""
    rng = system()
    ours, tables, beside = _paillier(Paillier().generate(rng, bits=bits), count, rng)
    others = [word_schemes.measure(name, count, rng, bits=bits) for name in word_schemes.NAMES]
    words = [row for found, _, _ in others for row in found]
    cost = {(row["scheme"], row["operation"]): row["microseconds"] for row in ours}
    return {
        "machine": machine(),
        "bits": bits,
        "beside": beside,
        "rows": ours + words,
        "tables": [*tables, *(table for _, found, _ in others for table in found)],
        "keys": [key for _, _, key in others],
        "multiplications": [multiplication(size * bits, bits, rng) for size in (1, 2)],
        "against_bars": word_schemes.against_bars(words),
        "break_even": _break_even(cost, tables),
        **{
            f"times_faster_than_{library}": {
                operation: cost[library, theirs] / cost["paillier", operation]
                for operation, theirs in _OURS_AND_PHES.items()
                if (library, theirs) in cost
            }
            for library in beside
        },
    }


def _paillier(private: PaillierPrivateKey, count: int, rng: Randomness) -> tuple[list[Row], list[Row], dict[str, str]]:
    public = private.public
    narrow, narrow_row = _tables(public, rng, tables_pay_from(public.modulus.bit_length()))
    wide, wide_row = _tables(public, rng, WIDE_TABLES_PAY_FROM)
    plain, masks = rng.uint64(count), rng.uint64(count)
    ready = wide.zeros(count)
    sent = public.encrypt(plain, wide.zeros(count))
    assert np.array_equal(private.decrypt(sent[:DECRYPTIONS]), plain[:DECRYPTIONS]), "what is measured decrypts"
    powers = PowerZeros(public.modulus, rng)
    few = min(THEIR_COUNT, count)

    def after(passes: int) -> Packed:
        row = public.encrypt(plain[:1], wide.zeros(1)).repeat(SHUFFLED, axis=0)
        for hop in range(1, passes + 1):
            row = public.remask(row, np.zeros(SHUFFLED, np.uint64), wide.zeros(SHUFFLED), hop=hop, rng=rng)
        return row

    shuffled = {passes: after(passes) for passes in PASSES}
    attacked = shuffled[PASSES[0]].copy()
    hostile = 1 + (public.modulus - 1) * public.modulus
    attacked[rng.integer_below(SHUFFLED)] = packing.pack([hostile], public.ciphertext_bytes)[0]

    def decryption(name: str, given: Packed, passes: int) -> Work:
        return "paillier", name, lambda: private.decrypt_shuffled(given, passes=passes, rng=rng), SHUFFLED

    works: list[Work] = [
        ("paillier", "encrypt", lambda: public.encrypt(plain, wide.zeros(count)), count),
        ("paillier", "encrypt-10-bit-tables", lambda: public.encrypt(plain, narrow.zeros(count)), count),
        ("paillier", "encrypt-cold", lambda: public.encrypt(plain[:few], powers.zeros(few)), few),
        ("paillier", "encrypt-ready-zeros", lambda: public.encrypt(plain, ready), count),
        ("paillier", "rerandomise", lambda: public.remask(sent, masks, wide.zeros(count), hop=1, rng=rng), count),
        ("paillier", "rerandomise-ready-zeros", lambda: public.remask(sent, masks, ready, hop=1, rng=rng), count),
        ("paillier", "decrypt-one-by-one", lambda: private.decrypt(sent[:DECRYPTIONS]), min(DECRYPTIONS, count)),
        *(decryption(f"decrypt-{passes}-passes", given, passes) for passes, given in shuffled.items()),
        decryption(f"decrypt-{PASSES[0]}-passes-attacked", attacked, PASSES[0]),
        ("paillier", "check", lambda: public.check(sent), count),
    ]
    their_works, beside = [], {}
    for name, found in {"phe": _phe(private, plain[:few], sent[:few]), "heu": heu(public.bits, plain[:few])}.items():
        beside[name] = found[1]
        their_works += found[0]
    return medians([*their_works, *works], public.ciphertext_bytes), [narrow_row, wide_row], beside


def _phe(private: PaillierPrivateKey, plain: Any, sent: Packed) -> tuple[list[Work], str]:
    """The operations of phe, the reference, under the same key."""
    secret = private.to_phe()
    public = secret.public_key
    words, ciphertexts = plain.tolist(), [int(c) for c in packing.integers(sent)]
    of = len(words)

    def rerandomise() -> None:
        for c, mask in zip(ciphertexts, words, strict=True):
            (phe.EncryptedNumber(public, c) + mask).obfuscate()

    return [
        ("phe", "encrypt", lambda: [public.raw_encrypt(m) for m in words], of),
        ("phe", "rerandomise", rerandomise, of),
        ("phe", "decrypt", lambda: [secret.raw_decrypt(c) for c in ciphertexts * 4], 4 * of),
    ], importlib.metadata.version("phe")


def heu(bits: int, plain: Any) -> tuple[list[Work], str]:
    """SecretFlow's Paillier under a key of its own; it re-randomises by adding a fresh encryption."""
    library, version = optional("heu.phe", "sf-heu")
    if library is None:
        return [], version
    kit = library.setup(library.SchemaType.ZPaillier, bits)
    encryptor, evaluator, decryptor = kit.encryptor(), kit.evaluator(), kit.decryptor()
    words = [word >> 1 for word in plain.tolist()]  # its integers are signed
    sent = [encryptor.encrypt_raw(word) for word in words]
    of = len(words)
    return [
        ("heu", "encrypt", lambda: [encryptor.encrypt_raw(word) for word in words], of),
        ("heu", "rerandomise", lambda: [evaluator.add(c, encryptor.encrypt_raw(7)) for c in sent], of),
        ("heu", "decrypt", lambda: [decryptor.decrypt_raw(c) for c in sent], of),
    ], version


def multiplication(bits: int, factor_bits: int, rng: Randomness) -> Row:
    """A residue times a factor, modulo an odd number of `bits` bits: what all the operations above consist of."""
    modulus = gmpy2.mpz(rng.integer_below(2 ** (bits - 1)) | 2 ** (bits - 1) | 1)
    residue = gmpy2.mpz(rng.integer_below(int(modulus)))
    factor = gmpy2.mpz(rng.integer_below(2**factor_bits))

    def work() -> None:
        product = residue
        for _ in range(_MULTIPLICATIONS):
            product = product * factor % modulus

    took = sorted(microseconds(work, _MULTIPLICATIONS) for _ in range(REPETITIONS))
    return {"bits": bits, "factor_bits": factor_bits, "microseconds": took[REPETITIONS // 2]}


def _tables(public: PaillierPublicKey, rng: Randomness, expected: int) -> tuple[Any, Row]:
    """A zero source with tables, and what it cost to build."""
    memory = peak_megabytes()
    source, took = seconds(lambda: public.zero_source(rng, expected=expected))
    row = {"scheme": "paillier", "of": "zeros", "expected": expected, "width": source.width, "seconds": took}
    return source, {**row, "megabytes": peak_megabytes() - memory}


def _break_even(cost: dict[tuple[str, str], float], tables: list[Row]) -> Row:
    """From how many zeros on tables pay, and wide ones in place of narrow ones."""

    def pays(extra_seconds: float, before: str, after: str) -> int | None:
        saved = cost["paillier", before] - cost["paillier", after]
        return round(extra_seconds * 1e6 / saved) if saved > 0 else None

    narrow, wide = (table["seconds"] for table in tables)
    return {
        "tables": pays(narrow, "encrypt-cold", "encrypt-10-bit-tables"),
        "wide_tables": pays(wide - narrow, "encrypt-10-bit-tables", "encrypt"),
    }


def lines(found: Row, echo: Callable[[str], None]) -> None:
    """What is not in the table of operations, in words."""
    for library, version in found["beside"].items():
        echo(f"{library}: {version}")
    for table in found["tables"]:
        what = f"{table['scheme']}: tables of {table['width']} bits for {table['of']}"
        echo(f"{what:44}{table['seconds']:8.3f} s{table['megabytes']:8.1f} MB")
    for operation, times in found["times_faster_than_phe"].items():
        echo(f"paillier {operation}: {times:.1f} times phe's speed")
    for row in found["against_bars"]:
        echo(f"{row['scheme']} {row['operation']}: {row['milliseconds']:.3f} ms, bar {row['bar']} ms")
    for key in found["keys"]:
        echo(f"{key['scheme']}: a key takes {key['seconds']:.2f} s, of {key['made']} the longest {key['longest']:.2f}")
    for row in found["multiplications"]:
        echo(f"a factor of {row['factor_bits']} bits modulo {row['bits']}: {row['microseconds']:.2f} µs")
