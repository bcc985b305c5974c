"""From a listing to staging queues and targets."""

from raquo.broker.management_answers import QueueInfo
from raquo.distributor.snapshot import Snapshot, limited_returns, snapshot_of


def everything(_target: str) -> bool:
    return True


def listed(*infos: QueueInfo, before: Snapshot | None = None) -> Snapshot:
    return snapshot_of(infos, everything, before or Snapshot())


def test_staging_queues_are_found_by_their_names_with_their_targets() -> None:
    snapshot = listed(QueueInfo("work"), QueueInfo("other"), QueueInfo("work»t1/w1", ready=7))
    assert list(snapshot.staging) == ["work»t1/w1"]
    assert snapshot.staging["work»t1/w1"].tenant == "t1"
    assert snapshot.staging["work»t1/w1"].depth == 7
    assert list(snapshot.targets) == ["work"]


def test_a_name_of_the_older_form_is_served_under_the_name_it_has() -> None:
    snapshot = listed(QueueInfo("work»/t1/w1"))
    assert snapshot.staging["work»/t1/w1"].tenant == "t1"


def test_staging_queues_of_a_missing_target_are_known_all_the_same() -> None:
    snapshot = listed(QueueInfo("gone»t1"))
    assert list(snapshot.by_target()) == ["gone"]
    assert not snapshot.targets


def test_a_queue_that_is_missing_in_one_listing_is_kept_and_in_two_is_gone() -> None:
    first = listed(QueueInfo("work»t1"))
    second = listed(before=first)
    third = listed(before=second)
    assert (list(second.staging), list(third.staging)) == (["work»t1"], [])


def test_targets_that_are_not_served_are_not_seen() -> None:
    infos = [QueueInfo("work»t1"), QueueInfo("else»t1")]
    assert list(snapshot_of(infos, lambda target: target == "work", Snapshot()).staging) == ["work»t1"]


def test_odd_queues_are_left_alone_and_told() -> None:
    odd = (QueueInfo("»"), QueueInfo("»x"), QueueInfo("work»s", type="stream"), QueueInfo("work»e", exclusive=True))
    snapshot = listed(*odd)
    assert not snapshot.staging
    assert len(snapshot.oddities) == 4
    assert all(info.name in text for info, text in zip(odd, snapshot.oddities, strict=True))


def test_sync_queues_are_urgent() -> None:
    snapshot = listed(QueueInfo("work»t1/@sync"), QueueInfo("work»t1/@async"))
    assert [one.urgent for one in snapshot.staging.values()] == [True, False]


def test_queues_of_one_tenant_have_one_key_and_reserved_ones_their_own() -> None:
    snapshot = listed(QueueInfo("work»t1/a"), QueueInfo("work»t1/b"), QueueInfo("work»@none"), QueueInfo("work»*"))
    keys = [one.tenant_key for one in snapshot.staging.values()]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


def test_a_limit_of_returns_is_seen_in_argument_and_listing() -> None:
    assert limited_returns(QueueInfo("q»t", type="quorum", delivery_limit=20))
    assert limited_returns(QueueInfo("q»t", type="quorum", arguments={"x-delivery-limit": 5}))
    assert not limited_returns(QueueInfo("q»t", type="quorum", arguments={"x-delivery-limit": -1}))
    assert not limited_returns(QueueInfo("q»t", type="classic"))
