"""The house's rules as tests: pure rooms do no I/O, rooms depend one way, roles never meet, files stay small.

Each rule is also shown to be able to fail, on a planted violation.
"""

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from peos.registry import MECHANISMS, SCHEMES, Registry
from tests.sources import ROLES, ROOT, imports, nodes, sources

PURE = ("client", "collection", "crypto", "estimate", "ldp", "privacy", "protocols", "shuffle", "tasks")
IO = frozenset(
    {"asyncio", "concurrent", "grpc", "http", "logging", "multiprocessing", "os", "pathlib", "psycopg", "random"}
    | {"secrets", "select", "shutil", "signal", "socket", "sqlite3", "ssl", "subprocess", "sys", "tempfile"}
    | {"threading", "time", "urllib"}
)
ENTROPY = "peos/crypto/randomness.py"  # the one place that asks the operating system
# Each room may use those before it. Only processes and the command line stand above the wire and the simulation.
ORDER = (
    *("errors", "chunks", "typed", "ending", "registry", "drawing", "tabular", "crypto", "compute", "estimate", "ldp"),
    "shuffle",
    *(
        "privacy",
        "tasks",
        "protocols",
        "collection",
        "v1",
        "wire",
        "client",
        "typed",
        "settings",
        "spec",
        "configuration",
    ),
    *("simulate", "net", "store", "localcluster", "localrun", "bench", "hardening", "cli"),
)
APART = frozenset({("net", "store"), ("store", "net"), ("net", "simulate"), ("store", "simulate"), ("store", "wire")})
APART |= {(pure, "compute") for pure in PURE}  # it starts processes
GRPC = frozenset({"grpc", "grpc_health", "grpc_reflection"})
CONFINED = "peos/net/tls.py"
REGISTRY = "peos/registry.py"  # names later rooms, for type checkers; it loads them when they are asked for
MAY_BE_CONCRETE = (
    "tests/",  # each mechanism and scheme is tested by itself
    "experiments/",  # they repeat what a paper did with one
    REGISTRY,
    "peos/bench/",  # measures what only one scheme has, next to another library's version of the same
    "benchmarks/",  # lays out those figures, and holds each against a bar that was set for it
)
OF_PROTOCOLS = frozenset(
    {"peos.protocols.peos", "peos.protocols.sequential", "peos.protocols.PEOS", "peos.protocols.SEQUENTIAL"}
    | {"peos.privacy.sequential", "peos.shuffle.sequential"}
)
OF_KINDS = frozenset(
    {"OnionKeys", "OnionPrivateKey", "OnionEncryption", "ShareEncryption", "SequentialSchedule", "SequentialShuffler"}
    | {"Relay", "RelayBench", "Workbench", "Bench", "Peos", "Sequential"}
)
NAMES_THEM = ("peos/registry.py", "peos/bench/overhead.py")  # the latter quotes the rows of the thesis' table
WRITES_LINES = ("peos/net/observer.py", "peos/net/logs.py")
EXPERIMENTS_TESTED = ("tests", "unit", "experiments")
PYTHONS = frozenset({"_asdict", "_exit", "_getframe", "_replace", "_repr_html_"})
LOOKED_INTO = {  # the files of tests that use a private name of ours, how often, and why
    "tests/e2e/deviant.py": (2, "a shuffler that deviates"),
    "tests/e2e/in_files.py": (3, "a shuffler that keeps in files what is too short for it"),
    "tests/security/test_fakes.py": (4, "coins at the edges, where a mechanism's threshold lies"),
    "tests/security/test_inspection.py": (2, "a shuffler that forgot what it did"),
    "tests/statistical/test_set_queries.py": (2, "a second way to count, from the same table"),
    "tests/statistical/views.py": (2, "a second way to count, from the same table"),
    "tests/unit/analyzer/test_delivery_receiver.py": (1, "a process that ends in the middle of a vector"),
    "tests/unit/compute/cluster.py": (1, "how many workers the scheduler knows"),
    "tests/unit/compute/test_dask.py": (4, "work under a given seed, and the key that must not be seen"),
    "tests/unit/compute/test_dask_lost.py": (7, "a worker that comes late, and a worker's memory in this process"),
    "tests/unit/compute/test_dask_secrets.py": (2, "the key that is looked for in memory"),
    "tests/unit/compute/test_engines.py": (3, "that a table was kept shows in time alone"),
    "tests/unit/compute/test_zeros.py": (1, "memory that was overwritten"),
    "tests/unit/crypto/test_dgk_jl.py": (2, "that no row spoils another's work shows in time alone"),
    "tests/unit/ldp/test_design_vectors.py": (4, "the vectors pin tables too"),
    "tests/unit/ldp/test_mixture.py": (1, "the coins at which a mechanism's answer changes"),
    "tests/unit/ldp/test_privacy_by_enumeration.py": (1, "the coins at which a mechanism's answer changes"),
    "tests/unit/ldp/test_she.py": (1, "the coins that the table leaves undecided"),
    "tests/unit/shuffler_process/test_shuffle_runner.py": (1, "a fault in the middle of a run"),
    "tests/unit/shuffler_process/test_spill.py": (5, "a file without a name"),
    "tests/unit/shuffler_process/test_zero_pool.py": (
        3,
        "the attempt that a thread works for, and a thread that ended",
    ),
    "tests/unit/shuffler_process/test_zeros_in_a_session.py": (2, "how many zeros are ready"),
    "tests/unit/store/test_sqlite.py": (11, "settings, traces and limits of the store's own connection"),
}
CEILING = 500
MEDIAN = 200


