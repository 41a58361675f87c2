"""The vectors of local hashing, made by plain integers elsewhere: digest, salt, P, π, (a, b), H(x), supports."""

import hashlib
import json
from typing import Any

import numpy as np
import pytest

from peos.ldp import LocalHash, Question
from peos.ldp.hashing import splitmix64
from tests.vectors import make_local_hash_vectors as generator

CASES: list[dict[str, Any]] = json.loads(generator.VECTORS.read_text(encoding="utf-8"))["cases"]


def mechanism(case: dict[str, Any]) -> LocalHash:
    ask = Question(bytes.fromhex(case["analyzer"]), case["question"], case["epoch"])
    parameters = {"threshold": case["threshold"], "cells": case["cells"]}
    return LocalHash.from_parameters(case["domain"], parameters, ask)


def test_the_vectors_are_what_their_generator_makes() -> None:
    assert generator.VECTORS.read_text(encoding="utf-8") == generator.text() + "\n"


def test_splitmix64_gives_its_published_outputs() -> None:
    """The first outputs from state 1234567, as the generator's reference implementation prints them."""
    state = np.array([1234567], dtype=np.uint64)
    found = [int(splitmix64(state, output)[0]) for output in (1, 2, 3)]
    assert found == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"d={case['domain']},d'={case['cells']}")
def test_digest_salt_prime_and_permutation_are_pinned(case: dict[str, Any]) -> None:
    m = mechanism(case)
    ranks = m.family.ranks.tolist()
    assert m.digest.hex() == case["digest"]
    assert m.family.salt == case["salt"]
    assert m.family.prime == case["prime"]
    assert [[x, ranks[x]] for x, _ in case["ranks"]] == case["ranks"]
    assert hashlib.sha256(np.array(ranks, dtype=">u4").tobytes()).hexdigest() == case["ranks_sha256"]
    assert str(m.collision_probability) == case["collision_probability"]
    assert str(m.family.match_probability(32)) == case["match_probability"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"d={case['domain']},d'={case['cells']}")
def test_coefficients_and_hashes_are_pinned(case: dict[str, Any]) -> None:
    m = mechanism(case)
    for function in case["functions"]:
        seed = np.array([function["seed"]], dtype=np.uint64)
        a, b = m.family.coefficients(seed)
        assert (int(a[0]), int(b[0])) == (function["a"], function["b"])
        values = np.array([x for x, _ in function["hash"]])
        assert m.hash(seed, values).tolist() == [y for _, y in function["hash"]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"d={case['domain']},d'={case['cells']}")
def test_words_decode_to_the_pinned_answers_and_supports(case: dict[str, Any]) -> None:
    m = mechanism(case)
    for report in case["reports"]:
        word = np.array([[report["word"]]], dtype=np.uint64)
        seeds, answers = m.decode(word)
        assert (int(seeds[0]), int(answers[0])) == (report["seed"], report["y"])
        assert np.flatnonzero(m.support_counts(word)).tolist() == report["support"]
