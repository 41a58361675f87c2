"""Records in every form that a file has them, what is wrong with them by line, and that nothing of them is left."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from peos.ldp.base import Mechanism
from peos.ldp.grouped_hash import GroupedHash
from peos.net.logs import configure
from tests.raising import require_shown
from tests.unit.user_client.questions import LIST, LISTED, PEOPLE, PREFIXES, asking
from tests.unit.user_client.test_command_line import Desk, line_of
from tests.unit.user_client.town import FakeShufflers

SECRET = "zx9qv7"  # noqa: S105 - a record


@pytest.fixture
def desk(town: FakeShufflers, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    town.publish(asking(town, *PREFIXES))
    return Desk(town, tmp_path, capsys)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The two bytes that the views make of each record, as they are randomised."""
    found: list[bytes] = []
    randomize = GroupedHash.randomize

    def kept(self: GroupedHash, values: Any, rng: Any = None) -> Any:
        found.extend(bytes(row) for row in values.exts.tolist())
        return randomize(self, values, rng)

    monkeypatch.setattr(GroupedHash, "randomize", kept)
    return found


def records(desk: Desk, name: str, content: str | bytes, *options: str, users: int = 2) -> tuple[int, str, str]:
    """`submit-file` with a file of records."""
    desk.tickets.write_text("".join(f"{line_of(desk.town.ticket(n))}\n" for n in range(1, users + 1)))
    path = desk.folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return desk.run("submit-file", "--tickets", desk.tickets, "--records", path, *options)


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("records.jsonl", '"bread"\n"tea"\n', ()),
        ("records.json", '"bread"\r\n"\\u0074ea"', ()),
        ("records.txt", "bread\ntea\n", ()),
        ("records.csv", 'who,what\nAda,"bread"\nBo,tea\n', ("--column", "what")),
        ("records.csv", "what,who\nbread,Ada\n\ntea,Bo\n", ("--column", "what", "--users", "who")),
    ],
)
def test_a_file_of_records_in_any_form_asks_the_same(
    desk: Desk, keys: list[bytes], name: str, content: str, options: tuple[str, ...]
) -> None:
    code, out, err = records(desk, name, content, *options)
    assert (code, out) == (0, "2 of 2 accepted by all shufflers\n"), err
    assert keys == [b"br", b"te"]
    assert PREFIXES[0].in_words in err, "what is asked is said before it is sent"


def test_a_text_may_hold_what_ends_a_line_elsewhere(desk: Desk, keys: list[bytes]) -> None:
    assert records(desk, "records.txt", "\u2028a\n\x0bb\n")[0] == 0
    assert records(desk, "more.jsonl", '"\u2028c"\n', users=3)[0] == 0
    assert keys == ["\u2028".encode()[:2], b"\x0bb"], "the third has the first one's ticket"


@pytest.mark.parametrize(
    ("name", "content", "options", "mistake"),
    [
        ("r.jsonl", f'["{SECRET}"]\n"tea"\n{{"a": "{SECRET}"}}\n7\n', (), ("input.answers", "r.jsonl, lines 1, 3-4")),
        ("r.jsonl", f'"\\ud800{SECRET}"\n"tea"\n', (), ("input.answers", "r.jsonl, line 1")),
        ("r.jsonl", f'"tea"\n{SECRET}\n\n', (), ("input.lines", "r.jsonl, lines 2-3")),
        ("r.jsonl", f"{'[' * 100_000}{SECRET}\n", (), ("input.lines", "r.jsonl, line 1")),
        ("r.txt", "", (), ("input.lines", "r.txt has no records")),
        ("r.txt", b"\xff\xfe", (), ("input.not_text", "r.txt")),
        ("r.txt", "a\n" * 9, (), ("input.lines", "r.txt has 9", "tickets.txt has 4")),
        ("r.txt", "a\nb\n", ("--column", "what"), ("input.column", "r.txt")),
        ("r.csv", "what\ntea\n", (), ("input.column", "r.csv")),
        ("r.csv", "what\ntea\n", ("--column", "that"), ("input.column", "that", "what")),
        ("r.csv", f"what,who\n{SECRET}\ntea,Bo\n", ("--column", "what"), ("input.lines", "r.csv, line 2")),
        ("r.csv", f'what\n"{SECRET}"x\n', ("--column", "what"), ("input.lines", "r.csv, line 2")),
        (
            "r.csv",
            "what,who\ntea,Bo\nsalt,Ada\nbread,Bo\n",
            ("--column", "what", "--users", "who"),
            ("input.answers", "r.csv, line 4", "the user is there twice"),
        ),
    ],
)
def test_what_is_wrong_is_told_by_line_and_nothing_is_randomised(
    desk: Desk, keys: list[bytes], name: str, content: str | bytes, options: tuple[str, ...], mistake: tuple[str, ...]
) -> None:
    code, out, err = records(desk, name, content, *options, users=4)
    assert (code, out, keys) == (2, "", [])
    require_shown(err, *mistake)
    assert SECRET not in err, "a record is not repeated"
    assert not any(one.parts for one in desk.town.shufflers)


def alone(desk: Desk, *options: object) -> tuple[int, str, str]:
    """`submit` with the first user's ticket."""
    return desk.run("submit", "--ticket", line_of(desk.town.ticket(1)), *options)


