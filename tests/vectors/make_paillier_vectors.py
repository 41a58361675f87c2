"""Writes paillier.json and paillier_bad.json: `python tests/vectors/make_paillier_vectors.py`.

An independent account of the scheme: Python's integers, `pow`, the textbook's λ and μ for decryption, hashlib, and AES
from `cryptography` for the random stream; nothing of the project. Everything is derived from fixed labels, so a second
run writes the same bytes, and a test compares.
"""

import hashlib
import json
from functools import cache
from itertools import count
from math import gcd, lcm
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

HERE = Path(__file__).parent
WORD = 1 << 64


def number(label: str, bits: int) -> int:
    """A number of at most `bits` bits, determined by its label."""
    wide = b"".join(hashlib.sha256(f"{label}/{i}".encode()).digest() for i in range(bits // 256 + 1))
    return int.from_bytes(wide, "big") >> (8 * len(wide) - bits)


def probably_prime(n: int) -> bool:
    """Miller-Rabin to the first 40 primes, after trial division by them."""
    small = [p for p in range(2, 174) if all(p % d for d in range(2, p))]
    if any(n % p == 0 for p in small):
        return n in small
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in small:
        x = pow(base, odd, n)
        if x in (1, n - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


@cache
def prime(label: str, bits: int, top: int = 3) -> int:
    """The first prime at or above a number whose two top bits are `top`."""
    candidate = top << (bits - 2) | number(label, bits - 2) | 1
    while not probably_prime(candidate):
        candidate += 2
    return candidate


def smooth_prime(label: str, bits: int) -> int:
    """A prime p of so many bits, the top two set, with p - 1 a product of different primes below 8192."""
    primes = [n for n in range(3, 8192, 2) if probably_prime(n)]
    for attempt in count():
        product, drawn = 2, count()
        while product.bit_length() < bits:
            factor = primes[number(f"{label}/{attempt}/{next(drawn)}", 32) % len(primes)]
            product *= factor if product % factor else 1
        if product >> (bits - 2) == 3 and probably_prime(product + 1):
            return product + 1
    raise AssertionError("there is one")


def next_prime(n: int) -> int:
    """The first prime above an odd n."""
    n += 2
    while not probably_prime(n):
        n += 2
    return n


def big(value: int, width: int) -> str:
    """Hexadecimal of `width` bytes, big-endian."""
    return value.to_bytes(width, "big").hex()


def public(n: int, bits: int, version: int = 1) -> str:
    """An encoded public key."""
    return big(version, 1) + big(bits, 2) + big(n, bits // 8)


def private(p: int, q: int, bits: int, version: int = 1) -> str:
    """An encoded private key."""
    return big(version, 1) + big(bits, 2) + big(p, bits // 16) + big(q, bits // 16)


def key_stream(key: bytes, count: int) -> bytes:
    """The first bytes of the stream of a key: AES-256 in counter mode from zero."""
    return Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor().update(bytes(count))


def textbook_decrypt(c: int, p: int, q: int) -> int:
    """L(c^λ mod N²)·μ mod N, λ = lcm(p − 1, q − 1)."""
    n = p * q
    lam = lcm(p - 1, q - 1)
    ell = (pow(c, lam, n * n) - 1) // n
    mu = pow((pow(1 + n, lam, n * n) - 1) // n, -1, n)
    return ell * mu % n


def key_pair(bits: int) -> tuple[int, int]:
    """The primes of the vectors' key of that length."""
    p, q = sorted((prime(f"p{bits}", bits // 2), prime(f"q{bits}", bits // 2)))
    return p, q


def units(label: str, count: int, n: int) -> list[int]:
    """Units of Z_N."""
    drawn = [number(f"{label}/unit {i}", n.bit_length() + 64) % n for i in range(count)]
    if any(gcd(x, n) != 1 for x in drawn):
        raise SystemExit("a unit of the vectors shares a factor with N")
    return drawn


def good(bits: int) -> dict[str, Any]:
    """One key, encryptions under it with fixed units, and those sent through three passes."""
    p, q = key_pair(bits)
    n = p * q
    square, size = n * n, bits // 4
    data = public(n, bits)
    plain = [0, 1, WORD - 1, 1 << 63, *(number(f"plain {bits}/{i}", 64) for i in range(4))]
    xs = units(f"encrypt {bits}", len(plain), n)
    current = [pow(1 + n, m, square) * pow(x, n, square) % square for m, x in zip(plain, xs, strict=True)]
    whole, steps = list(plain), []
    encrypted = [big(c, size) for c in current]
    for hop in (1, 2, 3):
        key = hashlib.sha256(f"rho {bits}/{hop}".encode()).digest()
        width = 8 * hop + 1
        stream = key_stream(key, width * len(plain))
        rhos = [int.from_bytes(stream[i * width : (i + 1) * width], "little") for i in range(len(plain))]
        masks = [number(f"mask {bits}/{hop}/{i}", 64) for i in range(len(plain))]
        xs_of_hop = units(f"hop {bits}/{hop}", len(plain), n)
        for i, (mask, rho, x) in enumerate(zip(masks, rhos, xs_of_hop, strict=True)):
            current[i] = current[i] * pow(1 + n, mask + WORD * rho, square) * pow(x, n, square) % square
            whole[i] += mask + WORD * rho
        if [textbook_decrypt(c, p, q) for c in current] != whole:
            raise SystemExit("the vectors do not decrypt to what they hold")
        steps.append(
            {
                "hop": hop,
                "masks": masks,
                "stream_key": key.hex(),
                "units": [hex(x) for x in xs_of_hop],
                "ciphertexts": [big(c, size) for c in current],
                "integers": [hex(m) for m in whole],
                "words": [m % WORD for m in whole],
            }
        )
    return {
        "bits": bits,
        "public": data,
        "private": private(p, q, bits),
        "fingerprint": hashlib.sha256(b"\x08paillier" + bytes.fromhex(data)).hexdigest(),
        "p": hex(p),
        "q": hex(q),
        "plain": plain,
        "units": [hex(x) for x in xs],
        "ciphertexts": encrypted,
        "passes": steps,
    }


def bad_public() -> list[dict[str, Any]]:
    """Public keys that must be refused, and the words in which."""
    p, q = key_pair(512)
    n = p * q
    right = public(n, 512)
    cube_root = next_prime(11 * 2**167 + 1)  # 1.375 · 2^170, whose cube has 512 bits
    largest_small = 4194301  # the largest prime below 2^22
    cofactor = prime("cofactor", 490)
    near = prime("near", 256)
    smooth = smooth_prime("smooth", 256)
    short = prime("short", 250) * prime("shorter", 250)
    cases = [
        ("version 0", public(n, 512, version=0), "has version 0"),
        ("version 2", public(n, 512, version=2), "has version 2"),
        ("nothing", "", "ends too early"),
        ("header only", right[:6], "ends too early"),
        ("last byte missing", right[:-2], "ends too early"),
        ("a byte more", right + "00", "left over"),
        ("not whole words", big(1, 1) + big(520, 2) + big(n, 65), "not a whole number of 64-bit words"),
        ("too long", big(1, 1) + big(16448, 2), "not 16448"),
        ("no length", big(1, 1) + big(0, 2), "not 0"),
        ("far too short", public(prime("a", 64) * prime("b", 64), 128), "not 128"),
        ("leading zero bytes", public(short, 512), "500 bits where 512 are stated"),
        ("longer form of a right key", public(n, 576), "512 bits where 576 are stated"),
        ("one bit short", public(n >> 1 | 1, 512), "511 bits where 512 are stated"),
        ("even", public(n + 1, 512), "even"),
        ("zero", public(0, 512), "0 bits where 512 are stated"),
        ("small factor", public(largest_small * cofactor, 512), "prime factor below 4194304"),
        ("factor three", public(3 * prime("third", 510), 512), "prime factor below 4194304"),
        ("square", public(prime("root", 256) ** 2, 512), "perfect power"),
        ("cube", public(cube_root**3, 512), "perfect power"),
        ("prime", public(prime("alone", 512), 512), "is prime"),
        ("neighbours", public(near * next_prime(near), 512), "so close to each other"),
        ("within the fourth root", public(near * next_prime(near + 2**127), 512), "so close to each other"),
        ("p - 1 smooth", public(smooth * prime("rough", 256), 512), "no prime factor above 8192"),
        ("both smooth", public(smooth * smooth_prime("smoother", 256), 512), "no prime factor above 8192"),
    ]
    below = [("below the floor", right, "512 bits, under the floor of 3072", 3072)]
    return [
        {"name": name, "data": data, "reason": reason, "floor": floor}
        for name, data, reason, floor in [(*case, 512 if case[0] != "far too short" else 0) for case in cases] + below
    ]


def bad_private() -> list[dict[str, Any]]:
    """Private keys that must be refused, and the words in which."""
    p, q = key_pair(512)
    right = private(p, q, 512)
    low_p, low_q = sorted((prime("low p", 256, top=2), prime("low q", 256, top=2)))
    unequal, longer = prime("unequal", 250), prime("longer", 256)
    low, high = sorted((prime("left", 128) * prime("right", 128), q))
    cases = [
        ("version 3", private(p, q, 512, version=3), "has version 3"),
        ("last byte missing", right[:-2], "ends too early"),
        ("a byte more", right + "01", "left over"),
        ("equal", private(p, p, 512), "primes are equal"),
        ("swapped", private(q, p, 512), "not in ascending order"),
        ("unequal lengths", private(unequal, longer, 512), "do not both have 256 bits"),
        ("too close", private(p, next_prime(p), 512), "too close"),
        ("short product", private(low_p, low_q, 512), "does not have 512 bits"),
        ("composite", private(low, high, 512), "not prime"),
        ("zeros", private(0, 0, 512), "do not both have 256 bits"),
    ]
    return [{"name": name, "data": data, "reason": reason, "floor": 512} for name, data, reason in cases] + [
        {"name": "below the floor", "data": right, "reason": "512 bits, under the floor of 3072", "floor": 3072}
    ]


def rows_in_and_out() -> dict[str, Any]:
    """Rows that `check` must refuse, and odd ones that it must let in."""
    p, q = key_pair(512)
    n = p * q
    square, limit = n * n, 1 << 1024
    refused = {
        "zero": 0,
        "N": n,
        "N squared": square,
        "N squared plus one": square + 1,
        "all ones": limit - 1,
        "p": p,
        "q": q,
        "a multiple of p": p * number("multiple", 700),
        "a multiple of q squared": q * q * number("multiple", 400),
        "a multiple of N": n * number("multiple", 500),
        "N squared minus N": square - n,
    }
    accepted = {"one": 1, "N plus one": n + 1, "N minus one": n - 1, "N squared minus one": square - 1}
    return {
        "public": public(n, 512),
        "refused": {name: big(value, 128) for name, value in refused.items()},
        "accepted": {name: big(value, 128) for name, value in accepted.items()},
    }


def contents() -> dict[str, Any]:
    """The files and what they hold."""
    factor_above = next_prime(4194301) * prime("cofactor", 490)
    return {
        "paillier.json": {
            "keys": [good(512), good(1024)],
            "accepted_public": [{"name": "a factor just above 2^22", "data": public(factor_above, 512)}],
        },
        "paillier_bad.json": {"public": bad_public(), "private": bad_private(), "ciphertexts": rows_in_and_out()},
    }


def rendered() -> dict[str, str]:
    """The files as text."""
    return {name: json.dumps(content, indent=1) + "\n" for name, content in contents().items()}


if __name__ == "__main__":
    for name, text in rendered().items():
        (HERE / name).write_text(text)
