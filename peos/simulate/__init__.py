"""A whole collection in memory: users, shufflers and analyzer through the same code and the same encodings.

    result = run_collection(values, mechanism=GRR(64, 4.0), shufflers=3, fakes=100)
    result.estimate.frequency

Every message is encoded by its sender and decoded by its receiver, and counted. `Simulation` holds the parties, so
that a test can look at one of them, or put a deviating one in its place.
"""

from numpy.typing import ArrayLike

from peos.crypto.randomness import Randomness
from peos.crypto.schemes.base import PrivateKey
from peos.ldp.base import Mechanism
from peos.protocols import DEFAULT, protocol_named
from peos.simulate.node import ANALYZER, Node
from peos.simulate.simulation import Collected, Simulation
from peos.simulate.study import run_study

__all__ = ["ANALYZER", "Collected", "Node", "Simulation", "run_collection", "run_study"]


def run_collection(
    values: ArrayLike,
    *,
    mechanism: Mechanism,
    shufflers: int = 3,
    scheme: str | None = None,
    fakes: int = 0,
    delta: float = 1e-6,
    protocol: str = DEFAULT.name,
    rng: Randomness | None = None,
    key: PrivateKey | None = None,
) -> Collected:
    """Collect `values` from as many users. `rng` and `key` are for tests: by default all is fresh and of full size.

    `protocol` is one of `peos.protocols`; without a `scheme` its own is taken.
    """
    simulation = Simulation(
        mechanism,
        protocol=protocol_named(protocol),
        shufflers=shufflers,
        scheme=scheme,
        fakes=fakes,
        delta=delta,
        rng=rng,
        key=key,
    )
    return simulation.run(values)
