"""Structured logs: JSON lines that hold an event and whitelisted fields, so that no secret gets in by accident.

What is logged is an event, a fixed sentence, and fields by name. A field whose name is not in `FIELDS` is not written,
nor is a value that is not text, a number or a truth value (bytes and arrays never are), nor text that looks like key
material. Records of other libraries keep their template; what they would fill into it is left out.
"""

import datetime
import json
import logging
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from io import TextIOWrapper
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Final

from peos.crypto.kdf import DIGEST_BYTES
from peos.errors import PeosError, WrongInput, in_words

FIELDS: Final = frozenset(
    {"id", "party", "peer", "step", "state", "attempt", "round", "done", "total", "count", "seconds", "bytes", "status"}
    | {"reason", "hint", "method", "port", "address", "generation", "event", "error", "at", "progress"}
)
PREFIX: Final = 8  # bytes of a collection's digest that name it in the log
REDACTED: Final = "(redacted)"
STDOUT: Final = Path("json")  # of --log: lines to standard output, as containers want them
LISTENING: Final = "listening"  # the event of a port that has begun to answer
TEXT_LIMIT: Final = 500
_KEY_MATERIAL: Final = re.compile(r"[0-9A-Fa-f]{32,}|[A-Za-z0-9+/_-]{40,}={0,2}|-----BEGIN")
_DIGEST: Final = re.compile(rf"[0-9a-f]{{{2 * PREFIX}}}(?:[0-9a-f]{{{2 * (DIGEST_BYTES - PREFIX)}}})?")
_EXTRA: Final = "peos_fields"


class Log:
    """A logger whose lines carry the same party and collection: `log.of(digest).info("closed", count=812)`."""

    def __init__(self, name: str = "peos", bound: Mapping[str, object] | None = None) -> None:
        self._logger = logging.getLogger(name)
        self._bound = dict(bound or {})

    def of(self, collection: bytes) -> "Log":
        """The same log, about one collection."""
        return Log(self._logger.name, {**self._bound, "collection": collection[:PREFIX].hex()})

    def bind(self, **fields: object) -> "Log":
        """The same log with further fields on every line."""
        return Log(self._logger.name, {**self._bound, **fields})

    def debug(self, event: str, **fields: object) -> None:
        """What only a developer wants."""
        self._write(logging.DEBUG, event, fields)

    def info(self, event: str, **fields: object) -> None:
        """What happened."""
        self._write(logging.INFO, event, fields)

    def warning(self, event: str, error: BaseException | None = None, **fields: object) -> None:
        """What was refused or has to be tried again."""
        self._write(logging.WARNING, event, fields, error)

    def error(self, event: str, error: BaseException | None = None, **fields: object) -> None:
        """What an operator must look at."""
        self._write(logging.ERROR, event, fields, error)

    def _write(self, level: int, event: str, fields: Mapping[str, object], error: BaseException | None = None) -> None:
        extra = {_EXTRA: {**self._bound, **fields}}
        self._logger.log(level, event, extra=extra, exc_info=error)


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, event, then fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The line; what may not be written is named under `dropped`, or stands as "(redacted)"."""
        moment = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        line: dict[str, object] = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": written(record.msg) if isinstance(record.msg, str) else REDACTED,
        }
        given = getattr(record, _EXTRA, {})
        for name, value in given.items():
            if name == "collection":
                line[name] = _prefix(value)
            elif name in FIELDS:
                line[name] = written(value)
        dropped = sorted(str(name) for name in given if name not in FIELDS and name != "collection")
        if dropped:
            line["dropped"] = dropped
        if record.exc_info and record.exc_info[1] is not None:
            line.update(_exception(record.exc_info[1]))
        return json.dumps(line, ensure_ascii=False)


class _File(WatchedFileHandler):
    """A log in a file, made anew where it was moved away: the next line is the first of the new one.

    On the terminal, which would else stay silent, it says where the process listens.
    """

    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        return open(os.open(self.baseFilename, flags, 0o600), "a", encoding="utf-8")

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line; a party does not end for want of its log."""
        with suppress(OSError):
            super().emit(record)
        if record.msg == LISTENING:
            sys.stderr.write(f"listening at {written(getattr(record, _EXTRA, {}).get('address'))}\n")
            sys.stderr.flush()


def configure(path: Path | None = None, *, level: int = logging.INFO) -> logging.Handler:
    """Send every log line to a file (mode 0600), to standard output for the path `json`, else to standard error.

    Returns the handler, to be closed.
    """
    logging.raiseExceptions = False  # what the library prints of a line that cannot be written has no whitelist
    if path is None or path == STDOUT:
        handler: logging.Handler = logging.StreamHandler(sys.stderr if path is None else sys.stdout)
    else:
        try:
            handler = _File(path)
        except OSError as error:
            raise WrongInput(
                "config.log", f"the log {path} cannot be written: {in_words(error)}", hint="give --log another file"
            ) from None
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level)
    return handler


def written(value: object) -> bool | int | float | str | None:
    """A value as it may be written, to a log or a trace."""
    if value is None or isinstance(value, bool | int | float):
        return value if not isinstance(value, int) or abs(value) < 1 << 63 else REDACTED  # keys are numbers too
    if not isinstance(value, str):
        return REDACTED
    return _KEY_MATERIAL.sub(REDACTED, value[:TEXT_LIMIT])


def _prefix(value: object) -> str:
    """A collection's name in the log: the beginning of its digest, and of nothing else that may have got here."""
    if isinstance(value, bytes) and len(value) == DIGEST_BYTES:
        value = value.hex()
    return value[: 2 * PREFIX] if isinstance(value, str) and _DIGEST.fullmatch(value) else REDACTED


def _exception(error: BaseException) -> dict[str, object]:
    """The type, the place, and our own id and sentence. Strangers' messages quote values: a KeyError shows the key."""
    shown: dict[str, object] = {"exception": type(error).__name__}
    if isinstance(error, PeosError):
        shown["id"] = written(error.id)
        shown["sentence"] = written(str(error))
    trace = error.__traceback__
    places = []
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{Path(code.co_filename).name}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    shown["where"] = places[-5:]
    return shown
