"""`Marginals` as a whole, in memory: tables, their errors and coverage, what they rest on, and flooded tables."""

import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from peos.errors import Refused
from peos.simulate import run_study
from peos.tasks.base import Table
from peos.tasks.kinds import kind_of
from peos.tasks.marginals.answer import MarginalsAnswer
from peos.tasks.marginals.independence import chi_square
from peos.tasks.marginals.task import Marginals
from peos.tasks.schema import column
from tests.full import many
from tests.keys import small_key
from tests.raising import raises
from tests.unit.tasks.marginals.populations import counted, one_factor, schema

MIXED = {"smokes": ["no", "yes"], "age": {"from": 0, "to": 99, "parts": 5}, "region": list("abcd"), "sex": list("mfx")}
SIZES = (2, 5, 4, 3)


def keyed(number: int) -> Randomness:
    return Randomness(number.to_bytes(32, "big"))


def answers(task: Marginals, cells: np.ndarray, runs: int) -> list[MarginalsAnswer]:
    """Of many collections over the same users, from their reports on: no shuffle, no records."""
    mechanism, fakes = task.plan.mechanism, task.plan.fakes
    columns = [
        np.ravel_multi_index([cells[:, one] for one in block], task.overlaps.shape(block))
        for block in task.design.blocks
    ]
    found = []
    for run in range(runs):
        rng = keyed(run)
        words = np.concatenate((mechanism.randomize(np.stack(columns, axis=1), rng), rng.uint64((fakes, 1))))
        answer = task.next([task.decode(mechanism.reports(words, len(cells), fakes))])
        assert isinstance(answer, MarginalsAnswer)
        found.append(answer)
    return found


def test_through_the_shuffle_from_objects_to_tables() -> None:
    """Every path of a record: objects in, the shuffle with fakes, cells counted, tables named; and as JSON and back."""
    rng = np.random.default_rng(2)
    smokes = rng.integers(0, 2, 600)
    region = np.where(rng.random(600) < 0.8, smokes, rng.integers(0, 4, 600))
    people = [
        {"smokes": ["no", "yes"][a], "region": "abcd"[b], "age": int(c)}
        for a, b, c in zip(smokes, region, rng.integers(-5, 120, 600), strict=True)
    ]
    given = {"smokes": ["no", "yes"], "region": list("abcd"), "age": (0, 3)}
    task = Marginals(given, ways=2, users=600, delta=1e-6, eps_local=6.0, fakes=100)
    found = run_study(task, people, rng=keyed(1), key=small_key())
    truth = counted(np.stack((smokes, region), axis=1), (0, 1), (2, 4))
    table = found.table("region", "smokes")
    assert table.cells == (("a", "b", "c", "d"), ("no", "yes"))
    assert np.abs(table.frequency - truth.T).max() < 6 * table.stderr.max()
    assert table.interval.shape == (4, 2, 2)
    assert found.guarantees.local <= 6.0
    assert all(found.checks.values())
    again = task.next([Table.from_json(found.answer.found.to_json())])
    assert isinstance(again, MarginalsAnswer)
    assert np.array_equal(again.table("region", "smokes").frequency, table.frequency), "to the last digit"
    shown = again.more()["tables"]
    assert [one["attributes"] for one in shown[:4]] == [["smokes"], ["region"], ["age"], ["smokes", "region"]]
    assert sum(shown[1]["frequency"]) == pytest.approx(1.0)
    with raises("schema.unknown"):
        found.table("weight")


def test_unbiased_intervals_cover_and_estimates_are_unbiased() -> None:
    """200 collections over the same users: every cell of tables of one, two and three attributes, also with fakes."""
    cells = one_factor(12_000, 6, seed=1)
    task = Marginals(
        schema(6),
        tables=[["a0", "a1", "a2", "a3"], ["a2", "a3", "a4", "a5"], ["a0", "a1", "a4", "a5"]],
        users=12_000,
        delta=1e-6,
        eps_local=5.0,
        fakes=4_000,
    )
    found = answers(task, cells, 200)
    for asked in ((0,), (0, 1), (2, 3, 4), (1, 4)):
        truth, tables = counted(cells, asked), [one.table(*(f"a{at}" for at in asked)) for one in found]
        unbiased = [one.unbiased for one in tables if one.unbiased is not None]
        assert len(unbiased) == 200
        every = np.array([one.frequency for one in unbiased])
        z = (every.mean(axis=0) - truth) / (every.std(axis=0) / len(every) ** 0.5)
        assert np.abs(z).max() < 4.5, (asked, z)
        ends = np.array([one.interval() for one in unbiased])
        covered = np.mean((ends[..., 0] <= truth) & (truth <= ends[..., 1]))
        assert 0.93 <= covered <= 0.975, (asked, covered)


