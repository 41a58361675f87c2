"""Paillier against vectors that a program sharing no code with it wrote; the bad ones for their stated reason."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from peos.crypto.schemes import packing
from peos.crypto.schemes.base import Packed
from peos.crypto.schemes.paillier import Paillier, PaillierPublicKey
from tests.vectors.refusals import not_refused

VECTORS = Path(__file__).parents[2] / "vectors"
GOOD: dict[str, Any] = json.loads((VECTORS / "paillier.json").read_text())
BAD: dict[str, Any] = json.loads((VECTORS / "paillier_bad.json").read_text())
by_bits = pytest.mark.parametrize("case", GOOD["keys"], ids=lambda case: f"{case['bits']} bits")


def zeros_of(public: PaillierPublicKey, units: list[str]) -> Packed:
    powers = [pow(int(x, 16), int(public.modulus), int(public.square)) for x in units]
    return packing.pack(powers, public.ciphertext_bytes)


@pytest.mark.full
@pytest.mark.parametrize("script", ["make_paillier_vectors", "make_kdf_vectors"])
def test_the_generator_still_writes_these_very_bytes(script: str) -> None:
    spec = importlib.util.spec_from_file_location(script, VECTORS / f"{script}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, text in module.rendered().items():
        assert (VECTORS / name).read_text() == text, f"{name} is not what its generator writes"


@by_bits
def test_keys_read_and_write_as_the_vectors_have_them(case: dict[str, Any]) -> None:
    public = Paillier().public_key(bytes.fromhex(case["public"]), floor=case["bits"])
    private = Paillier().private_key(bytes.fromhex(case["private"]), floor=case["bits"])
    assert private.public == public
    assert public.encode().hex() == case["public"]
    assert private.encode().hex() == case["private"]
    assert public.fingerprint.hex() == case["fingerprint"]
    assert (hex(private.p), hex(private.q)) == (case["p"], case["q"])


@by_bits
def test_encryptions_with_fixed_units_are_the_vectors(case: dict[str, Any]) -> None:
    private = Paillier().private_key(bytes.fromhex(case["private"]), floor=case["bits"])
    plain = np.array(case["plain"], dtype=np.uint64)
    sent = private.public.encrypt(plain, zeros_of(private.public, case["units"]))
    assert [row.tobytes().hex() for row in sent] == case["ciphertexts"]
    assert private.decrypt(sent).tolist() == case["plain"]


@by_bits
def test_passes_with_fixed_units_and_streams_are_the_vectors(case: dict[str, Any]) -> None:
    private = Paillier().private_key(bytes.fromhex(case["private"]), floor=case["bits"])
    public = private.public
    current = packing.pack([int(c, 16) for c in case["ciphertexts"]], public.ciphertext_bytes)
    for step in case["passes"]:
        current = public.remask(
            current,
            np.array(step["masks"], dtype=np.uint64),
            zeros_of(public, step["units"]),
            hop=step["hop"],
            rng=Randomness(bytes.fromhex(step["stream_key"])),
        )
        assert [row.tobytes().hex() for row in current] == step["ciphertexts"]
        assert [hex(m) for m in private.decrypt_integers(current)] == step["integers"]
        assert private.decrypt(current).tolist() == step["words"]


@pytest.mark.parametrize("case", GOOD["accepted_public"], ids=lambda case: case["name"])
def test_odd_but_acceptable_public_keys_are_read(case: dict[str, Any]) -> None:
    assert Paillier().public_key(bytes.fromhex(case["data"]), floor=512).encode().hex() == case["data"]


@pytest.mark.parametrize("which", ["public", "private"])
def test_bad_keys_are_refused_for_their_reasons(which: str) -> None:
    read = Paillier().public_key if which == "public" else Paillier().private_key

    def key(case: dict[str, Any]) -> object:
        return read(bytes.fromhex(case["data"]), floor=case["floor"])

    assert not_refused(BAD[which], key, "reason") == []


@pytest.mark.parametrize("verdict", ["refused", "accepted"])
def test_rows_are_let_in_or_not_as_the_vectors_say(verdict: str) -> None:
    ciphertexts = BAD["ciphertexts"]
    public = Paillier().public_key(bytes.fromhex(ciphertexts["public"]), floor=512)
    names = list(ciphertexts[verdict])
    packed = packing.pack([int(row, 16) for row in ciphertexts[verdict].values()], public.ciphertext_bytes)
    found = dict(zip(names, public.check(packed).tolist(), strict=True))
    assert found == dict.fromkeys(names, verdict == "accepted")
