"""What the documents say of the code holds: sections that it cites, tests that they name, diagrams, commands."""

import ast
import io
import json
import re
import runpy
import shlex
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peos.cli import main
from peos.collection.lifecycle import TABLES, diagram
from peos.errors import PeosError
from peos.ldp import GRR
from peos.localrun import zipf_values
from peos.privacy import plan
from peos.simulate import run_collection
from tests.keys import small_key
from tests.sources import nodes

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = [
    path
    for top in ("peos", "tests", "benchmarks", "experiments", "proto")
    for path in sorted((ROOT / top).rglob("*"))
    if path.suffix in {".py", ".proto"} and not path.name.endswith("_pb2.py")
]
GENERATED = {"attacks.md", "errors.md", "performance.md", "reproduction.md"}
WIDTH = 100
VAGUE = re.compile(r"\b(whoever|nobody|somebody|beside|told)\b", re.IGNORECASE)
NO_PROSE = re.compile(r"`[^`]*`|\{[^{}]*\}|\]\([^)]*\)|told (?:apart|from)")  # code, links; to tell two things apart
AN_ANSWER = (
    "nobody    ",
    "│ nobody │",
    "yes nobody",
    "--label nobody",
    'labels = ["nobody"',
    'labels=("nobody"',
)  # of an example's question
CITATION = re.compile(r"(?<![\w-])([a-z-]+\.md)(?: §(\d+)(?:\.(\d+))?)?")


def sections(page: Path) -> set[str]:
    """The numbers of a page's sections and of their parts, and of the points of numbered lists as section.point."""
    found, section = set(), ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"## (\d+)\. ", line):
            section = heading[1]
            found.add(section)
        elif part := re.match(r"### (\d+\.\d+) ", line):
            found.add(part[1])
        elif (point := re.match(r"(\d+)\. ", line)) and section:
            found.add(f"{section}.{point[1]}")
    return found


def test_every_section_that_is_cited_exists() -> None:
    missing = []
    for source in [*SOURCES, *PAGES]:
        for name, section, point in CITATION.findall(source.read_text(encoding="utf-8")):
            page = next((page for page in PAGES if page.name == name), None)
            wanted = f"{section}.{point}" if point else section
            if page is None and not (ROOT / name.upper().replace(".MD", ".md")).exists():
                missing.append(f"{source.relative_to(ROOT)}: {name}")
            elif page is not None and wanted and wanted not in sections(page):
                missing.append(f"{source.relative_to(ROOT)}: {name} §{wanted}")
    assert not missing


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """What is read in a file, by line: a document's text; strings and comments of code, unless they are one word."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from enumerate(text.splitlines(), start=1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT) and not token.string.strip("\"'").isidentifier():
            yield from enumerate(token.string.splitlines(), start=token.start[0])


def vague(root: Path) -> list[str]:
    """Where a vague word stands in place of a role's noun or a plain verb."""
    code = (path for top in ("peos", "shuffler", "analyzer", "user_client") for path in (root / top).rglob("*.py"))
    more = (path for top in ("benchmarks", "experiments") for path in (root / top).rglob("*.py"))
    pages = (*root.glob("*.md"), *(root / "docs").rglob("*.md"))
    found = []
    for path in sorted((*code, *more, *pages)):
        for number, line in prose(path):
            if not any(kept in line for kept in AN_ANSWER) and (word := VAGUE.search(NO_PROSE.sub("", line))):
                found.append(f"{path.relative_to(root)}:{number} {word[0]}: {line.strip()}")
    return found


def printed(root: Path) -> set[str]:
    """What programs may print, pieces of it: all strings of the code that are no docstrings, cut where values stand."""
    found = set()
    for top in ("peos", "shuffler", "analyzer", "user_client"):
        for path in (root / top).rglob("*.py"):
            docs = {id(one.value) for one in nodes(path) if isinstance(one, ast.Expr)}
            strings = (one for one in nodes(path) if isinstance(one, ast.Constant) and id(one) not in docs)
            found |= {one.value for one in strings if isinstance(one.value, str)}
    return found


def pieces(sentence: str) -> list[str]:
    """A printed sentence of a page, cut where values stand, and where a status joins what is awaited and from whom."""
    return [piece for piece in re.split(r"…|^waiting for | from |: |; ", sentence) if len(piece.strip(" ().,")) > 3]


