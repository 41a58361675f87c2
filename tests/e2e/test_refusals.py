"""What people do wrong, and what an analyzer might do on purpose: one sentence each, and nothing is sent."""

import asyncio
import json
import shutil
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest

from analyzer.config import read
from analyzer.draft import draft
from analyzer.shuffler_clients import ShufflerClients
from analyzer.store import CollectionRow
from analyzer.workspace import Workspace
from peos.cli.progress import Progress
from peos.localcluster import Party
from peos.spec import CollectionSpec
from peos.wire.parties import encode_invitation
from tests.e2e.town import Ran, Town, command, here
from tests.e2e.whole_run import DOMAIN, USERS, Concluded
from tests.raising import require_shown


def require_refused(ran: Ran, code: int, id_: str, *says: str, after: bool = False) -> None:
    """A refusal as people should get it: one line on standard error, `after` others perhaps, and nothing else."""
    assert (ran.code, ran.out) == (code, ""), ran
    assert "Traceback" not in ran.err
    lines = ran.err.splitlines()
    assert after or len(lines) == 1, ran.err
    require_shown(lines[-1], id_, *says)


def drafted(workspace: Workspace, name: str) -> CollectionRow:
    """A collection of its own key; the question is the same for all of them."""
    asked = CollectionSpec(
        name=name,
        question="which?",
        epoch="now",
        domain=8,
        users=4,
        delta=1e-6,
        eps_local=4.0,
        fakes="8",
        mechanism="grr",
        minimum=2,
        closes_in=600,
        shuffle_within=600,
        erase_within=600,
    )
    return draft(workspace, asked, Progress())


def proposed(workspace: Workspace, kept: CollectionRow, to: set[int]) -> None:
    """Taken by these shufflers, and by no other."""

    async def to_them() -> None:
        async with ShufflerClients(workspace.keys, workspace.proposal(kept).cards[:-1]) as peers:
            assert not await peers.propose(kept.proposal, to)

    asyncio.run(to_them())


def require_nothing_sent(town: Town, client: Party, collections: Sequence[str]) -> None:
    """No shuffler holds a report, and the user has neither prepared nor spent anything."""
    assert here("client", "status", "--config", client.config, "--json").json == []
    ledger = here("client", "ledger", "--config", client.config, "--json").json
    assert (float(ledger["spent"]), ledger["charges"], ledger["others"]) == (0.0, [], [])
    for shuffler in town.cluster.shufflers if collections else ():
        lines = here("shuffler", "status", "--config", shuffler.config, "--json").json
        assert not any(line["reports"] for line in lines if line["collection"] in collections)


def test_a_user_who_would_get_a_document_of_her_own_sends_nothing(concluded: Concluded, tmp_path: Path) -> None:
    town = concluded.town
    workspace = Workspace(read(town.analyzer.config))
    try:
        ours, hers = drafted(workspace, "for-all"), drafted(workspace, "for-one")
        assert ours.digest != hers.digest
        proposed(workspace, ours, {1, 2})
        proposed(workspace, hers, {3})
        invitations = {}
        for kept in (ours, hers):
            invitations[kept.name] = tmp_path / f"{kept.name}.invitation"
            signed_cards = workspace.proposal(kept).signed_cards[:-1]
            invitations[kept.name].write_bytes(encode_invitation(kept.digest, signed_cards))
    finally:
        workspace.close()
    ticket = town.tickets("for-all", 1)
    client = town.cluster.client("wary", budget=100.0)
    for name, stranger in (("for-all", "shuffler-3"), ("for-one", "shuffler-1")):
        words = ("--invitation", invitations[name], "--ticket-file", ticket, "--value", 1)
        ran = here("client", "submit", "--config", client.config, *words)
        require_refused(ran, 3, "collection.unknown_here", stranger)
    require_nothing_sent(town, client, [ours.digest.hex(), hers.digest.hex()])


