"""The command line as a whole: one sentence for each error, the exit codes, and standard output kept for results."""

import json
import subprocess
import sys

import pytest

import peos.privacy
from peos import __version__
from peos.cli import main
from peos.errors import ProtocolError
from tests.raising import require_shown

PLAN = ["plan", "--users", "2000", "--domain", "64", "--delta", "1e-6"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The console script as a process of its own."""
    code = "import sys; from peos.cli import main; sys.exit(main())"
    return subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def one_sentence(text: str) -> str:
    assert text.endswith("\n")
    assert text.count("\n") == 1, text
    assert "Traceback" not in text
    return text.strip()


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"peos {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "mistake"),
    [
        (["nonsense"], ("input.command", "peos", "'nonsense'")),
        (["--nonsense"], ("input.command", "peos", "--nonsense")),
        (["plan"], ("input.command", "peos plan", "'--users'")),
        ([*PLAN, "--users", "many"], ("input.number", "peos plan", "--users", "'many'")),
        ([*PLAN, "--nonsense", "1"], ("input.command", "peos plan", "--nonsense")),
        (PLAN, ("plan.no_target", "peos plan")),
        (
            [*PLAN, "--eps-local", "4", "--accounting", "renyi"],
            ("plan.accounting", "peos plan", "'renyi'"),
        ),
    ],
)
def test_wrong_input_exits_2_with_one_sentence(
    arguments: list[str], mistake: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    require_shown(one_sentence(shown.err), *mistake)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([*PLAN, "--eps-server", ".001"], 3),
        ([*PLAN, "--fakes", "x"], 2),
        ([*PLAN, "--users", "x"], 2),
        (["bench", "x"], 2),
    ],
)
def test_with_json_an_error_is_an_object_on_standard_error(
    arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--json"]) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert set(json.loads(one_sentence(shown.err))) == {"id", "error", "where", "hint"}


@pytest.mark.parametrize(
    ("raised", "code", "sentence"),
    [
        (
            ProtocolError("test.protocolerror", "the hand-over stopped", hint="start again"),
            1,
            "peos plan: the hand-over stopped (start again) [test.protocolerror]",
        ),
        (KeyboardInterrupt(), 130, "peos plan: interrupted [program.interrupted]"),
    ],
)
def test_failures_and_interrupts_have_their_own_codes(
    raised: BaseException,
    code: int,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr(peos.privacy, "plan", fail)
    assert main([*PLAN, "--eps-local", "4"]) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert one_sentence(shown.err) == sentence


def test_the_exit_code_reaches_the_shell_and_no_traceback_does() -> None:
    refused = run(*PLAN, "--eps-server", ".001")
    assert refused.returncode == 3
    assert refused.stdout == ""
    assert one_sentence(refused.stderr).startswith("peos plan: eps_server = 0.001 ")


def _loaded(code: str, *libraries: str) -> str:
    """What the code prints in a process of its own, which must not load these libraries."""
    ends = f"; import sys; sys.exit(' '.join({set(libraries)!r} & set(sys.modules)) or 0)"
    done = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code + ends], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, f"loaded for nothing: {done.stderr}"
    return done.stdout


def test_help_loads_no_numerical_library() -> None:
    shown = _loaded("from peos.cli import main; main(['plan', '--help'])", "numpy", "scipy", "gmpy2", "cryptography")
    assert "--eps-server" in shown


@pytest.mark.parametrize("module", ["user_client.client", "user_client.cli"])
def test_a_users_client_loads_nothing_that_only_an_analyst_needs(module: str) -> None:
    _loaded(f"import {module}", "scipy", "dask", "distributed", "jinja2")
