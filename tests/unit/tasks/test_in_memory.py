"""What is for comparisons in memory: linked reports and PrivTrie; and how near an answer is to the truth."""

from typing import Any

import numpy as np
import pytest

from peos.compute import Inline
from peos.crypto.randomness import Randomness
from peos.ldp.base import UNASKED
from peos.ldp.grouped_hash import Candidates, Keys
from peos.ldp.linked_hash import LinkedHash
from peos.simulate import run_study
from peos.tasks import HASH, SPM, LinkedHASH, LinkedSPM, PrivTrie, treehist
from peos.tasks.base import Round, Table
from peos.tasks.scoring import missed, score, truth
from peos.tasks.views import answers_of
from tests.raising import raises
from tests.unit.compute.conftest import Eager, eager

__all__ = ["eager"]  # a fixture

USERS = 40_000
ASKED: dict[str, Any] = {"users": USERS, "delta": 1e-6, "fakes": 0}


def numbers(seed: int = 0) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
    """Strings of 24 bits, by Zipf's law."""
    rng = np.random.default_rng(seed)
    names = rng.integers(0, 2**24, 100, dtype=np.uint64)
    chances = 1 / np.arange(1, 101) ** 1.3
    return rng.choice(names, USERS, p=chances / chances.sum())


@pytest.mark.parametrize(("kind", "parts"), [(LinkedSPM, 3), (LinkedHASH, 2)])
def test_linked_reports_find_the_most_frequent_at_a_large_epsilon(kind: Any, parts: int) -> None:
    task = kind(24, 4, eps_local=4.0 * parts, **ASKED)
    records = numbers()
    answer = run_study(task, records, shuffle=False, rng=Randomness(b"\x05" * 32))
    assert answer.labels[0] == next(iter(truth(task.labels(records), 1)))
    assert answer.score(records)["f1"] >= 0.5
    claims = answer.guarantees
    assert claims.server.epsilon == claims.users.epsilon == claims.local == pytest.approx(4.0 * parts, abs=1e-6)


@pytest.mark.parametrize(("split", "whole", "at_least"), [(LinkedHASH, HASH, 0.3), (LinkedSPM, SPM, 0.3)])
def test_a_whole_epsilon_for_one_part_finds_more(split: Any, whole: Any, at_least: float) -> None:
    records = numbers()
    scores = []
    for kind in (split, whole):
        task = kind(24, 8, eps_local=2.0, **ASKED)
        runs = [run_study(task, records, shuffle=False, rng=Randomness(bytes([run]) * 32)) for run in range(2)]
        scores.append(np.mean([answer.score(records)["f1"] for answer in runs]))
    assert scores[1] >= scores[0] + at_least, scores


@pytest.mark.parametrize("make", [LinkedSPM, LinkedHASH, PrivTrie])
def test_no_shuffle_asks_what_is_for_memory_alone(make: Any) -> None:
    task = make(24, 4, eps_local=4.0, **ASKED)
    with raises("task.in_memory"):
        run_study(task, numbers())
    with raises("plan.no_target"):
        _ = make(24, 4, eps_server=1.0, **ASKED).plan


def test_no_document_has_linked_reports() -> None:
    with raises("mechanism.local_only"):
        LinkedHash.from_parameters(3, LinkedHash(3, 2, 2.0).parameters, UNASKED)


def test_pairs_of_linked_reports_are_unbiased() -> None:
    """A fifth of the users hold (3, 7): within six standard errors of each estimate over 20 collections."""
    mechanism = LinkedHash(1, 3, 6.0, 8)
    users, held = 2_000, 400
    exts = np.zeros((users, 3), np.uint64)
    exts[:held, 0], exts[:held, 1], exts[held:, 0], exts[held:, 1] = 3, 7, 3, 1
    keys = Keys(np.zeros_like(exts), exts, np.ones_like(exts, np.bool_))
    found = []
    for run in range(20):
        reports = mechanism.reports(mechanism.randomize(keys, Randomness(bytes([run]) * 32)), users, 0)
        assert reports.sizes == (users, users, users)
        pair = reports.together(0, np.array([3, 5], np.uint64), np.array([7, 1], np.uint64)).reshape(-1)
        alone = reports.estimate(0, Candidates(np.zeros(1, np.uint64), np.array([3, 5], np.uint64))).frequency
        found.append([*pair, *alone])
    means, errors = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(20)
    assert np.all(np.abs(means - [0.2, 0.8, 0.0, 0.0, 1.0, 0.0]) <= 6 * errors), (means, errors)


