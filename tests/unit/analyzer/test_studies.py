"""Studies as the analyzer keeps them: each command may be given again, and nothing of it is done twice."""

import json
import shlex
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from analyzer.create import write_invitation
from analyzer.study import abort, create, kept, spec_of, task_of
from analyzer.study_cli import app
from peos.cli import main
from peos.cli.running import run
from peos.collection.study import StudyState
from peos.spec import StudySpec
from tests.raising import raises, require_shown
from tests.unit.analyzer.pages import made
from tests.unit.analyzer.world import World

PAGE = Path(__file__).parents[3] / "docs" / "tasks.md"
ASKED: dict[str, Any] = {
    "name": "words",
    "task": "heavy-hitters",
    "options": {"bytes": 2, "top": 3},
    "users": 500,
    "delta": 1e-6,
    "eps_local": 4.0,
    "fakes": "0",
}


def test_a_study_is_created_once_and_the_same_again_is_that(world: World) -> None:
    workspace = world.workspace()
    made = create(workspace, StudySpec(**ASKED))
    assert made.state is StudyState.RUNNING
    assert made.words.count("Against") == 3, "all guarantees, before anybody is asked"
    assert create(workspace, StudySpec(**ASKED)) == made, "as after an answer that was lost"
    assert spec_of(made) == StudySpec(**ASKED)
    assert task_of(made) == {"name": "heavy-hitters", "study": "words", "parameters": {"bytes": 2, "top": 3}}
    with raises("study.other_parameters"):
        create(workspace, StudySpec(**ASKED | {"users": 501}))
    with raises("study.none"):
        kept(workspace, "others")
    assert [one.name for one in workspace.store.studies()] == ["words"]


def test_what_a_study_ended_with_stays(world: World) -> None:
    workspace = world.workspace()
    create(workspace, StudySpec(**ASKED))
    for result in ('{"labels": ["a"]}', '{"labels": ["b"]}'):
        workspace.store.end_study("words", StudyState.COMPLETE, result=result)
    ended = kept(workspace, "words")
    assert (ended.state, ended.result) == (StudyState.COMPLETE, '{"labels": ["a"]}')
    assert [line.event for line in workspace.store.audit_log()].count("study ended") == 1
    with raises("study.over"):
        abort(workspace, "words", lambda _: None)


def test_a_result_is_taken_away_as_rows(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = world.workspace()
    create(workspace, StudySpec(**ASKED))
    out = world.folder / "out.csv"
    monkeypatch.setattr("analyzer.cli._workspace", lambda config: nullcontext(workspace))  # noqa: ARG005 - of small keys
    monkeypatch.setattr("analyzer.study_cli._workspace", lambda config: nullcontext(workspace))  # noqa: ARG005

    def result(*options: str) -> int:
        return run(app, ["result", "--config", str(world.file), "words", *options], "peos study")

    assert result("--csv", str(out)) == 1
    require_shown(capsys.readouterr().err, "study.not_over", "words")
    assert not out.exists()
    task = {"name": "heavy-hitters", "parameters": {}}
    found = made(3, labels=["=a", "b", "c"], task=task, rounds=[], tested=9)
    workspace.store.end_study("words", StudyState.COMPLETE, result=json.dumps(found))
    assert result("--csv", str(out), "--json") == 0
    assert json.loads(capsys.readouterr().out)["labels"] == ["=a", "b", "c"]
    assert [line.split(",")[0] for line in out.read_text(encoding="utf-8").splitlines()] == ["label", "'=a", "b", "c"]


def test_a_study_that_cannot_meet_its_targets_or_is_no_task_is_refused_before_it_is_kept(world: World) -> None:
    workspace = world.workspace()
    with raises("task.option_missing"):
        create(workspace, StudySpec(**ASKED | {"options": {"top": 2}}))
    with raises("task.unknown_option"):
        create(workspace, StudySpec(**ASKED | {"options": {"bytes": 2, "colour": "red"}}))
    with raises("task.option"):
        create(workspace, StudySpec(**ASKED | {"options": {"bytes": "two"}}))
    with raises("study.protocol"):
        StudySpec(**ASKED | {"protocol": "ss"})
    assert workspace.store.studies() == []


def test_the_transcript_of_the_page_on_tasks_is_what_is_printed(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    transcript = PAGE.read_text(encoding="utf-8").partition("```console\n$ peos ")[2].partition("```")[0]
    command, printed = transcript.replace("\\\n", " ").split("\n", 1)
    monkeypatch.chdir(world.folder)
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out.split() == printed.split()


def test_a_catalogue_is_written_next_to_the_invitation_and_nothing_where_there_is_none(world: World) -> None:
    workspace = world.workspace()
    kept, out = world.open(workspace, dummies=False), world.folder / "out"
    alone = write_invitation(workspace, kept, out)
    assert [*out.iterdir()] == [alone]
    listed = write_invitation(workspace, kept, out, b'"bread"\n')
    assert (listed, listed.with_suffix(".catalogue").read_bytes()) == (alone, b'"bread"\n')
