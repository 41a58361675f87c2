"""What the commands do and say: orders, status, tickets, results, and errors as one sentence with its exit code."""

import json
import stat
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from analyzer import cli, enrol, orders, status
from analyzer import workspace as workspace_
from analyzer.draft import draft
from analyzer.publisher import Publisher
from analyzer.workspace import Workspace
from peos.cli.running import run
from peos.collection.lifecycle import State
from peos.collection.replies import Status
from peos.collection.ticket import admits
from peos.compute import Inline
from peos.crypto.identity import Identity
from peos.estimate.post_processing import OF_THE_RAW
from peos.net.logs import Log
from peos.net.observer import Observer
from tests.raising import raises, require_shown
from tests.unit.analyzer.world import FLOOR, USERS, Silent, World, request, take

VALUES = np.repeat(np.arange(4), [20, 10, 6, 4])


def _command(world: World, *arguments: str) -> int:
    return run(cli.app, [arguments[0], "--config", str(world.file), *arguments[1:]], "peos analyzer")


@pytest.fixture(autouse=True)
def _small_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands open homes of their own, with the floor of production; here keys are small."""
    real = workspace_.Workspace.__init__

    def small(self: Workspace, config: object, **_: object) -> None:
        real(self, config, floor=FLOOR)  # type: ignore[arg-type] # what the command gave

    monkeypatch.setattr(workspace_.Workspace, "__init__", small)


def _create(world: World, *more: str, out: str = "out") -> int:
    asked = ("--name", "fruit", "--question", "Which fruit?", "--domain", "4", "--users", "60", "--delta", "1e-6")
    limits = ("--eps-local", "3", "--fakes", "10", "--mechanism", "grr", "--minimum", "20")
    return _command(world, "create", *asked, *limits, "--out", str(world.folder / out), *more)


def _publish(world: World) -> None:
    opened = world.workspace()
    kept = opened.kept("fruit")
    receiver = world.receiver(opened)
    for sender, sent in world.deliveries(opened, kept, world.output(opened, kept, VALUES)).items():
        take(receiver, sent, world.certificate(sender))
    Publisher(opened, receiver, world.inspection_runner(opened), Inline(), Observer(Log("tests.analyzer"))).publish(
        opened.kept("fruit")
    )


def test_init_prints_the_cards_path_and_the_identity(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert _command(world, "init") == 0
    shown = capsys.readouterr().out
    assert str(world.config.folder / "analyzer.card") in shown
    assert world.workspace().keys.identity.public.hex() in shown


def test_create_prints_invitation_digest_and_guarantees(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert _create(world) == 0
    shown = capsys.readouterr()
    kept = world.workspace().kept("fruit")
    assert kept.digest.hex() in shown.out
    assert str(world.folder / "out" / "fruit.invitation") in shown.out
    assert "Against the analyzer" in shown.out
    assert "proposing fruit to 3 shufflers, as " in shown.err
    assert _create(world, "--json") == 0
    again = json.loads(capsys.readouterr().out)
    assert again["digest"] == kept.digest.hex()
    assert len(again["guarantees"]) == 4
    assert again["guarantees"][3].startswith(f"This is for the {USERS} users who are expected. With no more than the ")
    assert f"With {2 * USERS} users it is full" in again["guarantees"][3]


def test_freeze_closes_with_every_shuffler_and_says_who_was_not_told(world: World) -> None:
    opened = world.workspace()
    kept = world.open(opened)
    for shuffler in world.shufflers[1:]:
        shuffler.trust.drop()
    with raises("collection.order_missed", "close fruit", "shuffler 2", "shuffler 3"):
        orders.freeze(opened, kept)
    assert [len(shuffler.orders) for shuffler in world.shufflers] == [1, 0, 0]
    assert opened.kept("fruit").state is State.CLOSED, "the serving process tells the others"
    for shuffler in world.shufflers[1:]:
        shuffler.trust.admit([opened.keys.certificate.pem])
    orders.freeze(opened, kept)
    assert opened.kept("fruit").state is State.CLOSED
    assert [shuffler.orders[-1].abort for shuffler in world.shufflers] == [False] * 3
    orders.freeze(opened, opened.kept("fruit"))


def test_abort_is_for_good_and_erases_the_key(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.open(world.workspace())
    assert _command(world, "abort", "fruit") == 0
    after = world.workspace().kept("fruit")
    assert (after.state, after.key) == (State.ABORTED, None)
    assert [shuffler.orders[-1].abort for shuffler in world.shufflers] == [True] * 3
    capsys.readouterr()
    assert _command(world, "freeze", "fruit") == 3
    require_shown(capsys.readouterr().err, "collection.closed", "fruit", "aborted")
    assert _command(world, "result", "fruit") == 1
    require_shown(capsys.readouterr().err, "result.aborted", "fruit")


def test_what_is_published_is_not_aborted_any_more(world: World) -> None:
    opened = world.workspace()
    world.open(opened)
    _publish(world)
    with raises("collection.published"):
        orders.abort(opened, opened.kept("fruit"))


def test_status_counts_users_while_dummies_are_not_all_in(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    opened = world.workspace()
    kept = world.open(opened, dummies=False)
    for shuffler in world.shufflers:
        shuffler.status = Status(kept.digest, "open", reports=25)
    for number in range(5):
        opened.store.dummy_taken(kept.digest, number, 1)
    assert _command(world, "status", "fruit", "--json") == 0
    assert json.loads(capsys.readouterr().out)["waiting"]["done"] == 20


def test_status_says_what_is_waited_for_from_whom_and_why(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert _command(world, "status") == 0
    assert capsys.readouterr().out == "no collections yet\n"
    opened = world.workspace()
    kept = world.open(opened)
    for shuffler in world.shufflers:
        shuffler.status = Status(kept.digest, "open", reports=109)
    assert _command(world, "status", "fruit", "--json") == 0
    line = json.loads(capsys.readouterr().out)
    assert (line["name"], line["digest"], line["state"]) == ("fruit", kept.digest.hex(), "open")
    waiting = line["waiting"]
    assert set(waiting) == {"step", "from", "done", "total", "seconds"}
    assert (waiting["step"], waiting["from"], waiting["done"], waiting["total"]) == ("submissions", ["users"], 13, 20)
    opened.store.move(kept.digest, State.CLOSED)
    world.shufflers[1].status = Status(
        kept.digest,
        "shuffling",
        reports=109,
        step="hand-over 1",
        waited_for=("shuffler 1",),
        done=40,
        total=100,
        seconds=12,
        refused=("3 parts: the ticket is not valid",),
    )
    (found,) = status.status(opened, [opened.kept("fruit")])
    line = found.to_json()
    assert line["waiting"]["step"] == "hand-over 1"
    assert line["waiting"]["from"] == ["shuffler 1"]
    assert line["refused"] == ["shuffler 2 (organisation 2): 3 parts: the ticket is not valid"]
    assert "waiting for hand-over 1 from shuffler 1: 0 of 2" in str(found)
    told = "shuffler 2 (organisation 2)  shuffling, 109 submissions; waiting for hand-over 1 from shuffler 1: 40 of 100"
    assert f"{told}, 12 s; refused: 3 parts: the ticket is not valid" in str(found)


def test_status_of_a_shuffler_that_does_not_answer_gives_the_reason(world: World) -> None:
    opened = world.workspace()
    kept = world.open(opened)
    world.loop.run(world.shufflers[0].close())
    (found,) = status.status(opened, [kept])
    line = found.to_json()
    assert line["shufflers"][0]["state"] is None
    assert "shuffler 1 (organisation 1)" in line["shufflers"][0]["reason"]
    assert [shuffler["state"] for shuffler in line["shufflers"][1:]] == ["open", "open"]


def test_a_result_that_is_not_there_is_exit_1_with_what_is_waited_for(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.open(world.workspace())
    assert _command(world, "result", "fruit") == 1
    shown = capsys.readouterr()
    require_shown(shown.err, "result.not_yet", "submissions")
    assert shown.out == ""


def test_a_result_is_a_table_with_error_bars_and_guarantees(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.open(world.workspace())
    _publish(world)
    assert _command(world, "result", "fruit", "--wait", "1") == 0
    shown = capsys.readouterr().out
    assert "40 users, 10 fake reports" in shown
    assert "95 % interval" in shown
    assert "Against the analyzer with 2 or more shufflers" in shown
    assert _command(world, "result", "fruit", "--json") == 0
    assert json.loads(capsys.readouterr().out)["users"] == 40


def test_a_result_is_shown_with_what_post_processing_makes_of_it_from_the_analyzer_or_a_file(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.open(world.workspace())
    _publish(world)
    assert _command(world, "result", "fruit", "--json") == 0
    raw = json.loads(capsys.readouterr().out)
    assert raw["post_processed"] is None
    file, page = world.folder / "result.json", world.folder / "page.html"
    file.write_text(json.dumps(raw))
    assert _command(world, "result", "fruit", "--json", "--post-process", "base_cut") == 0
    kept = json.loads(capsys.readouterr().out)
    assert kept | {"post_processed": None} == raw, "the raw estimates and their intervals stay"
    assert _result("--result", str(file), "--json", "--post-process", "base_cut", "--html", str(page)) == 0
    assert json.loads(capsys.readouterr().out) == kept
    assert "After base_cut" in page.read_text()
    assert _result("--result", str(file), "--post-process", "auto:top:1") == 0
    shown = capsys.readouterr().out
    assert "after " in shown.splitlines()[1]
    assert "chosen by simulation for top:1" in " ".join(shown.split())
    assert OF_THE_RAW in " ".join(shown.split())
    assert _command(world, "result", "fruit", "--json") == 0
    assert json.loads(capsys.readouterr().out) == raw, "what is kept is what was published"
    del raw["oracle"], raw["post_processed"]
    file.write_text(json.dumps(raw))
    assert _result("--result", str(file)) == 0
    assert _result("--result", str(file), "--post-process", "norm_sub") == 2
    require_shown(capsys.readouterr().err, "post_process.older")


@pytest.mark.parametrize(
    ("text", "given", "id_"),
    [
        ("{}", (), "input.result"),
        ("[" * 100_000, (), "input.result"),
        ("7", (), "input.result"),
        (None, (), "input.result_missing"),
        ("{}", ("fruit",), "input.which_result"),
    ],
)
def test_a_file_that_is_no_result_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, given: tuple[str, ...], id_: str
) -> None:
    if text is not None:
        (tmp_path / "result.json").write_text(text)
    assert _result(*given, "--result", str(tmp_path / "result.json")) == 2
    shown = capsys.readouterr()
    require_shown(shown.err, id_)
    assert len(shown.err.splitlines()) == 1


def test_which_result_to_show_has_to_be_said(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ((), ("fruit",), ("--config", str(world.file))):
        assert _result(*arguments) == 2
        require_shown(capsys.readouterr().err, "input.which_result")


def _result(*arguments: str) -> int:
    return run(cli.app, ["result", *arguments], "peos analyzer")


def test_tickets_are_one_a_line_each_for_an_id_of_its_own(world: World) -> None:
    opened = world.workspace()
    kept = world.open(opened)
    out = world.folder / "tickets.txt"
    given = ["--config", str(world.file), "--collection", "fruit", "--count", "25", "--out", str(out)]
    assert run(enrol.app, given, "peos enrol") == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    lines = [[bytes.fromhex(field) for field in line.split(":")] for line in out.read_text().splitlines()]
    assert len({id_ for id_, _, _ in lines}) == len({seed for _, _, seed in lines}) == 25
    document = opened.signed(kept).document
    for id_, signature, seed in lines:
        assert (len(id_), len(signature), len(seed)) == (16, 64, 32)
        assert admits(document.enrolment_key, signature, kept.digest, id_, Identity(seed).public)


def test_tickets_for_keys_that_users_keep_have_no_seeds(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    opened = world.workspace()
    kept = world.open(opened)
    users = [Identity(bytes([number]) * 32).public for number in range(1, 4)]
    keys, out = world.folder / "keys.txt", world.folder / "tickets.txt"
    keys.write_text("".join(f"{key.hex()}\n" for key in users))
    given = ["--config", str(world.file), "--collection", "fruit", "--keys", str(keys), "--out", str(out)]
    assert run(enrol.app, given, "peos enrol") == 0
    assert f"3 tickets in {out}" in capsys.readouterr().out
    lines = [[bytes.fromhex(field) for field in line.split(":")] for line in out.read_text().splitlines()]
    enrolment = opened.signed(kept).document.enrolment_key
    assert [admits(enrolment, signature, kept.digest, id_, key) for (id_, signature), key in zip(lines, users)] == [  # noqa: B905
        True
    ] * 3
    assert len({id_ for id_, _ in lines}) == 3
    out.unlink()
    again = ["--config", str(world.file), "--collection", "fruit", "--keys", str(keys), "--out", str(out)]
    assert run(enrol.app, again, "peos enrol") == 0
    ids = {bytes.fromhex(line.split(":")[0]) for line in out.read_text().splitlines()}
    assert not ids & {id_ for id_, _ in lines}, "an id is drawn, and not derived from the key"


OFF_THE_CURVE: Final = (2).to_bytes(32, "little").hex()
A_KEY: Final = Identity(bytes(32)).public.hex()


@pytest.mark.parametrize(
    ("content", "id_", "lines"),
    [
        (f"{A_KEY}\n{A_KEY[:-1]}\n", "input.keys_line", "line 2"),
        (f"{'00' * 32}\n{A_KEY}\n{'01' + '00' * 31}\n", "input.keys_line", "line 1, 3"),
        (f"{OFF_THE_CURVE}\n", "input.keys_line", "line 1"),
        (f"{A_KEY}\n{A_KEY}\n", "input.keys_repeated", ""),
        ("", "input.keys_line", "no keys"),
    ],
    ids=["short", "of small order", "off the curve", "twice", "empty"],
)
def test_keys_that_cannot_be_users_keys_are_named_by_line(
    world: World, capsys: pytest.CaptureFixture[str], content: str, id_: str, lines: str
) -> None:
    world.open(world.workspace())
    keys, out = world.folder / "keys.txt", world.folder / "tickets.txt"
    keys.write_text(content)
    given = ["--config", str(world.file), "--collection", "fruit", "--keys", str(keys), "--out", str(out)]
    assert run(enrol.app, given, "peos enrol") == 2
    require_shown(capsys.readouterr().err, id_, *([lines] if lines else ()))
    assert not out.exists()


@pytest.mark.parametrize("both", [False, True])
def test_how_many_tickets_is_said_once(world: World, capsys: pytest.CaptureFixture[str], both: bool) -> None:
    given = ["--config", str(world.file), "--collection", "fruit", "--out", str(world.folder / "t")]
    assert run(enrol.app, [*given, *(("--count", "3", "--keys", "k") if both else ())], "peos enrol") == 2
    require_shown(capsys.readouterr().err, "input.tickets_how", "--count", "--keys")


def test_tickets_of_a_draft_are_minted_and_it_is_said_that_it_is_not_open(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = world.workspace()
    kept = draft(opened, request(), Silent())
    out = world.folder / "tickets.txt"
    given = ["--config", str(world.file), "--collection", kept.name, "--count", "2", "--out"]
    assert run(enrol.app, [*given, str(out)], "peos enrol") == 0
    shown = capsys.readouterr()
    assert shown.out == f"2 tickets in {out}\n"
    assert shown.err.startswith("fruit is not open")
    opened.store.move(kept.digest, State.OPEN)
    assert run(enrol.app, [*given, str(world.folder / "more.txt")], "peos enrol") == 0
    assert capsys.readouterr().err == ""


def test_tickets_are_never_written_over_nor_minted_for_what_is_closed(world: World) -> None:
    opened = world.workspace()
    kept = world.open(opened)
    out = world.folder / "tickets.txt"
    enrol.mint_tickets(opened, enrol.scope_of_collection(opened, "fruit"), 1, out, Silent())
    with raises("input.file_exists"):
        enrol.mint_tickets(opened, kept.digest, 1, out, Silent())
    opened.store.move(kept.digest, State.CLOSED)
    with raises("ticket.closed"):
        enrol.scope_of_collection(opened, "fruit")
    assert not list(world.folder.glob(".*partial"))


@pytest.mark.parametrize(
    ("arguments", "id_", "says"),
    [
        (("status", "bread"), "input.no_collection", "bread"),
        (("freeze", "../bread"), "input.name", "../bread"),
        (("result", "fruit", "--wait", "soon"), "input.number", "--wait"),
        (("create", "--name", "x"), "input.command", "missing option"),
    ],
)
def test_a_mistake_is_one_sentence_and_its_exit_code(
    world: World, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], id_: str, says: str
) -> None:
    assert _command(world, *arguments) == 2
    shown = capsys.readouterr()
    require_shown(shown.err, id_, says)
    assert len(shown.err.splitlines()) == 1
    assert shown.out == ""


def test_a_configuration_that_is_missing_is_exit_2_with_json_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(cli.app, ["status", "--config", str(tmp_path / "none.toml"), "--json"], "peos analyzer") == 2
    assert json.loads(capsys.readouterr().err)["id"] == "config.unreadable"
