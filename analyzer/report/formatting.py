"""Numbers and labels as a reader sees them."""

import math
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

NOT_MEASURED: Final = "not measured"
NOT_RECORDED: Final = "not recorded"
FOUND: Final = {True: "yes", False: "no", None: NOT_RECORDED}
"""Whether a value is found, as tables say it; results from before it was looked at do not have it."""
CERTAIN: Final = "at most 1 in 20 results like this calls any value found that no user gave"
_KILO: Final = 1000.0
_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB", "PB")


def cut(value: str, width: int) -> str:
    """As much as fits in `width` ordinary letters, with an ellipsis for the rest."""
    if sum(map(_width, value)) <= width:
        return value
    room = width - 1.0
    for place, one in enumerate(value):
        room -= _width(one)
        if room < 0:
            return value[:place].rstrip() + "…"
    return value


def _width(one: str) -> float:
    if unicodedata.combining(one):
        return 0.0
    if unicodedata.east_asian_width(one) in "WF":
        return 2.0
    return 1.35 if one.isupper() or one in "mw@%" else 1.0


def whole(value: int | None, *, missing: str = NOT_RECORDED) -> str:
    """A count, with commas."""
    return missing if value is None else f"{value:,}".replace("-", "−")


def places_for(errors: Iterable[float]) -> int:
    """How many digits after the point of a percentage leave two of the smallest standard error."""
    smallest = min((error for error in errors if error > 0), default=0.0)
    if smallest <= 0:
        return 1
    return max(1, math.ceil(-math.log10(100 * smallest)) + 1)


def percentage(share: float, places: int) -> str:
    """A share as a number of per cent, without the sign for it; a rounded nothing has no minus."""
    shown = f"{100 * share:.{places}f}"
    return shown.lstrip("-") if float(shown) == 0 else shown.replace("-", "−")


def size(count: int | None) -> str:
    """Bytes, to three digits."""
    if count is None:
        return NOT_MEASURED
    value, unit = float(count), 0
    while unit + 1 < len(_UNITS) and float(f"{value:.3g}") >= _KILO:
        value, unit = value / _KILO, unit + 1
    if unit == 0:
        return f"{count:,} {_UNITS[0]}"
    return f"{value:#.3g}".rstrip(".") + f" {_UNITS[unit]}"


def seconds(spent: float | None) -> str:
    """Seconds, to a tenth; a hundredth where a tenth would say nothing."""
    if spent is None:
        return NOT_MEASURED
    return f"{spent:,.1f}" if spent >= 1 else f"{spent:.2f}"


def moment(since_1970: int | None) -> str:
    """A moment as a date and a time, UTC."""
    if since_1970 is None:
        return NOT_RECORDED
    then = datetime.fromtimestamp(since_1970, UTC)
    return f"{then.day} {then:%B %Y, %H:%M} UTC"


def capitalised(sentence: str) -> str:
    """A sentence with a capital, and the rest of it as it is."""
    return sentence[:1].upper() + sentence[1:]
