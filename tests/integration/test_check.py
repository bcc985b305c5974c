"""`raquo check` on a real broker: what it finds, that it changes nothing, and that the users it prints suffice."""

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from raquo.broker.local import LocalBroker
from raquo.broker.management import ManagementClient
from raquo.broker.url import BrokerUrl
from raquo.distributor.checking import findings
from raquo.distributor.config import Config
from raquo.distributor.finding import Finding, Level
from raquo.distributor.gathering import gather
from raquo.distributor.rights import setup_lines
from raquo.router import Publisher, Router
from support.admin import Admin
from support.amqp import Amqp
from support.brokers import Broker
from support.publishing import fresh, memory_alarm, numbered
from support.serving import config_for, raquo, raquo_json, serving, toml_for
from support.waiting import wait_until

NOTHING = "^$"
PASSWORD = "pw-of-this-test"


@dataclass
class User:
    """A user of this test's virtual host, who may do nothing at first."""

    admin: Admin
    vhost: str
    name: str
    url: str

    def permit(self, **rights: str) -> None:
        self.admin.permit(self.name, self.vhost, **{"configure": NOTHING, "write": NOTHING, "read": NOTHING, **rights})

    def tag(self, tags: str) -> None:
        self.admin.make_user(self.name, PASSWORD, tags)


@pytest.fixture
def user(admin: Admin, vhost: str, vhost_url: str) -> Iterator[User]:
    name = fresh("user")
    one = User(admin, vhost, name, f"amqp://{name}:{PASSWORD}@{vhost_url.split('@')[1]}")
    one.tag("management")
    yield one
    admin.delete("users", name)


def wrong(config: Config) -> dict[str, Finding]:
    """What is not as it should be, by code."""
    return {one.code: one for one in findings(gather(config), config) if one.level is not Level.OK}


def codes(told: dict[str, Any]) -> list[str]:
    return [one["code"] for one in told["findings"]]


# The command


def test_a_sound_broker_is_good_and_the_command_says_what_it_looked_at(
    tmp_path: Path, node: Broker, vhost_url: str, amqp: Amqp
) -> None:
    amqp.declare("work")
    amqp.declare("work»t1")
    (tmp_path / "raquo.toml").write_text(toml_for(vhost_url, node.management_url), encoding="utf-8")
    told = raquo_json(tmp_path, "check")
    assert told["ok"] is True
    assert codes(told) == ["amqp", "management", "rights", "staging", "targets"]
    assert all(set(one) == {"code", "level", "subject", "text"} for one in told["findings"])


def test_warnings_are_printed_for_people_and_are_no_failure(
    tmp_path: Path, node: Broker, vhost_url: str, amqp: Amqp
) -> None:
    amqp.declare("work»t1", x_message_ttl=1000)
    (tmp_path / "raquo.toml").write_text(toml_for(vhost_url, node.management_url), encoding="utf-8")
    done = raquo(tmp_path, "check")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line for line in done.stdout.splitlines() if line.startswith("warning")]
    assert [line.split()[1] for line in lines] == ["argument_drops", "target_missing"]
    assert "x-message-ttl" in lines[0]


def test_a_wrong_password_is_a_failure_of_both_ways_in_and_is_not_printed(
    tmp_path: Path, node: Broker, vhost_url: str
) -> None:
    broker = BrokerUrl.parse(vhost_url)
    url = f"amqp://{broker.user}:wr0ng@{vhost_url.split('@')[1]}"
    (tmp_path / "raquo.toml").write_text(toml_for(url, node.management_url), encoding="utf-8")
    done = raquo(tmp_path, "check", "-o", "json")
    told = json.loads(done.stdout)
    assert (done.returncode, done.stderr, told["ok"]) == (1, "", False)
    assert codes(told) == ["amqp_refused", "management_refused"]
    assert "wr0ng" not in done.stdout


def test_a_bad_configuration_is_told_before_anything_connects(tmp_path: Path) -> None:
    (tmp_path / "raquo.toml").write_text("[defaults]\nmax_length = 0\n", encoding="utf-8")
    done = raquo(tmp_path, "check")
    assert (done.returncode, done.stdout) == (2, "")
    assert "defaults.max_length" in done.stderr


def test_the_setup_needs_no_broker(tmp_path: Path) -> None:
    done = raquo(tmp_path, "check", "--print-setup", "--url", "amqp://mover:s3cret@nowhere.invalid/prod")
    assert (done.returncode, done.stderr) == (0, "")
    assert "rabbitmqctl set_user_tags mover management" in done.stdout
    assert "s3cret" not in done.stdout
    assert raquo_json(tmp_path, "check", "--print-setup")["lines"]


# Ways in


