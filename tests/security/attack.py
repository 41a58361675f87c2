"""An attack: a row of the table in docs/attacks.md, and how its tests are named."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Attack:
    """One row of the table in docs/attacks.md."""

    attack: str
    who: str
    defence: str
    holds: tuple[str, ...]
    succeeds: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()  # files of figures of runs that take longer, by their own commands

    @property
    def tests(self) -> tuple[str, ...]:
        """All tests of both halves."""
        return (*self.holds, *self.succeeds)


def tests_in(file: str, *names: str) -> tuple[str, ...]:
    """Tests of one file."""
    return tuple(f"tests/{file}.py::test_{name}" for name in names)
