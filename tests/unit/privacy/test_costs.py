"""What a plan says a collection costs, counted otherwise."""

import pytest

from peos.collection.submission import bind
from peos.collection.ticket import Ticket
from peos.crypto.identity import Identity
from peos.crypto.randomness import Randomness
from peos.crypto.schemes import KEY_BITS_FLOOR, SCHEMES
from peos.crypto.schemes import scheme as scheme_named
from peos.privacy import plan
from peos.privacy.costs import cost
from peos.wire.submissions import encode_part
from tests.keys import small_key
from tests.raising import raises


@pytest.mark.parametrize(("shufflers", "megabytes"), [(3, 520.0), (7, 493.7)])
def test_a_million_reports_cost_a_shuffler_what_protocol_md_says(shufflers: int, megabytes: float) -> None:
    assert cost(1, 10**6, 0, shufflers).shuffler_mb == pytest.approx(megabytes, rel=1e-3)


@pytest.mark.parametrize("scheme", ["dgk", "jl"])
@pytest.mark.parametrize(("shufflers", "megabytes"), [(3, 264.0), (7, 274.3)])
def test_with_ciphertexts_of_half_the_length_it_is_about_half(scheme: str, shufflers: int, megabytes: float) -> None:
    assert cost(1, 10**6, 0, shufflers, scheme).shuffler_mb == pytest.approx(megabytes, rel=1e-3)


@pytest.mark.parametrize("words", [1, 2, 9])
@pytest.mark.parametrize("shufflers", [3, 7])
@pytest.mark.parametrize("scheme", ["paillier", "dgk", "jl"])
def test_a_users_bytes_are_those_on_the_wire(words: int, shufflers: int, scheme: str, rng: Randomness) -> None:
    ciphertext = small_key(512, scheme).public.ciphertext_bytes * KEY_BITS_FLOOR // 512
    shares = (bytes(words * ciphertext), *[bytes(words * 8)] * (shufflers - 1))
    parts = bind(bytes(32), Ticket(bytes(16), bytes(64), Identity(bytes(32))), shares, rng)
    assert cost(words, 1000, 0, shufflers, scheme).user_bytes == sum(len(encode_part(part)) for part in parts)


def test_every_scheme_has_its_price_and_a_plan_names_the_one_that_was_asked_for() -> None:
    for name in SCHEMES:
        price = scheme_named(name).costs
        found = plan(2000, 64, 1e-6, eps_server=1.0, eps_local=4.0, scheme=name)
        assert found.cost.scheme == name
        assert found.cost.user_ms == price.encrypt_ms
    with raises("input.scheme", "'rot13'"):
        plan(2000, 64, 1e-6, eps_local=4.0, scheme="rot13")


def test_fakes_cost_as_much_as_users_and_shuffler_1_encrypts_them_besides() -> None:
    mixed, alone = cost(1, 600, 400, 3), cost(1, 1000, 0, 3)
    assert mixed.shuffler_mb == alone.shuffler_mb
    assert mixed.analyzer_s == alone.analyzer_s
    assert mixed.user_bytes == alone.user_bytes
    assert mixed.shuffler_s > alone.shuffler_s


@pytest.mark.parametrize("shufflers", [0, 2, 10])
def test_numbers_of_shufflers_that_cannot_run_a_collection_are_refused(shufflers: int) -> None:
    with raises("plan.shufflers"):
        cost(1, 1000, 0, shufflers)


def test_a_report_of_one_word_is_less_than_a_kilobyte_and_a_half() -> None:
    assert cost(1, 1000, 0, 3, "jl").user_bytes == 1433
