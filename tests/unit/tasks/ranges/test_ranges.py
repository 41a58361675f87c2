"""Counts, sums, means and quantiles of a collection: right, with intervals that cover, and what is refused."""

import json
import math
from typing import Any

import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from peos.ldp.grouped_tables import GroupedTables
from peos.simulate.study import run_study
from peos.tasks.base import Table
from peos.tasks.kinds import kind_of
from peos.tasks.query import Where
from peos.tasks.ranges.answer import Figure, RangesAnswer, fieller
from peos.tasks.ranges.grids import Cut, GridDesign, Layout
from peos.tasks.ranges.strata import Strata, added
from peos.tasks.ranges.task import Packed, Ranges
from peos.tasks.ranges.trees import TreeDesign
from peos.tasks.schema import Schema
from tests.raising import raises

USERS = 20_000
ASKED: dict[str, Any] = {"users": USERS, "delta": 1e-6, "eps_server": 1.0, "fakes": 0}
PEOPLE = {"age": (0, 99), "smokes": ["no", "yes"], "spending": {"from": 0.0, "to": 100.0, "real": True, "parts": 20}}


def people(seed: int = 1, users: int = USERS) -> np.ndarray:
    """Older people smoke less and spend more."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.normal(45, 18, users), 0, 99).astype(np.int64)
    smokes = (rng.random(users) < 0.5 - age / 300).astype(np.int64)
    spending = np.clip(rng.gamma(3, 8, users) + age / 4, 0, 100)
    kinds = [("age", np.int64), ("smokes", np.int64), ("spending", np.float64)]
    return np.array(list(zip(age.tolist(), smokes.tolist(), spending.tolist(), strict=True)), dtype=kinds)


def key(at: int) -> Randomness:
    return Randomness(at.to_bytes(2, "big") * 16)


def answer_of(task: Ranges, records: Any, at: int = 0) -> RangesAnswer:
    found = run_study(task, records, shuffle=False, rng=key(at)).answer
    assert isinstance(found, RangesAnswer)
    return found


def near(figure: Figure, truth: float) -> None:
    assert abs(figure.value - truth) <= 5 * figure.stderr, f"{figure} for {truth}"


TREE = Ranges({"age": PEOPLE["age"]}, **ASKED)
GRIDS = Ranges(PEOPLE, **ASKED)
SUMS = Ranges(PEOPLE, ["age"], measure="spending", **ASKED)


def test_one_ordered_attribute_is_a_tree() -> None:
    assert isinstance(TREE.design, TreeDesign)
    records = people()
    answer, age = answer_of(TREE, records), records["age"]
    near(answer.count(age=(20, 35)), float(np.sum((age >= 20) & (age <= 35))))
    union = Where(age=(20, 35)) | Where(age=(30, 60)) | Where(age=80)
    near(answer.share(union), float(np.mean((age >= 20) & (age <= 60) | (age == 80))))
    near(answer.sum("age", age=(50, 99)), float(age[age >= 50].sum()))
    near(answer.mean("age", age=(20, 60)), float(age[(age >= 20) & (age <= 60)].mean()))
    median = answer.quantile(0.5, "age")
    assert median.interval95[0] - 1 <= float(np.median(age)) <= median.interval95[1] + 1
    assert answer.count().value == pytest.approx(USERS)
    assert answer.count(age=(30, 30)).value == answer.group_by("age")["30"].value
    assert all(answer.checks.values())


def test_several_attributes_are_grids() -> None:
    assert isinstance(GRIDS.design, GridDesign)
    records = people()
    answer, age = answer_of(GRIDS, records), records["age"]
    smokes, spending = records["smokes"] == 1, records["spending"]
    slack = 0.01 * USERS  # pieces are taken to be even, which no error knows of
    for found, truth in (
        (answer.count(age=(20, 39)), np.sum((age >= 20) & (age <= 39))),
        (answer.count(age=(20, 39), smokes="yes"), np.sum((age >= 20) & (age <= 39) & smokes)),
        (answer.count(Where(smokes="yes") | Where(age=(0, 19))), np.sum(smokes | (age <= 19))),
        (
            answer.count(age=(40, 79), spending=(30.0, 60.0)),
            np.sum((age >= 40) & (age <= 79) & (spending >= 30) & (spending <= 60)),
        ),
    ):
        assert abs(found.value - float(truth)) <= 5 * found.stderr + slack
    groups = answer.group_by("smokes", of="spending")
    assert abs(groups["yes"].value - spending[smokes].mean()) < 3.0
    json.dumps(answer.more())


@pytest.mark.full
def test_a_measure_is_rounded_into_the_report() -> None:
    records = people()
    answer, age, spending = answer_of(SUMS, records), records["age"], records["spending"]
    among = (age >= 20) & (age <= 49)
    near(answer.sum("spending", age=(20, 49)), float(spending[among].sum()))
    mean = answer.mean("spending", age=(20, 49))
    near(mean, float(spending[among].mean()))
    assert mean.interval95[1] - mean.interval95[0] == pytest.approx(2 * 1.96 * mean.stderr, rel=0.02)
    near(answer.count(age=(20, 49)), float(among.sum()))


def test_packed_records_are_counted_though_one_of_each_user_is_reported() -> None:
    rng = np.random.default_rng(3)
    bought = Schema.of({"kind": ["a", "b", "c"], "price": {"from": 0, "to": 99, "parts": 5}})
    counts = rng.integers(0, 5, USERS).tolist()
    records: list[dict[str, Any]] = [
        {
            "smokes": ("no", "yes")[int(rng.random() < 0.3)],
            "bought": [{"kind": "abc"[int(rng.integers(3))], "price": int(rng.integers(100))} for _ in range(count)],
        }
        for count in counts
    ]
    task = Ranges({"smokes": ["no", "yes"]}, packed=Packed("bought", bought, 4), **ASKED)
    answer = answer_of(task, records)
    listed = [(one, each) for one in records for each in one["bought"]]
    near(answer.count(kind="a"), sum(each["kind"] == "a" for _, each in listed))
    near(answer.count(smokes="yes", kind=["b", "c"]), sum(o["smokes"] == "yes" and e["kind"] != "a" for o, e in listed))
    near(answer.sum("price", kind="a"), sum(e["price"] + 0.5 for _, e in listed if e["kind"] == "a"))


@pytest.mark.full
@pytest.mark.parametrize(
    ("task", "asked"), [(TREE, {"age": (20, 35)}), (TREE, {"age": (3, 90)}), (SUMS, {"age": (20, 49)})]
)
def test_intervals_cover_the_truth_in_93_of_100_collections(task: Ranges, asked: dict[str, Any]) -> None:
    records, runs = people(), 200
    age, spending = records["age"], records["spending"]
    among = (age >= asked["age"][0]) & (age <= asked["age"][1])
    hits = []
    for at in range(runs):
        answer = answer_of(task, records, at)
        pairs = [(answer.count(**asked), float(among.sum()))]
        if task is SUMS:
            pairs += [(answer.sum("spending", **asked), float(spending[among].sum()))]
            pairs += [(answer.mean("spending", **asked), float(spending[among].mean()))]
        else:
            pairs += [(answer.mean("age", **asked), float(age[among].mean()))]
        hits.append([found.interval95[0] <= truth <= found.interval95[1] for found, truth in pairs])
    assert np.all(np.mean(hits, axis=0) >= 0.93), np.mean(hits, axis=0)


def test_fiellers_interval_has_no_ends_where_the_count_may_be_none() -> None:
    covariance = np.array([[4.0, 1.0], [1.0, 4.0]])
    assert fieller(3.0, 1.0, covariance) == (-math.inf, math.inf)
    low, high = fieller(300.0, 100.0, covariance)
    assert low < 3.0 < high
    # At its ends the difference is as many standard errors from 0 as the level says.
    for ratio in (low, high):
        spread = 4.0 - 2 * ratio * 1.0 + ratio**2 * 4.0
        assert (300.0 - ratio * 100.0) ** 2 / spread == pytest.approx(1.959964**2, rel=1e-5)


HONEST = GroupedTables.randomize


class Flooded(GroupedTables):
    """One in twenty users sends the first cell of the first table, whatever she holds."""

    def randomize(self, values: Any, rng: Randomness | None = None) -> Any:
        words = HONEST(self, values, rng)
        liars = len(words) // 20
        words[:liars] = self._mixture.preimages(np.zeros(liars, np.int64), rng or key(0))[:, np.newaxis]
        return words


def test_a_flooded_level_is_seen_and_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.clip(np.random.default_rng(4).normal(400, 150, USERS), 0, 1023).astype(np.int64)
    records = np.array(values, dtype=[("x", np.int64)])
    truth = float(np.sum(values < 256))
    task = Ranges({"x": (0, 1023)}, **ASKED)
    assert len(task.views) > 1
    monkeypatch.setattr(GroupedTables, "randomize", Flooded.randomize)
    answer = answer_of(task, records)
    assert answer.flooded == (0,)
    assert not all(answer.checks.values())
    off = answer.count(x=(0, 255)).value - truth
    monkeypatch.setattr(RangesAnswer, "flooded", ())
    kept = answer_of(task, records).count(x=(0, 255)).value - truth
    assert abs(off) < 0.03 * USERS
    assert abs(kept) > 2 * abs(off), "left in, the level would shift it"


def test_what_is_public_is_refused_with_the_reason_and_strata_are_collections_of_their_own() -> None:
    with raises("ranges.public"):
        Ranges(PEOPLE, public=["spending"], **ASKED)
    asked = {name: one for name, one in ASKED.items() if name != "users"}
    strata = Strata.of({"north": 20_000, "south": 5_000}, {"age": PEOPLE["age"]}, **asked)
    local = {name: claims.local for name, claims in strata.guarantees().items()}
    assert local["south"] < local["north"], "fewer hide each other, so that each tells less"
    assert any(line.startswith("south, 5,000 users") for line in strata.in_words())
    records = {name: people(at, task.users) for at, (name, task) in enumerate(strata.tasks.items())}
    answers = {name: answer_of(task, records[name]) for name, task in strata.tasks.items()}
    whole = added(answers, lambda one: one.count(age=(20, 35)))
    near(whole, float(sum(np.sum((one["age"] >= 20) & (one["age"] <= 35)) for one in records.values())))


def test_questions_that_were_not_asked_are_refused() -> None:
    answer = answer_of(SUMS, people())
    with raises("query.dimension"):
        answer.count(smokes="yes")
    with raises("query.quantile"):
        answer.quantile(1.5, "age")
    with raises("ranges.packed_measure"):
        Ranges(PEOPLE, measure="age", packed=Packed("bought", Schema.of({"kind": ["a", "b"]})), **ASKED)
    with raises("query.measure"):
        Ranges(PEOPLE, measure="smokes", **ASKED)


def test_the_same_table_read_back_gives_the_same_answer() -> None:
    answer = answer_of(TREE, people())
    again = TREE.next([Table.from_json(json.loads(json.dumps(answer.found.to_json())))])
    assert isinstance(again, RangesAnswer)
    assert again.count(age=(20, 35)) == answer.count(age=(20, 35))


def test_command_lines_ask_it_by_name() -> None:
    kind = kind_of("ranges")
    options = kind.checked({"schema": {"age": {"from": 0, "to": 9}, "smokes": ["no", "yes"]}, "measure": "age"})
    records = kind.records(options, 50, 1)
    task = kind.task(options, {"users": 50, "delta": 1e-6, "eps_local": 3.0, "fakes": 0})
    first = task.next([])
    assert all(view.problem(record) == "" for view in first.views for record in records)  # type: ignore[union-attr] # a round


def test_pieces_of_an_attribute_that_does_not_divide_evenly_are_all_of_it() -> None:
    cut = Cut(101, 3, 4)
    assert (cut.fine, cut.coarse) == (34, 9)
    assert cut.of_cells(np.ones(101)).sum() == 34
    assert np.allclose(cut.even.sum(axis=1), 1.0)
    layout = Layout((cut, Cut(2)), ((0,), (0, 1)))
    assert layout.reshaped((0,), np.arange(34.0)).shape == (1, 9, 4)
    assert layout.overlaps.cells((0, 2)) == 36
