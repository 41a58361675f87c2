"""Files and folders that are not what they should be, through the commands themselves: one sentence, and all as before.

Each case spoils one thing of a household that works, gives a command, and puts the thing back.
"""

import datetime
import json
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from peos.cli import main
from peos.crypto.randomness import Randomness
from peos.net.certificates import make_certificate
from tests.raising import require_shown
from tests.vectors.wire_by_hand import blob, uint

PINS: Final = ", ".join(f'"{digit * 64}"' for digit in "123")
TICKET: Final = f"{'a' * 32}:{'b' * 128}:{'c' * 64}"
CONFIGURATIONS: Final = {
    "shuffler": 'name = "north"\nfolder = "north"\n[listen]\nusers = "127.0.0.1:9"\npeers = "127.0.0.1:10"\n[policy]\n'
    'analyzers = ["office/analyzer.card"]\nmost_eps_local = 6.0\nleast_reports = 2\n',
    "analyzer": 'name = "office"\nfolder = "office"\npassphrase_file = "passphrase"\n'
    'shufflers = ["north/shuffler.card", "b.card", "c.card"]\n[listen]\npeers = "127.0.0.1:11"\n',
    "client": f'folder = "memory"\nshufflers = [{PINS}]\nmost_eps_local = 4\nleast_reports = 2\nbudget = 8\n',
}
LATER: Final = uint(1, 2) + blob(2, b"\xff is no text") + uint(40, 7)  # of a version that does not exist yet
COMMANDS: Final = {
    "card show": "card show office/analyzer.card",
    "create": "analyzer create --config analyzer.toml --name pets --question which? --domain 4 --users 9 --delta 1e-6 "
    "--eps-local 3 --out out",
    "enrol": "enrol --config analyzer.toml --collection pets --count 1 --out tickets",
    "analyzer": "analyzer status --config analyzer.toml",
    "analyzer init": "analyzer init --config analyzer.toml",
    "analyzer serve": "analyzer serve --config analyzer.toml",
    "shuffler": "shuffler serve --config shuffler.toml",
    "shuffler init": "shuffler init --config shuffler.toml",
    "shuffler status": "shuffler status --config shuffler.toml",
    "ledger": "client ledger --config client.toml",
    "client status": "client status --config client.toml --invitation invitation",
    "submit": f"client submit --config client.toml --invitation invitation --ticket {TICKET} --value 1",
    "submit-file": "client submit-file --config client.toml --invitation invitation --tickets tickets.txt "
    "--values values.txt",
    "demo": "demo --users 20 --domain 4 --scheme jl --out tickets.txt",
    "localcluster": "localcluster --analyzer office/analyzer.card --dir cluster",
}


@dataclass
class Household:
    """A folder with a party of each kind, none of them running."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def say(self, command: str, *more: str) -> tuple[int, str, str]:
        """Give a command; its exit code and what it printed."""
        self.capsys.readouterr()
        code = main([*COMMANDS[command].split(), *more])
        shown = self.capsys.readouterr()
        return code, shown.out, shown.err

    def state(self) -> dict[str, tuple[int, bytes | None]]:
        """Every file and folder, with its mode and what is in it."""
        return {
            str(path.relative_to(self.folder)): (path.stat().st_mode, path.read_bytes() if path.is_file() else None)
            for path in sorted(self.folder.rglob("*"))
            if not path.name.endswith(("-wal", "-shm"))  # SQLite's own, which come and go
        }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The household as its operators leave it."""
    folder = tmp_path_factory.mktemp("household")
    for role, text in CONFIGURATIONS.items():
        (folder / f"{role}.toml").write_text(text)
    write("passphrase", "sesame", 0o600)(folder)
    write("tickets.txt", f"{TICKET}\n")(folder)
    write("values.txt", "1\n")(folder)
    write("invitation", "not one")(folder)
    for role in ("analyzer", "shuffler"):
        assert main([role, "init", "--config", str(folder / f"{role}.toml")]) == 0
    assert main(["client", "ledger", "--config", str(folder / "client.toml")]) == 0
    assert main(["analyzer", "status", "--config", str(folder / "analyzer.toml")]) == 0
    return folder