def test_shufflers_that_a_user_does_not_know_are_sent_nothing(concluded: Concluded) -> None:
    town = concluded.town
    created = town.ask("pinned", "--mechanism", "grr", domain=DOMAIN, users=USERS)
    assert created.code == 0, created.err
    ticket = town.tickets("pinned", 1)
    known = town.cluster.identities()

    id_ = bytes.fromhex(ticket.read_text(encoding="ascii").partition(":")[0])

    def held() -> list[bool]:
        """Whether each shuffler has a part of hers on its disk; the analyzer's dummies come as they are due."""
        folders = [shuffler.folder / "state" / "submissions" for shuffler in town.cluster.shufflers]
        return [any(id_ in path.read_bytes() for path in folder.glob("*.sqlite*")) for folder in folders]

    client = town.cluster.client("careful", most_eps_local=48.0, budget=48.0)
    pins = client.config.read_text(encoding="utf-8")
    words = ("--invitation", town.invitation("pinned"), "--ticket-file", ticket, "--value", 1)
    client.config.write_text(pins.replace(known[1], "ab" * 32), encoding="utf-8")
    ran = here("client", "submit", "--config", client.config, *words)
    require_refused(ran, 3, "consent.untrusted", "shuffler 2 (shuffler-2)", known[1])
    assert held() == [False] * 3
    require_nothing_sent(town, client, [])
    client.config.write_text(pins, encoding="utf-8")  # and with the right pins the same command goes through
    sent = here("client", "submit", "--config", client.config, *words)
    assert sent.code == 0, sent.err
    assert held() == [True] * 3


def test_a_collection_that_is_over_costs_a_new_user_nothing(concluded: Concluded) -> None:
    town = concluded.town
    client = town.cluster.client("late", most_eps_local=48.0, budget=48.0)
    ticket = town.folder / "late.ticket"
    ticket.write_text((town.folder / "grr.tickets").read_text(encoding="utf-8").splitlines()[0], encoding="utf-8")
    words = ("--invitation", town.invitation("grr"), "--ticket-file", ticket, "--value", 1)
    ran = here("client", "submit", "--config", client.config, *words)
    require_refused(ran, 3, "submit.erased", "shuffler-1")
    require_nothing_sent(town, client, [])


@pytest.fixture(scope="module")
def asked(concluded: Concluded) -> Town:
    """A town with an open collection to do things wrong with."""
    town = concluded.town
    created = town.ask("open", "--mechanism", "grr", domain=DOMAIN, users=USERS)
    assert created.code == 0, created.err
    return town


@pytest.mark.parametrize("role", ["analyzer", "shuffler"])
def test_a_configuration_that_is_not_there(role: str, tmp_path: Path) -> None:
    for order in ("init", "serve", "status"):
        require_refused(here(role, order, "--config", tmp_path / "no.toml"), 2, "config.unreadable", "no.toml")


def test_a_client_without_its_configuration(tmp_path: Path) -> None:
    require_refused(here("client", "ledger", "--config", tmp_path / "no.toml"), 2, "config.unreadable", "no.toml")
    tickets = ("--collection", "x", "--count", 1, "--out", tmp_path / "t")
    require_refused(here("enrol", "--config", tmp_path / "no.toml", *tickets), 2, "config.unreadable", "no.toml")


def test_a_setting_that_does_not_exist(asked: Town, tmp_path: Path) -> None:
    client = asked.cluster.client("misspelt")
    for party, order in ((asked.analyzer, "analyzer"), (asked.cluster.shufflers[0], "shuffler"), (client, "client")):
        wrong = tmp_path / f"{order}.toml"
        wrong.write_text("colour = 3\n" + party.config.read_text(encoding="utf-8"), encoding="utf-8")
        require_refused(here(order, "status", "--config", wrong), 2, "config.unknown_key", f"{order}.toml", "colour")


def test_an_order_for_a_collection_that_is_not_there(asked: Town) -> None:
    for order in ("freeze", "abort", "status", "result"):
        require_refused(asked.analyst(order, "nowhere"), 2, "input.no_collection", "nowhere")
    for name in ("../nowhere", "no where"):
        require_refused(asked.analyst("result", name), 2, "input.name", name)
    shuffler = asked.cluster.shufflers[0].config
    require_refused(
        here("shuffler", "accept", "--config", shuffler, "0123456789"), 2, "collection.ambiguous", "0123456789"
    )


