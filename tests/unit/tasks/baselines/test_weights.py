"""Ranges and joins: each user's weight is unbiased and of the variance that its factors say."""

import math
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from peos.tasks import baselines
from peos.tasks.baselines.base import Draws, Floats, Hashed
from peos.tasks.baselines.decompositions import shortest
from peos.tasks.baselines.hierarchies import box, levels_of
from peos.tasks.baselines.joins import Both, Joined, Services
from peos.tasks.baselines.measures import Total, doubled_levels, mirrored
from peos.tasks.ranges.levels import Levels, Node

USERS = 400_000
SIGMAS = 5.0
LINE = Levels(27, 3)
LABELS = baselines.categorical(3)
RANGE = (4, 17)


def draws() -> Draws:
    return Draws(Randomness(bytes(range(32))))


def moments(epsilon: float) -> tuple[float, float]:
    """Second moments of (A − q)/(p − q): of another's node, and of one's own."""
    response = Hashed(epsilon).response
    p, q = response.p, 1 / response.cells
    return q * (1 - q) / (p - q) ** 2, 1 + p * (1 - p) / (p - q) ** 2


def of_nodes(levels: Levels, nodes: list[Node], value: int, epsilon: float) -> tuple[float, float]:
    """Σ of the second moments over nodes, and how many of them the value is in."""
    miss, own = moments(epsilon)
    inside = [levels.ends(level, place)[0] <= value < levels.ends(level, place)[1] for level, place, _ in nodes]
    return sum(own if one else miss for one in inside), float(sum(inside))


def check(found: Floats, mean: float, square: float) -> None:
    """Whether weights have this mean, and this second moment to 5 %."""
    assert abs(found.mean() - mean) < SIGMAS * found.std() / math.sqrt(len(found))
    ratio = float(np.mean(found**2)) / square
    assert 0.95 < ratio < 1.05, f"the second moment is {ratio:.3f} of the formula's"


@pytest.mark.parametrize("value", [2, 9])
def test_one_dimension(value: int) -> None:
    records = np.full((USERS, 1), value)
    nodes = LINE.cover(*RANGE)
    made = baselines.hio([LINE], 1.0)
    square, mean = of_nodes(LINE, nodes, value, 1.0)
    check(made.decode(made.randomize(records, draws()))([nodes]), mean, 3 * square)
    made = baselines.hi([LINE], 1.0)
    square, mean = of_nodes(LINE, nodes, value, 1 / 3)
    check(made.decode(made.randomize(records, draws()))([nodes]), mean, square)
    flat = baselines.categorical(27)
    made = baselines.weighted_fo(27, 1.0)
    square, mean = of_nodes(flat, flat.cover(*RANGE), value, 1.0)
    check(made.decode(made.randomize(records, draws()))([flat.cover(*RANGE)]), mean, square)


@pytest.mark.parametrize("record", [(9, 1), (9, 0), (2, 1)])
def test_two_dimensions(record: tuple[int, int]) -> None:
    records = np.tile(record, (USERS, 1))
    dimensions = [LINE, LABELS]
    nodes = box(dimensions, [RANGE, (1, 2)])
    inside = float(RANGE[0] <= record[0] < RANGE[1] and record[1] == 1)
    miss, own = moments(1.0)
    square = len(levels_of(dimensions)) * (inside * own + (len(nodes[0]) - inside) * miss)
    made = baselines.hio(dimensions, 1.0)
    check(made.decode(made.randomize(records, draws()))(nodes), inside, square)
    made = baselines.sc(dimensions, 4.0)
    each = [of_nodes(levels, part, one, 1.0) for levels, part, one in zip(dimensions, nodes, record, strict=True)]
    noise = [one - hit for one, hit in each]  # a sum's variance and the square of its mean, of independent nodes
    square = math.prod(v + hit**2 for v, (_, hit) in zip(noise, each, strict=True))
    check(made.decode(made.randomize(records, draws()))(nodes), inside, square)
    flat = [baselines.categorical(27), LABELS]
    made = baselines.mg(flat, 1.0)
    square = inside * own + (RANGE[1] - RANGE[0] - inside) * miss
    check(made.decode(made.randomize(records, draws()))(box(flat, [RANGE, (1, 2)])), inside, square)


