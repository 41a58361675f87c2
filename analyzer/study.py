"""A study: created, run from wherever it stands, ended (`peos.collection.study` says what comes next).

What is durable is the request, under the study's name, and its collections `NAME.1`, `NAME.2`, …; a round is created
under its name before anything is done about it, so that a stop anywhere is gone on with by the same command.
"""

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from analyzer import orders
from analyzer.create import open_collection, write_invitation
from analyzer.draft import Contents, drafted
from analyzer.ledger import require_affordable
from analyzer.store import CollectionRow, StudyRow
from analyzer.workspace import Workspace
from peos.cli.progress import Progress
from peos.collection.dummies import require_sure
from peos.collection.lifecycle import OVER, State
from peos.collection.study import Ask, Attempt, Concluded, StudyState, following, seen
from peos.collection.ticket import STUDY_BYTES, StudyPart
from peos.errors import Closed, LocalFault, NotYet, WrongInput
from peos.ldp.reports import Reports
from peos.privacy.composition import Release
from peos.privacy.guarantees import rounded_up
from peos.settings import load
from peos.spec import StudySpec, require_name
from peos.store.private_files import lock, private_folder
from peos.tasks.base import Round, Table, Task
from peos.tasks.planning import Planned

_FOLDER: Final = "studies"
_LOOK_EVERY: Final = 1.0  # seconds
_GONE_ON: Final = "`peos study run` goes on with it"


def create(workspace: Workspace, spec: StudySpec) -> StudyRow:
    """The study of that name: as it is kept, or planned now, within every population's budget."""
    known = workspace.store.study(spec.name)
    if known is not None:
        if known.request != spec.encode():
            raise WrongInput(
                "study.other_parameters",
                f"a study {spec.name} was created with other parameters",
                hint="choose another name, or give the same parameters to go on with it",
            )
        return known
    if workspace.store.named(spec.name) is not None:
        raise WrongInput("input.name_taken", f"there is a collection {spec.name} already", hint="choose another name")
    require_sure(spec.users, spec.least)
    plans = spec.build(len(workspace.config.signed_cards())).plans
    if workspace.config.budget is not None:
        rounds = [_release(spec, plan) for plan in plans]
        require_affordable(workspace, spec.population, spec.name, rounds, workspace.config.budget)
    words = "\n".join(_planned(plans))
    workspace.store.add_study(spec.name, workspace.rng.bytes(STUDY_BYTES), spec.encode(), words)
    return kept(workspace, spec.name)


def kept(workspace: Workspace, name: str) -> StudyRow:
    """The study of that name."""
    found = workspace.store.study(require_name(name))
    if found is None:
        raise WrongInput(
            "study.none", f"there is no study {name}", hint="`peos study status` lists those that there are"
        )
    return found


def result(workspace: Workspace, name: str) -> dict[str, Any]:
    """What the study of that name found, once it is over."""
    study = kept(workspace, name)
    if study.result is None:
        raise NotYet("study.not_over", f"{name} is {study.state}: there is no result", hint="`peos study run` ends it")
    found: dict[str, Any] = json.loads(study.result)
    return found


def spec_of(study: StudyRow) -> StudySpec:
    """What it was asked with."""
    return load(None, StudySpec, json.loads(study.request))


def task_of(study: StudyRow) -> dict[str, Any]:
    """What a result says of the task."""
    spec = spec_of(study)
    return {"name": spec.task, "study": study.name, "parameters": spec.options or {}}


def decoded(workspace: Workspace, study: StudyRow, here: CollectionRow, reports: Reports) -> Table:
    """What a round's reports show, by its task: what came before is what is published."""
    task = spec_of(study).build(len(workspace.signed(here).document.shufflers))
    number = _part(workspace, here).round
    before = [one for one in attempts(workspace, study) if one.round < number]
    asked = task.next(seen(before))
    if not isinstance(asked, Round):
        raise LocalFault("study.past", f"{study.name} has asked everything already, and {here.name} is one more round")
    return asked.decode(reports)


def attempts(workspace: Workspace, study: StudyRow) -> list[Attempt]:
    """The collections of a study, in the order in which they were asked."""
    return [_attempt(workspace, one) for one in workspace.store.rounds(study.name)]


def run(
    workspace: Workspace, name: str, out: Path, progress: Progress, *, wait: float, look: float = _LOOK_EVERY
) -> StudyRow:
    """Ask round after round until the study is over; every invitation is written to `out`."""
    private_folder(workspace.config.folder / _FOLDER)
    try:
        held = lock(workspace.config.folder / _FOLDER / f"{require_name(name)}.lock")
    except WrongInput as wrong:
        if wrong.id != "store.in_use":
            raise
        raise WrongInput(
            "study.running",
            f"another process runs the study {name}",
            hint="it goes on with it; `peos study status` shows where it stands",
        ) from None
    try:
        return asyncio.run(_run(workspace, kept(workspace, name), out, progress, wait=wait, look=look))
    finally:
        os.close(held)


