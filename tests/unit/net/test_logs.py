"""Logs hold events and whitelisted fields; whatever else is passed, by whatever way, is not written."""

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peos.crypto.identity import Identity
from peos.errors import LocalFault
from peos.net.logs import FIELDS, LISTENING, REDACTED, JsonFormatter, Log, configure

SHARE = bytes(range(100, 124))
DIGEST = bytes(range(32))


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What a logger of its own writes."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("peos-test")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    yield stream
    logger.removeHandler(handler)


def lines(written: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in written.getvalue().splitlines()]


def test_a_line_is_one_json_object_with_collection_and_fields(written: io.StringIO) -> None:
    log = Log("peos-test").bind(party="shuffler 2").of(DIGEST)
    log.info("waiting", step="hand-over 1", done=40_000, total=100_000, seconds=12.5)
    (line,) = lines(written)
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "info",
        "logger": "peos-test",
        "event": "waiting",
        "collection": DIGEST[:8].hex(),
        "party": "shuffler 2",
        "step": "hand-over 1",
        "done": 40_000,
        "total": 100_000,
        "seconds": 12.5,
    }


@pytest.mark.parametrize(
    "secret",
    [
        *(SHARE, bytearray(SHARE), memoryview(SHARE), np.frombuffer(SHARE, np.uint8), [SHARE], {"share": SHARE}),
        *(np.uint64(12345), 2**64 + 12345, Identity(bytes(32)), SHARE.hex(), "-----BEGIN PRIVATE KEY-----"),
        "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IHNlY3JldA==",
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("name", ["reason", "share", "collection"])
def test_values_that_could_be_secret_are_not_written(written: io.StringIO, name: str, secret: object) -> None:
    Log("peos-test").info("taken", **{name: secret})
    text = written.getvalue()
    for trace in (SHARE.hex()[:8], str(SHARE)[:8], "12345", "BEGIN PRIVATE", "c2VjcmV0", "100, 101"):
        assert trace not in text
    (line,) = lines(written)
    if name != "share":
        assert REDACTED in line[name]
    else:
        assert line["dropped"] == ["share"]
        assert "share" not in set(line) - {"dropped"}


def test_fields_that_are_not_listed_are_named_and_not_written(written: io.StringIO) -> None:
    Log("peos-test").info("taken", value="yes", ticket="abc", count=3)
    (line,) = lines(written)
    assert (line["dropped"], line["count"]) == (["ticket", "value"], 3)
    assert "yes" not in written.getvalue()
    assert {"share", "key", "value", "ticket", "seed", "secret", "part"}.isdisjoint(FIELDS)


def test_what_other_libraries_fill_into_their_messages_is_left_out(written: io.StringIO) -> None:
    logging.getLogger("peos-test").warning("sending %s to %d", SHARE, 4711)
    logging.getLogger("peos-test").warning(SHARE)
    first, second = lines(written)
    assert first["event"] == "sending %s to %d"
    assert second["event"] == REDACTED
    assert "4711" not in written.getvalue()


def test_an_exception_shows_its_type_and_place_and_of_ours_the_sentence(written: io.StringIO) -> None:
    log = Log("peos-test")
    for error in (KeyError(SHARE.hex()), LocalFault("test.localfault", "the store failed")):
        try:
            raise error
        except (KeyError, LocalFault) as caught:
            log.error("a call failed", caught)
    theirs, ours = lines(written)
    assert theirs["exception"] == "KeyError"
    assert theirs["where"][-1].startswith("test_logs.py:")
    assert "sentence" not in theirs
    assert (ours["id"], ours["sentence"]) == ("test.localfault", "the store failed")
    assert SHARE.hex() not in written.getvalue()


def test_a_line_stays_one_line(written: io.StringIO) -> None:
    Log("peos-test").info("refused", reason="one\ntwo\r\u2028three" + "x" * 5000)
    assert len(written.getvalue().splitlines()) <= 2  # U+2028 counts as a break to str, not to a reader of lines
    assert written.getvalue().count("\n") == 1
    assert len(written.getvalue()) < 1000


def test_with_a_log_file_the_terminal_says_where_a_process_listens_and_no_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handler = configure(tmp_path / "log")
    try:
        Log("tests.said").info(LISTENING, address="127.0.0.1:7001", port=7001)
        Log("tests.said").info("draining")
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()
    said = capsys.readouterr().err.splitlines()  # among what other tests' objects may say as they are collected
    assert "listening at 127.0.0.1:7001" in said
    assert not any("draining" in line for line in said)
    assert len((tmp_path / "log").read_text().splitlines()) == 2


def test_a_log_file_is_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "party.log"
    root = logging.getLogger()
    level = root.level
    handler = configure(path)
    try:
        Log("peos-other").info("started", count=1)
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        handler.close()
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text())["event"] == "started"
