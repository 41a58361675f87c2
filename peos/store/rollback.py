"""Telling a store that was restored from a backup, and what is lost with it (protocol.md §6.5).

What such a store does not know may have been signed, sent or redrawn after the backup. So whatever was unfinished in
it is lost, open collections too: since the backup they may have gone any distance.
"""

from collections.abc import Callable

from peos.errors import LocalFault
from peos.store import audit
from peos.store.database import Database
from peos.store.private_files import Witness
from peos.store.rules import UNFINISHED


def witness_of(database: Database) -> Witness:
    """What the witness should say of the database as it is."""
    identity, generation = database.row("SELECT identity, generation FROM store")
    return Witness(identity, generation, *audit.last(database))


def settle_witness(
    database: Database, witness: Witness | None, missing: int, *, accept: bool, reseal: Callable[[], None]
) -> int:
    """Compare a store with its witness; refuse one that lags behind or, to `accept` it, give up what was unfinished.

    The same for one where the files of `missing` collections are gone. Returns how many collections were given up;
    `reseal` is called within the change of their rows.
    """
    reason = f"the submissions of {missing} collections are gone" if missing else _reason(database, witness)
    if not reason:
        return 0
    if not accept:
        raise LocalFault(
            "store.older",
            f"{reason}: it was restored from a backup, or is lost",
            hint="restore the newer one, or accept this one with --restored, which abandons its unfinished collections",
        )
    with database.transaction():
        given_up = sum(
            database.run("UPDATE collections SET lost = 1 WHERE lost = 0 AND state = ?", state.value).rowcount
            for state in UNFINISHED
        )
        reseal()
        if witness is not None:
            database.run("UPDATE store SET generation = max(generation, ?)", witness.generation)
    return given_up


def _reason(database: Database, witness: Witness | None) -> str:
    """What is wrong with the store; empty if nothing is."""
    here = witness_of(database)
    if witness is None:
        # A first opening that was cut short has no witness yet, and nothing to lose.
        is_new = here.generation <= 1 and database.row("SELECT 1 FROM collections") is None
        return "" if is_new else "the store has lost its witness"
    if witness.identity != here.identity:
        return "the store is not the one that its witness knows"
    if here.generation < witness.generation:
        return f"the store is at generation {here.generation}, and its witness at {witness.generation}"
    return ""