def test_fitted_errors_are_near_the_true_ones_and_fitting_lowers_them() -> None:
    cells, runs = one_factor(12_000, 6, seed=2), 40
    found = answers(Marginals(schema(6), ways=3, users=12_000, delta=1e-6, eps_server=0.5), cells, runs)
    for asked in ((0, 1), (0, 2, 5)):
        truth, tables = counted(cells, asked), [one.table(*(f"a{at}" for at in asked)) for one in found]
        errors = np.array([one.frequency - truth for one in tables])
        real, said = np.sqrt(np.mean(errors**2)), np.sqrt(np.mean([one.stderr**2 for one in tables]))
        assert 0.75 <= said / real <= 1.5, (asked, said, real)
        raw = [one.unbiased.frequency - truth for one in tables if one.unbiased is not None]
        assert not raw or real <= np.sqrt(np.mean(np.square(raw))) * 1.02


def test_a_pair_s_dependence_is_tested_with_the_privacy_noise_in_the_threshold() -> None:
    """500 collections of independent attributes, of two by two and of three by two cells; and one of dependent ones."""
    rng, users, runs = np.random.default_rng(7), 20_000, many(100, 500)
    task = Marginals(
        {"a": ["x", "y"], "b": ["x", "y"], "c": ["x", "y", "z"], "d": ["x", "y"]},
        tables=[["a", "b"], ["b", "c"], ["c", "d"], ["a", "d"]],
        users=users,
        delta=1e-6,
        eps_local=1.0,
        fakes=0,
    )
    rejected = {("a", "b"): [0, 0], ("c", "b"): [0, 0]}
    for run in range(runs):
        cells = np.stack([rng.binomial(1, 0.4, users), rng.binomial(1, 0.3, users), rng.integers(0, 3, users)], axis=1)
        cells = np.column_stack((cells, rng.binomial(1, 0.5, users)))
        (found,) = answers(task, cells, 1) if run == 0 else _again(task, cells, run)
        for pair, counts in rejected.items():
            test = found.independence(*pair)
            counts[0] += test.is_dependent
            counts[1] += test.is_dependent_plainly
    for pair, (with_noise, plainly) in rejected.items():
        # 6 % of 500; of fewer runs as many as 5 % leave with three standard deviations.
        assert with_noise <= 0.05 * runs + max(0.01 * runs, 3 * (0.05 * 0.95 * runs) ** 0.5), (pair, with_noise)
        assert plainly > 0.8 * runs, (pair, plainly)
    dependent = np.where(rng.random(users) < 0.8, cells[:, 0], cells[:, 1])
    (found,) = _again(task, np.column_stack((cells[:, 0], dependent, cells[:, 2:])), runs)
    assert found.independence("a", "b").is_dependent
    with raises("marginals.apart", kind=Refused):
        found.independence("a", "c")


