"""A card is shown again to people, and a configuration may be named once for all commands."""

import json
from pathlib import Path

import pytest

from peos.cli import main
from tests.raising import require_shown
from tests.unit.analyzer.world import World


def test_a_card_is_shown_with_what_a_user_pins(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    card = world.config.folder / "analyzer.card"
    assert main(["card", "show", str(card), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["role"], shown["identity"]) == ("analyzer", world.workspace().keys.identity.public.hex())
    assert main(["card", "show", str(world.config.shufflers[0])]) == 0
    text = capsys.readouterr().out
    assert text.startswith("role                shuffler\n")
    (tmp_path / "no.card").write_bytes(b"no card")
    assert main(["card", "show", str(tmp_path / "no.card")]) == 2
    require_shown(capsys.readouterr().err, "card.unreadable")
    assert main(["card", "show", str(tmp_path / "none")]) == 2
    require_shown(capsys.readouterr().err, "card.missing")


def test_the_configuration_may_be_named_once_for_all(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PEOS_CONFIG", str(world.config.path))
    assert main(["analyzer", "status"]) == 0
    assert main(["shuffler", "status"]) == 2
    require_shown(capsys.readouterr().err, "config.other_role", "an analyzer")
