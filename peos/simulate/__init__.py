"""A whole collection in memory: users, shufflers and analyzer through the same code and the same encodings.

    result = run_collection(values, mechanism=GRR(64, 4.0), shufflers=3, fakes=100)
    result.estimate.frequency

Every message is encoded by its sender and decoded by its receiver, and counted. `Simulation` holds the parties, so
that a test can look at one of them, or put a deviating one in its place.
"""

from numpy.typing import ArrayLike

from peos.collection.document import PEOS, PROTOCOLS, SEQUENTIAL
from peos.crypto.randomness import Randomness
from peos.crypto.schemes.base import PrivateKey
from peos.errors import WrongInput
from peos.ldp.base import Mechanism
from peos.registry import DEFAULT_SCHEME
from peos.simulate.node import ANALYZER, Node
from peos.simulate.sequential import SequentialNode, SequentialSimulation
from peos.simulate.simulation import Collected, Simulation

__all__ = ["ANALYZER", "Collected", "Node", "SequentialNode", "SequentialSimulation", "Simulation", "run_collection"]


def run_collection(
    values: ArrayLike,
    *,
    mechanism: Mechanism,
    shufflers: int = 3,
    scheme: str = DEFAULT_SCHEME,
    fakes: int = 0,
    delta: float = 1e-6,
    protocol: str = PEOS,
    rng: Randomness | None = None,
    key: PrivateKey | None = None,
) -> Collected:
    """Collect `values` from as many users. `rng` and `key` are for tests: by default all is fresh and of full size.

    The protocol "ss" is the sequential shuffle, which protects less (protocol.md §9); it has onions, and no `scheme`.
    """
    if protocol not in PROTOCOLS:
        raise WrongInput(
            "document.protocol", f"the protocol {protocol!r} is not known", hint=f"known: {', '.join(PROTOCOLS)}"
        )
    kind = SequentialSimulation if protocol == SEQUENTIAL else Simulation
    simulation = kind(mechanism, shufflers=shufflers, scheme=scheme, fakes=fakes, delta=delta, rng=rng, key=key)
    return simulation.run(values)
