"""A shuffler's keys: an `init` that is cut off anywhere is completed by the next, and nothing drawn is lost."""

import contextlib
from collections.abc import Iterable
from pathlib import Path

import pytest

from peos.crypto import vault
from peos.errors import Full
from peos.store.private_files import write_durably
from shuffler import keys
from shuffler.config import Config, read
from tests.raising import raises
from tests.unit.shuffler_process.test_config import MINIMAL, written

WRITES = 7  # the vault's key, the identity, two certificates, their two keys, the card
PHRASE = b"a passphrase of this test"


def cut_off_after(writes: int, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many files are written, and then no more."""
    done = 0

    def write(path: Path, data: Iterable[bytes | memoryview], *, mode: int = 0o600) -> None:
        nonlocal done
        if done == writes:
            raise error
        done += 1
        write_durably(path, data, mode=mode)

    monkeypatch.setattr(keys, "write_durably", write)


def files(config: Config) -> dict[str, bytes]:
    """What is in the folder."""
    return {path.name: path.read_bytes() for path in config.folder.iterdir()}


@pytest.mark.parametrize("writes", range(WRITES))
def test_an_init_that_was_cut_off_is_completed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    config = read(written(tmp_path, MINIMAL))
    cut_off_after(writes, KeyboardInterrupt(), monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        keys.make(config)
    before = files(config)
    assert len(before) == writes
    assert keys.CARD not in before, "the card comes last: what is half there was not shown"
    monkeypatch.undo()
    made = keys.make(config)
    after = files(config)
    assert len(after) == WRITES
    pairs = [{f"{port}.pem", f"{port}.key"} for port in ("peers", "users")]
    whole = [name for name in before if all(pair <= before.keys() for pair in pairs if name in pair)]
    assert {name: after[name] for name in whole} == {name: before[name] for name in whole}
    assert keys.load(config) == made


def test_an_init_on_a_full_disk_says_so_and_the_next_completes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = read(written(tmp_path, MINIMAL))
    cut_off_after(3, Full("test.full", "there is no room left"), monkeypatch)
    with pytest.raises(Full):
        keys.make(config)
    monkeypatch.undo()
    assert keys.make(config) == keys.load(config)


def test_a_card_that_was_removed_is_written_anew_from_the_same_keys(tmp_path: Path) -> None:
    config = read(written(tmp_path, MINIMAL))
    made = keys.make(config)
    with raises("key.exists"):
        keys.make(config)
    (config.folder / keys.CARD).unlink()
    moved = read(written(tmp_path, MINIMAL.replace(":7002", ":7003")))
    again = keys.make(moved)
    assert again.identity == made.identity
    assert again.card.peer_address.endswith(":7003")
    assert (config.folder / keys.CARD).read_bytes() == again.signed_card


@pytest.mark.parametrize("name", ["peers.pem", "peers.key", "users.pem", "users.key"])
def test_a_damaged_certificate_or_key_is_named_before_anything_listens(tmp_path: Path, name: str) -> None:
    config = read(written(tmp_path, MINIMAL))
    keys.make(config)
    (config.folder / name).write_bytes(b"\xff\xfe")
    with raises("key.port_damaged", f"north/{name[:5]}"):
        keys.load(config)
    for end in ("pem", "key"):
        (config.folder / f"{name[:5]}.{end}").unlink()
    (config.folder / keys.CARD).unlink()
    assert keys.make(config) == keys.load(config), "what the hint says to do"


def locked(tmp_path: Path, phrase: bytes = PHRASE) -> Config:
    """A configuration with a passphrase."""
    (tmp_path / "passphrase").touch(mode=0o600)
    (tmp_path / "passphrase").write_bytes(phrase + b"\n")
    return read(written(tmp_path, 'passphrase_file = "passphrase"\n' + MINIMAL))


def secrets(made: keys.Keys) -> list[bytes]:
    """What must lie nowhere in clear."""
    return [made.identity.secret, made.identity.secret.hex().encode(), made.peers.key, made.users.key]


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vault, "COST", 10)


@pytest.mark.usefixtures("_quick")
def test_under_a_passphrase_no_key_lies_in_clear_and_nothing_else_opens_them(tmp_path: Path) -> None:
    config = locked(tmp_path)
    made = keys.make(config)
    assert keys.load(config) == made
    for name, content in files(config).items():
        assert not any(secret in content for secret in secrets(made)), name
    (tmp_path / "passphrase").write_bytes(b"another")
    with raises("key.passphrase"):
        keys.load(config)
    without = read(written(tmp_path, MINIMAL))
    with raises("key.no_passphrase"):
        keys.load(without)
    with raises("key.exists"):
        keys.make(locked(tmp_path))


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize("writes", range(4))
def test_keys_that_lie_open_are_refused_under_a_passphrase_until_init_has_sealed_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    made = keys.make(read(written(tmp_path, MINIMAL)))
    config = locked(tmp_path)
    with raises("key.lies_open", "vault.key"):
        keys.load(config)
    cut_off_after(writes, KeyboardInterrupt(), monkeypatch)
    with contextlib.suppress(KeyboardInterrupt):
        keys.make(config)
    monkeypatch.undo()
    monkeypatch.setattr(vault, "COST", 10)
    again = keys.make(config)
    assert again == keys.load(config) == made, "they are the same keys"
    for name, content in files(config).items():
        assert not any(secret in content for secret in secrets(made)), name
    assert not [name for name in files(config) if name.endswith(".sealed")]


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize("name", ["vault.key", "identity.key", "users.key"])
def test_a_damaged_sealed_key_is_named(tmp_path: Path, name: str) -> None:
    config = locked(tmp_path)
    keys.make(config)
    path = config.folder / name
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with raises("key.passphrase" if name == "vault.key" else "key.damaged"):
        keys.load(config)
