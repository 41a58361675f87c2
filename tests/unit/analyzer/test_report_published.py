"""The page where an analyzer leaves it: next to result.json, for its owner alone, and never in the way of erasing."""

import json
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyzer import cli
from analyzer import publisher as publisher_
from analyzer import workspace as workspace_
from analyzer.delivery_receiver import VECTORS
from analyzer.publisher import RESULT, Publisher
from analyzer.report import REPORT
from analyzer.store import CollectionRow
from analyzer.workspace import Workspace
from peos.cli.running import run
from peos.collection.lifecycle import State
from peos.compute import Inline
from peos.crypto.schemes.base import PrivateKey
from peos.errors import LocalFault
from peos.net.logs import Log
from peos.net.observer import Observer
from tests.e2e.leaks import traces
from tests.raising import raises, require_shown
from tests.unit.analyzer.pages import cells, disagreements, read
from tests.unit.analyzer.world import FLOOR, PASSPHRASE, World, take

VALUES = np.repeat(np.arange(4), [20, 10, 6, 4])


def _publisher(world: World, opened: Workspace) -> Publisher:
    return Publisher(
        opened, world.receiver(opened), world.inspection_runner(opened), Inline(), Observer(Log("tests.analyzer"))
    )


def _delivered(world: World, opened: Workspace) -> CollectionRow:
    kept = world.open(opened)
    receiver = world.receiver(opened)
    for sender, sent in world.deliveries(opened, kept, world.output(opened, kept, VALUES)).items():
        take(receiver, sent, world.certificate(sender))
    return opened.kept("fruit")


def _published(world: World) -> Workspace:
    opened = world.workspace()
    _publisher(world, opened).publish(_delivered(world, opened))
    return opened


def _agrees(page: Path, result: str) -> None:
    found: dict[str, Any] = json.loads(result)
    body = read(page.read_text(encoding="utf-8"))
    table = body.one("table", "values")
    assert disagreements(cells(table), table.one("caption").text, found) == []
    assert body.one("code", "digest").text == found["digest"]
    assert body.one("h1").text == "Which fruit?"


def test_the_page_lies_beside_the_result_for_its_owner_alone_and_says_the_same(world: World) -> None:
    opened = _published(world)
    folder = opened.folder(opened.kept("fruit"))
    for name in (RESULT, REPORT):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    _agrees(folder / REPORT, (folder / RESULT).read_text(encoding="utf-8"))


def test_a_page_that_is_missing_is_made_again_and_one_that_is_there_is_left(world: World) -> None:
    opened = _published(world)
    page = opened.folder(opened.kept("fruit")) / REPORT
    first = page.read_bytes()
    page.unlink()
    _publisher(world, opened).clear(opened.kept("fruit"))
    assert page.read_bytes() == first
    page.write_text("the operator's own")
    _publisher(world, opened).clear(opened.kept("fruit"))
    assert page.read_text() == "the operator's own"


def test_no_trouble_with_the_page_keeps_the_reports_or_the_key(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise LocalFault("test.localfault", "no page can be made")

    monkeypatch.setattr(publisher_, "write_report", fails)
    opened = world.workspace()
    kept = _delivered(world, opened)
    with raises("test.localfault", kind=LocalFault):
        _publisher(world, opened).publish(kept)
    after = opened.kept("fruit")
    assert (after.state, after.key) == (State.PUBLISHED, None)
    assert not (opened.folder(kept) / VECTORS).exists()
    assert (opened.folder(kept) / RESULT).exists()


def test_nothing_secret_is_in_the_page(world: World) -> None:
    opened = world.workspace()
    kept = _delivered(world, opened)
    private = opened.private_key(kept)
    assert isinstance(private, PrivateKey)
    encoded, public = private.encode(), private.public.encode()
    secrets = [encoded[at : at + 16] for at in range(len(encoded) - 15) if encoded[at : at + 16] not in public]
    secrets += [PASSPHRASE, opened.keys.identity.secret, opened.keys.enrolment.secret]
    secrets += [dummy.id for dummy in opened.dummies(kept)] + [dummy.salt for dummy in opened.dummies(kept)]
    _publisher(world, opened).publish(kept)
    page = (opened.folder(kept) / REPORT).read_bytes()
    assert traces(page, secrets) == []
    assert traces(page + secrets[0].hex().encode(), secrets) == secrets[:1], "one would be found"
    assert str(world.folder).encode() not in page


@pytest.fixture
def _small_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command opens a workspace of its own, with the floor of production; here keys are small."""
    real = workspace_.Workspace.__init__

    def small(self: Workspace, config: object, **_: object) -> None:
        real(self, config, floor=FLOOR)  # type: ignore[arg-type] # what the command gave

    monkeypatch.setattr(workspace_.Workspace, "__init__", small)


def _command(world: World, *arguments: object) -> int:
    return run(cli.app, ["result", "--config", str(world.file), *map(str, arguments)], "peos analyzer")


@pytest.mark.usefixtures("_small_keys")
def test_the_command_writes_the_page_wherever_it_is_wanted(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    opened = _published(world)
    capsys.readouterr()
    page = world.folder / "for the office.html"
    assert _command(world, "fruit", "--json", "--html", page) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == json.loads(opened.kept("fruit").result or "")
    assert f"the report is {page}" in printed.err
    _agrees(page, printed.out)


@pytest.mark.usefixtures("_small_keys")
@pytest.mark.parametrize("where", ["nowhere/page.html", "."])
def test_a_page_that_cannot_be_written_is_one_sentence_before_anything_is_waited_for(
    world: World, capsys: pytest.CaptureFixture[str], where: str
) -> None:
    world.open(world.workspace())
    capsys.readouterr()
    assert _command(world, "fruit", "--wait", "60", "--html", world.folder / where) == 2
    printed = capsys.readouterr()
    require_shown(printed.err, "input.page")
    assert len(printed.err.splitlines()) == 1
    assert printed.out == ""
