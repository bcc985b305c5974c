"""The transports that are shipped."""

from raquo.distributor.config import Config
from raquo.distributor.transport import MakeTransport
from raquo.distributor.transports.client import ClientTransport
from raquo.distributor.transports.memory import MemoryQueues, MemoryTransport

__all__ = ["ClientTransport", "MemoryQueues", "MemoryTransport", "client_transports"]


def client_transports(config: Config) -> MakeTransport:
    """Transports that move through this process, each with a connection of its own."""
    urls = config.broker.urls()
    return lambda target: ClientTransport(urls, target)
