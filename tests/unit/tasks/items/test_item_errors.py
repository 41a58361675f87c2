"""Errors of items, of u' and of rules: what is stated is what simulated studies show."""

from typing import Any

import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from peos.simulate import run_study
from peos.tasks import SVIM, SVSM
from peos.tasks.base import Table
from peos.tasks.items.rounds import ItemsAnswer, Lengths
from peos.tasks.items.rules import rules_of
from tests.full import many

ASKED: dict[str, Any] = {"delta": 1e-6, "eps_local": 5.0, "fakes": 0}


def table(labels: list[str], f: list[float], errors: list[float], *, found: bool = True) -> Table:
    frequency, error = np.array(f), np.array(errors)
    interval = np.stack((frequency - 2 * error, frequency + 2 * error), axis=1)
    return Table(tuple(labels), frequency, error, interval, np.full(len(f), found), len(f), 100)


def lists_of(users: int, seed: int) -> list[list[int]]:
    """Independent items of falling frequency, so that every item is in lists of the same lengths."""
    rng = np.random.default_rng(seed)
    held = rng.random((users, 12)) < np.linspace(0.6, 0.1, 12)
    return [np.flatnonzero(row).tolist() for row in held]


def test_stated_errors_are_those_of_repeated_studies() -> None:
    """Items among all users, of whom some are asked: noise, sampling and that of u'; and intervals cover."""
    users, runs = 2_000, many(80, 300)
    lists, task = lists_of(users, 1), SVIM(12, 12, users=users, **ASKED)
    truth = np.bincount(np.concatenate([np.array(one, np.int64) for one in lists if one]), minlength=12) / users
    off, stated, covered = [], [], []
    for run in range(runs):
        answer = run_study(task, lists, shuffle=False, rng=Randomness(run.to_bytes(32)))
        rows = {label: at for at, label in enumerate(answer.labels)}
        for item in range(3):
            at = rows[str(item)]
            off.append(answer.frequency[at] - truth[item])
            stated.append(answer.stderr[at])
            covered.append(answer.interval95[at, 0] <= truth[item] <= answer.interval95[at, 1])
    ratio = float(np.std(off) / np.sqrt(np.mean(np.square(stated))))
    assert 0.85 <= ratio <= 1.12, ratio
    assert abs(np.mean(off)) <= 0.45 * float(np.mean(stated)), "what u' leaves is less than half an error here"
    assert np.mean(covered) >= 0.92, np.mean(covered)


def test_the_error_of_u_is_that_of_repeated_sizes() -> None:
    """By the law of size estimates: normal errors around true sizes."""
    rng, size = np.random.default_rng(2), np.array([0.1, 0.2, 0.3, 0.2, 0.15, 0.04, 0.01])
    error = 0.008
    drawn = [
        Lengths.of(table(list("0123456"), (size + rng.normal(0, error, 7)).tolist(), [error] * 7), 6)
        for _ in range(2_000)
    ]
    same = [one for one in drawn if one.slots == 4]
    assert len(same) > 500
    spread = float(np.std([one.factor for one in same]))
    assert 0.8 <= np.mean([one.spread for one in same]) / spread <= 1.25


def test_a_correction_multiplies_and_adds_its_own_error() -> None:
    lengths = Lengths(3, factor=1.2, spread=0.1)
    found = lengths.corrected(table(["a"], [0.5], [0.02]))
    assert found.frequency[0] == pytest.approx(0.6)
    assert found.stderr[0] == pytest.approx(np.hypot(0.024, 0.05))
    assert found.interval95[0] == pytest.approx([0.6 - 2 * found.stderr[0], 0.6 + 2 * found.stderr[0]])


def test_rules_are_ratios_with_the_error_of_a_ratio() -> None:
    items = table(["a", "b", "c"], [0.5, 0.25, 0.4], [0.01, 0.01, 0.01])
    sets = table(['["a", "b"]', '["a", "b", "c"]'], [0.2, 0.1], [0.02, 0.01])
    found = rules_of(items, sets)
    rows = dict(zip(found.labels, zip(found.frequency, found.stderr, strict=True), strict=True))
    assert rows["b → a"][0] == pytest.approx(0.8)
    assert rows["a → b"][0] == pytest.approx(0.4)
    assert rows['["a", "b"] → c'][0] == pytest.approx(0.5)
    assert rows['c → ["a", "b"]'][0] == pytest.approx(0.25)
    assert set(rows) == {"a → b", "b → a", '["a", "b"] → c', 'a → ["b", "c"]', 'b → ["a", "c"]', 'c → ["a", "b"]'}
    assert list(found.frequency) == sorted(found.frequency, reverse=True)
    rng = np.random.default_rng(1)
    ratios = (0.2 + rng.normal(0, 0.02, 20_000)) / (0.25 + rng.normal(0, 0.01, 20_000))
    assert rows["b → a"][1] == pytest.approx(float(np.std(ratios)), rel=0.05)
    assert rules_of(items, sets, least=0.6).labels == ("b → a",)
    assert rules_of(items, table(['["a", "b"]'], [0.2], [0.02], found=False)).labels == ()


def test_a_study_of_sets_has_rules_and_says_who_was_cut() -> None:
    rng = np.random.default_rng(5)
    lists = [[0, 1] + [2] * bool(one < 0.5) if one < 0.6 else [3] for one in rng.random(6_000)]
    answer = run_study(SVSM(10, 8, users=6_000, **ASKED), lists, shuffle=False, rng=Randomness(bytes(32))).answer
    assert isinstance(answer, ItemsAnswer)
    assert answer.rules is not None
    rows = dict(
        zip(answer.rules.labels, zip(answer.rules.frequency, answer.rules.interval95, strict=True), strict=True)
    )
    assert rows["0 → 1"][1][0] <= 1.0 <= rows["0 → 1"][1][1] + 0.05
    assert [one.split(":")[0] for one in answer.notes] == ["Items", "Item sets"]