@pytest.fixture
def household(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Household]:
    """A copy that may be spoilt; its commands are given in it."""
    folder = tmp_path / "household"
    shutil.copytree(made, folder)
    monkeypatch.chdir(folder)
    handlers, level = logging.root.handlers[:], logging.root.level
    yield Household(folder, capsys)
    for handler in set(logging.root.handlers) - set(handlers):  # what `serve` has put there
        logging.root.removeHandler(handler)
        handler.close()
    logging.root.setLevel(level)


Spoil = Callable[[Path], None]


def write(name: str, content: str | bytes, mode: int | None = None) -> Spoil:
    """Another content, or another mode."""

    def spoil(folder: Path) -> None:
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if mode is not None:
            path.chmod(mode)

    return spoil


def mode(name: str, bits: int) -> Spoil:
    """Other rights."""
    return lambda folder: (folder / name).chmod(bits)


def remove(name: str) -> Spoil:
    """Nothing there."""

    def spoil(folder: Path) -> None:
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return spoil


def swap(name: str) -> Spoil:
    """A folder where a file was, a file where a folder was."""

    def spoil(folder: Path) -> None:
        path, was_folder = folder / name, (folder / name).is_dir()
        remove(name)(folder)
        path.write_text("a file") if was_folder else path.mkdir()

    return spoil


def copy(source: str, target: str) -> Spoil:
    """One file in another's place."""

    def spoil(folder: Path) -> None:
        shutil.copy(folder / source, folder / target)

    return spoil


def outdate(port: str) -> Spoil:
    """A certificate whose time is over, or has not come: to a port, a clock that is far wrong is the same."""

    def spoil(folder: Path) -> None:
        then = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=-9 if port == "users" else 9)
        made = make_certificate("north", Randomness(b"\x01" * 32), days=2, now=then)
        write(f"north/{port}.pem", made.pem)(folder)
        write(f"north/{port}.key", made.key)(folder)

    return spoil


