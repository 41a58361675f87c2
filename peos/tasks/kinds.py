"""What command lines, files and studies ask a task with: its name, its options, and the task that is made of them.

    TASKS["heavy-hitters"].task({"bytes": 3, "top": 8}, {"users": 6_000, "delta": 1e-6, "eps_local": 4.0})

Options are JSON values, so that a study can keep what it was asked with and make the same task of it again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from peos.errors import WrongInput
from peos.registry import TASKS
from peos.tasks.base import Task
from peos.tasks.planning import Targets

_GIVEN: Final[Any] = object()
Records = Sequence[object]


@dataclass(frozen=True)
class Option:
    """`takes` is int, float, str, list (of texts, a line each in a file) or dict (of a TOML file)."""

    name: str
    takes: type
    about: str
    default: Any = _GIVEN  # it must be given

    @property
    def is_needed(self) -> bool:
        """Whether a task is not asked without it."""
        return self.default is _GIVEN

    def checked(self, value: Any) -> Any:
        """The value, if it is of its kind; what range it has is the task's to say."""
        if self.takes is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if isinstance(value, self.takes) and not isinstance(value, bool):
            return value
        raise WrongInput("task.option", f"{self.name} is {_WORDS[self.takes]}, not {str(value)[:60]!r}")


_WORDS: Final = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list of texts",
    dict: "a table of names and values",
}


@dataclass(frozen=True)
class TaskKind:
    """A task by name. `build` makes it of its options and targets; `question` is asked where no other is given.

    `records` makes what a demo's users hold, of a seed; `planted` is what of it is to be found, for the check `found`.
    """

    name: str
    about: str
    question: str
    options: tuple[Option, ...]
    build: Callable[[Mapping[str, Any], Targets], Task]
    demo: Mapping[str, Any]  # options and targets of a demo that names none
    records: Callable[[Mapping[str, Any], int, int | None], Records]  # of options, so many users, and a seed

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options, defaults filled in; WrongInput names what is missing, unknown or of another kind."""
        known = {option.name: option for option in self.options}
        for name in given:
            if name not in known:
                raise WrongInput(
                    "task.unknown_option",
                    f"{self.name} has no option {name}",
                    hint=f"it has {', '.join(known)}",
                )
        made = {}
        for name, option in known.items():
            if name in given and given[name] is not None:
                made[name] = option.checked(given[name])
            elif option.is_needed:
                raise WrongInput("task.option_missing", f"{self.name} needs {name}", hint=f"{name}: {option.about}")
            else:
                made[name] = option.default
        return made

    def task(self, given: Mapping[str, Any], targets: Targets) -> Task:
        """The task of these options and targets: the same again of the same."""
        return self.build(self.checked(given), targets)


def kind_of(name: str) -> TaskKind:
    """The task of that name."""
    if name not in TASKS:
        raise WrongInput("task.unknown", f"there is no task {name[:80]!r}", hint=f"a task is one of {', '.join(TASKS)}")
    return TASKS[name]


def every_option() -> dict[str, list[tuple[str, Option]]]:
    """Each option's name, with the tasks that have one of that name."""
    found: dict[str, list[tuple[str, Option]]] = {}
    for name, kind in TASKS.items():
        for option in kind.options:
            found.setdefault(option.name, []).append((name, option))
    return found
