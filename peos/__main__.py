"""`python -m peos` is the command `peos`."""

import sys

from peos.cli import main

sys.exit(main())
