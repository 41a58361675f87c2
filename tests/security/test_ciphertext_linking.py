"""The key holder follows ciphertexts through a pass: by small exponents, by sizes of integers, by Legendre symbols.

Who: the analyzer, who has the private key, with one of these, r = 3:
    first holder    shuffler 1, who made the first pass itself and sees what the last holder delivers
    later holder    shuffler 2, who is handed what shuffler 1 made of ciphertexts that users know, having sent them
    users           who know the ciphertexts that they sent; the analyzer is delivered what became of them
The pass between `before` and `after` was always made by an honest shuffler, by a permutation that they do not know.
Linking is guessing which row of `before` a row of `after` was.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpz
from numpy.typing import NDArray

from peos.crypto.randomness import U64, Randomness
from peos.crypto.schemes import packing
from peos.crypto.schemes.base import Packed, PublicKey
from peos.crypto.schemes.paillier import PaillierPrivateKey, PaillierPublicKey, rho_bits
from tests.full import full
from tests.security.laid import Laid, WatchedNode
from tests.security.verdict import Verdict, of_flags, of_guesses
from tests.security.weakened import Forty, OneSquaredBase, OneWidth, Unburied, Unrandomised

pytestmark = pytest.mark.full  # `make security` runs it too

USERS = FAKES = 12_000
FEW = 1_200
VIEWS = ("first holder", "later holder", "users")
Weak = type[PaillierPublicKey]


def run(key: PaillierPrivateKey, count: int, *, weak: Weak | None = None, only_at: int = 0, shufflers: int = 3) -> Laid:
    """A collection of `count` users and as many fakes; shufflers (or one of them) may work with a weakened key."""

    class InUse(WatchedNode):
        def key_in_use(self, public: PublicKey) -> PublicKey:
            weakened = weak is not None and only_at in (0, self.number)
            return weak(key.public.modulus) if weak is not None and weakened else public

    rng = Randomness(b"\x01" * 32)
    laid = Laid(key, rng, nodes=InUse, fakes=count, shufflers=shufflers)
    reports = rng.uint64((count, 1))
    # A user sends one report and uses no tables: her Legendre symbols are random even where tables keep them.
    statistical = weak is OneSquaredBase
    laid.lay(reports, encrypt=lambda words: _as_users_do(laid, words, statistical=statistical))
    laid.shuffle()
    laid.assert_conserved()
    return laid


def _as_users_do(laid: Laid, words: U64, *, statistical: bool) -> Packed:
    public = laid.key.public
    source = public.zero_source(laid.rng, expected=len(words), statistical=statistical)
    return public.encrypt(words, source.zeros(len(words)))


@dataclass(frozen=True, eq=False)
class View:
    """What a coalition saw on both sides of honest passes; `origin` and `fake` are the referee's."""

    key: PaillierPrivateKey = field(repr=False)
    before: Packed
    after: Packed
    origin: NDArray[np.intp]  # after[i] was before[origin[i]]
    fake: NDArray[np.bool_]  # whether after[i] is a fake

    @cached_property
    def integers(self) -> tuple[list[int], list[int]]:
        """The decryptions before and after, not reduced."""
        return self.key.decrypt_integers(self.before), self.key.decrypt_integers(self.after)

    @cached_property
    def symbols(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The Legendre symbols modulo p and q before and after, as 0 for (+,+) to 3."""
        return _symbols(self.key, self.before), _symbols(self.key, self.after)


def views(laid: Laid, key: PaillierPrivateKey) -> dict[str, View]:
    """What each coalition sees; with more than two holders `first holder` stands for all holders but the last."""
    first, last = laid.passes()[0], laid.passes()[-1]
    rows_in = [done.origin for done in laid.passes()]
    through = rows_in[0]
    for origin in rows_in[1:]:
        through = through[origin]
    fakes_from = len(through) - laid.document.fakes
    return {
        "first holder": View(key, last.before, last.after, last.origin, through >= fakes_from),
        "later holder": View(key, first.before, first.after, first.origin, first.origin >= fakes_from),
        "users": View(key, first.before, last.after, through, through >= fakes_from),
    }


@pytest.fixture(scope="module")
def real(key: PaillierPrivateKey) -> dict[str, View]:
    return views(run(key, USERS), key)


# Small exponents: c_out / c_in = (1+N)^δ = 1 + δN mod N², so that c_out = c_in mod N.


def link_by_exponents(view: View, name: str) -> Verdict:
    """For each row that came out, look up the one that went in and differs by a power of 1 + N."""
    n = view.key.public.modulus
    known = {c % n: row for row, c in enumerate(packing.integers(view.before))}
    guesses = [known.get(c % n, -1) for c in packing.integers(view.after)]
    return _identified(f"small exponents, {name}", guesses, view)


@pytest.mark.parametrize("who", VIEWS)
def test_rerandomised_ciphertexts_are_not_linked_by_small_exponents(real: dict[str, View], who: str) -> None:
    link_by_exponents(real[who], who).assert_fails()


def test_without_rerandomisation_small_exponents_link_every_row_in_every_view(key: PaillierPrivateKey) -> None:
    for who, view in views(run(key, FEW, weak=Unrandomised), key).items():
        link_by_exponents(view, f"{who}, never re-randomised").assert_succeeds()


# Sizes of the decrypted integers.


def link_by_order(view: View, name: str) -> Verdict:
    """Guess of each row in an outer third by size whether it was large or small before, by what it is after.

    Sums keep the order of what is added to them as long as the mask is not far wider.
    """
    before, after = _ranks(view.integers[0])[view.origin], _ranks(view.integers[1])
    outer = (before < 1 / 3) | (before > 2 / 3)
    right = (before > 0.5) == (after > 0.5)
    return of_guesses(f"order of integers, {name}", int(np.sum(right & outer)), int(np.sum(outer)))


def link_by_high_parts(view: View, name: str) -> Verdict:
    """Look up what stands above bit 64: if only a mask was added it is what it was, or one more."""
    known = {m >> 64: row for row, m in enumerate(view.integers[0])}
    high = [m >> 64 for m in view.integers[1]]
    return _identified(f"high parts, {name}", [known.get(h, known.get(h - 1, -1)) for h in high], view)


def tell_fakes_by_size(view: View, name: str) -> Verdict:
    """Call a row fake if its integer is one of the larger half."""
    return _fakes_told(f"sizes of integers, fake or user, {name}", view, _ranks(view.integers[1]) > 0.5)


@pytest.mark.parametrize("who", [VIEWS[0], *map(full, VIEWS[1:])])
def test_integers_that_are_buried_keep_no_order(real: dict[str, View], who: str) -> None:
    link_by_order(real[who], who).assert_fails()


@pytest.mark.full
def test_without_rho_the_order_of_integers_follows_rows(key: PaillierPrivateKey) -> None:
    laid = run(key, FEW, weak=Unburied)
    link_by_order(views(laid, key)["later holder"], "later holder, ρ = 0").assert_succeeds()


@pytest.mark.parametrize("weak", [full(Forty), OneWidth])
def test_rho_of_the_same_width_at_every_pass_keeps_the_order(key: PaillierPrivateKey, weak: Weak) -> None:
    laid = run(key, FEW, weak=weak)
    link_by_order(views(laid, key)["first holder"], f"first holder, {weak.__name__}").assert_succeeds()


def test_high_parts_link_no_row(real: dict[str, View]) -> None:
    link_by_high_parts(real["first holder"], "first holder").assert_fails()


@pytest.mark.full
def test_without_rho_at_the_later_holder_high_parts_link_every_row(key: PaillierPrivateKey) -> None:
    laid = run(key, FEW, weak=Unburied, only_at=2)
    link_by_high_parts(views(laid, key)["first holder"], "first holder, ρ = 0 at shuffler 2").assert_succeeds()


@pytest.mark.parametrize("who", ["later holder", "users"])
def test_sizes_do_not_tell_fakes_from_users_at_either_hop(real: dict[str, View], who: str) -> None:
    tell_fakes_by_size(real[who], who).assert_fails()


def tell_marks(key: PaillierPrivateKey, public: PaillierPublicKey, hop: int, count: int, rng: Randomness) -> Verdict:
    """All holders before pass `hop` work with the analyzer: for fakes they draw the largest ρ there is, for users 0.

    Nothing that they send could not have been drawn honestly. Then comes one honest pass.
    """
    largest = sum(((mpz(1) << rho_bits(earlier)) - 1) << 64 for earlier in range(1, hop))
    fake = np.arange(count) % 2 == 1
    n = public.modulus
    marked = [1 + n * (largest if is_fake else 0) for is_fake in fake]
    zeros = public.zero_source(rng, expected=count).zeros(count)
    after = public.remask(packing.pack(marked, public.ciphertext_bytes), rng.uint64(count), zeros, hop=hop, rng=rng)
    called = _ranks(key.decrypt_integers(after)) > 0.5
    return of_guesses(f"marks within ρ's width, honest pass {hop}", int(np.sum(called == fake)), count)


@pytest.mark.parametrize("hop", [2, full(3), full(4)])
def test_marks_within_the_widths_of_earlier_passes_are_buried(
    key: PaillierPrivateKey, hop: int, rng: Randomness
) -> None:
    tell_marks(key, key.public, hop, 20_000, rng).assert_fails()


@pytest.mark.parametrize("hop", [2, 3, 4])
def test_rho_of_the_same_width_shows_the_marks(key: PaillierPrivateKey, hop: int, rng: Randomness) -> None:
    tell_marks(key, OneWidth(key.public.modulus), hop, FEW, rng).assert_succeeds()


# Legendre symbols modulo p and q: (1+N)^m is a square, so the symbols of c are those of its zero.


def link_by_symbols(view: View, name: str) -> Verdict:
    """Flag a pair of users' rows as the same report if their symbols agree; half of the pairs shown are, half are not.

    Only users' rows are paired: where all fakes look the same, they cannot be told from one another.
    """
    origin = view.origin[~view.fake]
    before, after = view.symbols[0], view.symbols[1][~view.fake]
    same, other = before[origin] == after, before[np.roll(origin, 1)] == after
    return of_flags(f"Legendre symbols, {name}", int(same.sum()), len(same), int(other.sum()), len(other))


def tell_fakes_by_symbols(view: View, name: str) -> Verdict:
    """Call a row fake if its symbols are (+,+), as those of a square are."""
    return _fakes_told(f"Legendre symbols, fake or user, {name}", view, view.symbols[1] == 0)


@pytest.mark.parametrize("who", VIEWS)
def test_a_fresh_base_for_every_row_of_the_tables_leaves_no_symbol_to_follow(real: dict[str, View], who: str) -> None:
    link_by_symbols(real[who], who).assert_fails()


@pytest.mark.parametrize("who", ["later holder", "users"])
def test_symbols_do_not_tell_fakes_from_users(real: dict[str, View], who: str) -> None:
    tell_fakes_by_symbols(real[who], who).assert_fails()


@pytest.mark.full
def test_with_a_single_squared_base_symbols_link_rows_and_tell_fakes(key: PaillierPrivateKey) -> None:
    for who, view in views(run(key, FEW, weak=OneSquaredBase), key).items():
        link_by_symbols(view, f"{who}, one squared base").assert_succeeds()
        tell_fakes_by_symbols(view, f"{who}, one squared base").assert_succeeds()


# More hops than two.


@pytest.fixture(scope="module")
def seven(key: PaillierPrivateKey) -> dict[str, View]:
    return views(run(key, 500, shufflers=7), key)


@pytest.mark.parametrize("attack", [link_by_exponents, link_by_high_parts])
def test_three_holders_of_seven_link_nothing_through_the_fourth(
    seven: dict[str, View], attack: Callable[[View, str], Verdict]
) -> None:
    attack(seven["first holder"], "shufflers 1, 2, 3 of 7").assert_fails()


def _symbols(key: PaillierPrivateKey, ciphertexts: Packed) -> NDArray[np.int64]:
    # (1+N)^m is a square mod p and mod q, so these are the symbols of the zero that hides m.
    return np.array(
        [(gmpy2.legendre(c, key.p) < 0) + 2 * (gmpy2.legendre(c, key.q) < 0) for c in packing.integers(ciphertexts)]
    )


def _ranks(integers: list[int]) -> NDArray[np.float64]:
    """Where each integer stands among all, from 0 to 1."""
    ranks = np.empty(len(integers))
    ranks[sorted(range(len(integers)), key=integers.__getitem__)] = np.linspace(0, 1, len(integers))
    return ranks


def _identified(attack: str, guesses: list[int], view: View) -> Verdict:
    correct = int(np.sum(np.array(guesses) == view.origin))
    return of_guesses(attack, correct, len(guesses), choices=len(guesses))


def _fakes_told(attack: str, view: View, called: NDArray[np.bool_]) -> Verdict:
    fake = view.fake
    return of_flags(
        attack, int(np.sum(called & fake)), int(fake.sum()), int(np.sum(called & ~fake)), int(np.sum(~fake))
    )
