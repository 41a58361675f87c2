"""When a party may change its keys: between collections, since a collection pins those that it was accepted with."""

from collections.abc import Iterable
from datetime import UTC, datetime

from peos.errors import Refused


def require_rotatable(unfinished: int, erased_by: Iterable[int], now: float, *, early: bool) -> None:
    """No collection is under way; and, unless it is `early`, none is kept about which users or parties may still ask.

    `erased_by` are the times of `erase_by` of those that are over: until then proofs and receipts are asked for from
    the identity and the certificates of their documents.
    """
    if unfinished:
        raise Refused(
            "key.rotation_under_way",
            f"{unfinished:,} collections are not over: each ends under the keys that it was accepted with",
            hint="wait for their end, or have them aborted; accept or create no others meanwhile",
        )
    last = max(erased_by, default=0)
    if now < last and not early:
        moment = datetime.fromtimestamp(last, UTC).strftime("%Y-%m-%d %H:%M UTC")
        raise Refused(
            "key.rotation_early",
            f"until {moment} users and other parties may ask about collections that are over",
            hint="wait; with --early their questions are not answered any more",
        )
