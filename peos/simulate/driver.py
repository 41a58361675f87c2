"""What a machine asks for, done in memory: its messages join the queue of the simulation, its vectors are arrays."""

from typing import TYPE_CHECKING

from peos.crypto.kdf import Context
from peos.shuffle.delivery_state import DeliveryState
from peos.shuffle.driver import Driver
from peos.shuffle.effects import Done, Handle, Pass, Peel, Task
from peos.shuffle.messages import Header, Kind, Notice, SignedNotice, Statement, Step
from peos.simulate.node import ANALYZER, Node, Rpc
from peos.wire import shuffles

if TYPE_CHECKING:
    from peos.simulate.simulation import Simulation


class InMemory(Driver[None]):
    """One node's effects."""

    def __init__(self, simulation: "Simulation", node: Node) -> None:
        self._simulation = simulation
        self._node = node

    def on_send(self, statement: Statement) -> None:
        """Encode it, and put it on its way."""
        self._simulation.post(
            self._node.number, statement.header.receiver, Rpc.WORD, [shuffles.encode_statement(statement)]
        )

    def on_send_vector(self, header: Header, vector: Handle) -> None:
        """The same, chunk by chunk."""
        self._simulation.post_vector(self._node, header, self._node.bench.vectors[vector])

    def on_tell(self, notice: Notice, receivers: tuple[int, ...]) -> None:
        """Sign it first."""
        node = self._node
        signed = SignedNotice.sign(node.identity, node.context, notice)
        for receiver in receivers:
            self._simulation.post(node.number, receiver, Rpc.NOTICE, [shuffles.encode_notice(signed)])

    def on_persist(self, delivery_state: DeliveryState, vector: Handle | None) -> None:
        """Nothing is lost here; the node remembers both."""
        self._node.delivery_state = delivery_state
        if vector:
            self._node.durable = self._node.bench.vectors[vector]

    def on_work(self, task: Task) -> None:
        """At once; the machine hears of it in its turn."""
        node = self._node
        node.passes += isinstance(task, Pass | Peel)
        self._simulation.queue.append(
            (node, Done(node.machine.delivery_state.attempt, task.task, node.bench.work(task)))
        )

    def on_output(self, delivery_state: DeliveryState) -> None:
        """The stored vector goes to the analyzer."""
        node = self._node
        assert node.durable is not None, "what is sent was stored"
        context = Context(node.context.collection, node.context.frozen, delivery_state.attempt)
        header = Header(context, Step(len(node.document.schedule.rounds), Kind.DELIVERY), node.number, ANALYZER)
        self._simulation.post_vector(node, header, node.durable, transcript=delivery_state.transcript)

    def on_discard(self, attempt: int) -> None:
        """Its vectors go."""
        self._node.bench.discard(attempt)

    def on_erase(self) -> None:
        """All goes."""
        self._node.erase()

    def on_report(self, sentence: str) -> None:
        """Kept for the test that asks."""
        self._node.reports.append(sentence)
