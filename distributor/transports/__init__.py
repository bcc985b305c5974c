"""The transports that are shipped."""

from raquo.distributor.transports.client import ClientTransport
from raquo.distributor.transports.memory import MemoryQueues, MemoryTransport

__all__ = ["ClientTransport", "MemoryQueues", "MemoryTransport"]
