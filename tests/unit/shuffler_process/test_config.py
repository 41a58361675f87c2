"""shuffler.toml: the samples are read, and whatever is wrong is one sentence with the file and the key."""

import re
from pathlib import Path
from typing import Final

import pytest

from peos.collection.cards import Card
from peos.configuration import bound, read_passphrase
from peos.crypto.identity import Identity
from peos.crypto.randomness import Randomness
from peos.errors import WrongInput
from peos.net.certificates import as_der, make_certificate
from peos.settings import keys_of
from peos.wire.parties import sign_card
from shuffler import keys
from shuffler.config import Config, read
from tests.raising import raises

DEPLOY: Final = Path(__file__).parents[3] / "deploy"
MINIMAL: Final = (DEPLOY / "shuffler.minimal.toml").read_text(encoding="utf-8")
FULL: Final = (DEPLOY / "shuffler.full.toml").read_text(encoding="utf-8")
WEB: Final = 'web = "127.0.0.1:7003"\nweb_origins = ["https://app.example"]\n'


def written(folder: Path, text: str) -> Path:
    """A configuration in a file."""
    path = folder / "shuffler.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_minimal_sample_waits_for_the_operator_and_uses_every_core() -> None:
    config = read(DEPLOY / "shuffler.minimal.toml")
    assert config.folder == DEPLOY / "north"
    assert config.analyzers == (DEPLOY / "analyzer.card",)
    assert config.ask_operator
    assert (config.workers, config.zeros_megabytes) == (None, 256)


def test_the_full_sample_names_every_setting() -> None:
    config = read(DEPLOY / "shuffler.full.toml")
    assert (config.workers, config.zeros_megabytes) == (2, 512)
    assert (config.most_fakes, config.most_days, config.most_open) == (1_000_000, 90, 16)
    assert (config.user_connections, config.connections_per_address, config.peer_connections) == (1000, 32, 256)
    assert config.silent_seconds == 30
    assert config.folder == Path("/var/lib/peos/north")
    settings = {part for key in keys_of(Config) for part in key.name.split(".")}
    assert {name for name in settings if re.search(rf"^\[?{name}\b", FULL, re.MULTILINE)} == settings


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ('name = "north"', "", "name is missing"),
        ('name = "north"', 'name = ""', "name must be a text of 1 to 200 printable characters"),
        ('name = "north"', 'name = "north"\nnane = 1', "nane is not a setting"),
        ('name = "north"', "name = 7", "name must be a text of 1 to 200 printable characters, not 7"),
        ("[policy]", "[polity]", "polity is not a setting"),
        (
            '"127.0.0.1:7002"',
            '"127.0.0.1:7001"',
            "each of listen.users and listen.peers is a port of its own",
        ),
        ('"127.0.0.1:7002"', '"127.0.0.1"', "listen.peers must be host:port"),
        ('"127.0.0.1:7002"', '"127.0.0.1:70000"', "listen.peers must be host:port"),
        (
            "least_reports = 1000",
            "least_reports = 0",
            "policy.least_reports must be a whole number of at least 1, not 0",
        ),
        ("least_reports = 1000", "least_reports = true", "policy.least_reports must be a whole number"),
        ("least_reports = 1000", "least_reports = 1.5", "policy.least_reports must be a whole number"),
        ("least_reports = 1000", "", "policy.least_reports is missing"),
        ("most_eps_local = 6.0", "most_eps_local = nan", "policy.most_eps_local must be a number above zero"),
        ("most_eps_local = 6.0", "most_eps_local = inf", "policy.most_eps_local must be a number above zero"),
        ("most_eps_local = 6.0", 'accept = "never"\nmost_eps_local = 6.0', 'policy.accept must be "auto" or "ask"'),
        ('["analyzer.card"]', "[]", "policy.analyzers must be a list of at least one text"),
        ('["analyzer.card"]', "[7]", "policy.analyzers must be a list of at least one text"),
        (
            "least_reports = 1000",
            "least_reports = 9\n[limits]\nworkers = 0",
            "limits.workers must be a whole number of at least 1",
        ),
        (
            "least_reports = 1000",
            "least_reports = 9\n[limits]\nstep_seconds = 0",
            "limits.step_seconds must be a number of at least 1",
        ),
        ("least_reports = 1000", "least_reports = 9\n[encryption]\nstatistical = 1", "must be true or false"),
        ("[listen]", "[listen", "is not TOML"),
        ("[policy]", 'web = "127.0.0.1:7003"\n[policy]', "listen.web has no listen.web_origins"),
        ("[policy]", 'web_key = "web.key"\n[policy]', "listen.web_key is of no use without listen.web"),
        ("[policy]", f'{WEB}web_key = "web.key"\n[policy]', "listen.web_certificate and listen.web_key belong"),
        ("[policy]", f"{WEB}[policy]", "listen.web has neither a certificate nor a proxy"),
        ("[policy]", f'{WEB}web_proxies = ["10.0.0.0/8"]\n[policy]', "a list of addresses of proxies"),
        ("[policy]", f"{WEB}[policy]".replace("//app", "//app/page"), "listen.web_origins must be a list of origins"),
        ("[policy]", f"{WEB}[policy]".replace("https:", "http:"), "listen.web_origins must be a list of origins"),
        (
            "[policy]",
            f'{WEB}web_proxies = ["::1"]\n[policy]'.replace("7003", "7002"),
            "each of listen.users, listen.peers and listen.web",
        ),
    ],
)
def test_each_fault_is_one_sentence_with_the_file_and_the_key(
    tmp_path: Path, before: str, after: str, sentence: str
) -> None:
    assert before in MINIMAL, "the sample has changed: change this test with it"
    path = written(tmp_path, MINIMAL.replace(before, after))
    with pytest.raises(WrongInput) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_card_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    config = read(written(tmp_path, MINIMAL))
    with raises("card.missing", "policy.analyzers", "analyzer.card"):
        config.policy()
    (tmp_path / "analyzer.card").write_bytes(b"no card")
    with raises("card.unreadable", "policy.analyzers", "analyzer.card"):
        config.policy()


