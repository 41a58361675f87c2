"""What some tests need beyond Python, by the marker that they carry; without it they are skipped, and say why.

PEOS_REQUIRE names the markers whose tests must run, separated by commas: `PEOS_REQUIRE=browser make test`. A test with
such a marker that is skipped, for whatever reason, has failed. Another need is a line of NEEDS and of pyproject.toml.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

VARIABLE: Final = "PEOS_REQUIRE"
WEB: Final = Path(__file__).parents[1] / "user_client" / "web"


def _browser() -> str:
    programs = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    missing = programs + [name for name in ("selenium",) if find_spec(name) is None]
    return f"no {' and no '.join(missing)} on this machine" if missing else ""


@cache
def _namespaces() -> str:
    """A network namespace with a tunnel, made and gone again: root may, where there is /dev/net/tun."""
    probe = "from tests.networks import launcher; launcher.enter_namespace(); launcher.tunnel('10.83.255.1')"
    ran = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1]
    )
    return f"no network namespace can be made here ({ran.stderr.strip().splitlines()[-1]})" if ran.returncode else ""


def _node() -> str:
    missing = [name for name in ("node", "npm") if shutil.which(name) is None]
    if missing:
        return f"no {' and no '.join(missing)} on this machine"
    return "" if (WEB / "node_modules" / ".bin" / "tsc").exists() else f"`npm ci` was not run in {WEB.name}"


def program(name: str) -> str:
    """The path of an operator's program; nothing where there is none."""
    return shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin") or ""


def _systemd() -> str:
    missing = [name for name in ("systemd-analyze", "logrotate") if not program(name)]
    return f"no {' and no '.join(missing)} on this machine" if missing else ""


def _promtool() -> str:
    return "" if shutil.which("promtool") else "no promtool on this machine"


def _deploy() -> str:
    packages = {"kubernetes_validate": "kubernetes-validate", "check_jsonschema": "check-jsonschema"}
    missing = [name for module, name in packages.items() if find_spec(module) is None]
    missing += ["hadolint"] * (not Path(sys.executable).with_name("hadolint").exists())
    return f"no {' and no '.join(missing)} here (the extra deploy)" if missing else ""


# Each says what is missing, or nothing.
NEEDS: Final[Mapping[str, Callable[[], str]]] = {
    "browser": _browser,
    "deploy": _deploy,
    "namespaces": _namespaces,
    "node": _node,
    "systemd": _systemd,
    "promtool": _promtool,
}


def required() -> frozenset[str]:
    """The markers whose tests must run."""
    return frozenset(name.strip() for name in os.environ.get(VARIABLE, "").split(",") if name.strip())


def pytest_configure() -> None:
    """A misspelt requirement would require nothing."""
    unknown = sorted(required() - NEEDS.keys())
    if unknown:
        raise pytest.UsageError(f"{VARIABLE} names {', '.join(unknown)}; there is {', '.join(sorted(NEEDS))}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any fixture of a test is made that nothing could be done with."""
    for name, lacks in NEEDS.items():
        if item.get_closest_marker(name) and (missing := lacks()):
            pytest.skip(f"marked {name}: {missing}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A required test that was skipped has failed."""
    report = yield
    forced = sorted(name for name in required() if item.get_closest_marker(name))
    if report.skipped and forced:
        _, _, why = report.longrepr if isinstance(report.longrepr, tuple) else (None, None, str(report.longrepr))
        report.outcome = "failed"
        report.longrepr = f"{VARIABLE} names {', '.join(forced)}, and this test did not run: {why}"
    return report
