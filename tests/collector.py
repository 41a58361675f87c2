"""A collector of traces: it takes spans in over OTLP and HTTP, and shows them to the test."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collector(ThreadingHTTPServer):
    """Keeps what comes. While `answers` is not set, callers wait."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[bytes] = []
        self.answers = threading.Event()
        self.answers.set()
        self.redirects_to = ""
        self.shown: list[str] = []  # what callers say of themselves

    @property
    def address(self) -> str:
        """What a configuration names."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def spans(self, trace: int) -> list[tuple[str, Span]]:
        """All of a trace, each with the name of its party."""
        return [(party, span) for party, span in self.all() if int.from_bytes(span.trace_id) == trace]

    def all(self) -> Iterator[tuple[str, Span]]:
        """All that came."""
        for body in tuple(self.bodies):
            for sent in ExportTraceServiceRequest.FromString(body).resource_spans:
                (party,) = (one.value.string_value for one in sent.resource.attributes if one.key == "service.name")
                yield from ((party, span) for scope in sent.scope_spans for span in scope.spans)


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        """Keep it."""
        body = self.rfile.read(int(self.headers["content-length"]))
        assert self.path == "/v1/traces"
        self.server.bodies.append(body)
        self.server.shown.append(self.headers["authorization"] or "")
        self.server.answers.wait()
        self.send_response(307 if self.server.redirects_to else 200)
        if self.server.redirects_to:
            self.send_header("location", f"{self.server.redirects_to}/v1/traces")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *_: Any) -> None:  # noqa: A002 - its name there
        """Say nothing."""


@contextmanager
def collecting() -> Iterator[Collector]:
    """One that answers, until it is closed."""
    with Collector() as collector:
        thread = threading.Thread(target=collector.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield collector
        finally:
            collector.answers.set()
            collector.shutdown()
            thread.join()
