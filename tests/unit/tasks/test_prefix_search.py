"""Searches for frequent texts: what they ask, what they find, and what no search can be made of."""

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from peos.estimate.grouped import GroupedOracle, GroupEstimate
from peos.ldp.grouped_hash import Candidates
from peos.simulate import run_study
from peos.tasks import HASH, SPM, PrefixSearch, heavy_hitters, pem, pem1, treehist
from peos.tasks.base import Answer, Round
from peos.tasks.views import answers_of
from tests.raising import raises

ASKED: dict[str, Any] = {"users": 6_000, "delta": 1e-6, "eps_local": 4.0, "fakes": 0, "d_prime": 64}


def words(users: int, *, letters: int = 3, drawn: int = 200, power: float = 1.2, seed: int = 0) -> list[str]:
    """Zipf over random words."""
    rng = np.random.default_rng(seed)
    names = sorted({"".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), letters)) for _ in range(drawn)})
    chances = 1.0 / np.arange(1, len(names) + 1) ** power
    drawn_words = rng.permutation(names)[rng.choice(len(names), users, p=chances / chances.sum())]
    return [str(word) for word in drawn_words]


class Exact:
    """Reports without noise: every group sees everybody's texts."""

    def __init__(self, task: PrefixSearch | SPM | HASH, records: list[str]) -> None:
        self.users, self.fakes = len(records), 0
        self.keys = answers_of(task.views, records, Randomness(bytes(32)))
        self.sizes = (self.users,) * len(self.keys)

    def estimate(self, group: int = 0, candidates: Candidates | None = None) -> GroupEstimate:
        assert candidates is not None
        parents, exts, _ = self.keys[group]
        held = Counter(zip(parents.tolist(), exts.tolist(), strict=True))
        listed = candidates.parents.tolist(), candidates.exts.tolist()
        counts = [held[key] for key in (zip(*listed, strict=True) if candidates.paired else itertools.product(*listed))]
        oracle = GroupedOracle(p=1.0, u=0.0)
        return GroupEstimate.of(oracle, np.array(counts), reports=self.users, users=self.users, fakes=0)