CASES: Final[list[tuple[str, Spoil, tuple[str, ...]]]] = [
    # Configurations: the reader's own tests have the rest.
    ("shuffler", swap("shuffler.toml"), ("config.unreadable", "shuffler.toml", "is a directory")),
    ("analyzer", write("analyzer.toml", b"\xff\xfe"), ("config.not_toml", "analyzer.toml")),
    ("ledger", write("client.toml", ""), ("config.missing_key", "client.toml: folder")),
    ("shuffler init", write("shuffler.toml", "nane = 1"), ("config.unknown_key", "shuffler.toml: nane")),
    # A shuffler's folder and keys.
    ("shuffler init", swap("north"), ("store.folder", "north", "file exists")),
    ("shuffler init", lambda _: None, ("key.exists", "north")),
    ("shuffler", remove("north"), ("key.no_folder", "north")),
    ("shuffler", mode("north", 0o755), ("store.open_to_others", "folder north")),
    ("shuffler", mode("north/users.key", 0o644), ("key.open_to_others", "north/users.key")),
    ("shuffler", write("north/identity.key", "ab" * 31), ("key.damaged", "north/identity.key")),
    ("shuffler", swap("north/identity.key"), ("key.no_shuffler", "north")),
    ("shuffler", remove("north/peers.key"), ("key.no_shuffler", "north")),
    ("shuffler", write("north/peers.key", ""), ("key.port_damaged", "north/peers")),
    ("shuffler", write("north/users.pem", b"\xff"), ("key.port_damaged", "north/users", "certificate")),
    (
        "shuffler",
        copy("north/peers.key", "north/users.key"),
        ("key.port_damaged", "north/users"),
    ),
    ("shuffler", outdate("users"), ("certificate.own_expired", "users", "valid from")),
    ("shuffler", outdate("peers"), ("certificate.own_expired", "peers", "valid from")),
    ("shuffler", remove("office/analyzer.card"), ("card.missing", "office/analyzer.card", "no such file or directory")),
    ("shuffler", write("office/analyzer.card", "a card"), ("card.unreadable", "office/analyzer.card")),
    ("shuffler", write("office/analyzer.card", ""), ("card.unreadable", "office/analyzer.card", "0 bytes")),
    ("shuffler", write("office/analyzer.card", LATER), ("card.unreadable", "version 2", "speaks 1")),
    ("card show", write("office/analyzer.card", LATER), ("card.unreadable", "version 2", "speaks 1")),
    ("shuffler status", lambda _: None, ("status.not_running", "north")),
    ("shuffler status", write("north/status.json", "[1]"), ("status.unreadable", "north/status.json")),
    ("shuffler status", write("north/status.json", b"\xff"), ("status.unreadable", "north/status.json")),
    # An analyzer's.
    ("analyzer", remove("passphrase"), ("config.passphrase_unreadable", "passphrase", "no such file or directory")),
    ("analyzer", swap("passphrase"), ("config.passphrase_unreadable", "passphrase", "is a directory")),
    ("analyzer", write("passphrase", "\n"), ("config.passphrase_empty", "passphrase")),
    ("analyzer", mode("passphrase", 0o644), ("config.passphrase_open", "passphrase")),
    ("analyzer", write("passphrase", "wrong"), ("key.passphrase",)),
    ("analyzer init", write("passphrase", "wrong"), ("key.passphrase",)),
    ("analyzer", write("office/keys", b"\x00" * 99), ("key.passphrase",)),
    ("analyzer", write("office/keys", ""), ("key.passphrase",)),
    ("analyzer", swap("office/keys"), ("key.no_analyzer", "office")),
    ("analyzer", remove("office"), ("key.no_analyzer", "office")),
    ("analyzer init", swap("office"), ("store.folder", "office", "file exists")),
    ("analyzer serve", mode("office", 0o750), ("store.open_to_others", "folder office")),
    ("analyzer", mode("office/analyzer.sqlite", 0o640), ("store.open_to_others", "analyzer.sqlite")),
    ("create", lambda _: None, ("card.missing", "shufflers: b.card", "no such file or directory")),
    ("create", copy("office/analyzer.card", "north/shuffler.card"), ("config.card_of_analyzer",)),
    ("enrol", lambda _: None, ("input.no_collection", "pets")),
    # A user's.
    ("client status", swap("invitation"), ("input.invitation_missing", "invitation", "is a directory")),
    ("client status", remove("invitation"), ("input.invitation_missing", "invitation", "no such file or directory")),
    ("client status", write("invitation", ""), ("input.invitation", "invitation", "0 bytes")),
    ("client status", write("invitation", LATER), ("input.invitation", "invitation", "version 2", "speaks 1")),
    ("submit", lambda _: None, ("input.invitation", "invitation", "these bytes are not an Invitation")),
    ("submit-file", write("values.txt", ""), ("input.lines", "values.txt")),
    (
        "submit-file",
        write("values.txt", "1\n\n"),
        ("input.lines", "values.txt has 2", "tickets.txt has 1"),
    ),
    (
        "submit-file",
        write("values.txt", "\n"),
        ("input.lines", "values.txt, line 1", "1 to 200"),
    ),
    (
        "submit-file",
        write("values.txt", "x" * 201),
        ("input.lines", "values.txt, line 1", "1 to 200"),
    ),
    ("submit-file", write("values.txt", b"\xff\n"), ("input.not_text", "values.txt")),
    ("submit-file", swap("values.txt"), ("input.unreadable", "values.txt", "is a directory")),
    ("submit-file", remove("tickets.txt"), ("input.unreadable", "tickets.txt", "no such file or directory")),
    ("submit-file", write("tickets.txt", "x\n"), ("input.lines", "tickets.txt, line 1")),
    ("ledger", swap("memory"), ("store.folder", "memory", "file exists")),
    ("ledger", mode("memory", 0o755), ("store.open_to_others", "folder memory")),
    # A demo's, before any of it is begun.
    ("demo", lambda _: None, ("input.folder", "tickets.txt")),
    # A cluster's.
    ("localcluster", write("office/analyzer.card", "a card"), ("card.unreadable", "office/analyzer.card")),
    ("localcluster", remove("office/analyzer.card"), ("card.missing", "office/analyzer.card")),
    ("localcluster", write("cluster", "a file"), ("localcluster.folder",)),
    ("localcluster", lambda folder: (folder / "cluster" / "x").mkdir(parents=True), ("localcluster.folder", "cluster")),
]


