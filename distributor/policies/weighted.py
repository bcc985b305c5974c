"""Everybody by weight: the room between the tenants, a tenant's part between its queues.

Splitting oneself over many queues does not pay, because a tenant's weight divides the room and a queue's weight only
divides its tenant's part. Within a tenant urgent queues go first; one message in ten goes to the others while they
wait, so that they are not left out for ever.

What somebody is owed is kept while he waits. It is dropped when he has nothing waiting any more, and it does not change
while he is held back (weight 0).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from raquo.distributor.division import Party, Portion, divide
from raquo.distributor.policy import MESSAGE, Account, Demand, Grants, State

_OTHERS_GET_ONE_IN = 10


class Weighted:
    """Shares by weight; with all weights the same, equal shares."""

    name = "weighted"

    def share(self, demands: Sequence[Demand], room: int, state: State) -> tuple[Grants, State]:
        """Divide the room between the groups, and the part of each between its queues."""
        rounds = state.rounds + 1
        members: defaultdict[str, list[Demand]] = defaultdict(list)
        for demand in demands:
            members[demand.group].append(demand)
        groups = [_group(group, own, state, rounds) for group, own in members.items()]
        portions = divide(room, groups)
        queue_portions: dict[str, Portion] = {}
        turns: dict[str, int] = {}
        for group, portion in portions.items():
            own, turns[group] = _within(members[group], portion.granted, state, rounds)
            queue_portions |= own
        after = State(
            rounds=rounds,
            groups=_accounts(portions, {party.key: party.wants for party in groups}, state.groups, rounds),
            queues=_accounts(queue_portions, {d.queue: d.depth for d in demands}, state.queues, rounds),
            turns={group: turn for group, turn in turns.items() if turn},
        )
        return {queue: portion.granted for queue, portion in queue_portions.items() if portion.granted}, after

    def settle(self, state: State, demands: Sequence[Demand], unmoved: Mapping[str, int]) -> State:
        """What was granted to these queues and did not move is owed to them, and to their groups."""
        groups, queues = dict(state.groups), dict(state.queues)
        for demand in demands:
            if count := unmoved.get(demand.queue, 0):
                _owe(groups, demand.group, count, state.rounds)
                _owe(queues, demand.queue, count, state.rounds)
        return replace(state, groups=groups, queues=queues)


def _group(group: str, members: Iterable[Demand], state: State, rounds: int) -> Party:
    """A tenant as one party: it wants what its queues want."""
    wants = weight = 0
    for demand in members:
        if demand.weight > 0:
            wants += demand.depth
            weight = demand.group_weight
    return Party(group, wants, weight, _account(state.groups, group, rounds))


def _within(
    members: Sequence[Demand], room: int, state: State, rounds: int
) -> tuple[dict[str, Portion], int]:
    """The part of one group: to the urgent first, and to the others their tenth at least."""
    if len(members) == 1:
        return {members[0].queue: Portion(room, 0)}, 0
    urgent = [_party(demand, state, rounds) for demand in members if demand.urgent]
    others = [_party(demand, state, rounds) for demand in members if not demand.urgent]
    for_urgent, for_others = _waiting(urgent), _waiting(others)
    if not for_urgent or not for_others:
        return divide(room, urgent + others), 0
    turns = state.turns.get(members[0].group, 0) + room
    part = min(for_others, room, max(turns // _OTHERS_GET_ONE_IN, room - for_urgent))
    return divide(room - part, urgent) | divide(part, others), turns % _OTHERS_GET_ONE_IN


def _party(demand: Demand, state: State, rounds: int) -> Party:
    return Party(demand.queue, demand.depth, demand.weight, _account(state.queues, demand.queue, rounds))


def _waiting(parties: Iterable[Party]) -> int:
    return sum(party.wants for party in parties if party.weight > 0)


def _account(accounts: Mapping[str, Account], key: str, rounds: int) -> Account:
    """Who joins is owed nothing, and comes after those who waited before."""
    return accounts.get(key) or Account(0, rounds)


def _accounts(
    portions: Mapping[str, Portion], wants: Mapping[str, int], before: Mapping[str, Account], rounds: int
) -> dict[str, Account]:
    """The accounts of those who still wait; of those who are held back, as they were."""
    after = {key: before[key] for key in wants if key in before and key not in portions}
    for key, portion in portions.items():
        if portion.granted < wants[key]:
            after[key] = Account(portion.owed, rounds if portion.granted else _account(before, key, rounds).served)
    return after


def _owe(accounts: dict[str, Account], key: str, count: int, rounds: int) -> None:
    account = _account(accounts, key, rounds)
    accounts[key] = Account(account.owed + count * MESSAGE, account.served)
