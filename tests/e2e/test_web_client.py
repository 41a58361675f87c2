"""The client for browsers in a real one, against real processes: one page, and many users next to Python's."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from peos.ending import ends_with_this
from peos.localcluster import HOST
from peos.net.browsers import browsers
from peos.net.submit import describe
from peos.wire.parties import decode_invitation
from tests.e2e.town import EPSILON, PATIENCE, digest_of, until
from tests.e2e.web_town import WebTown, web_town
from tests.recorder import Heard, Hello

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.full]

PETS: Final = ("nobody", "a dog", "a cat", "a fish", "another animal")
EACH: Final = 200  # users of a kind
TRUST_ANCHORS: Final = 51764  # an extension that Chromium has from 152 on
SENT: Final = "Sent. Thank you."

# A page's own client without a worker, so that the browser's switch for the network reaches it.
CLIENT: Final = """
const { Client, Forgetful, hex } = await import("/library.js");
const invitation = new Uint8Array(await (await fetch("invitation")).arrayBuffer());
const options = await (await fetch("config.json")).json();
"""
MANY: Final = (
    CLIENT
    + """
const [tickets, values] = given, results = [];
const one = async (at) => {
    const client = await Client.create({ ...options, user: `user ${at}` });
    const collection = await client.open(invitation);
    return await collection.submit(values[at], tickets[at]);
};
let next = 0;
const lane = async () => { while (next < tickets.length) { const at = next++; results[at] = await one(at); } };
await Promise.all(Array.from({ length: 8 }, lane));
return results.filter(({ accepted, repeated }) => accepted && !repeated).length;
"""
)
# Another client on the same storage: what a second tab is.
SECOND: Final = """async (ticket) => {
    const collection = await (await Client.create(options)).open(invitation);
    return await collection.submit("a cat", ticket);
}"""
STATE: Final = "document.getElementById('state').textContent"


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebTown]:
    """One town for all tests here."""
    with web_town(tmp_path_factory.mktemp("web")) as made:
        yield made


def asked(web: WebTown, name: str, *, users: int = 10, domain: int = len(PETS)) -> list[str]:
    """A collection with labels, and tickets for it."""
    labels = [word for label in PETS[:domain] for word in ("--label", label)]
    ran = web.town.ask(name, "--mechanism", "grr", "--scheme", "jl", *labels, domain=domain, users=users)
    assert ran.code == 0, ran.err
    return web.town.tickets(f"{name}-web", users, of=name).read_text(encoding="utf-8").split()


def studied(web: WebTown, name: str, *, users: int) -> list[str]:
    """A study of one round about a table of two attributes, and tickets for it."""
    schema = web.town.folder / f"{name}.toml"
    schema.write_text('smokes = ["no", "yes"]\nage = {from = 0, to = 3}\n', encoding="utf-8")
    config = ("--config", web.town.analyzer.config)
    wanted = (
        "--users",
        users,
        "--delta",
        "1e-6",
        "--eps-local",
        EPSILON,
        "--fakes",
        0,
        "--minimum",
        4,
        "--scheme",
        "jl",
    )
    task = ("--task", "marginals", "--schema", schema, "--ways", 2)
    ran = web.town.run("study", "create", *config, "--name", name, *task, *wanted)
    assert ran.code == 0, ran.err
    file = web.town.folder / f"{name}.tickets"
    ran = web.town.run("enrol", *config, "--study", name, "--count", users, "--out", file)
    assert ran.code == 0, ran.err
    return file.read_text(encoding="utf-8").split()


@contextmanager
def running(web: WebTown, study: str) -> Iterator[None]:
    """`peos study run` in the background, from its first invitation to its end."""
    words = ("study", "run", "--config", web.town.analyzer.config, "--out", web.town.folder, study)
    command = [sys.executable, "-m", "peos.cli", *map(str, words)]
    with subprocess.Popen(command, env=ends_with_this()) as run:  # noqa: S603 # our own command line
        try:
            until(lambda: web.town.invitation(f"{study}.1").exists() or run.poll() is not None, "an invitation")
            yield
            assert run.wait(PATIENCE) == 0
        finally:
            run.kill()


def opened(web: WebTown, name: str, **options: object) -> str:
    """Visit a page until it asks its question, and does nothing more by itself; its address."""
    address = web.publish(name, **options)
    web.browser.visit(address)
    until(lambda: web.browser.ask("!document.getElementById('form').hidden"), "a question on the page")
    return address


def fill(web: WebTown, answer: str, ticket: str) -> None:
    """Answer as a person does."""
    web.browser.ask(f"document.querySelector('input[value={json.dumps(answer)}]').click()")
    web.browser.ask(f"document.getElementById('ticket').value = {json.dumps(ticket)}")
    web.browser.ask("document.getElementById('send').click()")


def wait_for(web: WebTown, words: str) -> None:
    """Until the page says so."""
    until(lambda: words in web.browser.ask(STATE), words, patience=60)


def test_browsers_and_python_answer_one_collection_and_every_answer_comes_out_once(web: WebTown) -> None:
    """`peos client` and the browser share a collection; the published counts are the answers' multiset."""
    tickets = asked(web, "both", users=2 * EACH)
    values = [at % 3 + (at % 7 == 0) for at in range(EACH)]
    opened(web, "both")
    assert web.browser.run(MANY, tickets[:EACH], [PETS[value] for value in values]) == EACH
    python = [4 - at % 4 for at in range(EACH)]
    web.town.answer("both", python)
    web.town.freeze("both")
    result = web.town.result("both")
    counted = np.array(result["frequency"]) * 2 * EACH
    assert result["users"] == 2 * EACH
    assert np.rint(counted).tolist() == np.bincount(values + python, minlength=len(PETS)).tolist()
    assert np.abs(counted - np.rint(counted)).max() < 0.01
    by_web = [int(address.rpartition(":")[2]) for address in web.addresses.values()]
    by_grpc = [web.town.cluster.ports[shuffler.name][0] for shuffler in web.town.shufflers]
    sent = {port for _, port in web.proxy.asked}
    assert sent == {*by_web, *by_grpc}, "dummies came as browsers' reports do, and as Python's"


