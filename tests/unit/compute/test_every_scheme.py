"""The engines work for every scheme, through the interface alone."""

import numpy as np
import pytest

from peos.compute import Inline
from peos.crypto.randomness import Randomness
from peos.crypto.schemes import SCHEMES
from tests.keys import small_key
from tests.unit.compute.conftest import Eager

each = pytest.mark.parametrize("name", list(SCHEMES))
ROWS = 600  # more than two chunks, and not a multiple of one


@each
def test_workers_encrypt_remask_and_decrypt_what_this_process_does(name: str, eager: Eager, rng: Randomness) -> None:
    key = small_key(512, name)
    words, first, second = (rng.uint64(ROWS) for _ in range(3))
    encrypted = eager.encrypt(key.public, words)
    assert encrypted.shape == (ROWS, key.public.ciphertext_bytes)
    once = eager.remask(key.public, encrypted, first, 1)
    twice = Inline(rng).remask(key.public, once, second, 2, statistical=True)
    assert key.public.check(np.concatenate((encrypted, once, twice))).all()
    assert np.array_equal(eager.decrypt(key, twice, passes=2), words + first + second)
    assert np.array_equal(Inline(rng).decrypt(key, once, passes=1), words + first)


@each
def test_no_two_rows_share_their_randomness_whichever_worker_made_them(name: str, eager: Eager) -> None:
    same = eager.encrypt(small_key(512, name).public, np.zeros(ROWS, dtype=np.uint64))
    assert len(np.unique(same, axis=0)) == ROWS
