"""What help says: examples that are right, commands by who uses them, -h, completion, the card, the configuration."""

import json
import re
import shlex
import shutil
import subprocess
from typing import Any

import pytest

from peos import __version__, typed
from peos.cli import GROUPS, main
from peos.cli.completion import choices, tree
from peos.registry import MECHANISMS, SCHEMES, TASKS, Registry
from peos.wire.strict import VERSION
from tests.raising import require_shown

TREE = dict(tree())
LEAVES = {name: command for name, command in TREE.items() if not getattr(command, "commands", {})}


def examples_of(command: Any) -> list[list[str]]:
    """The words of each example in a command's help."""
    text = (command.epilog or "").replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if re.match(r"\s+(\w+=\S+ )?peos ", line)]
    return [[word for word in shlex.split(line) if not re.fullmatch(r"[A-Z_]+=\S+", word)] for line in lines]


@pytest.mark.parametrize("name", sorted(LEAVES))
def test_every_command_has_an_example_that_it_takes(name: str) -> None:
    command = LEAVES[name]
    found = examples_of(command)
    assert found, f"{name} has no example"
    for words in found:
        given = shlex.join(words)
        assert given.startswith(f"{name} ") or given == name
        rest = words[len(name.split()) :]
        rest = rest[: rest.index(">")] if ">" in rest else rest
        known = {option for one in command.params for option in one.opts}
        assert {word for word in rest if word.startswith("--")} <= known | {"--json"}
        required = {one.opts[0] for one in command.params if one.required and one.opts[0].startswith("--")}
        assert required <= {*rest, "--config"}


@pytest.mark.parametrize("name", ["plan", "analyzer create", "shuffler serve", "client submit", "enrol", "card show"])
def test_help_is_short_too(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*name.split(), "-h"]) == 0
    assert "Example" in capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(LEAVES))
def test_what_is_to_be_typed_is_one_plain_word_and_durations_are_shown_as_they_are_typed(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*name.split()[1:], "--help"]) == 0
    usage, _, options = capsys.readouterr().out.partition("Options:")
    assert not re.findall(r"[<{]", usage)
    assert not re.findall(r"<\w+", options)
    assert not re.findall(r"default: (?:3600|86400|600\.0)", options)
    for one in LEAVES[name].params:
        if one.param_type_name == "argument":
            assert re.search(rf"^Usage: [^\n]* \[?{re.escape(one.metavar)}\]?$", usage, re.MULTILINE)
            assert re.search(rf"^  {re.escape(one.metavar)}  \S", usage, re.MULTILINE), "with what it means"


@pytest.mark.parametrize("of", [0, 1, 90, 600, 3600, 5400, 86_400, 604_800])
def test_a_duration_is_shown_as_it_may_be_typed(of: int) -> None:
    assert typed.seconds(typed.duration(of)) == of


def test_every_command_is_in_one_group(capsys: pytest.CaptureFixture[str]) -> None:
    named = [name for names in GROUPS.values() for name in names]
    assert sorted(named) == sorted(name.split()[1] for name in TREE if name.count(" ") == 1)
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n{title}:\n" in shown for title in GROUPS)


def test_without_a_command_there_are_four_things_to_try(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if line.startswith("  peos ")]
    assert len(lines) == 4
    for line in lines:
        _, name, *rest = shlex.split(line)
        whole = f"{name} {rest[0]}" if f"peos {name}" not in LEAVES else name
        known = {option for one in LEAVES[f"peos {whole}"].params for option in one.opts}
        assert {word for word in rest if word.startswith("--")} <= known


def test_the_version_of_program_and_wire(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out == f"peos {__version__}, wire version {VERSION}\n"


@pytest.mark.parametrize(
    ("option", "text"),
    [("--users", "1e3"), ("--users", "1,000"), ("--domain", "1_6"), ("--delta", "1,5"), ("--users", "1.5")],
)
def test_numbers_as_people_write_them(option: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = {"--users": "1000", "--domain": "16", "--delta": "1e-6", "--eps-local": "1"} | {option: text}
    code = main(["plan", *(word for pair in asked.items() for word in pair), "--json"])
    shown = capsys.readouterr()
    if text in ("1e3", "1,000"):
        assert code == 0
        assert json.loads(shown.out)["users"] == 1000
    else:
        assert code == 2
        assert json.loads(shown.err)["id"] == "input.number"


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (("pl",), ["plan"]),
        (("analyzer", "cre"), ["create"]),
        (("analyzer", "create", "--eps-s"), ["--eps-server"]),
        (("client", "submit", "--ticket-"), ["--ticket-file"]),
        (("card", ""), ["show"]),
        (("plan", "--users", "5"), []),
        (("plan", "--mechanism", "h"), ["hadamard"]),
        (("plan", "--accounting", ""), ["exact", "theorem"]),
        (("plan", "--mechanism", "=", "so"), ["solh"]),
        (("study", "create", "--task", "item"), ["items", "item-sets"]),
        (("analyzer", "create", "--scheme", "pa"), ["paillier"]),
        (("demo", "--fakes", ""), ["auto"]),  # or a number
        (("completion", "f"), ["fish"]),
    ],
)
def test_bash_completes(typed: tuple[str, ...], offered: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    words, before = shlex.join(("peos", *typed)), shlex.quote(("peos", *typed)[-2])
    script += f"COMP_WORDS=({words}); COMP_CWORD={len(typed)}; _peos peos {shlex.quote(typed[-1])} {before}\n"
    ran = subprocess.run(  # noqa: S603 - the script that was just made
        ["bash", "-c", script + 'printf "%s\\n" "${COMPREPLY[@]}"'],  # noqa: S607 - wherever it is
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line for line in ran.stdout.split() if line] == offered


@pytest.mark.parametrize(("option", "registry"), [("--mechanism", MECHANISMS), ("--scheme", SCHEMES)])
def test_values_that_are_completed_are_those_that_are_registered(option: str, registry: Registry[Any]) -> None:
    (found,) = [one for one in TREE["peos analyzer create"].params if option in one.opts]
    assert set(choices(found)) - {"auto"} <= set(registry)
    assert len(choices(found)) > 2


def test_every_task_is_completed() -> None:
    (found,) = [one for one in TREE["peos study create"].params if "--task" in one.opts]
    assert set(choices(found)) == set(TASKS)


def test_other_shells(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "zsh"]) == 0
    assert "bashcompinit" in capsys.readouterr().out
    assert main(["completion", "fish"]) == 0
    fish = capsys.readouterr().out
    assert all(f'"{name}"' in fish for name in TREE if name != "peos")
    assert ' -l accounting -x -a "exact theorem"\n' in fish
    assert main(["completion", "csh"]) == 2
    require_shown(capsys.readouterr().err, "input.shell", "'csh'")
