"""Marks on ciphertexts of DGK and Joye-Libert, for the key holder to see behind an honest pass.

Who: a holder that deviates, or users, with the analyzer. A mark is a factor; what it must not do is to change the word,
for that is noticed or spoils a report. Joye-Libert has no such factor but those of Jacobi symbol −1, and every receiver
looks for these. DGK has others, and its holders are trusted.
"""

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpz
from numpy.typing import NDArray

from peos.crypto.randomness import Randomness
from peos.crypto.schemes import packing
from peos.crypto.schemes.base import Packed
from peos.crypto.schemes.dgk import DGKPrivateKey
from peos.crypto.schemes.joye_libert import JoyeLibertPrivateKey
from peos.crypto.schemes.units import random_units
from peos.shuffle.effects import Pass
from tests.raising import raises
from tests.security.deviants import miscalculating
from tests.security.laid import Laid, WatchedBench
from tests.security.verdict import Verdict, of_guesses, of_rate
from tests.security.weakened_words import IntakeOnly, IntakeOnlyPrivate
from tests.security.words import SMALL, Key, bare, classes, key_of, run

pytestmark = pytest.mark.full  # `make security` runs it too

USERS = 600
ROWS = 6_000


def elements(key: Key, symbol: int, count: int, rng: Randomness) -> list[mpz]:
    """Uniform units of one Jacobi symbol."""
    n = key.public.modulus
    found = [u for u in random_units(3 * count + 50, n, rng) if gmpy2.jacobi(u, n) == symbol]
    return found[:count]


def times(key: Key, ciphertexts: Packed, factors: list[mpz]) -> Packed:
    """Each row multiplied by its factor."""
    n, pairs = key.public.modulus, zip(packing.integers(ciphertexts), factors, strict=True)
    return packing.pack([c * factor % n for c, factor in pairs], key.public.ciphertext_bytes)