def test_no_amqp_is_a_failure_and_what_the_management_api_tells_is_checked(
    node: Broker, vhost_url: str, amqp: Amqp
) -> None:
    amqp.declare("work»t1")
    broker = BrokerUrl.parse(vhost_url)
    closed = f"amqp://{broker.user}:{broker.password}@127.0.0.1:1/{broker.vhost}"
    bad = wrong(config_for(closed, node.management_url))
    assert {code: one.level for code, one in bad.items()} == {
        "amqp_unreachable": Level.FAILURE,
        "target_missing": Level.WARNING,
    }


def test_no_management_api_is_a_failure_and_amqp_is_checked(vhost_url: str) -> None:
    config = config_for(vhost_url, "http://127.0.0.1:1")
    assert set(wrong(config)) == {"management_unreachable"}
    assert {"amqp", "rights"} <= {one.code for one in findings(gather(config), config)}


def test_a_user_without_the_management_tag_is_told_so(node: Broker, user: User) -> None:
    user.tag("")
    user.permit(configure=".*", write=".*", read=".*")
    assert set(wrong(config_for(user.url, node.management_url))) == {"management_tag"}


def test_a_user_who_is_not_let_into_the_virtual_host_is_told_so(node: Broker, user: User) -> None:
    assert set(wrong(config_for(user.url, node.management_url))) == {"amqp_refused", "management_vhost"}


# Rights


@pytest.mark.parametrize(
    ("code", "taken", "left"),
    [
        ("right_to_move", "read", r"^(raquo\.|amq\.gen-)"),
        ("right_to_publish", "write", r"^(amq\.gen-|work)"),
        ("right_to_listen", "configure", r"^amq\.gen-"),
        ("right_to_listen", "configure", r"^raquo\."),
        ("right_to_listen", "write", r"^(amq\.default|work)"),
        ("right_to_listen", "read", r"^(work»|amq\.gen-)"),
        ("right_to_listen", "read", r"^(work»|raquo\.)"),
    ],
)
def test_a_missing_right_is_found_by_trying(
    node: Broker, amqp: Amqp, user: User, queue_type: str, code: str, taken: str, left: str
) -> None:
    amqp.declare("work", queue_type)
    amqp.declare("work»t1", queue_type, **no_limit(node, queue_type))
    user.permit(**{"configure": ".*", "write": ".*", "read": ".*", taken: left})
    assert set(wrong(config_for(user.url, node.management_url))) == {code}


def test_from_4_on_a_depth_is_seen_only_with_a_right_on_the_queue(
    node: Broker, amqp: Amqp, user: User, rabbitmq_version: tuple[int, ...]
) -> None:
    amqp.declare("work")
    amqp.declare("work»t1")
    user.permit(configure=r"^(raquo\.|amq\.gen)", write=r"^amq\.(default|gen)", read="»|^raquo|^amq.gen")
    found = set(wrong(config_for(user.url, node.management_url)))
    assert found == (set() if rabbitmq_version < (4,) else {"right_to_look"})


def test_what_the_configuration_wants_declared_or_deleted_needs_a_right(node: Broker, amqp: Amqp, user: User) -> None:
    amqp.declare("work»t1")
    user.permit(configure=r"^(raquo\.|amq\.gen)", write=".*", read=".*")
    config = config_for(
        user.url, node.management_url, defaults={"declare_missing": True}, staging={"idle_ttl": "1h"}
    )
    assert set(wrong(config)) == {"right_to_declare", "right_to_delete"}
    user.permit(configure=".*", write=".*", read=".*")
    assert not wrong(config)
    assert not amqp.exists("work")


def test_looking_changes_nothing(
    node: Broker, vhost_url: str, vhost: str, amqp: Amqp, admin: Admin, queue_type: str
) -> None:
    bodies = {}
    for queue in ("work»t1", "work»goes"):
        if queue == "work»goes":
            amqp.channel.queue_declare(queue, durable=True, auto_delete=True)
        else:
            amqp.declare(queue, queue_type)
        bodies[queue] = amqp.publish_numbered(queue, 20)
    before = broker_objects(admin, vhost)
    config = config_for(
        vhost_url, node.management_url, defaults={"declare_missing": True}, staging={"idle_ttl": "1h"}
    )
    gather(config)
    wait_until(lambda: broker_objects(admin, vhost) == before, what="only what was there before is there")
    for queue, expected in bodies.items():
        messages = amqp.read_all(queue)
        assert [message.body for message in messages] == expected
        assert not any(message.redelivered for message in messages)


# Queues


