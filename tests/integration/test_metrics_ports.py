"""The processes themselves with `[listen] metrics`: both ports answer for their role, and end with their process."""

import urllib.error
import urllib.request
from pathlib import Path

import pytest

from peos.localcluster import LocalCluster, Party, free_port

pytestmark = pytest.mark.full  # processes


def shown(port: int, path: str) -> str:
    """What the port answers."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
        return str(answer.read().decode())


def with_metrics(party: Party) -> int:
    """Configure a port for them."""
    port, text = free_port(), party.config.read_text()
    party.config.write_text(text.replace("[listen]\n", f'[listen]\nmetrics = "127.0.0.1:{port}"\n'))
    return port


def test_a_shuffler_and_an_analyzer_show_metrics_as_long_as_they_run(tmp_path: Path) -> None:
    with LocalCluster(tmp_path / "cluster") as cluster:
        cluster.init()
        assert cluster.analyzer is not None
        for party, certificates in ((cluster.shufflers[0], {"users", "peers"}), (cluster.analyzer, {"shufflers"})):
            port = with_metrics(party)
            party.start()
            party.wait_until_listening([*cluster.ports[party.name], port])
            assert shown(port, "/healthz") == "ok\n"
            text = shown(port, "/metrics")
            assert f'peos_info{{role="{party.module}"' in text
            for name in certificates:
                assert f'peos_certificate_expiry_timestamp_seconds{{port="{name}"}}' in text
            assert "peos_descriptors_limit 0.0" not in text
            process = party.process
            party.stop()
            assert process is not None
            assert process.returncode == 0
            with pytest.raises(urllib.error.URLError):
                shown(port, "/healthz")
