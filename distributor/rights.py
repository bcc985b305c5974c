r"""Which rights a user needs, as the three regular expressions that RabbitMQ keeps for a user and virtual host. Pure.

Tried on RabbitMQ 3.10.8 and 4.3.6, where not said otherwise with the same answer:

| act | needs |
| --- | --- |
| list queues, consumers, policies, limits, alarms (management API) | the tag `management`, and any permission entry |
| see the depth of a queue (passive declare) | 3.10: nothing; 4.3: any one right on it |
| move from a staging queue (consume, or get) | `read` on it |
| move into a target (publish through the default exchange) | `write` on `amq.default`, nothing on the target |
| declare `raquo.wake` | `configure` on it |
| have a queue of one's own for the bell (the broker names it) | `configure`, `write` and `read` on `amq.gen-…` |
| bind that to `raquo.wake` | `read` on the exchange, `write` on the queue |
| declare or delete a queue | `configure` on it |
| ring the bell | `write` on `raquo.wake` |

So a distributor needs no `read` and no `configure` on targets, except to declare missing ones. On 4.3 it needs some
right to see their depth; `write` on a queue gives the least: to bind it. Messages reach every queue through
`amq.default` anyway.

The broker compares bytes and knows no UTF-8: `»` is written `\xc2\xbb`, which no terminal and no locale can spoil.
"""

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from raquo.distributor.config import Config

__all__ = ["Rights", "distributor_rights", "publisher_rights", "setup_lines"]

_OURS = r"raquo\..*"
_OWN_QUEUE = r"amq\.gen-.*"
_DEFAULT_EXCHANGE = r"amq\.default"
_BELL = r"raquo\.wake"
_MARK = r"\xc2\xbb"
_ANYTHING = ".*"
_CHARACTER = ".{1,4}"  # in bytes
_GLOB = re.compile(r"\*|\?|\[!?\]?[^]]*\]|.", re.DOTALL)
_PUBLISHER = "raquo-publisher"


@dataclass(frozen=True, slots=True)
class Rights:
    """What a user may do, by name of queue or exchange."""

    configure: str
    write: str
    read: str


def distributor_rights(config: Config) -> Rights:
    """What `raquo run` needs with this configuration, and `raquo skip`, `raquo drain` and `raquo bypass` with it."""
    targets = _any_of(config.distributor.serve)
    staging = f"{targets}{_MARK}.+"
    configure = [_OURS, _OWN_QUEUE]
    if config.defaults.declare_missing or any(rule.declare_missing for rule in config.target):
        configure.append(targets)
    if config.staging.idle_ttl is not None:
        configure.append(staging)
    return Rights(
        configure=_whole(*configure),
        write=_whole(_DEFAULT_EXCHANGE, _OWN_QUEUE, targets),
        read=_whole(_OURS, _OWN_QUEUE, staging),
    )


def publisher_rights(config: Config) -> Rights:
    """What a publisher needs: to declare staging queues, to publish, and to ring."""
    staging = f"{_any_of(config.router.targets)}{_MARK}.+"
    return Rights(configure=_whole(staging), write=_whole(_DEFAULT_EXCHANGE, _BELL), read="^$")


def setup_lines(config: Config) -> list[str]:
    """Shell lines that make both users; passwords are variables in them, which the shell insists on.

    `rabbitmqctl` can ask for a password itself, but that of 4.3.6 on Erlang 29 crashes when it does.
    """
    url = config.broker.urls()[0]
    user = "raquo" if url.user == "guest" else url.user
    return [
        "# The distributor's user: what `raquo run` needs with this configuration, and no more.",
        *_narrow(config),
        *_user_lines(user, url.vhost, distributor_rights(config), ("management",), "RAQUO_PASSWORD"),
        "# For `raquo prune` and `raquo uninstall` it also needs `configure` on staging queues.",
        "# Option: Raquo passes a message's user_id on as the header raquo-user-id and needs no other tag. Whatever",
        "# else moves messages as this user, and shall leave their user_id as it is, needs the tag impersonator:",
        f"#   rabbitmqctl set_user_tags {shlex.quote(user)} management impersonator",
        "",
        "# A user for publishers. It needs the tag management only where it is given a management_url.",
        *_user_lines(_PUBLISHER, url.vhost, publisher_rights(config), (), "RAQUO_PUBLISHER_PASSWORD"),
    ]


def _user_lines(user: str, vhost: str, rights: Rights, tags: Iterable[str], password: str) -> list[str]:
    name = shlex.quote(user)
    expressions = " ".join(shlex.quote(one) for one in (rights.configure, rights.write, rights.read))
    return [
        f'rabbitmqctl add_user {name} "${{{password}:?}}"   # set it before: read -rs {password}',
        *(f"rabbitmqctl set_user_tags {name} {tag}" for tag in tags),
        f"rabbitmqctl set_permissions --vhost {shlex.quote(vhost)} {name} {expressions}",
    ]


def _narrow(config: Config) -> list[str]:
    if config.distributor.serve != ("*",):
        return []
    return ['# It may write to everything, for [distributor] serve is "*": name your targets there, and print again.']


def _whole(*expressions: str) -> str:
    return "^$" if not expressions else _ANYTHING if _ANYTHING in expressions else f"^({'|'.join(expressions)})$"


def _any_of(globs: Iterable[str]) -> str:
    expressions = [_expression(glob) for glob in globs]
    if _ANYTHING in expressions:
        return _ANYTHING
    return expressions[0] if len(expressions) == 1 else f"({'|'.join(expressions)})"


def _expression(glob: str) -> str:
    return "".join(_part(part) for part in _GLOB.findall(glob))


def _part(part: str) -> str:
    if part == "*":
        return _ANYTHING
    if part == "?" or (len(part) > 1 and not part.isascii()):
        return _CHARACTER
    if len(part) > 1:
        return "[" + part[1:-1].replace("\\", "\\\\").replace("!", "^", part.startswith("[!")) + "]"
    return re.escape(part) if part.isascii() else "".join(f"\\x{byte:02x}" for byte in part.encode())
