"""`python -m peos.cli` is the command `peos`."""

import sys

from peos.cli import main

sys.exit(main())
