"""The vectors of mechanisms, made elsewhere: words, rows, signs, places, fields, supports."""

import json
from typing import Any

import numpy as np
import pytest

from peos.ldp import RAPPOR, UE, HadamardResponse, Question, RandomMatrixProjection, SubsetSelection
from peos.ldp.binary_field import modulus
from tests.vectors import make_design_vectors as generator

CASES: dict[str, list[dict[str, Any]]] = {
    name: json.loads((generator.HERE / f"{name}.json").read_text(encoding="utf-8"))["cases"]
    for name in ("hadamard", "subset", "ue", "rmp", "rappor")
}


def words_of(case: dict[str, Any]) -> Any:
    return np.array([[report["word"]] for report in case["reports"]], dtype=np.uint64)


def test_the_vectors_are_what_their_generator_makes() -> None:
    for name, text in generator.texts().items():
        assert (generator.HERE / f"{name}.json").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("case", CASES["hadamard"], ids=lambda case: f"d={case['domain']},j={case['signs']}")
def test_words_have_the_pinned_rows_signs_and_supports(case: dict[str, Any]) -> None:
    m, words = HadamardResponse(case["domain"], 1.0, signs=case["signs"]), words_of(case)
    rows, signs = m.decode(words)
    multiples = np.stack(list(m.family._multiples(rows, m.signs)), axis=1)
    assert (m.degree, modulus(m.degree)) == (case["degree"], case["modulus"])
    assert str(m._least.limit_denominator(2**m.degree)) == case["collision"], "to the unevenness of the rows"
    for at, report in enumerate(case["reports"]):
        assert multiples[at].tolist() == report["rows"]
        assert [int(signs[at]) >> i & 1 for i in range(m.signs)] == report["signs"]
        assert np.flatnonzero(m.support_counts(words[at : at + 1])).tolist() == report["support"]


@pytest.mark.parametrize("case", CASES["subset"], ids=lambda case: f"d={case['domain']},k={case['size']}")
def test_words_have_the_pinned_places_and_supports(case: dict[str, Any]) -> None:
    m, words = SubsetSelection(case["domain"], 1.0, size=case["size"]), words_of(case)
    multiples, ends = m.decode(words)
    assert (m.circle.prime, m.window) == (case["prime"], case["window"])
    for at, report in enumerate(case["reports"]):
        assert (int(multiples[at]), int(ends[at])) == (report["a"], report["end"])
        assert m.circle.places(multiples[at : at + 1], m._ranks[:5]).tolist() == report["places"]
        assert np.flatnonzero(m.support_counts(words[at : at + 1])).tolist() == report["support"]


@pytest.mark.parametrize("case", CASES["ue"], ids=lambda case: f"d={case['domain']},b={case['field_bits']}")
def test_words_have_the_pinned_fields_and_supports(case: dict[str, Any]) -> None:
    m = UE.from_parameters(case["domain"], {"threshold": 2**62, "tau": case["tau"], "field_bits": case["field_bits"]})
    for report in case["reports"]:
        words = np.array([report["words"]], dtype=np.uint64)
        assert np.flatnonzero(m.decode(words)[0]).tolist() == report["support"]
        assert np.flatnonzero(m.support_counts(words)).tolist() == report["support"]
        assert [i for i, field in enumerate(report["fields"]) if field < m.tau] == [
            i for i in report["support"] if i < 5
        ]


@pytest.mark.parametrize("case", CASES["rmp"], ids=lambda case: f"d={case['domain']}")
def test_words_have_the_pinned_row_sign_and_supports(case: dict[str, Any]) -> None:
    ask = Question(bytes.fromhex(case["analyzer"]), case["question"], case["epoch"])
    m = RandomMatrixProjection.from_parameters(case["domain"], {"threshold": case["threshold"]}, ask)
    words = words_of(case)
    rows, signs = m.decode(words)
    assert int(m._salt) == case["salt"]
    for at, report in enumerate(case["reports"]):
        assert (int(rows[at]), int(signs[at])) == (report["row"], report["sign"])
        assert np.flatnonzero(m.support_counts(words[at : at + 1])).tolist() == report["support"]


@pytest.mark.parametrize("case", CASES["rappor"], ids=lambda case: f"d={case['domain']},k={case['parameters']['bits']}")
def test_words_have_the_pinned_bits_and_cohorts_and_values_their_filters(case: dict[str, Any]) -> None:
    m = RAPPOR.from_parameters(case["domain"], case["parameters"])
    columns = m.design.matrix.toarray().reshape(m.cohorts, m.bits, m.domain)
    for cohort, filters in enumerate(case["filters"]):
        for value, ones in enumerate(filters):
            assert np.flatnonzero(columns[cohort, :, value]).tolist() == ones
    for report in case["reports"]:
        words = np.array([report["words"]], dtype=np.uint64)
        assert np.flatnonzero(m.decode(words)[0]).tolist() == report["ones"]
        assert m.cohorts_of(words).tolist() == [report["cohort"]]
