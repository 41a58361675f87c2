"""What an operator may meet: kills under load and at work, a store from a backup, a collection that has to wait."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from peos.collection.replies import Answer
from peos.collection.submission import Part, bind
from peos.collection.summary import Summary
from peos.collection.ticket import issue
from peos.crypto.identity import Identity
from peos.crypto.randomness import Randomness
from peos.localcluster import Party, free_port
from peos.net.calls import Caller
from peos.net.client import channel
from peos.net.submit import describe, send_parts
from peos.wire.methods import SUBMIT_MANY
from shuffler.server import UNLOCKED
from tests.integration.played import ENROLMENT, RNG, PlayedTown, played, run
from tests.raising import raises

pytestmark = pytest.mark.full  # a town of its own


def alive(process: int) -> bool:
    """Whether a process runs, and is not only waiting to be taken off the list."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def descendants(process: int) -> list[int]:
    """Its children and theirs."""
    try:
        direct = [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []
    return [*direct, *(further for one in direct for further in descendants(one))]


def test_a_kill_during_a_load_of_submissions_loses_none_that_was_acknowledged(town: PlayedTown) -> None:
    count = 400

    async def test() -> None:
        async with played(town, "load", listening=False) as play:
            submissions = play.prepared(count)
            acknowledged: set[tuple[int, bytes]] = set()
            killed_after: list[int] = []
            victim = town.shufflers[1]

            def again() -> None:
                victim.stop()
                town.cluster.restart(victim)

            def note(number: int, answer: Answer) -> None:
                assert not answer.refusal, answer
                acknowledged.add((number, answer.id))
                if len(acknowledged) >= 150 and not killed_after:
                    killed_after.append(sum(who == 2 for who, _ in acknowledged))
                    assert victim.process is not None
                    os.kill(victim.process.pid, signal.SIGKILL)
                    threading.Thread(target=again).start()

            outcomes = await asyncio.to_thread(
                send_parts, town.cards, submissions, rng=Randomness(b"\x01" * 32), on_answer=note, deadline=120.0
            )
            assert all(outcome.accepted for outcome in outcomes)
            assert killed_after[0] < count, "it was killed before it had everything"
            assert [status.reports for status in await play.status()] == [count] * 3, f"killed after {killed_after}"
            await play.order(abort=True)

    run(test())


@pytest.mark.parametrize("kill", [False, pytest.param(True, marks=pytest.mark.long)], ids=["SIGTERM", "SIGKILL"])
def test_workers_end_with_the_shuffler_whatever_they_are_at(town: PlayedTown, kill: bool) -> None:
    async def test() -> None:
        # So many fakes are encrypted by worker processes, which first build tables for some ten seconds.
        async with played(town, f"workers {kill}", listening=False, fakes=6000) as play:
            await play.submit(4)
            await play.order()
            party = town.shufflers[0]
            assert party.process is not None
            main = party.process.pid
            give_up = time.monotonic() + 120
            while not descendants(main):
                assert time.monotonic() < give_up, "no worker was started"
                await asyncio.sleep(0.1)
            await asyncio.sleep(0.5)
            family = descendants(main)
            begun = time.monotonic()
            await asyncio.to_thread(stop_alone, party, signal.SIGKILL if kill else signal.SIGTERM)
            seconds = time.monotonic() - begun
            assert seconds < 10, f"it took {seconds:.1f} s to end"
            await asyncio.sleep(1.0)
            assert not [one for one in family if alive(one)], "workers outlived their shuffler"
            town.cluster.restart(party)
            await play.order(abort=True)
            await play.until_all("aborted")

    run(test())


def stop_alone(party: Party, number: signal.Signals) -> None:
    """Signal the process and not its workers, as a service manager may; and wait for its end."""
    assert party.process is not None
    os.kill(party.process.pid, number)
    party.process.wait(120)
    party.stop()


def test_a_store_from_a_backup_is_refused_and_then_given_up_for_what_was_unfinished(
    town: PlayedTown, tmp_path: Path
) -> None:
    async def test() -> None:
        async with played(town, "backup", listening=False) as play:
            party = town.shufflers[2]
            party.stop()
            state, backup = party.folder / "state", tmp_path / "backup"
            backup.mkdir()
            for path in state.glob("store.sqlite*"):
                shutil.copy(path, backup)
            town.cluster.restart(party)
            await play.order()
            party.stop()
            for path in state.glob("store.sqlite*"):
                path.unlink()
            for path in backup.iterdir():
                shutil.copy(path, state)
            with raises("localcluster.command", "[store.older]"):
                party.run("serve", "--config", str(party.config))
            command = [sys.executable, "-m", "shuffler", "serve", "--restored", "--config", str(party.config)]
            with (tmp_path / "log").open("wb") as log:
                party.process = subprocess.Popen(command, stdout=log, stderr=log, process_group=0)  # noqa: S603 - our own program
            party.wait_until_listening(town.cluster.ports[party.name])
            here = await play.until(lambda here: here[2].state == "aborted", "the end at shuffler 3")
            assert "restored from a backup" in here[2].reason
            ended = await play.until_all("aborted")  # the others learn of it, and end too
            assert "shuffler 3" in ended[0].reason
            assert "restored from a backup" in ended[0].reason
            party.stop()
            town.cluster.restart(party)  # without the option again: what was given up is known

    run(test())


def test_a_collection_waits_for_the_operators_word(town: PlayedTown) -> None:
    party = town.shufflers[0]
    party.stop()
    auto = party.config.read_text()
    party.config.write_text(auto.replace('accept = "auto"', 'accept = "ask"'))
    town.cluster.restart(party)
    labels = ("none", "one", *(f"{number} of them" for number in range(2, 16)))

    async def test() -> None:
        async with played(town, "asked", listening=False, labels=labels) as play:
            here = await play.status()
            assert [status.state for status in here] == ["draft", "open", "open"]
            with raises("collection.not_accepted_yet"):
                await asyncio.to_thread(describe, town.cards[0], play.digest)
            await asyncio.sleep(1.0)  # until the status that the command reads is written
            with raises("localcluster.command", "00000000", "[collection.ambiguous]"):
                party.run("accept", "--config", str(party.config), "00000000")
            here_and_which = ("--config", str(party.config), play.digest.hex()[:6])
            for command in ("show", "accept"):
                shown = party.run(command, *here_and_which)
                assert str(Summary.of(play.document)) in shown, "the operator sees what she accepts"
                assert "0 none, 1 one" in shown
            assert json.loads(party.run("show", "--json", *here_and_which))["document"]["labels"] == list(labels)
            await play.until_all("open")
            assert (await asyncio.to_thread(describe, town.cards[0], play.digest)).signed == play.signed
            (line,) = [
                line
                for line in json.loads(party.run("status", "--json", "--config", str(party.config)))
                if line["collection"] == play.digest.hex()
            ]
            assert line["waiting"]["total"] == 33
            await play.order(abort=True)

    try:
        run(test())
    finally:
        party.stop()
        party.config.write_text(auto)
        town.cluster.restart(party)


@pytest.mark.long
@pytest.mark.parametrize("number", [1, 2], ids=["ciphertexts", "shares"])
def test_a_thousand_submissions_a_second_are_acknowledged_on_one_core(town: PlayedTown, number: int) -> None:
    count, streams = 4000, 4

    async def test() -> None:
        async with played(town, f"rate {number}", listening=False) as play:
            shares = tuple(part.share for part in play.prepared(1)[0])
            ids = [RNG.bytes(16) for _ in range(count)]
            made = (
                bind(play.digest, issue(ENROLMENT, play.digest, one, Identity.generate(RNG)), shares, RNG)
                for one in ids
            )
            parts = [parts[number - 1] for parts in made]
            card, process = town.cards[number - 1], town.shufflers[number - 1].process
            assert process is not None

            async def stream(some: list[Part]) -> int:
                caller = Caller(channel(card.user_address, card.user_certificate), card.name, RNG)
                answers = [answer async for answer in caller.exchange(SUBMIT_MANY, _each(some))]
                await caller.close()
                return sum(not answer.refusal for answer in answers)

            before, begun = processor_seconds(process.pid), time.monotonic()
            taken = sum(await asyncio.gather(*(stream(parts[first::streams]) for first in range(streams))))
            wall, spent = time.monotonic() - begun, processor_seconds(process.pid) - before
            assert taken == count
            told = f"{count} in {wall:.2f} s, of which {spent:.2f} s on the processor: {count / spent:,.0f} a second"
            print(told)  # noqa: T201 - a figure to report, shown by -s
            assert count / spent >= 1000, told
            await play.order(abort=True)

    run(test())


async def _each(parts: list[Part]) -> AsyncIterator[Part]:
    for part in parts:
        yield part


def processor_seconds(process: int) -> float:
    """What all threads of a process have used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def test_a_shuffler_without_a_passphrase_says_at_its_start_what_a_stolen_disk_shows(
    town: PlayedTown, tmp_path: Path
) -> None:
    ports = [free_port(), free_port()]
    settings = town.shufflers[0].config.read_text().replace('passphrase_file = "passphrase"', "")
    for mine, own in zip(town.cluster.ports[town.shufflers[0].name], ports, strict=True):
        settings = settings.replace(f":{mine}", f":{own}")
    config = tmp_path / "shuffler.toml"
    config.write_text(settings)
    bare = Party("without a passphrase", "shuffler", tmp_path, config)
    bare.run("init", "--config", str(config))
    bare.start()
    try:
        bare.wait_until_listening(ports)
        give_up = time.monotonic() + 60
        while bare.log.read_text().count(UNLOCKED) < 2:
            assert time.monotonic() < give_up, f"to the operator and in the log: {bare.log.read_text()}"
            time.sleep(0.05)
    finally:
        bare.stop()
    assert all(UNLOCKED not in party.log.read_text() for party in town.shufflers), "those that have one"
