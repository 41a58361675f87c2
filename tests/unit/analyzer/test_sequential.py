"""An analyzer that asks for a sequential shuffle: its document, its fakes, its page."""

from dataclasses import replace

import pytest
from rich.console import Console

from analyzer.draft import draft
from analyzer.report import page
from analyzer.result import show
from analyzer.status import status
from analyzer.workspace import Workspace
from peos.collection.document import Document
from peos.collection.lifecycle import State
from peos.crypto.onion import ONION, OnionPrivateKey
from peos.ldp import GRR
from peos.privacy.sequential import WEAKER, remaining, sequential_guarantees
from peos.protocols.sequential import SEQUENTIAL
from peos.wire.parties import sign_card
from tests.raising import raises
from tests.unit.analyzer.pages import FAKES, made, read
from tests.unit.analyzer.world import Silent, World, request

SS = {"protocol": SEQUENTIAL.name, "scheme": None}


def drafted(workspace: Workspace, **changes: object) -> Document:
    """The document of a request for a sequential shuffle."""
    return workspace.signed(draft(workspace, request(**(SS | changes)), Silent())).document


def test_the_document_has_the_shufflers_points_and_one_of_its_own(world: World) -> None:
    workspace = world.workspace()
    document = drafted(workspace)
    assert document.onion_keys == tuple(OnionPrivateKey.of(one.identity).point for one in world.shufflers)
    kept = workspace.kept("fruit")
    private = workspace.private_key(kept)
    assert isinstance(private, OnionPrivateKey)
    assert private.point == document.public_key
    assert kept.words.splitlines()[:-1] == list(document.claims(60).in_words())
    assert draft(workspace, request(**SS), Silent()).digest == kept.digest, "asked again, it goes on"


def test_two_collections_have_two_keys(world: World) -> None:
    workspace = world.workspace()
    assert drafted(workspace).public_key != drafted(workspace, name="nuts").public_key


def test_whoever_asks_for_it_is_told_that_it_protects_less(world: World) -> None:
    workspace, progress = world.workspace(), Silent()
    draft(workspace, request(**SS), progress)
    assert progress.told[0] == WEAKER
    draft(workspace, request(name="peos"), progress)
    assert progress.told.count(WEAKER) == 1


def test_a_terminal_shows_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    found = made(12)
    show(found, Console(width=400))
    assert "sequential" not in capsys.readouterr().out
    show(found | {"parameters": found["parameters"] | {"protocol": SEQUENTIAL.name}}, Console(width=400))
    assert WEAKER[1:] in capsys.readouterr().out


def test_while_it_is_opened_no_inspection_is_waited_for(world: World) -> None:
    workspace = world.workspace()
    kept = draft(workspace, request(**SS), Silent())
    for state in (State.OPEN, State.DELIVERED):
        workspace.store.move(kept.digest, state)
    workspace.store.progress(kept.digest, 10, 10)
    (line,) = status(workspace, [workspace.kept("fruit")])
    assert line.here.waiting.step == "decryption"


def test_fakes_that_were_asked_for_stay_and_those_of_a_plan_are_scaled_up(world: World) -> None:
    workspace = world.workspace()
    assert drafted(workspace, fakes="30").fakes == 30
    planned = {"fakes": "auto", "eps_users": 2.0, "eps_server": 2.0, "users": 400, "minimum": 200}
    peos = workspace.signed(draft(workspace, request(name="peos", **planned), Silent())).document
    document = drafted(workspace, name="ss", **planned)
    assert peos.fakes > 0
    assert remaining(document.fakes, 3, 1) >= peos.fakes > remaining(document.fakes - 1, 3, 1)
    assert document.claims(400).users.epsilon <= 2.0


def test_a_card_without_an_onion_key_is_refused_with_what_to_do(world: World) -> None:
    shuffler = world.shufflers[1]
    old = sign_card(replace(shuffler.card, onion_key=b""), shuffler.identity)
    (world.folder / "2.card").write_bytes(old)
    with raises("card.no_onion_key", shuffler.name) as caught:
        drafted(world.workspace())
    assert "peos shuffler init" in caught.value.hint


def test_a_protocol_that_does_not_exist_is_refused() -> None:
    with raises("config.value", "peos", "ss", "'tor'"):
        request(protocol="tor")


def test_the_page_says_that_it_protects_less_and_shows_every_claim() -> None:
    claims = sequential_guarantees(GRR(12, 4.0), 5000, FAKES, 1e-6, 3)
    peos = made(12)
    said = {**claims.to_json(), "coalitions": list(claims.in_words())}
    parameters = peos["parameters"] | {"protocol": SEQUENTIAL.name, "scheme": ONION}
    shown = read(page(peos | {"guarantees": said, "parameters": parameters, "inspection": None})).text
    for sentence in claims.in_words():
        assert sentence in shown
    for warning in (
        "This was a sequential shuffle, a baseline that protects less than PEOS",
        "A shuffler of a sequential shuffle can bend the numbers.",
        "No work was inspected:",
        "each known to the shuffler that drew it",
        "onion; a sequential shuffle, the weaker baseline",
        "the innermost layer of each report is encrypted to the analyzer",
    ):
        assert warning in shown, warning
    before = read(page(peos)).text
    assert "sequential" not in before
