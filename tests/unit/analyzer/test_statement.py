"""The privacy statement: what it says is what the signed document, the ledger and the result say, and no secret."""

import hashlib
import json
from typing import Any

import numpy as np
import pytest

from analyzer import cli
from analyzer import workspace as workspace_
from analyzer.ledger import ledger_of
from analyzer.publisher import Publisher
from analyzer.statement.contents import Statement, statement
from analyzer.statement.page import lines, page
from analyzer.store import CollectionRow
from analyzer.study import create
from analyzer.workspace import Workspace
from peos.cli.running import run
from peos.collection.document import utc
from peos.collection.lifecycle import State
from peos.compute import Inline
from peos.net.logs import Log
from peos.net.observer import Observer
from peos.privacy.guarantees import Guarantees, rounded_up
from peos.spec import StudySpec
from tests.raising import raises, require_shown
from tests.unit.analyzer.pages import read
from tests.unit.analyzer.test_studies import ASKED
from tests.unit.analyzer.world import FLOOR, PASSPHRASE, USERS, World, take

NOW = 1_800_000_000.0
HOSTILE = "<script>alert('1')</script> \u202eevil\u202c & \x1b[31m"


def _all_text(shown: Statement) -> tuple[str, str]:
    """As a page and as lines, white space evened out."""
    return " ".join(read(page(shown)).one("body").text.split()), " ".join(" ".join(lines(shown)).split())


def deliver(world: World, opened: Workspace, kept: CollectionRow) -> None:
    """The output of forty users."""
    receiver = world.receiver(opened)
    values = np.repeat(np.arange(4), [20, 10, 6, 4])
    for sender, sent in world.deliveries(opened, kept, world.output(opened, kept, values)).items():
        take(receiver, sent, world.certificate(sender))


def _epsilons(shown: Statement) -> list[list[str]]:
    return [[rounded_up(card.epsilon) for card in held.cards] for held in shown.guarantees]


def _claimed(found: Guarantees) -> list[str]:
    return [rounded_up(one) for one in (found.server.epsilon, found.users.epsilon, found.local)]


def test_before_a_result_it_states_the_expected_users_and_the_minimum(world: World) -> None:
    opened = world.workspace()
    kept = world.open(opened)
    document = opened.signed(kept).document
    shown = statement(opened, "fruit", NOW)
    assert not shown.is_after
    assert _epsilons(shown) == [_claimed(document.claims(USERS)), _claimed(document.claims(document.minimum))]
    assert [held.of for held in shown.guarantees] == [
        "If the 60 users who are expected are counted",
        "If no more than the minimum of 20 users are counted",
    ]
    for text in _all_text(shown):
        assert kept.digest.hex() in text
        assert utc(document.erase_by) in text
        assert utc(document.closes_at) in text
        for name in ("organisation 1", "organisation 2", "organisation 3", "statistics office"):
            assert name in text
        for epsilons in _epsilons(shown):
            assert all(f"= {epsilon}" in text for epsilon in epsilons)
        assert "set no budget" in text


def test_afterwards_it_states_what_was_realised(world: World) -> None:
    opened = world.workspace()
    kept = world.open(opened)
    deliver(world, opened, kept)
    observer = Observer(Log("tests.analyzer"))
    runner = world.inspection_runner(opened)
    Publisher(opened, world.receiver(opened), runner, Inline(), observer).publish(opened.kept("fruit"))
    shown = statement(opened, "fruit", NOW)
    document = opened.signed(kept).document
    users = 40
    assert shown.is_after
    assert _epsilons(shown) == [_claimed(document.claims(users))]
    assert shown.facts["Users"] == "40 counted"
    ended = next(one for one in shown.kept if "decryption key" in one.what)
    assert "erased" in ended.until
    assert opened.kept("fruit").key is None, "as it says"


def test_an_abort_says_whether_users_may_have_answered(world: World) -> None:
    opened = world.workspace()
    kept = world.open(opened)
    opened.store.move(kept.digest, State.ABORTED, "too few")
    assert "too few; users may have answered" in statement(opened, "fruit", NOW).facts["State"]