def test_private_trie_grows_by_batches_of_other_users() -> None:
    task, records = PrivTrie(24, 4, eps_local=6.0, **ASKED), numbers()
    answer = run_study(task, records, shuffle=False, rng=Randomness(b"\x05" * 32))
    assert answer.is_complete
    assert len(answer.rounds) > 3
    assert {one.users for one in answer.rounds} == {task.plan.users} == {40}
    assert sum(one.users for one in answer.rounds) <= USERS
    assert next(iter(truth(task.labels(records), 1))) in answer.labels


def test_private_trie_is_of_characters_and_of_users_enough() -> None:
    with raises("task.characters"):
        PrivTrie(20, 4, eps_local=6.0, **ASKED)
    few = PrivTrie(24, 4, users=20, delta=1e-6, eps_local=6.0)
    answer = run_study(few, numbers()[:20], shuffle=False, rng=Randomness(b"\x05" * 32))
    assert not answer.labels


def test_an_engine_finds_the_same_and_tells_of_each_level(eager: Eager) -> None:
    records = numbers()
    task = treehist(24, 4, beam=16, eps_local=3.0, **ASKED)
    alone = run_study(task, records, shuffle=False, rng=Randomness(b"\x06" * 32))
    seen: list[tuple[int, int, int]] = []
    rng = Randomness(b"\x06" * 32)
    answer = run_study(task, records, shuffle=False, rng=rng, engine=eager, progress=lambda *at: seen.append(at))
    assert answer.labels == alone.labels
    assert np.array_equal(answer.frequency, alone.frequency)
    assert seen == [(level, 1, 1) for level in range(3)]


def test_a_search_that_is_stopped_ends_after_the_piece_that_it_is_at() -> None:
    seen: list[int] = []
    with Inline() as engine:

        def stop(level: int, *_: int) -> None:
            seen.append(level)
            engine.close()

        with raises("compute.stopped"):
            run_study(treehist(24, 4, eps_local=3.0, **ASKED), numbers(), shuffle=False, engine=engine, progress=stop)
    assert seen == [0]


def test_of_equals_the_smaller_counts_and_what_is_missing_is_a_miss() -> None:
    held = ["c"] * 5 + ["b"] * 3 + ["a"] * 3 + ["d"]
    assert truth(held, 2) == {"c": 5, "a": 3}
    assert score(held, 2, ["a", "c"]) == {"f1": 1.0, "ncr": 1.0}
    assert score(held, 2, ["c", "b"]) == {"f1": 0.5, "ncr": pytest.approx(2 / 3)}
    assert score(held, 2, ["a"]) == {"f1": 0.5, "ncr": pytest.approx(1 / 3)}
    assert score(held, 9, [*"abcdefghi"]) == {"f1": pytest.approx(8 / 13), "ncr": 1.0}  # but for four there are none
    assert score([], 2, ["a"]) == {"f1": 0.0, "ncr": 0.0}
    assert missed(held, 0.25, ["c"]) == ["a", "b"]
    assert missed(held, 0.25, ["b", "a", "c"]) == []


def test_private_trie_asks_the_same_again_after_the_same_tables() -> None:
    """It remembers how far it came; a task that was made anew does not."""
    task, records, seen = PrivTrie(24, 4, eps_local=6.0, **ASKED), numbers(), list[Table]()
    while isinstance(following := task.next(seen), Round) and len(seen) < 40:
        again = PrivTrie(24, 4, eps_local=6.0, **ASKED).next(seen)
        assert isinstance(again, Round)
        assert (again.views, again.share) == (following.views, following.share)
        words = following.plan.mechanism.randomize(
            following.plan.mechanism.gathered(answers_of(following.views, records[:40], Randomness(b"\x08" * 32))),
            Randomness(bytes([len(seen)]) * 32),
        )
        seen.append(following.decode(following.plan.mechanism.reports(words, 40, 0)))
    assert len(seen) > 3
