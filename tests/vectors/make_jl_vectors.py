"""Writes jl.json and jl_bad.json: `python -m tests.vectors.make_jl_vectors`.

An independent account of Joye and Libert's scheme with k = 64: Python's integers and `pow`, decryption bit by bit as
in the paper, a Jacobi symbol by reciprocity; nothing of the project.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from tests.vectors.numbers_by_hand import (
    WORD,
    big,
    bit_by_bit,
    encoded,
    first_unit,
    jacobi,
    number,
    prime,
    probably_prime,
    subgroup_prime,
    units,
    word_prime,
)

HERE = Path(__file__).parent


def key_of(bits: int) -> tuple[int, int, int]:
    """p, q and y of the vectors' key of that length."""
    p, q = word_prime(f"jl p{bits}", bits // 2), prime(f"jl q{bits}", bits // 2, mod4=3)
    y, i = 1, 0
    while not jacobi(y, p) == jacobi(y, q) == -1:
        y, i = number(f"jl y{bits} {i}", bits) % (p * q), i + 1
    return p, q, y


def public(n: int, y: int, bits: int, version: int = 1) -> str:
    """An encoded public key."""
    return encoded(bits, (n, bits), (y, bits), version=version)


def private(p: int, q: int, y: int, bits: int, version: int = 1) -> str:
    """An encoded private key."""
    return encoded(bits, (p, bits // 2), (q, bits // 2), (y, bits), version=version)


def decrypted(c: int, p: int, y: int) -> int:
    """The logarithm of c^p' to the base y^p' mod p."""
    odd = (p - 1) // WORD
    return bit_by_bit(pow(c, odd, p), pow(y, odd, p), p)


def good(bits: int) -> dict[str, Any]:
    """One key, encryptions under it with fixed units, three passes, and rows that no user would make but may send."""
    p, q, y = key_of(bits)
    n, size = p * q, bits // 8
    data = public(n, y, bits)
    plain = [0, 1, WORD - 1, 1 << 63, *(number(f"jl plain {bits}/{i}", 64) for i in range(4))]
    xs = units(f"jl encrypt {bits}", len(plain), n)
    current = [pow(y, m, n) * pow(x, WORD, n) % n for m, x in zip(plain, xs, strict=True)]
    words, steps, encrypted = list(plain), [], [big(c, size) for c in current]
    for hop in (1, 2, 3):
        masks = [number(f"jl mask {bits}/{hop}/{i}", 64) for i in range(len(plain))]
        fresh = units(f"jl hop {bits}/{hop}", len(plain), n)
        current = [c * pow(y, mask, n) * pow(x, WORD, n) % n for c, mask, x in zip(current, masks, fresh, strict=True)]
        words = [(m + mask) % WORD for m, mask in zip(words, masks, strict=True)]
        if [decrypted(c, p, y) for c in current] != words:
            raise SystemExit("the vectors do not decrypt to what they hold")
        steps.append(
            {
                "masks": masks,
                "zeros": [big(pow(x, WORD, n), size) for x in fresh],
                "ciphertexts": [big(c, size) for c in current],
                "words": words,
            }
        )
    any_rows = [1, n - y, *(first_unit(f"jl any {bits}/{i}", n, 1) for i in range(4))]
    any_rows = [c for c in any_rows if jacobi(c, n) == 1]
    return {
        "bits": bits,
        "public": data,
        "private": private(p, q, y, bits),
        "fingerprint": hashlib.sha256(b"\x02jl" + bytes.fromhex(data)).hexdigest(),
        "plain": plain,
        "zeros": [big(pow(x, WORD, n), size) for x in xs],
        "ciphertexts": encrypted,
        "passes": steps,
        "any": [{"row": big(c, size), "word": decrypted(c, p, y)} for c in any_rows],
    }


def bad_public() -> list[dict[str, Any]]:
    """Public keys that must be refused, and the words in which."""
    p, q, y = key_of(512)
    n = p * q
    right = public(n, y, 512)
    blum = prime("jl blum", 256, mod4=3) * q
    small = 1048573
    rest = prime("jl cofactor", 492, mod4=3)
    while not (small * rest % 4 == 3 and probably_prime(rest)):
        rest += 2
    root = prime("jl root", 256)
    alone = prime("jl alone", 512, mod4=3)
    cases = [
        ("version 0", public(n, y, 512, version=0), "has version 0"),
        ("version 2", public(n, y, 512, version=2), "has version 2"),
        ("nothing", "", "the Joye-Libert public key ends too early"),
        ("y missing", right[: 2 * 67], "ends too early"),
        ("last byte missing", right[:-2], "ends too early"),
        ("a byte more", right + "00", "left over"),
        ("not whole words", big(1, 1) + big(520, 2) + big(n, 65) + big(y, 65), "not a whole number of 64-bit words"),
        ("longer form of a right key", public(n, y, 576), "512 bits where 576 are stated"),
        ("one bit short", public(n >> 1 | 1, y % (n >> 2), 512), "511 bits where 512 are stated"),
        ("even", public(n + 1, y, 512), "even"),
        ("small factor", public(small * rest, y % small, 512), "prime factor below 4194304"),
        ("square", public(root**2, y % root, 512), "perfect power"),
        ("prime", public(alone, y % alone, 512), "is prime"),
        ("two primes that are 3 mod 4", public(blum, first_unit("jl blum y", blum, 1), 512), "not 3 mod 4"),
        ("y is 0", public(n, 0, 512), "y does not lie strictly between 1 and the modulus"),
        ("y is 1", public(n, 1, 512), "y does not lie strictly between 1 and the modulus"),
        ("y is N", public(n, n, 512), "y does not lie strictly between 1 and the modulus"),
        ("y is above N", public(n, n + y % (2**512 - n), 512), "y does not lie strictly between 1 and the modulus"),
        ("y has symbol -1", public(n, first_unit("jl minus", n, -1), 512), "the Jacobi symbol of y is not +1"),
        ("y is N - 1", public(n, n - 1, 512), "the Jacobi symbol of y is not +1"),
        ("y is a factor", public(n, p, 512), "the Jacobi symbol of y is not +1"),
    ]
    return [
        *({"name": name, "data": data, "reason": reason, "floor": 512} for name, data, reason in cases),
        {"name": "below the floor", "data": right, "reason": "512 bits, under the floor of 3072", "floor": 3072},
    ]


def bad_private() -> list[dict[str, Any]]:
    """Private keys that must be refused, and the words in which."""
    p, q, y = key_of(512)
    n = p * q
    right = private(p, q, y, 512)
    more = 2 * WORD * prime("jl more twos", 191)
    while not probably_prime(more + 1):
        more += 2 * WORD * 2
    mixed = subgroup_prime("jl mixed", 256, 3)
    other = prime("jl other", 256, mod4=3)
    one_mod_4 = prime("jl 1 mod 4", 256, mod4=1)
    low_p, low_q = word_prime("jl low", 256, top=2), prime("jl low q", 256, top=2, mod4=3)
    not_p = number("jl y square mod q", 500)
    while not (jacobi(not_p, p) == -1 and jacobi(not_p, q) == 1):
        not_p += 1
    cases = [
        ("version 3", private(p, q, y, 512, version=3), "has version 3"),
        ("last byte missing", right[:-2], "the Joye-Libert private key ends too early"),
        ("a byte more", right + "01", "left over"),
        ("equal", private(p, p, y, 512), "primes are equal"),
        ("swapped", private(q, p, y, 512), "p − 1 is not 2^64 times an odd number"),
        ("unequal lengths", private(p, prime("jl unequal", 250), y, 512), "do not both have 256 bits"),
        ("short product", private(low_p, low_q, y, 512), "does not have 512 bits"),
        ("composite", private(p, _composite(), y, 512), "a factor of the modulus is not prime"),
        ("65 twos", private(more + 1, q, y, 512), "p − 1 is not 2^64 times an odd number"),
        ("1 two", private(other, q, y, 512), "p − 1 is not 2^64 times an odd number"),
        ("a small factor of p - 1", private(mixed, q, y, 512), "the odd part of p − 1 is not prime"),
        ("q is 1 mod 4", private(p, one_mod_4, y, 512), "q is not 3 mod 4"),
        ("y is 0", private(p, q, 0, 512), "y does not lie strictly between"),
        ("y is N", private(p, q, n, 512), "y does not lie strictly between"),
        ("y is a square", private(p, q, y * y % n, 512), "y is not a non-residue modulo both"),
        ("y is a square mod q", private(p, q, not_p, 512), "y is not a non-residue modulo both"),
        ("y is a multiple of p", private(p, q, 2 * p, 512), "y is not a non-residue modulo both"),
        ("zeros", private(0, 0, 0, 512), "do not both have 256 bits"),
    ]
    return [
        *({"name": name, "data": data, "reason": reason, "floor": 512} for name, data, reason in cases),
        {"name": "below the floor", "data": right, "reason": "512 bits, under the floor of 3072", "floor": 3072},
    ]


def _composite() -> int:
    """A product of two primes that has 256 bits with the two top ones set."""
    i = 0
    while (found := prime(f"jl left {i}", 128) * prime(f"jl right {i}", 128)) >> 254 != 3:
        i += 1
    return found


def rows_in_and_out() -> dict[str, Any]:
    """Rows that `check` must refuse, and odd ones that it must let in."""
    p, q, y = key_of(512)
    n, limit = p * q, 1 << 512
    one_sided = first_unit("jl minus row", n, -1)
    refused = {
        "zero": 0,
        "N": n,
        "N plus one": n + 1,
        "all ones": limit - 1,
        "p": p,
        "q": q,
        "a multiple of p": p * (number("jl multiple", 250) | 1),
        "minus one": n - 1,
        "an element of symbol -1": one_sided,
        "a right ciphertext, marked": y * one_sided % n,
        "a right ciphertext, negated": n - pow(y, 5, n),
    }
    accepted = {"one": 1, "y": y, "four": 4, "an element of symbol +1": first_unit("jl plus row", n, 1)}
    return {
        "public": public(n, y, 512),
        "refused": {name: big(value, 64) for name, value in refused.items()},
        "accepted": {name: big(value, 64) for name, value in accepted.items()},
    }


def contents() -> dict[str, Any]:
    """The files and what they hold."""
    return {
        "jl.json": {"keys": [good(512), good(640)]},
        "jl_bad.json": {"public": bad_public(), "private": bad_private(), "ciphertexts": rows_in_and_out()},
    }


def rendered() -> dict[str, str]:
    """The files as text."""
    return {name: json.dumps(content, indent=1) + "\n" for name, content in contents().items()}


if __name__ == "__main__":
    for name, text in rendered().items():
        (HERE / name).write_text(text)
