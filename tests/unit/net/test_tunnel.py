"""Tunnels through real proxies: what goes in comes out at the address, and what fails is said."""

import socket
import threading
from contextlib import suppress

import pytest

from peos.errors import RemoteFault
from peos.net.tunnel import Proxy, Tunnel
from tests import proxies
from tests.raising import raises


def _echo() -> tuple[socket.socket, list[str]]:
    """A server that says everything again, and from where it was reached."""
    listener, seen = socket.create_server(("127.0.0.1", 0)), list[str]()

    def serve() -> None:
        with suppress(OSError):
            while True:
                link, (host, _) = listener.accept()
                seen.append(host)
                with link, suppress(OSError):  # of one connection
                    while block := link.recv(4096):
                        link.sendall(block)

    threading.Thread(target=serve, daemon=True).start()
    return listener, seen


@pytest.mark.parametrize("kind", ["socks5", "http"])
def test_what_is_sent_comes_out_at_the_address_from_the_proxys_own(kind: str) -> None:
    listener, seen = _echo()
    target = f"127.0.0.1:{listener.getsockname()[1]}"
    with listener, proxies.Proxy(kind) as proxy, Tunnel(Proxy.parse(proxy.url), target) as tunnel:
        for _ in range(2):
            host, _, port = tunnel.address.rpartition(":")
            with socket.create_connection((host, int(port))) as link:
                sent = bytes(range(256)) * 400
                threading.Thread(target=link.sendall, args=(sent,)).start()
                assert link.recv(len(sent), socket.MSG_WAITALL) == sent
    assert seen == ["127.0.0.9", "127.0.0.9"]
    assert proxy.asked == [(host, int(target.rpartition(":")[2]))] * 2


@pytest.mark.parametrize("kind", ["socks5", "http"])
def test_a_proxy_that_does_not_connect_is_named(kind: str) -> None:
    with proxies.Proxy(kind, refuse=True) as proxy:
        asked = Proxy.parse(proxy.url)
        with raises("proxy.target", "shuffler.example:7001") as caught:
            asked.connect("shuffler.example", 7001)
        assert str(asked) in str(caught.value)
        with Tunnel(asked, "shuffler.example:7001") as tunnel:
            host, _, port = tunnel.address.rpartition(":")
            with socket.create_connection((host, int(port))) as link:
                assert link.recv(1) == b"", "the connection is closed, not left hanging"
            assert "does not connect" in tunnel.trouble


def test_a_proxy_that_is_not_there_and_one_that_speaks_something_else_are_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with raises("proxy.unreachable"):
        Proxy.parse(f"socks5://127.0.0.1:{port}").connect("a.example", 1)
    listener, _ = _echo()
    with listener:
        for kind in ("socks5", "http"):
            proxy = Proxy.parse(f"{kind}://127.0.0.1:{listener.getsockname()[1]}")
            with pytest.raises(RemoteFault) as found:
                proxy.connect("a.example", 1)
            assert found.value.id in {"proxy.login", "proxy.protocol", "proxy.target", "proxy.closed"}


@pytest.mark.parametrize("text", ["", "127.0.0.1:9050", "socks4://a:1", "socks5://a", "http://a:0", "http://a:70000"])
def test_what_is_no_proxy_is_refused(text: str) -> None:
    with raises("config.proxy"):
        Proxy.parse(text)


def test_no_thread_and_no_port_outlive_a_tunnel() -> None:
    listener, _ = _echo()
    with listener, proxies.Proxy("socks5") as proxy:
        before = threading.active_count()
        with Tunnel(Proxy.parse(proxy.url), f"127.0.0.1:{listener.getsockname()[1]}") as tunnel:
            host, _, port = tunnel.address.rpartition(":")
            link = socket.create_connection((host, int(port)))
            link.sendall(b"x")
            assert link.recv(1) == b"x"
        link.close()
        assert not [one for one in threading.enumerate() if one.name == "tunnel"]
        assert threading.active_count() <= before + 3  # the proxy's own
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((host, int(port)))
