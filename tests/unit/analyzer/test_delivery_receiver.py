"""Deliveries: whose, of what shape, once; and a receipt for one whole output only."""

from dataclasses import replace

import numpy as np
import pytest

from analyzer.delivery_receiver import VECTORS
from peos.collection.lifecycle import State
from peos.errors import NotYet, PeosError, Unknown
from peos.shuffle.messages import Kind, Step
from tests.raising import raises
from tests.unit.analyzer.world import TRANSCRIPT, Delivery, World, delivery, take

VALUES = np.repeat(np.arange(4), [20, 10, 6, 4])
HOLDER, OTHER = 2, 3  # the last hiders of three shufflers


@pytest.fixture
def sent(world: World) -> dict[int, Delivery]:
    workspace = world.workspace()
    kept = world.open(workspace)
    return world.deliveries(workspace, kept, world.output(workspace, kept, VALUES))


def _files(world: World) -> list[str]:
    return sorted(path.name for path in (world.config.folder / "collections" / "fruit" / VECTORS).glob("*"))


def test_the_receipt_is_signed_when_the_output_is_complete_and_not_before(
    world: World, sent: dict[int, Delivery]
) -> None:
    workspace = world.workspace()
    receiver, digest = world.receiver(workspace), workspace.kept("fruit").digest
    assert take(receiver, sent[HOLDER], world.certificate(HOLDER))
    with raises("delivery.incomplete"):
        receiver.receipt(digest, world.certificate(1))
    assert workspace.kept("fruit").state is State.OPEN
    assert take(receiver, sent[OTHER], world.certificate(OTHER))
    receipt = receiver.receipt(digest, world.certificate(1))
    assert receipt.verifies(workspace.keys.identity.public)
    assert (receipt.context, receipt.transcript) == (sent[HOLDER].header.header.context, TRANSCRIPT)
    assert workspace.kept("fruit").state is State.DELIVERED
    assert _files(world) == ["2-1.rows", "3-1.rows"]


def test_the_identical_repeat_is_fine_before_and_after_the_receipt(world: World, sent: dict[int, Delivery]) -> None:
    receiver = world.receiver(world.workspace())
    for number in (HOLDER, HOLDER, OTHER, HOLDER, OTHER):
        take(receiver, sent[number], world.certificate(number))
    assert not take(receiver, sent[HOLDER], world.certificate(HOLDER))
    assert _files(world) == ["2-1.rows", "3-1.rows"]


def test_the_same_vector_twice_at_the_same_time_is_kept_once(world: World, sent: dict[int, Delivery]) -> None:
    receiver = world.receiver(world.workspace())
    both = [receiver.begin(sent[OTHER].header, world.certificate(OTHER)) for _ in range(2)]
    for incoming in both:
        assert incoming is not None
        for chunk in sent[OTHER].chunks:
            incoming.feed(chunk)
    for incoming in both:
        assert incoming is not None
        receiver.finish(incoming)
    assert _files(world) == ["3-1.rows"]


def _other(world: World, sent: dict[int, Delivery], **changes: object) -> Delivery:
    """A further vector of the shuffler that is not the holder."""
    workspace = world.workspace()
    kept = workspace.kept("fruit")
    rows = world.rng.uint64((sent[OTHER].header.rows, 8)).view(np.uint8)[:, :8]
    return delivery(kept.digest, workspace.signed(kept).document, OTHER, np.ascontiguousarray(rows), **changes)  # type: ignore[arg-type] # as the test wants


@pytest.mark.parametrize(
    ("changes", "what"),
    [({}, "another vector"), ({"attempt": 2}, "another attempt"), ({"transcript": bytes(32)}, "another vector")],
)
def test_a_second_delivery_of_one_shuffler_is_refused_unless_it_is_the_same(
    world: World, sent: dict[int, Delivery], changes: dict[str, object], what: str
) -> None:
    receiver = world.receiver(world.workspace())
    take(receiver, sent[OTHER], world.certificate(OTHER))
    with raises("delivery.another", "shuffler 3", what):
        take(receiver, _other(world, sent, **changes), world.certificate(OTHER))


@pytest.mark.parametrize("changes", [{"attempt": 2}, {"transcript": bytes(32)}, {"frozen": bytes(32)}])
def test_vectors_of_two_attempts_or_transcripts_are_never_one_output(
    world: World, sent: dict[int, Delivery], changes: dict[str, object]
) -> None:
    workspace = world.workspace()
    receiver = world.receiver(workspace)
    take(receiver, sent[HOLDER], world.certificate(HOLDER))
    take(receiver, _other(world, sent, **changes), world.certificate(OTHER))
    assert workspace.kept("fruit").state is State.OPEN
    with pytest.raises(NotYet):
        receiver.receipt(workspace.kept("fruit").digest, world.certificate(1))


@pytest.mark.parametrize("showing", [0, 1, OTHER])
def test_only_the_sender_itself_delivers_in_its_name(world: World, sent: dict[int, Delivery], showing: int) -> None:
    certificate = world.certificate(showing) if showing else b""
    with raises("delivery.caller", "2"):
        world.receiver(world.workspace()).begin(sent[HOLDER].header, certificate)


def test_who_is_no_last_hider_delivers_nothing(world: World, sent: dict[int, Delivery]) -> None:
    place = replace(sent[OTHER].header.header, sender=1)
    with raises("delivery.sender", "shuffler 1, delivery"):
        world.receiver(world.workspace()).begin(replace(sent[OTHER].header, header=place), world.certificate(1))


