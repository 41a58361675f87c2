"""`peos completion`: a script for a shell that completes commands, options and their values without starting Python."""

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Annotated, Any, Final

import typer

from peos.cli.running import PEOS
from peos.errors import WrongInput

_BASH: Final = """# peos: completion for bash
_peos() {{
    local path="peos" words="" word
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$path $word" in
            {commands}) path="$path $word" ;;
        esac
    done
    local before="$3"
    [[ "$before" == "=" ]] && before="${{COMP_WORDS[COMP_CWORD-2]}}"
    case "$path $before" in
{values}
    esac
    if [[ -n "$words" ]]; then
        :
    elif [[ "$2" == -* ]]; then
        case "$path" in
{options}
        esac
    else
        case "$path" in
{under}
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$2"))
}}
complete -o default -F _peos peos
"""
_VALUE: Final = re.compile(r"[a-z][a-z0-9-]*")  # of a list of choices; capitals stand for what is typed
_ZSH: Final = "autoload -U +X bashcompinit && bashcompinit\n"
_FISH: Final = """# peos: completion for fish
function __peos_path
    set -l path peos
    for word in (commandline -opc)[2..-1]
        contains -- "$path $word" {commands}; and set path "$path $word"
    end
    echo $path
end
"""


def completion(shell: Annotated[str, typer.Argument(help="Shell that completes.", metavar="bash|zsh|fish")]) -> None:
    """Print a script that completes commands, options and their values in a shell."""
    found = dict(tree())
    match shell:
        case "bash":
            typer.echo(_bash(found), nl=False)
        case "zsh":
            typer.echo(_ZSH + _bash(found), nl=False)
        case "fish":
            typer.echo(_fish(found), nl=False)
        case _:
            raise WrongInput("input.shell", f"there is no completion for {shell[:40]!r}", hint="bash, zsh or fish")


def tree() -> Iterator[tuple[str, Any]]:
    """Every command by its whole name, those of the roles too."""
    from peos.cli import app
    from peos.cli.roles import MODULES

    def walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:
        yield name, command
        for under, one in getattr(command, "commands", {}).items():
            role = MODULES.get(under) if name == PEOS else None
            yield from walk(f"{name} {under}", typer.main.get_command(import_module(role[0]).app) if role else one)

    yield from walk(PEOS, typer.main.get_command(app))


def _options(command: Any) -> list[str]:
    return [*(option for one in command.params for option in one.opts if option.startswith("--")), "--help"]


def _under(command: Any) -> list[str]:
    """What may stand next: its commands, or the values of its argument."""
    arguments = [one for one in command.params if not one.opts[0].startswith("-")]
    return [*getattr(command, "commands", {}), *(value for one in arguments for value in choices(one))]


def choices(parameter: Any) -> list[str]:
    """The words that an option or an argument takes, as its help lists them: "exact|theorem"."""
    listed = (parameter.metavar or "").split("|")
    return [word for word in listed if _VALUE.fullmatch(word)] if len(listed) > 1 else []


def _values(command: Any) -> Iterator[tuple[str, list[str]]]:
    """Its options that take one of a few words, with those."""
    for one in command.params:
        if one.opts[0].startswith("--") and (words := choices(one)):
            yield one.opts[0], words


def _bash(found: dict[str, Any]) -> str:
    def cases(words: Callable[[Any], list[str]]) -> str:
        return "\n".join(f'            "{name}") words="{" ".join(words(one))}" ;;' for name, one in found.items())

    commands = "|".join(f'"{name}"' for name in found if name != PEOS)
    values = "\n".join(
        f'        "{name} {option}") words="{" ".join(words)}" ;;'
        for name, one in found.items()
        for option, words in _values(one)
    )
    return _BASH.format(commands=commands, options=cases(_options), under=cases(_under), values=values)


def _fish(found: dict[str, Any]) -> str:
    lines = [_FISH.format(commands=" ".join(f'"{name}"' for name in found if name != PEOS))]
    for name, command in found.items():
        here = f"complete -c peos -n 'test (__peos_path) = \"{name}\"'"
        few = dict(_values(command))
        for option in _options(command):
            values = f' -x -a "{" ".join(few[option])}"' if option in few else ""
            lines.append(f"{here} -l {option[2:]}{values}\n")
        lines += [f"{here} -f -a {under}\n" for under in _under(command)]
    return "".join(lines)
