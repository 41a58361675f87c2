"""A mistake as programs make them: it is raised elsewhere, with what it was given in its text."""

from collections.abc import Mapping


def deep(values: Mapping[str, str]) -> str:
    """Look for what is not there."""
    return values[values["secret"]]
