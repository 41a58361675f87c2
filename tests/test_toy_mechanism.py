"""A mechanism that no other file knows goes through everything once it is registered, and is refused before.

One word, a bit for each of up to 64 values: uniform with probability γ, else uniform but for the user's own bit.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Final, Self

import numpy as np
import pytest
from numpy.typing import NDArray

from analyzer.report import page
from analyzer.result import Found, result_json
from peos.cli import main
from peos.crypto.randomness import U64, Randomness
from peos.estimate.frequency import FrequencyOracle
from peos.ldp.base import UNASKED, Counts, PureMechanism, Question, checked_parameters, whole_number
from peos.ldp.blanket import Blanket, even_blanket
from peos.ldp.members import Floats, Grid
from peos.ldp.mixture import Mixture, largest_threshold
from peos.privacy import plan
from peos.registry import MECHANISMS
from peos.simulate import Simulation, run_collection
from peos.wire.documents import decode_document, encode_document
from tests.keys import small_key
from tests.raising import raises, require_said
from tests.registered import registered

USERS: Final = 1_000  # of its collection
ASKED: Final = {"users": 3000, "domain": 16, "delta": 1e-6, "eps_server": 0.2, "eps_local": 3.0}


class Toy(PureMechanism):
    """A fair coin for every value, and her own bit set unless γ says otherwise: μ = c = 1/2."""

    name = "toy"
    short = "plain bits"
    words = 1
    cells = 2

    def __init__(self, domain: int, epsilon: float) -> None:
        self._set(domain, largest_threshold(epsilon, 2, bits=1), UNASKED)

    def _set(self, domain: int, threshold: int, question: Question) -> None:
        self.domain = whole_number(domain, "the domain of a toy", least=2, most=64)
        self.question = question
        self._mixture = Mixture(threshold, 2, bits=1)

    @classmethod
    def from_parameters(cls, domain: int, parameters: Mapping[str, int], question: Question = UNASKED) -> Self:
        given = checked_parameters(cls.name, parameters, {"threshold": (1, 2**64 - 1)})
        toy = cls.__new__(cls)
        toy._set(domain, given["threshold"], question)
        return toy

    @classmethod
    def described(cls) -> str:
        return "plain bits (toy): each device throws a coin for every value, and often sets the bit of the user's own"

    @classmethod
    def build(cls, domain: int, epsilon: float, size: int = 0) -> "Toy":  # noqa: ARG003 - it has none
        return cls(domain, epsilon)

    @classmethod
    def grid(cls, domain: int, sizes: NDArray[np.int64], local: Floats) -> Grid:  # noqa: ARG003 - the same for all
        half = np.full((1, 1), 0.5)
        return Grid(half, half, half)

    @property
    def gamma(self) -> Fraction:
        return self._mixture.gamma

    @property
    def epsilon_local(self) -> float:
        return self._mixture.epsilon

    @property
    def blanket(self) -> Blanket:
        return even_blanket(self.gamma, Fraction(1, 2), Fraction(1, 4), self.epsilon_local)

    @property
    def oracle(self) -> FrequencyOracle:
        return FrequencyOracle(p=float(1 - self.gamma / 2), q=0.5, u=0.5)

    @property
    def parameters(self) -> Mapping[str, int]:
        return {"threshold": self._mixture.threshold}

    @property
    def shown(self) -> Mapping[str, int]:
        return {"coins": self.domain}

    def encode(self, values: NDArray[np.int64], rng: Randomness) -> U64:
        own = np.uint64(1) << self._values(values).astype(np.uint64)
        words: U64 = (rng.uint64(len(values)) | own)[:, np.newaxis]
        return words

    def randomize(self, values: NDArray[np.int64], rng: Randomness | None = None) -> U64:
        rng = self._rng(rng)
        told = self._mixture.tells(len(values), rng)[:, np.newaxis]
        return np.where(told, self.encode(values, rng), rng.uint64((len(values), 1)))

    def support_counts(self, words: U64, candidates: NDArray[np.int64] | None = None) -> Counts:
        among = np.arange(self.domain) if candidates is None else self._values(candidates)
        bits = self._words(words) >> among.astype(np.uint64) & np.uint64(1)
        counts: Counts = bits.sum(axis=0, dtype=np.int64)
        return counts


@pytest.fixture
def known() -> Iterator[None]:
    with registered(MECHANISMS, Toy):
        yield


@pytest.mark.usefixtures("known")
def test_a_plan_tries_it_builds_it_and_says_what_holds() -> None:
    found = plan(**ASKED, mechanism="toy")  # type: ignore[arg-type] # numbers by name
    assert (found.mechanism, found.d_prime) == ("toy", None)
    assert isinstance(found.randomizer, Toy)
    assert found.guarantees.server.theorem is None
    assert found.guarantees.server.exact is not None
    assert 0.19 < found.guarantees.server.exact <= 0.2
    assert 0.2 < found.eps_local < 3.0
    assert found.mse == found.randomizer.variance(users=3000, fakes=found.fakes)
    for balanced in ("hadamard", "subset"):  # better than any plain bits
        del MECHANISMS[balanced]
    # At a small ε_l a half is the best chance of a match, so that it comes first or next without being asked for.
    offered = plan(**{**ASKED, "domain": 64, "eps_local": 0.4})  # type: ignore[arg-type]
    assert offered.runner_up is not None
    assert "toy" in (offered.mechanism, offered.runner_up.mechanism)


@pytest.mark.usefixtures("known")
def test_the_command_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--users", "3000", "--domain", "16", "--delta", "1e-6", "--eps-server", "0.2", "--eps-local", "3"]
    assert main(["plan", *asked, "--mechanism", "toy"]) == 0
    assert "plain bits (toy), coins = 16" in capsys.readouterr().out
    assert main(["plan", *asked, "--mechanism", "other"]) == 2
    require_said(capsys.readouterr().err, "grr, solh, sue", "toy, not 'other'")


def test_help_lists_it_without_loading_it() -> None:
    code = (
        "import sys; from peos.registry import MECHANISMS; MECHANISMS['toy'] = 'tests.test_toy_mechanism:Toy'; "
        "from peos.cli import main; main(['plan', '--help']); sys.exit('numpy' in sys.modules)"
    )
    done = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "auto|grr|solh|sue" in done.stdout
    assert "|toy" in done.stdout


@pytest.mark.usefixtures("known")
def test_a_collection_result_and_page_have_it(rng: Randomness) -> None:
    planned = plan(**ASKED, mechanism="toy", fakes=200)  # type: ignore[arg-type]
    simulation = Simulation(planned.randomizer, fakes=planned.fakes, key=small_key(), rng=rng)
    document = simulation.document
    assert document.choice.name == "toy"
    assert decode_document(encode_document(document), floor=256).mechanism == document.mechanism
    values = rng.below(np.full(USERS, 5, np.uint64)).astype(np.int64)
    collected = simulation.run(values)
    own = document.mechanism.estimate(document.mechanism.tally(collected.reports), users=USERS, fakes=200)
    assert np.array_equal(collected.estimate.frequency, own.frequency)
    off = np.abs(own.frequency - np.bincount(values, minlength=16) / USERS) / own.stderr
    assert off.max() < 6.4, f"largest |estimate − truth| / stderr = {off.max():.2f} of 16 values"
    result = result_json(
        *(collected.digest, document, Found.of_values(document, collected.estimate), collected.guarantees),
        name="made",
        seconds=1.0,
        sent=0,
        received=0,
        published_at=1_700_000_000,
        inspected=None,
        lists=None,
        together=None,
    )
    parameters = result["parameters"]
    assert (parameters["mechanism"], parameters["d_prime"]) == ("toy", None)
    assert parameters["mechanism_parameters"] == {"coins": 16}
    shown = page(result)
    assert "each device throws a coin for every value" in shown
    assert "coins = 16" in shown


@pytest.mark.usefixtures("known")
def test_run_collection_estimates_by_it(rng: Randomness) -> None:
    result = run_collection([3] * 400, mechanism=Toy(16, 6.0), fakes=20, key=small_key(), rng=rng)
    assert result.estimate.frequency[3] > 0.9
    assert result.guarantees.local == Toy(16, 6.0).epsilon_local
    assert result.guarantees.server.exact is not None


def test_unknown_it_is_refused_everywhere_and_taken_for_nothing_else(rng: Randomness) -> None:
    with raises("plan.mechanism", "grr, solh, sue", "'toy'"):
        plan(**ASKED, mechanism="toy")  # type: ignore[arg-type]
    known = Simulation(MECHANISMS["grr"].build(16, 3.0), key=small_key(), rng=rng).document
    document = replace(known, choice=replace(known.choice, name="toy"))
    with raises("document.unusable", "grr, solh, sue"):
        decode_document(encode_document(document), floor=256)
    with raises("document.unusable", "grr, solh, sue"):
        run_collection([1, 2], mechanism=Toy(16, 3.0), key=small_key(), rng=rng)


def test_a_registry_that_a_test_changed_has_its_order_again() -> None:
    before = list(MECHANISMS.items())
    with registered(MECHANISMS, Toy):
        del MECHANISMS["hadamard"]
    assert list(MECHANISMS.items()) == before
