"""Dividing whole messages by weight, fairly over many rounds: the arithmetic under the policies.

**In one round** the room is water: it rises over all parties at the speed of their weights, and who is full takes no
more. Parties that want no more than the water would give them get what they want; the rest of the room is divided
between the others, each its weight.

**Over rounds.** Shares are seldom whole, so each party is owed the part of a message it did not get. The last
messages of a round are dealt out one by one: a message belongs to a party from the moment its share begins to flow
until the moment it is complete, and of those whose next message has begun, the one that is complete soonest goes
first. (Network schedulers know this as worst-case fair weighted queueing.) With constant weights nobody is ever a
whole message ahead of its share or behind it; the largest debt first, which is simpler, does not keep that promise.

Everything is an integer: debts are parts of a message (`MESSAGE` to one), so that they neither drift nor grow.
"""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from raquo.distributor.policy import MESSAGE, Account

_FINE = 1 << 64  # tells apart any two quotients of weights up to a million thousandths


class Party(NamedTuple):
    """One who shares: up to `wants` messages, by `weight`."""

    key: str
    wants: int
    weight: int
    account: Account


class Portion(NamedTuple):
    """What a party gets now, and what it is owed afterwards."""

    granted: int
    owed: int


def divide(room: int, parties: Sequence[Party]) -> dict[str, Portion]:
    """Divide the room between the parties; who wants nothing, or weighs nothing, is left out."""
    satisfied, hungry, left = _fill(room, [party for party in parties if party.wants > 0 and party.weight > 0])
    portions = {party.key: Portion(party.wants, 0) for party in satisfied}
    if hungry:
        portions |= _deal(left, hungry)
    return portions


def _fill(room: int, waiting: list[Party]) -> tuple[list[Party], list[Party], int]:
    """Who gets all it wants; the others, by name; and what is left for them."""
    waiting.sort(key=lambda party: party.wants * _FINE // party.weight)
    left, weight = room, sum(party.weight for party in waiting)
    full = 0
    for party in waiting:
        if party.wants * weight > left * party.weight:
            break
        left -= party.wants
        weight -= party.weight
        full += 1
    return waiting[:full], sorted(waiting[full:]), left


def _deal(room: int, hungry: list[Party]) -> dict[str, Portion]:
    """Message by message to the one whose next is complete soonest; all of them want more than they get."""
    weight = sum(party.weight for party in hungry)
    granted = [0] * len(hungry)
    # When the share of a message begins, and when it is complete, in parts of a message dealt out from now on.
    lengths = [MESSAGE * weight // party.weight for party in hungry]
    starts = [-party.account.owed * weight // party.weight for party in hungry]
    begun, later = [], []
    for place, start in enumerate(starts):
        if start < MESSAGE:
            begun.append((start + lengths[place], hungry[place].account.served, place))
        else:
            later.append((start, place))
    heapify(begun)
    heapify(later)
    for now in range(0, room * MESSAGE, MESSAGE):
        while later and (later[0][0] < now + MESSAGE or not begun):
            start, place = heappop(later)
            heappush(begun, (start + lengths[place], hungry[place].account.served, place))
        complete, _, place = heappop(begun)
        granted[place] += 1
        if granted[place] < hungry[place].wants:
            heappush(later, (complete, place))
    return _settled(room, weight, hungry, granted)


def _settled(room: int, weight: int, hungry: list[Party], granted: list[int]) -> dict[str, Portion]:
    shares = [room * MESSAGE * party.weight // weight for party in hungry]
    shares[0] += room * MESSAGE - sum(shares)  # what rounding left over
    return {
        party.key: Portion(count, party.account.owed + share - count * MESSAGE)
        for party, share, count in zip(hungry, shares, granted, strict=True)
    }
