"""Numbers, durations and sizes as people write them: 1e3, 100,000, 2h, 64 MB. ValueError if it is none."""

import re
from decimal import Decimal, InvalidOperation
from typing import Final

_GROUPED: Final = re.compile(r"[+-]?\d{1,3}(?:([,_ ])\d{3})(?:\1\d{3})*", re.ASCII)
_PLAIN: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_MEASURED: Final = re.compile(r"(.*?)\s*([A-Za-z]+)", re.ASCII)
_SECONDS: Final = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hour", "hours"), 3600),
    **dict.fromkeys(("d", "day", "days"), 86_400),
    **dict.fromkeys(("w", "week", "weeks"), 604_800),
}
_MEGABYTES: Final = {"kb": Decimal("0.001"), "mb": Decimal(1), "gb": Decimal(1000)}


def _decimal(text: str) -> Decimal:
    text = text.strip()
    if _GROUPED.fullmatch(text):
        text = re.sub("[,_ ]", "", text)
    if not _PLAIN.fullmatch(text):
        raise ValueError(text)
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(text) from None


def whole(text: str) -> int:
    """A whole number, also with its thousands set apart, or as 1e6."""
    found = _decimal(text)
    if found != found.to_integral_value():
        raise ValueError(text)
    return int(found)


def real(text: str) -> float:
    """A number."""
    return float(_decimal(text))


def seconds(text: str) -> float:
    """A duration: a number of seconds, or one of s, min, h, d or w."""
    return _measured(text, {unit: Decimal(many) for unit, many in _SECONDS.items()})


def duration(of: float) -> str:
    """Seconds as they may be typed, in the largest unit that they are whole in: 90s, 10min, 2h, 7d."""
    units = (("d", 86_400), ("h", 3600), ("min", 60))
    return next((f"{of / size:g}{unit}" for unit, size in units if of and of % size == 0), f"{of:g}s")


def megabytes(text: str) -> float:
    """A size: a number of megabytes, or one of kB, MB or GB."""
    return _measured(text, _MEGABYTES)


def _measured(text: str, units: dict[str, Decimal]) -> float:
    found = _MEASURED.fullmatch(text.strip())
    if found is None:
        return real(text)
    if found[2].lower() not in units:
        raise ValueError(text)
    return float(_decimal(found[1]) * units[found[2].lower()])