def test_a_shuffler_sees_in_a_dummy_what_it_sees_in_a_person(web: WebTown) -> None:
    """What JA4 is made of, and the requests with all of their headers, of the page in a real browser and of dummies."""
    tickets = asked(web, "alike")
    before = [len(one.heard) for one in web.recorders]
    for recorder in web.recorders:
        recorder.hang_up()  # what other tests left open
    opened(web, "alike")
    fill(web, "a cat", tickets[0])
    wait_for(web, SENT)
    web.town.answer("alike", [0, 1, 2, 3, 4])
    web.town.freeze("alike")
    newer = {TRUST_ANCHORS} - {TRUST_ANCHORS if "chrome152" in browsers() else 0}
    for recorder, start in zip(web.recorders, before, strict=True):
        heard = recorder.heard[start:]
        person, dummy = ([one for one in heard if one.source == source] for source in (HOST, web.proxy.source))
        assert requests(person) == requests(dummy)
        assert requests(person).keys() == {"GET", "OPTIONS", "POST"}
        (hers,), (its,) = ({replace(Hello.parse(one.hello), resumes=False) for one in of} for of in (person, dummy))
        assert set(hers.extensions) - set(its.extensions) <= newer
        assert replace(hers, extensions=()) == replace(its, extensions=())
        assert set(its.extensions) <= set(hers.extensions)
        assert not any(Hello.parse(one.hello).resumes for one in dummy)


