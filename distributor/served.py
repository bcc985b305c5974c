"""Which targets are served, and which queues of a listing are theirs. Pure."""

from collections.abc import Callable, Iterable

from raquo.broker.management_answers import QueueInfo
from raquo.distributor.config import Config
from raquo.distributor.snapshot import staging_of
from raquo.mutators.globs import matcher
from raquo.mutators.names import MARK

Serves = Callable[[str], bool]
"""Whether a target is served."""


def served(config: Config, only: Iterable[str] = ()) -> Serves:
    """The targets named in `only`, or, where none is, those that the configuration says."""
    named = frozenset(only)
    if named:
        return named.__contains__
    chosen, excluded = matcher(config.distributor.serve), matcher(config.distributor.serve_not)
    return lambda target: chosen(target) and not excluded(target)


def staging_in(listing: Iterable[QueueInfo], serves: Serves) -> list[QueueInfo]:
    """The staging queues of served targets; what cannot be moved from is none."""
    return [
        info for info in listing if MARK in info.name and (own := staging_of(info)) and serves(own.name.target)
    ]
