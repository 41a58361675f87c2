"""Where figures are kept, and what every benchmark here measures with."""

import json
from pathlib import Path
from typing import Final

from peos.bench.machine import Row, machine, microseconds, peak_megabytes, seconds

__all__ = ["RESULTS", "Row", "keep", "kept", "machine", "microseconds", "peak_megabytes", "seconds"]

RESULTS: Final = Path(__file__).parent / "results"


def keep(name: str, found: Row) -> Path:
    """Write figures to benchmarks/results; returns the file."""
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def kept(name: str) -> Row | None:
    """Figures as they were kept; nothing where that was never measured."""
    path = RESULTS / f"{name}.json"
    found: Row | None = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    return found
