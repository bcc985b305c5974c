"""`raquo prune` and the reaper: empty staging queues go, and nothing else."""

from pathlib import Path

from raquo.distributor.round import Switches
from raquo.router import Publisher, Router
from support.amqp import Amqp
from support.brokers import Broker
from support.serving import config_for, raquo, raquo_json, serving
from support.waiting import wait_until
from support.way_out import DONE, configured, refusal

AT_ONCE = ("prune", "--idle", "0s")


def queues_of_every_kind(amqp: Amqp) -> None:
    """Two that may go, and one for each reason to stay."""
    amqp.declare("work")
    for queue in ("work»t1", "work»t2/w1", "work»ready", "work»unacked", "work»consumed", "other"):
        amqp.declare(queue)
    amqp.declare("work»quorum", "quorum")
    amqp.publish("work»ready", b"x")
    amqp.publish("work»unacked", b"x")
    amqp.channel.basic_get("work»unacked")
    amqp.channel.basic_consume("work»consumed", lambda *_: None)


def test_empty_staging_queues_are_deleted_and_nothing_else(
    node: Broker, vhost_url: str, amqp: Amqp, tmp_path: Path
) -> None:
    configured(tmp_path, node, vhost_url)
    queues_of_every_kind(amqp)
    told = raquo_json(tmp_path, *AT_ONCE, *DONE)
    assert told["deleted"] == ["work»t1", "work»t2/w1"]
    assert (told["left_quorum"], told["left_used"]) == (1, 2)
    assert not amqp.exists("work»t1")
    assert not amqp.exists("work»t2/w1")
    stay = ("work", "other", "work»ready", "work»unacked", "work»consumed", "work»quorum")
    assert all(amqp.exists(queue) for queue in stay)


def test_people_are_told_what_went_and_what_stayed(node: Broker, vhost_url: str, amqp: Amqp, tmp_path: Path) -> None:
    configured(tmp_path, node, vhost_url)
    queues_of_every_kind(amqp)
    said = raquo(tmp_path, *AT_ONCE, *DONE).stdout
    assert "2 empty staging queues deleted; 2 are in use" in said
    assert "1 empty quorum queues stay" in said
    assert "1 were in use again" in said, "the one with a consumer"


def test_a_dry_run_deletes_nothing(node: Broker, vhost_url: str, amqp: Amqp, tmp_path: Path) -> None:
    configured(tmp_path, node, vhost_url)
    amqp.declare("work»t1")
    told = raquo_json(tmp_path, *AT_ONCE, "--dry-run")
    assert (told["dry_run"], told["deleted"]) == (True, ["work»t1"])
    assert amqp.exists("work»t1")


def test_only_chosen_targets_are_pruned(node: Broker, vhost_url: str, amqp: Amqp, tmp_path: Path) -> None:
    configured(tmp_path, node, vhost_url, '[distributor]\nhttp = "off"\nserve_not = ["private"]\n')
    for target in ("a", "b", "private"):
        amqp.declare(f"{target}»t1")
    assert raquo_json(tmp_path, *AT_ONCE, "--target", "a", *DONE)["deleted"] == ["a»t1"]
    assert raquo_json(tmp_path, *AT_ONCE, *DONE)["deleted"] == ["b»t1"]
    assert amqp.exists("private»t1")


def test_a_queue_that_was_published_to_lately_stays(node: Broker, vhost_url: str, amqp: Amqp, tmp_path: Path) -> None:
    configured(tmp_path, node, vhost_url)
    amqp.declare("work»t1")

    def in_use() -> bool:
        """The statistics are some seconds late, so messages keep coming."""
        amqp.publish("work»t1", b"x")
        amqp.bodies("work»t1")
        return bool(raquo_json(tmp_path, "prune", "--dry-run")["left_used"])

    wait_until(in_use, deadline=60, what="it counts as used")
    assert raquo_json(tmp_path, "prune", *DONE)["deleted"] == []
    assert raquo_json(tmp_path, *AT_ONCE, *DONE)["deleted"] == ["work»t1"]


def test_a_publisher_whose_queue_was_pruned_makes_it_again(
    node: Broker, vhost_url: str, amqp: Amqp, tmp_path: Path
) -> None:
    configured(tmp_path, node, vhost_url)
    with Publisher(vhost_url, Router(by=("tenant",)), queue_type="classic") as publisher:
        publisher.publish("work", b"1", headers={"tenant": "t1"})
        assert amqp.bodies("work»t1") == [b"1"]
        assert raquo_json(tmp_path, *AT_ONCE, *DONE)["deleted"] == ["work»t1"]
        publisher.publish("work", b"2", headers={"tenant": "t1"})
    assert amqp.bodies("work»t1") == [b"2"]


def test_more_queues_than_go_at_once_are_all_pruned(node: Broker, vhost_url: str, amqp: Amqp, tmp_path: Path) -> None:
    configured(tmp_path, node, vhost_url)
    names = sorted(amqp.declare(f"work»t{number}") for number in range(230))
    assert sorted(raquo_json(tmp_path, *AT_ONCE, *DONE)["deleted"]) == names


def test_it_asks_why_and_whether(node: Broker, vhost_url: str, amqp: Amqp, tmp_path: Path) -> None:
    configured(tmp_path, node, vhost_url)
    amqp.declare("work»t1")
    assert "--reason" in refusal(tmp_path, *AT_ONCE, code=2)
    assert "--yes" in refusal(tmp_path, *AT_ONCE, "--reason", "a test", code=2)
    assert "from 0s to 1h" in refusal(tmp_path, "prune", "--idle", "2h", code=2)
    assert amqp.exists("work»t1")


def test_the_reaper_deletes_what_was_empty_for_long_and_spares_what_is_used(
    node: Broker, vhost_url: str, amqp: Amqp
) -> None:
    amqp.declare("work")
    amqp.declare("work»idle")
    amqp.declare("work»held")
    amqp.publish("work»held", b"x")
    amqp.declare("work»quorum", "quorum")
    config = config_for(
        vhost_url,
        node.management_url,
        staging={"idle_ttl": "2s"},
        distributor={"discover_every": "200ms"},
        weight=[{"tenant": "held", "weight": 0}],
    )
    router = Router(by=("tenant",))
    with serving(config), Publisher(vhost_url, router, queue_type="classic") as publisher:

        def idle_is_gone() -> bool:
            publisher.publish("work", b"x", headers={"tenant": "used"})
            return not amqp.exists("work»idle")

        wait_until(idle_is_gone, what="the idle queue is deleted")
        assert all(amqp.exists(queue) for queue in ("work»used", "work»held", "work»quorum"))
        wait_until(lambda: not amqp.exists("work»used"), what="what is used no longer follows")
        assert amqp.depth("work»held") == 1
        assert publisher.stats()["returned"] == 0


def test_the_reaper_deletes_nothing_in_a_dry_run_or_unless_told(node: Broker, vhost_url: str, amqp: Amqp) -> None:
    other = amqp.declare("b»t1")
    amqp.declare("a»t1")
    reaping = config_for(vhost_url, node.management_url, staging={"idle_ttl": "1s"}, distributor={"serve": ["a"]})
    never = config_for(vhost_url, node.management_url)
    dry = config_for(vhost_url, node.management_url, staging={"idle_ttl": "1s"})
    with serving(reaping), serving(never), serving(dry, Switches(dry_run=True)):
        wait_until(lambda: not amqp.exists("a»t1"), what="the replica that is told to reaps")
        assert amqp.exists(other)
