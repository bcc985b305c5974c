"""The ledger against a model that keeps a state for every message and nothing clever."""

from hypothesis import given
from hypothesis import strategies as st

from raquo.broker.confirms import Ack, ConfirmLedger

_ANSWERS = st.lists(
    st.tuples(st.sampled_from(["confirm", "nack", "publish", "take"]), st.integers(1, 40), st.booleans()),
    max_size=80,
)


class Model:
    """Every publish with its state: open, confirmed, refused, acked."""

    def __init__(self) -> None:
        self.states: list[str] = []

    def settle(self, sequence: int, multiple: bool, state: str) -> None:
        for index, old in enumerate(self.states, start=1):
            if old == "open" and (index == sequence or (multiple and index < sequence)):
                self.states[index - 1] = state

    def ack(self, ack: Ack) -> int:
        """Acks as the broker would, and says how many that settled."""
        first = 1 if ack.multiple else ack.tag
        covered = [n for n in range(first, ack.tag + 1) if self.states[n - 1] != "acked"]
        assert all(self.states[n - 1] == "confirmed" for n in covered), "an ack covers what is not confirmed"
        for n in covered:
            self.states[n - 1] = "acked"
        return len(covered)


@given(_ANSWERS)
def test_only_confirmed_deliveries_are_acked_and_all_of_them_in_the_end(steps: list[tuple[str, int, bool]]) -> None:
    ledger, model = ConfirmLedger(), Model()
    for step, number, multiple in steps:
        if step == "publish":
            model.states.append("open")
            ledger.published([len(model.states)])
        elif step == "take":
            acks = ledger.take(number)
            assert sum(model.ack(ack) for ack in acks) == sum(ack.settles for ack in acks) <= number
        elif number <= len(model.states):
            (ledger.confirmed if step == "confirm" else ledger.nacked)(number, multiple)
            model.settle(number, multiple, "confirmed" if step == "confirm" else "refused")
        assert ledger.unconfirmed == model.states.count("open")
        assert ledger.refused == model.states.count("refused")
    ledger.confirmed(len(model.states), multiple=True)
    model.settle(len(model.states), True, "confirmed")
    for ack in ledger.take(len(model.states)):
        model.ack(ack)
    assert "confirmed" not in model.states


def test_a_run_of_confirms_is_acked_in_one_frame() -> None:
    ledger = ConfirmLedger()
    ledger.published(range(1, 6))
    ledger.confirmed(2, multiple=False)
    ledger.confirmed(1, multiple=False)
    ledger.confirmed(4, multiple=False)
    assert ledger.take(10) == [Ack(2, multiple=True, settles=2)]
    ledger.confirmed(5, multiple=True)
    assert ledger.take(10) == [Ack(5, multiple=True, settles=3)]


def test_behind_a_refused_message_every_ack_is_single() -> None:
    ledger = ConfirmLedger()
    ledger.published(range(1, 6))
    ledger.nacked(2, multiple=False)
    ledger.confirmed(5, multiple=True)
    assert ledger.take(10) == [Ack(tag, multiple=False, settles=1) for tag in (1, 3, 4, 5)]


def test_no_more_is_taken_than_asked_for() -> None:
    ledger = ConfirmLedger()
    ledger.published(range(1, 11))
    ledger.confirmed(10, multiple=True)
    assert ledger.take(4) == [Ack(4, multiple=True, settles=4)]
    assert ledger.take(0) == []
    assert ledger.take(99) == [Ack(10, multiple=True, settles=6)]


def test_what_is_confirmed_behind_a_gap_can_be_acked_when_nothing_more_will_come() -> None:
    ledger = ConfirmLedger()
    ledger.published(range(1, 6))
    ledger.confirmed(1, multiple=False)
    ledger.confirmed(3, multiple=False)
    ledger.loosen()
    assert ledger.take(10) == [Ack(1, multiple=False, settles=1), Ack(3, multiple=False, settles=1)]
