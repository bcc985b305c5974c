"""Who else moves messages on this broker now: a daemon that answers here, or one that the broker knows of.

A distributor listens to the bell with a queue that the broker removes when its connection is gone, and consumes by a
tag of its own while it moves. So one on another machine, or without HTTP, is found as well; one whose machine has
vanished from the network is seen until its heartbeats are missed, twenty seconds at most.
"""

from raquo.broker.management import ManagementClient
from raquo.broker.observer import Observer
from raquo.broker.run import CONSUMER_TAG
from raquo.distributor.config import Config
from raquo.distributor.daemon_client import DaemonClient
from raquo.distributor.errors import DistributorError


class StillRunning(DistributorError):
    """A distributor runs on this broker."""


def refuse_beside_another(config: Config, what_to_do: str) -> None:
    """Raise `StillRunning`, with what to do instead, where another distributor runs."""
    if who := another(config):
        raise StillRunning(f"{who}: {what_to_do}")


def another(config: Config) -> str | None:
    """Who it is, in words; None: nobody."""
    broker = config.broker
    if DaemonClient(config).serves_this_broker():
        return "a daemon of this broker is running on this machine"
    with Observer(broker.urls(), broker.management_url) as observer:
        if count := observer.listeners():
            return f"{count} running {'distributor listens' if count == 1 else 'distributors listen'} on this broker"
    with ManagementClient.for_broker(broker.urls(), broker.management_url) as management:
        moving = {one.queue for one in management.consumers() if one.tag == CONSUMER_TAG}
    return f"a running distributor moves from {min(moving)!r}" if moving else None
