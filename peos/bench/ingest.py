"""How many submissions a shuffler makes durable in a second, measured from outside, over real streams.

Submissions are prepared first. Then one shuffler at a time is sent its parts, from several clients at once, each a
process of its own; the others of the collection idle. An acknowledgement means that the part is fsync'ed.
"""

import json
import multiprocessing
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from peos.collection.cards import Card
from peos.collection.prepare import prepare
from peos.collection.replies import Answer
from peos.collection.submission import Part
from peos.collection.ticket import Ticket
from peos.crypto.identity import Identity
from peos.crypto.randomness import system
from peos.ending import end_with_starter
from peos.localcluster import LocalCluster
from peos.localrun import NAME, enrol
from peos.wire import documents, parties, submissions

if TYPE_CHECKING:
    from rich.console import Console

MEASURED: Final = {1: "encrypted shares", 2: "plain shares"}
_DOMAIN: Final = 64


def measure(folder: Path, *, users: int, streams: int, console: "Console") -> list[dict[str, Any]]:
    """One row for a shuffler that takes ciphertexts, one for a shuffler that takes words."""
    with LocalCluster(folder / "cluster") as cluster:
        analyzer = cluster.analyzer
        assert analyzer is not None, "the cluster was made with one"
        cluster.init()
        cluster.start()
        analyzer.run(
            *("create", "--config", str(analyzer.config), "--name", NAME, "--question", "ingest"),
            *("--domain", str(_DOMAIN), "--users", str(users), "--delta", "1e-6", "--eps-local", "4", "--fakes", "0"),
            *("--out", str(folder)),
        )
        tickets = folder / "tickets.txt"
        enrol(analyzer, users, tickets)
        console.print(f"preparing {users:,} submissions")
        cards, prepared = _prepared(folder / f"{NAME}.invitation", tickets)
        rows = []
        for shuffler, kind in MEASURED.items():
            parts = [submissions.encode_part(made[shuffler - 1]) for made in prepared]
            console.print(f"sending them to shuffler {shuffler}, {streams} clients at a time")
            before = _cpu_seconds(cluster, shuffler)
            row = _sent(cards, parts, streams)
            row["processor_seconds"] = round(_cpu_seconds(cluster, shuffler) - before, 2)
            rows.append({"shuffler": kind, **row})
    return rows


def _prepared(invitation: Path, tickets: Path) -> tuple[tuple[Card, ...], list[tuple[Part, ...]]]:
    from peos.net.submit import describe

    invited = parties.decode_invitation(invitation.read_bytes())
    document = documents.decode_signed_document(describe(invited.shufflers[0], invited.collection).signed).document
    owned = [map(bytes.fromhex, line.split(":")) for line in tickets.read_text(encoding="utf-8").split()]
    rights = [Ticket(id_, signature, Identity(seed)) for id_, signature, seed in owned]
    rng = system()
    reports = document.mechanism.randomize(np.zeros(len(rights), np.int64), rng)
    splitter = document.encryption().splitter(rng, len(reports))
    return invited.shufflers, prepare(invited.collection, splitter, reports, rights, rng)


def _sent(cards: Sequence[Card], parts: list[bytes], streams: int) -> dict[str, Any]:
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(streams + 1)
    results: Any = context.Queue()
    shares = [parts[first::streams] for first in range(streams)]
    clients = [context.Process(target=_client, args=(cards, share, ready, results)) for share in shares]
    for client in clients:
        client.start()
    ready.wait()
    start = time.perf_counter()
    milliseconds = np.concatenate([np.asarray(json.loads(results.get())) for _ in clients])
    seconds = time.perf_counter() - start
    for client in clients:
        client.join()
    row: dict[str, Any] = {"submissions_per_second": round(len(parts) / seconds), "seconds": round(seconds, 2)}
    for percentile in (50, 95, 99):
        row[f"ms_p{percentile}"] = round(float(np.percentile(milliseconds, percentile)), 1)
    return row


def _client(cards: Sequence[Card], parts: list[bytes], ready: Any, results: Any) -> None:
    """One client's stream; how long each of its acknowledgements took."""
    from peos.net.submit import send_parts

    end_with_starter()
    offered: dict[bytes, float] = {}
    took: list[float] = []

    def submission(encoded: bytes) -> tuple[Part, ...]:
        part = submissions.decode_part(encoded)
        offered[part.id] = time.perf_counter()
        return (part,)

    def answered(_: int, answer: Answer) -> None:
        took.append(1000 * (time.perf_counter() - offered[answer.id]))

    ready.wait()
    outcomes = send_parts(cards, map(submission, parts), rng=system(), on_answer=answered)
    if not all(outcome.accepted for outcome in outcomes):
        took = []
    results.put(json.dumps(took))


def _cpu_seconds(cluster: LocalCluster, shuffler: int) -> float:
    row = next(row for row in cluster.cost() if row["party"] == f"shuffler-{shuffler}")
    return float(row["seconds"] or 0.0)
