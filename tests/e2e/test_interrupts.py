"""Ctrl-C in every command that takes a while, ports that are taken, and a collection without users.

Each is one sentence with its exit code; what was interrupted goes on when the same command is given again.
"""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from peos.localcluster import LocalCluster
from tests.e2e.town import PATIENCE, Ran, Town, command, paused, until
from tests.raising import require_shown

DOMAIN = 8
USERS = 20
PAGE = "http://localhost:8000"


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    """Three shufflers and an analyzer, which shuffle nothing in this file."""
    with LocalCluster(tmp_path_factory.mktemp("interrupts") / "cluster", shufflers=3) as cluster:
        cluster.init(most_eps_local=48.0, least_reports=2)
        cluster.start()
        yield Town(cluster)


def interrupted(words: list[object], when: Callable[[str], bool], *, folder: Path | None = None) -> Ran:
    """Run a command, and press Ctrl-C once what it has said is what is waited for."""
    with subprocess.Popen(  # noqa: S603  # our own command line
        [sys.executable, "-m", "peos.cli", *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(folder)} if folder else None,
    ) as ran:
        said: dict[str, str] = {"out": "", "err": ""}

        def read(name: str, stream: object) -> None:
            for line in stream:  # type: ignore[attr-defined]  # a text stream
                said[name] += line

        readers = [
            threading.Thread(target=read, args=(name, stream))
            for name, stream in (("out", ran.stdout), ("err", ran.stderr))
        ]
        for reader in readers:
            reader.start()
        try:
            until(lambda: when(said["out"] + said["err"]) or ran.poll() is not None, f"{words[:2]} at work: {said}")
            assert ran.poll() is None, f"it was to be interrupted: {said}"
            os.killpg(ran.pid, signal.SIGINT)  # as a terminal does
            ran.wait(PATIENCE)
        finally:
            if ran.poll() is None:
                os.killpg(ran.pid, signal.SIGKILL)
            for reader in readers:
                reader.join()
    return Ran(ran.returncode, said["out"], said["err"])


def by_a_page(address: str) -> dict[str, str]:
    """The headers of the answer to a browser that asks a shuffler for a document, which there is none of."""
    port = http.client.HTTPConnection(address.removeprefix("http://"), timeout=PATIENCE)
    with closing(port):
        port.request("GET", f"/v1/collections/{'0' * 64}", headers={"origin": PAGE})
        answer = port.getresponse()
        assert answer.status == 404
        return dict(answer.getheaders())


def require_interrupted(ran: Ran, where: str) -> None:
    """130, its last line says so, and nothing of Python's."""
    assert ran.code == 130, ran
    assert ran.err.splitlines()[-1] == f"{where}: interrupted [program.interrupted]", ran.err
    assert "Traceback" not in ran.err + ran.out


def asking(town: Town, name: str, *more: object) -> list[object]:
    """The words that create a collection."""
    words: list[object] = ["analyzer", "create", "--config", town.analyzer.config, "--name", name, "--question", name]
    words += ["--domain", DOMAIN, "--users", USERS, "--delta", "1e-6", "--eps-local", 24, "--fakes", 0]
    return [*words, "--mechanism", "grr", "--out", town.folder, *more]


@pytest.mark.full
def test_create_enrol_submit_freeze_and_result_are_interrupted_and_go_on(town: Town) -> None:
    analyst = ("--config", town.analyzer.config)
    with paused(town.cluster.shufflers[1]):
        require_interrupted(interrupted(asking(town, "pets"), lambda said: "proposing" in said), "peos analyzer create")
    assert command(*asking(town, "pets")).code == 0, "the same command goes on"

    tickets = town.folder / "pets.tickets"
    enrol = ["enrol", *analyst, "--collection", "pets", "--out", tickets, "--count"]
    require_interrupted(interrupted([*enrol, 5_000_000], lambda said: "minting" in said), "peos enrol")
    assert not tickets.exists()
    assert not list(town.folder.glob(".*partial")), "tickets that no user was given"
    assert command(*enrol, USERS).code == 0

    client = town.cluster.client("users", most_eps_local=48.0, budget=48.0)
    values = client.folder / "values.txt"
    values.write_text("1\n" * USERS, encoding="utf-8")
    submit = ["client", "submit-file", "--config", client.config, "--invitation", town.invitation("pets")]
    submit += ["--tickets", tickets, "--values", values]
    with paused(town.cluster.shufflers[2]):  # it does not even say what is asked
        memory = client.folder / "memory" / "memory.sqlite"
        require_interrupted(interrupted(submit, lambda _: memory.exists()), "peos client submit-file")
    assert command(*submit).out == f"{USERS} of {USERS} accepted by all shufflers\n"

    waiting = ["analyzer", "result", *analyst, "pets", "--wait", PATIENCE]
    require_interrupted(interrupted(waiting, lambda said: "waiting for submissions" in said), "peos analyzer result")
    with paused(town.cluster.shufflers[0]):
        freezing = ["analyzer", "freeze", *analyst, "pets"]
        require_interrupted(
            interrupted(freezing, lambda said: "dummies that are due" in said or "telling every" in said),
            "peos analyzer freeze",
        )
    orders: list[Ran] = []

    def is_decided() -> bool:
        """A party that was paused, or got the order before it broke off, may take a moment to come back."""
        orders.append(command(*freezing))
        return not orders[-1].err.rstrip().endswith("[collection.order_missed]")

    until(is_decided, "an order that reaches everybody", every=1.0)
    assert orders[-1].out == "pets is closed\n", orders[-1].err
    town.analyst("abort", "pets")


