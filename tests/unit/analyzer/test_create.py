"""Creating a collection: every shuffler accepts, and a stop anywhere is gone on from."""

import asyncio
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from analyzer import workspace as workspace_
from analyzer.create import open_collection, write_invitation
from analyzer.draft import draft
from analyzer.workspace import Admission
from peos.collection.lifecycle import State
from peos.collection.replies import Status
from peos.errors import Refused, WrongInput
from peos.net.tls import Trust
from peos.wire.parties import decode_invitation
from tests.raising import raises
from tests.unit.analyzer.world import DOMAIN, FAKES, FLOOR, Silent, World, request
from tests.unit.fake_shuffler import read


def test_every_shuffler_has_the_document_and_no_dummy_yet(world: World) -> None:
    """Dummies that came first would be the first rows of every shuffler's store."""
    workspace = world.workspace()
    kept = world.open(workspace, dummies=False)
    assert kept.state is State.OPEN
    assert kept.opened_at is not None
    document = workspace.signed(kept).document
    assert (document.fakes, document.minimum, document.choice.domain) == (FAKES, 20, DOMAIN)
    for shuffler in world.shufflers:
        assert read(shuffler.signed, FLOOR)[0].digest == kept.digest
        assert not shuffler.parts


def test_a_mechanism_that_is_not_known_creates_nothing_and_is_taken_for_no_other(world: World) -> None:
    workspace = world.workspace()
    with pytest.raises(WrongInput) as caught:
        draft(workspace, request(mechanism="toy"), Silent())
    assert caught.value.id == "config.value"
    assert workspace.store.named(request().name) is None


def test_the_mechanism_is_salted_with_analyzer_question_and_epoch(world: World) -> None:
    workspace = world.workspace()
    question = workspace.signed(world.open(workspace)).document.mechanism.question
    assert question.analyzer == workspace.keys.identity.public
    assert (question.question, question.epoch) == ("Which fruit?", "2024")


def test_the_invitation_names_the_digest_and_the_shufflers_in_order(world: World) -> None:
    workspace = world.workspace()
    kept = world.open(workspace)
    path = write_invitation(workspace, kept, world.folder / "out")
    assert path == world.folder / "out" / "fruit.invitation"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644, "it is to be handed out"
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    invitation = decode_invitation(path.read_bytes())
    assert invitation.collection == kept.digest
    assert [card.name for card in invitation.shufflers] == [shuffler.name for shuffler in world.shufflers]


def test_an_operator_that_has_to_accept_is_waited_for_and_named(world: World) -> None:
    world.shufflers[1].accept_as = "draft"
    workspace = world.workspace()
    kept = draft(workspace, request(), Silent())
    with raises("collection.waiting", "shuffler 2 (organisation 2)"):
        asyncio.run(open_collection(workspace, kept, Silent(), wait=0.2, every=0.05))
    assert workspace.kept("fruit").state is State.DRAFT
    world.shufflers[1].status = Status(kept.digest, "open")
    assert asyncio.run(open_collection(world.workspace(), kept, Silent(), wait=5.0)).state is State.OPEN


def test_a_shuffler_that_does_not_know_the_analyzer_is_waited_for_and_a_card_that_was_forgotten_named(
    world: World,
) -> None:
    workspace = world.workspace()
    kept = draft(workspace, request(), Silent())
    world.shufflers[2].trust.drop()  # so that its operator has not listed the analyzer's card
    with raises("collection.waiting", "shuffler 3 (organisation 3)", "card"):
        asyncio.run(open_collection(workspace, kept, Silent(), wait=0.0, every=0.05))
    world.shufflers[2].trust.admit([workspace.keys.certificate.pem])
    assert asyncio.run(open_collection(workspace, kept, Silent(), wait=5.0, every=0.05)).state is State.OPEN


def test_a_policy_that_says_no_is_told_and_may_change_its_mind(world: World) -> None:
    world.shufflers[0].refuse_proposals = Refused("policy.minimum", "its minimum is 20 reports")
    workspace = world.workspace()
    kept = draft(workspace, request(), Silent())
    with raises("policy.minimum", "shuffler 1 (organisation 1)", "20"):
        asyncio.run(open_collection(workspace, kept, Silent(), wait=5.0, every=0.05))
    assert workspace.kept("fruit").state is State.DRAFT
    world.shufflers[0].refuse_proposals = None
    assert asyncio.run(open_collection(workspace, kept, Silent(), wait=5.0, every=0.05)).state is State.OPEN


