"""The console's pages: what they show is what the serving process says, and what they ask for is what a command would.

Behind every page here an analyzer serves over its socket; the passphrase is taken away before the console begins.
"""

import json
import re
import time
from collections.abc import Callable
from typing import Any, Final

import pytest

from analyzer import cli
from analyzer import workspace as workspace_
from analyzer.console import forms
from analyzer.draft import draft
from analyzer.ledger import ledger_of
from analyzer.report import page as report_page
from analyzer.statement.contents import statement
from analyzer.workspace import Workspace
from peos import tabular
from peos.cli.running import run
from peos.collection.lifecycle import State
from peos.errors import Refused
from peos.privacy.guarantees import rounded_up
from peos.spec import CollectionSpec
from peos.wire.parties import decode_invitation
from tests.unit.analyzer.pages import Element, cells
from tests.unit.analyzer.site import Site
from tests.unit.analyzer.test_serving import Serving
from tests.unit.analyzer.test_statement import deliver
from tests.unit.analyzer.world import FLOOR, PASSPHRASE, Silent, World
from tests.unit.analyzer.world import request as spec_of

HOSTILE: Final = "<script>alert('1')</script> \u202eevil & \x1b[31m"
ASKED: Final = {
    "name": "trees",
    "question": "Which tree?",
    "labels": "oak\nbeech\nelm\nash",
    "users": "60",
    "delta": "1e-6",
    "eps_server": "",
    "eps_local": "3",
    "mechanism": "grr",
    "fakes": "10",
    "minimum": "20",
    "closes_in": "1h",
}


def until(there: Callable[[], bool]) -> None:
    """Wait for what another thread brings about."""
    give_up_at = time.monotonic() + 60
    while not there():
        assert time.monotonic() < give_up_at, "it never came"
        time.sleep(0.02)


def facts(page: Element) -> dict[str, str]:
    """What a page lists, by its terms."""
    return {one.one("dt").text: one.one("dd").text for each in page.all("dl", "facts") for one in each.all("div")}


def every_page(site: Site) -> dict[str, Any]:
    """All pages of a console with these collections, by their addresses."""
    paths = ("/", "/budgets", "/new", "/collections/fruit", "/collections/fruit/statement", "/collections/fruit/result")
    return {path: site.get(path) for path in (*paths, "/collections/none", "/nothing")}


def test_the_overview_and_a_collection_show_what_status_shows(site: Site, behind: Serving, world: World) -> None:
    world.open(behind.workspace, labels=("a", "b", "c", "d"))
    overview = site.get("/")
    assert overview.status == 200
    assert "fruit" in overview.text
    assert "Waiting for submissions from users, 0 of 20" in overview.text
    here = site.get("/collections/fruit")
    rows = cells(here.page.one("table", "words"))
    assert [row[:3] for row in rows] == [[f"shuffler {at} (organisation {at})", "open", "0"] for at in (1, 2, 3)]
    digest = behind.workspace.kept("fruit").digest.hex()
    assert facts(here.page)["Digest"] == digest
    assert digest in here.text
    world.shufflers[2].trust.drop()
    until(lambda: "not reached" in cells(site.get("/collections/fruit").page.one("table", "words"))[2][1])


def test_no_page_has_a_script_or_a_style_of_its_own_and_the_policy_allows_none(
    site: Site, behind: Serving, world: World
) -> None:
    kept = world.open(behind.workspace)
    deliver(world, behind.workspace, kept)
    until(lambda: behind.workspace.kept("fruit").state is State.PUBLISHED)
    for path, heard in every_page(site).items():
        policy = heard.headers["content-security-policy"]
        assert "default-src 'none'" in policy, path
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert heard.headers["x-content-type-options"] == "nosniff"
        for one in heard.page.all():
            assert not {name for name in one.attributes if name == "style" or name.startswith("on")}, one
            assert one.tag != "script" or one.attributes.get("src") == "/console.js"
        is_sealed = path.endswith(("statement", "result"))
        assert bool(list(heard.page.all("style"))) is is_sealed, (
            "the pages that stand by themselves have one, by its hash"
        )


def test_what_others_wrote_is_text_and_stands_apart(site: Site, behind: Serving, world: World) -> None:
    label = "<b onclick=x>bold</b>"
    world.open(behind.workspace, question=HOSTILE, epoch=HOSTILE, labels=(label, "b", "c", "d"))
    behind.workspace.store.move(behind.workspace.kept("fruit").digest, State.ABORTED, HOSTILE)
    for path, heard in every_page(site).items():
        assert b"<script>" not in heard.body, path
        assert b"<b onclick" not in heard.body, path
        assert b"\x1b" not in heard.body, path
    for path in ("/", "/collections/fruit"):
        isolated = "".join(one.text for one in site.get(path).page.all("bdi"))
        assert "\u202eevil" in isolated, "it turns no text around but its own"
    assert label in [one.text for one in site.get("/collections/fruit").page.all("bdi")]


