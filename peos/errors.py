"""Every error this project raises on purpose, with the exit code that the command line gives it.

    PeosError                   1  something failed
    ├── WrongInput              2  what the caller gave is wrong: a value, an option, a file
    ├── Refused                 3  well formed, but policy or arithmetic says no
    │   ├── Unknown                   there is no such collection here
    │   ├── Closed                    the collection takes no more, or is past the step that was asked for
    │   ├── Conflict                  something else is already kept under that name
    │   ├── NotYet              1     the collection has not come so far; asking again later is right
    │   └── Full                1     no room at the moment; sending again later is right
    └── ProtocolError           1  a collection cannot go on as it is
        ├── LocalFault             this party's own doing: a call out of turn, a lost state
        └── RemoteFault            another party's doing; names the party and the step
            └── BadEncoding        bytes that are not what they claim to be

Every error has an id, which names what happened and stays when sentences become better; errors.toml lists them.
A message is one sentence, for the person who must act; `hint` says what to do, `where` which party, step or file it is
about. None of them ever holds a share, a report, a key or a user's value.
"""

import re
from typing import Final

_ID: Final = re.compile(r"[a-z][a-z0-9_]{0,31}\.[a-z][a-z0-9_]{0,31}")
UNNAMED: Final = "network.unnamed"  # stands for an id of another party that is none


class PeosError(Exception):
    """The root: an id, one sentence, and a hint of what to do."""

    exit_code = 1

    def __init__(self, id_: str, sentence: str, *, hint: str = "", where: str = "") -> None:
        super().__init__(id_, sentence)
        self.id = id_
        self.sentence = sentence
        self.hint = hint
        self.where = where
        if hint:
            self.add_note(hint)  # what a notebook shows below the sentence

    def __str__(self) -> str:
        return f"{self.where}: {self.sentence}" if self.where else self.sentence


class WrongInput(PeosError, ValueError):
    """A value, an option or a file that cannot be used as given."""

    exit_code = 2


class Refused(PeosError):
    """A request that is understood and denied: by an operator's policy, or because no parameters can meet it."""

    exit_code = 3


class Unknown(Refused):
    """A collection that is not kept here."""


class Closed(Refused):
    """A collection that takes no more submissions, or is past the step that was asked for."""


class Conflict(Refused):
    """Something else is already kept under the ticket, id or name that came."""


class NotYet(Refused):
    """What was asked for will exist later: ask again."""

    exit_code = 1


class Full(Refused):
    """More than can be taken at the moment: send the same again later."""

    exit_code = 1


class ProtocolError(PeosError):
    """A collection cannot go on as it is."""


class LocalFault(ProtocolError):
    """This party was driven out of turn, or lost what it needs to go on."""


class RemoteFault(ProtocolError):
    """Another party sent what it must not send."""

    def __init__(self, id_: str, sentence: str, *, party: str = "", step: str = "", hint: str = "") -> None:
        super().__init__(id_, sentence, hint=hint, where=", ".join(word for word in (party, step) if word))
        self.party = party
        self.step = step


class BadEncoding(RemoteFault):
    """Bytes that came in are not a valid encoding: wrong version, length or range, or something left over."""


def named(name: str) -> type[PeosError]:
    """The class of that name; what another process said is a fault of its own if there is none."""
    kind = globals().get(name)
    return kind if isinstance(kind, type) and issubclass(kind, PeosError) else LocalFault


def id_from(text: str) -> str:
    """An id that another party names, if it is one: it may come from a stranger and end on a terminal."""
    return text if _ID.fullmatch(text) else UNNAMED


def in_words(error: OSError) -> str:
    """The operating system's reason, as part of a sentence."""
    words = error.strerror or type(error).__name__
    return words[:1].lower() + words[1:]