def marking(key: Key, mark: mpz) -> type[WatchedBench]:
    """A holder that marks the first half of its rows before it permutes them."""

    class Marking(WatchedBench):
        def _pass(self, task: Pass) -> Packed:
            done = super()._pass(task)
            origin = self.passed[-1].origin
            factors = [mark if row < USERS // 2 else mpz(1) for row in origin.tolist()]
            return times(key, done, factors)

    return Marking


def test_a_holder_that_marks_by_jacobi_symbols_is_caught_at_the_hand_over() -> None:
    key = key_of("jl")
    (mark,) = elements(key, -1, 1, Randomness(b"\x21" * 32))
    with raises("shuffle.not_ciphertexts") as caught:
        run(key, USERS, nodes=miscalculating(marking(key, mark), who=1))
    assert caught.value.party == "shuffler 1"


def test_the_last_holder_that_marks_is_caught_at_delivery() -> None:
    key = key_of("jl")
    (mark,) = elements(key, -1, 1, Randomness(b"\x22" * 32))
    with raises("delivery.not_ciphertexts") as caught:
        run(key, USERS, nodes=miscalculating(marking(key, mark), who=2))
    assert caught.value.party == "shuffler 2"


def test_where_only_the_intake_looks_the_key_holder_reads_the_mark_behind_an_honest_pass() -> None:
    honest = key_of("jl")
    assert isinstance(honest, JoyeLibertPrivateKey)
    key = IntakeOnlyPrivate(honest.p, honest.q, honest.y)
    # (mark/p) = +1: a mark that leaves the words as they are, which are read modulo p.
    x = random_units(1, key.p, Randomness(b"\x23" * 32))[0]
    square, minus = gmpy2.powmod(x, mpz(1) << 64, key.p), key.q - 1
    mark = square + key.p * ((minus - square) * gmpy2.invert(key.p, key.q) % key.q)
    assert gmpy2.jacobi(mark, honest.public.modulus) == -1
    laid = run(key, USERS, weak=IntakeOnly, nodes=miscalculating(marking(key, mark), who=1))
    last = laid.passes()[-1]
    marked = _through(laid) < USERS // 2
    called = np.array([gmpy2.jacobi(c, key.public.modulus) == -1 for c in packing.integers(last.after)])
    of_guesses("Jacobi marks, checked at intake only", int(np.sum(called == marked)), len(marked)).assert_succeeds()


@pytest.mark.parametrize("name", ["dgk", "jl"])
def test_no_row_of_symbol_minus_one_is_let_in_by_anybody(name: str) -> None:
    key, rng = key_of(name), Randomness(b"\x24" * 32)
    sent = key.public.encrypt(rng.uint64(ROWS), key.public.zero_source(rng, expected=ROWS).zeros(ROWS))
    marked = times(key, sent, elements(key, -1, ROWS, rng))
    let_in = int(np.sum(key.public.check(marked)))
    of_rate(f"{name}: rows of symbol −1", let_in, ROWS, "rows let in").assert_fails()


def test_a_factor_of_symbol_plus_one_changes_a_joye_libert_word_or_is_a_rerandomisation() -> None:
    """Every element of symbol +1 is y^m·x^(2^64): with m = 0 it is a zero, and the next pass makes all zeros alike."""
    key, rng = key_of("jl"), Randomness(b"\x25" * 32)
    words = rng.uint64(ROWS)
    sent = key.public.encrypt(words, key.public.zero_source(rng).zeros(ROWS))
    changed = key.decrypt(times(key, sent, elements(key, 1, ROWS, rng))) != words
    unchanged = int(np.sum(~changed))
    of_rate("jl: marks of symbol +1", unchanged, ROWS, "marks that left the word as it was").assert_fails()


def tell_cosets(key: Key, marks: list[mpz], marked: NDArray[np.bool_], name: str) -> Verdict:
    """Marked rows go through one honest pass; call a row marked if what hides its word is in the coset of the mark."""
    rng = Randomness(b"\x26" * 32)
    count = len(marked)
    source = key.public.zero_source(rng, expected=2 * count)
    before = times(key, key.public.encrypt(np.zeros(count, np.uint64), source.zeros(count)), marks)
    assert key.public.check(before).all(), "no shuffler refuses such rows"
    assert not key.decrypt(before).any(), "the words are as they were"
    after = key.public.remask(before, rng.uint64(count), source.zeros(count), hop=1, rng=rng)
    seen = classes(key, bare(key, after, key.decrypt(after)))
    called = seen == classes(key, [marks[int(np.argmax(marked))]])[0]
    return of_guesses(name, int(np.sum(called == marked)), count)


def test_a_mark_within_joye_liberts_zeros_is_gone_after_one_honest_pass() -> None:
    """The key holder tells thirteenth powers from others; behind the pass they are as frequent among all rows."""
    key, rng = key_of("jl"), Randomness(b"\x27" * 32)
    n = key.public.modulus
    marked = np.arange(4 * ROWS) % 2 == 0
    units = iter(random_units(8 * len(marked), n, rng))

    def zero_of_class(wanted: bool) -> mpz:
        """x^(2^64) in class 1 for a marked row, in class 0 for another."""
        while True:
            zero = gmpy2.powmod(next(units), (mpz(1) << 64) * SMALL, n)
            return zero * shift % n if wanted else zero

    x = mpz(2)
    while classes(key, [gmpy2.powmod(x, mpz(1) << 64, n)])[0] != 1:
        x += 1
    shift = gmpy2.powmod(x, mpz(1) << 64, n)
    marks = [zero_of_class(bool(wanted)) for wanted in marked]
    before = classes(key, marks)
    assert (before == marked).all(), "the marks are as they should be, before the pass"
    tell_cosets(key, marks, marked, "jl: marks by cosets").assert_fails()


def test_a_deviating_holder_can_mark_dgk_rows_by_cofactor_elements_as_limitations_md_says() -> None:
    key = key_of("dgk")
    assert isinstance(key, DGKPrivateKey)
    marked = np.arange(ROWS) % 2 == 0
    e, root = mpz(1), mpz(2)
    while e == 1:
        e, root = gmpy2.powmod(root, (key.p - 1) // SMALL, key.p), root + 1
    mark = e + key.p * ((1 - e) * gmpy2.invert(key.p, key.q) % key.q)
    marks = [mark if wanted else mpz(1) for wanted in marked]
    tell_cosets(key, marks, marked, "dgk: cofactor elements, one honest pass").assert_succeeds()


def _through(laid: Laid) -> NDArray[np.intp]:
    first, last = laid.passes()
    return first.origin[last.origin]
