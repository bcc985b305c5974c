"""Up to where everything is confirmed, for what is written with plain pika here."""

from typing import Any


class Confirms:
    """Counts publishes 1, 2, 3 … as confirmed; a refusal is an error."""

    def __init__(self) -> None:
        self.up_to = 0
        self._early: set[int] = set()  # confirmed before an earlier one

    def note(self, frame: Any) -> None:
        """Take one ack, for one publish or for all up to it."""
        method = frame.method
        if method.NAME != "Basic.Ack":
            raise RuntimeError("the broker refused a message")
        if not method.multiple:
            self._early.add(method.delivery_tag)
        elif method.delivery_tag > self.up_to:
            self.up_to = method.delivery_tag
            self._early = {number for number in self._early if number > self.up_to}
        while self.up_to + 1 in self._early:
            self.up_to += 1
            self._early.remove(self.up_to)