def test_what_operators_see_is_what_is_printed() -> None:
    known, page = printed(ROOT), (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    rows = page.partition("| you see |")[2].partition("\n\n")[0].splitlines()[2:]
    assert len(rows) > 20
    for row in rows:
        quoted = re.findall(r"`([^`]+)`", row.split("|")[1])
        assert quoted, f"what is printed is quoted: {row}"
        for piece in (piece for sentence in quoted for piece in pieces(sentence)):
            assert any(piece.strip() in one for one in known), f"no program prints {piece!r}: {row}"


def test_role_nouns_stand_where_whoever_or_nobody_would() -> None:
    assert vague(ROOT) == []


def test_a_planted_vague_word_is_seen(tmp_path: Path) -> None:
    (tmp_path / "peos").mkdir()
    (tmp_path / "peos" / "planted.py").write_text(
        'told = 3  # for whoever asks\n"""Is `told` that.\n\nNobody else."""\n'
    )
    (tmp_path / "README.md").write_text(
        "Two keys cannot be told apart.\nIt lies beside [it](https://beside.example).\n"
    )
    assert [one.partition(" ")[0] for one in vague(tmp_path)] == [
        "README.md:2",
        "peos/planted.py:1",
        "peos/planted.py:4",
    ]


def test_documents_written_by_hand_wrap_at_100() -> None:
    roots = [ROOT / f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY")]
    written = [page for page in (*PAGES, *roots) if page.name not in GENERATED]
    assert len(written) > 30
    # Tables apart, what programs print, and what cannot be broken: one word alone on its line.
    wide = [
        f"{page.relative_to(ROOT)}:{number}"
        for page in written
        for number, line in by_hand(page)
        if len(line) > WIDTH and not line.strip().startswith("|") and " " in line.strip()
    ]
    assert not wide


def by_hand(page: Path) -> Iterator[tuple[int, str]]:
    """A document's lines without those that a program printed."""
    is_printed = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            is_printed = line in ("```console", "```text")
        elif not is_printed:
            yield number, line


def defined(path: Path) -> set[str]:
    """The functions and classes of a file, methods as Class.method."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
            inner = node.body if isinstance(node, ast.ClassDef) else []
            found |= {
                f"{node.name}.{one.name}" for one in inner if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
            }
    return found


def test_every_function_that_the_walk_through_the_code_passes_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)::([\w.]+)`", (ROOT / "docs/walkthrough.md").read_text(encoding="utf-8"))
    assert len(named) > 30
    missing = [f"{path}::{name}" for path, name in named if name not in defined(ROOT / path)]
    assert not missing


def test_every_test_that_is_named_exists() -> None:
    missing = []
    for page in PAGES:
        for path, test in re.findall(r"`(tests/[\w/]+(?:\.py)?)(?:::(\w+))?`", page.read_text(encoding="utf-8")):
            target = ROOT / path
            if not target.exists() or (test and f"def {test}(" not in target.read_text(encoding="utf-8")):
                missing.append(f"{page.relative_to(ROOT)}: {path} {test}")
    assert not missing


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def test_every_link_between_pages_leads_somewhere() -> None:
    missing = []
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]:
        for link, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8")):
            target = page.parent / link if link else page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                missing.append(f"{page.relative_to(ROOT)}: {link}#{anchor}")
    assert not missing


def test_a_page_of_the_site_that_would_load_something_from_elsewhere_is_seen() -> None:
    given = runpy.run_path(str(ROOT / "docs" / "conf.py"))
    elsewhere = given["elsewhere"]
    own = '<link rel="stylesheet" href="_static/a.css"><img src="a.png"><a href="https://example.org">far</a>'
    assert elsewhere(own) == []
    assert elsewhere('<script defer src="https://cdn.example/a.js"></script>') == ["https://cdn.example/a.js"]
    assert elsewhere("@import '//fonts.example/a.css'; b { background: url(HTTPS://x.example/y) }") == [
        "//fonts.example/a.css",
        "HTTPS://x.example/y",
    ]


def test_every_page_is_on_the_site() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").splitlines()
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"}
    assert pages <= set(index), "a page that the index does not list"


def test_the_glossary_is_sorted_and_has_each_term_once() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = [line.strip("|").split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]
    terms = [row[0].strip() for row in rows]
    assert len(terms) > 80
    assert all(len(row) == 4 and all(cell.strip() for cell in row) for row in rows)
    assert terms == sorted(set(terms), key=str.casefold)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs/walkthrough.md"])
def test_the_glossary_is_linked(name: str) -> None:
    assert re.search(r"\]\((docs/)?glossary\.md\)", (ROOT / name).read_text(encoding="utf-8"))


def test_every_extra_has_its_row_and_every_classifier_of_a_python_its_trial() -> None:
    page = (ROOT / "docs" / "packaging.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert set(project["optional-dependencies"]) <= set(rows)
    named = [one.rpartition(" ")[2] for one in project["classifiers"] if one.startswith("Programming Language")]
    assert re.findall(r"3\.\d+", page.partition("It was installed")[2].partition(", where")[0]) == named


@pytest.mark.parametrize("role", TABLES)
def test_the_diagrams_are_the_tables(role: str) -> None:
    page = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    assert f"<!-- {role} -->\n```mermaid\n{diagram(role)}\n```" in page


def blocks(page: str, language: str) -> list[str]:
    """A document's code blocks of one language."""
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def test_the_readmes_demo_is_a_command_and_its_table_what_that_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    (transcript,) = blocks("README.md", "console")
    typed, printed = transcript.replace("\\\n", " ").split("$ peos ")[1].split("\n", 1)
    asked: dict[str, Any] = {}

    def planned(*sizes: int, **more: Any) -> Any:
        asked.update(more, users=sizes[0], domain=sizes[1])
        raise PeosError("demo.failed", "far enough")

    monkeypatch.setattr("peos.localrun.local_spec", planned)
    assert main(shlex.split(typed)) == 1
    assert (asked["question"], asked["scheme"]) == ("Who lives with you?", "jl")
    targets = {name: asked[name] for name in ("delta", "eps_server", "eps_users", "eps_local")}
    best = plan(asked["users"], asked["domain"], **targets)
    title, _, head, _, *rows, _ = printed.splitlines()
    assert title.strip() == f"{asked['users']:,} users, {best.fakes:,} fakes, {best.mechanism}"
    assert re.findall(r"[\w%][\w% ]*\w", head) == ["value", "estimate", "95 % interval", "truth", "found"]
    given = np.bincount(zipf_values(asked["users"], asked["domain"], seed=1)) / asked["users"]
    cells = [[cell.strip() for cell in row.strip("│").split("│")] for row in rows]
    assert [row[0] for row in cells] == asked["labels"]
    for (_, estimate, interval, truth, found), share in zip(cells, given, strict=True):
        low, high = map(float, interval.split(" … "))
        assert 0 < low < float(estimate) < high < 1
        assert truth == f"{share:.4f}"
        assert abs(float(estimate) - share) < 5 * best.stderr
        assert found == "yes"


def test_the_readmes_figures_are_measured_or_planned() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    performance = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    measured = page.split("## Measured\n\n")[1].split("\n\n")[0].splitlines()[2:]
    assert len(measured) == 4
    for row in measured:
        _, figures, benchmark = (cell.strip() for cell in row.strip("|").rsplit("|", 2))
        assert benchmark.startswith("`peos bench ")
        for figure in re.findall(r"[\d.,]*\d(?: (?:minutes|GB|MB|ms|a second))?", figures):
            assert figure in performance, f"{figure} of {row}"
    said = re.search(
        r"± ([\d.]+) percentage\s+points among 1,000 users, ± ([\d.]+) among 10,000 and\s+± ([\d.]+)", page
    )
    assert said is not None
    for users, shown in zip((1000, 10_000, 1_000_000), said.groups(), strict=True):
        found = plan(users, 16, 1e-6, eps_server=0.5, eps_users=1, eps_local=4).halfwidth95
        assert float(shown) == pytest.approx(100 * found, rel=0.05)


def test_the_tutorials_plan_answers_as_printed() -> None:
    transcript = next(block for block in blocks("docs/tutorial.md", "console") if "peos plan" in block)
    command, printed = transcript.removeprefix("$ ").split("\n", 1)
    arguments = command.split()[1:]
    ran = subprocess.run(  # noqa: S603  # the tutorial's own command
        [sys.executable, "-m", "peos.cli", *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={"COLUMNS": "100"},
    )
    assert [line.rstrip() for line in ran.stdout.splitlines()] == [line.rstrip() for line in printed.splitlines()]
    asked = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "peos.cli", *arguments, "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(asked.stdout)["mechanism"] == "grr"


def test_a_mechanism_in_python_prints_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    (example,), (shown,) = blocks("docs/mechanisms.md", "python"), blocks("docs/mechanisms.md", "text")
    exec(example, {})  # noqa: S102 - the page's own
    assert capsys.readouterr().out.split() == shown.split()


def test_the_tutorials_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks("docs/tutorial.md", "python")
    # As printed but for the key: a small one, made once, in place of a fresh one of 3072 bits.
    exec(  # noqa: S102  # the tutorial's own example
        example.replace("fakes=2000", "fakes=2000, key=KEY"), {"KEY": small_key()}
    )
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_the_call_that_scripts_rely_on_is_there() -> None:
    result = run_collection([0, 1, 1], mechanism=GRR(4, 3.0), shufflers=3, scheme="paillier", fakes=10, key=small_key())
    assert result.estimate.frequency.shape == (4,)
