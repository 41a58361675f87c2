"""Certificates that a browser of this machine accepts once it trusts their authority, and what else that could do."""

import socket
import ssl
import threading
from contextlib import suppress
from ipaddress import ip_network
from pathlib import Path

import pytest
from cryptography import x509
from curl_cffi import Curl, CurlInfo, CurlOpt

from peos.crypto.randomness import system
from peos.net.web_certificates import web_certificates


def shaken(folder: Path, trusted: bytes, name: str) -> None:
    """A handshake with a port of this machine by a caller who trusts an authority, strictly; SSLError if it fails."""
    here = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    here.load_cert_chain(folder / "web.pem", folder / "web.key")
    caller = ssl.create_default_context(cadata=trusted.decode())
    caller.verify_flags |= ssl.VERIFY_X509_STRICT
    ours, theirs = socket.socketpair()

    def answer() -> None:
        with suppress(OSError), theirs, here.wrap_socket(theirs, server_side=True):
            pass

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        with ours, caller.wrap_socket(ours, server_hostname=name):
            pass
    finally:
        thread.join()


def test_each_port_is_reached_by_who_trusts_the_authority_and_under_no_other_name(tmp_path: Path) -> None:
    authority, made = web_certificates(["north", "south"], system())
    assert made[0].key != made[1].key
    for certificate in made:
        (tmp_path / "web.pem").write_bytes(certificate.pem)
        (tmp_path / "web.key").write_bytes(certificate.key)
        shaken(tmp_path, authority, "localhost")
    other, _ = web_certificates(["east"], system())
    for trusted, name in ((authority, "bank.example"), (authority, "127.0.0.1"), (other, "localhost")):
        with pytest.raises(ssl.SSLError):
            shaken(tmp_path, trusted, name)


def test_a_browsers_tls_library_accepts_it_too(tmp_path: Path) -> None:
    """Which knows no limits on addresses, and fails where it meets one."""
    authority, (made,) = web_certificates(["north"], system())
    for name, content in (("web.pem", made.pem), ("web.key", made.key), ("authority.pem", authority)):
        (tmp_path / name).write_bytes(content)
    here = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    here.load_cert_chain(tmp_path / "web.pem", tmp_path / "web.key")
    with socket.create_server(("127.0.0.1", 0)) as port:

        def answer() -> None:
            with suppress(OSError), here.wrap_socket(port.accept()[0], server_side=True) as one:
                one.recv(1 << 16)
                one.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"https://localhost:{port.getsockname()[1]}/"
        browser = Curl(cacert=str(tmp_path / "authority.pem"))
        browser.setopt(CurlOpt.URL, address.encode())
        browser.perform()  # or CurlError
        assert browser.getinfo(CurlInfo.RESPONSE_CODE) == 204
        browser.close()
        thread.join()


def test_the_authority_can_sign_for_this_machine_alone() -> None:
    authority, made = web_certificates(["north"], system())
    extensions = x509.load_pem_x509_certificate(authority).extensions
    limits = extensions.get_extension_for_class(x509.NameConstraints)
    assert limits.critical
    assert limits.value.permitted_subtrees == [x509.DNSName("localhost")]
    assert limits.value.excluded_subtrees == [x509.IPAddress(ip_network(every)) for every in ("0.0.0.0/0", "::/0")]
    assert extensions.get_extension_for_class(x509.BasicConstraints).value.path_length == 0
    assert (
        not x509.load_pem_x509_certificates(made[0].pem)[0]
        .extensions.get_extension_for_class(x509.BasicConstraints)
        .value.ca
    )
