"""What a process started ends with it, however it ended; and a closed terminal ends a command in order."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from peos.ending import ENDS_WITH, ending_signals, ends_with_this

PATIENCE = 120.0  # seconds until something that must happen has not happened

# It starts the second program, says which process that is, and waits.
STARTER = """
import subprocess, sys, time
from peos.ending import ends_with_this
started = subprocess.Popen([sys.executable, "-c", sys.argv[1]], env=ends_with_this(), process_group=0)
print(started.pid, flush=True)
time.sleep(60)
"""
DRAINS = """
import signal, sys, time
from pathlib import Path
from peos.ending import end_with_starter, ending_signals
def drain(number, _):
    Path(WORD).write_text(signal.Signals(number).name)
    sys.exit(0)
for number in ending_signals():
    signal.signal(number, drain)
end_with_starter()
Path(WORD).write_text("ready")
time.sleep(60)
"""
STUBBORN = """
import signal, time
from pathlib import Path
from peos import ending
signal.signal(signal.SIGTERM, signal.SIG_IGN)
ending.GRACE = 0.2
ending.end_with_starter()
Path(WORD).write_text("ready")
time.sleep(60)
"""
LATE = """
import time
from pathlib import Path
from peos.ending import end_with_starter
Path(WORD).write_text("ready")
time.sleep(0.5)
end_with_starter()
time.sleep(60)
"""


def state(process: int) -> str:
    """As the system has it: Z for one that has ended and was not waited for, or is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def is_stopped(process: int) -> bool:
    """Whether each of its threads is: the first may be while another still runs."""
    states = [one.read_text().rpartition(")")[2].split()[0] for one in Path(f"/proc/{process}/task").glob("*/stat")]
    return set(states) == {"T"}


def runs(process: int) -> bool:
    return state(process) != "Z"


def until(true: Callable[[], bool], what: str) -> None:
    give_up = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < give_up, f"there was still not: {what}"
        time.sleep(0.01)


def killed(program: str, folder: Path, *, stopped: bool = False) -> tuple[int, Path]:
    """Have the program started by another process, which is then killed; the program's process and its word."""
    word = folder / "word"
    program = program.replace("WORD", repr(str(word)))
    with subprocess.Popen([sys.executable, "-c", STARTER, program], stdout=subprocess.PIPE) as starter:  # noqa: S603
        assert starter.stdout is not None, "it was asked for"
        process = int(starter.stdout.readline())
        until(lambda: word.exists() and word.read_text() == "ready", "the program at work")
        if stopped:
            os.kill(process, signal.SIGSTOP)
            until(lambda: is_stopped(process), "a process that is stopped")
        starter.kill()
    return process, word


def test_what_a_killed_process_started_drains(tmp_path: Path) -> None:
    process, word = killed(DRAINS, tmp_path)
    until(lambda: not runs(process), "its end")
    assert word.read_text() == "SIGTERM"


def test_so_does_what_was_stopped_meanwhile(tmp_path: Path) -> None:
    """The system wakes it with SIGHUP, since no shell is left that could."""
    process, word = killed(DRAINS, tmp_path, stopped=True)
    until(lambda: not runs(process), "its end")
    assert word.read_text() in ("SIGHUP", "SIGTERM")


@pytest.mark.parametrize("program", [STUBBORN, LATE], ids=["it does not drain", "it had hardly begun"])
def test_it_ends_in_any_case(tmp_path: Path, program: str) -> None:
    process, _ = killed(program, tmp_path)
    until(lambda: not runs(process), "its end")


def test_nobody_ends_with_a_process_that_was_not_named() -> None:
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            "from peos.ending import end_with_starter as end; import threading as t; end();print(t.active_count())",
        ],
        env={key: value for key, value in os.environ.items() if key != ENDS_WITH},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "1\n", "it watches no process"


def test_whoever_runs_these_tests_is_named_to_what_they_start() -> None:
    assert os.environ[ENDS_WITH] == ends_with_this()[ENDS_WITH] == str(os.getpid())


def test_nohup_is_respected() -> None:
    assert signal.SIGHUP in ending_signals()
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert ending_signals() == (signal.SIGINT, signal.SIGTERM)
    finally:
        signal.signal(signal.SIGHUP, before)