SEARCHES: dict[str, PrefixSearch | SPM | HASH] = {
    "default": heavy_hitters(3, 3, **ASKED),
    "treehist": treehist(24, 3, beam=20, **ASKED),
    "pem": pem(24, 3, 5, beam=20, **ASKED),
    "pem1": pem1(24, 3, beam=20, **ASKED),
    "threshold": pem(24, 3, 5, threshold=0.02, **ASKED),
    "segments": SPM(24, 3, **ASKED),
    "segments of four bits": SPM(24, 3, step=4, **ASKED),
    "channels": HASH(24, 3, channels=500, **ASKED),
    "channels of long texts": HASH(96, 3, step=10, channels=500, **ASKED),
    "long": treehist(96, 3, step=12, beam=20, **ASKED),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_without_noise_it_finds_the_most_frequent(name: str) -> None:
    task = SEARCHES[name]
    records = words(500, letters=task.bits // 8, power=2.0)
    asked = task.next([])
    assert isinstance(asked, Round)
    table = asked.decode(Exact(task, records))
    ranked = sorted(set(records), key=lambda word: (-records.count(word), word))
    assert list(table.labels) == ranked[:3]
    assert table.users == 500
    assert table.frequency.tolist() == pytest.approx([records.count(word) / 500 for word in ranked[:3]])
    assert isinstance(task.next([table]), Answer)


def test_a_threshold_that_nothing_meets_ends_the_search_with_a_note() -> None:
    task = pem(24, 3, 5, threshold=0.9, **ASKED)
    table = task.decode(Exact(task, words(100)))
    assert (table.labels, table.users) == ((), 100)
    assert "0.9" in table.note


@pytest.mark.parametrize("seed", range(3))
def test_the_three_most_frequent_words_of_the_demo_are_found(seed: int) -> None:
    """6,000 users, words of three letters, ε_c = ε_s = 1 with ε_l at most 6."""
    records = words(6_000, seed=seed)
    task = heavy_hitters(3, 8, **{**ASKED, **DEMO})
    answer = run_study(task, records, shuffle=False, rng=Randomness(bytes([seed]) * 32))
    ranked = sorted(set(records), key=lambda word: -records.count(word))
    assert set(ranked[:3]) <= set(answer.labels)
    assert set(ranked[:3]) <= {word for word, found in zip(answer.labels, answer.significant, strict=True) if found}
    assert answer.score(records)["f1"] >= 0.6
    claims = answer.rounds[0].guarantees
    assert max(claims.server.epsilon, claims.users.epsilon) <= 1.0 < claims.local <= 6.0


DEMO: dict[str, Any] = {"eps_server": 1.0, "eps_users": 1.0, "eps_local": 6.0, "fakes": "auto", "d_prime": None}


def test_it_is_a_function_of_what_was_seen() -> None:
    task = SEARCHES["pem"]
    one, again = task.next([]), task.next([])
    assert isinstance(one, Round)
    assert isinstance(again, Round)
    assert (one.views, one.plan.mechanism, one.share) == (again.views, again.plan.mechanism, again.share)


@pytest.mark.parametrize(
    ("change", "id_"),
    [
        ({"bits": 0}, "mechanism.range"),
        ({"bits": 513}, "mechanism.range"),
        ({"k": 0}, "mechanism.range"),
        ({"beam": 2}, "mechanism.range"),
        ({"cuts": (8, 16)}, "task.cuts"),
        ({"weights": (1, 1)}, "task.cuts"),
        ({"cuts": (21, 22, 24)}, "task.cuts_apart"),
        ({"cuts": (8, 8, 24)}, "task.cuts_apart"),
        ({"cuts": (20, 22, 40), "bits": 40, "beam": 4096}, "task.tested"),
    ],
)
def test_what_no_search_can_be_made_of_is_refused(change: dict[str, Any], id_: str) -> None:
    with raises(id_):
        PrefixSearch(**{"bits": 24, "cuts": (8, 16, 24), "k": 3, **change}, **ASKED)


def test_the_default_grows_long_texts_by_two_bytes_where_they_are_told_apart() -> None:
    """64 bytes, the longest, with d' from 2^8 on, and not where a level would have too many candidates."""
    asked = {**ASKED, "d_prime": 256}
    assert heavy_hitters(6, 32, **asked).cuts == (8, 16, 24, 32, 40, 48)
    assert heavy_hitters(64, 32, **asked).cuts == tuple(range(16, 513, 16))
    assert heavy_hitters(64, 32, **ASKED).cuts == heavy_hitters(64, 256, **asked).cuts == tuple(range(8, 513, 8))
    task = heavy_hitters(6, 32, **asked)
    assert (task.beam, task.weights) == (128, (1, 1, 1, 1, 1, 2))


def test_pem_by_itself_takes_the_fewest_groups_that_test_a_million() -> None:
    assert pem(48, 16, **ASKED).cuts == (15, 26, 37, 48)
    assert pem(32, 16, **ASKED).cuts == (18, 32)
    assert len(pem(160, 16, **ASKED).cuts) == 13


def test_segments_and_blocks_have_a_group_each() -> None:
    with raises("task.segments"):
        SPM(24, 3, step=7, **ASKED)
    with raises("task.segments"):
        SPM(96, 3, **ASKED)  # 12 segments, 66 pairs
    with raises("task.blocks"):
        HASH(512, 3, step=4, **ASKED)
    with raises("mechanism.range"):
        HASH(24, 3, channels=2, **ASKED)
    with raises("mechanism.range"):
        HASH(48, 3, step=24, **ASKED)


@pytest.mark.parametrize("make", [SPM, HASH])
def test_the_most_frequent_words_are_found_by_pairs_and_by_channels(make: Any) -> None:
    records = words(20_000)
    task = make(24, 4, **{**ASKED, "users": 20_000, "eps_local": 6.0, "d_prime": 256})
    answer = run_study(task, records, shuffle=False, rng=Randomness(b"\x07" * 32))
    assert max(set(records), key=records.count) == answer.labels[0]
    assert answer.score(records)["f1"] >= 0.5


def test_users_must_be_as_many_as_were_planned_for() -> None:
    with raises("task.users"):
        run_study(SEARCHES["pem"], ["abc"], shuffle=False)
