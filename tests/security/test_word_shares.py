"""All shufflers together confirm a guess of a report from its shares, under DGK and Joye-Libert.

Who: all r shufflers, pooling every share and ciphertext, without the key. For each user they have two candidates, one
of which is her report. With the share that stays encrypted they would know which: it is the candidate less all others.
"""

import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from peos.crypto.schemes import packing
from peos.shuffle.attempt import ENCRYPTED_SHARE
from peos.shuffle.effects import CIPHERTEXTS, SHARES
from tests.security.laid import Laid, bench_of
from tests.security.verdict import Verdict, of_guesses
from tests.security.weakened_words import Ones
from tests.security.words import NAMES, key_of

USERS = 6_000


def confirm(name: str, *, randomised: bool) -> Verdict:
    """Encrypt each candidate's share without randomness, and compare."""
    key, rng = key_of(name), Randomness(b"\x31" * 32)
    candidates, chosen = rng.uint64((2, USERS)), rng.uint64(USERS) & np.uint64(1)
    reports = np.where(chosen == 0, candidates[0], candidates[1]).reshape(-1, 1)
    public = key.public
    laid = Laid(key, rng)
    source = public.zero_source(rng, expected=USERS) if randomised else Ones(public)
    laid.lay(reports, encrypt=lambda words: public.encrypt(words, source.zeros(len(words))))
    plain = [bench_of(node).plain(SHARES)[:USERS, 0] for node in laid.nodes if node.number != ENCRYPTED_SHARE]
    held = bench_of(laid.nodes[ENCRYPTED_SHARE - 1]).ciphertexts(CIPHERTEXTS)[:USERS]
    known = plain[0] + plain[1]
    matches = [
        [a == b for a, b in zip(packing.integers(held), packing.integers(encoded), strict=True)]
        for encoded in (public.encrypt(guess - known, Ones(public).zeros(USERS)) for guess in candidates)
    ]
    guesses = np.where(matches[0], 0, np.where(matches[1], 1, rng.uint64(USERS) & np.uint64(1)))
    how = "randomised" if randomised else "encoded without randomness"
    return of_guesses(f"{name}: guesses of reports, {how}", int(np.sum(guesses == chosen)), USERS)


@pytest.mark.parametrize("name", NAMES)
def test_all_shufflers_together_cannot_confirm_a_guess_since_encryption_is_randomised(name: str) -> None:
    confirm(name, randomised=True).assert_fails()


@pytest.mark.parametrize("name", NAMES)
def test_without_randomness_they_confirm_every_guess(name: str) -> None:
    confirm(name, randomised=False).assert_succeeds()
