"""Running a command line, ours or a role's: the one place where an error becomes a sentence and an exit code.

Exit codes: 0 done, 1 failed, 2 wrong input, 3 refused by policy or infeasible, 130 interrupted. Errors go to standard
error, so that standard output holds results only; with --json as {"id", "error", "where", "hint"}.
"""

import errno
import json
import os
import signal
import sys
import termios
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Final

import typer

from peos.ending import end_with_starter, ending_signals
from peos.errors import PeosError, WrongInput, in_words
from peos.hardening import harden

PEOS: Final = "peos"  # the command above the roles: it plans and measures, and holds no secrets
INTERRUPTED: Final = 130
FAILED: Final = PeosError.exit_code
WRONG_INPUT: Final = WrongInput.exit_code
_HELP: Final = ["-h", "--help"]
_OURS: Final = frozenset({"peos", "analyzer", "shuffler", "user_client"})

# The library under typer has moved between releases; the root of its errors is reached through a public name.
_MISUSE: Final[Any] = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")


class Ended(Exception):
    """A command line within this one has ended, and has said what there was to say."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def run(app: typer.Typer, given: Sequence[str], name: str) -> int:
    """Run `app` as the command `name` and return its exit code; every command of every role begins here."""
    if name != PEOS:
        harden()
    end_with_starter()
    command: Any = typer.main.get_command(app)
    _name_arguments(command)
    where = f"{name} {given[0]}" if given and given[0] in getattr(command, "commands", {}) else name
    try:
        with _terminated():
            outcome = command.main(args=list(given), prog_name=name, standalone_mode=False, help_option_names=_HELP)
            sys.stdout.flush()  # what cannot be written is an error too
    except Ended as ended:
        return ended.code
    except PeosError as error:
        if _is_hung_up():
            return INTERRUPTED
        _report(given, where, error)
        return error.exit_code
    except _MISUSE as error:
        own = _own(error)  # of an option that we read ourselves
        _report(given, where, own or WrongInput("input.command", _misuse(error), hint=f"see {where} --help"))
        return WRONG_INPUT
    except (KeyboardInterrupt, typer.Abort):
        outcome = INTERRUPTED
    except BrokenPipeError:  # the reader of the results has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        if _is_hung_up():
            return INTERRUPTED
        about = f": {error.filename}" if error.filename else ""
        found = f"the system refuses: {in_words(error)}{about}"
        _report(given, where, PeosError("program.system", found, hint="look at that file or disk, and try again"))
        return FAILED
    except Exception as error:  # its text may hold a value, its place does not
        found = f"internal error (bug): {type(error).__name__} at {_place(error.__traceback__)}"
        hint = "please report this line; what was acknowledged is kept"
        _report(given, where, PeosError("program.mistake", found, hint=hint))
        return FAILED
    if outcome == INTERRUPTED:
        _report(given, where, PeosError("program.interrupted", "interrupted"))
    return outcome if isinstance(outcome, int) else 0


def _name_arguments(command: Any) -> None:
    """In help an argument is its word alone; the library would add the type that Python has for it, and braces."""
    for one in command.params:
        if one.param_type_name == "argument":
            word, record = one.metavar, one.get_help_record
            one.get_usage_pieces = lambda _, word=word, it=one: [word if it.required else f"[{word}]"]
            one.get_help_record = lambda context, word=word, record=record: (word, record(context)[1])
    for under in getattr(command, "commands", {}).values():
        _name_arguments(under)


def _is_hung_up() -> bool:
    """Whether this command's terminal was closed: what failed then, failed since nothing can be written any more."""
    for descriptor in range(3):
        try:
            termios.tcgetattr(descriptor)
        except termios.error as error:
            if error.args[0] == errno.EIO:
                return True
    return False


def _report(given: Sequence[str], command: str, error: PeosError) -> None:
    if "--json" in given:
        shown = {"id": error.id, "error": error.sentence, "where": error.where or command, "hint": error.hint}
        line = json.dumps(shown, ensure_ascii=False)
    else:
        hint = f" ({error.hint})" if error.hint else ""
        line = f"{command}: {error}{hint} [{error.id}]"
    with suppress(OSError):  # a terminal that was closed
        typer.echo(line, err=True)


@contextmanager
def _terminated() -> Iterator[None]:
    """SIGTERM and a closed terminal end a command as Ctrl-C does.

    What is durable is kept, and the same command goes on from there.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, _: FrameType | None) -> None:
        if number == signal.SIGHUP:  # a terminal and its shell both send it, and what is tidied up meanwhile is to end
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {one: signal.signal(one, interrupt) for one in ending_signals() if one != signal.SIGINT}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _own(error: BaseException | None) -> PeosError | None:
    """Our error behind one of the library's, which holds it in one way or another."""
    while error is not None:
        if isinstance(error, PeosError):
            return error
        listed: Any = getattr(error, "errors", list)
        for one in listed() if callable(listed) else ():
            if isinstance(found := one.get("ctx", {}).get("error"), PeosError):
                return found
        error = error.__cause__ or error.__context__
    return None


def _misuse(error: Any) -> str:
    """The library's sentence; where it would print all its help, only what is missing."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return f"a command is missing: {', '.join(error.ctx.command.commands)}"
    return _sentence(error.format_message())


def _place(trace: TracebackType | None) -> str:
    """The last line of ours that was on the way."""
    place = "an unknown line"
    while trace is not None:
        if str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0] in _OURS:
            place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _sentence(message: str) -> str:
    """A library's message as ours are: one line, no capital, no full stop."""
    line = " ".join(message.split()).rstrip(".")
    return line[:1].lower() + line[1:]
