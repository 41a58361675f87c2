"""Writes dgk.json and dgk_bad.json: `python -m tests.vectors.make_dgk_vectors`.

An independent account of DGK with words of 64 bits: Python's integers and `pow`, logarithms bit by bit, a Jacobi symbol
by reciprocity; nothing of the project.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from tests.vectors.numbers_by_hand import (
    WORD,
    big,
    bit_by_bit,
    encoded,
    first_unit,
    jacobi,
    joined,
    number,
    prime,
    probably_prime,
    subgroup_prime,
)

HERE = Path(__file__).parent
EXPONENT_BITS = 640


class Key(NamedTuple):
    """A private key in the order of its encoding."""

    p: int
    q: int
    v_p: int
    v_q: int
    g: int
    h: int


def element(label: str, prime_: int, v: int, power: int, order: int) -> int:
    """The first of a sequence of powers whose order is `order`, given by its prime factors 2 and v."""
    i = 0
    while True:
        found = pow(number(f"{label} {i}", prime_.bit_length()), power, prime_)
        smaller = [order // factor for factor in (2, v) if order % factor == 0]
        if found and pow(found, order, prime_) == 1 and all(pow(found, m, prime_) != 1 for m in smaller):
            return found
        i += 1


def key_of(bits: int) -> Key:
    """The vectors' key of that length, p < q."""
    found = []
    for side in "pq":
        v = prime(f"dgk v{side}{bits}", min(256, bits // 8))
        found.append((subgroup_prime(f"dgk {side}{bits}", bits // 2, v), v))
    (p, v_p), (q, v_q) = sorted(found)
    g, h = elements(f"{bits}", p, q, v_p, v_q)
    return Key(p, q, v_p, v_q, g, h)


def elements(label: str, p: int, q: int, v_p: int, v_q: int) -> tuple[int, int]:
    """g and h for two primes."""
    gs, hs = [], []
    for prime_, v in ((p, v_p), (q, v_q)):
        f = (prime_ - 1) // WORD // v
        gs.append(element(f"dgk g {label} {v}", prime_, v, f, WORD * v))
        hs.append(element(f"dgk h {label} {v}", prime_, v, f * WORD, v))
    return joined(gs[0], gs[1], p, q), joined(hs[0], hs[1], p, q)


def public(n: int, g: int, h: int, bits: int, version: int = 1) -> str:
    """An encoded public key."""
    return encoded(bits, (n, bits), (g, bits), (h, bits), version=version)


def private(key: Key, bits: int, version: int = 1) -> str:
    """An encoded private key."""
    half, short = bits // 2, min(256, bits // 8)
    widths = (half, half, short, short, bits, bits)
    return encoded(bits, *zip(key, widths, strict=True), version=version)


def decrypted(c: int, key: Key) -> int:
    """The logarithm to the base g^(v_p f_p) mod p, which every unit has."""
    odd = (key.p - 1) // WORD
    return bit_by_bit(pow(c, odd, key.p), pow(key.g, odd, key.p), key.p)


def good(bits: int) -> dict[str, Any]:
    """One key, encryptions under it with fixed exponents, three passes, and rows that only a deviating user sends."""
    key = key_of(bits)
    n, size = key.p * key.q, bits // 8
    data = public(n, key.g, key.h, bits)
    plain = [0, 1, WORD - 1, 1 << 63, *(number(f"dgk plain {bits}/{i}", 64) for i in range(4))]
    exponents = [number(f"dgk encrypt {bits}/{i}", EXPONENT_BITS) for i in range(len(plain))]
    zeros = [pow(key.h, r, n) for r in exponents]
    current = [pow(key.g, m, n) * z % n for m, z in zip(plain, zeros, strict=True)]
    words, steps, encrypted = list(plain), [], [big(c, size) for c in current]
    for hop in (1, 2, 3):
        masks = [number(f"dgk mask {bits}/{hop}/{i}", 64) for i in range(len(plain))]
        fresh = [pow(key.h, number(f"dgk hop {bits}/{hop}/{i}", EXPONENT_BITS), n) for i in range(len(plain))]
        current = [c * pow(key.g, mask, n) * z % n for c, mask, z in zip(current, masks, fresh, strict=True)]
        words = [(m + mask) % WORD for m, mask in zip(words, masks, strict=True)]
        if [decrypted(c, key) for c in current] != words:
            raise SystemExit("the vectors do not decrypt to what they hold")
        steps.append(
            {
                "masks": masks,
                "zeros": [big(z, size) for z in fresh],
                "ciphertexts": [big(c, size) for c in current],
                "words": words,
            }
        )
    f_q = (key.q - 1) // WORD // key.v_q
    cofactor = pow(number(f"dgk cofactor {bits}", bits), WORD * key.v_p * key.v_q, n)
    if pow(cofactor, f_q, n) == 1 or jacobi(cofactor, n) != 1:
        raise SystemExit("the element that should have no part in the groups of g and h has one")
    rows = [1, n - 1, cofactor, cofactor * current[0] % n, *(first_unit(f"dgk any {bits}/{i}", n, 1) for i in range(4))]
    return {
        "bits": bits,
        "public": data,
        "private": private(key, bits),
        "fingerprint": hashlib.sha256(b"\x03dgk" + bytes.fromhex(data)).hexdigest(),
        "plain": plain,
        "zeros": [big(z, size) for z in zeros],
        "ciphertexts": encrypted,
        "passes": steps,
        "any": [{"row": big(c, size), "word": decrypted(c, key)} for c in rows],
    }


def bad_public() -> list[dict[str, Any]]:
    """Public keys that must be refused, and the words in which."""
    key = key_of(512)
    n, g, h = key.p * key.q, key.g, key.h
    right = public(n, g, h, 512)
    plain_n = prime("dgk plain p", 256) * prime("dgk plain q", 256)
    plain_g = first_unit("dgk plain g", plain_n, 1)
    root, alone = prime("dgk root", 256), prime("dgk alone", 512)
    small, minus = 1048573 * prime("dgk cofactor", 492), first_unit("dgk minus", n, -1)
    between = "does not lie strictly between 1 and the modulus"
    cases = [
        ("version 0", public(n, g, h, 512, version=0), "has version 0"),
        ("version 2", public(n, g, h, 512, version=2), "has version 2"),
        ("nothing", "", "the DGK public key ends too early"),
        ("h missing", right[: 2 * (3 + 128)], "ends too early"),
        ("last byte missing", right[:-2], "ends too early"),
        ("a byte more", right + "00", "left over"),
        ("longer form of a right key", public(n, g, h, 576), "512 bits where 576 are stated"),
        ("even", public(n + 1, g, h, 512), "even"),
        ("small factor", public(small, g % small, h % small, 512), "prime factor below 4194304"),
        ("square", public(root**2, 4, 4, 512), "perfect power"),
        ("prime", public(alone, 4, 4, 512), "is prime"),
        ("two primes of no form", public(plain_n, plain_g, plain_g, 512), "the modulus is not 1 mod 2^64"),
        ("g is 0", public(n, 0, h, 512), f"g {between}"),
        ("g is 1", public(n, 1, h, 512), f"g {between}"),
        ("g is N", public(n, n, h, 512), f"g {between}"),
        ("h is 0", public(n, g, 0, 512), f"h {between}"),
        ("h is 1", public(n, g, 1, 512), f"h {between}"),
        ("h is N plus 1", public(n, g, n + 1, 512), f"h {between}"),
        ("g has symbol -1", public(n, minus, h, 512), "the Jacobi symbol of g is not +1"),
        ("g is a factor", public(n, key.p, h, 512), "the Jacobi symbol of g is not +1"),
        ("h has symbol -1", public(n, g, minus, 512), "the Jacobi symbol of h is not +1"),
        ("h is a factor", public(n, g, key.q, 512), "the Jacobi symbol of h is not +1"),
    ]
    return [
        *({"name": name, "data": data, "reason": reason, "floor": 512} for name, data, reason in cases),
        {"name": "below the floor", "data": right, "reason": "512 bits, under the floor of 3072", "floor": 3072},
    ]


def bad_private() -> list[dict[str, Any]]:
    """Private keys that must be refused, and the words in which."""
    key = key_of(512)
    p, q, v_p, v_q, g, h = key
    form = "a factor less one is not 2^64 times the order of h times an odd number prime to it"
    # A prime p' like p, in place of p, whose p' − 1 has more of something than it may.
    twice = _ordered(subgroup_prime("dgk v squared", 256, v_p, factor=v_p), key)
    crossed = key._replace(p=min(subgroup_prime(f"dgk crossed p {i}", 256, v_p, factor=v_q) for i in range(8)))
    crossed_q = key._replace(q=max(subgroup_prime(f"dgk crossed q {i}", 256, v_q, factor=v_p) for i in range(8)))
    if not (crossed.p < q and p < crossed_q.q):
        raise SystemExit("the primes of the vectors are not in ascending order")
    same_v = _ordered(subgroup_prime("dgk same v", 256, v_q), key, v=v_q)
    more_twos = 2 * WORD * v_p * (number("dgk twos", 125) | 3 << 125)
    while not probably_prime(more_twos + 1):
        more_twos += 2 * WORD * v_p
    twos = _ordered(more_twos + 1, key)
    f_p, f_q = (p - 1) // WORD // v_p, (q - 1) // WORD // v_q
    x = number("dgk x", 500)
    clear_q = pow(x, f_q, q)
    uncleared = joined(pow(x, 1, p), clear_q, p, q)
    other_side = joined(g % p, pow(x, 1, q), p, q)
    cases = [
        ("version 3", private(key, 512, version=3), "has version 3"),
        ("last byte missing", private(key, 512)[:-2], "the DGK private key ends too early"),
        ("a byte more", private(key, 512) + "01", "left over"),
        ("equal", private(key._replace(q=p), 512), "primes are equal"),
        ("swapped", private(Key(q, p, v_q, v_p, g, h), 512), "not in ascending order"),
        ("unequal lengths", private(key._replace(p=prime("dgk short", 250)), 512), "do not both have 256 bits"),
        ("v too short", private(key._replace(v_p=prime("dgk short v", 60)), 512), "are not primes of 64 bits"),
        (
            "v composite",
            private(key._replace(v_p=v_p + 2 if not probably_prime(v_p + 2) else v_p + 4), 512),
            "not primes",
        ),
        ("v of another prime", private(key._replace(v_p=prime("dgk other v", 64)), 512), form),
        ("v swapped", private(key._replace(v_p=v_q, v_q=v_p), 512), form),
        ("the same v", private(same_v, 512), "the orders of h are equal"),
        ("v twice", private(twice, 512), form),
        ("65 twos", private(twos, 512), form),
        ("v_q divides p - 1", private(crossed, 512), "divides the other factor less one"),
        ("v_p divides q - 1", private(crossed_q, 512), "divides the other factor less one"),
        ("g is 0", private(key._replace(g=0), 512), "g and h do not lie strictly between 1 and the modulus"),
        ("h is N", private(key._replace(h=p * q), 512), "g and h do not lie strictly between 1 and the modulus"),
        ("a cofactor in g mod p", private(key._replace(g=uncleared), 512), "order of g has a factor in common"),
        ("a cofactor in g mod q", private(key._replace(g=other_side), 512), "order of g has a factor in common"),
        ("g squared", private(key._replace(g=g * g % (p * q)), 512), "the order of g is too small"),
        ("g without v", private(key._replace(g=pow(g, v_p * v_q, p * q)), 512), "the order of g is too small"),
        ("h is g", private(key._replace(h=g), 512), "the order of h is not that of its group"),
        ("h is 1 mod p", private(key._replace(h=joined(1, h % q, p, q)), 512), "the order of h is not"),
        ("h is 1 mod q", private(key._replace(h=joined(h % p, 1, p, q)), 512), "the order of h is not"),
        ("h of a cofactor", private(key._replace(h=pow(x, WORD * f_p, p * q)), 512), "the order of h is not"),
        ("zeros", private(Key(0, 0, 0, 0, 0, 0), 512), "do not both have 256 bits"),
    ]
    return [
        *({"name": name, "data": data, "reason": reason, "floor": 512} for name, data, reason in cases),
        {"name": "below the floor", "data": private(key, 512), "reason": "under the floor of 3072", "floor": 3072},
    ]


def _ordered(instead: int, key: Key, v: int = 0) -> Key:
    """The key with another prime in place of p, the primes in ascending order; g and h are not looked at any more."""
    sides = sorted(((instead, v or key.v_p), (key.q, key.v_q)))
    return Key(sides[0][0], sides[1][0], sides[0][1], sides[1][1], 2, 2)


def rows_in_and_out() -> dict[str, Any]:
    """Rows that `check` must refuse, and odd ones that it must let in."""
    key = key_of(512)
    n, minus = key.p * key.q, first_unit("dgk minus row", key.p * key.q, -1)
    refused = {
        "zero": 0,
        "N": n,
        "N plus one": n + 1,
        "all ones": (1 << 512) - 1,
        "p": key.p,
        "q": key.q,
        "a multiple of p": key.p * (number("dgk multiple", 250) | 1),
        "an element of symbol -1": minus,
        "a right ciphertext, marked": key.g * minus % n,
    }
    accepted = {
        "one": 1,
        "g": key.g,
        "h": key.h,
        "minus one": n - 1,
        "an element of symbol +1": first_unit("dgk plus row", n, 1),
    }
    return {
        "public": public(n, key.g, key.h, 512),
        "refused": {name: big(value, 64) for name, value in refused.items()},
        "accepted": {name: big(value, 64) for name, value in accepted.items()},
    }


def contents() -> dict[str, Any]:
    """The files and what they hold."""
    return {
        "dgk.json": {"keys": [good(512), good(1024)]},
        "dgk_bad.json": {"public": bad_public(), "private": bad_private(), "ciphertexts": rows_in_and_out()},
    }


def rendered() -> dict[str, str]:
    """The files as text."""
    return {name: json.dumps(content, indent=1) + "\n" for name, content in contents().items()}


if __name__ == "__main__":
    for name, text in rendered().items():
        (HERE / name).write_text(text)
