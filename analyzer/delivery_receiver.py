"""Vectors on their way in: judged by their header, written to disk as they come, kept once they are whole and checked.

Blocking: the service calls it from threads. A vector's file is durable before the store knows of it, and the store
knows of all of an output's vectors before a receipt is signed; so a crash anywhere loses nothing that was answered.
"""

import os
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyzer.events import OutputComplete, VectorTaken
from analyzer.store import CollectionRow
from analyzer.workspace import Workspace
from peos.chunks import chunks, rows_of
from peos.collection.delivery_rules import check_delivery, judge_delivery, output, require_sender
from peos.collection.lifecycle import State
from peos.collection.submission import Verdict
from peos.crypto.kdf import Context
from peos.crypto.schemes.base import Packed
from peos.errors import Closed, LocalFault, NotYet, Refused, RemoteFault
from peos.net.observer import Observer
from peos.protocols import Encryption
from peos.shuffle.messages import SignedReceipt, VectorHeader
from peos.store.mapped import mapped, sha256_of
from peos.store.private_files import private_folder, sync_folder, wipe, wipe_folder
from peos.wire.shuffles import ChunkReader, decode_receipt, encode_receipt

VECTORS: Final = "vectors"
_TAKES: Final = (State.OPEN, State.CLOSED, State.SHUFFLING)


class DeliveryReceiver:
    """Takes vectors in, and answers with receipts."""

    def __init__(self, workspace: Workspace, observer: Observer) -> None:
        self._workspace = workspace
        self._observer = observer
        self._settling = threading.Lock()  # of two vectors that come in at the same time, one is the last

    def begin(self, header: VectorHeader, certificate: bytes) -> "IncomingVector | None":
        """Somewhere to write a vector; nothing if the very same is here already."""
        kept = self._workspace.store.get(header.header.context.collection)
        document = self._workspace.signed(kept).document
        require_sender(document, header.header.sender, certificate)
        encryption = document.encryption(floor=self._workspace.floor)
        check_delivery(document, kept.digest, encryption, header)
        if judge_delivery(self._workspace.store.deliveries(kept.digest), header) is Verdict.KNOWN:
            return None
        if kept.state not in _TAKES:
            raise Closed("delivery.not_taken", f"the collection is {kept.state}: it takes no vectors")
        folder = self.folder(kept)
        private_folder(folder)
        return IncomingVector(header, folder, encryption)

    def finish(self, incoming: "IncomingVector") -> None:
        """Keep a vector that came whole; with the last of an output, sign the receipt."""
        incoming.seal()
        header = incoming.header
        with self._settling:
            digest = header.header.context.collection
            if judge_delivery(self._workspace.store.deliveries(digest), header) is Verdict.KNOWN:
                incoming.discard()  # the same came twice at the same time
                return
            if self._workspace.store.get(digest).state not in _TAKES:
                raise Closed("delivery.ended", "the collection has ended meanwhile")
            incoming.keep()
            self._workspace.store.add_delivery(header)
            peer, attempt = f"shuffler {header.header.sender}", header.header.context.attempt
            self._observer.of(digest).note(VectorTaken(peer, attempt, header.rows * header.row_bytes))
            self.settle(self._workspace.store.get(digest))

    def settle(self, kept: CollectionRow) -> bool:
        """Sign the receipt if the output is complete; called again after a restart, which may have come in between."""
        if kept.state not in _TAKES:
            return False
        document = self._workspace.signed(kept).document
        found = output(document.schedule, self._workspace.store.deliveries(kept.digest))
        if found is None:
            return False
        first = found[document.schedule.last[0]]
        receipt = SignedReceipt.sign(self._workspace.keys.identity, first.header.context, first.transcript)
        self._workspace.store.put_receipt(kept.digest, encode_receipt(receipt))
        self._observer.of(kept.digest).note(OutputComplete(first.header.context.attempt))
        return True

    def receipt(self, digest: bytes, certificate: bytes) -> SignedReceipt:
        """The receipt, for the collection's shufflers; NotYet before the output is complete."""
        kept = self._workspace.store.get(digest)
        document = self._workspace.signed(kept).document
        if certificate not in {member.certificate for member in document.shufflers}:
            raise Refused("delivery.receipt_caller", "receipts are for the collection's shufflers")
        if kept.receipt is None:
            if kept.state is State.ABORTED:
                raise Closed("delivery.aborted", "the collection was aborted: there will be no receipt")
            raise NotYet("delivery.incomplete", "the output is not complete yet")
        return decode_receipt(kept.receipt)

    def folder(self, kept: CollectionRow) -> Path:
        """Where a collection's vectors lie."""
        return self._workspace.folder(kept) / VECTORS

    def vectors(self, kept: CollectionRow) -> dict[int, tuple[VectorHeader, NDArray[np.uint8]]]:
        """The vectors of the output, each mapped from its file, by sender."""
        document = self._workspace.signed(kept).document
        found = output(document.schedule, self._workspace.store.deliveries(kept.digest))
        if found is None:
            raise NotYet("delivery.incomplete", "the output is not complete yet")
        return {sender: (header, _mapped(self.folder(kept), header)) for sender, header in found.items()}

    def sweep(self, kept: CollectionRow) -> None:
        """Erase what a stop left half written."""
        for path in self.folder(kept).glob("*.coming"):
            wipe(path)

    def erase(self, kept: CollectionRow) -> None:
        """Overwrite and remove every vector, what was decrypted, and the key that could have opened it."""
        if kept.key is not None:
            self._workspace.store.erase(kept.digest)
        wipe_folder(self.folder(kept))


