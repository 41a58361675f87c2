"""Secrets at rest: opened by the passphrase and by nothing else, and nowhere to be seen meanwhile."""

import io
import logging
import stat

import numpy as np
import pytest

from analyzer import keys
from peos.crypto import vault
from peos.crypto.randomness import Randomness
from peos.net.logs import JsonFormatter
from peos.wire.parties import decode_card
from tests.raising import raises
from tests.unit.analyzer.world import PASSPHRASE, World, take

REAL_COST = vault.COST  # before the fixture of these tests lowers it


def test_a_guess_at_the_passphrase_costs_128_megabytes() -> None:
    assert 128 * vault.BLOCK * (1 << REAL_COST) >= 128 << 20


def test_the_card_shows_the_public_side_and_is_signed(world: World) -> None:
    card = decode_card((world.config.folder / "analyzer.card").read_bytes())
    made = keys.load(world.config, world.rng)
    assert card.identity == made.identity.public
    assert (card.name, card.peer_address, card.user_address) == ("statistics office", world.config.peers, "")


def test_made_again_the_keys_stay_and_the_card_follows_the_address(world: World) -> None:
    before = keys.load(world.config, world.rng)
    world.file.write_text(world.file.read_text().replace(world.config.peers, "10.0.0.9:7000"))
    after = keys.make(world.config, world.rng)
    assert after.identity == before.identity
    assert decode_card((world.config.folder / "analyzer.card").read_bytes()).peer_address == "10.0.0.9:7000"


def test_a_wrong_passphrase_is_one_sentence(world: World) -> None:
    (world.folder / "passphrase").write_bytes(b"another")
    with raises("key.passphrase"):
        keys.load(world.config, world.rng)


def test_a_damaged_file_of_keys_looks_like_a_wrong_passphrase(world: World) -> None:
    file = world.config.folder / keys.KEYS
    whole = file.read_bytes()
    for at in (0, 12, 20, 40, len(whole) - 1):  # 12 is the cost
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with raises("key.passphrase"):
            keys.load(world.config, world.rng)
    file.write_bytes(whole[:10])
    with raises("key.passphrase"):
        keys.load(world.config, world.rng)


def test_a_newline_at_the_end_of_the_passphrase_does_not_count(world: World) -> None:
    (world.folder / "passphrase").write_bytes(PASSPHRASE)
    keys.load(world.config, world.rng)


@pytest.mark.parametrize(
    ("content", "mode", "id_"), [(b"x", 0o644, "config.passphrase_open"), (b"\n", 0o600, "config.passphrase_empty")]
)
def test_a_passphrase_that_others_can_read_or_that_is_none_is_refused(
    world: World, content: bytes, mode: int, id_: str
) -> None:
    file = world.folder / "passphrase"
    file.write_bytes(content)
    file.chmod(mode)
    with raises(id_, "passphrase_file"):
        keys.load(world.config, world.rng)


def test_a_missing_passphrase_and_missing_keys_are_named(world: World) -> None:
    (world.folder / "passphrase").unlink()
    with raises("config.passphrase_unreadable"):
        keys.load(world.config, world.rng)
    (world.config.folder / keys.KEYS).unlink()
    with raises("key.no_analyzer"):
        keys.load(world.config, world.rng)


def test_a_folder_that_others_can_open_is_refused(world: World) -> None:
    world.config.folder.chmod(0o750)
    with raises("store.open_to_others"):
        world.workspace()


def test_what_is_sealed_opens_under_its_own_label_only(rng: Randomness) -> None:
    box = vault.Vault(bytes(32), rng)
    sealed = box.seal("key", b"fruit", content=b"secret")
    assert box.open("key", b"fruit", sealed=sealed) == b"secret"
    assert box.seal("key", b"fruit", content=b"secret") != sealed
    for label, field, given in (
        ("dummies", b"fruit", sealed),
        ("key", b"bread", sealed),
        ("key", b"fruit", sealed[:-1]),
        ("key", b"fruit", b""),
    ):
        with raises("key.sealed_damaged"):
            box.open(label, field, sealed=given)


def _secrets(world: World) -> dict[str, bytes]:
    workspace = world.workspace()
    kept = world.open(workspace)
    private = workspace.private_key(kept).encode()
    half = (len(private) - 3) // 2
    found = {
        "identity": workspace.keys.identity.secret,
        "enrolment": workspace.keys.enrolment.secret,
        "certificate key": workspace.keys.certificate.key.splitlines()[1],
        "p": private[3 : 3 + half],
        "q": private[-half:],
        "passphrase": PASSPHRASE,
    }
    for number, dummy in enumerate(workspace.dummies(kept)[:3]):
        found |= {f"salt {number}": dummy.salt, f"words {number}": dummy.words.tobytes()}
    return found


def test_no_secret_is_in_any_file_in_clear_and_no_file_is_open_to_others(world: World) -> None:
    secrets = _secrets(world)
    files = list(world.config.folder.rglob("*"))
    assert {"keys", "analyzer.card", "analyzer.sqlite"} <= {path.name for path in files}
    for path in files:
        expected = 0o700 if path.is_dir() else 0o644 if path.name == keys.CARD else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == expected, path
        if path.is_file():
            content = path.read_bytes()
            for name, secret in secrets.items():
                assert secret not in content, f"{name} in {path.name}"
                assert secret.hex().encode() not in content, f"{name} in {path.name}"


def test_no_secret_is_in_a_repr_or_in_the_log(world: World) -> None:
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    handler.setFormatter(JsonFormatter())
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(logging.DEBUG)
    try:
        workspace = world.workspace()
        kept = world.open(workspace)
        receiver = world.receiver(workspace)
        values = np.arange(40) % 4
        for sender, sent in world.deliveries(workspace, kept, world.output(workspace, kept, values)).items():
            take(receiver, sent, world.certificate(sender))
        shown = lines.getvalue() + "".join(
            map(repr, (workspace, workspace.keys, workspace.kept("fruit"), workspace.dummies(kept)))
        )
    finally:
        logging.getLogger().removeHandler(handler)
        logging.getLogger().setLevel(logging.WARNING)
    assert "the output is complete" in shown
    for name, secret in _secrets(world).items():
        for spelt in (repr(secret)[2:-1], secret.hex(), str(int.from_bytes(secret, "big"))):
            assert spelt not in shown, name


def test_the_database_alone_opens_nothing(world: World) -> None:
    workspace = world.workspace()
    kept = world.open(workspace)
    assert kept.key is not None
    other = vault.Vault(bytes(32), world.rng)
    with raises("key.sealed_damaged"):
        other.open("key", kept.name.encode(), sealed=kept.key)
