"""What collections that are over cost a shuffler and an analyzer: at start, and at rest.

    python -m benchmarks.finished [--collections 1000] [--seconds 20] [--code CHECKOUT] [--json]

Each role's folder is filled with collections that have ended, through the role's own store, half of them so that users
may still ask about them; then its process is started as an operator starts it. Printed are the seconds until its ports
are open, the processor time that this took and that it takes at rest (all its processes), open descriptors, and the
same of a folder without any collection. `--code` runs the processes of another checkout on the same folders.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from analyzer import keys as analyzer_keys
from analyzer.config import read as read_analyzer
from analyzer.workspace import Workspace, pack_dummies
from peos.collection.cards import Card
from peos.collection.document import Document, Dummy, MechanismChoice, digest
from peos.collection.lifecycle import State
from peos.crypto.identity import Identity
from peos.crypto.randomness import Randomness, system
from peos.crypto.schemes import scheme
from peos.ldp import GRR
from peos.ldp.base import Question
from peos.net.certificates import as_der, make_certificate
from peos.net.logs import LISTENING
from peos.store.sqlite import SqliteStore
from peos.wire.documents import encode_document, sign_document
from peos.wire.parties import decode_card, encode_proposal, sign_card
from shuffler import keys as shuffler_keys
from shuffler.config import read as read_shuffler

SHUFFLERS: Final = 3
WEEK: Final = 604_800
ROLES: Final = ("shuffler", "analyzer")


@dataclass(frozen=True)
class Ground:
    """Both roles' folders, and what their collections are made of."""

    folder: Path
    document: Document
    analyzer: Identity
    signed_cards: tuple[bytes, ...]

    def made(self, number: int) -> tuple[bytes, bytes, bytes]:
        """The digest of one collection, its signed document and its proposal; of odd ones the time is over."""
        end = int(time.time()) + (WEEK if number % 2 else -WEEK)
        times = {"closes_at": end - 20, "shuffle_by": end - 10, "erase_by": end}
        document = replace(self.document, question=f"Which of {number}?", **times)  # type: ignore[arg-type] # numbers all
        signed = sign_document(document, self.analyzer)
        return digest(encode_document(document)), signed, encode_proposal(signed, self.signed_cards)


def ground(folder: Path) -> Ground:
    """A shuffler and an analyzer with their keys; two shufflers more that have cards alone."""
    rng = system()
    folder.mkdir(parents=True)
    passphrase = folder / "passphrase"
    passphrase.touch(mode=0o600)
    passphrase.write_text("a passphrase of this measurement\n")
    identities = [Identity.generate(rng) for _ in range(SHUFFLERS - 1)]
    others = [_card(f"shuffler {number}", one, rng) for number, one in enumerate(identities, start=2)]
    (folder / "analyzer.card").touch()
    (folder / "shuffler.toml").write_text(
        f'name = "north"\nfolder = "shuffler"\n[listen]\nusers = "{_address()}"\npeers = "{_address()}"\n'
        '[policy]\nanalyzers = ["analyzer.card"]\nmost_eps_local = 8.0\nleast_reports = 1\n[limits]\nworkers = 1\n'
    )
    first = shuffler_keys.make(read_shuffler(folder / "shuffler.toml"))
    cards = (first.signed_card, *(sign_card(card, one) for card, one in zip(others, identities, strict=True)))
    for number, card in enumerate(cards, start=1):
        (folder / f"{number}.card").write_bytes(card)
    names = ", ".join(f'"{number}.card"' for number in range(1, SHUFFLERS + 1))
    (folder / "analyzer.toml").write_text(
        f'name = "office"\nfolder = "analyzer"\npassphrase_file = "passphrase"\nshufflers = [{names}]\n'
        f'[listen]\npeers = "{_address()}"\n'
    )
    keys = analyzer_keys.make(read_analyzer(folder / "analyzer.toml"), rng)
    (folder / "analyzer.card").write_bytes(keys.signed_card)
    document = Document(
        question="Which?",
        epoch="",
        choice=MechanismChoice.of(GRR(16, 2.0)),
        scheme="paillier",
        public_key=scheme("paillier").generate(rng).public.encode(),
        shufflers=tuple(decode_card(card).member for card in cards),
        analyzer=keys.card.member,
        fakes=10,
        minimum=5,
        delta=1e-6,
        enrolment_key=keys.enrolment.public,
        dummies=tuple(rng.bytes(32) for _ in range(32)),
        closes_at=1,
        shuffle_by=2,
        erase_by=3,
    )
    return Ground(folder, document, keys.identity, (*cards, keys.signed_card))


