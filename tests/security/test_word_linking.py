"""The key holder follows DGK's and Joye-Libert's ciphertexts through a pass: by exponents, by carries, by cosets.

Who: as in test_ciphertext_linking: the analyzer, who has the private key, with the first holder, with the later one, or
with users who know the ciphertexts that they sent. r = 3; the pass was made by an honest shuffler.
"""

from collections.abc import Callable

import gmpy2
import numpy as np
import pytest
from numpy.typing import NDArray

from peos.crypto.schemes import packing
from peos.crypto.schemes.dgk import DGKPrivateKey
from tests.full import full
from tests.security.verdict import Verdict, of_flags, of_guesses
from tests.security.weakened_words import OneCoset, Uncleared, UnrandomisedDGK, UnrandomisedJoyeLibert
from tests.security.words import NAMES, SMALL, TWO_64, Key, View, classes, key_of, prime_of, run, views

pytestmark = pytest.mark.full  # `make security` runs it too

USERS = 12_000
FEW = 1_200
VIEWS = ("first holder", "later holder", "users")
each_view = pytest.mark.parametrize("who", [VIEWS[0], *map(full, VIEWS[1:])])
each = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def real() -> Callable[[str, str], View]:
    """What each coalition sees of a collection under an honest key, by scheme and coalition."""
    seen: dict[str, dict[str, View]] = {}

    def of(name: str, who: str) -> View:
        if name not in seen:
            seen[name] = views(run(key_of(name), USERS), key_of(name))
        return seen[name][who]

    return of


# Exponents: without re-randomisation c_out = c_in·b^mask. Both words are known, so c·b^-m is what it was, but for a
# power of b^(2^64) where the sum passed 2^64.


def link_by_exponents(view: View, name: str) -> Verdict:
    """For each row that came out, look up the one that went in and differs by a power of b."""
    n = view.key.public.modulus
    known = {u: row for row, u in enumerate(view.bare[0])}
    back = gmpy2.invert(gmpy2.powmod(view.key.public.base, TWO_64, n), n)
    guesses = []
    for u in view.bare[1]:
        tried = [u * gmpy2.powmod(back, carries, n) % n for carries in range(view.passes + 1)]
        guesses.append(next((known[t] for t in tried if t in known), -1))
    correct = int(np.sum(np.array(guesses) == view.origin))
    return of_guesses(f"exponents, {name}", correct, len(guesses), choices=len(guesses))


@each
@each_view
def test_rerandomised_ciphertexts_are_not_linked_by_exponents(
    real: Callable[[str, str], View], name: str, who: str
) -> None:
    link_by_exponents(real(name, who), f"{name}, {who}").assert_fails()


@each
def test_without_rerandomisation_exponents_link_every_row_in_every_view(name: str) -> None:
    weak = UnrandomisedDGK if name == "dgk" else UnrandomisedJoyeLibert
    for who, view in views(run(key_of(name), FEW, weak=weak), key_of(name)).items():
        link_by_exponents(view, f"{name}, {who}, never re-randomised").assert_succeeds()


# Carries: the word that came out is smaller than the one that went in if and only if the mask made it pass 2^64.


def carries(key: Key, view: View) -> NDArray[np.int64]:
    """How often the sum behind each row passed 2^64, modulo 13, as a cofactor of order 13 would tell.

    The class of c is that of g to the whole integer M = m + 2^64·k; m is decrypted, and k follows.
    """
    of_g = int(classes(key, [key.public.base])[0]) or 1  # a g without a cofactor has class 0, and tells nothing
    integers = classes(key, packing.integers(view.after)) * pow(of_g, -1, SMALL)
    words = np.array([m % SMALL for m in view.words[1].tolist()])
    found: NDArray[np.int64] = (integers - words) * pow(int(TWO_64), -1, SMALL) % SMALL
    return found


def link_by_carries(view: View, key: Key, name: str) -> Verdict:
    """Guess of each row whose word was in an outer third whether it was a large or a small one."""
    before = view.words[0][view.origin] / 2.0**64
    outer = (before < 1 / 3) | (before > 2 / 3)
    right = (carries(key, view) == 1) == (before > 0.5)
    return of_guesses(f"carries, {name}", int(np.sum(right & outer)), int(np.sum(outer)))


@each
def test_sums_tell_nothing_of_having_passed_2_64(real: Callable[[str, str], View], name: str) -> None:
    for who in ("first holder", "later holder"):
        link_by_carries(real(name, who), key_of(name), f"{name}, {who}").assert_fails()


def test_with_a_cofactor_left_in_g_the_key_holder_reads_the_carries() -> None:
    honest = key_of("dgk")
    assert isinstance(honest, DGKPrivateKey)
    key = Uncleared.of(honest)
    view = views(run(key, FEW), key)["later holder"]
    assert set(carries(key, view).tolist()) == {0, 1}, "the integers behind all rows are read exactly"
    link_by_carries(view, key, "later holder, 13 in the order of g").assert_succeeds()


# Cosets of the thirteenth powers.


def link_by_cosets(view: View, name: str) -> Verdict:
    """Flag a pair of users' rows as one report if its class is as it was; half of the pairs shown are, half are not."""
    origin = view.origin[~view.fake]
    before, after = view.classes[0], view.classes[1][~view.fake]
    moved = [(after - before[shown]) % SMALL for shown in (origin, np.roll(origin, 1))]
    same, other = (np.isin(steps, list(view.carried)) for steps in moved)
    return of_flags(f"cosets, {name}", int(same.sum()), len(same), int(other.sum()), len(other))


def tell_fakes_by_cosets(view: View, name: str) -> Verdict:
    """Call a row fake if what hides it is a thirteenth power, but for carries."""
    called, fake = np.isin(view.classes[1], list(view.carried)), view.fake
    return of_flags(
        f"cosets, fake or user, {name}",
        int(np.sum(called & fake)),
        int(fake.sum()),
        int(np.sum(called & ~fake)),
        int(np.sum(~fake)),
    )


@each
@each_view
def test_no_coset_is_left_to_follow_and_none_tells_fakes_from_users(
    real: Callable[[str, str], View], name: str, who: str
) -> None:
    link_by_cosets(real(name, who), f"{name}, {who}").assert_fails()
    tell_fakes_by_cosets(real(name, who), f"{name}, {who}").assert_fails()


def test_zeros_that_stay_in_one_coset_link_rows_and_tell_fakes() -> None:
    key = key_of("jl")
    for who, view in views(run(key, FEW, weak=OneCoset), key).items():
        link_by_cosets(view, f"{who}, one coset").assert_succeeds()
        if who != "first holder":
            tell_fakes_by_cosets(view, f"{who}, one coset").assert_succeeds()


def test_a_row_of_dgk_has_no_part_outside_the_groups_of_g_and_h(real: Callable[[str, str], View]) -> None:
    """Why its cosets tell nothing: all rows, users', fakes and passed on, are in one and the same."""
    for who in VIEWS:
        view = real("dgk", who)
        assert set(view.classes[0].tolist()) == set(view.classes[1].tolist()) == {0}
        assert all(gmpy2.jacobi(u, prime_of(view.key)) == 1 for u in view.bare[1][:500])
