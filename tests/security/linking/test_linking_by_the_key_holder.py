"""The key holder, c shufflers and all users bet on the order of pairs: what they learn, and that they would learn it.

Who, what they see and how they bet: `coalition`, `evidence` and `chooser` of this folder. The bar of 0.05 needs
thousands of pairs: `python -m tests.security.linking` keeps its figures in tests/security/results, and this file checks
them. Each planted weakness shows with a few dozen.
"""

import json
from typing import Any, Final

import numpy as np
import pytest

from peos.shuffle.schedule import Schedule
from tests.full import full
from tests.security.linking.__main__ import COLLECTIONS, PAIRS, SHUFFLERS, kept_at
from tests.security.linking.chooser import Judged
from tests.security.linking.coalition import coalitions_of, origin
from tests.security.linking.collection import PairedCollection
from tests.security.linking.planted import PLANTED
from tests.security.linking.trials import named_key, named_stream, run
from tests.security.verdict import FAILS_UNDER, of_guesses, upper_bound

first, *others = PLANTED
SMALL: Final = 4  # collections, half of them to learn from


@pytest.mark.parametrize("weakness", [first, *map(full, others)])
def test_each_planted_weakness_is_seen(weakness: str) -> None:
    planted = PLANTED[weakness]
    coalition = frozenset({planted.member})
    trials = run(planted.kind, 3, SMALL, planted.pairs, coalitions=[coalition])
    judged = trials.judged(coalition)
    of_guesses(f"{weakness}, by {judged.chosen}", sum(judged.hits), sum(judged.pairs)).assert_succeeds()


@pytest.mark.parametrize("shufflers", SHUFFLERS)
def test_messages_are_the_same_in_number_order_and_length_whatever_the_permutation(shufflers: int) -> None:
    """So no time, no size and no abort notice of a collection can say anything: they are constant."""
    one, other = (
        PairedCollection(named_key(), named_stream(f"trace {number}"), shufflers=shufflers, pairs=5)
        for number in range(2)
    )
    assert not np.array_equal(origin(one), origin(other)), "they permuted alike, so nothing was tested"
    assert one.trace == other.trace
    lost = [notice for notice, _ in one.notices if notice.kind.name == "LOST"]
    assert len({notice.sender for notice in lost}) == shufflers, "an attempt was lost, and all said so"


def test_the_referee_knows_where_each_row_came_from() -> None:
    collection = PairedCollection(named_key(), named_stream("referee"), pairs=5)
    parts = sorted(collection.parts, key=lambda parts: parts[0].id)
    shares = np.concatenate([np.frombuffer(of[0].share, np.uint8).reshape(1, -1) for of in parts])
    words = collection.private.decrypt(shares)
    for number in (1, 2):
        words += np.array([int.from_bytes(of[number].share, "little") for of in parts], np.uint64)
    came_from = origin(collection)
    users = came_from < len(parts)
    assert np.array_equal(collection.decrypted()[users, 0], words[came_from[users]])


def test_how_many_pairs_the_bar_needs() -> None:
    """What the command's help says: 3,856 if exactly half of the bets are right."""
    assert 2 * upper_bound(3856 // 2, 3856) - 1 < FAILS_UNDER <= 2 * upper_bound(3854 // 2, 3854) - 1


@pytest.mark.parametrize("shufflers", SHUFFLERS)
def test_the_kept_figures_are_under_the_bar_for_every_coalition(shufflers: int) -> None:
    """Bounds are computed again from the hits, within collections and between them."""
    kept: dict[str, Any] = json.loads(kept_at(shufflers).read_text(encoding="utf-8"))
    expected = {", ".join(map(str, sorted(coalition))) for coalition in coalitions_of(Schedule(shufflers))}
    assert kept["coalitions"].keys() == expected
    assert kept["traces"] == 1
    assert (kept["shufflers"], kept["held_out"]) == (shufflers, COLLECTIONS // 2)
    assert kept["pairs_in_a_collection"] == PAIRS
    for members, one in kept["coalitions"].items():
        hits = tuple(map(int, one["hits_by_collection"].split()))
        assert len(hits) == kept["held_out"]
        verdict = Judged(one["bet"], hits, (PAIRS,) * len(hits)).verdict(f"shufflers {members} of {shufflers}")
        assert one["upper"] == pytest.approx(verdict.upper, abs=1e-4)
        verdict.assert_fails()


@pytest.mark.long  # a quarter of an hour: the kept run again; `make test-long`
@pytest.mark.parametrize("shufflers", SHUFFLERS)
def test_no_coalition_links_better_than_by_guessing(shufflers: int) -> None:
    trials = run(PairedCollection, shufflers, COLLECTIONS, PAIRS)
    assert len(trials.traces) == 1
    for coalition in trials.seen:
        trials.judged(coalition).verdict(f"shufflers {sorted(coalition)} of {shufflers}").assert_fails()
