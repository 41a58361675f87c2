"""A run in words, one line a step, so that a stranger can follow it."""

from peos.shuffle.effects import (
    Deadline,
    Discard,
    Done,
    Effect,
    Erase,
    Event,
    Expired,
    Heard,
    Notify,
    Output,
    Pass,
    Persist,
    Receipt,
    Received,
    ReceivedVector,
    Report,
    Restarted,
    Send,
    SendVector,
    Split,
    TimedOut,
)
from peos.shuffle.messages import Header, Notice, Statement
from tests.simulation.operations import ANALYZER
from tests.simulation.watch import words


def line(now: int, who: int | None, what: str) -> str:
    """A line of the trace: when, who, what; a fault stands out."""
    if who is None:
        return f"{now:5}  -- {what}"
    return f"{now:5}  {'analyzer   ' if who == ANALYZER else f'shuffler {who} '} {what}"


def notice(said: Notice) -> str:
    """A notice."""
    return f"{said.kind.name.lower()}({said.attempt})"


def place(header: Header) -> str:
    """Where in an attempt something belongs."""
    return f"attempt {header.context.attempt}, {header.step}"


def event(happened: Event) -> str:
    """What a shuffler hears."""
    match happened:
        case Received(word):
            return f"hears from {word.header.sender}: {place(word.header)}"
        case ReceivedVector(header, _):
            return f"has the vector from {header.sender}: {place(header)}"
        case Heard(said):
            return f"hears from {said.sender}: {notice(said)}"
        case Done(attempt, task):
            return f"has finished task {task} of attempt {attempt}"
        case Restarted():
            return "has restarted"
        case TimedOut():
            return "has waited too long"
        case Deadline():
            return "sees shuffle_by pass"
        case Expired():
            return "sees erase_by pass"
        case Receipt(attempt):
            return f"has the receipt of attempt {attempt}"
        case _:
            return "sees time pass"


def effect(asked: Effect) -> str:
    """What a shuffler does."""
    match asked:
        case Send(word):
            return f"tells {word.header.receiver}: {place(word.header)}"
        case SendVector(header, _):
            return f"sends {header.receiver} the vector: {place(header)}"
        case Notify(said, receivers):
            return f"signs {notice(said)} for {', '.join(map(str, receivers))}"
        case Persist(delivery_state, vector):
            return f"persists: {words(delivery_state)}{' with its vector' if vector else ''}"
        case Output(delivery_state):
            return f"delivers attempt {delivery_state.attempt}"
        case Discard(attempt):
            return f"forgets attempt {attempt}"
        case Erase():
            return "erases all but where it stands"
        case Report(sentence):
            return f"reports: {sentence}"
        case Split() | Pass():
            return f"begins task {asked.task}: {type(asked).__name__.lower()} into {asked.out}"
        case _:
            return f"begins task {asked.task}: mix into {asked.out}"


def matters(what: object) -> bool:
    """Whether a lost message is worth a line: one that the protocol knows, not an acknowledgement."""
    return isinstance(what, Statement | Heard) or hasattr(what, "header")


def message(what: object) -> str:
    """A message under way."""
    if isinstance(what, Heard):
        return notice(what.notice)
    header = getattr(what, "header", None)
    return place(header) if isinstance(header, Header) else "something"
