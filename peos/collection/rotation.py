"""When a party may change its keys: between collections, since a collection pins those that it was accepted with."""

from collections.abc import Iterable
from datetime import UTC, datetime

from peos.errors import Refused


def asked_until(*, shuffle_by: int, erase_by: int, has_answers: bool) -> int:
    """Until when users and parties may ask about a collection that is over here.

    Proofs and receipts are asked for until `erase_by`. Where there is nothing to be had of them, since it ended before
    that, the others alone may ask, whether it has ended, and theirs ends by `shuffle_by`.
    """
    return erase_by if has_answers else shuffle_by


def require_rotatable(unfinished: int, asked: Iterable[int], now: float, *, reached_until: float, early: bool) -> None:
    """No collection is under way; and, unless it is `early`, none about which users or parties may still ask.

    `asked` are the ends of `asked_until`. They ask by the certificates of the documents, which any rotation replaces;
    `reached_until` is when those expire, after which all questions fail already.
    """
    if unfinished:
        raise Refused(
            "key.rotation_under_way",
            f"{unfinished:,} collections are not over: each ends under the keys that it was accepted with",
            hint="wait for their end, or have them aborted; accept or create no others meanwhile",
        )
    last = max(asked, default=0)
    if now < min(last, reached_until) and not early:
        moment = datetime.fromtimestamp(last, UTC).strftime("%Y-%m-%d %H:%M UTC")
        raise Refused(
            "key.rotation_early",
            f"until {moment} users and other parties may ask about collections that are over, by the certificates of "
            "then, which --keep-identity replaces too",
            hint="wait; with --early their questions are not answered any more",
        )
