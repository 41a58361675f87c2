"""`peos demo --task NAME`: a whole study of separate processes on this machine, and what it found next to the truth."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from peos.cli.demo_results import FOLDER, conclude
from peos.errors import WrongInput, in_words

if TYPE_CHECKING:
    from rich.console import Console

    from peos.localrun import Clock
    from peos.tasks.base import Task

NAME: Final = "demo"
SHOWN: Final = 20
_TARGETS: Final[Mapping[str, Any]] = {"delta": 1e-6, "eps_server": 1.0, "eps_users": 1.0, "eps_local": 4.0}


def demo_task(
    name: str,
    given: Sequence[str],
    asked: Mapping[str, Any],
    *,
    records: Path | None,
    shufflers: int,
    seed: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Ask the task of users who hold the records of a file, or some that are made up."""
    from rich.console import Console

    from peos.cli.options import task_options
    from peos.localrun import run_study_locally
    from peos.spec import StudySpec
    from peos.store.private_files import writable_folder
    from peos.tasks.kinds import kind_of

    kind = kind_of(name)
    chosen = {**_TARGETS, **{key: value for key, value in kind.demo.items() if key in StudySpec.__dataclass_fields__}}
    chosen |= {key: value for key, value in asked.items() if value is not None}
    named = {option.name for option in kind.options}
    options = {key: value for key, value in kind.demo.items() if key in named} | task_options(kind, given)
    options = {key: value for key, value in kind.checked(options).items() if value is not None}
    held = read_records(records) if records is not None else list(kind.records(options, chosen["users"], seed))
    spec = StudySpec(name=NAME, task=name, options=options, **chosen | {"users": len(held)})
    task = spec.build(shufflers)  # what cannot be met is said before anything is started
    folder = writable_folder(out or FOLDER)  # nor is it run for nothing
    console = Console(stderr=as_json, highlight=False)
    with tempfile.TemporaryDirectory(prefix="peos-demo-") as scratch:
        published, clock = run_study_locally(Path(scratch), spec, held, shufflers=shufflers, console=console)
    result = _compare(published, task, held, clock)
    conclude(result, folder, console, _show, as_json=as_json)


def read_records(path: Path) -> list[object]:
    """One text a line of a .txt file, else one JSON value a line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return list(lines) if path.suffix == ".txt" else [json.loads(line) for line in lines]
    except OSError as error:
        raise WrongInput(
            "input.unreadable", f"{path} cannot be read: {in_words(error)}", hint="name a file of records, one a line"
        ) from None
    except ValueError:
        raise WrongInput(
            "input.records", f"{path} is not a file of records", hint="one JSON value a line; or a .txt of texts"
        ) from None


def _compare(result: dict[str, Any], task: "Task", held: list[object], clock: "Clock") -> dict[str, Any]:
    """The truth next to what was found, and the checks that decide whether the demo holds."""
    from collections import Counter

    from peos.tasks.base import Answer, Table
    from peos.tasks.scoring import score

    labels = list(task.labels(held))
    counts = Counter(labels)
    result["dropped"] = len(held) - result["users"]
    result["seconds"] = clock.steps
    if labels:  # else an answer is no list of what is found
        known = getattr(task, "held", None)  # of a task that calls records by the most frequent labels alone
        times = known(held, result["labels"]) if known else [counts[label] for label in result["labels"]]
        result["truth"] = [number / len(held) for number in times]
        result |= score(labels, task.k, result["labels"])
    kept = result["checks"]
    result["checks"] = {
        "conservation": bool(kept.get("dummies")),  # every dummy came back exactly
        "digests": bool(kept.get("digests")),
        "everybody_counted": result["dropped"] == 0,
        "inspection": kept.get("inspection") is True,
        **({"groups": bool(kept["groups"])} if "groups" in kept else {}),
        "complete": bool(result["complete"]),
    }
    found = getattr(task, "found", None)  # of a task that knows from which frequency on it finds
    if found is not None:
        result["checks"]["found"] = bool(found(held, Answer(Table.from_json(result))))
    result["ok"] = all(result["checks"].values())
    return result


def _show(result: dict[str, Any], folder: Path, console: "Console") -> None:
    from rich.markup import escape
    from rich.table import Table

    rounds = [one for one in result["rounds"] if one["state"] == "published"]
    title = f"{result['users']:,} users, {len(rounds)} round{'s' * (len(rounds) > 1)}, {result['tested']:,} tested"
    table = Table(title=title)
    truths = result["truth"] or [None] * len(result["labels"])
    for column in ("found", "estimate", "95 % interval", *(["truth"] if result["truth"] else []), "more than noise"):
        table.add_column(column, justify="right")
    rows = zip(result["labels"], result["frequency"], result["interval95"], truths, result["significant"], strict=True)
    for label, frequency, (low, high), truth, significant in list(rows)[:SHOWN]:
        shown = escape("".join(one if one.isprintable() else "\ufffd" for one in label))
        known = [] if truth is None else [f"{truth:.4f}"]
        table.add_row(shown, f"{frequency:.4f}", f"{low:.4f} … {high:.4f}", *known, "yes" if significant else "no")
    console.print(table)
    if "f1" in result:
        console.print(f"F1 {result['f1']:.2f}, normalised cumulative rank {result['ncr']:.2f}")
    if len(result["labels"]) > SHOWN:
        console.print(f"{len(result['labels'])} rows in all; they are in {folder / 'result.json'}")