@pytest.mark.parametrize(("name", "content"), [("mine.txt", "bread\n"), ("mine.json", '\n "bread"\n')])
def test_a_record_in_a_file(desk: Desk, keys: list[bytes], name: str, content: str) -> None:
    path = desk.folder / name
    path.write_text(content)
    assert alone(desk, "--record-file", path)[0] == 0
    assert keys == [b"br"]


def test_a_record_is_typed_when_it_is_asked_for(desk: Desk, keys: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("typer.prompt", lambda text, **_: asked.append(text) or "[tea")  # type: ignore[func-returns-value] # append has no result
    assert alone(desk)[0] == 0
    assert (keys, asked) == ([b"[t"], ["how many? (your record)"])


def test_a_record_on_the_command_line_is_refused(desk: Desk) -> None:
    code, _, err = alone(desk, "--value", SECRET)
    assert (code, SECRET in err) == (2, False)
    require_shown(err, "input.record_shown", "--record-file")
    path = desk.folder / "mine.json"
    path.write_text(f"{SECRET}\n")
    code, _, err = alone(desk, "--record-file", path)
    assert (code, SECRET in err) == (2, False)
    require_shown(err, "input.record", "mine.json")
    code, _, err = alone(desk, "--record-file", path, "--value", "1")
    assert code == 2
    require_shown(err, "input.one_record")


def test_an_object_is_typed_as_json_where_attributes_are_asked_for(
    town: FakeShufflers, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    town.publish(asking(town, PEOPLE))
    desk = Desk(town, tmp_path, capsys)
    for typed, accepted in (('{"smokes": "no"}', False), ("no, 7", False), ('{"smokes": "no", "age": 7}', True)):
        monkeypatch.setattr(
            "sys.stdin", SimpleNamespace(isatty=lambda: False, readline=lambda typed=typed: f"{typed}\n")
        )
        code, _, err = alone(desk)
        assert (code == 0) is accepted, err
        if not accepted:
            require_shown(err.splitlines()[-1], "input.answers")


@pytest.mark.parametrize(
    "form", [str.encode, lambda text: text.encode("utf-16-le"), lambda text: text.encode().hex().encode()]
)
def test_nothing_of_a_record_is_kept_or_said(desk: Desk, form: Callable[[str], bytes]) -> None:
    log = configure(desk.folder / "log")
    code, out, err = records(desk, "r.csv", f"who,what\nAda,{SECRET}\n", "--column", "what", "--users", "who")
    log.flush()
    assert code == 0, err
    for path in (desk.folder / "memory").rglob("*"):
        for told in (SECRET, "Ada"):
            assert form(told) not in path.read_bytes(), f"{told} is in {path.name}"
    assert SECRET not in out + err + (desk.folder / "log").read_text()


def test_what_is_asked_is_shown_without_sending_anything(desk: Desk) -> None:
    shown = ("show", "--invitation", desk.invitation)
    code, out, err = desk.run(*shown)
    assert (code, err) == (0, "")
    for text in (
        "how many?",
        "one of 2 answers",
        "the first 2 bytes",
        "at least 999 other users",
        "org-1, org-2 and org-3",
    ):
        assert text in out
    assert out.count("times as likely with your answer") == 3, "one sentence for each coalition"
    found = json.loads(desk.run(*shown, "--json")[1])
    assert (found["asked"][1], len(found["guarantees"])) == ("the first 2 bytes of a text of at most 6 bytes", 3)
    assert not any(one.parts for one in desk.town.shufflers)
    assert json.loads(desk.run("status", "--json")[1]) == [], "nor is anything prepared"


def test_a_question_that_plays_with_the_terminal_is_shown_as_text(
    town: FakeShufflers, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    town.publish(asking(town, *PREFIXES, question="which\x1b[2J\u202eword<script>?"))
    desk = Desk(town, tmp_path, capsys)
    out = desk.run("show", "--invitation", desk.invitation)[1]
    code, _, err = records(desk, "r.txt", "a\n", users=1)
    assert code == 0
    for said in (out, err):
        assert "which?[2J?word<script>?" in said
        assert all(character.isprintable() for line in said.splitlines() for character in line)


def test_a_catalogue_is_the_file_next_to_the_invitation_or_the_one_that_is_named(
    town: FakeShufflers, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    town.publish(asking(town, LISTED))
    desk = Desk(town, tmp_path, capsys)
    given: list[int] = []
    kind = type(asking(town, LISTED).mechanism)
    randomize: Any = kind.randomize

    def kept(self: Mechanism, values: Any, rng: Any = None) -> Any:
        given.extend(values.tolist())
        return randomize(self, values, rng)

    monkeypatch.setattr(kind, "randomize", kept)
    code, _, err = records(desk, "r.txt", "tea\nsoap\n")
    assert (code, given) == (2, [])
    require_shown(err, "view.no_catalogue")
    beside = desk.invitation.with_suffix(".catalogue")
    for wrong in (LIST[:-1], LIST + b'"soap"\n', b""):
        beside.write_bytes(wrong)
        code, _, err = records(desk, "r.txt", "tea\nsoap\n")
        assert (code, given) == (2, [])
        require_shown(err, "view.other_catalogue")
    beside.unlink()
    named = desk.folder / "foods"
    named.write_bytes(LIST)
    assert records(desk, "r.txt", "tea\n", "--catalogue", str(named), users=1)[0] == 0
    named.rename(beside)
    assert records(desk, "r.txt", "tea\nsoap\n")[0] == 0
    assert given == [1, 3], "the last is for all others"