class IncomingVector:
    """One vector that is coming in, in a file of its own until it is whole."""

    def __init__(self, header: VectorHeader, folder: Path, encryption: Encryption) -> None:
        self.header = header
        self._reader = ChunkReader(header)
        self._folder = folder
        self._check = encryption.delivered_check(header.header.sender)
        self._path = folder / f"{uuid.uuid4().hex}.coming"
        self._file = open(  # noqa: SIM115 - closed once the vector is complete, chunks later
            os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb"
        )

    def feed(self, chunk: bytes) -> None:
        """The next chunk."""
        self._file.write(self._reader.take(chunk))

    def seal(self) -> None:
        """It is whole, and durable; what claims to be ciphertexts must be."""
        self._reader.end()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        if self._check is not None:
            self._require(self._check)

    def keep(self) -> None:
        """Give it its name."""
        path = self._folder / _name(self.header)
        wipe(path)  # one that the store never knew of
        self._path.replace(path)
        sync_folder(self._folder)

    def discard(self) -> None:
        """Forget it; nothing to do for one that has its name."""
        self._file.close()
        wipe(self._path)

    def _require(self, holds: Callable[[Packed], bool]) -> None:
        length = self.header.row_bytes
        with self._path.open("rb") as file:
            for where in chunks(self.header.rows, rows_of(length)):
                rows = np.frombuffer(file.read((where.stop - where.start) * length), np.uint8)
                if not holds(rows.reshape(-1, length)):
                    raise RemoteFault(
                        "delivery.not_ciphertexts",
                        "delivers rows that are not ciphertexts of this key",
                        party=f"shuffler {self.header.header.sender}",
                        step="delivery",
                    )


def _name(header: VectorHeader) -> str:
    context: Context = header.header.context
    return f"{header.header.sender}-{context.attempt}.rows"


def _mapped(folder: Path, header: VectorHeader) -> NDArray[np.uint8]:
    path = folder / _name(header)
    rows = mapped(path, header.rows, header.row_bytes)
    if sha256_of(rows) != header.sha256:
        raise LocalFault(
            "delivery.damaged",
            f"the vector {path.name} on this disk is not what shuffler {header.header.sender} delivered",
            hint=f"check the disk, and restore {path} from a backup; nothing is published meanwhile",
        )
    return rows
