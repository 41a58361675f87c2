"""A town's whole run over TLS: what is published, what is refused, who opens what, and what the logs say."""

import base64
import json
import math
import stat
import subprocess
import sys

import numpy as np
import pytest

from peos.ldp.base import PureMechanism
from peos.localcluster import Party
from tests.e2e.leaks import FRAGMENT, traces
from tests.e2e.town import here, told
from tests.e2e.whole_run import CHOSEN, DOMAIN, PUBLISHED, USERS, Concluded
from tests.raising import require_shown

ALPHA = 1e-6
RESULT = {"schema", "ok", "digest", "users", "dropped", "parameters", "labels", "frequency", "stderr", "interval95"}
RESULT |= {"truth", "guarantees", "cost", "checks"}
PARAMETERS = {"mechanism", "eps_local", "d_prime", "domain", "scheme", "protocol", "shufflers", "fakes", "delta"}
COST = {"party", "seconds", "sent", "received", "peak_rss"}


def parties(concluded: Concluded) -> list[Party]:
    """Everybody: who serves, and who submitted."""
    return [*concluded.town.cluster.parties, *concluded.clients.values()]


@pytest.mark.parametrize("mechanism", PUBLISHED)
def test_a_result_has_every_name_that_scripts_rely_on(concluded: Concluded, mechanism: str) -> None:
    result = concluded.results[mechanism]
    assert set(result) >= RESULT
    assert set(result["parameters"]) >= PARAMETERS
    assert all(set(row) >= COST for row in result["cost"])
    assert set(result["guarantees"]) >= {"server", "users", "local"}
    assert all(set(result["guarantees"][who]) >= {"delta", "theorem", "exact"} for who in ("server", "users"))
    assert len(result["guarantees"]["coalitions"]) == 3
    domain = result["parameters"]["domain"]
    assert result["parameters"]["mechanism"] == mechanism
    assert {len(result[name]) for name in ("labels", "frequency", "stderr", "interval95")} == {domain}
    assert all(low <= high for low, high in result["interval95"])
    assert (result["schema"], result["users"], result["truth"]) == (2, USERS, None)
    assert result["digest"] == concluded.digests[mechanism]
    assert result["ok"] is True
    assert set(result["checks"].values()) == {True}


def test_every_value_comes_out_exactly_once(concluded: Concluded) -> None:
    counted = np.array(concluded.results["grr"]["frequency"]) * USERS
    expected = [1] * USERS + [0] * (DOMAIN - USERS)
    assert np.rint(counted).tolist() == expected, counted
    assert np.abs(counted - expected).max() < 0.01, counted


@pytest.mark.parametrize("mechanism", PUBLISHED[1:])
def test_the_answer_of_all_is_told_from_those_of_nobody(concluded: Concluded, mechanism: str) -> None:
    result = concluded.results[mechanism]
    domain, fakes = result["parameters"]["domain"], result["parameters"]["fakes"]
    chances = _difference(concluded, mechanism)
    # Hoeffding, over all values: the counts are sums of independent zeros and ones, whatever the mechanism.
    rows = USERS + fakes
    bound = math.sqrt(rows * math.log(2 * domain / ALPHA) / 2) / (USERS * chances)
    off = np.abs(np.array(result["frequency"]) - np.eye(domain)[CHOSEN])
    assert bound < 1.0, f"at n = {USERS} the bound {bound:.3f} would show nothing"
    assert off.max() <= bound, (
        f"alpha = {ALPHA}, n = {USERS}, fakes = {fakes}: off by {off.max():.3f}, bound {bound:.3f}"
    )


def _difference(concluded: Concluded, name: str) -> float:
    """p − q of the mechanism that the document fixed."""
    mechanism = concluded.town.document_of(name).mechanism
    assert isinstance(mechanism, PureMechanism)
    return mechanism.oracle.p - mechanism.oracle.q


def test_two_collections_are_shuffled_by_the_same_parties_at_the_same_time(concluded: Concluded) -> None:
    log = told(concluded.town.cluster.shufflers[0])
    spans = []
    for name in ("grr", "solh"):
        times = {line["state"]: line["time"] for line in log if _about(line, concluded.digests[name]) and _moved(line)}
        spans.append((times["closed"], times["published"]))
    assert max(begun for begun, _ in spans) < min(ended for _, ended in spans), spans


def _moved(line: dict[str, object]) -> bool:
    return line["event"] == "state"


def _about(line: dict[str, object], digest: str) -> bool:
    return digest.startswith(str(line.get("collection", "-")))


def test_a_published_question_is_not_asked_again_in_its_epoch(concluded: Concluded) -> None:
    again = ("--question", "the question grr", "--mechanism", "grr")
    refused = concluded.town.ask("again", *again, domain=DOMAIN, users=USERS)
    assert refused.code == 3, refused
    require_shown(refused.err.splitlines()[-1], "collection.answered", concluded.digests["grr"][:16])
    assert not concluded.town.invitation("again").exists()
    allowed = concluded.town.ask("next", *again, "--epoch", "next", domain=DOMAIN, users=USERS)
    assert allowed.code == 0, allowed.err


def test_too_few_reports_are_not_shuffled_and_everybody_says_why(concluded: Concluded) -> None:
    town, reason = concluded.town, "5 reports, the minimum is 12"
    for shuffler in town.cluster.shufflers:
        line = town.standing(shuffler, concluded.digests["few"])
        assert line["state"] == "aborted"
        assert reason in line["reason"]
    shown = here("shuffler", "status", "--config", town.cluster.shufflers[0].config)
    assert reason in shown.out
    assert reason in town.analyst("status", "few").out
    refused = town.analyst("result", "few")
    assert refused.code == 1
    require_shown(refused.err, "result.aborted", reason)
    assert len(refused.err.splitlines()) == 1
    state = town.analyzer.folder / "state" / "collections" / "few"
    assert not (state / "result.json").exists()


