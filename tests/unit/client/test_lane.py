"""How a lane is divided."""

import pytest

from proofsweep.client.rate_share import LanePriority, Member, fair_rates, keeper_of

INGEST, VERIFY = LanePriority.INGEST, LanePriority.VERIFY


def member(priority: LanePriority = VERIFY, need: float | None = None) -> Member:
    """Return a process that uses all that it gets, unless it needs less."""
    return Member(priority=priority, rate=1.0, need=need)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"a": member()}, {"a": 20.0}),
        ({"a": member(), "b": member()}, {"a": 10.0, "b": 10.0}),
        ({"a": member(need=4.0), "b": member(), "c": member()}, {"a": 4.0, "b": 8.0, "c": 8.0}),
        ({"a": member(need=4.0), "b": member(need=2.0)}, {"a": 4.0, "b": 2.0}),
        ({"a": member(INGEST), "b": member(), "c": member()}, {"a": 18.0, "b": 1.0, "c": 1.0}),
        ({"a": member(INGEST, need=5.0), "b": member(), "c": member()}, {"a": 5.0, "b": 7.5, "c": 7.5}),
    ],
)
def test_a_lane_is_divided_by_need_and_new_files_go_first(
    members: dict[str, Member], expected: dict[str, float]
) -> None:
    """What one does not need is the others'; each keeps its floor rate."""
    assert fair_rates(20.0, members, 1.0) == pytest.approx(expected)


def test_many_floor_rates_leave_most_of_a_narrow_lane_to_new_files() -> None:
    """All of them together have a small part."""
    members = {"new": member(INGEST)} | {str(number): member() for number in range(19)}

    rates = fair_rates(2.0, members, 1.0)

    assert rates["new"] == pytest.approx(1.7)
    assert sum(rates.values()) == pytest.approx(2.0)


def test_slots_in_hand_are_used_before_they_are_old() -> None:
    """A sweep that goes after new files may have many of them."""
    members = {"new": member(INGEST), "a": Member(priority=VERIFY, rate=1.0, slots=300)}

    assert fair_rates(200.0, members, 1.0) == pytest.approx({"new": 180.0, "a": 20.0})


def test_the_one_that_finds_the_rate_stays_the_same() -> None:
    """A search is left to one that has much to do; and one that is gone is followed by another."""
    members = {"a": member(need=0.5), "b": member()}

    assert keeper_of("a", members, is_known=True) == "a"
    assert keeper_of("a", members, is_known=False) == "b"
    assert keeper_of("gone", members, is_known=True) == "b"
    assert keeper_of("gone", {}, is_known=True) == ""
