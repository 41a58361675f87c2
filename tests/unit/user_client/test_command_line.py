"""The command line over real processes' doors: files in, sentences and exit codes out, and a kill in the middle."""

import json
import os
import signal
import stat
import sys
import time
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE, Popen
from types import SimpleNamespace
from typing import Any

import pytest

from peos.cli.running import run
from peos.collection.replies import Answer
from peos.collection.submission import Part
from peos.collection.ticket import Ticket, mint
from peos.ldp import GRR
from tests.full import full, many
from tests.raising import require_shown
from tests.unit.fake_shuffler import refuse
from tests.unit.user_client.town import FakeShufflers
from user_client.cli import app

ROOT = Path(__file__).parents[3]


def line_of(ticket: Ticket) -> str:
    return f"{ticket.id.hex()}:{ticket.signature.hex()}:{ticket.key.secret.hex()}"


USERS = many(100, 500)
WITHOUT_KEY = f"{'0' * 32}:{'0' * 128}"
NO_TICKET = f"{WITHOUT_KEY}:{'0' * 64}"


class Desk:
    """Files as a user has them, and the command on them."""

    def __init__(self, town: FakeShufflers, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.town, self.folder, self.capsys = town, folder, capsys
        self.config, self.invitation = folder / "client.toml", folder / "question.invitation"
        pins = ", ".join(f'"{card.identity.hex()}"' for card in town.cards)
        self.config.write_text(
            f'folder = "memory"\nshufflers = [{pins}]\nmost_eps_local = 2\nleast_reports = 1000\nbudget = 3\n'
        )
        self.invitation.write_bytes(town.invitation)
        self.tickets, self.values = folder / "tickets.txt", folder / "values.txt"

    def write(self, count: int) -> None:
        """Tickets and values of `count` users."""
        self.tickets.write_text("".join(f"{line_of(self.town.ticket(n))}\n" for n in range(1, count + 1)))
        self.values.write_text("".join(f"{n % 64}\n" for n in range(1, count + 1)))

    def run(self, command: str, *options: object) -> tuple[int, str, str]:
        """The exit code, and what went to standard output and standard error."""
        where = ["--config", str(self.config)]
        if command.startswith("submit"):
            where += ["--invitation", str(self.invitation)]
        code = run(app, [command, *where, *map(str, options)], "peos client")
        said = self.capsys.readouterr()
        return code, said.out, said.err

    def many(self, *options: str) -> tuple[int, str, str]:
        """submit-file."""
        return self.run("submit-file", "--tickets", self.tickets, "--values", self.values, *options)


@pytest.fixture
def desk(town: FakeShufflers, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(town, tmp_path, capsys)


@pytest.mark.full
def test_many_users_by_file_then_status_and_ledger(desk: Desk) -> None:
    desk.write(USERS)
    code, out, err = desk.many("--json")
    summary = json.loads(out)
    assert (code, summary["submitted"], summary["accepted"], summary["refused"]) == (0, USERS, USERS, []), err
    assert len(desk.town.connections()) == USERS
    code, out, _ = desk.many()
    assert (code, out) == (0, f"{USERS} of {USERS} accepted by all shufflers\n")
    assert [len(one.parts) for one in desk.town.shufflers] == [USERS, USERS, USERS], "accepted ones were sent again"
    (standing,) = json.loads(desk.run("status", "--json")[1])
    assert standing["acknowledged"] == {f"shuffler {n} (org-{n})": USERS for n in (1, 2, 3)}
    assert set(standing["missing"].values()) == {0}
    book = json.loads(desk.run("ledger", "--json")[1])
    assert (book["spent"], book["most_spent_by_another"], book["others"][0]["users"]) == (0.0, 2.0, USERS)


def test_one_answer_by_file_and_standard_input(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write(1)
    monkeypatch.setattr("sys.stdin", open(desk.values, encoding="utf-8"))  # noqa: SIM115 - closed below
    code, out, _ = desk.run("submit", "--ticket-file", desk.tickets)
    sys.stdin.close()
    assert code == 0
    assert out.startswith("accepted by all 3 shufflers, collection ")
    assert f"delete {desk.tickets}." in out, "the client overwrites its own memory, and not her files"
    code, out, err = desk.run("submit", "--ticket", line_of(desk.town.ticket(1)), "--value", "5", "--json")
    assert (code, json.loads(out)["repeated"]) == (0, True)
    _, _, err = desk.run("submit", "--ticket-file", desk.tickets, "--value", "5")
    assert "An answer was given already" in err
    assert desk.run("ledger")[1].startswith("spent 2 of 3\n")
    assert "1 prepared, 1 accepted" in desk.run("status", "--invitation", desk.invitation)[1]


def test_a_refused_answer_exits_3_and_says_by_whom(desk: Desk) -> None:
    desk.write(3)
    for shuffler in desk.town.shufflers:
        shuffler.before = refuse("the collection takes no more")
    code, out, err = desk.run("submit", "--ticket", line_of(desk.town.ticket(9)), "--value", "5")
    assert (code, out) == (3, "")
    require_shown(err, "submit.closed", "shuffler 1 (org-1)")
    assert [err.count(f"(org-{number}): ") for number in (1, 2, 3)] == [0, 0, 1], "what all of them say is said once"
    for shuffler in desk.town.shufflers[:2]:
        shuffler.before = None
    code, out, err = desk.many("--json")
    assert code == 3
    assert [row["line"] for row in json.loads(out)["refused"]] == [1, 2, 3]
    code, out, err = desk.many()
    assert (code, out) == (3, "0 of 3 accepted by all shufflers\n")
    assert err.splitlines()[0].endswith("values.txt, line 1: shuffler 3 (org-3): the collection takes no more")


def test_every_bad_line_is_named_and_no_value_is(desk: Desk) -> None:
    desk.write(9)
    values, tickets = desk.values.read_text().splitlines(), desk.tickets.read_text().splitlines()
    values[0], values[4], values[5], values[6] = "+7777", "", "7777" * 99, "0x7777"
    tickets[2], tickets[8] = tickets[2][:-1], "7777"
    desk.values.write_text("\n".join(values))
    desk.tickets.write_text("\n".join(tickets))
    code, out, err = desk.many()
    assert (code, out) == (2, "")
    require_shown(err, "input.lines", "values.txt, lines 5-6: ", "tickets.txt, lines 3, 9: ")
    assert "7777" not in err
    desk.write(9)
    values[4], values[5] = "1", "7777 7777"
    desk.values.write_text("\n".join(values))
    code, out, err = desk.many()
    assert (code, out) == (2, "")
    require_shown(err, "input.answers", "values.txt, lines 1, 6-7: ", "0 to 63")
    assert "7777" not in err


def test_answers_are_given_by_their_labels_and_asked_with_them(
    town: FakeShufflers, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = ("nobody", "a dog", *(f"a cat and {number} more" for number in range(62)))
    town.publish(town.document(labels=labels))
    desk = Desk(town, tmp_path, capsys)
    desk.write(3)
    given: list[int] = []
    randomize = GRR.randomize
    monkeypatch.setattr(
        GRR,
        "randomize",
        lambda self, values, rng=None: given.extend(values.tolist()) or randomize(self, values, rng),  # type: ignore[func-returns-value] # extend returns None
    )
    desk.values.write_text("a dog\n 0 \na lizard\n")
    code, out, err = desk.many()
    assert (code, out, given) == (2, "", [])
    require_shown(err, "input.answers", "values.txt, line 3: ", "nobody, a dog, a cat")
    assert "lizard" not in err, "what a user said is not repeated"
    desk.values.write_text("a dog\n 0 \nnobody\n")
    assert desk.many()[:2] == (0, "3 of 3 accepted by all shufflers\n")
    assert given == [1, 0, 0]
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    asked: list[str] = []
    monkeypatch.setattr("typer.prompt", lambda text, **_: asked.append(text) or "a dog")  # type: ignore[func-returns-value] # likewise
    assert desk.run("submit", "--ticket", line_of(town.ticket(7)))[0] == 0
    assert given[-1] == 1
    assert asked[0].startswith("how many? (one of nobody, a dog, a cat and 0 more")


def test_a_ticket_for_a_users_own_key_is_of_use_with_her_key_file_only(desk: Desk) -> None:
    file, ticket_file = desk.folder / "my.key", desk.folder / "ticket.txt"
    assert run(app, ["key", "--out", str(file)], "peos client") == 0
    public = desk.capsys.readouterr().out.strip()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    town, id_ = desk.town, bytes(15) + b"\x07"
    signature = mint(town.enrolment, town.digest, id_, bytes.fromhex(public))
    ticket_file.write_text(f"{id_.hex()}:{signature.hex()}\n")
    given = ("submit", "--ticket-file", str(ticket_file), "--value", "5")
    code, _, err = desk.run(*given)
    assert code == 2
    require_shown(err, "ticket.key", "--key-file FILE")
    another = desk.folder / "another.key"
    assert run(app, ["key", "--out", str(another)], "peos client") == 0
    assert desk.capsys.readouterr().out.strip() != public
    code, _, err = desk.run(*given, "--key-file", str(another))
    assert code == 2
    require_shown(err, "input.answers")
    code, out, _ = desk.run(*given, "--key-file", str(file))
    assert code == 0, "her own key"
    assert f"delete {ticket_file}, and {file} unless another ticket was made for it." in out
    assert {one.taken[signature].user_key.hex() for one in town.shufflers} == {public}
    assert file.read_text().strip() not in out


def test_a_key_file_that_others_can_read_or_that_is_none_is_refused_and_none_is_overwritten(desk: Desk) -> None:
    file = desk.folder / "my.key"
    assert run(app, ["key", "--out", str(file)], "peos client") == 0
    kept = file.read_text()
    desk.capsys.readouterr()
    assert run(app, ["key", "--out", str(file)], "peos client") == 2
    require_shown(desk.capsys.readouterr().err, "input.file_exists", str(file))
    assert file.read_text() == kept
    file.chmod(0o644)
    code, _, err = desk.run("submit", "--ticket", WITHOUT_KEY, "--key-file", str(file), "--value", "5")
    assert (code, kept.strip() in err) == (2, False)
    require_shown(err, "store.open_to_others", str(file))
    file.chmod(0o600)
    code, _, err = desk.run("submit", "--ticket", NO_TICKET, "--key-file", str(file), "--value", "5")
    assert code == 2
    require_shown(err, "ticket.key", "--key-file")
    file.write_text(kept[:-3])
    code, _, err = desk.run("submit", "--ticket", WITHOUT_KEY, "--key-file", str(file), "--value", "5")
    assert (code, kept[:20] in err) == (2, False)
    require_shown(err, "input.key_file", str(file))


def test_tickets_whose_users_keep_their_keys_are_named_by_line(desk: Desk) -> None:
    desk.write(3)
    lines = desk.tickets.read_text().splitlines()
    desk.tickets.write_text("\n".join([lines[0], lines[1].rpartition(":")[0], lines[2]]))
    code, _, err = desk.many()
    assert code == 2
    require_shown(err, "input.lines", "tickets.txt, line 2: ")


def test_bad_answers_are_named_by_line_after_the_collection_is_known(desk: Desk) -> None:
    desk.write(4)
    desk.values.write_text("1\n64\n2\n7777\n")
    stolen = line_of(replace(desk.town.ticket(3), signature=bytes(64)))
    lines = desk.tickets.read_text().splitlines()
    desk.tickets.write_text("\n".join([*lines[:2], stolen, lines[3]]))
    code, _, err = desk.many("--json")
    said = json.loads(err)
    assert (code, said["id"]) == (2, "input.answers")
    assert "values.txt, lines 2, 4: " in said["error"]
    assert "tickets.txt, line 3: " in said["error"]
    assert "7777" not in err
    assert not any(one.parts for one in desk.town.shufflers)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ((), "one ticket is needed, by --ticket-file or by --ticket"),
        (("--ticket", "ab:cd"), "the ticket cannot be read"),
        (("--ticket-file", "/nowhere/ticket"), "/nowhere/ticket cannot be read"),
        (("--ticket", NO_TICKET, "--value", "one"), "the value is not a whole number"),
        (("--ticket", NO_TICKET, "--value", "-1"), "the value is not a whole number from 0 to 63"),
        (("--ticket", NO_TICKET, "--value", "9" * 20), "the value is not a whole number from 0 to 63"),
        (("--ticket", NO_TICKET, "--value", "1"), "the ticket is not valid for this collection and key"),
        (("--ticket", WITHOUT_KEY, "--value", "1"), "the ticket was made for a key that its user keeps"),
        (("--ticket", NO_TICKET, "--key-file", "/nowhere/key"), "/nowhere/key cannot be read"),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_2(desk: Desk, options: tuple[str, ...], complaint: str) -> None:
    code, out, err = desk.run("submit", *options)
    assert (code, out) == (2, "")
    assert complaint in err
    assert err.count("\n") == 1


def test_more_values_than_tickets_are_refused_and_spare_tickets_are_not(desk: Desk) -> None:
    desk.write(4)
    desk.values.write_text("1\n2\n")
    assert desk.many()[0] == 0
    desk.values.write_text("1\n" * 5)
    code, _, err = desk.many()
    assert code == 2
    require_shown(err, "input.lines", "5")


def test_a_shuffler_that_is_down_is_named_and_exits_1(desk: Desk) -> None:
    desk.write(1)
    desk.town.stop(2)
    code, out, err = desk.many()
    assert (code, out) == (1, "")
    require_shown(err, "network.no_answer", "shuffler org-2")


def command(desk: Desk) -> Popen[str]:
    files = (
        "--config",
        desk.config,
        "--invitation",
        desk.invitation,
        "--tickets",
        desk.tickets,
        "--values",
        desk.values,
    )
    arguments = [sys.executable, "-m", "user_client", "submit-file", *map(str, files), "--json"]
    return Popen(arguments, cwd=ROOT, stdout=PIPE, stderr=PIPE, text=True)  # noqa: S603 - our own command


def paused_after(parts: int) -> Any:
    """A shuffler that answers so many parts and then keeps asking to wait."""
    seen: list[bytes] = []

    def before(part: Part) -> Answer | None:
        seen.append(part.id)
        return refuse("full at the moment", retry=True)(part) if len(seen) > parts else None

    return before


@pytest.mark.full
@pytest.mark.parametrize(("how", "code"), [(signal.SIGKILL, -9), full(signal.SIGTERM, 130), full(signal.SIGINT, 130)])
def test_after_a_kill_in_the_middle_the_same_command_completes_with_the_same_bytes(
    desk: Desk, how: signal.Signals, code: int
) -> None:
    desk.write(200)
    shuffler = desk.town.shufflers[1]
    shuffler.before = paused_after(70)
    first = command(desk)
    deadline = time.monotonic() + 120
    while len(shuffler.parts) < 80 and first.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(first.pid, how)
    _, err = first.communicate(timeout=120)
    assert first.returncode == code, err
    assert 0 < len(shuffler.taken) < 200, "it was not killed in the middle"
    shuffler.before = None
    second = command(desk)
    out, err = second.communicate(timeout=120)
    assert second.returncode == 0, err
    assert json.loads(out)["accepted"] == 200
    held = desk.town.connections()
    assert len(held) == 200
    assert all(len(digests) == 3 and len(set(digests.values())) == 1 for digests in held.values())
    for one in desk.town.shufflers:
        assert len(set(one.parts)) == 200, f"{one.name} was sent {len(set(one.parts))} different parts by 200 users"


@pytest.mark.full
def test_two_runs_at_the_same_time_in_one_memory_prepare_each_answer_once(desk: Desk) -> None:
    desk.write(150)
    both = [command(desk), command(desk)]
    for one in both:
        out, err = one.communicate(timeout=120)
        assert one.returncode == 0, err
        assert json.loads(out)["accepted"] == 150
        assert "Traceback" not in err
    held = desk.town.connections()
    assert len(held) == 150
    assert all(len(digests) == 3 and len(set(digests.values())) == 1 for digests in held.values())
    for shuffler in desk.town.shufflers:
        assert len(set(shuffler.parts)) == 150, "whichever sends it, it is the same part"
