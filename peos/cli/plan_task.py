"""`peos plan --task NAME`: every round of a task before anybody is asked, and what its search finds and costs."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import typer

if TYPE_CHECKING:
    from peos.tasks.base import Task
    from peos.tasks.kinds import TaskKind
    from peos.tasks.planning import Targets

_LISTED: Final = 10  # rounds that are shown one by one


def plan_task(name: str, given: Sequence[str], targets: "Targets", *, as_json: bool) -> None:
    """Plan it and print it."""
    from peos.cli.options import task_options
    from peos.tasks.kinds import kind_of

    kind = kind_of(name)
    options = kind.checked(task_options(kind, given))
    task = kind.task(options, targets)
    facts = _facts(kind, options, task, targets)
    if as_json:
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
    else:
        _print(facts, task)


def _facts(kind: "TaskKind", options: Mapping[str, Any], task: "Task", targets: "Targets") -> dict[str, Any]:
    """The names stay; `detection`, `tested` and `seconds` are of tasks that search, `why` of designs."""
    from peos.privacy.guarantees import weakest

    rounds = [
        {
            "users": plan.users,
            "fakes": plan.fakes,
            "mechanism": plan.mechanism.name,
            "parameters": {name: int(value) for name, value in plan.mechanism.shown.items()},
            "groups": len(plan.mechanism.shares),
            "eps_local": plan.mechanism.epsilon_local,
            "guarantees": plan.guarantees.to_json(),
        }
        for plan in task.plans
    ]
    found = {
        "task": {
            "name": kind.name,
            "parameters": {name: value for name, value in options.items() if value is not None},
        },
        "users": task.users,
        "delta": targets["delta"],
        "rounds": rounds,
        "guarantees": weakest([plan.guarantees for plan in task.plans]).to_json(),
    }
    detection, design = getattr(task, "detection", None), getattr(task, "design", None)
    return (
        found
        | ({"why": [design.in_words(), *design.notes]} if design else {})
        | ({"detection": detection()} if detection else {})
        | {name: _plain(getattr(task, name)) for name in ("tested", "seconds") if hasattr(task, name)}
    )


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _print(facts: Mapping[str, Any], task: "Task") -> None:
    from rich.console import Console
    from rich.table import Table

    from peos.cli.plan import print_claims
    from peos.ldp.base import symbol
    from peos.privacy.guarantees import rounded_up, weakest

    console = Console(highlight=False)
    console.print(f"{facts['task']['name']}: {facts['users']:,} users", style="bold")
    shown = Table(box=None, pad_edge=False)
    for heading in ("round", "users", "fakes", "mechanism", "ε_l", "ε_c", "ε_s"):
        shown.add_column(heading, justify="left" if heading == "mechanism" else "right")
    for number, one in enumerate(facts["rounds"][:_LISTED], start=1):
        parameters = "".join(f", {symbol(name)} = {value:,}" for name, value in one["parameters"].items())
        row = (str(number), f"{one['users']:,}", f"{one['fakes']:,}", one["mechanism"] + parameters)
        claims = task.plans[number - 1].guarantees
        held = (claims.local, claims.server.epsilon, claims.users.epsilon)
        shown.add_row(*row, *map(rounded_up, held))
    console.print(shown)
    if (left := len(facts["rounds"]) - _LISTED) > 0:
        console.print(f"and {left} more rounds")
    for line in facts.get("why", ()):
        console.print(line)
    if "detection" in facts:
        console.print(f"\nA text of at least {facts['detection']:.3g} of the users is found with probability .95.")
    if "tested" in facts:
        took = f"about {facts['seconds']:,.1f} s of one core" if "seconds" in facts else ""
        console.print(f"The search tests {sum(facts['tested']):,} candidates, {took}.".replace(", .", "."))
    console.print()
    print_claims(weakest([plan.guarantees for plan in task.plans]), console)