@pytest.mark.parametrize(("command", "spoil", "mistake"), CASES, ids=[f"{one[0]}: {one[2][:50]}" for one in CASES])
def test_what_is_wrong_with_a_file_is_one_sentence_and_nothing_is_changed(
    household: Household, command: str, spoil: Spoil, mistake: tuple[str, ...]
) -> None:
    spoil(household.folder)
    before = household.state()
    code, out, err = household.say(command)
    assert (code, out) == (2, ""), err
    lines = [line for line in err.splitlines() if not line.startswith('{"time": ')]  # a server's log
    assert len(lines) == 1, err
    require_shown(lines[0], *mistake)
    assert re.search(r"\) \[[a-z_]+\.[a-z_]+\]$", lines[0]), f"it says what to do: {lines[0]}"
    assert "Traceback" not in err
    assert "internal error" not in err
    assert household.state() == before


def give(*names: str) -> Spoil:
    """To another account, with all that is in it."""

    def spoil(folder: Path) -> None:
        for name in names:
            for path in (folder / name, *(folder / name).rglob("*")):
                os.chown(path, ANOTHER, ANOTHER)

    return spoil


ANOTHER: Final = 65534
ROLES: Final = {"analyzer init": "office", "analyzer": "office", "shuffler init": "north", "ledger": "memory"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to another account")
@pytest.mark.parametrize("command", ROLES)
def test_a_command_of_another_account_than_the_folders_says_so_and_makes_nothing(
    household: Household, command: str
) -> None:
    folder = ROLES[command]
    inside = next(path for path in (household.folder / folder).iterdir() if path.is_file())
    one_file, all_of_it = give(str(inside.relative_to(household.folder))), give(folder)

    def nothing_yet(path: Path) -> None:
        remove(folder)(path)
        os.chown(path, ANOTHER, ANOTHER)

    for spoil in (one_file, all_of_it, *([nothing_yet] if command != "analyzer" else [])):  # that one makes no folder
        spoil(household.folder)
        before = household.state()
        code, out, err = household.say(command)
        assert (code, out) == (2, "")
        require_shown(err, "store.owner", folder)
        assert household.state() == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another account for a while")
@pytest.mark.parametrize("command", ["analyzer", "analyzer init", "shuffler init", "shuffler status", "ledger"])
def test_an_operator_finds_a_folder_that_root_made(household: Household, command: str) -> None:
    household.folder.chmod(0o755)
    for role in CONFIGURATIONS:
        (household.folder / f"{role}.toml").chmod(0o644)
    household.say(command)  # loads what another account may not read
    before = household.state()
    os.seteuid(ANOTHER)
    try:
        code, out, err = household.say(command)
    finally:
        os.seteuid(0)
    assert (code, out) == (2, "")
    require_shown(err, "store.owner")
    assert household.state() == before


@pytest.mark.parametrize("words", [("--web-origin", "http://localhost:8000/page"), ("--web-tls",)])
def test_pages_that_are_named_wrongly_are_refused_before_a_cluster_is_made(
    household: Household, words: tuple[str, ...]
) -> None:
    before = household.state()
    code, out, err = household.say("localcluster", *words)
    assert (code, out) == (2, "")
    require_shown(err, "localcluster.web", words[0])
    assert household.state() == before


@pytest.mark.parametrize("command", ["analyzer", "shuffler status", "ledger"])
def test_what_is_wrong_is_an_object_where_objects_are_asked_for(household: Household, command: str) -> None:
    for role in ("analyzer", "shuffler", "client"):
        remove(f"{role}.toml")(household.folder)
    code, out, err = household.say(command, "--json")
    assert (code, out) == (2, "")
    assert set(json.loads(err)) == {"id", "error", "where", "hint"}
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "spoil", "mistake"),
    [
        ("shuffler", write("north/store.sqlite", b"rubbish" * 999, 0o600), ("store.damaged", "SQLITE_NOTADB")),
        ("analyzer", write("office/analyzer.sqlite", b"rubbish" * 999), ("store.damaged", "office/analyzer.sqlite")),
        ("ledger", write("memory/memory.sqlite", b"rubbish" * 999), ("store.damaged", "memory/memory.sqlite")),
    ],
)
def test_a_damaged_database_is_a_failure_and_is_left_as_it_is(
    household: Household, command: str, spoil: Spoil, mistake: tuple[str, ...]
) -> None:
    spoil(household.folder)
    before = household.state()
    code, out, err = household.say(command)
    assert (code, out) == (1, "")
    require_shown(err.splitlines()[-1], *mistake)
    assert "Traceback" not in err
    after = household.state()
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize("log", ["nowhere/log", "north"])
@pytest.mark.parametrize("command", ["shuffler", "analyzer serve"])
def test_a_log_that_cannot_be_written_is_said_before_anything_listens(
    household: Household, command: str, log: str
) -> None:
    code, out, err = household.say(command, "--log", log)
    assert (code, out) == (2, "")
    require_shown(err, "config.log", log)


