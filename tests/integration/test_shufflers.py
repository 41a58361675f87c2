"""Three shuffler processes on free ports, killed and restarted at every step: one multiset, or an end with its reason.

"Conservation": every report is a word of its own and comes out exactly once, whatever happened on the way.
"""

import asyncio
import json
import re
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peos.collection.document import MechanismChoice
from peos.collection.replies import Status
from peos.crypto.kdf import Context, StreamKey
from peos.crypto.randomness import Randomness
from peos.ldp import GRR
from peos.net.calls import Caller
from peos.net.client import channel
from peos.net.retry import ONCE
from peos.net.submit import send_parts
from peos.net.tls import grpc, health_pb2, health_pb2_grpc, pinned
from peos.shuffle.effects import Task
from peos.shuffle.messages import Header, Kind, Statement, Step
from peos.shuffle.vectors import as_rows
from peos.wire import parties
from peos.wire.methods import CLOSE, GET_LIST, SAY, STATUS
from shuffler import config, keys
from shuffler.evidence import Evidence
from tests.integration.played import FAKES, Played, Town, played
from tests.raising import raises

pytestmark = pytest.mark.full  # a town of its own

USERS = 20


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    """Processes that serve every test of this file; a test that stops one starts it again."""
    made = Town(tmp_path_factory.mktemp("town"))
    with made.cluster:
        yield made


def run(test: Awaitable[None]) -> None:
    """Run an asynchronous test to its end."""

    async def whole() -> None:
        await test

    asyncio.run(whole())


def restart(town: Town, number: int, *, kill: bool) -> None:
    """Stop one shuffler and start it again on its ports."""
    party = town.shufflers[number - 1]
    begun = time.monotonic()
    party.stop(kill=kill)
    seconds = time.monotonic() - begun
    assert seconds < 8, f"{party.name} took {seconds:.1f} s to stop"
    town.cluster.restart(party)


def shuffling(number: int, attempt: int) -> Callable[[list[Status]], bool]:
    """Whether a shuffler is in the midst of an attempt."""
    return lambda here: here[number - 1].step.startswith(f"attempt {attempt}, round")


def test_every_report_comes_out_exactly_once(town: Town) -> None:
    async def test() -> None:
        async with played(town, "plain") as play:
            await play.submit(USERS)
            open_ = await play.status()
            assert [status.reports for status in open_] == [USERS + 32] * 3
            assert open_[0].waited_for == ("users",)
            assert (open_[0].done, open_[0].total) == (USERS + 32, 1 + 32)
            await play.order()
            await play.until_all("published")
            play.check_conservation()
            lines = json.loads((town.shufflers[0].folder / "state" / "status.json").read_text())
            (mine,) = [line for line in lines if line["collection"] == play.digest.hex()]
            rows = USERS + 32 + FAKES
            assert mine["received"] > (USERS + 32) * 768
            assert mine["sent"] > rows * 768, "shuffler 1 hands every ciphertext over"

    run(test())


@pytest.mark.parametrize("kill", [pytest.param(False, marks=pytest.mark.long), True], ids=["SIGTERM", "SIGKILL"])
def test_each_shuffler_is_stopped_in_the_middle_of_an_attempt(town: Town, kill: bool) -> None:
    async def test() -> None:
        async with played(town, f"middle {kill}") as play:
            await play.submit(USERS)
            await play.order()
            for number in (1, 2, 3):
                await play.until(shuffling(number, number), f"attempt {number} with shuffler {number}")
                await asyncio.to_thread(restart, town, number, kill=kill)
            await play.until_all("published")
            play.check_conservation()
            attempts = {header.header.context.attempt for header in play.headers}
            assert attempts == {4}, "each of three attempts was interrupted, and left by all"

    run(test())


def keys_of(task: Task) -> list[bytes]:
    """The secrets of every stream that a task names."""
    named = [value for field in fields(task) for value in _each(getattr(task, field.name))]
    return [value.secret for value in named if isinstance(value, StreamKey)]


