"""What a process knows of the service's clock, by the `Date` of answers."""

from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.client import service_clock
from proofsweep.client.service_clock import ServiceClock

TRUE = datetime(2026, 11, 20, 12, tzinfo=UTC)  # at the service, when this process's monotonic clock shows 0
OWN = datetime(2031, 1, 1, tzinfo=UTC)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic seconds of this process, to be changed."""
    now = [0.0]
    monkeypatch.setattr(service_clock, "monotonic", lambda: now[0])
    return now


def note(clock: ServiceClock, sent: float, answered: float, received: float, *, ahead: float = 0.0) -> None:
    """Let the service answer between two moments; its `Date` is the whole second."""
    date = (TRUE + timedelta(seconds=answered + ahead)).replace(microsecond=0)
    clock.record(date, sent, received)


def error_of(clock: ServiceClock, at: float) -> float:
    return abs((clock.at(at) - TRUE).total_seconds() - at)


def test_without_a_date_this_machine_s_clock_counts(now: list[float]) -> None:
    clock = ServiceClock(lambda: OWN)
    now[0] = 5.0

    assert (clock.is_known, clock(), clock.at(2.0)) == (False, OWN, OWN - timedelta(seconds=3))


def test_one_answer_is_enough_to_know_the_second(now: list[float]) -> None:
    """However wrong this machine's clock is."""
    clock = ServiceClock(lambda: OWN)
    note(clock, 0.3, 0.4, 0.5)
    now[0] = 0.5

    assert clock.is_known
    assert error_of(clock, 0.5) <= 1.1
    assert clock.behind_seconds == pytest.approx((TRUE - OWN).total_seconds(), abs=1.2)


def test_some_answers_tell_it_to_half_a_second() -> None:
    """Each bounds it anew; a slow one says less, and spoils nothing."""
    clock = ServiceClock(lambda: OWN)
    for number in range(30):
        sent = number * 1.07
        note(clock, sent, sent + 0.02, sent + (8.0 if number % 5 == 0 else 0.05))

    assert error_of(clock, 40.0) < 0.6


def test_of_machines_of_the_service_whose_clocks_differ_one_counts() -> None:
    clock = ServiceClock(lambda: OWN)
    for number in range(40):
        sent = number * 1.03
        note(clock, sent, sent + 0.01, sent + 0.02, ahead=0.0 if number % 2 else 1.6)

    assert error_of(clock, 40.0) < 1.7


def test_a_machine_that_slept_learns_the_time_anew() -> None:
    """Its monotonic clock stood still meanwhile."""
    clock = ServiceClock(lambda: OWN)
    note(clock, 0.0, 0.1, 0.2)
    note(clock, 1.0, 1.1, 1.2, ahead=7_200.0)

    assert abs((clock.at(1.2) - TRUE).total_seconds() - 7_201.2) <= 1.1


def test_this_machine_s_clock_counts_within_the_second_that_answers_leave(now: list[float]) -> None:
    """Two processes of a machine whose clock is right order what they do, however few answers each has."""
    early, late = (ServiceClock(lambda: TRUE + timedelta(seconds=now[0] + 0.05)) for _ in range(2))
    note(early, 0.9, 0.95, 1.0)
    note(late, 1.1, 1.15, 1.2)
    now[0] = 1.3

    assert early.at(1.0) < late.at(1.05) < early.at(1.1) < late.at(1.2)


def test_a_busy_server_whose_date_is_late_leaves_this_machine_s_clock_as_it_is(now: list[float]) -> None:
    clock = ServiceClock(lambda: TRUE + timedelta(seconds=now[0]))
    now[0] = 30.0
    note(clock, 29.9, 29.95, 30.0, ahead=-3.5)

    assert clock() == TRUE + timedelta(seconds=30)


@pytest.mark.parametrize(("days", "counts"), [(0.9, True), (-0.9, True), (400, False), (-400, False)])
def test_one_answer_that_is_far_from_the_others_counts_for_nothing(
    now: list[float], capsys: pytest.CaptureFixture[str], *, days: float, counts: bool
) -> None:
    """One node of the service whose clock is wrong would give the newest answers for as long as it is ahead."""
    clock = ServiceClock(lambda: TRUE + timedelta(seconds=now[0]))
    note(clock, 0.1, 0.2, 0.3)

    assert [clock.counts(TRUE + timedelta(days=days), 0.0) for _ in range(2)] == [counts, counts]
    assert capsys.readouterr().err.count("counts for nothing") == (not counts)


def test_a_machine_whose_clock_is_a_year_off_follows_the_service(now: list[float]) -> None:
    """Its first answer says how far off it is; a node that is off by itself then counts for nothing here too."""
    clock = ServiceClock(lambda: TRUE - timedelta(days=365))

    assert clock.counts(TRUE, 0.0)
    note(clock, 0.0, 0.1, 0.2)
    now[0] = 7_200.0
    assert clock.counts(TRUE + timedelta(hours=2), now[0])
    assert not clock.counts(TRUE + timedelta(days=400), now[0])


def test_a_wrong_first_date_is_forgotten_once_one_agrees_with_this_machine(now: list[float]) -> None:
    clock = ServiceClock(lambda: TRUE + timedelta(seconds=now[0]))
    note(clock, 0.0, 0.1, 0.2, ahead=400 * 86_400.0)

    assert clock.counts(TRUE, 0.3)
    note(clock, 0.3, 0.4, 0.5)

    assert error_of(clock, 0.5) <= 1.1
    assert not clock.counts(TRUE + timedelta(days=400), 0.5)


def test_an_answer_that_a_frozen_process_reads_days_late_is_of_its_day(now: list[float]) -> None:
    clock = ServiceClock(lambda: TRUE + timedelta(seconds=now[0]))
    note(clock, 0.0, 0.1, 0.2)
    now[0] = 3 * 86_400.0

    assert clock.counts(TRUE + timedelta(seconds=1), 1.0)
