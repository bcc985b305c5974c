"""Fair sharing of RabbitMQ workers between tenants, with the workers unchanged.

What a producer needs is here. `raquo.mutators` has names and mutators, `raquo.router` decides and publishes, and
`raquo.broker` has everything that speaks to RabbitMQ.
"""

from raquo.mutators import Message, QueueNameMutator, RaquoError, StagingName
from raquo.router import Decision, Publisher, Router

__all__ = ["Decision", "Message", "Publisher", "QueueNameMutator", "RaquoError", "Router", "StagingName"]
