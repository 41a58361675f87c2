"""What a mechanism is made from: good descriptions come back exactly, bad ones get one sentence."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from peos.crypto.randomness import Randomness
from peos.ldp import (
    BLH,
    GRR,
    MAX_ENUMERABLE,
    OLH,
    OUE,
    SUE,
    THE,
    UE,
    HadamardResponse,
    LocalHash,
    PureMechanism,
    Question,
    RandomMatrixProjection,
    SubsetSelection,
    from_parameters,
)
from peos.ldp.local_hash import locally_best_d_prime
from peos.ldp.the import best_theta
from peos.registry import LOCAL_ONLY, MECHANISMS
from tests.raising import raises

ASK = Question(b"\x01" * 32, "colour", "2025")
EXAMPLES = [
    GRR(2, 0.5),
    GRR(42178, 8.705, question=ASK),
    LocalHash(915, 4.5, d_prime=45),
    LocalHash(915, 4.5),
    LocalHash(42178, 7.251, d_prime=705, question=ASK),
    SUE(64, 4.0),
    SUE(100, 2.2, question=ASK),
    SUE(100, 2.0, field_bits=16),
    HadamardResponse(2, 1.0),
    HadamardResponse(42178, 4.0, question=ASK),
    HadamardResponse(1024, 8.0, signs=10),
    SubsetSelection(2, 1.0),
    SubsetSelection(915, 0.5, size=458, question=ASK),
    SubsetSelection(1 << 20, 6.0),
    OLH(915, 2.0),
    BLH(915, 2.0),
    UE(70, 1.0, share=0.25, field_bits=2, question=ASK),
    OUE(70, 4.0),
    THE(70, 1.0),
    RandomMatrixProjection(70, 1.0, question=ASK),
]


@pytest.mark.parametrize("mechanism", EXAMPLES, ids=repr)
def test_a_mechanism_comes_back_from_its_integers(mechanism: PureMechanism, rng: Randomness) -> None:
    back = from_parameters(mechanism.name, mechanism.domain, mechanism.parameters, mechanism.question)
    assert isinstance(back, PureMechanism)
    assert back == mechanism
    assert hash(back) == hash(mechanism)
    assert back.digest == mechanism.digest
    assert back.epsilon_local == mechanism.epsilon_local
    assert (back.gamma, back.oracle, back.words, back.cells) == (
        mechanism.gamma,
        mechanism.oracle,
        mechanism.words,
        mechanism.cells,
    )
    key = rng.bytes(32)
    values = np.array([0, 1, mechanism.domain - 1])
    assert np.array_equal(back.randomize(values, Randomness(key)), mechanism.randomize(values, Randomness(key)))


def test_digests_tell_question_epoch_domain_and_parameters_apart() -> None:
    variants = [
        GRR(10, 1.0),
        GRR(11, 1.0),
        GRR(10, 1.1),
        GRR(10, 1.0, question=Question(b"a")),
        GRR(10, 1.0, question=Question(b"", "a")),
        GRR(10, 1.0, question=Question(b"", "", "a")),
        LocalHash(10, 1.0, d_prime=10),
        SUE(10, 1.0),
        SUE(10, 1.0, field_bits=16),
        HadamardResponse(10, 1.0, signs=2),
        HadamardResponse(10, 1.0, signs=3),
        SubsetSelection(10, 1.0, size=2),
        SubsetSelection(10, 1.0, size=3),
        RandomMatrixProjection(10, 1.0),
    ]
    assert len({m.digest for m in variants}) == len(variants)
    assert len(set(variants)) == len(variants)


def test_the_default_d_prime_is_the_local_optimum_among_powers_of_two() -> None:
    for epsilon, d_prime in ((0.5, 2), (1.0, 4), (2.0, 8), (4.5, 128), (7.25, 1024), (11.0, 2**16), (24.0, 2**16)):
        assert locally_best_d_prime(epsilon) == d_prime
        m = LocalHash(915, epsilon)
        assert m.d_prime == d_prime
        for other in (d_prime // 2, d_prime * 2):
            if 2 <= other <= 2**16:
                # On a domain much larger than d' the family is close to ideal, and the optimum is that of the formula.
                big = LocalHash(1 << 20, epsilon, d_prime=d_prime).variance(100)
                assert LocalHash(1 << 20, epsilon, d_prime=other).variance(100) > big * (1 - 1e-3)


def test_local_hashing_by_another_name_is_local_hashing() -> None:
    assert OLH(915, 2.0) == LocalHash(915, 2.0, d_prime=8)
    assert BLH(915, 2.0) == LocalHash(915, 2.0, d_prime=2)
    assert OLH(915, 24.0).d_prime == 2**16
    assert {OLH(915, 2.0).name, BLH(915, 2.0).name} == {"solh"}


def test_the_default_sizes_are_the_local_optimum_among_all() -> None:
    for domain in (2, 3, 17, 64, 500):
        for epsilon in (0.1, 1.0, 2.0, 4.0, 8.0):
            degree, most = (domain - 1).bit_length(), (domain + 1) // 2
            by_signs = [HadamardResponse(domain, epsilon, signs=j).variance(100) for j in range(1, degree + 1)]
            assert HadamardResponse(domain, epsilon).variance(100) <= min(by_signs) * (1 + 1e-9)
            by_size = [SubsetSelection(domain, epsilon, size=k).variance(100) for k in range(1, most + 1)]
            assert SubsetSelection(domain, epsilon).variance(100) <= min(by_size) * (1 + 1e-6)


def test_fields_of_optimised_unary_encoding_are_the_fewest_that_lose_a_thousandth() -> None:
    for epsilon, bits in ((0.5, 3), (1.0, 5), (2.0, 3), (4.0, 9)):
        E = math.exp(epsilon)
        assert OUE(10, epsilon).field_bits == bits
        assert OUE(10, epsilon).variance(1) == pytest.approx(4 * E / (E - 1) ** 2, rel=1.1e-3)


def test_the_true_epsilon_of_thresholding_is_below_the_nominal_one() -> None:
    """The best θ, the true ε and the variance; a claim of less would be false, and one of the nominal ε modest."""
    for nominal, theta, true, variance in (
        (0.5, 0.562, 0.472, 17.83),
        (1.0, 0.619, 0.896, 4.807),
        (2.0, 0.710, 1.636, 1.284),
        (4.0, 0.816, 2.859, 0.2852),
    ):
        mechanism = THE(10, nominal)
        assert best_theta(nominal) == pytest.approx(theta, abs=6e-4)
        assert mechanism.epsilon_local == pytest.approx(true, abs=6e-4)
        assert mechanism.variance(1) == pytest.approx(variance, rel=2e-3)
        assert mechanism.variance(1) > OUE(10, mechanism.epsilon_local).variance(1)


def test_a_bit_of_thresholding_is_laplace_noise_on_it_above_the_threshold() -> None:
    """With fields of 16 bits: p and q are those of the noise, to the step of τ; and all θ claim less than is asked."""

    def above(distance: float, nominal: float) -> float:
        tail = math.exp(-nominal * abs(distance) / 2) / 2
        return tail if distance > 0 else 1 - tail

    for nominal in (0.5, 1.0, 4.0):
        for theta in (0.0, 0.3, 0.62, 1.0):
            mechanism = THE(10, nominal, theta=theta, field_bits=16)
            assert mechanism.oracle.q == pytest.approx(above(theta, nominal), abs=2**-16)
            assert mechanism.oracle.p == pytest.approx(above(theta - 1, nominal), abs=2**-13)
            assert mechanism.epsilon_local < nominal


WRONG: list[tuple[Callable[[], object], tuple[str, ...]]] = [
    (lambda: GRR(1, 1.0), ("mechanism.range", "domain of GRR", "2", "16777216", "1")),
    (lambda: GRR(MAX_ENUMERABLE + 1, 1.0), ("mechanism.range", "domain of GRR")),
    (lambda: GRR(2.5, 1.0), ("mechanism.range", "domain of GRR")),  # type: ignore[arg-type]  # the type is the mistake
    (lambda: GRR(True, 1.0), ("mechanism.range", "domain of GRR")),
    (lambda: GRR(10, 0.0), ("mechanism.epsilon",)),
    (lambda: GRR(10, -1.0), ("mechanism.epsilon",)),
    (lambda: GRR(10, float("nan")), ("mechanism.epsilon",)),
    (lambda: GRR(10, float("inf")), ("mechanism.epsilon",)),
    (lambda: GRR(10, 24.001), ("mechanism.epsilon",)),
    (lambda: GRR(10, 1e-7), ("mechanism.epsilon",)),
    (lambda: GRR(10, "4"), ("mechanism.epsilon",)),  # type: ignore[arg-type]  # the type is the mistake
    (lambda: LocalHash(1, 1.0), ("mechanism.range", "domain of local hashing")),
    (lambda: LocalHash(10, 1.0, d_prime=1), ("mechanism.range", "d_prime", "2", "65536", "1")),
    (lambda: LocalHash(10, 1.0, d_prime=2**16 + 1), ("mechanism.range", "d_prime")),
    (lambda: LocalHash(10, 1.0, d_prime=4.0), ("mechanism.range", "d_prime")),  # type: ignore[arg-type]  # the type is the mistake
    (lambda: LocalHash(10, 0.0), ("mechanism.epsilon",)),
    (lambda: SUE(1, 1.0), ("mechanism.range", "domain of SUE")),
    (lambda: SUE(10, 1.0, field_bits=1), ("mechanism.range", "field_bits", "2", "16")),
    (lambda: SUE(10, 1.0, field_bits=17), ("mechanism.range", "field_bits", "2", "16")),
    (lambda: SUE(10, 2.0, field_bits=2), ("mechanism.fields", "2", "2.0", "2.197")),
    (lambda: SUE(10, 1e-4), ("mechanism.fields", "16")),
    (lambda: OLH(10, float("nan")), ("mechanism.epsilon",)),
    (lambda: BLH(1, 1.0), ("mechanism.range", "domain of local hashing")),
    (lambda: UE(10, 1.0, share=0.0), ("mechanism.share", "0")),
    (lambda: UE(10, 1.0, share=1.0), ("mechanism.share", "1")),
    (lambda: UE(10, 1.0, share=float("nan")), ("mechanism.share", "nan")),
    (lambda: UE(10, 1.0, field_bits=17), ("mechanism.range", "field_bits", "1", "16", "17")),
    (lambda: UE(1, 1.0), ("mechanism.range", "domain of unary encoding")),
    (lambda: OUE(10, 0.0), ("mechanism.epsilon",)),
    (lambda: THE(10, 1.0, theta=1.5), ("mechanism.share", "1.5")),
    (lambda: THE(10, float("nan")), ("mechanism.epsilon",)),
    (lambda: RandomMatrixProjection(1, 1.0), ("mechanism.range", "domain of random matrix projection", "2")),
    (lambda: RandomMatrixProjection(2**24 + 1, 1.0), ("mechanism.range", "domain of random matrix projection")),
    (lambda: RandomMatrixProjection(10, 0.0), ("mechanism.epsilon",)),
    (lambda: RandomMatrixProjection(10, float("nan")), ("mechanism.epsilon",)),
    (lambda: RandomMatrixProjection(10, 24.1), ("mechanism.epsilon",)),
    (lambda: HadamardResponse(1, 1.0), ("mechanism.range", "domain of Hadamard response", "2", "16777216")),
    (lambda: HadamardResponse(10, 0.0), ("mechanism.epsilon",)),
    (lambda: HadamardResponse(10, float("nan")), ("mechanism.epsilon",)),
    (lambda: HadamardResponse(10, 24.1), ("mechanism.epsilon",)),
    (lambda: HadamardResponse(10, 1.0, signs=0), ("mechanism.range", "signs", "1 to 4")),
    (lambda: HadamardResponse(10, 1.0, signs=5), ("mechanism.range", "signs", "1 to 4", "5")),
    (lambda: SubsetSelection(1, 1.0), ("mechanism.range", "domain of subset selection", "2", "1048576")),
    (lambda: SubsetSelection(2**20 + 1, 1.0), ("mechanism.range", "domain of subset selection")),
    (lambda: SubsetSelection(10, 0.0), ("mechanism.epsilon",)),
    (lambda: SubsetSelection(10, float("nan")), ("mechanism.epsilon",)),
    (lambda: SubsetSelection(9, 1.0, size=0), ("mechanism.range", "size", "1 to 5")),
    (lambda: SubsetSelection(9, 1.0, size=6), ("mechanism.range", "size", "1 to 5", "6")),
]


@pytest.mark.parametrize(("make", "mistake"), WRONG)
def test_a_wrong_argument_gets_one_sentence(make: Callable[[], object], mistake: tuple[str, ...]) -> None:
    with raises(*mistake) as caught:
        make()
    assert "\n" not in str(caught.value)


EVERY = {**MECHANISMS, **LOCAL_ONLY}


@pytest.mark.parametrize("name", EVERY)
def test_no_mechanism_takes_a_domain_or_an_epsilon_that_it_cannot_have(name: str) -> None:
    for domain in (-1, 0, 1, MAX_ENUMERABLE + 1, 10**30, 2.5, True, "10", None):
        with raises("mechanism.range", "domain") as caught:
            EVERY[name].build(domain, 1.0)  # type: ignore[arg-type]  # the type is the mistake
        assert (caught.value.exit_code, "\n" in str(caught.value)) == (2, False)
    for epsilon in (0.0, -1.0, 24.001, float("inf"), float("nan"), "1", None):
        with raises("mechanism.epsilon") as caught:
            EVERY[name].build(10, epsilon)  # type: ignore[arg-type]  # the type is the mistake
        assert (caught.value.exit_code, "\n" in str(caught.value)) == (2, False)


@pytest.mark.parametrize("name", EVERY)
def test_no_mechanism_randomises_what_is_not_in_its_domain(name: str, rng: Randomness) -> None:
    mechanism = EVERY[name].build(10, 2.0)
    wrong: list[tuple[str, Any]] = [("domain", one) for one in ([0, 10], [-1], np.array([2**63], dtype=np.uint64))]
    wrong += [("values", one) for one in ([1.0], [[1]], ["1"], [True], 3)]
    for what, values in wrong:
        with raises(f"mechanism.{what}"):
            mechanism.randomize(values, rng)
    with raises("mechanism.reports"):
        mechanism.tally(np.zeros((2, mechanism.words + 1), np.uint64))
    assert mechanism.randomize(np.array([], dtype=np.int64), rng).shape == (0, mechanism.words)


@pytest.mark.parametrize("name", sorted({kind.name for kind in MECHANISMS.values()}))
def test_every_integer_of_a_document_is_needed_is_known_and_has_a_range(name: str) -> None:
    """Of each mechanism's own document: without one of them, with one more, and with each far out of range."""
    good = MECHANISMS[name].build(10, 2.0).parameters
    assert from_parameters(name, 10, good).parameters == good
    for wrong in ({**good, "more": 1}, *({k: v for k, v in good.items() if k != left} for left in good)):
        with raises("mechanism.parameters", name) as caught:
            from_parameters(name, 10, wrong)
        assert caught.value.exit_code == 2
    for key in good:
        for value in (0, -1, 2**64, 10**5000, 1.5, "1", True):
            with raises("mechanism.range", key) as caught:
                from_parameters(name, 10, {**good, key: value})  # type: ignore[dict-item]  # as a document may have it
            assert (caught.value.exit_code, len(str(caught.value)) < 160) == (2, True)


