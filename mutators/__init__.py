"""Names of staging queues, and the mutators that make them from messages. Pure: nothing here does I/O."""

from raquo.mutators.by import By
from raquo.mutators.chain import Chain
from raquo.mutators.errors import BadMessage, BadMutator, BadName, NameTooLong, RaquoError
from raquo.mutators.header import HeaderMutator
from raquo.mutators.json_field import JsonFieldMutator
from raquo.mutators.lane import LaneMutator
from raquo.mutators.message import Message
from raquo.mutators.mutator import QueueNameMutator
from raquo.mutators.named import named
from raquo.mutators.names import StagingName, typed
from raquo.mutators.percent import Percent
from raquo.mutators.service_class import ServiceClassMutator
from raquo.mutators.tenant import TenantMutator
from raquo.mutators.when_target import WhenTarget
from raquo.mutators.workflow import WorkflowMutator

__all__ = [
    "BadMessage",
    "BadMutator",
    "BadName",
    "By",
    "Chain",
    "HeaderMutator",
    "JsonFieldMutator",
    "LaneMutator",
    "Message",
    "NameTooLong",
    "Percent",
    "QueueNameMutator",
    "RaquoError",
    "ServiceClassMutator",
    "StagingName",
    "TenantMutator",
    "WhenTarget",
    "WorkflowMutator",
    "named",
    "typed",
]
