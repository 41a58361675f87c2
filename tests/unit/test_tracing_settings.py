"""[tracing] of a configuration: a collector on this machine, or by TLS, or over a network of the operator's own."""

from pathlib import Path

import pytest

from peos.configuration import TRACING, tracing
from peos.settings import read
from tests.raising import raises


def chosen(folder: Path, text: str) -> str | None:
    path = folder / "some.toml"
    path.write_text(text, encoding="utf-8")
    return tracing(read(path, TRACING))


def test_it_is_off_unless_a_collector_is_named(tmp_path: Path) -> None:
    assert chosen(tmp_path, "") is None


@pytest.mark.parametrize(
    "to",
    [
        "http://127.0.0.1:4318",
        "http://localhost:4318",
        "http://[::1]:4318",
        "https://collector.example",
        "https://collector.example:4318/of/north",
    ],
)
def test_a_collector_is_on_this_machine_or_reached_by_tls(tmp_path: Path, to: str) -> None:
    assert chosen(tmp_path, f'[tracing]\nto = "{to}"\n') == to
    assert chosen(tmp_path, f'[tracing]\nto = "{to}/"\n') == to


def test_plain_http_leaves_this_machine_only_if_it_is_asked_for(tmp_path: Path) -> None:
    to = 'to = "http://collector:4318"'
    with raises("config.tracing", "http://collector:4318", str(tmp_path)):
        chosen(tmp_path, f"[tracing]\n{to}\n")
    assert chosen(tmp_path, f"[tracing]\n{to}\nplain_http = true\n") == "http://collector:4318"


@pytest.mark.parametrize(
    "to",
    [
        "127.0.0.1:4318",
        "grpc://127.0.0.1:4317",
        "http://",
        "http://127.0.0.1:70000",
        "http://127.0.0.1:0",
        "http://[::1",
        "",
    ],
)
def test_what_is_no_address_of_a_collector_is_refused(tmp_path: Path, to: str) -> None:
    with raises("config.value", "tracing.to", str(tmp_path)):
        chosen(tmp_path, f'[tracing]\nto = "{to}"\n')


@pytest.mark.parametrize("to", ["user:secret@here.example", "here.example/?token=secret", "here.example/#secret"])
def test_what_a_collector_wants_to_know_of_its_callers_does_not_stand_here(tmp_path: Path, to: str) -> None:
    with raises("config.tracing", str(tmp_path)) as caught:
        chosen(tmp_path, f'[tracing]\nto = "https://{to}"\n')
    assert "secret" not in str(caught.value)
