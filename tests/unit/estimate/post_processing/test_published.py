"""Post-processing of results as they are published: from a file, asked for by name, or by simulation."""

import json
from typing import Any

import numpy as np
import pytest

from peos.estimate.post_processing import post_process
from peos.estimate.post_processing.published import post_processed, require
from peos.registry import POST_PROCESSING
from tests.raising import raises
from tests.unit.estimate.post_processing.estimates import drawn, olh

ESTIMATE, _ = drawn(3, olh(1.0))
RESULT: dict[str, Any] = json.loads(
    json.dumps(
        {
            "digest": "ab" * 32,
            "users": ESTIMATE.users,
            "fakes": ESTIMATE.fakes,
            "labels": [str(value) for value in range(len(ESTIMATE.frequency))],
            "frequency": ESTIMATE.frequency.tolist(),
            "oracle": {"p": ESTIMATE.oracle.p, "q": ESTIMATE.oracle.q, "u": ESTIMATE.oracle.u},
        }
    )
)


@pytest.mark.parametrize("method", [name for name in POST_PROCESSING if name != "post_pos"])
def test_a_result_is_post_processed_as_its_estimate_is(method: str) -> None:
    made = post_processed(RESULT, method)
    assert set(made) == {"method", "frequency", "asked", "notes"}
    assert (made["method"], made["asked"]) == (method, method)
    assert made["frequency"] == post_process(ESTIMATE, method).frequency.tolist()
    assert json.loads(json.dumps(made)) == made


def test_the_numbers_of_the_file_are_those_that_are_post_processed() -> None:
    """Rounded ones too, although no counts would bring just these."""
    rounded = [round(share, 4) for share in RESULT["frequency"]]
    assert post_processed(RESULT | {"frequency": rounded}, "base")["frequency"] == rounded


@pytest.mark.parametrize(("asked", "methods"), [("auto:top:10", {"base", "norm", "base_cut"}), ("auto", {"power_ns"})])
def test_auto_says_what_it_chose_and_why_and_chooses_the_same_again(asked: str, methods: set[str]) -> None:
    made = post_processed(RESULT, asked)
    assert made["asked"] == asked
    assert made["method"] in methods
    assert made["notes"][0].startswith(f"chosen by simulation for {asked.partition(':')[2] or 'values'}: ")
    assert post_processed(RESULT, asked) == made
    assert np.array(made["frequency"]).shape == (1024,)


def test_what_cannot_be_done_is_refused() -> None:
    older = {name: value for name, value in RESULT.items() if name != "oracle"}
    with raises("post_process.older"):
        post_processed(older, "norm_sub")
    for asked, id_ in (
        ("post_pos", "post_process.queries"),
        ("norm_add", "post_process.method"),
        ("norm_sub:values", "post_process.method"),
        ("", "post_process.method"),
        ("auto:best", "post_process.goal"),
        ("auto:top:1025", "post_process.goal"),
        ("auto:top:" + "9" * 5000, "post_process.goal"),
    ):
        with raises(id_):
            require(asked, 1024)
        with raises(id_):
            post_processed(RESULT, asked)


@pytest.mark.parametrize(
    "changes",
    [
        *({"oracle": 7}, {"oracle": {"p": 0.5}}, {"oracle": {"p": "x", "q": 0.1, "u": 0.1}}, {"users": None}),
        *({"frequency": [0.5]}, {"frequency": ["a"] * 1024}, {"frequency": [float("nan")] * 1024}, {"labels": 3}),
        *({"frequency": []}, {"fakes": "many"}, {"users": []}),
    ],
)
def test_what_is_no_result_is_refused(changes: dict[str, Any]) -> None:
    with raises("input.result"):
        post_processed(RESULT | changes, "norm_sub")


@pytest.mark.parametrize(
    ("changes", "id_"),
    [
        ({"oracle": {"p": 0.1, "q": 0.5, "u": 0.1}}, "estimate.probabilities"),
        ({"users": 0}, "estimate.sizes"),
        ({"users": 10.5}, "estimate.sizes"),
        ({"frequency": [9.0] * 1024}, "estimate.counts"),
    ],
)
def test_numbers_that_no_collection_has_are_refused(changes: dict[str, Any], id_: str) -> None:
    with raises(id_):
        post_processed(RESULT | changes, "norm_sub")
