"""One analyzer and its three shufflers; what comes out of a shuffle is put together here, without one."""

import asyncio
import socket
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analyzer import keys
from analyzer.config import Config, read
from analyzer.create import create
from analyzer.delivery_receiver import DeliveryReceiver
from analyzer.inspection_runner import InspectionRunner
from analyzer.store import CollectionRow
from analyzer.workspace import Workspace
from peos.cli.progress import Progress
from peos.collection.document import Document
from peos.collection.publication import Openings
from peos.compute import Inline
from peos.crypto.identity import Identity
from peos.crypto.kdf import Context
from peos.crypto.randomness import U64, Randomness
from peos.net.certificates import make_certificate
from peos.net.logs import Log
from peos.net.observer import Observer
from peos.shuffle.messages import Header, Kind, Step, VectorHeader
from peos.shuffle.vectors import as_rows
from peos.spec import CollectionSpec
from peos.wire.shuffles import decode_vector_header, encode_vector
from tests.unit.fake_shuffler import FakeShuffler, Loop

USERS = 60
DOMAIN = 4
FAKES = 10
DUMMY_BYTES = 1000
FROZEN = b"\x0f" * 32
TRANSCRIPT = b"\x7a" * 32
PASSPHRASE = b"a passphrase of this test"
FLOOR = 512


async def _opened(number: int) -> FakeShuffler:
    """A shuffler whose ports are open."""
    rng, name = Randomness(bytes([number]) * 32), f"organisation {number}"
    identity = Identity.generate(rng)
    peers, users = (make_certificate(f"{name} {port}", rng) for port in ("peers", "users"))
    made = FakeShuffler(number, name, identity, users, peers, serves_peers=True, floor=FLOOR)
    await made.open()
    return made