def _each(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


def evidence_of(town: Town, number: int) -> list[Path]:
    """The files that a shuffler keeps for inspections."""
    return [path for path in (town.shufflers[number - 1].folder / "state" / "evidence").rglob("*") if path.is_file()]


def test_every_shuffler_opens_the_dummies_rows_also_one_that_was_killed_after_the_delivery(town: Town) -> None:
    async def test() -> None:
        async with played(town, "opened") as play:
            await play.submit(USERS)
            await play.order()
            await play.until_all("published")
            assert sorted(play.openings) == [1, 2, 3]
            assert not any(opening.nothing for opening in play.openings.values())
            assert not play.findings()
        for killed in ((2,), (1, 2, 3)):
            async with played(town, f"opened all the same {killed}") as play:
                play.holds_dummies_back = True
                await play.submit(USERS)
                await play.order()
                waiting = await play.until_all("delivered")
                assert all(status.step == "the inspection" for status in waiting), waiting
                for number in killed:
                    await asyncio.to_thread(restart, town, number, kill=True)
                play.holds_dummies_back = False
                await play.until_all("published")
                play.check_conservation()
                assert sorted(play.openings) == [1, 2, 3]
                assert not any(opening.nothing for opening in play.openings.values()), f"killed: {killed}"
                assert not play.findings()
                assert not any(evidence_of(town, number) for number in (1, 2, 3)), "it is over"

    run(test())


def test_what_is_kept_for_the_inspection_is_sealed_and_gone_when_it_is_over(town: Town) -> None:
    async def test() -> None:
        async with played(town, "sealed") as play:
            play.holds_dummies_back = True
            await play.submit(USERS)
            await play.order()
            await play.until_all("delivered")
            for number in (1, 2, 3):
                party = town.shufflers[number - 1]
                settings = config.read(party.config)
                schedule = play.document.schedule
                kept = Evidence(settings.folder, keys.load(settings).vault, number, schedule, play.digest)
                found = kept.load(lambda count, width: np.empty((count, width), np.uint8))
                assert found is not None
                secrets = [key for _, task in found.record.trail for key in keys_of(task)]
                assert secrets
                rows = [as_rows(vector)[:2].tobytes()[:16] for vector in found.vectors.values()]
                on_disk = {path: path.read_bytes() for path in party.folder.rglob("*") if path.is_file()}
                assert {path for path in on_disk if path.parent.parent.name == "evidence"} == set(
                    evidence_of(town, number)
                )
                for path, content in on_disk.items():
                    assert not any(secret in content for secret in secrets), f"a stream's key lies open in {path}"
                    assert not any(secret.hex().encode() in content for secret in secrets), path
                    assert not any(row in content for row in rows), f"rows lie open in {path}"
            play.holds_dummies_back = False
            await play.until_all("published")
            assert not any(evidence_of(town, number) for number in (1, 2, 3))

    run(test())


def test_each_shuffler_is_killed_between_the_steps(town: Town) -> None:
    async def test() -> None:
        async with played(town, "between", listening=False) as play:
            restart(town, 3, kill=True)  # open, nothing submitted
            await play.submit(USERS)
            restart(town, 1, kill=True)  # with every submission acknowledged
            restart(town, 2, kill=False)
            town.shufflers[2].stop(kill=True)
            for caller in play.callers[:2]:
                await order_one(play, caller)
            waiting = await play.until(
                lambda here: here[0].waited_for == ("shuffler 3 (shuffler-3)",), "waiting for shuffler 3"
            )
            assert waiting[0].step == "freeze, announcements"
            restart(town, 2, kill=True)  # closed, in the middle of the freeze
            town.cluster.restart(town.shufflers[2])
            await order_one(play, play.callers[2])
            await play.until(
                lambda here: all(status.waited_for == ("the analyzer (analyzer)",) for status in here), "delivery"
            )
            for number in (2, 3):  # the last hiders, both of whom are sending; and who only waits for the receipt
                restart(town, number, kill=True)
            restart(town, 1, kill=True)
            await play.until(lambda here: here[1].step == "delivery", "shuffler 2 delivering after its restart")
            await play.listen()
            await play.until_all("published")
            play.check_conservation()
            assert not any(opening.nothing for opening in play.openings.values()), "killed before the output was taken"
            assert not play.findings()

    run(test())


async def order_one(play: Played, caller: Caller) -> None:
    """Tell one shuffler to close."""
    await caller.ask(CLOSE, parties.sign_order(play.digest, play.town.identity))


@pytest.mark.long  # the machine waits for a clock, and for pauses; in memory it is shown in tests/unit/shuffler_process
def test_the_closing_time_passes_while_a_shuffler_is_down(town: Town) -> None:
    async def test() -> None:
        async with played(town, "late", closes_at=int(time.time()) + 5) as play:
            await play.submit(USERS)
            party = town.shufflers[1]
            party.stop()
            await asyncio.sleep(max(0.0, play.document.closes_at + 0.5 - time.time()))
            town.cluster.restart(party)
            await play.until_all("published")
            play.check_conservation()

    run(test())


def test_too_few_reports_end_the_collection_with_the_numbers(town: Town) -> None:
    async def test() -> None:
        async with played(town, "few", minimum=USERS + 1) as play:
            await play.submit(USERS)
            await play.order()
            ended = await play.until_all("aborted")
            for status in ended:
                assert f"{USERS} reports, the minimum is {USERS + 1}" in status.reason
            assert play.headers == []

    run(test())


def test_the_analyzer_aborts_before_the_end(town: Town) -> None:
    async def test() -> None:
        for state, question in (("open", "abort open"), ("shuffling", "abort shuffling")):
            async with played(town, question, listening=False) as play:
                await play.submit(USERS)
                if state == "shuffling":
                    await play.order()
                    await play.until(shuffling(1, 1), "the first attempt")
                await play.order(abort=True)
                for status in await play.status():
                    assert status.state == "aborted"
                    assert "abort" in status.reason or "gave it up" in status.reason, status.reason
                await play.order(abort=True)  # the same order again changes nothing

    run(test())


def test_what_is_being_sent_ends_without_a_tombstone_when_the_analyzer_aborts(town: Town) -> None:
    async def test() -> None:
        async with played(town, "abort sending", listening=False) as play:
            await play.submit(USERS)
            await play.order()
            await play.until(lambda here: here[1].step == here[2].step == "delivery", "delivery")
            assert all(evidence_of(town, number) for number in (1, 2, 3)), "it is there before anything is delivered"
            await play.order(abort=True)
            ended = await play.until_all("aborted")
            assert not any(evidence_of(town, number) for number in (1, 2, 3))
            assert ended[1].reason == ended[2].reason == "the analyzer aborted the collection"
            with raises("collection.answered"):  # where it is unknown, it was delivered
                async with played(town, "abort sending", listening=False):
                    pass

    run(test())


@pytest.mark.parametrize(
    ("changes", "mistake"),
    [
        ({"choice": MechanismChoice.of(GRR(16, 6.0))}, ("policy.eps_local", "6", "5")),
        ({"closes_at": 1, "shuffle_by": 2}, ("policy.closed",)),
    ],
)
def test_what_the_policy_forbids_is_refused_with_its_reason(
    town: Town, changes: dict[str, object], mistake: tuple[str, ...]
) -> None:
    async def test() -> None:
        with raises(*mistake):
            async with played(town, "forbidden", listening=False, **changes):
                pass

    run(test())


def test_a_fifth_collection_of_a_question_within_a_day_is_refused_whatever_its_epoch_and_blanks(town: Town) -> None:
    """Those that were aborted without an output make room again, and the same proposal again is no other."""

    async def test() -> None:
        plays = [Played(town, town.document("How often?", epoch=str(number))) for number in range(4)]
        late = Played(town, town.document("How  often? ", epoch="4"))
        try:
            for play in (*plays, plays[0]):
                await play.propose()
            with raises("policy.often", "4", "this question", "4"):
                await late.propose()
            await plays[0].order(abort=True)
            await plays[0].until_all("aborted")
            await late.propose()
        finally:
            for play in (*plays, late):
                await play.close()

    run(test())


def test_a_message_under_another_shufflers_certificate_is_refused(town: Town) -> None:
    async def test() -> None:
        async with played(town, "posing", listening=False) as play:
            context = Context(play.digest, bytes(32), 1)
            word = Statement(Header(context, Step(1, Kind.COMMIT), 3, 1), bytes(32))
            card = town.cards[0]
            posing = channel(card.peer_address, card.peer_certificate, town.peer_certificate(2))
            caller = Caller(posing, "shuffler 1", Randomness(b"\x01" * 32), policy=ONCE)
            with raises("network.sender"):
                await caller.ask(SAY, word)
            with raises("freeze.lists_caller"):
                async for _ in play.callers[0].stream(GET_LIST, play.digest):
                    pass
            await caller.close()
            await play.order(abort=True)

    run(test())


def test_a_part_for_a_collection_that_has_ended_is_refused_with_its_state(town: Town) -> None:
    async def test() -> None:
        async with played(town, "ended", listening=False) as play:
            await play.order(abort=True)
            (outcome,) = await asyncio.to_thread(
                send_parts, town.cards, play.prepared(1), rng=Randomness(b"\x01" * 32), deadline=60.0
            )
            assert not outcome.accepted
            assert {refusal.error_id for refusal in outcome.refusals} == {"submit.erased"}, outcome

    run(test())


@pytest.mark.parametrize("port", [0, 1], ids=["users", "peers"])
def test_a_client_that_speaks_tls_12_at_most_is_refused(town: Town, port: int) -> None:
    name = town.shufflers[0].name
    capped = ssl.create_default_context()
    capped.check_hostname = False
    capped.verify_mode = ssl.CERT_NONE
    address = ("127.0.0.1", town.cluster.ports[name][port])
    capped.maximum_version = ssl.TLSVersion.TLSv1_2
    with socket.create_connection(address, 5) as plain, pytest.raises((ssl.SSLError, ConnectionError)):
        capped.wrap_socket(plain)
    capped.maximum_version = ssl.TLSVersion.TLSv1_3  # the same client without the cap gets through
    with socket.create_connection(address, 5) as plain, capped.wrap_socket(plain) as secure:
        assert secure.version() == "TLSv1.3"


def test_health_is_served_to_whoever_may_connect(town: Town) -> None:
    card = town.cards[0]
    options = (("grpc.ssl_target_name_override", "peos.party"),)
    with grpc.secure_channel(card.user_address, pinned(card.user_certificate), options=options) as users:
        stub: Any = health_pb2_grpc.HealthStub(users)
        answer = stub.Check(health_pb2.HealthCheckRequest(service="peos.v1.Users"))
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_commands_of_an_operator_say_what_stands_and_what_is_wrong(town: Town, tmp_path: Path) -> None:
    party = town.shufflers[0]
    shown = party.run("status", "--config", str(party.config))
    assert re.search(r"^[0-9a-f]{16}…  published, 52 submissions$", shown, re.MULTILINE), shown
    lines = json.loads(party.run("status", "--config", str(party.config), "--json"))
    assert {"state", "waiting", "refused", "sent", "received"} <= set(lines[0])
    (tmp_path / "passphrase").touch(mode=0o600)
    (tmp_path / "passphrase").write_bytes((party.folder / "passphrase").read_bytes())  # as configurations name it
    second = tmp_path / "second.toml"
    second.write_text(party.config.read_text().replace('folder = "state"', f'folder = "{party.folder / "state"}"'))
    with raises("localcluster.command", "[store.in_use]"):
        party.run("serve", "--config", str(second))
    elsewhere = tmp_path / "elsewhere.toml"
    elsewhere.write_text(party.config.read_text())
    with raises("localcluster.command", "[key.no_folder]"):
        party.run("serve", "--config", str(elsewhere))
    party.run("init", "--config", str(elsewhere))
    with raises("localcluster.command", "127.0.0.1", "[network.listen]"):
        party.run("serve", "--config", str(elsewhere))
    (tmp_path / "state").chmod(0o755)
    with raises("localcluster.command", "[store.open_to_others]"):
        party.run("serve", "--config", str(elsewhere))


def test_logs_name_the_collection_and_hold_no_key(town: Town) -> None:
    for party in town.shufflers:
        lines = [json.loads(line) for line in party.log.read_text().splitlines()]
        assert any(len(line.get("collection", "")) == 16 for line in lines)
        assert not [line for line in lines if line["level"] == "error"], "nothing went wrong that was this party's own"
        secret = keys.load(config.read(party.config)).identity.secret.hex()
        assert secret not in party.log.read_text()


def test_status_is_for_those_who_take_part(town: Town) -> None:
    async def test() -> None:
        async with played(town, "curious", listening=False) as play:
            unknown: Status = await play.callers[0].ask(STATUS, bytes(32))
            assert not unknown.known
            await play.order(abort=True)
            await play.order()  # too late, and harmless
            assert [status.state for status in await play.status()] == ["aborted"] * 3

    run(test())
