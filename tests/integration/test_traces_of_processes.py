"""Parties' steps at a collector, over the real wire: one trace a collection, nothing of users, and no party waits."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Final

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from peos.collection.lifecycle import State
from peos.ending import ends_with_this
from peos.localcluster import LocalCluster, Party
from peos.net.tracing import trace_of
from peos.shuffle.schedule import Deliver, HandOver, Hide, Leave, Schedule
from tests.collector import collecting
from tests.e2e.town import PATIENCE, Town, digest_of, here, says, told, until
from tests.raising import require_shown
from user_client.input_files import read_lines, read_ticket

pytestmark = pytest.mark.full  # processes

LABELS: Final = ("porcupine", "salamander", "woodpecker")
FEW, MANY = 12, 45
ATTRIBUTES: Final = frozenset(
    {"peos.collection", "peos.party", "peos.attempt", "peos.round", "peos.outcome"}
    | {"peos.peer", "peos.step", "peos.state", "error.type"}
)
COUNTED: Final = frozenset({"peos.attempt", "peos.round"})  # what may be a number
STATES: Final = ("proposal", "open", "freeze", "layout", "shuffle", "inspection")
NOT_SENT: Final = "traces cannot be sent at the moment"


def steps(who: int) -> Counter[str]:
    """The spans of one shuffler of three, as its script has them."""
    found = Counter(STATES)
    for action in Schedule(3).script(who):
        match action:
            case Leave(number):
                found[f"round {number}, splitting"] += 1
            case Hide(number):
                found[f"round {number}, mixing"] += 1
            case HandOver(number) | Deliver(number, HandOver()):
                found[f"round {number}, pass over the ciphertexts"] += 1
    found["round 3, delivery"] += 1
    return found


def ended(town: Town, name: str, users: int) -> None:
    """A whole collection."""
    labels = [word for label in LABELS for word in ("--label", label)]
    ran = town.analyst(
        *("create", "--name", name, "--question", f"which of them, {name}?", "--users", users, "--delta", "1e-6"),
        *("--eps-local", 24, "--fakes", 0, "--scheme", "jl", "--out", town.folder, *labels),
    )
    assert ran.code == 0, ran.err
    town.answer(name, [number % 3 for number in range(users)])
    town.freeze(name)
    assert town.result(name)["users"] == users


def test_a_collection_is_one_trace_of_all_parties_and_says_nothing_of_its_users(tmp_path: Path) -> None:
    with LocalCluster(tmp_path / "cluster") as cluster:
        cluster.init(most_eps_local=24.0)
        town = Town(cluster, run=here)
        with collecting() as collector:
            for party in cluster.parties:
                config = party.config.read_text()
                party.config.write_text(f'{config}\n[tracing]\nto = "{collector.address}"\n')
            cluster.start()
            traces = []
            for name, users in (("few", FEW), ("many", MANY)):
                ended(town, name, users)
                traces.append(trace_of(bytes.fromhex(digest_of(town, name))))
            wanted = {f"shuffler-{who}": steps(who) for who in (1, 2, 3)}
            of_analyzer = ("open", "shuffle", "publication", "decryption", "inspection", "search for the dummies")
            wanted["analyzer"] = Counter((*of_analyzer, "result", "collection"))

            def names(trace: int) -> dict[str, Counter[str]]:
                found = {party: Counter[str]() for party in wanted}
                for party, span in collector.spans(trace):
                    found[party][span.name] += 1
                return found

            until(lambda: all(names(trace) == wanted for trace, _ in traces), "all spans of both collections")
            for trace, root in traces:
                check(collector.spans(trace), root)
            assert {int.from_bytes(span.trace_id) for _, span in collector.all()} == {trace for trace, _ in traces}
            secret = [f"which of them, {name}?".encode() for name in ("few", "many")]
            secret += [label.encode() for label in LABELS]
            for name in ("few", "many"):
                for line in read_lines(town.folder / f"{name}.tickets"):
                    ticket = read_ticket(line)
                    secret += [ticket.id, ticket.id.hex().encode()]
            assert not [one for one in secret for body in collector.bodies if one in body]
        ended(town, "unheard", FEW)  # the collector is gone
        for party in cluster.parties:
            until(lambda: says(party, NOT_SENT), "a line that says so")  # noqa: B023 - called at once
            assert sum(line["event"] == NOT_SENT for line in told(party)) <= 2, "not one a try"
        for party in cluster.parties:
            process = party.process
            party.stop()
            assert process is not None
            assert process.returncode == 0


def check(spans: list[tuple[str, Span]], root: int) -> None:
    """What must hold of each span of a collection that ended well."""
    ids = {span.span_id for _, span in spans}
    assert len(ids) == len(spans)
    for party, span in spans:
        if span.name == "collection":
            assert (party, int.from_bytes(span.span_id), span.parent_span_id) == ("analyzer", root, b"")
        else:
            assert span.parent_span_id in ids, f"{party}: {span.name}"
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        shown = [*span.attributes, *(one for event in span.events for one in event.attributes)]
        assert {one.key for one in shown} <= ATTRIBUTES
        assert {one.key for one in shown if one.value.HasField("int_value")} <= COUNTED
        assert not [one for one in shown if one.value.WhichOneof("value") not in ("int_value", "string_value")]
        assert not (span.name == State.OPEN and span.events), "users answer, and dummies are sent"


LOADED: Final = """
import atexit, runpy, sys
if sys.argv[1] == "without":
    sys.modules["opentelemetry"] = None
sys.argv[1:2] = []
here = ("opentelemetry", "requests", "urllib3")
atexit.register(lambda: print("loaded:", *[name for name in sys.modules if name.partition(".")[0] in here], flush=True))
sys.argv[:1] = []
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


def start(party: Party, *, extra: bool = True) -> subprocess.Popen[bytes]:
    """The party's server, which says at its end what it has loaded of the extra."""
    command = [sys.executable, "-c", LOADED, "with" if extra else "without", party.module]
    with party.log.open("wb") as log:
        party.process = subprocess.Popen(  # noqa: S603 - our own processes
            [*command, "serve", "--config", str(party.config)],
            stdout=log,
            stderr=log,
            env=ends_with_this(),
            process_group=0,
        )
    return party.process


def test_a_party_without_a_collector_loads_nothing_of_the_extra_and_with_one_needs_it(tmp_path: Path) -> None:
    with LocalCluster(tmp_path / "cluster") as cluster:
        cluster.init()
        assert cluster.analyzer is not None
        for party, to in ((cluster.shufflers[0], ""), (cluster.analyzer, ""), (cluster.shufflers[1], "http://[::1]:1")):
            if to:
                party.config.write_text(f'{party.config.read_text()}\n[tracing]\nto = "{to}"\n')
            start(party)
            party.wait_until_listening(cluster.ports[party.name])
            party.stop()
            (line,) = (one for one in party.log.read_text().splitlines() if one.startswith("loaded:"))
            assert (line != "loaded:") == bool(to)
        assert start(party, extra=False).wait(PATIENCE) == 2
        (said,) = (one for one in party.log.read_text().splitlines() if not one.startswith(("loaded:", "{")))
        require_shown(said, "config.tracing_extra", "tracing.to", "peos[tracing]")
