"""The tenant, by which workers are shared."""

from dataclasses import dataclass

from raquo.mutators.header import HeaderMutator

__all__ = ["TenantMutator"]


@dataclass(frozen=True, slots=True)
class TenantMutator(HeaderMutator):
    """Adds the tenant, from the header `tenant` or from another header or property."""

    header: str = "tenant"