def room(parts: tuple[str, ...]) -> str:
    """The room of a module or file below peos; empty for peos itself."""
    return parts[1].removesuffix(".py") if len(parts) > 1 else ""


def position(name: str) -> int:
    """Where a room stands in the order; what is not a room may be used by all and may use all."""
    return ORDER.index(name) if name in ORDER else 0


def violations(root: Path) -> list[str]:
    """Every breach of the rules on imports."""
    found = []
    for path in sources(root):
        name = path.relative_to(root)
        top, here = name.parts[0], room(name.parts)
        for module in set(imports(path)):
            parts = tuple(module.split("."))
            if top == "peos" and here in PURE and parts[0] in IO and str(name) != ENTROPY:
                found.append(f"{name} imports {parts[0]}: a pure room does no I/O")
            if top in ROLES and parts[0] in ROLES and parts[0] != top:
                found.append(f"{name} imports {parts[0]}: roles never import each other")
            if top == "peos" and parts[0] in ROLES:  # the command line loads them by name, when it is asked to
                found.append(f"{name} imports {parts[0]}: the library does not know the roles")
            is_later = position(room(parts)) > position(here) and str(name) != REGISTRY
            if top == "peos" and parts[0] == "peos" and is_later:
                found.append(f"{name} imports {module}: {here} comes before {room(parts)}")
            if top == "peos" and parts[0] == "peos" and (here, room(parts)) in APART:
                found.append(f"{name} imports {module}: {here} does not know {room(parts)}")
            if parts[:2] == ("peos", "v1") and top != "tests" and (top, here) != ("peos", "wire"):
                found.append(f"{name} imports {module}: only the codec knows the generated code")
            if top == "peos" and parts[0] == "tests":
                found.append(f"{name} imports {module}: the library does not know its tests")
            if top == "experiments" and parts[0] in (*ROLES, "benchmarks", "tests"):
                found.append(f"{name} imports {module}: experiments know the library alone")
            if parts[0] in GRPC and str(name) != CONFINED:
                found.append(f"{name} imports {parts[0]}: TLS is confined before it is loaded, in {CONFINED}")
            if parts[0] == "experiments" and top != "experiments" and name.parts[:3] != EXPERIMENTS_TESTED:
                found.append(f"{name} imports {module}: nothing rests on an experiment")
    return sorted(set(found))


def askers(root: Path) -> list[str]:
    """Every place outside their room that names a protocol, or tells two apart by what they are made of."""
    found = []
    for path in sources(root):
        name = path.relative_to(root)
        if name.parts[0] not in ("peos", *ROLES) or name.parts[:2] == ("peos", "protocols"):
            continue
        for module in sorted(set(imports(path)) & OF_PROTOCOLS):
            found.append(f"{name} imports {module}: the protocol object is asked, whichever it is")
        for node in nodes(path):
            match node:
                case ast.Constant(value="ss") if str(name) not in NAMES_THEM:
                    found.append(f"{name} names a protocol, which documents and people do")
                case ast.Compare() if "peos" in _constants(node) or "protocol.name" in ast.unparse(node.left):
                    if not any(isinstance(operator, ast.In | ast.NotIn) for operator in node.ops):
                        found.append(f"{name} compares a protocol's name: ask the object instead")
                case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]) if OF_KINDS & _names(kinds):
                    if name.parts[:2] != ("peos", "crypto"):
                        found.append(f"{name} tells protocols apart by their keys, schedules or benches")
    return sorted(set(found))


