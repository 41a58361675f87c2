"""How a command ends when something unforeseen happens: one sentence, its exit code, and no traceback."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Annotated

import pytest
import typer

from peos.cli.running import FAILED, INTERRUPTED, run
from peos.errors import WrongInput
from tests.unit.cli import raising


def with_command(body: object) -> typer.Typer:
    """A command line whose one command does this."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

    @app.command()
    def go(as_json: Annotated[bool, typer.Option("--json")] = False) -> None:  # noqa: ARG001 - looked for by `run`
        assert callable(body)
        body()

    return app


def raise_(error: BaseException) -> object:
    """Something that raises this."""

    def body() -> None:
        raise error

    return body


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (OSError(28, "No space left on device", "/a/b"), 1, "the system refuses: no space left on device: /a/b"),
        (OSError(5, "Input/output error"), 1, "the system refuses: input/output error"),
        (WrongInput("test.wronginput", "no such thing", hint="take another"), 2, "no such thing (take another)"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (typer.Abort(), 130, "interrupted"),
    ],
)
def test_an_end_is_one_sentence_with_its_exit_code(
    error: BaseException, code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(with_command(raise_(error)), [], "peos go") == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"peos go: {sentence}")
    assert shown.err.count("\n") == 1


def test_a_mistake_of_ours_is_named_by_its_place_and_never_by_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(with_command(lambda: raising.deep({"secret": "17"})), [], "peos go") == FAILED
    shown = capsys.readouterr().err
    assert "internal error (bug): KeyError at " in shown
    assert "report this line" in shown
    assert "secret" not in shown
    assert "17" not in shown
    assert "Traceback" not in shown


def test_sigterm_ends_a_command_as_an_interrupt_does_and_only_there(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGTERM)
    kept: list[str] = []

    def body() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        finally:
            kept.append("tidied")

    assert run(with_command(body), [], "peos go") == INTERRUPTED
    assert kept == ["tidied"]
    assert capsys.readouterr().err == "peos go: interrupted [program.interrupted]\n"
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_command_runs_in_another_thread_too() -> None:
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(run(with_command(lambda: None), [], "peos go")))
    thread.start()
    thread.join()
    assert codes == [0]


@pytest.mark.parametrize("arguments", [["shuffler"], ["bench"], ["client"], ["analyzer"]])
def test_a_command_that_is_missing_is_named_with_those_that_there_are(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    from peos.cli import main

    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"peos {arguments[0]}: a command is missing: ")
    assert shown.err.count("\n") == 1


PLAN = [sys.executable, "-m", "peos.cli", "plan", "--users", "2000", "--domain", "8", "--delta", "1e-6"]
PLAN += ["--eps-local", "3", "--json"]


def test_results_that_nobody_reads_end_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with subprocess.Popen(PLAN, stdout=writing, stderr=subprocess.PIPE, text=True) as ran:  # noqa: S603 - our own program
        os.close(writing)
        _, said = ran.communicate(timeout=60)
    assert (ran.returncode, said) == (1, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_results_that_cannot_be_written_are_an_error() -> None:
    with open("/dev/full", "w") as full:
        ran = subprocess.run(PLAN, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)  # noqa: S603
    assert ran.returncode == 1
    told = json.loads(ran.stderr)
    assert (told["error"], told["where"]) == ("the system refuses: no space left on device", "peos plan")