def test_the_whole_is_known() -> None:
    made = baselines.hio([LINE, LABELS], 1.0)
    weights = made.decode(made.randomize(np.zeros((10, 2), np.int64), draws()))
    assert np.all(weights(box([LINE, LABELS], [None, None])) == 1.0)


def test_a_product_of_dimensions_is_the_inverse_of_their_matrix() -> None:
    """Two dimensions of two values: P^-1 a of the paper, over the four outcomes of two reports."""
    rng = np.random.default_rng(1)
    p, q = 0.7, 0.3
    one = np.array([[p, q], [1 - p, 1 - q]])
    joint = np.kron(one, one)
    outcome = rng.random(4)
    direct = np.linalg.inv(joint) @ outcome
    weights = [(1 - q) / (p - q), -q / (p - q)]
    product_of_two = sum(outcome[2 * a + b] * weights[a] * weights[b] for a in (0, 1) for b in (0, 1))
    assert direct[0] == pytest.approx(product_of_two)
    made = baselines.sc([LABELS, LABELS], 1.0)
    records = np.tile((1, 2), (USERS // 4, 1))
    sent = made.randomize(records, draws())
    decoded = made.decode(sent)(box([LABELS, LABELS], [(1, 2), (2, 3)]))
    hashed = Hashed(0.5)
    p, q = hashed.response.p, 1 / hashed.response.cells
    supports = [
        hashed.hash(sent.seeds[:, at], np.array(key, np.uint64)) == sent.answers[:, at] for at, key in ((0, 1), (1, 2))
    ]
    seen = np.array([np.mean((supports[0] == a) & (supports[1] == b)) for a, b in ((1, 1), (1, 0), (0, 1), (0, 0))])
    matrix = np.array([[p, q], [1 - p, 1 - q]])
    assert decoded.mean() == pytest.approx(float((np.linalg.inv(np.kron(matrix, matrix)) @ seen)[0]))


@pytest.mark.parametrize("build", [baselines.hio_sum, baselines.sr_hio, baselines.ahio, baselines.ehio])
def test_sums_of_a_hidden_measure_are_unbiased(build: Any) -> None:
    lows = {0: 10.0, 1: -5.0}
    dimensions = [Levels(9, 3), Levels(6, 3), LABELS]
    rng = np.random.default_rng(2)
    records = np.column_stack([rng.integers(0, one.domain, USERS) for one in dimensions])
    made = build(dimensions, lows, 4.0)
    contributions = made.decode(made.randomize(records, draws()))
    for ranges in ([None, None, None], [(2, 7), None, (1, 2)], [None, (1, 4), None]):
        inside = np.all(
            [(records[:, at] >= one[0]) & (records[:, at] < one[1]) for at, one in enumerate(ranges) if one]
            or [np.ones(USERS, np.bool_)],
            axis=0,
        )
        for measure in (None, 0, 1):
            value = 1.0 if measure is None else records[:, measure] + lows[measure]
            truth = np.where(inside, value, 0.0)
            found = contributions(Total(ranges, measure)) - truth
            assert abs(found.mean()) <= SIGMAS * found.std() / math.sqrt(USERS)


def test_of_a_rounded_measure_the_second_moment_is_the_product_of_its_factors() -> None:
    dimensions, lows, value = [Levels(9, 3), LABELS], {0: 1.0}, 5
    made = baselines.ahio(dimensions, lows, 1.0)
    found = made.decode(made.randomize(np.tile((value, 1), (USERS, 1)), draws()))(Total([None, (1, 2)], 0))
    miss, own = moments(1.0)
    ends, share = (1.0, 9.0), value / 8
    square = sum(
        end**2 * (chance * own + (1 - chance) * miss) for end, chance in zip(ends, (1 - share, share), strict=True)
    )
    check(found, 1.0 + value, len(levels_of([*dimensions, baselines.categorical(2)])) * square)


def test_a_doubled_domain_has_one_place_for_each_value_and_end() -> None:
    for domain, fanout in ((9, 3), (7, 2), (25, 5)):
        levels = Levels(domain, fanout)
        values = np.arange(domain)
        places = np.concatenate([mirrored(levels, values, np.full(domain, end)) for end in (0, 1)])
        assert len(set(places.tolist())) == 2 * domain
        assert 0 <= places.min() <= places.max() < doubled_levels(levels).domain
        # A range and its mirror image are what was said of the endpoints.
        for first, last in pairwise(range(0, domain, 2)):
            below = set(mirrored(levels, np.arange(first, last), np.zeros(last - first, np.int64)).tolist())
            assert below == set(range(levels.width(0) - last, levels.width(0) - first))


def test_decompositions_are_the_range_and_shorter_ones_come_first() -> None:
    levels = Levels(32, 2)
    for first, last in ((1, 31), (3, 17), (0, 9), (5, 6)):
        sums = shortest(levels, first, last, 8)
        assert [len(one) for one in sums] == sorted(len(one) for one in sums)
        assert len(sums[0]) <= len(levels.cover(first, last))
        for one in [*sums, baselines.rdc(levels, first, last, 8)]:
            cells = np.zeros(32)
            for level, place, times in one:
                cells[slice(*levels.ends(level, place))] += times
            assert np.allclose(cells, (np.arange(32) >= first) & (np.arange(32) < last))
    assert {len(one) for one in shortest(levels, 1, 31, 1)} == {3}  # the whole without its first cell and its last


def test_an_average_of_decompositions_errs_less() -> None:
    """Levels(625, 5), ε = 1, a wide range: the top 8 against the first alone."""
    levels, rng = Levels(625, 5), np.random.default_rng(3)
    records = rng.integers(0, 625, (USERS // 4, 1))
    first, last = 3, 618
    truth = np.mean((records >= first) & (records < last))
    made = baselines.hio([levels], 1.0)
    errors = []
    for at in range(12):
        weights = made.decode(made.randomize(records, Draws(Randomness(bytes([at]) * 32))))
        errors.append([weights([baselines.rdc(levels, first, last, k)]).mean() - truth for k in (1, 8)])
    alone, eight = np.sqrt(np.mean(np.square(errors), axis=0))
    assert eight < alone


@pytest.mark.full
@pytest.mark.parametrize("value", [2, 9])
def test_joins_are_unbiased_with_the_product_of_both_moments(value: int) -> None:
    first, second = [LINE], [LABELS]
    records = (np.full((USERS, 1), value), np.full((USERS, 1), 1))
    asked = Both(box(first, [RANGE]), box(second, [(1, 2)]))
    several: list[tuple[Any, float]] = [(baselines.hio_join, 1.0), (baselines.sc_join, 0.5)]
    for build, share in several:
        made = build(first, second, 2.0)
        left, hits = of_nodes(LINE, asked.first[0], value, share)
        right, _ = of_nodes(LABELS, asked.second[0], 1, share)
        check(
            made.decode(made.randomize(records, draws()))(asked),
            hits,
            left * right * (3 if build is baselines.hio_join else 1),
        )


@pytest.mark.full
@pytest.mark.parametrize("τ", [1, 2])
def test_a_truncated_join_counts_every_record_of_every_user(τ: int) -> None:
    first, second = [LABELS], [Levels(5, 5)]
    rng = np.random.default_rng(4)
    counts = rng.integers(0, 4, USERS)
    tuples = rng.integers(0, 5, (int(counts.sum()), 1))
    users = rng.integers(0, 3, (USERS, 1))
    made = baselines.truncated(first, second, 6.0, τ=τ, most=3, low=1.0)
    contributions = made.decode(made.randomize(Services(users, counts, tuples), draws()))
    owner = np.repeat(np.arange(USERS), counts)
    inside = (users[owner, 0] == 1) & (tuples[:, 0] >= 1) & (tuples[:, 0] < 4)
    asked = box(first, [(1, 2)]), box(second, [(1, 4)])
    for is_sum, each in ((False, inside * 1.0), (True, inside * (1.0 + tuples[:, 0]))):
        truth = np.bincount(owner, each, USERS)
        found = contributions(Joined(*asked, is_sum)) - truth
        assert abs(found.mean()) <= SIGMAS * found.std() / math.sqrt(USERS)


def test_combinations_are_all_products_of_levels_without_the_root_of_a_single_dimension() -> None:
    assert levels_of([LINE]) == [(1,), (2,), (3,)]
    assert len(levels_of([LINE, LABELS])) == 4 * 2
    assert set(levels_of([LABELS, LABELS])) == set(product(range(2), range(2)))
