"""What a plan says a collection costs, counted otherwise."""

import pytest

from peos.collection.submission import bind
from peos.crypto.randomness import Randomness
from peos.errors import WrongInput
from peos.privacy.costs import cost
from peos.wire.submissions import encode_part


@pytest.mark.parametrize(("shufflers", "megabytes"), [(3, 520.0), (7, 493.7)])
def test_a_million_reports_cost_a_shuffler_what_protocol_md_says(shufflers: int, megabytes: float) -> None:
    assert cost(1, 10**6, 0, shufflers).shuffler_mb == pytest.approx(megabytes, rel=1e-3)


@pytest.mark.parametrize("words", [1, 2, 9])
@pytest.mark.parametrize("shufflers", [3, 7])
def test_a_users_bytes_are_those_on_the_wire(words: int, shufflers: int, rng: Randomness) -> None:
    shares = (bytes(words * 768), *[bytes(words * 8)] * (shufflers - 1))
    parts = bind(bytes(32), bytes(16), bytes(64), shares, rng)
    assert cost(words, 1000, 0, shufflers).user_bytes == sum(len(encode_part(part)) for part in parts)


def test_fakes_cost_as_much_as_users_and_shuffler_1_encrypts_them_besides() -> None:
    mixed, alone = cost(1, 600, 400, 3), cost(1, 1000, 0, 3)
    assert mixed.shuffler_mb == alone.shuffler_mb
    assert mixed.analyzer_s == alone.analyzer_s
    assert mixed.user_bytes == alone.user_bytes
    assert mixed.shuffler_s > alone.shuffler_s


@pytest.mark.parametrize("shufflers", [0, 2, 10])
def test_numbers_of_shufflers_that_cannot_run_a_collection_are_refused(shufflers: int) -> None:
    with pytest.raises(WrongInput, match="cannot run a collection"):
        cost(1, 1000, 0, shufflers)
