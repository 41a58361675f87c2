"""The simulation can fail: each planted mistake is caught within the schedules of a normal run, and shrinks well."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from peos.shuffle.delivery_state import DeliveryState
from peos.shuffle.effects import Event
from peos.shuffle.messages import Notice
from tests.full import full
from tests.simulation.__main__ import everyone, main
from tests.simulation.faulty import PLANTED
from tests.simulation.operations import Kill, Trial, trial
from tests.simulation.shrink import shrunk
from tests.simulation.test_schedules import BATCH, BATCHES
from tests.simulation.watch import Violation, Watch
from tests.simulation.world import World, failure

PAGE = Path(__file__).parents[2] / "docs" / "simulation.md"


@dataclass(frozen=True)
class Caught:
    """By which rule a mistake is caught first, and by the smallest list of how many operations."""

    rule: str
    operations: int


EXPECTED = {
    "ForgetsWhatItStored": Caught("sending is for good", 1),
    "ForgetsEverything": Caught("attempts only grow", 2),
    "ContinuesAnAttempt": Caught("one word for one place", 1),
    "RedrawsFakes": Caught("every row comes out once", 1),
    "WritesTwice": Caught("what was stored is there", 0),
    "SendsBeforeAllStored": Caught("sent only what all stored", 0),
    "SignsLostAfterStored": Caught("stored is left only for a reason", 1),
    "ReusesContributions": Caught("nothing random is used twice", 1),
    "SpeaksFirst": Caught("what is signed is durable", 0),
    "SignsATombstoneWhileSending": Caught("sending is for good", 3),
    "SaysItLeftOnlyOnce": Caught("everybody ends", 1),
    "NeverAnswers": Caught("everybody ends", 1),
    "SaysStoredAfterErasing": Caught("what is signed is durable", 1),
}


RARE = ("SaysItLeftOnlyOnce", "SignsLostAfterStored")  # caught after hundreds of schedules


@pytest.mark.parametrize("name", [full(name) if name in RARE else name for name in PLANTED])
def test_a_planted_mistake_is_caught(name: str) -> None:
    kind = PLANTED[name]
    for seed in range(BATCH * BATCHES):
        drawn = trial(seed)
        found = failure(drawn, everyone(drawn, kind))
        if found is not None:
            break
    assert found is not None, f"{name} was not caught in {BATCH * BATCHES} schedules"
    assert found.rule == EXPECTED[name].rule, f"{name} at schedule {seed + 1}: {found}"
    row = f"| {name} | {found.rule} | {seed + 1} |"
    assert row in PAGE.read_text(encoding="utf-8"), f"docs/simulation.md should say: {row}"

    def fails(candidate: Trial) -> bool:
        again = failure(candidate, everyone(candidate, kind))
        return again is not None and again.rule == EXPECTED[name].rule

    small = shrunk(drawn, fails)
    assert fails(small)
    assert len(small.operations) <= EXPECTED[name].operations, small.source()
    assert failure(small) is None, "the reproduction fails without the mistake"


class _AtTheEnd(Watch):
    """Looks away until something is sent: no rule but those on what reaches the analyzer."""

    def _check_step(self, who: int, before: DeliveryState, after: DeliveryState, cause: Event) -> None:
        pass

    def tells(self, who: int, notice: Notice) -> None:
        self.signed[who].add(notice)


class _LookingAway(World):
    watch_type = _AtTheEnd


def test_forgetting_what_was_stored_leads_to_two_outputs() -> None:
    """The rule that all others serve is itself able to fail: not only the steps towards it are seen."""
    for seed in range(BATCH * BATCHES):
        drawn = trial(seed)
        try:
            _LookingAway(drawn, kinds=everyone(drawn, PLANTED["ForgetsWhatItStored"])).run()
        except Violation as violation:
            if violation.rule == "one output at most":
                return
    pytest.fail(f"no second output in {BATCH * BATCHES} schedules")


def test_shrinking_keeps_to_what_fails_and_makes_numbers_small() -> None:
    drawn = trial(1)
    assert len(drawn.operations) > 1

    def fails(candidate: Trial) -> bool:
        return any(isinstance(one, Kill) and one.who == 2 and one.down > 9 for one in candidate.operations)

    kills = Trial(seed=3, vectors=True, operations=(*drawn.operations, Kill(50, 2, 100)))
    assert shrunk(kills, fails) == Trial(operations=(Kill(0, 2, 10),))


def test_the_command_prints_a_reproduction(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--planted", "ContinuesAnAttempt"]) == 1
    printed = capsys.readouterr().out
    assert "schedules: one word for one place" in printed
    source = printed[printed.index("TRIAL = ") :].split("\n\n")[0].removeprefix("TRIAL = ")
    assert source.startswith("Trial(\n    operations=(\n        ")
