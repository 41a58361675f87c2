"""An analyzer's backup: budgets and audit log, no secrets of collections unless asked for; new keys between them."""

import time
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from analyzer import backup, keys
from analyzer.config import Config, read
from analyzer.workspace import Workspace
from peos.collection.lifecycle import State
from peos.crypto.randomness import system
from tests.raising import raises
from tests.unit.analyzer.world import FLOOR, PASSPHRASE, World, take

VALUES: Final = np.arange(40) % 4


def content(folder: Path) -> bytes:
    """Every byte of every file below a folder."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def half_delivered(world: World, workspace: Workspace) -> list[bytes]:
    """A collection of which one vector is here: what must not be found, sealed secrets and the vector."""
    kept = world.open(workspace)
    parts = workspace.store.put_parts(kept.digest, workspace.seal_parts(kept, []))
    workspace.store.move(kept.digest, State.CLOSED)
    sent = world.deliveries(workspace, kept, world.output(workspace, kept, VALUES))
    who = min(sent)
    assert take(world.receiver(workspace), sent[who], world.certificate(who))
    vector = next((workspace.path(kept.name) / "vectors").glob("*.rows")).read_bytes()
    assert kept.key is not None
    return [kept.key, kept.dummies, parts, vector]


def found(secrets: list[bytes], where: bytes) -> list[int]:
    """How many pieces of each are there, of at most ten: a database may cut what is long."""
    return [sum(secret[at : at + 24] in where for at in range(0, min(len(secret) - 24, 240), 24)) for secret in secrets]


def machine(tmp_path: Path) -> Path:
    """Where the configuration is to be, on a machine that has the passphrase alone."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "passphrase").write_bytes(PASSPHRASE)
    (folder / "passphrase").chmod(0o600)
    return folder / "analyzer.toml"


def restored(tmp_path: Path) -> tuple[Config, tuple[str, ...]]:
    """There."""
    done = backup.restore(machine(tmp_path), tmp_path / "a.backup")
    return read(done.folder.parent / "analyzer.toml"), done.aborted


def opened(config: Config) -> Workspace:
    return Workspace(config, floor=FLOOR)


def test_what_cannot_go_on_without_its_secrets_is_aborted_and_still_counts(world: World, tmp_path: Path) -> None:
    workspace = world.workspace()
    secrets = half_delivered(world, workspace)
    assert min(found(secrets, content(world.config.folder))) > 1
    before, log = workspace.store.all(), workspace.store.audit_log()
    manifest = backup.write(world.config, tmp_path / "a.backup", with_reports=False)
    assert (manifest.collections, manifest.destroy_by) == (1, None)

    config, given_up = restored(tmp_path)
    assert given_up == ("fruit",)
    assert found(secrets, content(config.folder) + (tmp_path / "a.backup").read_bytes()) == [0] * 4
    again = opened(config)
    try:
        (kept,) = again.store.all()
        assert (kept.state, kept.reason) == (State.ABORTED, backup.RESTORED)
        assert (kept.request, kept.opened_at, kept.proposal) == (
            before[0].request,
            before[0].opened_at,
            before[0].proposal,
        )
        assert again.store.audit_log()[: len(log)] == log
        assert again.keys.signed_card == workspace.keys.signed_card
        assert again.keys.enrolment == workspace.keys.enrolment
        assert again.store.live() == []
    finally:
        again.close()


def test_with_reports_it_goes_on_where_it_was(world: World, tmp_path: Path) -> None:
    workspace = world.workspace()
    secrets = half_delivered(world, workspace)
    manifest = backup.write(world.config, tmp_path / "a.backup", with_reports=True)
    assert manifest.destroy_by == workspace.signed(workspace.kept("fruit")).document.erase_by
    config, given_up = restored(tmp_path)
    assert given_up == ()
    assert min(found(secrets, content(config.folder))) > 1
    again = opened(config)
    try:
        kept = again.kept("fruit")
        assert again.private_key(kept)
        assert kept.state is State.CLOSED
        assert len(again.store.deliveries(kept.digest)) == 1
    finally:
        again.close()


def test_after_its_date_the_secrets_stay_out(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = half_delivered(world, world.workspace())
    manifest = backup.write(world.config, tmp_path / "a.backup", with_reports=True)
    assert manifest.destroy_by is not None
    now = float(manifest.destroy_by)
    monkeypatch.setattr("time.time", lambda: now)
    config, given_up = restored(tmp_path)
    assert given_up == ("fruit",)
    assert found(secrets, content(config.folder)) == [0] * 4


def test_an_analyzer_changes_its_keys_between_collections_only(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    before = keys.load(world.config, system())
    workspace = world.workspace()
    kept = world.open(workspace)
    with raises("key.rotation_under_way"):
        backup.rotate(world.config, keep_identity=False, early=True)
    workspace.store.move(kept.digest, State.ABORTED)
    workspace.store.erase(kept.digest)
    with raises("key.rotation_early"):
        backup.rotate(world.config, keep_identity=False, early=False)
    assert keys.load(world.config, system()).signed_card == before.signed_card
    document = workspace.signed(kept).document
    with monkeypatch.context() as later:  # no receipt of it was signed: nothing can be asked for after its time
        later.setattr(time, "time", lambda: document.shuffle_by + 1)
        backup.rotate(world.config, keep_identity=True, early=False)

    assert backup.rotate(world.config, keep_identity=True, early=True) == before.identity.public
    renewed = keys.load(world.config, system())
    assert (renewed.identity, renewed.enrolment) == (before.identity, before.enrolment)
    assert renewed.certificate != before.certificate
    identity = backup.rotate(world.config, keep_identity=False, early=True)
    anew = keys.load(world.config, system())
    assert identity == anew.identity.public
    assert not {before.identity.public, before.enrolment.public} & {anew.identity.public, anew.enrolment.public}
    assert (world.config.folder / keys.CARD).read_bytes() == anew.signed_card
    assert workspace.store.audit_log()[-1].event == "keys rotated"
