"""What deploy/ has for supervisors is checked by their own programs, and held to what the project says of itself."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from analyzer import serve as analyzer_serve
from analyzer.config import read as read_analyzer
from peos.errors import WrongInput
from shuffler import server as shuffler_server
from shuffler.config import read as read_shuffler
from tests.needs import program

ROOT: Final = Path(__file__).parent.parent
DEPLOY: Final = ROOT / "deploy"
COMPOSE: Final = DEPLOY / "compose" / "compose.yaml"
DOCKERFILE: Final = DEPLOY / "container" / "Dockerfile"
MANIFESTS: Final = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
UNITS: Final = sorted((DEPLOY / "systemd").glob("*.service"))
ROLES: Final = ("shuffler", "analyzer")
DRAIN: Final = 60  # seconds, as docs/operations.md has it
EXPOSURE: Final = 1.5  # of ten, as systemd-analyze counts
FROM_OPERATORS: Final = ("./cards", "./invitations", "./secrets/", "../../user_client/web/dist")


def resources() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of the manifests, with the file that it is in."""
    for path in MANIFESTS:
        for one in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            yield path.name, one


def pods() -> list[tuple[str, dict[str, Any]]]:
    found = []
    for name, one in resources():
        if one["kind"] == "Pod":
            found.append((name, one["spec"]))
        elif one["kind"] == "StatefulSet":
            found.append((name, one["spec"]["template"]["spec"]))
    return found


def settings(folder: Path, role: str, text: str) -> Any:
    path = folder / f"{role}.toml"
    path.write_text(text, encoding="utf-8")
    return (read_shuffler if role == "shuffler" else read_analyzer)(path)


def unit(path: Path) -> dict[str, list[str]]:
    """The settings of a unit, in whatever section."""
    found: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def typed() -> Iterator[list[str]]:
    """The words of every command of `peos` in the ways to deploy, as docs/operations.md has them typed."""
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    section = page.split("\n## Deploying\n")[1].split("\n## ")[0]
    for block in re.findall(r"```sh\n(.*?)```", section, re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            if called := re.search(r"(?:\bpeos |as_party )(shuffler|analyzer) (.*)", line):
                yield [called[1], *shlex.split(called[2])]
            elif called := re.search(r"\$party (init .*)", line):
                yield from ([role, *shlex.split(called[1])] for role in ROLES)


def test_the_commands_that_the_page_types_are_there() -> None:
    found = list(typed())
    assert len(found) >= 6
    for words in found:
        ran = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "peos.cli", *words[:2], "--help"], capture_output=True, text=True, check=True
        )
        given = {word for word in words if word.startswith("--")}
        assert given <= set(re.findall(r"--[a-z-]+", ran.stdout)), words


def test_the_files_that_the_page_names_are_there() -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    named = set(re.findall(r"deploy/[\w./-]*\w", page))
    assert len(named) > 8
    assert not [name for name in named if not (ROOT / name).exists()]


def test_the_page_has_the_times_that_the_programs_take_to_drain() -> None:
    page = " ".join((ROOT / "docs" / "operations.md").read_text(encoding="utf-8").split())
    of_shuffler, of_analyzer = shuffler_server.GRACE, analyzer_serve.GRACE
    assert f"calls under way {of_shuffler:g} s and its workers {2 * of_shuffler:g} s" in page
    assert f"an analyzer gives calls {of_analyzer:g} s" in page
    assert f"Give it {DRAIN} s" in page
    assert max(of_analyzer, 3 * of_shuffler) * 5 < DRAIN, "and time for a busy machine"


# systemd.


