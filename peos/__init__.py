"""The shuffle model of differential privacy, run by several organisations: the library (see docs/protocol.md)."""

__version__ = "0.1.0"