@pytest.mark.parametrize(
    ("asked", "mistake"),
    [
        (("--domain", "1"), ("config.value", "--domain", "a whole number of at least 2", "1")),
        (("--domain", "9" * 40), ("mechanism.range", "the size of the domain", "2")),
        (("--users", "9" * 400), ("mechanism.range", "the number of users", "1")),
        (("--users", "0"), ("config.value", "--users", "a whole number of at least 1", "0")),
        (("--delta", "nan"), ("config.value", "--delta", "nan")),
        (("--delta", "1.5"), ("plan.delta", "1.5")),
        (("--eps-local", "25"), ("plan.target", "eps_local", "24", "25")),
        (("--eps-local", "inf"), ("config.value", "--eps-local", "inf")),
        (("--eps-server", "1e-300"), ("plan.target_small", "eps_server", "1e-06", "1e-300")),
        (("--fakes", "many"), ("config.value", "--fakes", '"auto" or a whole number')),
        (("--mechanism", "magic"), ("config.value", "--mechanism", "auto or grr or solh or sue")),
        (("--name", "../pets"), ("input.name", "../pets")),
        (("--closes-in", "0"), ("config.value", "--closes-in", "from 1 to 315360000", "0")),
        (("--wait", "nan"), ("input.number", "--wait", "nan")),
        (("--users", "several"), ("config.value", "--users", "'several'")),
        (("--colour", "red"), ("input.command", "--colour")),
        (("--out", "tickets.txt"), ("input.folder", "tickets.txt")),
    ],
)
def test_a_collection_that_cannot_be_asked_for_is_not_begun(
    household: Household, asked: tuple[str, str], mistake: tuple[str, ...]
) -> None:
    for card in ("b.card", "c.card"):
        copy("north/shuffler.card", card)(household.folder)
    before = household.state()
    code, out, err = household.say("create", *asked)
    assert (code, out) == (2, "")
    require_shown(err, *mistake)
    assert err.count("\n") == 1
    assert household.state() == before
