"""The policies that are shipped, by the names they have in configuration."""

from raquo.distributor.policies.equal import Equal
from raquo.distributor.policies.weighted import Weighted
from raquo.distributor.policy import Policy

POLICIES: dict[str, Policy] = {policy.name: policy for policy in (Weighted(), Equal())}

__all__ = ["POLICIES", "Equal", "Weighted"]
