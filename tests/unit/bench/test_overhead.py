"""`peos bench overhead`: counted figures are those of the protocol, and the thesis' are those of its table 9.3."""

from dataclasses import replace
from types import ModuleType

import pytest

from benchmarks import scaling
from benchmarks.cores import COUNT, WORKERS
from benchmarks.cores import measure as measure_cores
from peos.bench.overhead import THESIS, flat, measure_all
from peos.bench.parties import Measured, measure, per_user
from peos.crypto.randomness import Randomness
from peos.crypto.schemes import dgk_zeros, paillier_zeros
from peos.crypto.schemes.joye_libert import JoyeLibert
from peos.privacy.costs import cost
from peos.protocols import DEFAULT
from peos.shuffle.sequential import SequentialSchedule
from tests.keys import small_key
from tests.raising import raises

BITS = 512


def test_the_thesis_table_is_quoted_with_its_threads() -> None:
    assert THESIS["threads"] == 32
    by = {(row["protocol"], row["shufflers"]): row for row in THESIS["rows"]}
    assert by["peos", 7]["shuffler_mb"] == 3293.3
    assert [by["ss", r]["user_ms"] for r in (3, 7)] == [0.24, 0.49]
    assert [by["peos", r]["analyzer_s"] for r in (3, 7)] == [65, 65]
    assert [by["peos", r]["user_bytes"] for r in (3, 7)] == [400, 432]
    assert [by["ss", r]["shuffler_s"] for r in (3, 7)] == [49, 50]


@pytest.mark.parametrize(("shufflers", "passes", "plaintext"), [(3, 2, 3), (5, 3, 13)])
def test_bytes_and_counts_at_a_million_are_the_protocols(
    shufflers: int, passes: int, plaintext: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = measure_all(80, [shufflers], ["jl"], key=lambda name: small_key(BITS, name))
    ours, baseline = found["rows"]
    monkeypatch.setattr(JoyeLibert, "costs", replace(JoyeLibert.costs, ciphertext_bytes=BITS // 8))
    expected = cost(1, 10**6, 0, shufflers, "jl")
    assert ours["user_bytes"] == expected.user_bytes
    assert ours["at_a_million"]["shuffler_mb"] == pytest.approx(expected.shuffler_mb, rel=0.01)
    assert ours["at_a_million"]["analyzer_mb"] == pytest.approx(expected.analyzer_mb, rel=0.01)
    counts = ours["counts"]
    assert counts["passes"] == counts["ciphertext_vectors"] == passes
    assert counts["plaintext_vectors"] == plaintext
    assert counts["rerandomisations"] == passes * counts["rows"]
    assert counts["rows"] == 80 + 32  # the dummies
    assert baseline["protocol"] == "ss"
    assert baseline["counts"]["passes"] == len(SequentialSchedule(shufflers).passes) == shufflers
    assert baseline["counts"]["plaintext_vectors"] == baseline["counts"]["rerandomisations"] == 0
    assert baseline["counts"]["layers_removed"] == shufflers * baseline["counts"]["rows"]
    assert [point["users"] for point in ours["measured"]] == [40, 80]
    lines = list(flat([*found["rows"], *THESIS["rows"]]))
    assert len({tuple(line) for line in lines}) == 1, "ours and the thesis' have the same columns"
    assert lines[0]["shuf. MB"] == pytest.approx(expected.shuffler_mb, rel=0.01)
    assert lines[-1]["shuf. MB"] == 3293.3


def test_a_pass_is_part_of_its_holders_time_and_everybody_works(rng: Randomness) -> None:
    found = measure(30, 3, DEFAULT, small_key(BITS, "jl"), rng=rng)
    assert len(found.shuffle_s) == 3
    assert 0 < found.pass_s < sum(found.shuffle_s)
    assert min(found.shuffle_s) > 0
    assert min(found.intake_s, found.agree_s, found.decrypt_s, found.user_ms) > 0
    assert found.costs()["shuffler_s_most"] == max(found.shuffle_s)


def test_what_is_made_once_is_not_in_the_cost_of_one_more_user() -> None:
    def collection(users: int) -> Measured:
        fixed, each = 7.0, 0.5
        cost = fixed + each * users
        return Measured(users, 1.0, 100, cost, cost, cost, (cost, 3 * cost), cost, cost, cost, (cost, cost), cost, {})

    slope = per_user(collection(10), collection(30))
    assert slope["analyzer_s"] == pytest.approx(0.5)
    assert slope["shuffler_s"] == pytest.approx(1.0)
    assert slope["shuffler_s_most"] == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("shufflers", "schemes", "mistake"),
    [
        ([3, 2], [], ("plan.shufflers", "2")),
        ([3], ["paillier", "rot13"], ("input.scheme", "'rot13'")),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is_measured(
    shufflers: list[int], schemes: list[str], mistake: tuple[str, ...]
) -> None:
    said: list[str] = []
    with raises(*mistake):
        measure_all(100, shufflers, schemes, progress=said.append)
    assert said == []


def test_the_line_through_points_that_lie_on_one_is_found() -> None:
    points = [{"rows": rows, "total_s": 2.0 + 0.001 * rows, "passes": 4} for rows in (1000, 3000, 10_000)]
    line = scaling.line(7, points)
    assert line["microseconds_a_row"] == pytest.approx(1000)
    assert line["fixed_s"] == pytest.approx(2.0)
    assert line["largest_relative_error"] == pytest.approx(0, abs=1e-9)
    assert line["holders"] == 4
    points[1]["total_s"] = 10.0
    assert scaling.line(7, points)["largest_relative_error"] > 0.2


def test_passes_grow_with_r_and_rows_with_n() -> None:
    found = scaling.measure([10, 30], [3, 5, 7], "jl", key=small_key(BITS, "jl"))
    assert [(point["shufflers"], point["rows"]) for point in found["points"]] == [
        (r, n + 32) for r in (3, 5, 7) for n in (10, 30)
    ]
    for point in found["points"]:
        assert point["rerandomisations"] == point["passes"] * point["rows"]
    assert [(line["passes"], line["holders"]) for line in found["lines"]] == [(2, 2), (3, 3), (4, 4)]


def test_two_cores_are_compared_with_one_for_every_scheme() -> None:
    rows = measure_cores(8, bits=768)["rows"]
    assert [(row["scheme"], row["operation"]) for row in rows] == [
        *((name, operation) for name in ("paillier", "dgk", "jl") for operation in ("rerandomise", "decrypt")),
        ("onion", "peel"),
    ]
    assert all(row["times"] == row["one_core_s"] / row["two_cores_s"] for row in rows)


@pytest.mark.parametrize("zeros", [dgk_zeros, paillier_zeros])
def test_one_core_and_two_are_compared_over_the_same_tables(zeros: ModuleType) -> None:
    assert zeros.window_width(COUNT) == zeros.window_width(COUNT // WORKERS) > 0
