"""Dispatch of effects: each driver of a machine implements one method for each kind of effect.

A process answers each with a coroutine, a simulation and a recorder at once with nothing. A kind of effect that is new
has to be answered by all of them before anything type-checks.
"""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar, assert_never

from peos.shuffle.delivery_state import DeliveryState
from peos.shuffle.effects import (
    Discard,
    Effect,
    Erase,
    Handle,
    Mix,
    Notify,
    Output,
    Pass,
    Peel,
    Persist,
    Report,
    Send,
    SendVector,
    Split,
    Task,
)
from peos.shuffle.messages import Header, Notice, Statement

R = TypeVar("R")


class Driver(ABC, Generic[R]):
    """Carries effects out, in the order in which the machine asked for them."""

    def carry_out(self, effect: Effect) -> R:
        """Do what a machine asks."""
        match effect:
            case Send(statement):
                return self.on_send(statement)
            case SendVector(header, vector):
                return self.on_send_vector(header, vector)
            case Notify(notice, receivers):
                return self.on_tell(notice, receivers)
            case Persist(delivery_state, vector):
                return self.on_persist(delivery_state, vector)
            case Split() | Mix() | Pass() | Peel():
                return self.on_work(effect)
            case Output(delivery_state):
                return self.on_output(delivery_state)
            case Discard(attempt):
                return self.on_discard(attempt)
            case Erase():
                return self.on_erase()
            case Report(sentence):
                return self.on_report(sentence)
            case _ as never:
                assert_never(never)

    @abstractmethod
    def on_send(self, statement: Statement) -> R:
        """See `Send`."""

    @abstractmethod
    def on_send_vector(self, header: Header, vector: Handle) -> R:
        """See `SendVector`."""

    @abstractmethod
    def on_tell(self, notice: Notice, receivers: tuple[int, ...]) -> R:
        """See `Notify`."""

    @abstractmethod
    def on_persist(self, delivery_state: DeliveryState, vector: Handle | None) -> R:
        """See `Persist`."""

    @abstractmethod
    def on_work(self, task: Task) -> R:
        """Begin a task; its result comes back as `Done`."""

    @abstractmethod
    def on_output(self, delivery_state: DeliveryState) -> R:
        """See `Output`."""

    @abstractmethod
    def on_discard(self, attempt: int) -> R:
        """See `Discard`."""

    @abstractmethod
    def on_erase(self) -> R:
        """See `Erase`."""

    @abstractmethod
    def on_report(self, sentence: str) -> R:
        """See `Report`."""