@pytest.mark.full
def test_servers_and_a_cluster_end_well_at_ctrl_c_and_go_on(town: Town, tmp_path: Path) -> None:
    card = town.cluster.folder / "analyzer.card"
    words: list[object] = ["localcluster", "--analyzer", card, "--dir", tmp_path / "more", "--web-origin", PAGE]
    asked: list[dict[str, str]] = []

    def is_running(said: str) -> bool:
        if "running" in said and not asked:
            asked.extend(
                map(by_a_page, json.loads((tmp_path / "more" / "config.json").read_text())["shufflers"].values())
            )
        return "running" in said

    ran = interrupted(words, is_running)
    assert (ran.code, ran.err) == (0, "")
    assert [one["access-control-allow-origin"] for one in asked] == [PAGE] * 3
    pinned = (tmp_path / "more" / "client.toml").read_text()
    other = command(*words[:-1], "http://localhost:1", folder=tmp_path)
    assert other.code == 2
    require_shown(other.err, "localcluster.web", "more")
    again = interrupted(words, lambda said: "running" in said)
    assert (again.code, again.out, again.err) == (0, ran.out, ""), "the same shufflers, where the collection was left"
    assert (tmp_path / "more" / "client.toml").read_text() == pinned
    log = tmp_path / "log"
    for number in (1, 2):  # a second start goes on in the same folder
        party = tmp_path / "more" / "shuffler-1" / "shuffler.toml"
        ran = interrupted(
            ["shuffler", "serve", "--config", party, "--log", log], lambda said: said.count("listening at") == 3
        )
        assert (ran.code, ran.out) == (0, ""), (number, ran)
        assert len(ran.err.splitlines()) == 3, "its log is a file, and the terminal says where it listens"
    assert not left_over(tmp_path)


def test_a_demo_that_is_interrupted_leaves_no_process_and_no_folder(tmp_path: Path) -> None:
    words: list[object] = ["demo", "--users", 200, "--domain", 4, "--out", tmp_path / "out"]
    ran = interrupted(words, lambda _: any((one / "cluster").exists() for one in tmp_path.iterdir()), folder=tmp_path)
    require_interrupted(ran, "peos demo")
    until(lambda: not left_over(tmp_path), "the end of every process")
    assert not list(tmp_path.iterdir())


# A shell's place: the first process of a session with a terminal. It becomes the command line.
IN_A_TERMINAL = """
import os, sys
os.setsid()
for number in range(3):
    os.dup2(os.open(sys.argv[1], os.O_RDWR), number)
os.execv(sys.executable, [sys.executable, "-m", "peos.cli", *sys.argv[2:]])
"""


@pytest.mark.full
@pytest.mark.parametrize("killed", [False, True], ids=["its terminal is closed", "it is killed"])
def test_a_demo_that_ends_while_its_parties_run_leaves_none_of_them(tmp_path: Path, killed: bool) -> None:
    terminal, side = os.openpty()
    words = [os.ttyname(side), "demo", "--users", 200, "--domain", 4, "--out", tmp_path / "out"]
    with subprocess.Popen(  # noqa: S603  # our own command line
        [sys.executable, "-c", IN_A_TERMINAL, *map(str, words)], env={**os.environ, "TMPDIR": str(tmp_path)}
    ) as ran:
        try:
            said = b""
            while b"are running" not in said:
                said += os.read(terminal, 1024)
            assert len(left_over(tmp_path)) >= 5, "the demo, its shufflers and its analyzer"
            if killed:
                ran.kill()
            os.close(side)
            os.close(terminal)
            assert ran.wait(PATIENCE) == (-signal.SIGKILL if killed else 130)
        finally:
            ran.kill()
    until(lambda: not left_over(tmp_path), "the end of every process")
    assert killed or not list(tmp_path.iterdir()), "what is killed cannot tidy up"


def left_over(folder: Path) -> list[str]:
    """Processes that were given something in the folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and entry.name != str(os.getpid()):
            try:
                words = (entry / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
            if str(folder) in words:
                found.append(words)
    return found


@pytest.mark.full
@pytest.mark.parametrize(("role", "port"), [("shuffler", 0), ("analyzer", 0)])  # another: test_refusals
def test_each_port_that_somebody_else_has_is_named(town: Town, tmp_path: Path, role: str, port: int) -> None:
    party = town.cluster.shufflers[0] if role == "shuffler" else town.analyzer
    ours = town.cluster.ports[party.name]
    config = tmp_path / f"{role}.toml"
    with socket.socket() as taken, ExitStack() as others:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        text = party.config.read_text(encoding="utf-8")
        for number, here in enumerate(ours[: 2 if role == "shuffler" else 1]):
            free = others.enter_context(socket.socket())
            free.bind(("127.0.0.1", 0))
            there = (taken if number == port else free).getsockname()[1]
            text = text.replace(f":{here}", f":{there}")
        others.close()
        shutil.copy(party.folder / "passphrase", tmp_path)
        config.write_text(text, encoding="utf-8")
        assert command(role, "init", "--config", config).code == 0
        ran = command(role, "serve", "--config", config, "--log", tmp_path / "log")
        assert (ran.code, ran.out) == (2, ""), ran
        require_shown(ran.err.splitlines()[-1], "network.listen", f"127.0.0.1:{taken.getsockname()[1]}")
        assert "Traceback" not in ran.err
    again = interrupted(
        [role, "serve", "--config", config, "--log", tmp_path / "log"], lambda said: "listening at" in said
    )
    assert again.code == 0, "once the port is free, it starts"