def unobserved(root: Path) -> list[str]:
    """Every line that a process writes to its log past the observer; debug lines are for developers."""
    found = []
    for path in sources(root):
        name = path.relative_to(root)
        if (name.parts[0] not in ROLES and name.parts[:2] != ("peos", "net")) or str(name) in WRITES_LINES:
            continue
        for node in nodes(path):
            match node:
                case ast.Call(func=ast.Attribute(attr="info" | "warning" | "error", value=of)):
                    if ast.unparse(of).lower().endswith(("log", "log()")):
                        found.append(f"{name}:{node.lineno} writes a line: note an event instead")
                case ast.Attribute(attr="trouble" | "_trouble" | "_stalled", ctx=ast.Store()) if name.parts[0] in ROLES:
                    found.append(f"{name}:{node.lineno} remembers what is wrong: the observer knows it from the event")
    return found


def _constants(node: ast.AST) -> set[object]:
    return {one.value for one in ast.walk(node) if isinstance(one, ast.Constant)}


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def concrete(root: Path) -> list[str]:
    """Every place that asks for one mechanism or scheme by its class or name, where each should answer for itself."""
    found = []
    for path in sources(root):
        name = str(path.relative_to(root))
        if name.startswith(MAY_BE_CONCRETE):
            continue
        for what, (home, classes, names) in kinds().items():
            if name.startswith(home):
                continue
            for node in nodes(path):
                asked = asked_for(node) & classes
                found += [f"{name} asks whether it is {one}: a {what} answers itself" for one in sorted(asked)]
                literal = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
                if names & set(literal.split("|")):
                    found.append(f"{name} names {literal!r}: the registry knows every {what}")
    return found


def kinds() -> dict[str, tuple[str, frozenset[str], frozenset[str]]]:
    """Mechanisms and schemes: where they live, their classes (and those of keys), and their names."""
    made: tuple[tuple[str, str, Registry[Any]], ...] = (
        ("mechanism", "peos/ldp/", MECHANISMS),
        ("scheme", "peos/crypto/schemes/", SCHEMES),
    )
    return {
        what: (
            home,
            frozenset(name for one in known.values() for name in defined(one)),
            frozenset(known),
        )
        for what, home, known in made
    }


def defined(one: type) -> set[str]:
    """The classes of a mechanism's or scheme's own file."""
    here = vars(sys.modules[one.__module__]).values()
    return {each.__name__ for each in here if isinstance(each, type) and each.__module__ == one.__module__}


def asked_for(node: ast.AST) -> set[str]:
    """The classes that an isinstance, a pattern or a comparison of types asks for, by the last part of their names."""
    asked: list[ast.AST] = []
    match node:
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, classes]):
            asked = [classes]
        case ast.MatchClass(cls=one):
            asked = [one]
        case ast.Compare(left=left, comparators=others):
            asked = [left, *others]
    names = {part.id for one in asked for part in ast.walk(one) if isinstance(part, ast.Name)}
    return names | {part.attr for one in asked for part in ast.walk(one) if isinstance(part, ast.Attribute)}


def looks_inside(root: Path) -> dict[str, list[str]]:
    """Where tests use a private name, by file, but for names of the file itself and steps that a subclass changes."""
    found = {}
    for path in (root / "tests").rglob("*.py"):
        own = {name for node in nodes(path) for name in _named_here(node)} | PYTHONS
        if used := [name for node in nodes(path) if _is_private(name := _used(node)) and name not in own]:
            found[str(path.relative_to(root))] = sorted(used)
    return found


