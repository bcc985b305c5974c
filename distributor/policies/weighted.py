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
        newcomer = Account(0, rounds)  # is owed nothing, and comes after those who waited before
        members: defaultdict[str, list[Demand]] = defaultdict(list)
        for demand in demands:
            members[demand.group].append(demand)
        groups = [_group(group, own, state.groups.get(group, newcomer)) for group, own in members.items()]
        portions = divide(room, groups)
        grants: Grants = {}
        inner = _Inner(state, newcomer)
        for group, portion in portions.items():
            own = members[group]
            if len(own) > 1:
                grants |= inner.divide(group, own, portion.granted)
            elif portion.granted:
                grants[own[0].queue] = portion.granted
        wants = {party.key: party.wants for party in groups}
        in_groups = {one.queue: one.depth for own in members.values() if len(own) > 1 for one in own}
        return grants, State(
            rounds=rounds,
            groups=_accounts(portions, wants, state.groups, newcomer),
            queues=_accounts(inner.portions, in_groups, state.queues, newcomer),
            turns=inner.turns,
        )

    def settle(self, state: State, demands: Sequence[Demand], unmoved: Mapping[str, int]) -> State:
        """What was granted to these queues and did not move is owed to them, and to their groups."""
        groups, queues = dict(state.groups), dict(state.queues)
        for demand in demands:
            if count := unmoved.get(demand.queue, 0):
                _owe(groups, demand.group, count, state.rounds)
                _owe(queues, demand.queue, count, state.rounds)
        return replace(state, groups=groups, queues=queues)


class _Inner:
    """The second division: the parts of groups between their queues."""

    def __init__(self, state: State, newcomer: Account) -> None:
        self.portions: dict[str, Portion] = {}
        self.turns: dict[str, int] = {}
        self._state = state
        self._newcomer = newcomer

    def divide(self, group: str, members: Sequence[Demand], room: int) -> Grants:
        """The part of one group: to the urgent first, and to the others their tenth at least."""
        urgent = [self._party(demand) for demand in members if demand.urgent]
        others = [self._party(demand) for demand in members if not demand.urgent]
        for_urgent, for_others = _waiting(urgent), _waiting(others)
        if for_urgent and for_others:
            tenths, self.turns[group] = divmod(self._state.turns.get(group, 0) + room, _OTHERS_GET_ONE_IN)
            part = min(for_others, room, max(tenths, room - for_urgent))
            found = divide(room - part, urgent) | divide(part, others)
        else:
            found = divide(room, urgent + others)
        self.portions |= found
        return {queue: portion.granted for queue, portion in found.items() if portion.granted}

    def _party(self, demand: Demand) -> Party:
        account = self._state.queues.get(demand.queue, self._newcomer)
        return Party(demand.queue, demand.depth, demand.weight, account)


def _group(group: str, members: Iterable[Demand], account: Account) -> Party:
    """A tenant as one party: it wants what its queues want."""
    wants = weight = 0
    for demand in members:
        if demand.weight > 0:
            wants += demand.depth
            weight = demand.group_weight
    return Party(group, wants, weight, account)


def _waiting(parties: Iterable[Party]) -> int:
    return sum(party.wants for party in parties if party.weight > 0)


def _accounts(
    portions: Mapping[str, Portion], wants: Mapping[str, int], before: Mapping[str, Account], newcomer: Account
) -> dict[str, Account]:
    """The accounts of those who still wait; of those who are held back, as they were."""
    after = {key: account for key, account in before.items() if key in wants and key not in portions}
    for key, (granted, owed) in portions.items():
        if granted < wants[key]:
            after[key] = Account(owed, newcomer.served if granted else before.get(key, newcomer).served)
    return after


def _owe(accounts: dict[str, Account], key: str, count: int, rounds: int) -> None:
    account = accounts.get(key, Account(0, rounds))
    accounts[key] = Account(account.owed + count * MESSAGE, account.served)
