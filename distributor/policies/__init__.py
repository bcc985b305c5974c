"""The policies that are shipped, by the names they have in configuration; those of others as `module:attribute`."""

from functools import lru_cache
from importlib import import_module
from operator import attrgetter

from raquo.distributor.errors import BadConfiguration
from raquo.distributor.policies.equal import Equal
from raquo.distributor.policies.weighted import Weighted
from raquo.distributor.policy import Policy

__all__ = ["POLICIES", "Equal", "Weighted", "policy_named"]

POLICIES: dict[str, Policy] = {policy.name: policy for policy in (Weighted(), Equal())}


@lru_cache(maxsize=64)
def policy_named(name: str) -> Policy:
    """The policy that a name stands for; `BadConfiguration`, in one line, where there is none."""
    if name in POLICIES:
        return POLICIES[name]
    module, _, attribute = name.partition(":")
    try:
        found = attrgetter(attribute)(import_module(module))
        policy: Policy = found() if isinstance(found, type) else found
    except Exception as error:  # whatever a user's module raises while it is imported
        raise BadConfiguration(f"cannot load the policy {name}: {' '.join(repr(error).split())}") from error
    missing = [member for member in ("name", "share", "settle") if not hasattr(policy, member)]
    if missing:
        raise BadConfiguration(f"{name} is no policy: it has no {', '.join(missing)}")
    return policy