def test_the_policy_knows_the_analyzers_by_their_cards(tmp_path: Path) -> None:
    analyzer, certificate = Identity(b"\x01" * 32), make_certificate("analyzer", Randomness(b"\x01" * 32))
    card = Card("analyzer", analyzer.public, "127.0.0.1:1", as_der(certificate.pem))
    (tmp_path / "analyzer.card").write_bytes(sign_card(card, analyzer))
    assert read(written(tmp_path, MINIMAL)).policy().analyzers == (analyzer.public,)


def test_keys_are_drawn_once_and_kept_from_others(tmp_path: Path) -> None:
    config = read(written(tmp_path, MINIMAL))
    with raises("key.no_folder"):
        keys.load(config)
    made = keys.make(config)
    files = [path for path in config.folder.iterdir() if path.is_file() and path.name != keys.CARD]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert (config.folder / keys.CARD).stat().st_mode & 0o777 == 0o644, "it is handed out"
    assert config.folder.stat().st_mode & 0o777 == 0o700
    assert made.identity.secret.hex() not in repr(made)
    with raises("key.exists"):
        keys.make(config)
    assert keys.load(config).identity.public == made.identity.public
    key = config.folder / "peers.key"
    key.chmod(0o640)
    with raises("key.open_to_others", "peers.key"):
        keys.load(config)
    key.unlink()
    with raises("key.no_shuffler"):
        keys.load(config)


def test_a_folder_that_is_open_to_others_is_refused(tmp_path: Path) -> None:
    config = read(written(tmp_path, MINIMAL))
    config.folder.mkdir()
    config.folder.chmod(0o755)  # whatever the umask
    for what in (keys.make, keys.load):
        with raises("store.open_to_others"):
            what(config)


def test_a_port_listens_at_another_host_than_its_card_names(tmp_path: Path) -> None:
    config = read(written(tmp_path, MINIMAL.replace("[listen]", '[listen]\nbind = "[::]"')))
    assert [bound(one, config.bind) for one in (config.users, config.peers)] == ["[::]:7001", "[::]:7002"]
    assert bound(config.users, None) == config.users
    with raises("config.value", "listen.bind", "a host"):
        read(written(tmp_path, MINIMAL.replace("[listen]", '[listen]\nbind = ""')))


def test_a_passphrase_comes_from_the_supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As systemd leaves it, root's and readable by an access list, which shows as the group's right; and Kubernetes."""
    text = MINIMAL.replace("folder =", 'passphrase_file = "$CREDENTIALS_DIRECTORY/passphrase"\nfolder =')
    config = read(written(tmp_path, text))
    file = config.passphrase_file
    assert file is not None
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    with raises("config.credentials", "shuffler.toml"):
        read_passphrase(config.path, file)
    handed = tmp_path / "credentials"
    handed.mkdir()
    (handed / "passphrase").write_text("a passphrase of this test\n", encoding="utf-8")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(handed))
    for mode in (0o400, 0o440):
        (handed / "passphrase").chmod(mode)
        assert read_passphrase(config.path, file) == b"a passphrase of this test"
        if mode == 0o440:
            with raises("config.passphrase_open"):
                read_passphrase(config.path, handed / "passphrase")  # by its own name: no supervisor answers for it
    for mode in (0o444, 0o460):
        (handed / "passphrase").chmod(mode)
        with raises("config.passphrase_open"):
            read_passphrase(config.path, file)
