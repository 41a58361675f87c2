"""How `make docs` builds these pages as a site: Sphinx, Markdown by MyST, the theme Furo."""

import re
from pathlib import Path
from typing import Any

project = "peos"
author = copyright = "the peos contributors"  # noqa: A001 - the name that Sphinx reads
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "peos"
html_show_sphinx = False
html_copy_source = html_show_sourcelink = False
html_static_path: list[str] = []
exclude_patterns = ["conf.py"]

myst_heading_anchors = 4  # as code hosts make them
myst_enable_extensions = ["attrs_inline"]
suppress_warnings = [
    "myst.header",  # a page may begin below its title
    "misc.highlighting_failure",  # mermaid, and what programs print
]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
default_role = "code"  # our docstrings quote names as Markdown does

_LOADS = re.compile(r"""(?:<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc|<link\b[^>]*\bhref)=["']([^"']+)""")
_IN_STYLES = re.compile(r"""(?:@import\s+|url\()\s*["']?([^"')]+)""")


def elsewhere(text: str) -> list[str]:
    """What a page or a style sheet loads from another host."""
    loaded = [*_LOADS.findall(text), *_IN_STYLES.findall(text)]
    return [target for target in loaded if re.match(r"(?:[a-z]+:)?//", target, re.IGNORECASE)]


def _at_home(app: Any, name: str, source: list[str]) -> None:  # noqa: ARG001 - Sphinx'
    """The README is this site's first page."""
    source[0] = source[0].replace("](../README.md)", "](index.md)")


def _plain(app: Any, what: str, name: str, of: Any, options: Any, lines: list[str]) -> None:  # noqa: ARG001 - Sphinx'
    """Indented lines of our docstrings are code."""
    for at in range(len(lines) - 1, -1, -1):
        is_code = lines[at].startswith("    ")
        if is_code and (at == 0 or not lines[at - 1].strip()):
            lines[at:at] = ["::", ""]


def _check(app: Any, failed: Exception | None) -> None:
    if failed is None:
        for page in Path(app.outdir).rglob("*"):
            if page.suffix in {".html", ".css"} and (found := elsewhere(page.read_text(encoding="utf-8"))):
                raise SystemExit(f"{page} loads {', '.join(found)} from another host")


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _at_home)
    app.connect("autodoc-process-docstring", _plain)
    app.connect("build-finished", _check)