def _named_here(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.Attribute(attr=name, value=ast.Name(id="self" | "cls"), ctx=ast.Store()):
            yield name
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def _used(node: ast.AST) -> str:
    match node:
        case ast.Attribute(value=ast.Name(id="self" | "cls") | ast.Call(func=ast.Name(id="super"))):
            return ""
        case ast.Attribute(attr=name):
            return name
        case ast.Call(func=ast.Attribute(attr="setattr"), args=[_, ast.Constant(value=str(name)), *_]):
            return name
    return ""


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def lengths(root: Path) -> dict[str, int]:
    """Lines of each file."""
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8").count("\n") for path in sources(root)}


def test_rooms_keep_to_their_rules() -> None:
    assert violations(ROOT) == []


def test_nobody_asks_which_protocol_it_is() -> None:
    assert askers(ROOT) == []


@pytest.mark.parametrize(
    "text",
    [
        "from peos.protocols.sequential import SEQUENTIAL\n",
        "from peos.protocols import PEOS\n",
        "from peos.privacy.sequential import WEAKER\n",
        "def f(document):\n    return document.protocol.name == other\n",
        "def f(request):\n    return request.protocol != 'peos'\n",
        "NAME = 'ss'\n",
        "def f(public):\n    return isinstance(public, OnionKeys)\n",
        "def f(bench):\n    return isinstance(bench, int | RelayBench)\n",
    ],
)
def test_a_planted_question_which_protocol_it_is_is_seen(tmp_path: Path, text: str) -> None:
    for name in ("shuffler/planted.py", "peos/collection/planted.py", "peos/protocols/planted.py"):
        planted = tmp_path / name
        planted.parent.mkdir(parents=True)
        planted.write_text(text)
    assert {complaint.partition(" ")[0] for complaint in askers(tmp_path)} == {
        "shuffler/planted.py",
        "peos/collection/planted.py",
    }


def test_what_happens_is_noted_as_an_event() -> None:
    assert unobserved(ROOT) == []


def test_a_planted_line_past_the_observer_is_seen(tmp_path: Path) -> None:
    planted = tmp_path / "shuffler" / "planted.py"
    planted.parent.mkdir()
    planted.write_text(
        "def f(self, log):\n    self._log.warning('late', count=3)\n    log.info('x')\n    log.debug('y')\n"
    )
    assert [one.partition(" ")[0] for one in unobserved(tmp_path)] == ["shuffler/planted.py:2", "shuffler/planted.py:3"]


def test_a_planted_memory_of_what_is_wrong_is_seen(tmp_path: Path) -> None:
    planted = tmp_path / "shuffler" / "planted.py"
    planted.parent.mkdir()
    planted.write_text("def f(self, observer):\n    self.trouble = 'late'\n    return observer.trouble('delivery')\n")
    assert [one.partition(" ")[0] for one in unobserved(tmp_path)] == ["shuffler/planted.py:2"]


def test_mechanisms_and_schemes_answer_for_themselves() -> None:
    assert concrete(ROOT) == []


def test_what_is_registered_has_that_name_and_lives_where_it_should() -> None:
    for home, known in (("peos.ldp.", MECHANISMS), ("peos.crypto.schemes.", SCHEMES)):
        assert known
        for name, one in known.items():
            assert one.name in known
            assert one.name == name or issubclass(one, known[one.name]), "an alias makes members of what it is named as"
            assert one.__module__.startswith(home)


def test_every_room_of_the_library_has_its_place_in_the_order() -> None:
    rooms = {room(path.relative_to(ROOT).parts) for path in sources(ROOT) if path.is_relative_to(ROOT / "peos")}
    assert rooms - {"__init__"} <= set(ORDER), "give the new room its place in ORDER"


def test_tests_look_from_outside() -> None:
    found = looks_inside(ROOT)
    more = {name: used for name, used in found.items() if len(used) > LOOKED_INTO.get(name, (0, ""))[0]}
    assert not more, "test what can be seen from outside, or give the reason in LOOKED_INTO"
    fewer = {name: len(found.get(name, [])) for name, (count, _) in LOOKED_INTO.items()}
    assert fewer == {name: count for name, (count, _) in LOOKED_INTO.items()}, "take out what is needed no more"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("store._kept\n", ["_kept"]),
        ("made().other._kept = 1\n", ["_kept"]),
        ("monkeypatch.setattr(intake, '_EVERY', 0.1)\n", ["_EVERY"]),
        ("class Fake:\n    def _ask(self):\n        super()._ask()\n        self._told\n\nFake()._ask()\n", []),
        ("key._replace(n=1).__dict__\n", []),
    ],
)
def test_a_test_that_looks_inside_is_seen(tmp_path: Path, text: str, seen: list[str]) -> None:
    planted = tmp_path / "tests" / "unit" / "test_planted.py"
    planted.parent.mkdir(parents=True)
    planted.write_text(text)
    assert looks_inside(tmp_path) == ({"tests/unit/test_planted.py": seen} if seen else {})


