"""What other libraries take for randomising and counting, and how far off they are: run by `benchmarks.peers`.

    python benchmarks/peers_worker.py speeds|errors VALUES.npy EPSILON SECONDS

Runs in an environment that has the other libraries, so nothing of this project is imported. Each is used as its own
examples do, report by report, in blocks that fit into memory; what a compiler does at the first call is done before.
"""

import importlib
import importlib.metadata
import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.int64]
Floats = NDArray[np.float64]
Call = Callable[..., Any]
Rest = tuple[Any, ...]
Block = Callable[[Values], Floats]  # randomises and aggregates values; the estimated frequencies

LIBRARIES: Final = ("multi-freq-ldpy", "pure-ldp")
DOMAIN: Final = 1024
_LEAST: Final = 2.0  # seconds of a block, or as many reports as fit into memory
_MOST: Final = 2000  # reports of a block that are vectors of the whole domain
_SHORT: Final = 0.03  # seconds of a block that is there for its error alone, and
SPREAD: Final = 0.0025  # as a part of their mean, the standard error with which there are enough of those


def multi_freq_ldpy(epsilon: float) -> Iterator[tuple[str, bool, Block]]:
    """Of each mechanism: its name, whether a report is a vector, and a block of it."""
    modules: list[Any] = [
        importlib.import_module(f"multi_freq_ldpy.pure_frequency_oracles.{name}")
        for name in ("GRR", "UE", "HE", "LH", "SS")
    ]
    grr, ue, he, lh, ss = modules
    for module in modules:
        # What it publishes is clipped and scaled, and so is biased; this is what it clips.
        module.MI = lambda counts, n, p, q: (np.asarray(counts) - n * q) / (p - q) / n
    k = DOMAIN

    def block(client: Call, rest: Rest, aggregate: Call, given: Rest) -> Block:
        return lambda values: aggregate([client(value, *rest) for value in values.tolist()], *given)

    def summed(reports: list[Floats]) -> Floats:
        he.HE_Aggregator_MI(reports, k, epsilon, use_thresh=False)  # it clips as well, with nothing between
        return np.asarray(sum(reports) / len(reports))

    yield "GRR", False, block(grr.GRR_Client, (k, epsilon), grr.GRR_Aggregator_MI, (k, epsilon))
    for name, best in (("SUE", False), ("OUE", True)):
        yield name, True, block(ue.UE_Client, (k, epsilon, best), ue.UE_Aggregator_MI, (epsilon, best))
    yield "THE", True, block(he.HE_Client, (k, epsilon), he.HE_Aggregator_MI, (k, epsilon))
    yield "SHE", True, block(he.HE_Client, (k, epsilon), summed, ())
    for name, best in (("BLH", False), ("OLH", True)):
        yield name, False, block(lh.LH_Client, (k, epsilon, best), lh.LH_Aggregator_MI, (k, epsilon, best))
    yield "SS", True, block(ss.SS_Client, (k, epsilon), ss.SS_Aggregator_MI, (k, epsilon))


def pure_ldp(epsilon: float) -> Iterator[tuple[str, bool, Block]]:
    """Likewise. Its values begin with 1."""
    home: Any = importlib.import_module("pure_ldp.frequency_oracles")
    k = DOMAIN
    signs = math.ceil(math.log2(math.exp(epsilon) + 1))

    def block(made: Callable[[], tuple[Any, Any]]) -> Block:
        def run(values: Values) -> Floats:
            client, server = made()
            for value in (values + 1).tolist():
                server.aggregate(client.privatise(value))
            found = server.estimate_all(range(1, k + 1), suppress_warnings=True)
            return np.asarray(found, dtype=np.float64) / len(values)

        return run

    def response() -> tuple[Any, Any]:
        server = home.HadamardResponseServer(epsilon, k)
        return home.HadamardResponseClient(epsilon, k, server.get_hash_funcs()), server

    def pair(name: str, *rest: Any, **options: Any) -> Block:
        both = [getattr(home, f"{name}{role}") for role in ("Client", "Server")]
        client_options = {key: value for key, value in options.items() if key != "use_the"}  # for the server alone
        return block(lambda: (both[0](epsilon, k, *rest, **client_options), both[1](epsilon, k, *rest, **options)))

    yield "GRR", False, pair("DE")
    yield "SUE", True, pair("UE")
    yield "OUE", True, pair("UE", use_oue=True)
    yield "THE", True, pair("HE", use_the=True)
    yield "SHE", True, pair("HE")
    yield "BLH", False, pair("LH", use_olh=False)
    yield "OLH", False, pair("LH", use_olh=True)
    yield "HR", False, block(response)
    yield "HM", False, pair("HadamardMech", signs)


def measured(block: Block, values: Values, *, wide: bool, seconds: float) -> dict[str, Any]:
    """Blocks until the time is over: microseconds a report."""
    rng = np.random.default_rng(25)
    block(values[:20])
    size, spent, reports = 100, 0.0, 0
    while spent < seconds:
        held = values[rng.permutation(len(values))[:size]]
        begun = time.process_time()
        block(held)
        took = time.process_time() - begun
        if took < _LEAST and size < (_MOST if wide else len(values)):
            size = min(2 * size, _MOST if wide else len(values))  # not counted: another size
            continue
        spent, reports = spent + took, reports + size
    return {"reports": reports, "microseconds": spent / reports * 1e6}


def erring(block: Block, values: Values, *, seconds: float) -> dict[str, Any]:
    """Blocks until the mean of n times their mean squared errors is known, or the time is over.

    That mean is the same for blocks of any size n, so many short ones tell it in least time.
    """
    rng = np.random.default_rng(26)
    block(values[:20])
    size, spent, errors = 100, 0.0, list[float]()
    while spent < seconds:
        held = values[rng.permutation(len(values))[:size]]
        truth = np.bincount(held, minlength=DOMAIN) / size
        begun = time.process_time()
        found = block(held)
        took = time.process_time() - begun
        spent += took
        if not errors and took < _SHORT and size < _MOST:
            size = min(2 * size, _MOST)
            continue
        errors.append(size * float(np.mean(np.square(found - truth))))
        if len(errors) >= 100 and np.std(errors, ddof=1) / math.sqrt(len(errors)) <= SPREAD * np.mean(errors):
            break
    return {"errors": errors}


def main() -> None:
    """See the module."""
    warnings.simplefilter("ignore")
    what, values, epsilon, seconds = sys.argv[1], np.load(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
    rows = []
    for library, of in zip(LIBRARIES, (multi_freq_ldpy, pure_ldp), strict=True):
        for name, wide, block in of(epsilon):
            row: dict[str, Any] = {"library": library, "mechanism": name}
            if what == "errors":
                row |= erring(block, values, seconds=seconds)
                told = f"n·MSE {sum(row['errors']) / len(row['errors']):.4g} of {len(row['errors'])} blocks"
            else:
                row |= measured(block, values, wide=wide, seconds=seconds)
                told = f"{row['microseconds']:.4g} µs a report"
            print(f"{library} {name}: {told}", file=sys.stderr, flush=True)
            rows.append(row)
    versions = {name: importlib.metadata.version(name) for name in (*LIBRARIES, "numpy", "xxhash", "numba")}
    json.dump({"versions": versions, "rows": rows}, sys.stdout)


if __name__ == "__main__":
    main()