def fill(here: Ground, collections: int) -> None:
    """So many collections that have ended, in the stores of both."""
    rng, made = system(), [here.made(number) for number in range(collections)]
    with SqliteStore(here.folder / "shuffler", rng) as store:
        for number, (one, signed, proposal) in enumerate(made):
            asked = Question(here.analyzer.public, f"Which of {number}?", "")
            store.put_collection(one, signed, proposal, asked, State.OPEN)
            store.set_state(one, State.ABORTED, "the analyzer aborted the collection")
            store.erase(one)
    workspace = Workspace(read_analyzer(here.folder / "analyzer.toml"))
    dummies = pack_dummies([Dummy(rng.bytes(32), rng.bytes(16), rng.uint64(1)) for _ in range(32)])
    for number, (one, _, proposal) in enumerate(made):
        name = f"collection-{number}"
        key, sealed = (workspace.keys.vault.seal(what, name.encode(), content=dummies) for what in ("key", "dummies"))
        request = json.dumps({"users": 100})
        workspace.store.add(
            digest=one, name=name, request=request, words="", proposal=proposal, key=key, dummies=sealed
        )
        workspace.store.move(one, State.ABORTED, "the analyst aborted it")
        workspace.store.erase(one)
    workspace.close()


def measured(role: str, folder: Path, code: Path, seconds: float) -> dict[str, Any]:
    """One process of a role, from its start until it has rested for so long."""
    log, begun = folder / f"{role}.log", time.monotonic()
    log.unlink(missing_ok=True)
    command = [sys.executable, "-m", role, "serve", "--config", str(folder / f"{role}.toml"), "--log", str(log)]
    environment = os.environ | {"PYTHONPATH": str(code)}
    process = subprocess.Popen(command, cwd=code, env=environment, start_new_session=True)  # noqa: S603 - its own
    try:
        ports = 2 if role == "shuffler" else 1
        while not log.exists() or log.read_text().count(f'"event": "{LISTENING}"') < ports:
            if process.poll() is not None or time.monotonic() - begun > 600:
                raise SystemExit(f"the {role} did not start")
            time.sleep(0.02)
        ready, spent = time.monotonic() - begun, _processor_seconds(process.pid)
        time.sleep(5.0)  # what it does right after the start is not rest
        before = _processor_seconds(process.pid)
        time.sleep(seconds)
        return {
            "start_seconds": round(ready, 2),
            "start_cpu_seconds": round(spent, 2),
            "rest_cpu_seconds": round(_processor_seconds(process.pid) - before, 2),
            "descriptors": len(os.listdir(f"/proc/{process.pid}/fd")),
            "megabytes": round(_resident(process.pid) / 1e6),
        }
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def main() -> None:
    """Measure, and tell."""
    parser = argparse.ArgumentParser(description="What collections that are over cost.")
    parser.add_argument("--collections", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long the processes rest")
    parser.add_argument("--code", type=Path, default=Path(__file__).parent.parent, help="the checkout that is measured")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    found: dict[str, Any] = {"collections": chosen.collections, "seconds": chosen.seconds}
    with tempfile.TemporaryDirectory() as scratch:
        empty, full = Path(scratch) / "empty", Path(scratch) / "full"
        here = ground(empty)
        shutil.copytree(empty, full, copy_function=shutil.copy2)
        fill(replace(here, folder=full), chosen.collections)
        for role in ROLES:
            found[role] = {
                name: measured(role, folder, chosen.code.resolve(), chosen.seconds)
                for name, folder in (("without", empty), ("with", full))
            }
    if chosen.json:
        print(json.dumps(found, indent=2))
        return
    for role in ROLES:
        for name, figures in found[role].items():
            told = ", ".join(f"{what} {value}" for what, value in figures.items())
            print(f"{role} {name} {chosen.collections} ended collections: {told}")


def _card(name: str, identity: Identity, rng: Randomness) -> Card:
    peers, users = (as_der(make_certificate(f"{name} {port}", rng).pem) for port in ("peers", "users"))
    return Card(name, identity.public, _address(), peers, _address(), users)


def _address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def _processor_seconds(leader: int) -> float:
    """Of a process and of all that it started."""
    total = 0.0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        if int(fields[3]) == leader:  # the session
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def _resident(process: int) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) * 1024


if __name__ == "__main__":
    main()
