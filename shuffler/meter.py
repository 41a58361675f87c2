"""Bytes of one collection's messages sent and received by this process, without transport overhead."""


class Meter:
    """Counts since the process started."""

    def __init__(self) -> None:
        self.sent = 0
        self.received = 0

    def count(self, sent: int, received: int) -> None:
        """Add what has passed."""
        self.sent += sent
        self.received += received
