"""A headless Chromium that looks at one page at a time: as a phone or a desk, in light or dark."""

import base64
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, Final

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from tests.needs import WEB

FLAGS: Final = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
)

PATIENCE: Final = 240.0  # seconds for a script
# A browser outlives its driver, and that one the tests. This one notices when they end, in whatever way.
WARDEN: Final = """
import contextlib, os, signal, sys
sys.stdin.read()
with contextlib.suppress(ProcessLookupError):
    os.killpg(int(sys.argv[1]), signal.SIGKILL)
"""


class Browser:
    """What a test asks of it."""

    def __init__(self, chrome: Chrome) -> None:
        self._chrome = chrome
        chrome.execute_cdp_cmd("Network.enable", {})

    def open(self, page: Path, *, width: int, height: int, theme: str) -> None:
        """Load a file, on a screen of this width and with this preference."""
        self.screen(width=width, height=height, theme=theme)
        self._chrome.get("about:blank")
        self.requested(), self.complaints()  # what the browser's own first page asked for is not the page's doing
        self._chrome.get(page.as_uri())

    def screen(self, *, width: int, height: int, theme: str) -> None:
        """From now on it is a screen of this width and with this preference."""
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        wanted = [{"name": "prefers-color-scheme", "value": theme}]
        self._chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wanted})

    def barriers(self) -> list[str]:
        """What axe-core finds that keeps people from the page, by its rules."""
        self._chrome.execute_script((WEB / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
        named = "({id, nodes}) => `${id}: ${nodes.map(one => one.target).join(' ')}`"
        found: list[str] = self.run(f"return (await axe.run()).violations.map({named})")
        return found

    def key(self, name: str) -> None:
        """Press a key, as a person does."""
        for kind in ("rawKeyDown", "keyUp"):
            code = {"Tab": 9, "ArrowLeft": 37, "Enter": 13}[name]
            given = {"type": kind, "key": name, "code": name, "windowsVirtualKeyCode": code}
            self._chrome.execute_cdp_cmd("Input.dispatchKeyEvent", given)

    def visit(self, address: str) -> None:
        """Load a page by its address."""
        self._chrome.get(address)

    def run(self, script: str, *given: object) -> Any:
        """What the body of an asynchronous function comes to, with `given` as its arguments."""
        wrapped = (
            "const done = arguments[arguments.length - 1]; (async (...given) => {" + script + "})"
            "(...[...arguments].slice(0, -1)).then(value => done({value}), error => done({"
            "error: {id: error.id ?? String(error), sentence: error.message ?? ''}}))"
        )
        self._chrome.set_script_timeout(PATIENCE)
        found: dict[str, Any] = self._chrome.execute_async_script(wrapped, *given)
        return found["value"] if "error" not in found else found

    def offline(self, offline: bool) -> None:
        """Take the page's network away, or give it back."""
        how = {"offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self._chrome.execute_cdp_cmd("Network.emulateNetworkConditions", how)

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression, which the test evaluates and not the page."""
        return self._chrome.execute_script(f"return {expression}")

    def requested(self) -> list[str]:
        """Every address that was asked for since this was last called, whether or not it was let through."""
        lines = (json.loads(entry["message"])["message"] for entry in self._log("performance"))
        return [line["params"]["request"]["url"] for line in lines if line["method"] == "Network.requestWillBeSent"]

    def complaints(self) -> list[str]:
        """What the browser itself finds wrong, breaches of the page's policy among it, since this was last called."""
        return [entry["message"] for entry in self._log("browser")]

    def picture(self, file: Path) -> None:
        """The whole page, however long, as a PNG."""
        width, height = self.ask("[document.documentElement.clientWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = {"captureBeyondViewport": True, "clip": clip}
        self._save(file, self._chrome.execute_cdp_cmd("Page.captureScreenshot", shot))

    def print(self, file: Path) -> None:
        """The page on paper, as a PDF."""
        paper = {"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": True}
        self._save(file, self._chrome.execute_cdp_cmd("Page.printToPDF", paper))

    def _log(self, kind: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._chrome.get_log(kind)  # type: ignore[no-untyped-call] # selenium's
        return found

    def _save(self, file: Path, answer: dict[str, str]) -> None:
        file.write_bytes(base64.b64decode(answer["data"]))


@contextmanager
def browser(profile: Path, *flags: str) -> Iterator[Browser]:
    """One browser with an empty profile of its own, closed at the end."""
    options = ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*FLAGS, *flags, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    # The driver's path is given, so that selenium looks for none, here or elsewhere.
    driver = Service(shutil.which("chromedriver"), popen_kw={"process_group": 0})
    chrome = Chrome(options, driver)
    group = str(driver.process.pid)
    with Popen([sys.executable, "-c", WARDEN, group], stdin=PIPE, process_group=0):  # noqa: S603 - the words above
        try:
            yield Browser(chrome)
        finally:
            chrome.quit()