async def _run(
    workspace: Workspace, study: StudyRow, out: Path, progress: Progress, *, wait: float, look: float
) -> StudyRow:
    from analyzer.study_result import result_of  # which loads what draws pages

    spec = spec_of(study)
    task = spec.build(len(workspace.config.signed_cards()))
    said = ""
    while (study := kept(workspace, study.name)).state is StudyState.RUNNING:
        match following(study.name, task, attempts(workspace, study)):
            case Ask() as asked:
                await _ask(workspace, study, spec, asked, progress, wait=wait, several=len(task.plans) > 1)
            case Concluded(answer, reason):
                state = StudyState.COMPLETE if answer.is_complete else StudyState.STOPPED
                result = result_of(workspace, study, answer, reason)
                workspace.store.end_study(study.name, state, reason, json.dumps(result, ensure_ascii=False))
            case current:
                here = workspace.kept(current.attempt.name)
                if here.state in (State.DRAFT, State.OPEN):
                    if here.state is State.DRAFT:
                        here = await open_collection(workspace, here, progress, wait=wait)
                    path = write_invitation(workspace, here, out, _catalogue(task, attempts(workspace, study)))
                    if said != here.name:
                        said = here.name
                        progress.say(f"{here.name} is open; its invitation is {path}")
                if here.state not in OVER:
                    await _until_changed(workspace, here, progress, look)
    return study


async def _ask(
    workspace: Workspace,
    study: StudyRow,
    spec: StudySpec,
    asked: Ask,
    progress: Progress,
    *,
    wait: float,
    several: bool,
) -> None:
    plan = asked.asked.plan
    contents = Contents(
        plan.mechanism,
        plan.fakes,
        views=tuple(view.describe() for view in asked.asked.views),
        study=StudyPart(study.id, asked.round, asked.first, asked.end),
        study_name=study.name,
    )
    if asked.attempt > 1:
        progress.say(f"round {asked.round} is asked again, of {asked.users:,} users who were not asked yet")
    epoch = " ".join(filter(None, (spec.epoch, f"study {study.name}, round {asked.round}, attempt {asked.attempt}")))
    terms = spec.round(asked.name, asked.users, epoch, number=asked.round if several else 0)
    made = await asyncio.to_thread(drafted, workspace, terms, progress, lambda _: contents)
    await open_collection(workspace, made, progress, wait=wait)


async def _until_changed(workspace: Workspace, here: CollectionRow, progress: Progress, look: float) -> None:
    """Say what is waited for until the collection's state is another."""
    from analyzer.status import status

    while (now := workspace.kept(here.name)).state is here.state:
        (line,) = await asyncio.to_thread(status, workspace, [now])
        progress.waiting(str(line.here))
        await asyncio.sleep(look)  # no retry: users, shufflers and the serving process are waited for


def abort(workspace: Workspace, name: str, tell: Callable[[str], None]) -> None:
    """End a study: the round that is open with every shuffler; what is published stays published and counted."""
    study = kept(workspace, name)
    if study.state is not StudyState.RUNNING:
        raise Closed("study.over", f"{name} is {study.state}: there is nothing left to end")
    workspace.store.end_study(name, StudyState.ABORTED, "the analyst aborted it")
    for one in workspace.store.rounds(name):
        if one.state not in OVER:
            tell(f"telling every shuffler about {one.name}")
            orders.abort(workspace, one, "the analyst aborted the study")


def require_running(study: StudyRow) -> None:
    """Refuse to hand out tickets of a study in which nothing more is asked."""
    if study.state is not StudyState.RUNNING:
        raise Closed(
            "study.over", f"{study.name} is {study.state}: its tickets would be useless", hint="create another study"
        )


def _catalogue(task: Task, so_far: Sequence[Attempt]) -> bytes | None:
    """Of the round that is asked now."""
    asked = task.next(seen(so_far))
    return asked.catalogue if isinstance(asked, Round) else None


def _attempt(workspace: Workspace, one: CollectionRow) -> Attempt:
    part = _part(workspace, one)
    table = Table.from_json(json.loads(one.result)) if one.result is not None else None
    return Attempt(one.name, part.round, part.first, part.end, one.state, one.reason, table)


def _part(workspace: Workspace, one: CollectionRow) -> StudyPart:
    part = workspace.signed(one).document.study
    assert part is not None, "rounds of a study say so in their documents"
    return part


def _release(spec: StudySpec, plan: Planned[Any]) -> Release:
    least = max(0, spec.round(spec.name, plan.users, "").least - 1)
    return Release(spec.name, plan.mechanism, least, plan.fakes, least)


def _planned(plans: Any) -> list[str]:
    """Every round's guarantees, before anybody is asked."""
    lines = []
    for number, plan in enumerate(plans, start=1):
        lines.append(
            f"Round {number}: {plan.users:,} users, {plan.fakes:,} fakes, {plan.mechanism.short}, "
            f"ε_l = {rounded_up(plan.mechanism.epsilon_local)}."
        )
        lines += [f"  {sentence}" for sentence in plan.guarantees.in_words()]
    return lines