@pytest.mark.systemd
def test_the_service_manager_finds_no_fault_with_the_units(tmp_path: Path) -> None:
    for path in UNITS:
        text = path.read_text(encoding="utf-8").replace("/opt/peos/bin/peos", sys.executable)
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    ran = subprocess.run(  # noqa: S603
        [program("systemd-analyze"), "verify", *(str(tmp_path / path.name) for path in UNITS)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.systemd
@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_a_unit_exposes_little(path: Path) -> None:
    ran = subprocess.run(  # noqa: S603
        [program("systemd-analyze"), "security", "--offline=true", "--no-pager", str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    (exposure,) = re.findall(r"Overall exposure level for \S+: ([0-9.]+)", ran.stdout)
    assert float(exposure) <= EXPOSURE, ran.stdout


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_a_unit_starts_a_command_that_is_there_and_gives_it_time_and_its_passphrase(path: Path) -> None:
    found, role = unit(path), path.stem.removeprefix("peos-")
    words = shlex.split(found["ExecStart"][0])
    assert words[1:3] == [role, "serve"]
    ran = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "peos.cli", *words[1:3], "--help"], capture_output=True, text=True, check=True
    )
    assert set(filter(lambda word: word.startswith("--"), words)) <= set(re.findall(r"--[a-z-]+", ran.stdout))
    assert found["ExecReload"] == ["/bin/kill -HUP $MAINPID"]
    assert found["TimeoutStopSec"] == [f"{DRAIN}s"]
    assert found["User"] == [path.stem]
    assert found["LoadCredential"] == [f"passphrase:/etc/peos/{role}.passphrase"]
    config = (read_shuffler if role == "shuffler" else read_analyzer)(DEPLOY / "systemd" / f"{role}.toml")
    assert str(config.folder) == f"/var/lib/{found['StateDirectory'][0]}/state"
    assert str(config.passphrase_file).endswith("$CREDENTIALS_DIRECTORY/passphrase")
    assert words[words.index("--config") + 1] == f"/etc/peos/{role}.toml"
    accounts = (DEPLOY / "systemd" / "peos.sysusers.conf").read_text(encoding="utf-8")
    assert f"u {path.stem} " in accounts
    rotated = (DEPLOY / "systemd" / "peos.logrotate").read_text(encoding="utf-8")
    assert words[words.index("--log") + 1] in rotated
    assert f"systemctl reload {path.name}" in rotated
    assert "copytruncate" not in rotated


@pytest.mark.systemd
def test_the_rules_for_logs_are_read(tmp_path: Path) -> None:
    text = (DEPLOY / "systemd" / "peos.logrotate").read_text(encoding="utf-8")
    (tmp_path / "rules").write_text(re.sub(r"\n *su .*", "", text), encoding="utf-8")  # accounts that are not here
    (tmp_path / "rules").chmod(0o600)
    ran = subprocess.run(  # noqa: S603
        [program("logrotate"), "--debug", "--state", str(tmp_path / "state"), str(tmp_path / "rules")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "error" not in ran.stderr.lower()


# Containers.


def test_an_image_runs_without_a_shell_and_not_as_root() -> None:
    text = DOCKERFILE.read_text(encoding="utf-8").replace("\\\n", " ")
    stages = {stage.splitlines()[0].split(" AS ")[1]: stage for stage in re.split(r"(?m)^FROM ", text)[1:]}
    assert set(ROLES) < set(stages)
    users = {re.findall(r"(?m)^USER (\S+)", stages[role])[-1] for role in ROLES}
    assert len(users) == len(ROLES), "an account of its own for each role"
    assert all(re.fullmatch(r"[1-9][0-9]*:[1-9][0-9]*", user) for user in users)
    for role in ROLES:
        entry, arguments = (
            json.loads(*re.findall(rf"(?m)^{word} (.*)$", stages[role])) for word in ("ENTRYPOINT", "CMD")
        )
        assert entry == ["/opt/peos/bin/peos", role]
        assert arguments == ["serve", "--config", f"/etc/peos/{role}.toml", "--log", "json"]
        assert "RUN " not in stages[role]


def test_an_image_is_made_of_the_packages_and_of_nothing_else() -> None:
    lines = Path(f"{DOCKERFILE}.dockerignore").read_text(encoding="utf-8").splitlines()
    taken = {line[1:] for line in lines if line.startswith("!")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = {name.partition(".")[0] for name in project["tool"]["setuptools"]["packages"]}
    assert taken == packages | {"LICENSE", "README.md", "pyproject.toml"}
    assert lines.index("*") < min(lines.index(f"!{name}") for name in taken)
    extras = re.findall(r"/source\[([a-z,]+)\]", DOCKERFILE.read_text(encoding="utf-8"))[0].split(",")
    assert set(extras) <= set(project["project"]["optional-dependencies"])


def test_every_container_is_closed_and_has_what_it_mounts() -> None:
    compose = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    for name, service in compose["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert all(port.startswith("127.0.0.1:") for port in service["ports"]) if "ports" in service else True, name
        for volume in service["volumes"]:
            source = volume.partition(":")[0]
            if source.startswith(".") and not source.startswith(FROM_OPERATORS):
                assert (COMPOSE.parent / source).exists(), f"{name}: {source}"
            elif not source.startswith("."):
                assert source in compose["volumes"], f"{name}: {source}"
        if name in ("north", "east", "south", "office"):
            assert service["stop_grace_period"] == f"{DRAIN}s"
            assert service["healthcheck"]["test"][0] == "CMD", "no shell"
    ignored = (COMPOSE.parent / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {"secrets/", "cards/", "invitations/", "*.key"} <= set(ignored)


def test_the_settings_of_the_composed_parties_are_read() -> None:
    compose = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    scraped = yaml.safe_load((COMPOSE.parent / "prometheus.yml").read_text(encoding="utf-8"))
    targets = scraped["scrape_configs"][0]["static_configs"][0]["targets"]
    for name in ("north", "east", "south"):
        config = read_shuffler(COMPOSE.parent / name / "shuffler.toml")
        assert (config.name, config.users, config.peers) == (name, f"{name}:7001", f"{name}:7002")
        assert str(config.folder).startswith("/var/lib/peos/")
        assert f"{name}:{str(config.metrics).rpartition(':')[2]}" in targets
        assert compose["services"][name]["build"]["target"] == "shuffler"
    office = read_analyzer(COMPOSE.parent / "office" / "analyzer.toml")
    assert [path.stem for path in office.shufflers] == ["north", "east", "south"]
    assert compose["services"]["office"]["build"]["target"] == "analyzer"
    assert len(json.loads((COMPOSE.parent / "page" / "config.json").read_text(encoding="utf-8"))["shufflers"]) == 3


# Kubernetes.


def test_every_pod_is_closed_and_has_time_to_drain() -> None:
    found = pods()
    assert len(found) == 4
    for name, pod in found:
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["securityContext"]["fsGroupChangePolicy"] == "OnRootMismatch", "or key files open to the group"
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        for container in (*pod["containers"], *pod.get("initContainers", ())):
            held = container["securityContext"]
            assert held["readOnlyRootFilesystem"] is True
            assert held["allowPrivilegeEscalation"] is False
            assert held["capabilities"] == {"drop": ["ALL"]}
            assert "limits" in container["resources"]
        if name != "init.yaml":
            assert pod["terminationGracePeriodSeconds"] == DRAIN
            (party,) = pod["containers"]
            assert {"startupProbe", "readinessProbe", "livenessProbe"} <= party.keys()


@pytest.mark.parametrize("role", ROLES)
def test_a_party_has_one_pod_a_budget_and_a_policy_for_the_network(role: str) -> None:
    found = {one["kind"]: one for name, one in resources() if name == f"{role}.yaml"}
    labels = found["StatefulSet"]["spec"]["template"]["metadata"]["labels"]
    assert found["StatefulSet"]["spec"]["replicas"] == 1
    for kind in ("PodDisruptionBudget", "StatefulSet"):
        assert found[kind]["spec"]["selector"]["matchLabels"] == labels
    policy = found["NetworkPolicy"]["spec"]
    assert policy["podSelector"]["matchLabels"] == labels
    assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
    assert not any(kind == "Secret" for kind in found), "secrets are made by their operator, and kept by none of us"


def test_the_settings_in_the_manifests_are_read(tmp_path: Path) -> None:
    read = 0
    for _, one in resources():
        if one["kind"] == "ConfigMap":
            ((file, text),) = one["data"].items()
            config = settings(tmp_path, file.removesuffix(".toml"), text)
            assert config.bind == "0.0.0.0"  # noqa: S104
            assert str(config.folder).startswith("/var/lib/peos/"), "the volume"
            assert "$CREDENTIALS_DIRECTORY" in str(config.passphrase_file)
            read += 1
    assert read == 4
    with pytest.raises(WrongInput):
        settings(tmp_path, "shuffler", "name = 3")


# What validators say, where they are installed (the extra `deploy`).


@pytest.mark.deploy
@pytest.mark.full
def test_validators_find_no_fault() -> None:
    import kubernetes_validate

    version = kubernetes_validate.latest_version()
    checked = 0
    for _, one in resources():
        kubernetes_validate.validate(one, version, strict=True)
        checked += 1
    assert checked > 15
    here = Path(sys.executable).parent
    for command in (
        [here / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", COMPOSE],
        [here / "hadolint", DOCKERFILE],
    ):
        ran = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)  # noqa: S603
        assert ran.returncode == 0, ran.stdout + ran.stderr
