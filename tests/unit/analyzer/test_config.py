"""analyzer.toml: each mistake is one sentence that names the file and the key."""

import sys
from pathlib import Path

import pytest

from analyzer.config import read
from peos.cli import main
from peos.errors import WrongInput
from peos.net.browsers import browsers
from tests.raising import raises, require_shown
from tests.unit.analyzer.world import World

GOOD = """name = "office"
folder = "home"
passphrase_file = "/etc/peos/passphrase"
shufflers = ["north.card", "cards/south.card", "west.card"]
[listen]
peers = "127.0.0.1:7000"
"""


def _read(tmp_path: Path, text: str) -> str:
    """The sentence that a text is refused with."""
    file = tmp_path / "analyzer.toml"
    file.write_text(text)
    with pytest.raises(WrongInput) as caught:
        read(file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_paths_are_relative_to_the_file_unless_they_are_absolute(tmp_path: Path) -> None:
    file = tmp_path / "analyzer.toml"
    file.write_text(GOOD)
    found = read(file)
    assert found.folder == tmp_path / "home"
    assert found.passphrase_file == Path("/etc/peos/passphrase")
    assert found.shufflers == (tmp_path / "north.card", tmp_path / "cards/south.card", tmp_path / "west.card")
    assert found.peers == "127.0.0.1:7000"


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ('name = "office"', 'name = "office"\ncolour = "red"', "colour is not a setting"),
        ("[listen]", '[listen]\nusers = "127.0.0.1:7001"', "is the configuration of a shuffler"),
        ('name = "office"\n', "", "name is missing"),
        ('peers = "127.0.0.1:7000"\n', "", "listen.peers is missing"),
        ('name = "office"', "name = 7", "name must be a text of 1 to 200 printable characters, not 7"),
        ('name = "office"', 'name = ""', "name must be a text of 1 to 200 printable characters, not ''"),
        (
            '["north.card", "cards/south.card", "west.card"]',
            '"north.card"',
            "shufflers must be a list of at least one text, not 'north.card'",
        ),
        ('"north.card", ', '"north.card", 7, ', "shufflers must be a list of at least one text"),
        ('"north.card", "cards/south.card", "west.card"', "", "shufflers must be a list of at least one text"),
        ('"west.card"', '"north.card"', "shufflers names one file twice"),
        ("127.0.0.1:7000", "127.0.0.1", "listen.peers must be host:port"),
        ("127.0.0.1:7000", "127.0.0.1:0", "listen.peers must be host:port"),
        ("127.0.0.1:7000", "127.0.0.1:65536", "listen.peers must be host:port"),
        ("127.0.0.1:7000", "127.0.0.1:٧", "listen.peers must be host:port"),
        ("[listen]\n", "listen = 7\n", "is not TOML"),
        ('folder = "home"', "folder = home", "is not TOML"),
    ],
)
def test_a_mistake_is_named_with_its_key(tmp_path: Path, before: str, after: str, sentence: str) -> None:
    assert before in GOOD
    changed = GOOD.replace(before, after)
    if before == "[listen]\n":
        changed = changed.replace("peers =", "=")
    assert sentence in _read(tmp_path, changed)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with raises("config.unreadable", "/none.toml", "no such file"):
        read(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("content", "id_"), [(None, "card.missing"), (b"", "card.unreadable"), (b"x" * 99, "card.unreadable")]
)
def test_a_card_that_is_missing_or_broken_is_named(world: World, content: bytes | None, id_: str) -> None:
    card = world.folder / "2.card"
    card.unlink() if content is None else card.write_bytes(content)
    with raises(id_, f"analyzer.toml: shufflers: {card}"):
        world.config.signed_cards()


def test_the_analyzers_own_card_is_no_shufflers(world: World) -> None:
    (world.folder / "2.card").write_bytes((world.config.folder / "analyzer.card").read_bytes())
    with raises("config.card_of_analyzer"):
        world.config.signed_cards()


def test_cards_are_read_when_they_are_needed_and_not_before(world: World) -> None:
    for number in (1, 2, 3):
        (world.folder / f"{number}.card").unlink()
    world.workspace().close()


WEB = 'web = ["https://a.example", "https://b.example:8443", "https://c.example"]\nweb_origin = "https://app.example"\n'


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (WEB.replace("https://a.", "http://a."), ("config.value", "dummies.web")),
        (WEB.replace(', "https://c.example"', ""), ("config.web", "dummies.web", "2", "3")),
        (WEB.replace("web_origin", "web_agents = 7\n#"), ("config.value", "dummies.web_agents")),
        (
            WEB + 'web_agents = ["chrome", "netscape4"]\n',
            ("config.web", "dummies.web_agents", "netscape4", "firefox"),
        ),
        (WEB + "web_agents = []\n", ("config.value", "dummies.web_agents")),
        (WEB + 'web_languages = ["de\\r\\nHost: x"]\n', ("config.value", "dummies.web_languages")),
        (WEB.rpartition("web_origin")[0], ("config.web", "dummies.web_origin")),
        (WEB.replace("https://app.example", "app.example"), ("config.value", "dummies.web_origin")),
        (WEB + "web_share = 1.5\n", ("config.web", "dummies.web_share", "1.5")),
        (WEB + "web_share = 0\n", ("config.value", "dummies.web_share")),
        (WEB + "web_reading = 0\n", ("config.value", "dummies.web_reading")),
        ("web_share = 0.5\nweb_origin = 'https://app.example'\n", ("config.web", "dummies.web_origin")),
    ],
)
def test_ports_for_browsers_are_named_for_all_shufflers_with_their_page(
    tmp_path: Path, text: str, mistake: tuple[str, ...]
) -> None:
    file = tmp_path / "analyzer.toml"
    file.write_text(f"{GOOD}[dummies]\n{text}")
    with raises(*mistake):
        read(file)


def test_browsers_are_named_as_they_are_known_and_the_latest_chrome_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "analyzer.toml"
    for named, agents in (("", ("chrome",)), ('web_agents = ["firefox", "chrome131"]\n', ("firefox", "chrome131"))):
        file.write_text(f"{GOOD}[dummies]\n{WEB}{named}")
        by_web = read(file).dummies_by_web
        assert by_web is not None
        assert by_web.site.agents == agents
        assert set(agents) < set(browsers())


def test_without_what_imitates_browsers_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "analyzer.toml"
    file.write_text(f"{GOOD}[dummies]\n{WEB}")
    browsers.cache_clear()
    monkeypatch.setitem(sys.modules, "curl_cffi.fingerprints", None)
    assert main(["analyzer", "status", "--config", str(file)]) == 2
    require_shown(capsys.readouterr().err, "extra.missing", "curl_cffi", "dummies")


def test_a_dummy_goes_one_way_whenever_it_is_sent(tmp_path: Path) -> None:
    """Of 2,000 salts three tenths within six standard deviations."""
    file = tmp_path / "analyzer.toml"
    file.write_text(f"{GOOD}[dummies]\n{WEB}web_share = 0.3\n")
    by_web = read(file).dummies_by_web
    assert by_web is not None
    salts = [number.to_bytes(16, "big") for number in range(2000)]
    taken = [by_web.takes(salt) for salt in salts]
    assert taken == [by_web.takes(salt) for salt in salts]
    assert abs(sum(taken) - 600) <= 6 * (2000 * 0.3 * 0.7) ** 0.5