def test_the_fingerprints_are_those_of_the_cards(world: World) -> None:
    opened = world.workspace()
    kept = world.open(opened)
    found = statement(opened, "fruit", NOW).fingerprints
    cards = opened.proposal(kept).cards
    assert [one.identity for one in found] == [card.identity.hex() for card in cards]
    assert [one.certificates.get("peers") for one in found] == [
        hashlib.sha256(card.peer_certificate).hexdigest() for card in cards
    ]
    assert [set(one.certificates) for one in found] == [{"peers", "users"}] * 3 + [{"peers"}]


def test_the_budget_is_the_ledgers(world: World) -> None:
    with world.file.open("a", encoding="utf-8") as file:
        file.write("[budget]\nepsilon = 50\ndelta = 1e-4\n")
    opened = world.workspace()
    world.open(opened, population="staff")
    world.open(opened, name="more", question="More?", population="staff")
    assert opened.config.budget is not None
    book = ledger_of(opened, "staff", opened.config.budget)
    said = " ".join(statement(opened, "fruit", NOW).spent)
    spent = rounded_up(book.spent.epsilon)
    assert f"over the population staff together (2; this one counted): ε = {spent} of a budget of 50" in said
    assert rounded_up(book.spent_alone.epsilon) in said


def test_a_study_has_one_before_its_first_round_and_with_its_rounds(world: World) -> None:
    opened = world.workspace()
    spec = StudySpec(**ASKED | {"eps_server": 1.0, "fakes": "100"})
    create(opened, spec)
    shown = statement(opened, "words", NOW)
    (plan,) = {plan.guarantees.server.epsilon for plan in spec.build(3).plans}
    assert shown.kind == "study"
    assert _epsilons(shown)[0][0] == rounded_up(plan)
    assert float(_epsilons(shown)[1][0]) >= plan, "fewer users hide less"
    for text in _all_text(shown):
        assert "0 asked" in text
        assert "heavy-hitters, with bytes 2, top 3" in text


def test_what_others_wrote_is_shown_as_text(world: World) -> None:
    opened = world.workspace()
    world.open(opened, question=HOSTILE, labels=("a", "b", "<script>x</script>", "d"), domain=4, epoch=HOSTILE)
    shown = statement(opened, "fruit", NOW)
    text = page(shown)
    assert "<script" not in text.lower()
    assert "\x1b" not in text
    assert list(read(text).all("script")) == []
    assert not any(ord(one) < 32 for line in lines(shown) for one in line)


def test_nothing_secret_is_stated(world: World) -> None:
    opened = world.workspace()
    kept = world.open(opened)
    shown = statement(opened, "fruit", NOW)
    text = page(shown) + json.dumps(shown.to_json()) + "\n".join(lines(shown))
    keys = opened.keys
    secrets = (PASSPHRASE, keys.identity.secret, keys.enrolment.secret, *(one.salt for one in opened.dummies(kept)))
    for secret in secrets:
        assert secret.hex() not in text
        assert secret.decode("latin-1") not in text


def test_the_command_prints_it_and_writes_the_page(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world.open(world.workspace())
    real = workspace_.Workspace.__init__

    def small(self: Workspace, config: object, **_: object) -> None:
        real(self, config, floor=FLOOR)  # type: ignore[arg-type] # what the command gave

    monkeypatch.setattr(workspace_.Workspace, "__init__", small)

    def command(*more: str) -> int:
        return run(cli.app, ["statement", "--config", str(world.file), *more], "peos analyzer")

    file = world.folder / "statement.html"
    assert command("fruit", "--html", str(file)) == 0
    said = capsys.readouterr()
    assert max(map(len, said.out.splitlines())) <= 100
    assert str(file) in said.err
    assert read(file.read_text(encoding="utf-8")).one("h1").text == "Privacy statement: fruit"
    assert command("fruit", "--json") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert [card["name"] for card in found["guarantees"][0]["cards"]] == ["ε_c", "ε_s", "ε_l"]
    assert command("other") == 2
    require_shown(capsys.readouterr().err, "input.no_collection")
    assert command("fruit", "--html", str(world.folder)) == 2
    require_shown(capsys.readouterr().err, "input.page")


def test_what_is_not_there_has_none(world: World) -> None:
    with raises("input.no_collection"):
        statement(world.workspace(), "fruit", NOW)
