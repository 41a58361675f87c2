"""What pure-ldp's search for frequent texts takes: run by `benchmarks.pem` in an environment that has it.

    python benchmarks/pem_worker.py TEXTS EPSILON K FIRST STEP

TEXTS has one string of zeros and ones a line, all of one length, of which the first FIRST bits are asked, and then STEP
more each time. Nothing of this project is imported.
"""

import importlib
import importlib.metadata
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any


def main() -> None:
    """See the module."""
    warnings.simplefilter("ignore")
    texts = Path(sys.argv[1]).read_text(encoding="ascii").split()
    epsilon, (k, first, step) = float(sys.argv[2]), map(int, sys.argv[3:6])
    oracles: Any = importlib.import_module("pure_ldp.frequency_oracles")
    client_type: Any = importlib.import_module("pure_ldp.heavy_hitters.prefix_extending.pem_client").PEMClient
    server_type: Any = importlib.import_module("pure_ldp.heavy_hitters.prefix_extending.pem_server").PEMServer
    lengths = (first - step, len(texts[0]), step)  # before the first question, in all, and more with each question
    begun = time.process_time()
    client = client_type(epsilon, *lengths, fo_client=oracles.LHClient(epsilon, 2, use_olh=True))
    server = server_type(epsilon, *lengths, fo_server=oracles.LHServer(epsilon, 2, use_olh=True))
    for text in texts:
        server.aggregate(client.privatise(text))
    found, _ = server.find_heavy_hitters(k=k)
    spent = time.process_time() - begun
    versions = {name: importlib.metadata.version(name) for name in ("pure-ldp", "numpy", "xxhash")}
    json.dump({"seconds": spent, "found": list(found), "versions": versions}, sys.stdout)


if __name__ == "__main__":
    main()