def test_of_hadamard_coefficients_3_841_rejects_nearly_every_independent_pair_and_the_threshold_does_not() -> None:
    """InpHT over 8 attributes, pairs, ε = ln 3, n = 2^18, balanced independent attributes: 500 runs."""
    rng, users, coefficients, p = np.random.default_rng(3), 2**18, 36, 0.75
    hadamard = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]])
    spread = 1 / ((2 * p - 1) ** 2 * users / coefficients)  # of a coefficient near 0, by its share of the reports
    covariance = hadamard @ np.diag([0.0, spread, spread, spread]) @ hadamard.T / 16
    rejected, plainly = 0, 0
    for _ in range(500):
        ones = rng.binomial(users // coefficients, 0.5, size=3)
        θ = (2 * ones / (users // coefficients) - 1) / (2 * p - 1)
        table = (hadamard @ np.array([1.0, *θ]) / 4).reshape(2, 2)
        test = chi_square(table, covariance, users)
        rejected += test.is_dependent
        plainly += test.is_dependent_plainly
    assert rejected <= 30, "6 % of 500"
    assert plainly > 400, "80 % of 500"


def _again(task: Marginals, cells: np.ndarray, run: int) -> list[MarginalsAnswer]:
    mechanism = task.plan.mechanism
    columns = [
        np.ravel_multi_index([cells[:, one] for one in block], task.overlaps.shape(block))
        for block in task.design.blocks
    ]
    words = mechanism.randomize(np.stack(columns, axis=1), keyed(1_000 + run))
    answer = task.next([task.decode(mechanism.reports(words, len(cells), 0))])
    assert isinstance(answer, MarginalsAnswer)
    return [answer]


def test_the_tree_finds_a_chain_and_synthetic_records_are_like_the_users_and_say_what_they_are() -> None:
    rng, users = np.random.default_rng(8), 60_000
    cells = np.zeros((users, 5), np.int64)
    cells[:, 0] = rng.binomial(1, 0.4, users)
    for at in range(1, 5):
        cells[:, at] = np.where(rng.random(users) < 0.7, cells[:, at - 1], rng.binomial(1, 0.4, users))
    found = answers(Marginals(schema(5), ways=2, users=users, delta=1e-6, eps_server=1.0, eps_local=8.0), cells, 1)[0]
    tree = found.tree()
    assert {frozenset((edge.parent, edge.child)) for edge in tree.edges} == {
        frozenset((f"a{at}", f"a{at + 1}")) for at in range(4)
    }
    made = found.synthetic(40_000, keyed(3))
    for pair in ((0, 1), (2, 3), (0, 4)):
        assert np.abs(counted(made.cells, pair) - counted(cells, pair)).max() < 0.03
    assert len(made) == 40_000
    assert all(one["synthetic"] is True and {*one} >= {"a0", "a4"} for one in made.records()[:50])


def test_mixed_attributes_are_planned_and_answered() -> None:
    rng, users = np.random.default_rng(9), 30_000
    cells = np.stack([rng.integers(0, size, users) for size in SIZES], axis=1)
    cells[:, 3] = (cells[:, 2] + cells[:, 0]) % 3
    found = answers(Marginals(MIXED, ways=3, users=users, delta=1e-6, eps_server=1.0, eps_local=8.0), cells, 1)[0]
    table = found.table("sex", "smokes", "region")
    assert table.frequency.shape == (3, 2, 4)
    assert np.abs(table.frequency - np.transpose(counted(cells, (0, 2, 3), SIZES), (2, 0, 1))).max() < 0.02
    assert found.table("age").cells == (("0 to 19", "20 to 39", "40 to 59", "60 to 79", "80 to 99"),)


def test_what_cannot_be_a_task_is_refused() -> None:
    with raises("marginals.parts"):
        Marginals({"a": ["x", "y"], "b": (0.0, 1.0)}, users=1000, delta=1e-6, eps_local=1.0)
    with raises("mechanism.range"):
        Marginals(schema(3), ways=4, users=1000, delta=1e-6, eps_local=1.0)
    with raises("marginals.tables"):
        _ = Marginals(schema(3), tables=[["a0", "a1"]], users=1000, delta=1e-6, eps_local=1.0).design
    with raises("plan.no_target"):
        _ = Marginals(schema(3), users=1000, delta=1e-6, fakes=3).design


def test_by_name_and_what_a_demo_s_users_hold() -> None:
    kind = kind_of("marginals")
    task = kind.task({"schema": kind.demo["schema"]}, {"users": 6_000, "delta": 1e-6, "eps_server": 1.0})
    assert isinstance(task, Marginals)
    people = kind.records(kind.demo, 6_000, 4)
    assert people == kind.records(kind.demo, 6_000, 4)
    found = run_study(task, people, shuffle=False, rng=keyed(5))
    ages = np.bincount(task.schema["age"].index(column(people, "age")), minlength=4) / 6_000
    assert np.abs(found.table("age").frequency - ages).max() < 0.05
    assert found.independence("smokes", "age").is_dependent
    assert len(task.labels(people[:10])) == 10 * len(task.design.blocks)
    named = kind.task(
        {"schema": kind.demo["schema"], "tables": ["smokes, age", "region,exercises"]},
        {"users": 6_000, "delta": 1e-6, "eps_server": 1.0},
    )
    assert isinstance(named, Marginals)
    assert [view.names for view in named.views] == [("smokes", "age"), ("region", "exercises")]
