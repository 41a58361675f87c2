"""What one answer costs in the client for browsers, in Node and in Chromium: `python -m tests.e2e.browser_times`

Keys of 3072 bits, a report of one word, three shufflers: two plain shares and a ciphertext, hashes, and a signature.
The check of the analyzer's key is made once a collection. Needs `npm ci` in user_client/web, chromium and chromedriver.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.measuring import Row, machine
from peos.crypto.randomness import system
from peos.crypto.schemes import scheme
from peos.registry import SCHEMES
from tests.e2e.browser import browser
from tests.e2e.web_town import Pages
from tests.needs import WEB

BITS: Final = 3072
FIGURES: Final = WEB / "figures.json"  # docs/browser.md quotes them


def in_node(keys: dict[str, str], times: int) -> Row:
    """In a process of Node."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(keys, file)
        file.flush()
        words = ["node", "--disable-warning=ExperimentalWarning", "bench.mjs", file.name, str(times)]
        ran = subprocess.run(words, cwd=WEB, capture_output=True, check=True)  # noqa: S603 - our own words
    found: Row = json.loads(ran.stdout)
    return found


def in_chromium(keys: dict[str, str], times: int) -> Row:
    """In a page."""
    pages = Pages()
    with tempfile.TemporaryDirectory() as folder, pages.served(), browser(Path(folder)) as opened:
        pages.files["/empty/"] = b"<!doctype html><title>measured</title>"
        opened.visit(f"{pages.origin}/empty/")
        script = "const { measure } = await import('/measure.js'); return await measure(given[0], given[1]);"
        found: Row = opened.run(script, keys, times)
    return found


def main() -> None:
    """Measure, keep and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=30)
    times = parser.parse_args().times
    subprocess.run(["node", "build.mjs"], cwd=WEB, check=True, capture_output=True)  # noqa: S607
    keys = {name: scheme(name).generate(system(), bits=BITS).public.encode().hex() for name in SCHEMES}
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()  # noqa: S607
    found = {
        "machine": machine(),
        "node_version": node,
        "times": times,
        "node": in_node(keys, times),
        "chromium": in_chromium(keys, times),
    }
    FIGURES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"{FIGURES}\n{json.dumps(found, indent=1)}")  # noqa: T201 - a command


if __name__ == "__main__":
    main()