def test_files_stay_small() -> None:
    found = lengths(ROOT)
    over = {name: count for name, count in found.items() if count > CEILING}
    assert not over
    library = sorted(count for name, count in found.items() if name.startswith("peos/"))
    assert library[len(library) // 2] <= MEDIAN


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("peos/shuffle/planted.py", "import time\n", "a pure room does no I/O"),
        ("peos/ldp/planted.py", "def f():\n    from os import urandom\n", "a pure room does no I/O"),
        ("peos/crypto/planted.py", "from peos.wire import shuffles\n", "crypto comes before wire"),
        ("peos/crypto/planted.py", "from peos import simulate\n", "crypto comes before simulate"),
        ("peos/net/planted.py", "from peos.store import base\n", "net comes before store"),
        ("peos/store/planted.py", "from peos.net import tls\n", "store does not know net"),
        ("peos/wire/planted.py", "import shuffler.service\n", "the library does not know the roles"),
        (
            "peos/cli/planted.py",
            "def f():\n    from analyzer.report import page\n",
            "the library does not know the roles",
        ),
        ("peos/net/planted.py", "from peos.v1 import freeze_pb2\n", "only the codec knows the generated code"),
        ("shuffler/planted.py", "import peos.v1.freeze_pb2\n", "only the codec knows the generated code"),
        ("shuffler/planted.py", "from analyzer import keys\n", "roles never import each other"),
        ("peos/simulate.py", "from tests.security import verdict\n", "the library does not know its tests"),
        ("experiments/planted.py", "from analyzer import keys\n", "experiments know the library alone"),
        ("peos/privacy/planted.py", "from experiments import methods\n", "nothing rests on an experiment"),
        ("tests/unit/privacy/planted.py", "import experiments.methods\n", "nothing rests on an experiment"),
    ],
)
def test_a_planted_violation_is_seen(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    planted = tmp_path / name
    planted.parent.mkdir(parents=True)
    planted.write_text(text)
    assert any(complaint in violation for violation in violations(tmp_path))


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        (
            "peos/privacy/planted.py",
            "a = isinstance(m, GRR)\n",
            "asks whether it is GRR: a mechanism answers itself",
        ),
        ("peos/cli/planted.py", "a = isinstance(m, (int, ldp.SUE))\n", "asks whether it is SUE"),
        ("analyzer/planted.py", "match m:\n    case LocalHash():\n        pass\n", "asks whether it is LocalHash"),
        ("analyzer/planted.py", "a = type(m) is GRR\n", "asks whether it is GRR"),
        ("peos/privacy/planted.py", "a = kind == 'solh'\n", "names 'solh': the registry knows every mechanism"),
        ("peos/cli/planted.py", "a = 'auto|grr|solh'\n", "names 'auto|grr|solh'"),
        ("peos/compute/planted.py", "a = COSTS['jl']\n", "names 'jl': the registry knows every scheme"),
        ("peos/shuffle/planted.py", "a = isinstance(key, PaillierPublicKey)\n", "asks whether it is PaillierPublicKey"),
    ],
)
def test_a_planted_concrete_mechanism_or_scheme_is_seen(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    planted = tmp_path / name
    planted.parent.mkdir(parents=True)
    planted.write_text(text)
    assert any(complaint in found for found in concrete(tmp_path))


def test_a_file_that_has_grown_too_long_is_seen(tmp_path: Path) -> None:
    planted = tmp_path / "peos" / "ldp" / "planted.py"
    planted.parent.mkdir(parents=True)
    planted.write_text("pass\n" * (CEILING + 1))
    assert max(lengths(tmp_path).values()) > CEILING


def test_every_room_is_in_the_wheel() -> None:
    named = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    rooms = (path.parent.relative_to(ROOT) for top in ("peos", *ROLES) for path in (ROOT / top).rglob("__init__.py"))
    assert sorted(named) == sorted(".".join(one.parts) for one in rooms)