def test_what_is_shown_is_what_was_published(concluded: Concluded) -> None:
    kept = concluded.town.analyzer.folder / "state" / "collections" / "solh" / "result.json"
    assert json.loads(kept.read_text(encoding="utf-8")) == concluded.results["solh"]
    shown = concluded.town.analyst("result", "solh").out
    assert f"{USERS} users, 8 fake reports" in shown
    assert shown.splitlines()[2].split()[0] == str(CHOSEN), shown


def test_everything_of_a_party_is_closed_to_others(concluded: Concluded) -> None:
    wrong = []
    for party in parties(concluded):
        for path in [party.folder, *party.folder.rglob("*")]:
            mode = stat.S_IMODE(path.stat().st_mode)
            is_public = path.suffix in (".card", ".invitation")  # which lie in folders that are closed, to be copied
            expected = 0o700 if path.is_dir() else 0o644 if is_public else 0o600
            if mode != expected and path.name != "values.txt":  # which the test wrote
                wrong.append(f"{path}: {mode:o}")
    assert not wrong


def test_nobody_opens_another_partys_folder(concluded: Concluded) -> None:
    watch = concluded.watch
    evidence = (
        f"{watch.samples} samples, processes { ({party: len(found) for party, found in watch.processes.items()}) }"
    )
    assert watch.samples >= 100, evidence
    for party in concluded.town.cluster.parties:
        assert watch.processes[party.name], evidence
        opened = {path for who, path in watch.seen if who == party.name and path.startswith(str(party.folder))}
        assert opened, f"{party.name} was never seen with a file of its own: {evidence}"
    assert not watch.intrusions, evidence


def test_a_process_that_opens_another_partys_folder_is_seen(concluded: Concluded) -> None:
    watch = concluded.watch
    victim, thief = concluded.town.analyzer, concluded.town.cluster.shufflers[0]
    secret = victim.folder / "state" / "keys"
    opened = "file = open(sys.argv[1], 'rb')"
    mapped = f"{opened}; held = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ); file.close()"
    for held in (opened, mapped):
        program = f"import mmap, sys; {held}; print('held', flush=True); sys.stdin.read()"
        words = [sys.executable, "-c", program, str(secret), "--config", str(thief.config)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # noqa: S603
            assert process.stdout is not None
            assert process.stdout.readline() == b"held\n"
            watch.sample()
            process.communicate()
        try:
            assert (thief.name, str(secret)) in watch.intrusions
        finally:
            watch.seen.discard((thief.name, str(secret)))


def test_no_log_holds_a_secret(concluded: Concluded) -> None:
    collections = len(PUBLISHED) + 1
    assert len(concluded.secrets) == 1 + 1 + 2 * collections + 3 + 3 * collections, sorted(concluded.secrets)
    assert all(concluded.secrets.values()), "of each kind there are some to look for"
    everything = [secret for found in concluded.secrets.values() for secret in found]
    for party in concluded.town.cluster.parties:
        text = party.log.read_bytes()
        assert len(text) > 1000
        shown = set(traces(text, everything))
        kinds = [kind for kind, found in concluded.secrets.items() if shown.intersection(found)]
        assert not kinds, f"the log of {party.name} holds {kinds}"


def test_a_secret_in_a_log_would_be_found(concluded: Concluded) -> None:
    text = concluded.town.analyzer.log.read_bytes()[:2000]
    for kind, found in concluded.secrets.items():
        for secret in (found[0], found[-1]):
            piece = secret[-FRAGMENT:]
            for written in (
                piece.hex().encode(),
                b"x" + piece.hex().upper().encode(),
                base64.b64encode(b"ab" + secret),
            ):
                planted = text + b'{"event": "' + written + b'"}\n'
                if len(secret) >= FRAGMENT or written == piece.hex().encode():
                    assert secret in traces(planted, [secret]), kind


def test_log_lines_are_structured_and_name_their_collection(concluded: Concluded) -> None:
    for party in concluded.town.cluster.parties:
        lines = told(party)
        assert all({"time", "level", "event", "party"} <= set(line) for line in lines)
        for name, digest in concluded.digests.items():
            assert any(_about(line, digest) for line in lines), f"{party.name} says nothing about {name}"


def test_a_commands_json_is_all_that_it_prints(concluded: Concluded) -> None:
    town = concluded.town
    found = town.analyst("status", "--json").json
    assert {line["name"] for line in found} >= {*PUBLISHED, "few"}
    client = concluded.clients["grr"]
    (standing,) = here("client", "status", "--config", client.config, "--json").json
    assert standing["collection"] == concluded.digests["grr"]
    assert (standing["prepared"], standing["accepted"]) == (USERS, USERS)
    line = town.standing(town.cluster.shufflers[0], concluded.digests["grr"])
    assert {"state", "waiting", "refused"} <= set(line)
    assert (line["state"], line["waiting"]) == ("published", None), "nothing is waited for any more"


def test_help_is_there_for_every_command() -> None:
    for name in ("analyzer", "shuffler", "client", "enrol", "localcluster", "demo"):
        shown = here(name, "--help")
        assert shown.code == 0
        assert "Usage" in shown.out
