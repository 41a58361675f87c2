"""Runs a party's `init` so that its passphrase is stretched in a few thousandths of a second.

python -m tests.quick_keys MODULE init ARGUMENTS...

Each start and each command of a party stretches its passphrase again, a third of a second that tests would spend a
thousand times. A file of keys says its own cost, so that only who makes it must be told.
"""

import runpy
import sys
from typing import Final

from peos.crypto import vault

COST: Final = 10


def main() -> None:
    """As `python -m MODULE init ARGUMENTS...`."""
    vault.COST = COST  # type: ignore[misc]  # final for everybody else
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
