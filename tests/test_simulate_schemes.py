"""A whole collection in memory under every scheme, and what its intake lets in."""

import hashlib
from dataclasses import replace

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpz

from peos.collection.submission import Part, check_part
from peos.crypto.randomness import Randomness
from peos.crypto.schemes import SCHEMES, packing
from peos.errors import RemoteFault
from peos.ldp import GRR, SUE
from peos.simulate import Simulation, run_collection
from tests.keys import small_key

NAMES = list(SCHEMES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shufflers", [3, 5, 7])
def test_every_report_comes_out_exactly_once(name: str, shufflers: int, rng: Randomness) -> None:
    simulation = Simulation(GRR(64, 4.0), shufflers=shufflers, fakes=7, key=small_key(512, name), rng=rng)
    words = np.arange(1000, 1040, dtype=np.uint64).reshape(-1, 1)
    simulation.submit(words)
    simulation.freeze()
    simulation.shuffle()
    out = simulation.publish(submitted=len(words)).reports[:, 0]
    assert sorted(out[np.isin(out, words[:, 0])].tolist()) == words[:, 0].tolist()
    assert len(out) == len(words) + 7


@pytest.mark.parametrize("name", NAMES)
def test_reports_of_several_words_are_estimated(name: str, rng: Randomness) -> None:
    values = [0] * 30 + [1] * 10
    result = run_collection(values, mechanism=SUE(40, 8.0), fakes=5, key=small_key(512, name), rng=rng)
    assert result.users == 40
    assert result.estimate.frequency[0] > result.estimate.frequency[1] > 0.1


@pytest.mark.parametrize("name", ["dgk", "jl"])
def test_the_intake_refuses_what_is_no_ciphertext_of_the_scheme(name: str, rng: Randomness) -> None:
    simulation = Simulation(GRR(8, 4.0), key=small_key(512, name), rng=rng)
    simulation.submit(np.zeros((1, 1), np.uint64))
    node = simulation.nodes[0]
    part, *_ = node.parts.values()
    n, size = node.public.modulus, node.public.ciphertext_bytes

    def refusal(value: mpz) -> str:
        share = packing.pack([value], size).tobytes()
        hashes = (hashlib.sha256(part.salt + share).digest(), *part.hashes[1:])
        unsigned: Part = replace(part, share=share, hashes=hashes)
        changed = replace(unsigned, signature=simulation.ticket(part.id).key.sign("submission", unsigned.digest))
        try:
            check_part(changed, simulation.document, simulation.digest, node.encryption, 1)
        except RemoteFault as refused:
            return refused.id
        return ""

    right = mpz.from_bytes(part.share, "big")
    marks = (mpz(u) for u in range(2, 100))
    marked = right * next(u for u in marks if gmpy2.jacobi(u, n) == -1) % n
    assert refusal(right) == ""
    for wrong in (mpz(0), n, n + right if n + right < mpz(1) << 8 * size else n + 1, marked):
        assert refusal(wrong) == "submit.ciphertext"