def requests(heard: list[Heard]) -> dict[str, set[tuple[tuple[str, str], ...]]]:
    """The headers of each kind of request, in their order, with their values as far as they are not of one browser."""
    found: dict[str, set[tuple[tuple[str, str], ...]]] = {}
    own = dict.fromkeys(("User-Agent", "Content-Length"), "")
    for line, headers in (one for connection in heard for one in connection.requests):
        said = tuple((name, own.get(name, value)) for name, value in headers.items())
        found.setdefault(line.split()[0].decode(), set()).add(said)
    return found


def test_a_person_reads_what_is_asked_answers_and_is_recognised(web: WebTown) -> None:
    tickets = asked(web, "page")
    address = opened(web, "page")
    fill(web, "a dog", tickets[0])
    wait_for(web, SENT)
    said = web.browser.ask("document.getElementById('sentences').innerText")
    assert all(
        words in said for words in ("the question page", "shuffler-1, shuffler-2 and shuffler-3", "of 100 cases")
    )
    assert web.browser.ask("document.getElementById('question').textContent") == "the question page"
    web.browser.visit(address)  # a second visit
    wait_for(web, "This device has answered.")
    again = web.browser.run(CLIENT + f"return await ({SECOND})(given[0]);", tickets[1])
    assert again["error"]["id"] == "consent.answered"  # another ticket does not make another answer
    same = web.browser.run(CLIENT + f"return await ({SECOND})(given[0]);", tickets[0])
    assert same == {"accepted": True, "repeated": True, "refusals": []}


def test_nothing_keeps_people_from_the_page_on_a_phone_or_a_desk(web: WebTown, tmp_path: Path) -> None:
    """Before an answer and after a refusal; the pictures are for people to look at."""
    asked(web, "fit")
    opened(web, "fit")
    for said in ("question", "refusal"):
        if said == "refusal":
            fill(web, "a fish", "no ticket")
            wait_for(web, "the ticket cannot be read")
        for width, theme in product((360, 1280), ("light", "dark")):
            web.browser.screen(width=width, height=800, theme=theme)
            assert web.browser.barriers() == [], (said, width, theme)
            assert web.browser.ask("document.documentElement.scrollWidth") <= width
            web.browser.picture(tmp_path / f"{said}-{width}-{theme}.png")
    web.browser.ask("document.getElementById('question').replaceChildren()")
    assert web.browser.barriers(), "a heading without words would be found"


