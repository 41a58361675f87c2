"""A result whose values were fitted to bits that they share: result.json, the page, what a reader may do with it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from analyzer.report import page
from analyzer.result import Found, read, result_json, show
from peos.crypto.randomness import Randomness
from peos.estimate.post_processing.published import post_processed
from peos.ldp import RAPPOR
from peos.simulate import Simulation
from tests.keys import small_key
from tests.raising import raises

USERS, FAKES, DOMAIN = 400, 40, 12
TRUTH = np.array([0.5, 0.3, 0.2, *([0.0] * (DOMAIN - 3))])


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    simulation = Simulation(
        RAPPOR(DOMAIN, 6.0, bits=32, cohorts=4), fakes=FAKES, key=small_key(), rng=Randomness(b"\x0b" * 32)
    )
    collected = simulation.run(np.repeat(np.arange(DOMAIN), np.rint(TRUTH * USERS).astype(int)))
    made = result_json(
        *(collected.digest, document := simulation.document),
        *(Found.of_values(document, collected.estimate), collected.guarantees),
        name="made",
        seconds=1.0,
        sent=0,
        received=0,
        published_at=1_700_000_000,
        inspected=None,
        lists=None,
        together=None,
    )
    result: dict[str, Any] = json.loads(json.dumps(made))
    return result


def test_the_result_has_the_bits_and_says_of_no_value_that_it_is_found(found: dict[str, Any]) -> None:
    parameters = found["parameters"]
    assert (parameters["mechanism"], parameters["d_prime"]) == ("rappor", None)
    assert parameters["mechanism_parameters"] == {"bits": 32, "hashes": 2, "cohorts": 4}
    assert (found["significant"], found["oracle"], found["post_processed"]) == (None, None, None)
    assert [np.shape(found["bits"][name]) for name in ("frequency", "stderr")] == [(4, 32), (4, 32)]
    assert {len(found[name]) for name in ("labels", "frequency", "stderr", "interval95")} == {DOMAIN}
    assert np.all(np.isfinite(found["stderr"]))
    low, high = np.array(found["interval95"]).T
    assert np.all(low <= TRUTH)
    assert np.all(high >= TRUTH)
    for who in ("server", "users"):
        assert (found["guarantees"][who]["theorem"], found["guarantees"][who]["exact"]) == (None, None)
        assert "no more than ε_l" in found["guarantees"]["coalitions"][0]
        assert "more than two levels" in found["guarantees"]["coalitions"][0]


def test_what_is_held_against_the_truth_are_the_bits(found: dict[str, Any]) -> None:
    """As `peos demo` does; a result whose bits are of other values is seen."""
    off = RAPPOR.deviations(found, TRUTH)
    assert off.shape == (128,)
    assert off.max() < 5.8, "α = 1e-6 of 128, Bonferroni"
    assert RAPPOR.deviations(found, np.roll(TRUTH, 1)).max() > 5.8


def test_the_page_says_what_the_mechanism_does_and_what_it_does_not_claim(found: dict[str, Any]) -> None:
    shown = page(found)
    for said in (
        "each of them flipped with a fixed probability",
        "an interval goes from nothing to what a value&#39;s bits allow",
        "bits = 32, hashes = 2, cohorts = 4",
        "This result does not say which values are found",
        "more than two levels",
    ):
        assert said in shown, said
    demonstrated = {**found, "truth": TRUTH.tolist(), "checks": {"estimates": True}}
    assert "as estimated of every bit" in page(demonstrated)


def test_it_is_read_and_shown_and_not_post_processed(found: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(found), encoding="utf-8")
    console = Console(record=True, width=120)
    show(read(path), console)
    assert f"{USERS} users" in console.export_text()
    with raises("post_process.fitted"):
        post_processed(found, "norm_sub")