def test_policies_that_drop_what_waits_are_found_without_waiting_for_statistics(
    node: Broker, vhost_url: str, vhost: str, amqp: Amqp, admin: Admin, queue_type: str
) -> None:
    amqp.declare("work", queue_type)
    amqp.declare("work»t1", queue_type, **no_limit(node, queue_type))
    admin.set_policy(vhost, "harmless", "^work", dead_letter_exchange="amq.fanout")
    assert not wrong(config_for(vhost_url, node.management_url))
    admin.set_policy(vhost, "short", "^work.*t1$", message_ttl=1000, expires=60_000)
    operator = {"pattern": "»", "definition": {"max-length": 10}, "apply-to": "queues"}
    admin.put("operator-policies", vhost, "ours", **operator)
    config = config_for(vhost_url, node.management_url)
    texts = [one.text for one in findings(gather(config), config) if one.code == "policy_drops"]
    assert ["policy 'ours'" in text for text in texts] == [False, True]  # of two equals either may hold: both count
    assert all("'work»t1'" in text for text in texts)
    assert "message-ttl" in texts[0]
    assert "expires" in texts[0]


def test_the_policy_that_holds_is_the_one_that_the_broker_applies(
    vhost: str, amqp: Amqp, admin: Admin, management: ManagementClient, node: Broker, vhost_url: str
) -> None:
    amqp.declare("work")
    amqp.declare("work»t1")
    admin.set_policy(vhost, "short", "»", expires=60_000)
    definition = {"max-length": 5, "overflow": "reject-publish"}
    admin.put("policies", vhost, "strong", pattern="»", definition=definition, priority=5, **{"apply-to": "queues"})
    wait_until(lambda: management.queue("work»t1").policy == "strong", what="the broker has decided")
    assert not wrong(config_for(vhost_url, node.management_url))


def test_a_quorum_staging_queue_with_a_delivery_limit_is_found(
    node: Broker, vhost_url: str, amqp: Amqp, rabbitmq_version: tuple[int, ...]
) -> None:
    amqp.declare("work", "quorum")
    amqp.declare("work»fine", "quorum", **no_limit(node, "quorum"))
    limits = {} if rabbitmq_version >= (4,) else {"x_delivery_limit": 20}  # what a broker of 4.x does by itself
    amqp.declare("work»t1", "quorum", **limits)
    bad = wrong(config_for(vhost_url, node.management_url))
    assert {code: one.subject for code, one in bad.items()} == {"delivery_limit": "work»t1"}


def test_staging_queues_that_are_left_alone_or_do_not_last_are_found(
    node: Broker, vhost_url: str, amqp: Amqp
) -> None:
    amqp.declare("work")
    amqp.declare("work»s", "stream")
    amqp.declare("»x")
    amqp.channel.queue_declare("work»e", exclusive=True)
    amqp.channel.queue_declare("work»a", durable=True, auto_delete=True)
    config = config_for(vhost_url, node.management_url)
    found = [(one.code, one.subject) for one in findings(gather(config), config) if one.level is Level.WARNING]
    odd = [("staging_odd", name) for name in ("work»e", "work»s", "»x")]
    assert sorted(found) == sorted([*odd, ("staging_auto_delete", "work»a")])


def test_targets_that_cannot_be_served_well_are_found(node: Broker, vhost_url: str, amqp: Amqp) -> None:
    amqp.declare("short", x_max_length=10)
    amqp.declare("small", x_max_length_bytes=1000)
    amqp.declare("log", "stream")
    for target in ("short", "small", "log", "gone"):
        amqp.declare(f"{target}»t1")
    bad = wrong(config_for(vhost_url, node.management_url))
    assert {code: one.subject for code, one in bad.items()} == {
        "target_drops": "short",
        "target_drops_bytes": "small",
        "stream_target": "log",
        "target_missing": "gone",
    }


def test_workers_without_a_prefetch_limit_and_strangers_in_staging_are_found(
    node: Broker, vhost_url: str, amqp: Amqp
) -> None:
    amqp.declare("work")
    amqp.declare("work»t1")
    for queue in ("work", "work»t1"):
        amqp.channel.basic_consume(queue, lambda *_: None)
    config = config_for(vhost_url, node.management_url)
    expected = {"unlimited_prefetch": "work", "other_consumer": "work»t1"}
    wait_until(
        lambda: {code: one.subject for code, one in wrong(config).items()} == expected,
        deadline=30,
        what="the broker tells of both consumers",
    )


def test_a_running_distributor_is_no_stranger(node: Broker, vhost_url: str, amqp: Amqp) -> None:
    amqp.declare("work")
    amqp.declare("work»t1")
    amqp.publish_numbered("work»t1", 500)
    config = config_for(vhost_url, node.management_url, defaults={"max_length": 10})
    with serving(config):
        wait_until(lambda: amqp.depth("work") == 10, what="it moves")
        assert not wrong(config)