def test_a_page_asks_for_a_record_in_a_round_of_a_study(web: WebTown) -> None:
    """One table of two attributes, so that the answer's counts are exactly those of the records."""
    people = [{"smokes": "yes" if at % 3 else "no", "age": at % 4} for at in range(EACH // 10)]
    tickets = studied(web, "habits", users=len(people))
    with running(web, "habits"):
        address = web.publish("habits.1", attributes=["smokes", "age"])
        web.pages.files["/later.js"] = (web.pages.find("/later.js") or b"") + b"// one line more"
        web.browser.visit(address)
        until(lambda: web.browser.ask("document.getElementById('state').dataset.kind") == "error", "a refusal")
        del web.pages.files["/later.js"]
        opened(web, "habits.1", attributes=["smokes", "age"])
        assert "This is round 1 of a study" in web.browser.ask("document.getElementById('sentences').innerText")
        web.browser.ask(f"document.querySelector('textarea').value = {json.dumps(json.dumps(people[0]))}")
        web.browser.ask(f"document.getElementById('ticket').value = {json.dumps(tickets[0])}")
        web.browser.ask("document.getElementById('send').click()")
        wait_for(web, SENT)
        assert web.browser.run(MANY, tickets[1:], people[1:]) == len(people) - 1
        web.town.freeze("habits.1")
        web.town.result("habits.1")
        verified = web.browser.run(CLIENT + "return await (await Client.create(options)).verify(invitation);")
        assert verified == {"counted": True, "findings": []}
        web.browser.visit(f"{web.pages.origin}/habits.1/")
        wait_for(web, "This device has answered.")
        assert web.browser.barriers() == []
        web.browser.ask("document.getElementById('verify').click()")
        wait_for(web, "Your report was counted")
    answer = web.town.run("study", "result", "--config", web.town.analyzer.config, "--json", "habits").json
    counted = np.rint(np.array(answer["frequency"]) * len(people)).astype(int).tolist()
    held = Counter(f"smokes {one['smokes']}, age {one['age']}" for one in people)
    assert {label: count for label, count in zip(answer["labels"], counted, strict=True) if count} == held


def test_of_two_tabs_one_makes_the_report_and_both_send_it(web: WebTown) -> None:
    tickets = asked(web, "tabs")
    opened(web, "tabs")
    script = CLIENT + f"const tab = {SECOND}; return await Promise.all([tab(given[0]), tab(given[0]), tab(given[0])]);"
    found = web.browser.run(script, tickets[0])
    assert [one["accepted"] for one in found] == [True] * 3
    assert sorted(one["repeated"] for one in found) == [False, True, True]
    two = CLIENT + (
        f"const tab = {SECOND}; const all = await Promise.allSettled([tab(given[0]), tab(given[1])]);"
        "return all.map(one => one.value ?? one.reason.id);"
    )
    assert web.browser.run(two, *tickets[1:3]) == ["consent.answered", "consent.answered"]


def test_who_comes_after_an_early_close_is_told_so_and_charged_nothing(web: WebTown) -> None:
    """The shufflers have closed, and deliver to no analyzer yet: a page and Python's client new to it send nothing."""
    town, spent = web.town, "return (await (await Client.create(options)).ledger()).spent;"
    tickets = asked(web, "early", users=12)
    town.answer("early", [at % len(PETS) for at in range(10)])
    page = opened(web, "early")
    town.analyzer.stop()
    try:
        town.freeze("early")
        late = web.browser.run(CLIENT + f"return await ({SECOND})(given[0]);", tickets[0])
        assert late["error"]["id"] == "consent.closed"
        web.browser.visit(page)
        wait_for(web, "takes no more answers")
        assert web.browser.ask("document.getElementById('form').hidden")
        assert web.browser.run(CLIENT + spent) == 0
        client = town.cluster.client("late", most_eps_local=2 * EPSILON, budget=2 * EPSILON)
        config, invited = ("--config", client.config), ("--invitation", town.invitation("early"))
        ran = town.run("client", "submit", *config, *invited, "--ticket", tickets[1], "--value", "a cat")
        assert (ran.code, ran.err.rstrip().rpartition(" ")[2]) == (3, "[consent.closed]"), ran
        assert town.run("client", "ledger", *config, "--json").json["spent"] == 0
    finally:
        town.cluster.restart(town.analyzer)
    assert town.result("early")["users"] == 10


def test_without_a_network_the_report_is_kept_and_the_same_one_is_sent_later(web: WebTown) -> None:
    tickets = asked(web, "offline")
    opened(web, "offline")
    script = CLIENT + "window.collection = await (await Client.create(options)).open(invitation); return null;"
    assert web.browser.run(script) is None
    web.browser.offline(True)
    try:
        failed = web.browser.run("return await collection.submit('a dog', given[0], { deadline: 500 });", tickets[0])
        assert failed["error"]["id"] == "submit.time_over"
        assert web.browser.run("return await collection.answered();") == "sending"
    finally:
        web.browser.offline(False)
    web.browser.visit(f"{web.pages.origin}/offline/")  # the page sends by itself what an earlier visit could not
    wait_for(web, "the answer of your first visit")


def test_a_shuffler_that_is_down_is_named_and_waited_for(web: WebTown) -> None:
    tickets = asked(web, "down")
    opened(web, "down")
    web.browser.run(CLIENT + "window.collection = await (await Client.create(options)).open(invitation); return null;")
    web.town.shufflers[1].stop()
    try:
        script = (
            "window.waits = []; window.sending = collection.submit('a cat', given[0],"
            " { deadline: 100000, onWait: (words) => waits.push(words) }); return null;"
        )
        assert web.browser.run(script, tickets[0]) is None
        until(lambda: web.browser.ask("waits.length > 1"), "a sentence about the shuffler")
        assert "shuffler 2 (shuffler-2)" in web.browser.ask("waits[0]")
    finally:
        web.town.cluster.restart(web.town.shufflers[1])
    assert web.browser.run("return await sending;") == {"accepted": True, "repeated": False, "refusals": []}


def test_another_document_at_one_shuffler_is_refused_before_anything_is_sent(web: WebTown) -> None:
    tickets = asked(web, "one")
    asked(web, "other")
    other = decode_invitation(web.town.invitation("other").read_bytes())
    digest = digest_of(web.town, "one")
    web.pages.files[f"/lies/v1/collections/{digest}"] = describe(other.shufflers[2], other.collection).signed
    *honest, last = web.addresses.items()
    address = web.publish("one", shufflers=dict([*honest, (last[0], f"{web.pages.origin}/lies")]))
    web.browser.requested()  # by other tests
    web.browser.visit(address)
    wait_for(web, "shuffler 3 (shuffler-3): describes another collection than the invitation")
    assert web.browser.ask("document.getElementById('form').hidden")
    assert web.browser.run(CLIENT + f"return await ({SECOND})(given[0]);", tickets[0])["error"]["id"] == (
        "consent.other_document"
    )
    asked_for = web.browser.requested()
    assert any("/v1/collections/" in address for address in asked_for)
    assert not any("/v1/parts" in address for address in asked_for)


def test_a_stranger_among_the_shufflers_and_terms_beyond_her_limits_are_refused(web: WebTown) -> None:
    asked(web, "limits")
    changes: list[tuple[dict[str, Any], str]] = [
        ({"shufflers": dict(list(web.addresses.items())[:2])}, "is not among the organisations that are trusted"),
        ({"mostEpsLocal": EPSILON - 1}, "its ε_l is"),
        ({"leastFakes": 7}, "it has 0 fakes, you ask for 7"),
    ]
    for options, words in changes:
        web.browser.visit(web.publish("limits", **options))
        wait_for(web, words)


def test_what_is_asked_twice_costs_twice_and_a_budget_ends(web: WebTown) -> None:
    first, second = asked(web, "first"), asked(web, "second")
    for name, tickets, words in (("first", first, SENT), ("second", second, "and of the budget of 30")):
        opened(web, name, store="shared", budget=30)
        fill(web, "a fish", tickets[0])
        wait_for(web, words)
    assert "has spent 24 of its budget of 30" in web.browser.ask("document.getElementById('budget').textContent")


def test_after_wiped_storage_the_ticket_still_fits_once(web: WebTown) -> None:
    tickets = asked(web, "wiped")
    opened(web, "wiped")
    assert web.browser.run(CLIENT + f"return await ({SECOND})(given[0]);", tickets[0])["accepted"]
    forgotten = CLIENT + (
        "const client = await Client.create(options, { memory: new Forgetful() });"
        "return await (await client.open(invitation)).submit('nobody', given[0]);"
    )
    found = web.browser.run(forgotten, tickets[0])
    assert not found["accepted"]
    assert {one["id"] for one in found["refusals"]} == {"submit.ticket_used"}


def test_a_script_that_was_changed_is_not_run(web: WebTown) -> None:
    asked(web, "script")
    address = web.publish("script")
    web.pages.files["/worker.js"] = (web.pages.find("/worker.js") or b"") + b"// one line more"
    try:
        web.browser.visit(address)
        until(lambda: web.browser.ask("document.getElementById('state').dataset.kind") == "error", "a refusal")
        assert web.browser.ask("document.getElementById('form').hidden")
    finally:
        del web.pages.files["/worker.js"]
    web.pages.files["/script/page.js"] = (web.pages.find("/script/page.js") or b"") + b"// one line more"
    web.browser.visit(address)
    assert web.browser.ask(STATE) == "Asking the shufflers what is asked …"
