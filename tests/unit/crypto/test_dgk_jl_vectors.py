"""DGK and Joye-Libert against vectors of programs that share no code with them; bad ones for their stated reason."""

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from peos.crypto.schemes import packing, scheme
from peos.crypto.schemes.base import Packed
from tests.vectors.refusals import not_refused

VECTORS = Path(__file__).parents[2] / "vectors"
SCHEMES = ("dgk", "jl")
GOOD: dict[str, Any] = {name: json.loads((VECTORS / f"{name}.json").read_text()) for name in SCHEMES}
BAD: dict[str, Any] = {name: json.loads((VECTORS / f"{name}_bad.json").read_text()) for name in SCHEMES}
of_scheme = pytest.mark.parametrize("name", SCHEMES)
each_key = pytest.mark.parametrize(
    ("name", "case"),
    [(name, case) for name in SCHEMES for case in GOOD[name]["keys"]],
    ids=[f"{name} {case['bits']} bits" for name in SCHEMES for case in GOOD[name]["keys"]],
)


def packed(texts: list[str]) -> Packed:
    return np.stack([np.frombuffer(bytes.fromhex(text), np.uint8) for text in texts])


@of_scheme
def test_the_generator_still_writes_these_very_bytes(name: str) -> None:
    for file, text in importlib.import_module(f"tests.vectors.make_{name}_vectors").rendered().items():
        assert (VECTORS / file).read_text() == text, f"{file} is not what its generator writes"


@each_key
def test_keys_read_and_write_as_the_vectors_have_them(name: str, case: dict[str, Any]) -> None:
    public = scheme(name).public_key(bytes.fromhex(case["public"]), floor=case["bits"])
    private = scheme(name).private_key(bytes.fromhex(case["private"]), floor=case["bits"])
    assert private.public == public
    assert public.encode().hex() == case["public"]
    assert private.encode().hex() == case["private"]
    assert public.fingerprint.hex() == case["fingerprint"]
    assert (public.bits, public.ciphertext_bytes) == (case["bits"], case["bits"] // 8)


@each_key
def test_encryptions_with_fixed_zeros_are_the_vectors(name: str, case: dict[str, Any]) -> None:
    private = scheme(name).private_key(bytes.fromhex(case["private"]), floor=case["bits"])
    sent = private.public.encrypt(np.array(case["plain"], dtype=np.uint64), packed(case["zeros"]))
    assert [row.tobytes().hex() for row in sent] == case["ciphertexts"]
    assert private.public.check(sent).all()
    assert private.decrypt(sent).tolist() == case["plain"]
    assert private.decrypt(packed(case["zeros"])).tolist() == [0] * len(sent)


@each_key
def test_passes_with_fixed_zeros_are_the_vectors(name: str, case: dict[str, Any], rng: Randomness) -> None:
    private = scheme(name).private_key(bytes.fromhex(case["private"]), floor=case["bits"])
    current = packed(case["ciphertexts"])
    for hop, step in enumerate(case["passes"], start=1):
        masks = np.array(step["masks"], dtype=np.uint64)
        current = private.public.remask(current, masks, packed(step["zeros"]), hop=hop, rng=rng)
        assert [row.tobytes().hex() for row in current] == step["ciphertexts"]
        assert private.decrypt(current).tolist() == step["words"]


@each_key
def test_rows_that_no_encryption_makes_decrypt_to_one_word_and_spoil_no_other(name: str, case: dict[str, Any]) -> None:
    private = scheme(name).private_key(bytes.fromhex(case["private"]), floor=case["bits"])
    strange, words = packed([row["row"] for row in case["any"]]), [row["word"] for row in case["any"]]
    assert private.public.check(strange).all()
    assert private.decrypt(strange).tolist() == words
    honest = packed(case["ciphertexts"])
    mixed = np.concatenate((honest[:3], strange, honest[3:]))
    assert private.decrypt(mixed).tolist() == case["plain"][:3] + words + case["plain"][3:]


@pytest.mark.parametrize("which", ["public", "private"])
@of_scheme
def test_bad_keys_are_refused_for_their_reasons(name: str, which: str) -> None:
    read = scheme(name).public_key if which == "public" else scheme(name).private_key

    def key(case: dict[str, Any]) -> object:
        return read(bytes.fromhex(case["data"]), floor=case["floor"])

    assert not_refused(BAD[name][which], key, "reason") == []


@pytest.mark.parametrize("verdict", ["refused", "accepted"])
@of_scheme
def test_rows_are_let_in_or_not_as_the_vectors_say(name: str, verdict: str) -> None:
    ciphertexts = BAD[name]["ciphertexts"]
    public = scheme(name).public_key(bytes.fromhex(ciphertexts["public"]), floor=512)
    names = list(ciphertexts[verdict])
    found = public.check(packing.pack([int(row, 16) for row in ciphertexts[verdict].values()], public.ciphertext_bytes))
    assert dict(zip(names, found.tolist(), strict=True)) == dict.fromkeys(names, verdict == "accepted")