DOCUMENTS: list[tuple[str, Any, Mapping[str, Any], tuple[str, ...]]] = [
    ("oracle", 10, {"threshold": 1}, ("mechanism.name", "grr, solh, sue")),
    ("olh", 10, {"threshold": 2**63, "cells": 8}, ("mechanism.name", "grr", "solh", "sue", "hadamard", "subset")),
    ("hadamard", 10, {"threshold": 2**63}, ("mechanism.parameters", "hadamard", "threshold", "signs")),
    ("hadamard", 10, {"threshold": 2**63, "signs": 0}, ("mechanism.range", "signs of hadamard")),
    ("hadamard", 10, {"threshold": 2**63, "signs": 5}, ("mechanism.range", "signs", "4", "5")),
    ("hadamard", 10, {"threshold": 2**63, "signs": 1, "row": 1}, ("mechanism.parameters", "hadamard")),
    ("hadamard", 10, {"threshold": 2**64, "signs": 1}, ("mechanism.range", "threshold of hadamard")),
    ("hadamard", 1, {"threshold": 2**63, "signs": 1}, ("mechanism.range", "domain of Hadamard response")),
    ("oue", 10, {"threshold": 2**63, "tau": 1, "field_bits": 1}, ("mechanism.name", "ue")),
    ("ue", 10, {"tau": 1, "field_bits": 1}, ("mechanism.parameters", "ue", "threshold")),
    ("ue", 10, {"threshold": 2**63, "tau": 2, "field_bits": 1}, ("mechanism.range", "tau", "1", "2")),
    ("ue", 10, {"threshold": 2**63, "tau": 0, "field_bits": 4}, ("mechanism.range", "tau of ue")),
    ("ue", 10, {"threshold": 2**63, "tau": 1, "field_bits": 17}, ("mechanism.range", "field_bits of ue")),
    ("subset", 10, {"threshold": 2**63}, ("mechanism.parameters", "subset", "threshold", "window")),
    ("subset", 10, {"threshold": 2**63, "window": 2**32 // 11 - 1}, ("mechanism.range", "window of subset")),
    ("subset", 10, {"threshold": 2**63, "window": 5 * 2**32 // 11 + 1}, ("mechanism.range", "window of subset")),
    ("subset", 2**20 + 1, {"threshold": 2**63, "window": 2**31}, ("mechanism.range", "domain of subset selection")),
    ("rmp", 10, {}, ("mechanism.parameters", "rmp", "threshold")),
    ("rmp", 10, {"threshold": 2**63, "rows": 1}, ("mechanism.parameters", "rmp", "threshold")),
    ("rmp", 10, {"threshold": 0}, ("mechanism.range", "threshold of rmp")),
    ("rmp", 10, {"threshold": 2**64}, ("mechanism.range", "threshold of rmp")),
    ("rmp", 1, {"threshold": 2**63}, ("mechanism.range", "domain of random matrix projection")),
    ("grr", 10, {}, ("mechanism.parameters", "threshold")),
    ("grr", 10, {"threshold": 2**63, "extra": 1}, ("mechanism.parameters", "threshold")),
    ("grr", 10, {"Threshold": 2**63}, ("mechanism.parameters", "threshold")),
    ("grr", 10, {"threshold": 0}, ("mechanism.range", "threshold of grr")),
    ("grr", 10, {"threshold": -1}, ("mechanism.range", "threshold of grr")),
    ("grr", 10, {"threshold": 2**64}, ("mechanism.range", "threshold of grr")),
    ("grr", 10, {"threshold": 10**5000}, ("mechanism.range", "threshold of grr")),
    ("grr", 10, {"threshold": 2.0**63}, ("mechanism.range", "threshold of grr")),
    ("grr", 10, {"threshold": "9"}, ("mechanism.range", "threshold of grr")),
    ("grr", 10, {"threshold": 1}, ("mechanism.threshold_epsilon",)),
    ("grr", 10, {"threshold": 2**64 - 1}, ("mechanism.threshold_epsilon",)),
    ("grr", 1, {"threshold": 2**63}, ("mechanism.range", "domain of GRR")),
    ("grr", 2**32, {"threshold": 2**63}, ("mechanism.range", "domain of GRR")),
    ("solh", 10, {"threshold": 2**63}, ("mechanism.parameters", "solh", "threshold", "cells")),
    ("solh", 10, {"threshold": 2**63, "cells": 1}, ("mechanism.range", "cells of solh")),
    ("solh", 10, {"threshold": 2**63, "cells": 2**16 + 1}, ("mechanism.range", "cells of solh")),
    ("solh", 2**24 + 1, {"threshold": 2**63, "cells": 2}, ("mechanism.range", "domain of local hashing")),
    ("sue", 10, {"tau": 1}, ("mechanism.parameters", "field_bits")),
    ("sue", 10, {"tau": 0, "field_bits": 3}, ("mechanism.range", "tau of sue")),
    ("sue", 10, {"tau": 4, "field_bits": 3}, ("mechanism.range", "tau of fields of 3 bits", "1", "3", "4")),
    ("sue", 10, {"tau": 1, "field_bits": 1}, ("mechanism.range", "field_bits of sue")),
    ("sue", 10, {"tau": 1, "field_bits": 17}, ("mechanism.range", "field_bits of sue")),
    ("sue", 0, {"tau": 1, "field_bits": 3}, ("mechanism.range", "domain of SUE")),
]


@pytest.mark.parametrize(("name", "domain", "parameters", "mistake"), DOCUMENTS)
def test_a_wrong_document_gets_one_sentence(
    name: str, domain: int, parameters: Mapping[str, int], mistake: tuple[str, ...]
) -> None:
    with raises(*mistake) as caught:
        from_parameters(name, domain, parameters)
    assert len(str(caught.value)) < 160


def test_no_mechanism_of_a_document_is_without_noise_or_without_signal() -> None:
    """The edges that are let in still have 0 < ε_l ≤ 24, γ > 0 and p > q as doubles."""
    edges: list[tuple[str, int, Mapping[str, int]]] = [
        ("grr", 2, GRR(2, 24.0).parameters),
        ("grr", MAX_ENUMERABLE, GRR(MAX_ENUMERABLE, 1e-6).parameters),
        ("solh", 2, LocalHash(2, 1e-6, d_prime=2**16).parameters),
        ("sue", 2, {"tau": 1, "field_bits": 16}),
        ("sue", 2, {"tau": 2**15 - 1, "field_bits": 16}),
        ("hadamard", 2, HadamardResponse(2, 1e-6, signs=1).parameters),
        ("hadamard", MAX_ENUMERABLE, HadamardResponse(MAX_ENUMERABLE, 24.0, signs=24).parameters),
        ("subset", 2, SubsetSelection(2, 1e-6).parameters),
        ("subset", 1 << 20, SubsetSelection(1 << 20, 24.0, size=1).parameters),
    ]
    for name, domain, parameters in edges:
        m = from_parameters(name, domain, parameters)
        assert isinstance(m, PureMechanism)
        assert 0 < m.epsilon_local <= 24
        assert 0 < m.gamma < 1
        assert m.oracle.p > m.oracle.q


TENS = [
    *(GRR(10, 1.0), LocalHash(10, 1.0), SUE(10, 1.0), HadamardResponse(10, 1.0), SubsetSelection(10, 1.0)),
    *(UE(10, 1.0, share=0.3), THE(10, 1.0), RandomMatrixProjection(10, 1.0)),
]


@pytest.mark.parametrize("mechanism", TENS, ids=repr)
@pytest.mark.parametrize(
    ("values", "mistake"),
    [
        ([0, 10], ("mechanism.domain", "9", "1")),
        ([-1], ("mechanism.domain", "9", "0")),
        (np.array([2**63], dtype=np.uint64), ("mechanism.domain",)),
        ([1.0], ("mechanism.values",)),
        ([[1]], ("mechanism.values",)),
        ([[1], [2, 3]], ("mechanism.values",)),
        (["1"], ("mechanism.values",)),
        ([True], ("mechanism.values",)),
        (3, ("mechanism.values",)),
    ],
)
def test_values_that_cannot_be_reported_get_one_sentence(
    mechanism: PureMechanism, values: Any, mistake: tuple[str, ...], rng: Randomness
) -> None:
    for call in (mechanism.randomize, mechanism.encode):
        with raises(*mistake):
            call(values, rng)


@pytest.mark.parametrize("mechanism", TENS, ids=repr)
def test_words_of_another_shape_or_type_get_one_sentence(mechanism: PureMechanism) -> None:
    for words in (
        np.zeros((2, mechanism.words)),
        np.zeros((2, mechanism.words + 1), np.uint64),
        np.zeros(2, np.uint64),
    ):
        with raises("mechanism.reports"):
            mechanism.support_counts(words)  # type: ignore[arg-type]  # the type is the mistake


@pytest.mark.parametrize(
    "mechanism",
    [
        *(GRR(500, 4.0), LocalHash(500, 4.0, d_prime=64), LocalHash(500, 1.0, d_prime=3), SUE(40, 1.0)),
        *(HadamardResponse(500, 1.0, signs=j) for j in (1, 4, 5, 9)),
        *(HadamardResponse(5000, 1.0, signs=2), SubsetSelection(500, 1.0), SubsetSelection(5000, 5.0)),
        *(SubsetSelection(500, 1.0, size=k) for k in (1, 2, 250)),
        *(OUE(40, 2.0), RandomMatrixProjection(500, 1.0)),
    ],
    ids=repr,
)
def test_tallies_add_up_and_candidates_are_counted_as_the_whole_domain_is(
    mechanism: PureMechanism, rng: Randomness
) -> None:
    words = mechanism.randomize(np.arange(3000) % mechanism.domain, rng)
    whole = mechanism.tally(words)
    assert np.array_equal(mechanism.tally(words[:1234]) + mechanism.tally(words[1234:]), whole)
    for candidates in ([7], [39, 0, 7, 7], list(range(mechanism.domain)), []):
        some = np.array(candidates, dtype=np.int64)
        assert np.array_equal(mechanism.support_counts(words, some), whole[some])
    with raises("mechanism.domain"):
        mechanism.support_counts(words, np.array([mechanism.domain]))


@pytest.mark.parametrize("mechanism", TENS, ids=repr)
def test_no_reports_are_no_counts(mechanism: PureMechanism, rng: Randomness) -> None:
    none = mechanism.randomize(np.array([], dtype=np.int64), rng)
    assert none.shape == (0, mechanism.words)
    assert mechanism.support_counts(none).tolist() == [0] * mechanism.domain


def test_without_a_stream_reports_come_from_the_system() -> None:
    m = GRR(1000, 1.0)
    values = np.zeros(100, dtype=np.int64)
    assert not np.array_equal(m.randomize(values), m.randomize(values))


def test_seeds_of_more_than_32_bits_are_refused() -> None:
    with raises("mechanism.seeds", "32"):
        LocalHash(10, 1.0).hash(np.array([2**32], dtype=np.uint64), np.array([0]))
