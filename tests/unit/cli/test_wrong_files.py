"""Files and folders that are not what they should be, through the commands themselves: one sentence, and all as before.

Each case spoils one thing of a household that works, gives a command, and puts the thing back.
"""

import datetime
import json
import logging
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

PINS: Final = ", ".join(f'"{digit * 64}"' for digit in "123")
TICKET: Final = f"{'a' * 32}:{'b' * 128}:{'c' * 64}"
CONFIGURATIONS: Final = {
    "shuffler": 'name = "north"\nfolder = "north"\n[listen]\nusers = "127.0.0.1:9"\npeers = "127.0.0.1:10"\n[policy]\n'
    'analyzers = ["office/analyzer.card"]\nmost_eps_local = 6.0\nleast_reports = 2\n',
    "analyzer": 'name = "office"\nfolder = "office"\npassphrase_file = "passphrase"\n'
    'shufflers = ["north/shuffler.card", "b.card", "c.card"]\n[listen]\npeers = "127.0.0.1:11"\n',
    "client": f'folder = "memory"\nshufflers = [{PINS}]\nmost_eps_local = 4\nleast_reports = 2\nbudget = 8\n',
}
COMMANDS: Final = {
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


CASES: Final[list[tuple[str, Spoil, str]]] = [
    # Configurations: the reader's own tests have the rest.
    ("shuffler", swap("shuffler.toml"), "the configuration shuffler.toml cannot be read: is a directory"),
    ("analyzer", write("analyzer.toml", b"\xff\xfe"), "analyzer.toml is not TOML: it is not UTF-8 text"),
    ("ledger", write("client.toml", ""), "client.toml: folder is missing"),
    ("shuffler init", write("shuffler.toml", "nane = 1"), "shuffler.toml: nane is not a setting (did you mean name?"),
    # A shuffler's folder and keys.
    ("shuffler init", swap("north"), "the folder north cannot be made: file exists"),
    ("shuffler init", lambda _: None, "north has keys already"),
    ("shuffler", remove("north"), "the folder north does not exist (`peos shuffler init` makes it)"),
    ("shuffler", mode("north", 0o755), "the folder north is open to other users (chmod 0700 north)"),
    ("shuffler", mode("north/users.key", 0o644), "north/users.key is open to others (chmod 600 north/users.key)"),
    ("shuffler", write("north/identity.key", "ab" * 31), "north/identity.key is damaged"),
    ("shuffler", swap("north/identity.key"), "north has no keys of a shuffler"),
    ("shuffler", remove("north/peers.key"), "north has no keys of a shuffler"),
    ("shuffler", write("north/peers.key", ""), "north/peers.pem and .key are damaged"),
    ("shuffler", write("north/users.pem", b"\xff"), "north/users.pem and .key are damaged: this is not a certificate"),
    ("shuffler", copy("north/peers.key", "north/users.key"), "the private key does not belong to the certificate"),
    ("shuffler", outdate("users"), "the certificate of the port for users is valid from"),
    ("shuffler", outdate("peers"), "the certificate of the port for peers is valid from"),
    ("shuffler", remove("office/analyzer.card"), "office/analyzer.card cannot be read: no such file or directory"),
    ("shuffler", write("office/analyzer.card", "a card"), "office/analyzer.card is not a card"),
    ("shuffler status", lambda _: None, "no shuffler is running in north (start it with `peos shuffler serve`)"),
    ("shuffler status", write("north/status.json", "[1]"), "north/status.json was written by something else"),
    ("shuffler status", write("north/status.json", b"\xff"), "north/status.json was written by something else"),
    # An analyzer's.
    ("analyzer", remove("passphrase"), "passphrase_file: passphrase cannot be read: no such file or directory"),
    ("analyzer", swap("passphrase"), "passphrase_file: passphrase cannot be read: is a directory"),
    ("analyzer", write("passphrase", "\n"), "passphrase_file: passphrase is empty"),
    ("analyzer", mode("passphrase", 0o644), "passphrase is open to others (chmod 600 passphrase)"),
    ("analyzer", write("passphrase", "wrong"), "the passphrase does not open the keys"),
    ("analyzer init", write("passphrase", "wrong"), "the passphrase does not open the keys"),
    ("analyzer", write("office/keys", b"\x00" * 99), "the passphrase does not open the keys"),
    ("analyzer", write("office/keys", ""), "the passphrase does not open the keys"),
    ("analyzer", swap("office/keys"), "office has no keys of an analyzer (run `peos analyzer init"),
    ("analyzer", remove("office"), "office has no keys of an analyzer"),
    ("analyzer init", swap("office"), "the folder office cannot be made: file exists"),
    ("analyzer serve", mode("office", 0o750), "the folder office is open to other users (chmod 0700 office)"),
    ("analyzer", mode("office/analyzer.sqlite", 0o640), "analyzer.sqlite is open to other users (chmod 0600"),
    ("create", lambda _: None, "shufflers: b.card cannot be read: no such file or directory"),
    ("create", copy("office/analyzer.card", "north/shuffler.card"), "is the card of a party without a port for users"),
    ("enrol", lambda _: None, "there is no collection pets (`peos analyzer status` lists those that there are)"),
    # A user's.
    ("client status", swap("invitation"), "the invitation invitation cannot be read: is a directory"),
    ("client status", remove("invitation"), "the invitation invitation cannot be read: no such file or directory"),
    ("client status", write("invitation", ""), "invitation is not an invitation"),
    ("submit", lambda _: None, "invitation is not an invitation: these bytes are not an Invitation"),
    ("submit-file", write("values.txt", ""), "values.txt has no values"),
    ("submit-file", write("values.txt", "1\n\n"), "values.txt has 2 values, and tickets.txt has 1 tickets for them"),
    ("submit-file", write("values.txt", "\n"), "values.txt, line 1: not an answer of 1 to 200 characters"),
    ("submit-file", write("values.txt", "x" * 201), "values.txt, line 1: not an answer of 1 to 200 characters"),
    ("submit-file", write("values.txt", b"\xff\n"), "values.txt is not text (save it as UTF-8, one entry a line)"),
    ("submit-file", swap("values.txt"), "values.txt cannot be read: is a directory"),
    ("submit-file", remove("tickets.txt"), "tickets.txt cannot be read: no such file or directory"),
    ("submit-file", write("tickets.txt", "x\n"), "tickets.txt, line 1: not a ticket"),
    ("ledger", swap("memory"), "the folder memory cannot be made: file exists"),
    ("ledger", mode("memory", 0o755), "the folder memory is open to other users (chmod 0700 memory)"),
    # A cluster's.
    ("localcluster", write("office/analyzer.card", "a card"), "office/analyzer.card is not a card"),
    ("localcluster", remove("office/analyzer.card"), "office/analyzer.card is no file"),
    ("localcluster", write("cluster", "a file"), "the folder"),
    ("localcluster", lambda folder: (folder / "cluster" / "x").mkdir(parents=True), "cluster is not empty"),
]


@pytest.mark.parametrize(("command", "spoil", "sentence"), CASES, ids=[f"{one[0]}: {one[2][:50]}" for one in CASES])
def test_what_is_wrong_with_a_file_is_one_sentence_and_nothing_is_changed(
    household: Household, command: str, spoil: Spoil, sentence: str
) -> None:
    spoil(household.folder)
    before = household.state()
    code, out, err = household.say(command)
    assert (code, out) == (2, ""), err
    lines = [line for line in err.splitlines() if not line.startswith('{"time": ')]  # a server's log
    assert len(lines) == 1, err
    assert sentence in lines[0]
    assert re.search(r"\) \[[a-z_]+\.[a-z_]+\]$", lines[0]), f"it says what to do: {lines[0]}"
    assert "Traceback" not in err
    assert "a mistake of this program" not in err
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
    ("command", "spoil", "sentence"),
    [
        ("shuffler", write("north/store.sqlite", b"rubbish" * 999, 0o600), "is damaged (SQLITE_NOTADB)"),
        ("analyzer", write("office/analyzer.sqlite", b"rubbish" * 999), "office/analyzer.sqlite is damaged"),
        ("ledger", write("memory/memory.sqlite", b"rubbish" * 999), "memory/memory.sqlite is damaged"),
    ],
)
def test_a_damaged_database_is_a_failure_and_is_left_as_it_is(
    household: Household, command: str, spoil: Spoil, sentence: str
) -> None:
    spoil(household.folder)
    before = household.state()
    code, out, err = household.say(command)
    assert (code, out) == (1, "")
    assert sentence in err.splitlines()[-1]
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
    assert f"the log {log} cannot be written" in err


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (("--domain", "1"), "--domain must be a whole number of at least 2, not 1"),
        (("--domain", "9" * 40), "the size of the domain is a whole number from 2"),
        (("--users", "9" * 400), "the number of users is a whole number from 1"),
        (("--users", "0"), "--users must be a whole number of at least 1, not 0"),
        (("--delta", "nan"), "--delta must be a number above zero, not nan"),
        (("--delta", "1.5"), "delta lies between 0 and 1, not at 1.5"),
        (("--eps-local", "25"), "eps_local is a number above 0 and at most 24, not 25"),
        (("--eps-local", "inf"), "--eps-local must be a number above zero, not inf"),
        (("--eps-server", "1e-300"), "eps_server is at least 1e-06, not 1e-300"),
        (("--fakes", "many"), '--fakes must be "auto" or a whole number, not '),
        (("--mechanism", "magic"), "--mechanism must be auto or grr or solh or sue, not "),
        (("--name", "../pets"), "cannot name a collection"),
        (("--closes-in", "0"), "--closes-in must be a whole number from 1 to 315360000, not 0"),
        (("--wait", "nan"), "--wait is a number of seconds from 0, not nan"),
        (("--users", "several"), "invalid value for '--users'"),
        (("--colour", "red"), "no such option: --colour"),
    ],
)
def test_a_collection_that_cannot_be_asked_for_is_not_begun(
    household: Household, asked: tuple[str, str], sentence: str
) -> None:
    for card in ("b.card", "c.card"):
        copy("north/shuffler.card", card)(household.folder)
    before = household.state()
    code, out, err = household.say("create", *asked)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
    assert household.state() == before
