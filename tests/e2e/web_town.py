"""A town whose shufflers have a port for browsers, and a server for the example page."""

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from peos.crypto.randomness import system
from peos.localcluster import AUTHORITY, HOST, LocalCluster
from peos.net.web_certificates import web_certificates
from tests.e2e.browser import Browser, browser
from tests.e2e.town import EPSILON, Town, here
from tests.needs import WEB
from tests.proxies import Proxy
from tests.recorder import Recorder
from tests.web_certificates import certificate

DIST: Final = WEB / "dist"
TYPES: Final = {".js": "text/javascript", ".html": "text/html", ".css": "text/css", ".json": "application/json"}
OPTIONS: Final = {"mostEpsLocal": 2 * EPSILON, "leastReports": 1, "budget": 2 * EPSILON}


def built() -> None:
    """The package's dist/, made by its own command."""
    subprocess.run(["node", "build.mjs"], cwd=WEB, check=True, capture_output=True)  # noqa: S607


@dataclass
class Pages:
    """The example page at http://localhost:PORT/NAME/, and other shufflers' addresses that tests make up."""

    files: dict[str, bytes] = field(default_factory=dict)
    port: int = 0

    @property
    def origin(self) -> str:
        """Its address; a browser treats it like one with TLS."""
        return f"http://localhost:{self.port}"

    def find(self, path: str) -> bytes | None:
        """A file that a test put there, or one of dist/."""
        if path in self.files:
            return self.files[path]
        name = path.rpartition("/")[2] or "index.html"
        file = DIST / name if path.count("/") == 1 and path != "/" else DIST / "example" / name
        return file.read_bytes() if file.is_file() else None

    @contextmanager
    def served(self) -> Iterator[None]:
        """While it answers."""
        pages = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                found = pages.find(self.path)
                self.send_response(404 if found is None else 200)
                kind = ".html" if self.path.endswith("/") else Path(self.path).suffix
                self.send_header("content-type", TYPES.get(kind, "application/octet-stream"))
                self.send_header("content-length", str(len(found or b"")))
                self.end_headers()
                self.wfile.write(found or b"")

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer((HOST, 0), Handler)
        server.daemon_threads = True
        self.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


@dataclass
class WebTown:
    """Everything that runs."""

    town: Town
    pages: Pages
    browser: Browser
    addresses: dict[str, str]  # of the shufflers' ports for browsers, by identity
    recorders: list[Recorder]  # before these ports
    proxy: Proxy  # which the dummies go through

    def publish(self, name: str, **options: object) -> str:
        """Put the example page of a collection on the web; its address. `options` change the client's."""
        config = {"shufflers": self.addresses, "store": name, **OPTIONS, **options}
        self.pages.files[f"/{name}/config.json"] = json.dumps(config).encode()
        self.pages.files[f"/{name}/invitation"] = self.town.invitation(name).read_bytes()
        return f"{self.pages.origin}/{name}/"


@contextmanager
def web_town(folder: Path) -> Iterator[WebTown]:
    """Three shufflers with ports for browsers, an analyzer, the page, and a browser."""
    built()
    pages = Pages()
    with ExitStack() as stack:
        stack.enter_context(pages.served())
        proxy = stack.enter_context(Proxy("http"))
        cluster = stack.enter_context(LocalCluster(folder / "cluster", shufflers=3))
        cluster.init(most_eps_local=48.0, least_reports=1)
        for shuffler in cluster.shufflers:
            with shuffler.config.open("a", encoding="utf-8") as file:
                file.write("\n[limits]\nconnections_per_address = 256\n")  # all users of a test have one address
        cluster.open_web([pages.origin], partial(web_certificates, rng=system()))
        recorders, addresses, known = [], {}, certificate(folder)
        for identity, address in cluster.web_addresses().items():
            port = int(address.rpartition(":")[2])
            recorders.append(stack.enter_context(Recorder(folder, port, cluster.folder / AUTHORITY)))
            addresses[identity] = f"https://{HOST}:{recorders[-1].port}"
        _send_dummies(cluster, addresses, pages, proxy)
        stack.enter_context(_trusting(folder / "web.pem"))
        cluster.start()
        flag = f"--ignore-certificate-errors-spki-list={known}"  # what an import into its profile would do
        opened = stack.enter_context(browser(folder / "profile", flag))
        yield WebTown(Town(cluster, run=here), pages, opened, addresses, recorders, proxy)


@contextmanager
def _trusting(authority: Path) -> Iterator[None]:
    """What is started meanwhile trusts it as it does those that come with the system."""
    os.environ["SSL_CERT_FILE"] = str(authority)
    try:
        yield
    finally:
        del os.environ["SSL_CERT_FILE"]


def _send_dummies(cluster: LocalCluster, web: dict[str, str], pages: Pages, proxy: Proxy) -> None:
    """Half of the dummies go by the ports for browsers."""
    assert cluster.analyzer is not None
    addresses = json.dumps(list(web.values()))
    with cluster.analyzer.config.open("a", encoding="utf-8") as file:
        file.write(f'\n[dummies]\nthrough = ["{proxy.url}"]\nweb = {addresses}\nweb_origin = "{pages.origin}"\n')
