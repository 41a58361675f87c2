"""`python -m user_client` is `peos client`."""

import sys

from user_client.cli import main

sys.exit(main())