def test_another_step_and_an_unknown_collection_are_refused(world: World, sent: dict[int, Delivery]) -> None:
    receiver = world.receiver(world.workspace())
    place = sent[OTHER].header.header
    early = replace(sent[OTHER].header, header=replace(place, step=Step(2, Kind.DELIVERY)))
    with raises("delivery.step"):
        receiver.begin(early, world.certificate(OTHER))
    elsewhere = replace(place, context=replace(place.context, collection=bytes(32)))
    with raises("collection.unknown"):
        receiver.begin(replace(sent[OTHER].header, header=elsewhere), world.certificate(OTHER))


@pytest.mark.parametrize("changes", [{"row_bytes": 16}, {"row_bytes": 7}, {"rows": 29}, {"rows": 0}])
def test_a_wrong_shape_is_refused_before_any_byte_is_taken(
    world: World, sent: dict[int, Delivery], changes: dict[str, int]
) -> None:
    with raises("delivery.shape", "30", "8"):
        world.receiver(world.workspace()).begin(replace(sent[OTHER].header, **changes), world.certificate(OTHER))  # type: ignore[arg-type] # only integers here


def test_vectors_of_one_attempt_have_one_number_of_rows(world: World, sent: dict[int, Delivery]) -> None:
    receiver = world.receiver(world.workspace())
    take(receiver, sent[HOLDER], world.certificate(HOLDER))
    longer = replace(sent[OTHER].header, rows=sent[OTHER].header.rows + 1)
    with raises("delivery.rows_differ", "147", "shuffler 2", "146"):
        receiver.begin(longer, world.certificate(OTHER))


def test_what_is_no_ciphertext_is_refused_and_leaves_nothing(world: World, sent: dict[int, Delivery]) -> None:
    workspace = world.workspace()
    kept = workspace.kept("fruit")
    receiver = world.receiver(workspace)
    width = sent[HOLDER].header.row_bytes
    rows = np.frombuffer(b"".join(chunk for chunk in sent[HOLDER].chunks), np.uint8)[-82 * width :].reshape(82, width)
    for bad in (0, 255):  # zero, and more than N²
        spoilt = rows.copy()
        spoilt[40] = bad
        wrong = delivery(kept.digest, workspace.signed(kept).document, HOLDER, spoilt)
        with raises("delivery.not_ciphertexts", "shuffler 2"):
            take(receiver, wrong, world.certificate(HOLDER))
    assert _files(world) == []
    assert take(receiver, sent[HOLDER], world.certificate(HOLDER))


def test_a_vector_that_is_cut_off_or_altered_on_its_way_is_not_kept(world: World, sent: dict[int, Delivery]) -> None:
    receiver = world.receiver(world.workspace())
    with raises("shuffle.vector_short", "0"):
        take(receiver, replace(sent[OTHER], chunks=[]), world.certificate(OTHER))
    altered = [sent[OTHER].chunks[0][:-1] + bytes([sent[OTHER].chunks[0][-1] ^ 1])]
    with raises("shuffle.vector_hash"):
        take(receiver, replace(sent[OTHER], chunks=altered), world.certificate(OTHER))
    assert _files(world) == []


@pytest.mark.parametrize("state", [State.ABORTED, State.PUBLISHED])
def test_a_collection_that_is_over_takes_no_vectors(world: World, sent: dict[int, Delivery], state: State) -> None:
    workspace = world.workspace()
    digest = workspace.kept("fruit").digest
    if state is State.PUBLISHED:
        workspace.store.move(digest, State.DELIVERED)
    workspace.store.move(digest, state)
    with raises("delivery.not_taken", state):
        world.receiver(workspace).begin(sent[OTHER].header, world.certificate(OTHER))


def test_receipts_are_for_the_collections_shufflers(world: World, sent: dict[int, Delivery]) -> None:
    workspace = world.workspace()
    receiver, digest = world.receiver(workspace), workspace.kept("fruit").digest
    with raises("delivery.receipt_caller"):
        receiver.receipt(digest, workspace.keys.card.member.certificate)
    with pytest.raises(Unknown):
        receiver.receipt(bytes(32), world.certificate(1))
    workspace.store.move(digest, State.ABORTED, "by hand")
    with raises("delivery.aborted"):
        receiver.receipt(digest, world.certificate(1))
    assert sent


def test_a_stop_between_the_last_vector_and_the_receipt_is_made_good_at_the_next_start(
    world: World, sent: dict[int, Delivery], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = world.workspace()
    receiver = world.receiver(workspace)
    take(receiver, sent[HOLDER], world.certificate(HOLDER))
    with monkeypatch.context() as stopping:
        stopping.setattr(type(receiver), "settle", _stopped)
        with raises("test.peoserror", kind=PeosError):
            take(receiver, sent[OTHER], world.certificate(OTHER))
    workspace = world.workspace()
    receiver = world.receiver(workspace)
    assert workspace.kept("fruit").state is State.OPEN
    assert not take(receiver, sent[OTHER], world.certificate(OTHER)), "it is durable, whatever its sender heard"
    assert receiver.settle(workspace.kept("fruit"))
    assert receiver.receipt(workspace.kept("fruit").digest, world.certificate(1)).verifies(
        workspace.keys.identity.public
    )


def _stopped(*_: object) -> None:
    raise PeosError("test.peoserror", "stopped here")


def test_what_was_half_written_when_the_process_stopped_is_swept_away(world: World, sent: dict[int, Delivery]) -> None:
    workspace = world.workspace()
    incoming = world.receiver(workspace).begin(sent[OTHER].header, world.certificate(OTHER))
    assert incoming is not None
    incoming._file.close()  # as the end of a process does
    assert len(_files(world)) == 1
    again = world.receiver(world.workspace())
    again.sweep(workspace.kept("fruit"))
    assert _files(world) == []
    assert take(again, sent[OTHER], world.certificate(OTHER))