def test_a_port_that_somebody_else_has(asked: Town, tmp_path: Path) -> None:
    shuffler = asked.cluster.shufflers[0]
    config = tmp_path / "shuffler.toml"
    shutil.copy(shuffler.folder / "passphrase", tmp_path)
    with socket.socket() as taken, socket.socket() as free:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        free.bind(("127.0.0.1", 0))
        ports = asked.cluster.ports[shuffler.name]
        text = shuffler.config.read_text(encoding="utf-8")
        text = text.replace(f":{ports[0]}", f":{free.getsockname()[1]}")
        text = text.replace(f":{ports[1]}", f":{taken.getsockname()[1]}")
        config.write_text(text, encoding="utf-8")
        free.close()
        assert here("shuffler", "init", "--config", config).code == 0
        ran = command("shuffler", "serve", "--config", config)
        require_refused(ran, 2, "network.listen", f"127.0.0.1:{taken.getsockname()[1]}", after=True)  # its log


def test_an_analyzer_and_a_shuffler_start_once_in_a_folder(asked: Town) -> None:
    for role, party in (("analyzer", asked.analyzer), ("shuffler", asked.cluster.shufflers[0])):
        require_refused(command(role, "serve", "--config", party.config), 2, "store.in_use", after=True)


def test_answers_that_cannot_be_given(asked: Town, tmp_path: Path) -> None:
    client = asked.cluster.client("clumsy", most_eps_local=48.0, budget=48.0)
    good = asked.tickets("open", 3).read_text(encoding="ascii")
    tickets, values = tmp_path / "tickets.txt", tmp_path / "values.txt"
    words = ("--invitation", asked.invitation("open"), "--tickets", tickets, "--values", values)

    def submitted(ticket_lines: str, value_lines: str, *more: str) -> Ran:
        tickets.write_text(ticket_lines, encoding="ascii")
        values.write_text(value_lines, encoding="ascii")
        return here("client", "submit-file", "--config", client.config, *words, *more)

    lines = good.splitlines(keepends=True)
    spoilt = lines[0] + "not a ticket\n" + lines[2]
    require_refused(submitted(spoilt, "1\n2\n3\n"), 2, "input.lines", "tickets.txt, line 2")
    outside = f"1\n{DOMAIN}\n3\n"
    require_refused(submitted(good, outside), 2, "input.answers", "values.txt, line 2", f"0 to {DOMAIN - 1}")
    require_refused(submitted(good, "1\ntwo\n3\n"), 2, "input.answers", "values.txt, line 2", f"0 to {DOMAIN - 1}")
    require_refused(submitted(lines[0] * 2, "1\n2\n"), 2, "input.answers", "tickets.txt, line 2", "twice")
    forged = lines[0][:-2] + ("0" if lines[0][-2] != "0" else "1") + "\n"
    require_refused(submitted(forged, "1\n"), 2, "input.answers", "tickets.txt, line 1", "not valid")
    ran = submitted(good, "1\ntwo\n3\n", "--json")
    assert (ran.code, ran.out) == (2, "")
    assert set(json.loads(ran.err)) == {"id", "error", "where", "hint"}
    require_nothing_sent(asked, client, [])


def test_the_same_name_with_other_parameters(asked: Town) -> None:
    again = asked.ask("open", "--mechanism", "grr", domain=DOMAIN, users=USERS)
    assert again.code == 0, "the same parameters go on with it"
    other = asked.ask("open", "--mechanism", "grr", domain=DOMAIN + 1, users=USERS)
    require_refused(other, 2, "collection.other_parameters", "open")


def test_what_a_shufflers_operator_does_not_allow(asked: Town) -> None:
    ran = asked.ask("weak", "--mechanism", "grr", "--minimum", 1, domain=DOMAIN, users=8)
    require_refused(ran, 3, "policy.minimum", "1", "2", after=True)
    assert not asked.invitation("weak").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("analyzer", "result", "--config", "no.toml", "x"),
        ("analyzer", "create", "--config", "no.toml"),
        ("shuffler", "status", "--config", "no.toml"),
        ("client", "status", "--config", "no.toml"),
        ("plan", "--users", "0", "--domain", "4", "--delta", "1e-6"),
        ("demo", "--scheme", "rot13"),
    ],
)
def test_with_json_errors_are_objects(words: tuple[str, ...], tmp_path: Path) -> None:
    ran = command(*words, "--json", folder=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    told = json.loads(ran.err)
    assert set(told) == {"id", "error", "where", "hint"}
    assert told["error"]
    assert told["where"].startswith(f"peos {words[0]}")