class Silent(Progress):
    """Remembers what it was told instead of telling."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def say(self, sentence: str) -> None:
        self.told.append(sentence)

    def waiting(self, sentence: str) -> None:
        if not self.told or self.told[-1] != sentence:
            self.told.append(sentence)


def request(**changes: Any) -> CollectionSpec:
    """A small collection."""
    given: dict[str, Any] = {
        "name": "fruit",
        "question": "Which fruit?",
        "epoch": "2024",
        "domain": DOMAIN,
        "users": USERS,
        "delta": 1e-6,
        "eps_server": None,
        "eps_users": None,
        "eps_local": 3.0,
        "fakes": str(FAKES),
        "mechanism": "grr",
        "d_prime": None,
        "minimum": 20,
        "scheme": "paillier",
        "closes_in": 3600,
        "shuffle_within": 3600,
        "erase_within": 3600,
    }
    return CollectionSpec(**(given | changes))


@dataclass(frozen=True)
class Delivery:
    """A vector on its way to the analyzer: the encoded header, the encoded chunks, and the header read."""

    encoded: bytes
    chunks: list[bytes]
    header: VectorHeader


class Unopened(InspectionRunner):
    """The analyst has said of every shuffler that the result is to be published without its rows."""

    def openings(self, kept: CollectionRow) -> Openings:
        """What came, and all accepted."""
        return replace(super().openings(kept), accepted=frozenset(range(1, 10)))


class World:
    """What a test has."""

    def __init__(self, folder: Path, loop: Loop, *, shufflers: int = 3) -> None:
        self.loop = loop
        self.folder = folder
        self.file = folder / "analyzer.toml"
        self.rng = Randomness(b"\x2a" * 32)
        self.shufflers = [loop.run(_opened(number)) for number in range(1, shufflers + 1)]
        cards = []
        for shuffler in self.shufflers:
            (folder / f"{shuffler.number}.card").write_bytes(shuffler.signed_card)
            cards.append(f'"{shuffler.number}.card"')
        (folder / "passphrase").touch(mode=0o600)
        (folder / "passphrase").write_bytes(PASSPHRASE + b"\n")
        self.file.write_text(
            f'name = "statistics office"\nfolder = "home"\npassphrase_file = "passphrase"\n'
            f'shufflers = [{", ".join(cards)}]\n[listen]\npeers = "127.0.0.1:{_free_port()}"\n'
        )
        made = keys.make(self.config, self.rng)
        for shuffler in self.shufflers:
            shuffler.trust.admit([made.certificate.pem])
        self._homes: list[Workspace] = []

    @property
    def config(self) -> Config:
        return read(self.file)

    def close(self) -> None:
        for workspace in self._homes:
            workspace.close()
        for shuffler in self.shufflers:
            self.loop.run(shuffler.close())

    def workspace(self) -> Workspace:
        """The analyzer, opened as a process that has just started would."""
        opened = Workspace(self.config, floor=FLOOR, rng=Randomness(self.rng.bytes(32)))
        self._homes.append(opened)
        return opened

    def open(self, workspace: Workspace, *, dummies: bool = True, **changes: Any) -> CollectionRow:
        """A collection that is open, and that has all its dummies unless the test sends them."""
        kept = asyncio.run(create(workspace, request(**changes), Silent(), wait=20.0, every=0.05))
        for number in range(len(workspace.signed(kept).document.dummies) if dummies else 0):
            workspace.store.dummy_taken(kept.digest, number, DUMMY_BYTES)
        return kept

    def receiver(self, workspace: Workspace) -> DeliveryReceiver:
        return DeliveryReceiver(workspace, Observer(Log("tests.analyzer")))

    def inspection_runner(self, workspace: Workspace) -> InspectionRunner:
        """An inspection that does not wait: no shuffler of this world has rows to open, and the analyst knows."""
        return Unopened(workspace, patience=-1e9)

    def certificate(self, number: int) -> bytes:
        """The fingerprint of a shuffler's peer certificate."""
        return self.shufflers[number - 1].card.member.certificate

    def output(
        self, workspace: Workspace, kept: CollectionRow, values: NDArray[np.int64], *, dummies: bool = True
    ) -> U64:
        """What a shuffle gives: the users' reports, the dummies and the fakes, in some order."""
        document = workspace.signed(kept).document
        parts = [
            document.mechanism.randomize(values, self.rng),
            self.rng.uint64((document.fakes, document.mechanism.words)),
        ]
        owned = np.stack([dummy.words for dummy in workspace.dummies(kept)])
        parts.append(owned if dummies else self.rng.uint64(owned.shape))
        rows: U64 = np.concatenate(parts)
        return rows[self.rng.permutation(len(rows))]

    def deliveries(
        self, workspace: Workspace, kept: CollectionRow, rows: U64, *, attempt: int = 1
    ) -> dict[int, Delivery]:
        """The output as the last hiders hold it: ciphertexts with the last holder, words with the other."""
        document = workspace.signed(kept).document
        public = document.encryption_key(floor=FLOOR)
        holder, other = document.schedule.last
        plain = self.rng.uint64(rows.shape)
        encrypted = Inline(self.rng).encrypt(public, (rows - plain).reshape(-1)).reshape(len(rows), -1)
        return {
            holder: delivery(kept.digest, document, holder, encrypted, attempt=attempt),
            other: delivery(kept.digest, document, other, as_rows(plain), attempt=attempt),
        }


def delivery(
    collection: bytes,
    document: Document,
    sender: int,
    rows: NDArray[np.uint8],
    *,
    attempt: int = 1,
    transcript: bytes = TRANSCRIPT,
    frozen: bytes = FROZEN,
) -> Delivery:
    """A vector as its sender would send it."""
    step = Step(len(document.schedule.rounds), Kind.DELIVERY)
    header = Header(Context(collection, frozen, attempt), step, sender, 0)
    encoded, *chunks = encode_vector(header, rows, transcript=transcript)
    return Delivery(encoded, chunks, decode_vector_header(encoded))


def take(receiver: DeliveryReceiver, sent: Delivery, certificate: bytes) -> bool:
    """Give a whole delivery to the receiver; False if it was here already."""
    incoming = receiver.begin(sent.header, certificate)
    if incoming is None:
        return False
    try:
        for chunk in sent.chunks:
            incoming.feed(chunk)
        receiver.finish(incoming)
    finally:
        incoming.discard()
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
