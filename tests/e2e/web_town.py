"""A town whose shufflers have a port for browsers, and a server for the example page."""

import base64
import datetime
import hashlib
import ipaddress
import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from peos.localcluster import HOST, LocalCluster, Party, free_port
from peos.wire.parties import decode_card
from tests.e2e.browser import Browser, browser
from tests.e2e.town import EPSILON, Town, here
from tests.needs import WEB

DIST: Final = WEB / "dist"
TYPES: Final = {".js": "text/javascript", ".html": "text/html", ".css": "text/css", ".json": "application/json"}
OPTIONS: Final = {"mostEpsLocal": 2 * EPSILON, "leastReports": 1, "budget": 2 * EPSILON}


def built() -> None:
    """The package's dist/, made by its own command."""
    subprocess.run(["node", "build.mjs"], cwd=WEB, check=True, capture_output=True)  # noqa: S607


def certificate(folder: Path) -> str:
    """A certificate for this host as an authority would sign it, in two files; the flag's hash of its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, folder.name)])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]), critical=False)
        .sign(key, SHA256())
    )
    (folder / "web.pem").write_bytes(made.public_bytes(Encoding.PEM))
    (folder / "web.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    spki = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(spki).digest()).decode()


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
                kind = Path(self.path).suffix or (".html" if self.path.endswith("/") else "")
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

    def publish(self, name: str, **options: object) -> str:
        """Put the example page of a collection on the web; its address. `options` change the client's."""
        config = {"shufflers": self.addresses, "store": name, **OPTIONS, **options}
        self.pages.files[f"/{name}/config.json"] = json.dumps(config).encode()
        self.pages.files[f"/{name}/invitation"] = self.town.invitation(name).read_bytes()
        return f"{self.pages.origin}/{name}/"

    def restart(self, shuffler: Party) -> None:
        """Start a shuffler again, and wait for its port for browsers too."""
        self.town.cluster.restart(shuffler)
        shuffler.wait_until_listening([int(self._port(shuffler))])

    def _port(self, shuffler: Party) -> str:
        assert shuffler.card is not None, "it has one"
        return self.addresses[decode_card(shuffler.card.read_bytes()).identity.hex()].rpartition(":")[2]


@contextmanager
def web_town(folder: Path) -> Iterator[WebTown]:
    """Three shufflers with ports for browsers, an analyzer, the page, and a browser."""
    built()
    pages = Pages()
    with pages.served(), LocalCluster(folder / "cluster", shufflers=3) as cluster:
        cluster.init(most_eps_local=48.0, least_reports=1)
        ports = [free_port() for _ in cluster.shufflers]
        prints = [_open(shuffler, port, pages) for shuffler, port in zip(cluster.shufflers, ports, strict=True)]
        cluster.start()
        for shuffler, port in zip(cluster.shufflers, ports, strict=True):
            shuffler.wait_until_listening([port])
        addresses = {
            identity: f"https://{HOST}:{port}" for identity, port in zip(cluster.identities(), ports, strict=True)
        }
        flag = f"--ignore-certificate-errors-spki-list={','.join(prints)}"
        with browser(folder / "profile", flag) as opened:
            yield WebTown(Town(cluster, run=here), pages, opened, addresses)


def _open(shuffler: Party, port: int, pages: Pages) -> str:
    found = certificate(shuffler.folder)
    lines = f'web = "{HOST}:{port}"\nweb_certificate = "web.pem"\nweb_key = "web.key"\n'
    text = shuffler.config.read_text(encoding="utf-8")
    text = text.replace("[listen]\n", f'[listen]\n{lines}web_origins = ["{pages.origin}"]\n')
    limits = "\n[limits]\nconnections_per_address = 256\n"  # all users of a test have one address
    shuffler.config.write_text(text + limits, encoding="utf-8")
    return found
