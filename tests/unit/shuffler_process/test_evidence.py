"""What is kept for an inspection: whole or nothing, the same openings after a restart, unreadable without its key."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from peos.collection.document import Document
from peos.collection.lifecycle import State
from peos.compute import Inline
from peos.crypto.kdf import Context
from peos.crypto.randomness import KEY_BYTES, Randomness
from peos.crypto.schemes.base import Packed
from peos.crypto.vault import Vault
from peos.ldp import GRR
from peos.shuffle.delivery_state import Phase
from peos.shuffle.inspect.evidence import Opening, open_rows
from peos.shuffle.messages import Header, Kind, SignedReceipt, SignedReveal, Step
from peos.shuffle.vectors import Vector
from peos.simulate import Node, Simulation
from peos.store.memory import MemoryStore
from peos.wire.documents import SignedDocument
from peos.wire.inspections import encode_opening, encode_path
from peos.wire.methods import DELIVER, GET_DUMMIES, GET_RECEIPT, Method
from shuffler.evidence import Evidence, sweep
from shuffler.inspection_runner import InspectionRunner
from shuffler.meter import Meter
from shuffler.session import CollectionSession
from shuffler.store_thread import StoreThread
from tests.full import full
from tests.keys import small_key
from tests.unit.collection.made import ANALYZER, COLLECTION, DOCUMENT, ENCRYPTION, SHUFFLERS
from tests.unit.shuffler_process.played import HERE, ME, OBSERVER, Other, memory, run
from tests.unit.store.made import TRANSCRIPT

SIGNED = SignedReveal(b"h" * 32, b"s" * 64)
RNG = Randomness(b"\x06" * 32)
VAULT = Vault(bytes(KEY_BYTES), RNG)
USERS = 9


def shuffled(shufflers: int) -> Simulation:
    """A collection whose output is delivered, and not inspected yet."""
    made = Simulation(GRR(4, 2.0), shufflers=shufflers, fakes=2, rng=Randomness(b"\x08" * 32), key=small_key(512))
    made.submit(made.mechanism.randomize(np.arange(USERS) % 4, made.rng))
    made.freeze()
    made.shuffle()
    return made


def evidence(folder: Path, made: Simulation, node: Node, vault: Vault = VAULT) -> Evidence:
    """As a process that has just started has it."""
    return Evidence(folder, vault, node.number, made.document.schedule, made.digest)


def keep(folder: Path, made: Simulation, node: Node) -> Evidence:
    """All that this shuffler needs."""
    kept = evidence(folder, made, node)
    assert node.machine.record is not None
    kept.keep(1, node.machine.record, node.bench.vectors)
    return kept


def opening(node: Node, vectors: dict[str, Vector], record: object) -> Opening:
    """Its rows at the same places after every round."""
    assert node.machine.record is not None
    places = [(3, 1, 7)] * (len(node.document.schedule.rounds) + 1)
    found = record if record is not None else node.machine.record
    trail, said = found.trail, found.said  # type: ignore[attr-defined]  # one of two records
    return open_rows(node.number, trail, vectors, places, said, claim=None, revealed=SIGNED, dummies=(0, 1, 2))


def room(count: int, width: int) -> Packed:
    return np.empty((count, width), np.uint8)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("shufflers", [3, 4, 5])
def test_what_is_kept_opens_the_same_rows_as_what_is_in_memory(tmp_path: Path, shufflers: int) -> None:
    made = shuffled(shufflers)
    for node in made.nodes:
        folder = tmp_path / str(node.number)
        keep(folder, made, node)
        again = evidence(folder, made, node)
        assert again.attempt == 1
        found = again.load(room)
        assert found is not None
        before = encode_opening(opening(node, node.bench.vectors, None))
        assert np.array_equal(encode_opening(opening(node, dict(found.vectors), found.record)), before)


def test_nothing_of_it_is_on_the_disk_in_clear_and_nothing_stays_when_it_is_erased(tmp_path: Path) -> None:
    made = shuffled(3)
    node = made.nodes[1]
    kept = keep(tmp_path, made, node)
    assert node.machine.record is not None
    rows = [np.ascontiguousarray(vector).view(np.uint8)[:1].tobytes() for vector in node.bench.vectors.values()]
    keys = [key for _, task in node.machine.record.trail for key in getattr(task, "streams", ())]
    secrets = [*rows, *(key.secret for key in keys), *(key.secret.hex().encode() for key in keys)]
    assert len(secrets) > 5
    for path in files(tmp_path):
        content = path.read_bytes()
        assert not any(secret in content for secret in secrets), path
    kept.erase()
    assert kept.attempt == 0
    assert not files(tmp_path)
    kept.erase()  # again


def test_what_is_erased_is_overwritten_first(tmp_path: Path) -> None:
    made = shuffled(3)
    kept = keep(tmp_path, made, made.nodes[0])
    held = [path.open("rb") for path in files(tmp_path)]  # an open file outlives its name
    try:
        kept.erase()
        assert held
        for file in held:
            assert not file.read().strip(b"\x00"), f"{file.name} is as it was"
    finally:
        for file in held:
            file.close()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "record").unlink(),
        lambda folder: (folder / "key").unlink(),
        lambda folder: (folder / "0").unlink(),
        lambda folder: (folder / "0").write_bytes((folder / "0").read_bytes()[:-1]),
        lambda folder: (folder / "1").write_bytes((folder / "0").read_bytes()),
        lambda folder: (folder / "record").write_bytes(b"x" * 99),
    ],
)
def test_what_is_not_whole_or_not_what_was_kept_is_as_good_as_lost(
    tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    made = shuffled(3)
    keep(tmp_path, made, made.nodes[1])
    spoil(tmp_path / "evidence" / made.digest.hex())
    assert evidence(tmp_path, made, made.nodes[1]).load(room) is None


def test_under_another_key_it_is_as_good_as_lost(tmp_path: Path) -> None:
    made = shuffled(3)
    keep(tmp_path, made, made.nodes[1])
    other = evidence(tmp_path, made, made.nodes[1], Vault(b"\x01" * KEY_BYTES, RNG))
    assert other.attempt == 0
    assert other.load(room) is None
    assert not list(other.heard(made.output.context))


def test_what_others_told_is_there_after_a_restart(tmp_path: Path) -> None:
    made = shuffled(3)
    node, context = made.nodes[1], made.output.context
    kept = keep(tmp_path, made, node)
    path = encode_path((1, 2, 3), SIGNED)
    told = [(Header(context, Step(1, Kind.PATH), 1, 2), path), (Header(context, Step(3, Kind.OPENING), 3, 2), path + 1)]
    for header, rows in told:
        kept.hear(header, rows)
        kept.hear(header, rows)  # a repeat
    (half,) = set(tmp_path.rglob("1.1.path"))
    half.with_name("3.1.path.partial").write_bytes(b"being written")  # while the inspection begins
    found = list(evidence(tmp_path, made, node).heard(context))
    assert [header for header, _ in found] == [header for header, _ in told]
    assert all(np.array_equal(one[1], other[1]) for one, other in zip(found, told, strict=True))


def test_an_attempt_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    made = shuffled(3)
    node = made.nodes[1]
    kept = keep(tmp_path, made, node)
    before = {path: path.read_bytes() for path in files(tmp_path)}
    assert node.machine.record is not None
    kept.keep(2, node.machine.record, node.bench.vectors)
    assert evidence(tmp_path, made, node).attempt == 2
    assert not {path for path in files(tmp_path) if before.get(path) == path.read_bytes()}, "all is sealed anew"


def test_what_belongs_to_no_living_collection_is_swept_away(tmp_path: Path) -> None:
    made = shuffled(3)
    keep(tmp_path, made, made.nodes[1])
    sweep(tmp_path, {made.digest})
    assert files(tmp_path)
    sweep(tmp_path, set())
    assert not files(tmp_path)


class Signed(SignedDocument):
    """A document under the digest that the store has."""

    @property
    def digest(self) -> bytes:
        """That one."""
        return COLLECTION


@pytest.mark.parametrize("awaited", [GET_RECEIPT, full(GET_DUMMIES)])
def test_at_shuffle_by_it_is_gone_though_the_analyzer_has_not_shown_its_dummies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, awaited: Method
) -> None:
    """A shuffler that was started anew after the delivery, and an analyzer that does not answer."""
    made = shuffled(3)
    monkeypatch.setattr(Document, "encryption", lambda _: ENCRYPTION)  # below the floor for keys that come in
    answers = {} if awaited is GET_RECEIPT else {GET_RECEIPT: SignedReceipt.sign(ANALYZER, attempt(2), TRANSCRIPT)}
    analyzer, store = Other("the analyzer", answers), memory(Phase.DONE)
    store.set_state(COLLECTION, State.DELIVERED)
    now, node = int(time.time()), made.nodes[ME - 1]
    document = replace(DOCUMENT, closes_at=now, shuffle_by=now + 3, erase_by=now + 300)
    restarted = with_evidence(tmp_path, node, document, store, analyzer)

    async def test(stored: StoreThread) -> None:
        session = restarted(stored)
        running = asyncio.ensure_future(session.run())
        while time.time() < document.shuffle_by - 1 or awaited not in analyzer.asked:
            await asyncio.sleep(0.02)
        assert files(tmp_path), "it is for the inspection, which is not over"
        while files(tmp_path):
            assert time.time() < document.shuffle_by + 5, "still there after shuffle_by"
            await asyncio.sleep(0.02)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await session.close()

    stored = StoreThread(lambda: store)
    run(test(stored))
    stored.close()


def test_what_others_told_while_the_evidence_was_being_read_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message is acknowledged once: whichever inspection took it in must be the one that goes on."""
    made = shuffled(3)
    monkeypatch.setattr(Document, "encryption", lambda _: ENCRYPTION)
    signed = SignedReceipt.sign(ANALYZER, attempt(2), TRANSCRIPT)
    analyzer, store = Other("the analyzer", {GET_RECEIPT: signed, DELIVER: b""}), memory(Phase.SENDING)
    now = int(time.time())
    document = replace(DOCUMENT, closes_at=now, shuffle_by=now + 300, erase_by=now + 400)
    restarted = with_evidence(tmp_path, made.nodes[ME - 1], document, store, analyzer)

    async def test(stored: StoreThread) -> None:
        session, seen = restarted(stored), list[InspectionRunner]()
        running = asyncio.ensure_future(session.run())
        while GET_DUMMIES not in analyzer.asked:  # the inspection has begun
            assert time.time() < now + 200, "no inspection"
            here = session.inspection_runner
            if here is not None and here not in seen:
                seen.append(here)
            await asyncio.sleep(0)
        assert len(seen) == 1, "what the first took in is acknowledged, and the second has never heard of it"
        assert seen[0].has_rows
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await session.close()

    stored = StoreThread(lambda: store)
    run(test(stored))
    stored.close()


def with_evidence(
    folder: Path, node: Node, document: Document, store: MemoryStore, analyzer: Other
) -> Callable[[StoreThread], CollectionSession]:
    """A shuffler that kept the evidence of attempt 2 and was started anew."""
    assert node.machine.record is not None
    Evidence(folder, VAULT, ME, document.schedule, COLLECTION).keep(2, node.machine.record, node.bench.vectors)
    return lambda stored: CollectionSession(
        signed=Signed(b"", b"", document),
        number=ME,
        cards=(),
        identity=SHUFFLERS[ME - 1],
        kept=store.collection(COLLECTION),
        store=stored,
        callers={1: Other("shuffler 1", {}), 2: Other("shuffler 2", {})},
        analyzer=analyzer,
        engine=Inline(RNG),
        step_seconds=60.0,
        folder=folder,
        vault=VAULT,
        observer=OBSERVER,
        meter=Meter(),
    )


def attempt(number: int) -> Context:
    """Of the collection that the store has."""
    return replace(HERE, attempt=number)