def test_no_secret_is_on_any_page(site: Site, behind: Serving, world: World) -> None:
    kept = world.open(behind.workspace)
    dummies = [one.salt for one in behind.workspace.dummies(kept)]
    keys = behind.workspace.keys
    for heard in every_page(site).values():
        for secret in (PASSPHRASE, keys.identity.secret, keys.enrolment.secret, *dummies):
            assert secret not in heard.body
            assert secret.hex().encode() not in heard.body


def _command(world: World, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    """What `peos analyzer create --json` is refused with."""
    (world.folder / "away").rename(world.folder / "passphrase")
    try:
        out = str(world.folder / "out")
        assert run(cli.app, ["create", "--config", str(world.file), "--out", out, "--json", *more], "peos analyzer")
        found: dict[str, Any] = json.loads(capsys.readouterr().err.splitlines()[-1])
        return found
    finally:
        (world.folder / "passphrase").rename(world.folder / "away")


def _options(given: dict[str, str]) -> list[str]:
    options = []
    for name, value in forms.terms(given).items():
        for one in value if isinstance(value, list) else [value]:
            options += ["--label" if name == "labels" else f"--{name.replace('_', '-')}", one]
    return options


@pytest.mark.parametrize(
    ("changes", "id_"),
    [
        ({"users": "many"}, "config.value"),
        ({"question": ""}, "config.missing_key"),
        ({"name": "../../etc"}, "input.name"),
        ({"closes_in": "soon"}, "config.value"),
        ({"labels": "oak\noak"}, "document.labels"),
        ({"labels": "", "domain": ""}, "document.labels"),
        ({"mechanism": "laplace"}, "config.value"),
        (
            {"eps_local": "", "eps_server": "1e-9", "users": "20", "minimum": "10", "mechanism": "auto"},
            "plan.target_small",
        ),
    ],
)
def test_the_form_is_refused_as_the_command_is(
    site: Site,
    world: World,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, str],
    id_: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = workspace_.Workspace.__init__

    def small(self: Workspace, config: object, **_: object) -> None:
        real(self, config, floor=FLOOR)  # type: ignore[arg-type] # what the command gave

    monkeypatch.setattr(workspace_.Workspace, "__init__", small)
    given = ASKED | changes
    heard = site.post("/new", {**given, "do": "create"})
    said = _command(world, capsys, *_options(given))
    assert heard.status in (400, 403)
    assert heard.refused == said["id"], said
    assert said["id"] == id_
    shown = heard.page.one("div", "alarm").text
    for part in (said["error"][1:], said["hint"]):
        assert part in shown
    kept = {
        one.attributes["name"]: one.attributes.get("value") for one in heard.page.all("input") if "id" in one.attributes
    }
    assert kept["users"] == given["users"], "what was typed stays"
    assert [shuffler.proposals for shuffler in world.shufflers] == [0, 0, 0]


def test_a_plan_is_the_planners_and_keeps_nothing(site: Site, behind: Serving) -> None:
    spec = CollectionSpec(
        name="trees",
        question="?",
        labels=("oak", "beech", "elm", "ash"),
        users=60,
        delta=1e-6,
        eps_local=3.0,
        mechanism="grr",
        fakes="10",
        minimum=20,
    )
    plan = spec.plan(3)
    for path, given in (("/plan", {}), ("/plan", {"name": "", "question": ""}), ("/new", {"do": "plan"})):
        heard = site.post(path, ASKED | given)
        assert heard.status == 200
        rows = cells(heard.page.one("table", "claims"))
        claims = plan.guarantees
        assert [row[1] for row in rows] == [
            rounded_up(one) for one in (claims.server.epsilon, claims.users.epsilon, claims.local)
        ]
        assert f"± {100 * plan.stderr:.2g}" in heard.text
        assert float(rows[0][2]) >= claims.server.epsilon, "fewer users hide less"
    assert behind.workspace.store.all() == []


def test_the_form_creates_what_the_command_would(site: Site, behind: Serving) -> None:
    heard = site.post("/new", {**ASKED, "do": "create"})
    assert (heard.status, heard.headers["location"]) == (303, "/collections/trees")
    workspace = behind.workspace
    until(lambda: workspace.kept("trees").state is State.OPEN)
    kept = workspace.kept("trees")
    document = workspace.signed(kept).document
    assert document.labels == ("oak", "beech", "elm", "ash")
    assert (document.minimum, document.fakes, document.mechanism.name) == (20, 10, "grr")
    spec = CollectionSpec(
        name="trees",
        question="Which tree?",
        labels=document.labels,
        users=60,
        delta=1e-6,
        eps_local=3.0,
        mechanism="grr",
        fakes="10",
        minimum=20,
        closes_in=3600,
    )
    assert kept.request == spec.encode(), "the command with these options goes on with it"
    again = site.post("/new", {**ASKED, "do": "create"})
    assert again.status == 303
    assert len(workspace.store.all()) == 1
    other = site.post("/new", {**ASKED, "users": "61", "do": "create"})
    assert (other.status, other.refused) == (400, "collection.other_parameters")
    invitation = site.get("/collections/trees/invitation")
    assert decode_invitation(invitation.body).collection == kept.digest
    assert "attachment" in invitation.headers["content-disposition"]


def test_why_a_shuffler_refuses_is_shown_and_it_can_be_asked_again(site: Site, behind: Serving, world: World) -> None:
    world.shufflers[1].refuse_proposals = Refused("policy.duration", "the collection lasts longer than a day")
    site.post("/new", {**ASKED, "do": "create"})
    until(lambda: "lasts longer than a day" in site.get("/collections/trees").text)
    assert "shuffler 2 (organisation 2)" in site.get("/collections/trees").text
    world.shufflers[1].refuse_proposals = None
    assert site.post("/collections/trees/go-on").status == 303
    until(lambda: behind.workspace.kept("trees").state is State.OPEN)


def test_a_draft_of_an_earlier_process_is_gone_on_with(site: Site, behind: Serving, world: World) -> None:
    draft(behind.workspace, spec_of(), Silent())
    here = site.get("/collections/fruit")
    assert [one.attributes["action"] for one in here.page.all("form")] == ["/collections/fruit/go-on"]
    assert site.post("/collections/fruit/go-on").status == 303
    until(lambda: behind.workspace.kept("fruit").state is State.OPEN)
    assert world.shufflers[0].proposals >= 1


@pytest.mark.parametrize("behind", [3.0], indirect=True)
def test_a_budget_that_is_spent_is_a_refusal_of_plan_and_form(site: Site, behind: Serving, world: World) -> None:
    world.open(behind.workspace)
    assert site.post("/plan", ASKED).refused == "budget.spent"
    heard = site.post("/new", {**ASKED, "do": "create"})
    assert (heard.status, heard.refused) == (403, "budget.spent")
    assert "spent by fruit" in heard.text
    assert [one.name for one in behind.workspace.store.all()] == ["fruit"]
    assert site.post("/plan", ASKED | {"population": "staff"}).refused == ""


def test_budgets_are_the_ledgers(site: Site, behind: Serving, world: World) -> None:
    for name in ("spring", "summer"):
        world.open(behind.workspace, name=name, question=f"{name}?", population="staff")
    heard = site.get("/budgets")
    budget = behind.workspace.config.budget
    assert budget is not None
    book = ledger_of(behind.workspace, "staff", budget)
    rows = cells(heard.page.one("table"))
    assert [row[0] for row in rows] == ["spring", "summer"]
    assert rows[-1][2] == rounded_up(book.spent.epsilon)
    assert f"ε = {rounded_up(book.spent.epsilon)} of 50" in heard.text
    (drawn,) = heard.page.all("svg")
    assert len(list(drawn.all("circle"))) == 7, "two steps, what is spent now, and the budget's two ends"


def test_results_and_statements_are_those_of_the_commands(site: Site, behind: Serving, world: World) -> None:
    workspace = behind.workspace
    kept = world.open(workspace)
    early = site.get("/collections/fruit/result")
    assert early.refused == "result.not_yet"
    assert "waiting for" in early.text
    deliver(world, workspace, kept)
    until(lambda: workspace.kept("fruit").state is State.PUBLISHED)
    result = json.loads(workspace.kept("fruit").result or "")
    assert json.loads(site.get("/collections/fruit/result.json").body) == result
    assert site.get("/collections/fruit/result.csv").body.decode() == tabular.of_result(result).to_csv()
    assert site.get("/collections/fruit/result.parquet").body == tabular.of_result(result).to_parquet()
    assert site.get("/collections/fruit/result").body.decode() == report_page(result)
    stated = json.loads(site.get("/collections/fruit/statement.json").body)
    assert stated["guarantees"] == json.loads(json.dumps(statement(workspace, "fruit", 0).to_json()))["guarantees"]
    assert site.get("/collections/fruit/statement").page.one("h1").text == "Privacy statement: fruit"
    assert [one.event for one in workspace.store.audit_log()].count("result read") == 4


def test_what_is_not_there_is_said(site: Site) -> None:
    assert (site.get("/collections/none").status, site.get("/collections/none").refused) == (404, "input.no_collection")
    assert site.get("/studies/none").refused == "study.none"
    for path in ("/nothing", "/collections/../../etc/passwd", "/collections/a b", "/console.css/x"):
        assert site.get(path).refused == "console.address", path
    assert site.ask("DELETE", "/").refused == "console.address"


def test_without_the_behind_process_a_page_says_so(site: Site, behind: Serving) -> None:
    behind.stop()
    heard = site.get("/")
    assert heard.status == 502
    assert re.match(r"network\.", heard.refused)
    assert "serving process" in heard.text