def test_created_again_it_is_the_same_collection_and_nothing_is_sent_twice(world: World) -> None:
    first = world.open(world.workspace())
    proposals = [shuffler.proposals for shuffler in world.shufflers]
    again = world.open(world.workspace())
    assert again.digest == first.digest
    assert [shuffler.proposals for shuffler in world.shufflers] == proposals


def test_the_targets_are_met_as_the_request_wants_them_accounted_for(world: World) -> None:
    """By the theorem the thesis' d', and by exact accounting a better one at the same targets."""
    asked = {"users": 100_000, "domain": 1000, "delta": 1e-9, "eps_server": 0.5, "eps_local": None, "minimum": None}
    workspace, chosen = world.workspace(), {}
    for accounting in ("theorem", "exact"):
        found = request(name=accounting, accounting=accounting, **asked | {"mechanism": "solh", "fakes": "0"})
        kept = draft(workspace, found, Silent())
        chosen[accounting] = workspace.signed(kept).document.mechanism
    with raises("config.value", "accounting", "'rough'"):
        request(name="mistaken", accounting="rough")
    assert chosen["theorem"].parameters["cells"] == 28
    assert chosen["exact"].variance(users=100_000) < chosen["theorem"].variance(users=100_000) / 10


def test_another_request_under_the_same_name_is_refused(world: World) -> None:
    workspace = world.workspace()
    world.open(workspace)
    with raises("collection.other_parameters"):
        world.open(workspace, domain=5)


def test_what_nobody_accepted_in_time_is_aborted(world: World) -> None:
    world.shufflers[0].accept_as = "draft"
    workspace = world.workspace()
    kept = draft(workspace, request(closes_in=1), Silent())
    with raises("collection.too_late"):
        asyncio.run(open_collection(workspace, kept, Silent(), wait=10.0, every=0.05))
    assert workspace.kept("fruit").state is State.ABORTED
    with raises("collection.aborted"):
        asyncio.run(open_collection(workspace, workspace.kept("fruit"), Silent(), wait=1.0))


@pytest.mark.parametrize("name", ["", "a/b", "..", ".hidden", "x" * 65, "two words"])
def test_a_name_that_is_no_file_name_is_refused(name: str) -> None:
    with raises("input.name"):
        request(name=name)


@pytest.mark.parametrize("what", ["closes_in", "shuffle_within", "erase_within"])
def test_times_are_at_least_a_second(what: str) -> None:
    with raises("config.value", what):
        request(**{what: 0})


def test_the_minimum_is_half_of_the_users_unless_one_is_given(world: World) -> None:
    workspace = world.workspace()
    assert workspace.signed(draft(workspace, request(minimum=None), Silent())).document.minimum == 30
    assert (
        workspace.signed(draft(workspace, request(name="single", minimum=None, users=1), Silent())).document.minimum
        == 1
    )
    assert FLOOR < 3072, "tests use a key of their own size"


def test_a_plan_that_cannot_be_had_is_refused_before_anything_is_drawn(world: World, tmp_path: Path) -> None:
    workspace = world.workspace()
    with raises("plan.useless"):
        draft(workspace, request(eps_server=0.001, eps_local=None, fakes="0"), Silent())
    assert workspace.store.all() == []
    assert not (tmp_path / "home" / "collections").exists()


def test_shufflers_are_let_in_until_their_collection_is_over_everywhere(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = world.workspace()
    kept = world.open(opened)
    trust, theirs, erase_by = Trust(), world.certificate(1), opened.signed(kept).document.erase_by
    admission = Admission(opened, trust)
    assert theirs not in trust
    assert admission.look(opened.store.live()) == erase_by
    assert theirs in trust
    opened.store.move(kept.digest, State.ABORTED)
    opened.store.erase(kept.digest)
    assert admission.look(opened.store.live()) == erase_by
    assert theirs in trust, "others may not have heard that it is over"
    restarted = Trust()
    assert Admission(opened, restarted).look(opened.store.live()) == erase_by
    assert theirs in restarted
    monkeypatch.setattr(workspace_, "time", SimpleNamespace(time=lambda: float(erase_by)))
    admission.look(opened.store.live())
    assert theirs not in trust
    restarted = Trust()
    Admission(opened, restarted).look(opened.store.live())
    assert theirs not in restarted
