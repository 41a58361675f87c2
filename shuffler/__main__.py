"""`python -m shuffler` is `peos shuffler`."""

import sys

from shuffler.cli import main

sys.exit(main())
