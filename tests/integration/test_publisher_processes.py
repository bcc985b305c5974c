"""One publisher in many threads, and in the child of a fork."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from raquo.router import Publisher
from support.admin import Admin
from support.amqp import Amqp
from support.publishing import HANG, connections_named, missing, repeated, take_all, wait_for_connections

T1 = {"tenant": "t1"}

# A program that reads what it shall do next, line by line; its child exits as any Python process does.
FORKS = """
import os, sys
from raquo.router import Publisher

publisher = Publisher(sys.argv[1], name="forks")
publisher.publish("work", b"parent before", headers={"tenant": "t1"})
child = os.fork()
if child == 0:
    publisher.publish("work", b"child", headers={"tenant": "t1"})
    publisher.publish_many("work", [b"child direct"] * 3)
    print("child published", flush=True)
    sys.stdin.readline()
    if sys.argv[2] == "close":
        publisher.close()
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
publisher.publish("work", b"parent after", headers={"tenant": "t1"})
assert publisher.stats()["reconnects"] == 0, publisher.stats()
print("parent published", flush=True)
sys.stdin.readline()
publisher.close()
"""

# Forks while another thread publishes; fork and publish meet at every stage.
FORKS_WHILE_BUSY = """
import os, sys, threading
from raquo.router import Publisher

publisher = Publisher(sys.argv[1])
def busy():
    for number in range(300):
        publisher.publish("work", f"parent {number}", headers={"tenant": "t1"})
thread = threading.Thread(target=busy)
thread.start()
children = []
for name in range(6):
    child = os.fork()
    if child == 0:
        for number in range(20):
            publisher.publish("work", f"child {name} {number}", headers={"tenant": "t1"})
        sys.exit(0)
    children.append(child)
for child in children:
    assert os.waitpid(child, 0)[1] == 0
thread.join()
assert publisher.stats()["confirmed"] == 300
publisher.close()
"""


@contextmanager
def program(text: str, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A Python program that is ended when it hangs."""
    process = subprocess.Popen(
        [sys.executable, "-c", text, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    hangs = threading.Timer(2 * HANG, process.kill)
    hangs.start()
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
        hangs.cancel()


def test_many_threads_share_one_connection(vhost_url: str, vhost: str, admin: Admin, amqp: Amqp) -> None:
    def publish(thread: int) -> None:
        for number in range(200):
            publisher.publish("work", f"{thread}/{number}", headers={"tenant": f"t{thread % 4}"}, timeout=HANG)

    with Publisher(vhost_url, name="threads") as publisher, ThreadPoolExecutor(16) as pool:
        list(pool.map(publish, range(16)))
        assert publisher.stats()["confirmed"] == 3200
        wait_for_connections(admin, vhost, "threads", 1)
    for tenant in range(4):
        arrived = [tuple(map(int, body.split(b"/"))) for body in take_all(amqp, f"work»t{tenant}")]
        for thread in range(tenant, 16, 4):
            assert [number for who, number in arrived if who == thread] == list(range(200))


def test_a_publisher_closed_by_one_thread_goes_on_for_the_others(vhost_url: str, amqp: Amqp) -> None:
    publisher = Publisher(vhost_url)

    def publish(thread: int) -> None:
        for number in range(100):
            publisher.publish("work", str(100 * thread + number), headers=T1, timeout=HANG)

    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(publish, thread) for thread in range(4)]
        while not all(call.done() for call in calls):
            publisher.close()
        assert [call.result() for call in calls] == [None] * 4
    publisher.close()
    arrived = [int(body) for body in take_all(amqp, "work»t1")]
    assert not missing(range(400), arrived)
    assert not repeated(arrived)
    assert publisher.stats()["confirmed"] == 400


@pytest.mark.parametrize("manner", ["close", "exit"])
def test_after_a_fork_parent_and_child_have_a_connection_each(
    vhost_url: str, vhost: str, admin: Admin, amqp: Amqp, manner: str
) -> None:
    amqp.declare("work")
    with program(FORKS, vhost_url, manner) as process:
        assert process.stdout
        assert process.stdin
        assert process.stdout.readline() == "child published\n", process.communicate()[1]
        before = set(wait_for_connections(admin, vhost, "forks", 2))
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "parent published\n", process.communicate()[1]
        assert before & set(connections_named(admin, vhost, "forks"))
        assert process.communicate("\n")[1] == ""
        assert process.returncode == 0
    assert amqp.bodies("work»t1") == [b"parent before", b"child", b"parent after"]
    assert amqp.depth("work") == 3


def test_a_fork_while_another_thread_publishes_disturbs_neither(vhost_url: str, amqp: Amqp) -> None:
    with program(FORKS_WHILE_BUSY, vhost_url) as process:
        assert process.communicate()[1] == ""
        assert process.returncode == 0
    expected = [f"parent {number}" for number in range(300)]
    expected += [f"child {name} {number}" for name in range(6) for number in range(20)]
    assert sorted(body.decode() for body in take_all(amqp, "work»t1")) == sorted(expected)
