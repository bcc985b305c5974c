"""The movers that are compared, in the order in which they take turns."""

from benchmarks.mover import Mover, MoverApart
from benchmarks.movers.shovel import Shovel, Shovels
from benchmarks.queues import Queues

RAQUO = "raquo mover"
CALLBACK = "pika callbacks"
BLOCKING = "pika get/publish loop"
SHOVEL = "AMQP shovel"
LOCAL_SHOVEL = "local shovel"

_LOCAL_SINCE = (4, 2)


def movers_for(version: str, management_url: str, queues: Queues) -> list[Mover]:
    """Those that this broker has; the local shovel came with RabbitMQ 4.2."""
    shovels = Shovels(management_url)
    movers: list[Mover] = [
        MoverApart(RAQUO, "benchmarks.movers.spliced"),
        MoverApart(CALLBACK, "benchmarks.movers.callback"),
        MoverApart(BLOCKING, "benchmarks.movers.blocking", share=0.02),
        Shovel(SHOVEL, "amqp091", shovels, queues),
    ]
    if tuple(int(part) for part in version.split(".")[:2]) >= _LOCAL_SINCE:
        movers.append(Shovel(LOCAL_SHOVEL, "local", shovels, queues))
    return movers
