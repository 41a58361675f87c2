"""Thousands of schedules of faults from seeds, and that they reach what they are for."""

from collections import Counter
from itertools import count
from pathlib import Path

import pytest

from tests.full import many
from tests.simulation.__main__ import main
from tests.simulation.operations import Trial, trial
from tests.simulation.world import World, examined

PAGE = Path(__file__).parents[2] / "docs" / "simulation.md"
BATCH, BATCHES = 400, many(1, 8)  # 3,200 schedules in CI
MANY = 60_000


def swept(first: int, schedules: int) -> Counter[str]:
    """Run a stretch of seeds; what happened in them."""
    reached: Counter[str] = Counter()
    for seed in range(first, first + schedules):
        drawn = trial(seed)
        found, world = examined(drawn)
        assert found is None, f"{found}\nrun `python -m tests.simulation --schedules 1 --seed {seed}` for a small one"
        reached["delivered" if world.watch.output() else "not delivered"] += 1
        reached["with vectors"] += drawn.vectors
        reached[f"{drawn.shufflers} shufflers"] += 1
        reached["attempts"] += world.watch.entered
        reached.update(world.watch.reached)
    return reached


@pytest.mark.parametrize("batch", range(BATCHES))
def test_every_rule_holds_under_faults(batch: int) -> None:
    reached = swept(batch * BATCH, BATCH)
    # That so much was reached is what makes the rules' silence say something.
    least = {
        "delivered": 200,
        "not delivered": 60,
        "with vectors": 50,
        "4 shufflers": 20,
        "5 shufflers": 8,
        "attempts": 450,
        "stored to sending": 400,
        "stored to free": 4,
        "stored to dead": 1,
        "sending to done": 400,
        "killed while free": 100,
        "killed while stored": 4,
        "killed while sending": 8,
        "killed before a Persist": 20,
        "killed after a Persist": 20,
        "a step that took too long": 80,
    }
    short = {what: reached[what] for what in least if reached[what] < least[what]}
    assert not short, f"{BATCH} schedules from seed {batch * BATCH} reached too little: {short}"


@pytest.mark.long
def test_every_rule_holds_under_many_more() -> None:
    swept(BATCH * BATCHES, MANY)


@pytest.mark.parametrize("shufflers", [3, 4, 5])
@pytest.mark.parametrize("vectors", [False, True], ids=["without vectors", "with vectors"])
def test_undisturbed_one_attempt_is_enough(shufflers: int, vectors: bool) -> None:
    outcome = World(Trial(shufflers=shufflers, vectors=vectors)).run()
    assert (outcome.delivered, outcome.attempts) == (True, 1)


def test_a_seed_gives_the_same_run_every_time() -> None:
    for seed in range(30):
        traces: list[list[str]] = [[], []]
        for lines in traces:
            World(trial(seed), say=lines.append).run()
        assert traces[0] == traces[1], f"seed {seed}"


def test_the_trace_tells_a_run_from_its_faults_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    seed = next(seed for seed in count() if trial(seed).must_deliver and trial(seed).shufflers == 3)
    assert main(["--seed", str(seed), "--trace"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Trial(")
    for telling in ("-- ", "shuffler 2    persists: stored(", "signs stored(", "delivers attempt", "has the receipt"):
        assert telling in printed, telling
    assert printed.rstrip().endswith("1 done, 2 done, 3 done")


def test_the_run_that_the_page_shows_is_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "13", "--trace"]) == 0
    printed = iter(capsys.readouterr().out.splitlines())
    shown = PAGE.read_text(encoding="utf-8").split("```text\n")[1].split("```")[0].splitlines()
    for line in shown:
        assert line in printed, f"{line!r} is not printed after the line before it"


def test_the_command_runs_schedules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--schedules", "20", "--seed", "5"]) == 0
    assert "20 schedules from seed 5" in capsys.readouterr().out