def test_a_virtual_host_that_is_full_of_queues_is_found(
    node: Broker, vhost_url: str, vhost: str, amqp: Amqp, admin: Admin
) -> None:
    amqp.declare("work")
    amqp.declare("work»t1")
    admin.put("vhost-limits", vhost, "max-queues", value=2)
    assert set(wrong(config_for(vhost_url, node.management_url))) == {"vhost_limit"}


def test_an_alarm_is_told_and_does_not_stop_the_check(private_node: LocalBroker) -> None:
    config = config_for(private_node.url, private_node.management_url, distributor={"serve": [fresh("nothing")]})
    with memory_alarm(private_node):
        bad = wait_until(lambda: wrong(config), what="the alarm shows")
        assert {code: one.level for code, one in bad.items()} == {"alarm": Level.WARNING}
    wait_until(lambda: not wrong(config), what="the alarm is over")


# The users that `--print-setup` prints


def test_the_printed_lines_are_understood_by_rabbitmqctl(private_node: LocalBroker) -> None:
    name = fresh("bücher")
    config = config_for(
        private_node.url.replace("guest:guest", f"{name}:x"), private_node.management_url,
        distributor={"serve": ["worker-*"]},
    )  # fmt: skip
    for words in commands(config):
        private_node.ctl(*(PASSWORD if word.startswith("${") else word for word in words))
    admin = Admin(private_node.url, private_node.management_url)
    user = BrokerUrl.parse(str(config.broker.url[0])).user
    given = admin.get("permissions", "/", user)
    for made in permissions(config):
        admin.delete("users", made)
    admin.close()
    assert [given[kind] for kind in ("configure", "write", "read")] == permissions(config)[user]


def test_a_user_with_the_printed_rights_can_distribute_and_its_publisher_publish(
    node: Broker, amqp: Amqp, user: User, queue_type: str
) -> None:
    amqp.declare("worker-input", queue_type)
    config = config_for(
        user.url, node.management_url, distributor={"serve": ["worker-*"], "discover_every": "1h"}
    )
    configure, write, read = permissions(config)[user.name]
    user.permit(configure=configure, write=write, read=read)
    with (
        publisher_of(user, config) as url,
        serving(config) as one,
        Publisher(url, Router(by=("tenant",)), queue_type=queue_type) as ours,
    ):
        wait_until(lambda: one.replica._bell.listening, what="it listens to the bell")
        ours.publish("worker-input", b"x", headers={"tenant": "t1"})
        wait_until(lambda: amqp.depth("worker-input") == 1, what="the bell was heard, and the message moved")
        ours.publish_many("worker-input", numbered(200, "t1", "t2"))
        wait_until(lambda: amqp.depth("worker-input") == 201, what="the others moved as well")
        assert not one.status().problems
        assert not wrong(config)


def test_the_printed_rights_move_nothing_that_they_are_not_for(node: Broker, amqp: Amqp, user: User) -> None:
    config = config_for(user.url, node.management_url, distributor={"serve": ["worker-*"]})
    configure, write, read = permissions(config)[user.name]
    user.permit(configure=configure, write=write, read=read)
    amqp.declare("other")
    amqp.declare("other»t1")
    unserved = config.model_copy(update={"distributor": config.distributor.model_copy(update={"serve": ("*",)})})
    assert "right_to_move" in wrong(unserved)
    assert not wrong(config)


def commands(config: Config) -> list[list[str]]:
    """The arguments of `rabbitmqctl` in the lines as a shell would read them."""
    lines = (shlex.split(line, comments=True) for line in setup_lines(config))
    return [words[1:] for words in lines if words and words[0] == "rabbitmqctl"]


def permissions(config: Config) -> dict[str, list[str]]:
    """The three expressions for each user in the lines."""
    return {words[3]: words[4:] for words in commands(config) if words[0] == "set_permissions"}


@contextmanager
def publisher_of(user: User, config: Config) -> Iterator[str]:
    """The URL of a second user, with what is printed for publishers."""
    printed = next(rights for name, rights in permissions(config).items() if name != user.name)
    name = fresh("publisher")
    one = replace(user, name=name, url=user.url.replace(user.name, name))
    one.tag("")
    one.permit(**dict(zip(("configure", "write", "read"), printed, strict=True)))
    try:
        yield one.url
    finally:
        user.admin.delete("users", name)


def no_limit(node: Broker, queue_type: str) -> dict[str, int]:
    """What a publisher declares a quorum staging queue with on 4.x."""
    return {"x_delivery_limit": -1} if queue_type == "quorum" and not node.version.startswith("3.") else {}


def broker_objects(admin: Admin, vhost: str) -> list[Any]:
    return [
        sorted(str(one["name"]) for one in admin.get("queues", vhost)),
        sorted(str(one["name"]) for one in admin.get("exchanges", vhost)),
    ]
