"""The workflow, by which a tenant's share is divided."""

from dataclasses import dataclass

from raquo.mutators.header import HeaderMutator

__all__ = ["WorkflowMutator"]


@dataclass(frozen=True, slots=True)
class WorkflowMutator(HeaderMutator):
    """Adds the workflow, from the header `workflow` or from another header or property."""

    header: str = "workflow"
