"""Small keys, made once a run, and the test of uniformity that the statistical tests share.

Keys of Paillier come from `phe`, which takes no stream: they are others in each run.
"""

import hashlib
from collections.abc import Callable, Sequence

import pytest
from scipy.stats import chi2

from peos.crypto.randomness import Randomness
from peos.crypto.schemes.paillier import Paillier, PaillierPrivateKey, PaillierPublicKey

ALPHA = 1e-6
Uniform = Callable[[Sequence[int], str], None]
Streams = Callable[[str], Randomness]


@pytest.fixture(scope="session")
def stream() -> Streams:
    """Streams by name, for tests whose examples each need their own."""
    return lambda name: Randomness(hashlib.sha256(name.encode()).digest())


@pytest.fixture(scope="session")
def private(stream: Streams) -> PaillierPrivateKey:
    """A key of 512 bits: with room for six passes."""
    return Paillier().generate(stream("key of 512 bits"), bits=512)


@pytest.fixture(scope="session")
def public(private: PaillierPrivateKey) -> PaillierPublicKey:
    """Its public half."""
    return private.public


@pytest.fixture(scope="session")
def uniform() -> Uniform:
    """Asserts that counts of equally likely outcomes pass a χ² test at α = 1e-6."""

    def check(counts: Sequence[int], claim: str) -> None:
        n, cells = sum(counts), len(counts)
        expected = n / cells
        statistic = sum((count - expected) ** 2 for count in counts) / expected
        limit = float(chi2.isf(ALPHA, cells - 1))
        evidence = f"{claim}: χ² = {statistic:.1f} over {cells} cells, limit {limit:.1f} at α = {ALPHA}, n = {n}"
        assert statistic <= limit, f"{evidence}; counts {list(counts)[:24]}"

    return check
