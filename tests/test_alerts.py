"""Alerts and the dashboard ask for what is shown, fire when they should, and each alert has its row for operators."""

import asyncio
import json
import re
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from analyzer.metrics import AnalyzerMetrics
from peos.crypto import vault
from peos.net.logs import Log
from peos.net.observer import Observer
from shuffler.intake import Intake
from shuffler.metrics import ShufflerMetrics
from tests.unit.analyzer.world import World
from tests.unit.fake_shuffler import Loop
from tests.unit.shuffler_process.test_registry import World as ShufflerWorld

ROOT: Final = Path(__file__).parent.parent
FILES: Final = ROOT / "deploy" / "metrics"
RULES: Final = (FILES / "alerts.yml").read_text(encoding="utf-8")
ALERTS: Final = re.findall(r"- alert: (\w+)", RULES)
NAME: Final = re.compile(r"\bpeos_[a-z_]+")
SELECTED: Final = re.compile(r'(event|state|work|stage|outcome|step)(?:=|!=|=~|!~)"([^"$]+)"')


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    """All that an analyzer and a shuffler show when nothing has happened yet."""
    loop = Loop()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(vault, "COST", 10)
        offices, organisations = tmp_path_factory.mktemp("analyzer"), tmp_path_factory.mktemp("shuffler")
        office, organisation = World(offices, loop), ShufflerWorld(organisations, patched)
        office.file.write_text(office.file.read_text() + "[budget]\nepsilon = 1.0\ndelta = 1e-6\n")
        workspace, metrics = office.workspace(), ShufflerMetrics({})
        metrics.watch(
            organisation.registry, Intake(organisation.stored, Observer(Log("test")), organisation.keys.identity)
        )
        both = (AnalyzerMetrics(workspace, 2), metrics)
        text = b"".join(asyncio.run(one.exposition()) for one in both).decode()
        organisation.close()
        office.close()
    loop.close()
    return text


def names(shown: str) -> set[str]:
    """What can be asked for, by name."""
    kinds = re.findall(r"^# TYPE (\w+) (\w+)$", shown, re.MULTILINE)
    return {f"{name}_bucket" if kind == "histogram" else name for name, kind in kinds}


def panels() -> list[dict[str, Any]]:
    """The dashboard's, without the headings between them."""
    board: dict[str, Any] = json.loads((FILES / "dashboard.json").read_text(encoding="utf-8"))
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def test_what_rules_and_panels_ask_for_is_shown_and_all_that_is_shown_has_a_panel(shown: str) -> None:
    asked = {name for panel in panels() for target in panel["targets"] for name in NAME.findall(target["expr"])}
    assert asked == names(shown)
    assert len(asked) > 15
    assert set(NAME.findall(RULES)) <= names(shown)


def test_rules_select_what_there_is(shown: str) -> None:
    steps = {"acceptance", "submissions", "the analyst's word"}  # of what is waited for, nothing is at first
    selected = SELECTED.findall(RULES)
    assert len(selected) > 10
    for label, values in selected:
        for value in values.split("|"):
            assert f'{label}="{value}"' in shown or (label == "step" and value in steps), f"{label}={value}"


def test_each_alert_has_a_row_for_operators_and_a_test_of_both_kinds() -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8").partition("\n## Alerts\n")[2]
    rows = re.findall(r"^\| `(Peos\w+)` \| [^|]+ \| [^|]+ \|$", page.partition("\n## ")[0], re.MULTILINE)
    assert rows == ALERTS
    tried = re.findall(r"- name: (\w+) (fires|is quiet)$", (FILES / "alerts.test.yml").read_text(), re.MULTILINE)
    assert tried == [(alert, how) for alert in ALERTS for how in ("fires", "is quiet")]


def test_panels_do_not_lie_upon_one_another() -> None:
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels()]
    assert len(set(places)) == len(places) == len({panel["id"] for panel in panels()})
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in panels())


@pytest.mark.promtool
@pytest.mark.parametrize(
    "words",
    [("check", "config", "prometheus.yml"), ("check", "rules", "alerts.yml"), ("test", "rules", "alerts.test.yml")],
    ids=" ".join,
)
def test_prometheus_takes_the_files(words: tuple[str, ...]) -> None:
    ran = subprocess.run(  # noqa: S603 - our own files
        ["promtool", *words],  # noqa: S607 - wherever it is installed
        capture_output=True,
        text=True,
        check=False,
        cwd=FILES,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.promtool
def test_a_rule_that_fires_too_early_is_seen(tmp_path: Path) -> None:
    (tmp_path / "alerts.yml").write_text(RULES.replace("> 3600", "> 600"))
    (tmp_path / "alerts.test.yml").write_text((FILES / "alerts.test.yml").read_text())
    ran = subprocess.run(
        ["promtool", "test", "rules", "alerts.test.yml"],  # noqa: S607 - wherever it is installed
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert ran.returncode == 1
    assert "PeosStepStalls is quiet" in ran.stdout + ran.stderr
